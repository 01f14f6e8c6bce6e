"""``--driver-profile``: files with profiles of drivers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from webhook.cli.arguments import UsageError
from webhook.documents import Document, Unreadable, read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webhook.drivers import Profile

_CRD: Final = "CustomResourceDefinition"
_NO_PROFILE: Final = (
    "a Kubernetes object is not a profile; `draguard driver from-cluster` makes profiles from ResourceSlices"
)


class UnusableProfilesError(Exception):
    """Files with profiles that cannot be used.

    Args:
        mistakes: The mistakes, each with its file.
        is_unread: Whether a file is missing or cannot be opened.
    """

    def __init__(self, mistakes: Sequence[str], *, is_unread: bool) -> None:
        super().__init__(mistakes)
        self.mistakes, self.is_unread = mistakes, is_unread


class _DefinitionError(ValueError):
    """The CustomResourceDefinitions beside a profile do not describe its parameters."""


def option_profiles(files: Sequence[str]) -> dict[str, Profile] | None:
    """Read the profiles of ``--driver-profile``; None if there are no files.

    Args:
        files: The files.

    Raises:
        UsageError: A file cannot be read, or profiles are malformed.
    """
    if not files:
        return None
    try:
        return read_profiles(files)
    except UnusableProfilesError as error:
        raise UsageError("\n".join(f"--driver-profile: {each}" for each in error.mistakes)) from error


def read_profiles(files: Sequence[str]) -> dict[str, Profile]:
    """Read profiles, and the CustomResourceDefinitions of parameters beside them.

    Args:
        files: The files; one that is named twice is read once.

    Raises:
        UnusableProfilesError: A file cannot be read, or profiles are malformed.
    """
    reader = _Reader()
    for file in files:
        reader.read(file)
    if reader.mistakes:
        raise UnusableProfilesError([*reader.mistakes], is_unread=reader.is_unread)
    return reader.found


class _Reader:
    """Reads profiles, and collects their mistakes."""

    def __init__(self) -> None:
        self.found: dict[str, Profile] = {}
        self.mistakes: dict[str, None] = {}
        self.is_unread = False
        self._documents: dict[str, Document] = {}
        """The first profile of each driver."""

    def read(self, path: str) -> None:
        """Read the profiles of a file or directory."""
        definitions: list[dict[str, Any]] = []
        others: list[Document] = []
        is_empty = True
        for each in read([path]):
            if isinstance(each, Unreadable):
                self.mistakes[f"{each.source}: {each.message}"] = None
                self.is_unread |= not each.line
                is_empty = False
            elif _kind(each) == _CRD:
                definitions.append(each.data)
            else:
                others.append(each)
        if is_empty and not others:
            self.mistakes[f"{path}: no profile found"] = None
        for document in others:
            self._take(document, definitions)

    def _take(self, document: Document, definitions: Sequence[dict[str, Any]]) -> None:
        from webhook.drivers import ProfileError, read_profile  # noqa: PLC0415 - most commands have no profile

        source = document.source
        if _kind(document) and "apiVersion" in document.data:
            self.mistakes[f"{source}: {_NO_PROFILE}"] = None
            return
        try:
            profile = read_profile(_with_parameters(document.data, definitions))
        except (ProfileError, _DefinitionError) as error:
            self.mistakes |= dict.fromkeys(f"{source}: {each}" for each in error.args)
            return
        first = self._documents.setdefault(profile.driver, document)
        if _place(first) != _place(document):
            self.mistakes[f"{source}: {profile.driver} has another profile in {first.source}; keep one of them"] = None
        self.found[profile.driver] = profile


def _place(document: Document) -> tuple[str, int]:
    return os.path.realpath(document.source), document.index


def _kind(document: Document) -> Any:
    return document.data.get("kind") if isinstance(document.data, dict) else None


def _with_parameters(value: Any, definitions: Sequence[dict[str, Any]]) -> Any:
    """Replace ``parameters: crd`` by the schemas of CustomResourceDefinitions."""
    if not isinstance(value, dict) or value.get("parameters") != "crd":
        return value
    kinds = {}
    api_version = ""
    try:
        for each in definitions:
            spec = each.get("spec") or {}
            for version in spec.get("versions") or ():
                api_version = f"{spec.get('group')}/{version.get('name')}"
                schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
                kinds[str((spec.get("names") or {}).get("kind"))] = schema
    except (AttributeError, TypeError) as error:
        message = f"{value.get('driver')}: parameters: crd: a {_CRD} beside the profile is malformed"
        raise _DefinitionError(message) from error
    if not kinds:
        raise _DefinitionError(f"{value.get('driver')}: parameters: crd: no {_CRD} stands beside the profile")
    return {**value, "parameters": {"apiVersion": api_version, "kinds": kinds}}
