"""``--driver-profile``: files with profiles of drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webhook.cli.arguments import UsageError
from webhook.documents import Document, Unreadable, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webhook.drivers import Profile

_CRD: Final = "CustomResourceDefinition"
_NO_PROFILE: Final = "Kubernetes objects are not profiles; `draguard driver from-cluster` writes those of their drivers"


class _DefinitionError(ValueError):
    """The CustomResourceDefinitions beside a profile do not describe its parameters."""


def read_profiles(files: Sequence[str], option: str = "--driver-profile: ") -> dict[str, Profile] | None:
    """Read profiles, and the CustomResourceDefinitions of parameters beside them; None if there are no files.

    Args:
        files: The files.
        option: The option that names them, as errors begin; empty if none does.

    Raises:
        UsageError: A file cannot be read, or profiles are malformed.
    """
    if not files:
        return None
    mistakes: list[str] = []
    found = _profiles(files, mistakes)
    if mistakes:
        raise UsageError("\n".join(f"{option}{each}" for each in mistakes))
    return found


def _profiles(files: Sequence[str], mistakes: list[str]) -> dict[str, Profile]:
    """Read profiles, and collect their mistakes; the readable ones are returned."""
    from webhook.drivers import ProfileError, read_profile  # noqa: PLC0415 - most commands have no profile

    found: dict[str, Profile] = {}
    for file in files:
        documents = list(_documents(file, mistakes))
        definitions = [each.data for each in documents if _kind(each) == _CRD]
        for document in documents:
            if _kind(document) == _CRD:
                continue
            if _kind(document) and "apiVersion" in document.data:
                mistakes.append(f"{document.source}: {_NO_PROFILE}")
                break
            try:
                profile = read_profile(_with_parameters(document.data, definitions))
            except (ProfileError, _DefinitionError) as error:
                mistakes += (f"{document.source}: {each}" for each in error.args)
            else:
                found[profile.driver] = profile
    return found


def _documents(file: str, mistakes: list[str]) -> Iterator[Document]:
    for document in read([file]):
        if isinstance(document, Unreadable):
            mistakes.append(f"{document.source}: {document.message}")
        else:
            yield document


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
