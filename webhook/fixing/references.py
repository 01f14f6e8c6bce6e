"""Finds the fields that refer to a name, to rename them with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from webhook.api.dra.names import IMPLICIT_PREFIX, NAMED_BY, QUOTA_SUFFIX
from webhook.findings import Identity, identity
from webhook.later import cached_property
from webhook.objects import DEFAULT_NAMESPACE
from webhook.problem import value_at
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.documents import Document

_WITHIN: Final = frozenset({"name", "request", "requests", "claims", "resourceClaims", "volumes", "volumeMounts"})
"""The fields of an object that hold the name of one of its parts, or lists of such names."""


class ClassKey(NamedTuple):
    """What stands around the name of a class in the key of an amount."""

    prefix: str
    suffix: str = ""


_CLASS_KEYS: Final = (
    ClassKey(IMPLICIT_PREFIX),
    ClassKey(f"requests.{IMPLICIT_PREFIX}"),
    ClassKey("", QUOTA_SUFFIX),
)
"""The extended resource of a class; in a ResourceQuota, requests of it, and devices of the class
(``pkg/quota/v1/evaluator/core/resource_claims.go``)."""

Mention = tuple["Document", tuple[str | int, ...]]
"""A document, and the path of a name, or of an amount whose key has the name of a class."""


class References:
    """Finds where names are written.

    Args:
        documents: All documents of the input.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._reserved: dict[Identity, Document] = {}

    @cached_property
    def _objects(self) -> dict[Identity, Document]:
        return {_same_name(each): each for each in self._documents}

    def reserve(self, document: Document, name: str) -> Document | None:
        """Reserve a new name for an object; return the other object that has it, or for which it is reserved."""
        about = _same_name(document)
        new = about._replace(name=name)
        other = self._objects.get(new) or self._reserved.setdefault(new, document)
        return None if _same_name(other) == about else other

    @cached_property
    def _to_objects(self) -> dict[tuple[str, str], list[Mention]]:
        """Where names of objects are written, by the field and the name."""
        fields = frozenset(NAMED_BY.values())
        found: dict[tuple[str, str], list[Mention]] = defaultdict(list)
        for document in self._documents:
            for field, name, path in _names(document.data, fields):
                found[field, name].append((document, path))
        return found

    def of(self, document: Document, path: tuple[str | int, ...]) -> Iterator[Mention]:
        """Find the occurrences of the name at a place: itself, and all references to the same object.

        Args:
            document: The document with the name.
            path: The path of the name.
        """
        name = value_at(document.data, path)
        yield document, path
        if path[-2:] != ("metadata", "name"):
            inside = _names(document.data, _WITHIN)
            yield from ((document, where) for _, other, where in inside if other == name and where != path)
            return
        about = identity(document.data)
        for each, where in self._to_objects.get((NAMED_BY.get(about.kind, ""), name), ()):
            if about.kind == "DeviceClass" or _same_name(each).namespace == _same_name(document).namespace:
                yield each, where


def class_key(key: str) -> ClassKey | None:
    """Return what stands around the name of a class in a key; None if it has none."""
    return next((each for each in _CLASS_KEYS if key.startswith(each.prefix) and key.endswith(each.suffix)), None)


def _same_name(document: Document) -> Identity:
    """Return what an object shares only with other versions of itself."""
    about = identity(document.data)
    group, _, _ = about.api_version.rpartition("/")
    return about._replace(api_version=group, namespace=about.namespace or DEFAULT_NAMESPACE)


def _names(
    value: Any, fields: frozenset[str], path: tuple[str | int, ...] = (), field: str = ""
) -> Iterator[tuple[str, str, tuple[str | int, ...]]]:
    """Yield the texts in fields that may hold a name, and the names of classes in keys.

    The metadata has the object's own name.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if NAMED_BY["DeviceClass"] in fields and (around := class_key(key)):
                yield NAMED_BY["DeviceClass"], key.removeprefix(around.prefix).removesuffix(around.suffix), (*path, key)
            if field != "metadata":
                yield from _names(inner, fields, (*path, key), key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _names(inner, fields, (*path, index), field)
    elif isinstance(value, str) and field in fields:
        yield field, value, path
