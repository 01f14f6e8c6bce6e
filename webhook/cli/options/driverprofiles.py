"""``--driver-profile``: files with profiles of drivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webhook.cli.arguments import UsageError
from webhook.documents import Document, Unreadable, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webhook.drivers import Profile

_CRD: Final = "CustomResourceDefinition"


def read_profiles(files: Sequence[str]) -> dict[str, Profile] | None:
    """Read profiles, and the CustomResourceDefinitions of parameters beside them; None if there are no files.

    Raises:
        UsageError: A file cannot be read, or a profile is malformed.
    """
    if not files:
        return None
    from webhook.drivers import ProfileError, read_profile  # noqa: PLC0415 - most commands have no profile

    found: dict[str, Profile] = {}
    for file in files:
        documents = list(_documents(file))
        definitions = [each.data for each in documents if _kind(each) == _CRD]
        for document in documents:
            if _kind(document) == _CRD:
                continue
            try:
                profile = read_profile(_with_parameters(document.data, definitions))
            except ProfileError as error:
                raise UsageError(f"--driver-profile: {document.source}: {error}") from error
            found[profile.driver] = profile
    return found


def _documents(file: str) -> Iterator[Document]:
    for document in read([file]):
        if isinstance(document, Unreadable):
            raise UsageError(f"--driver-profile: {document.source}: {document.message}")
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
        raise UsageError(
            f"--driver-profile: {value.get('driver')}: parameters: crd: a {_CRD} beside the profile is malformed"
        ) from error
    if not kinds:
        raise UsageError(
            f"--driver-profile: {value.get('driver')}: parameters: crd: no {_CRD} stands beside the profile"
        )
    return {**value, "parameters": {"apiVersion": api_version, "kinds": kinds}}
