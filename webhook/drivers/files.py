"""``--driver-profile``: files with profiles of drivers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from webhook.documents import Document, Unreadable, read
from webhook.drivers.profile import Profile
from webhook.problem import Steps
from webhook.usage import UsageError

_CRD: Final = "CustomResourceDefinition"
_KINDS: Final = ("parameters", "kinds")


class UnusableProfilesError(Exception):
    """Files with profiles that cannot be used.

    Args:
        mistakes: The mistakes, each with its file, line and column.
        is_unread: Whether a file is missing or cannot be opened.
    """

    def __init__(self, mistakes: Sequence[str], *, is_unread: bool) -> None:
        super().__init__(mistakes)
        self.mistakes, self.is_unread = mistakes, is_unread


class _Schema(NamedTuple):
    """The schema of a kind in a CustomResourceDefinition.

    Args:
        path: The schema's path in it.
        api_version: The version that it describes, with its group.
    """

    definition: Document
    path: Steps
    api_version: str
    content: Any


class _DefinitionError(ValueError):
    """The CustomResourceDefinitions beside a profile do not describe its parameters."""


def option_profiles(files: Sequence[str]) -> dict[str, Profile] | None:
    """Read the profiles of ``--driver-profile``; None if there are no files.

    Raises:
        UsageError: A file cannot be read, or profiles are malformed.
    """
    if not files:
        return None
    try:
        return read_profiles(files)
    except UnusableProfilesError as error:
        raise UsageError("\n--driver-profile: ".join(error.mistakes), "--driver-profile") from error


def read_profiles(files: Sequence[str]) -> dict[str, Profile]:
    """Read profiles, and the CustomResourceDefinitions of parameters beside them.

    Args:
        files: The files; one that is named twice is read once.

    Raises:
        UnusableProfilesError: A file cannot be read, or profiles are malformed.
    """
    known: dict[str, tuple[Document, Profile]] = {}
    mistakes: dict[str, None] = {}
    is_unread = False
    for file in files:
        pieces = [*read([file])]
        unreadable = [each for each in pieces if isinstance(each, Unreadable)]
        is_unread |= not all(each.line for each in unreadable)
        for each in unreadable:
            at = f"{each.source}:{each.line}:{each.column}" if each.line else each.source
            mistakes[f"{at}: {each.message}"] = None
        documents = [each for each in pieces if isinstance(each, Document)]
        definitions = [each for each in documents if _kind(each) == _CRD]
        if not unreadable and len(definitions) == len(documents):
            mistakes[f"{file}: no profile found"] = None
        for document in documents:
            if _kind(document) != _CRD:
                mistakes |= dict.fromkeys(_take(document, definitions, known))
    if mistakes:
        raise UnusableProfilesError([*mistakes], is_unread=is_unread)
    return {driver: profile for driver, (_, profile) in known.items()}


def _take(
    document: Document, definitions: Sequence[Document], known: dict[str, tuple[Document, Profile]]
) -> Iterator[str]:
    """Add a profile to the known ones, by driver; yield its mistakes."""
    from webhook.drivers.mistakes import ProfileError, read_profile  # most commands have no profile

    if _kind(document) and "apiVersion" in document.data:
        how = "`draguard driver from-cluster` makes profiles from ResourceSlices"
        yield f"{document.source}: a Kubernetes object is not a profile; {how}"  # once for a file with many
        return
    value, schemas = document.data, dict[str | int, _Schema]()
    try:
        if isinstance(value, dict) and value.get("parameters") == "crd":
            schemas = _schemas(value.get("driver"), definitions)
            *_, last = schemas.values()  # all kinds have its version
            kinds = {kind: each.content for kind, each in schemas.items()}
            value = {**value, "parameters": {"apiVersion": last.api_version, "kinds": kinds}}
        profile = read_profile(value)
    except _DefinitionError as error:
        yield f"{_place(document, ('parameters',))}: {error}"
        return
    except ProfileError as error:
        yield from (f"{_place(*_source(each.path, document, schemas))}: {each.message}" for each in error.args)
        return
    first, _ = known.setdefault(profile.driver, (document, profile))
    if _identity(first) != _identity(document):
        other = f"{first.source}:{first.position().line}"
        yield f"{_place(document)}: {profile.driver} has another profile in {other}; keep one of them"


def _identity(document: Document) -> tuple[str, int]:
    return os.path.realpath(document.source), document.index


def _place(document: Document, path: Sequence[str | int] = ()) -> str:
    """Write where a field, or else the nearest one that holds it, is in its file."""
    line, column = document.position(path)
    return f"{document.source}:{line}:{column}"


def _source(path: Steps, document: Document, schemas: Mapping[str | int, _Schema]) -> tuple[Document, Steps]:
    """Find where a value of a profile comes from: the schema of a kind may be that of a CustomResourceDefinition."""
    depth = len(_KINDS)
    if path[:depth] != _KINDS or len(path) == depth or (schema := schemas.get(path[depth])) is None:
        return document, path
    return schema.definition, (*schema.path, *path[depth + 1 :])


def _kind(document: Document) -> Any:
    return document.data.get("kind") if isinstance(document.data, dict) else None


def _schemas(driver: Any, definitions: Sequence[Document]) -> dict[str | int, _Schema]:
    """Return the schemas in CustomResourceDefinitions by kind.

    Raises:
        _DefinitionError: A definition is missing or malformed.
    """
    found: dict[str | int, _Schema] = {}
    try:
        for each in definitions:
            spec = each.data.get("spec") or {}
            for index, version in enumerate(spec.get("versions") or ()):
                path = ("spec", "versions", index, "schema", "openAPIV3Schema")
                content = (version.get("schema") or {}).get("openAPIV3Schema") or {}
                kind = str((spec.get("names") or {}).get("kind"))
                found[kind] = _Schema(each, path, f"{spec.get('group')}/{version.get('name')}", content)
    except (AttributeError, TypeError) as error:
        raise _DefinitionError(f"{driver}: parameters: crd: a {_CRD} beside the profile is malformed") from error
    if not found:
        raise _DefinitionError(f"{driver}: parameters: crd: no {_CRD} stands beside the profile")
    return found
