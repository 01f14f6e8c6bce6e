"""Which fields refer to a name, so that they are written with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webhook.findings import identity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webhook.documents import Document

_WITHIN: Final = frozenset({"name", "request", "requests", "claims", "resourceClaims", "volumes", "volumeMounts"})
"""The fields of an object that hold a name of one of its parts, or the lists of these."""
_OF_OBJECTS: Final = {
    "ResourceClaim": "resourceClaimName",
    "ResourceClaimTemplate": "resourceClaimTemplateName",
    "DeviceClass": "deviceClassName",
}
"""The field that names an object of a kind."""

Place = tuple["Document", tuple[str | int, ...]]


def references(documents: Sequence[Document], document: Document, path: tuple[str | int, ...]) -> Iterator[Place]:
    """Find where the name at a place is written: there, and wherever it refers to the same.

    Args:
        documents: All documents of the input.
        document: The one that has the name.
        path: Where it has it.
    """
    name = _at(document.data, path)
    yield document, path
    if path[-2:] == ("metadata", "name"):
        about = identity(document.data)
        if field := _OF_OBJECTS.get(about.kind):
            for each in documents:
                if about.kind == "DeviceClass" or identity(each.data).namespace == about.namespace:
                    yield from ((each, where) for where in _places(each.data, name, frozenset({field})))
        return
    yield from ((document, where) for where in _places(document.data, name, _WITHIN) if where != path)


def _places(
    value: Any, name: Any, fields: frozenset[str], path: tuple[str | int, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """Find a name in the fields that may hold it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if path[-1:] != ("metadata",):
                yield from _places(inner, name, fields, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _places(inner, name, fields, (*path, index))
    elif value == name and next((each for each in reversed(path) if isinstance(each, str)), "") in fields:
        yield path


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        value = value[step]
    return value
