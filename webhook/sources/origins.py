"""Finds the files that the objects of a kustomization come from: what kustomize builds does not say it.

An object is the one of its kind in the resource files whose name, with the prefixes and suffixes of the kustomizations
on the way, is its own. If there is none, or several, or it comes from elsewhere, its file is not known.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.documents import Document, parse
from webhook.documents.files import open_regular
from webhook.documents.limits import MAX_BYTES
from webhook.problem import at
from webhook.sources.options import kustomization_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.problem import Path

_LISTS: Final = ("resources", "bases", "components")
"""The fields of a kustomization that name files and other kustomizations."""
_NAMES: Final = (("metadata", "name"), ("metadata", "namespace"))
_MOST: Final = 10_000
"""How many files are read."""


class _Named(NamedTuple):
    """What a kustomization adds to names."""

    prefix: str = ""
    suffix: str = ""

    def around(self, name: str) -> str:
        return f"{self.prefix}{name}{self.suffix}"


class Origins:
    """Knows the resource files of a kustomization.

    Args:
        file: The kustomization's file, as it was named.
    """

    def __init__(self, file: str) -> None:
        self._left = _MOST
        self._objects: dict[tuple[str, str], list[Document]] = {}
        self._collect(file, [], frozenset())

    def of(self, built: Document) -> Document | None:
        """Return the manifest that an object was built from; None if that is not known."""
        kind, name, namespace = _identity(built)
        found = self._objects.get((kind, name), [])
        if found[1:]:
            found = [each for each in found if _identity(each)[2] == namespace]
        return found[0] if len(found) == 1 else None

    def _collect(self, file: str, names: list[_Named], seen: frozenset[str]) -> None:
        """Take up the objects of a kustomization, and of those that it names.

        Args:
            file: The kustomization's file.
            names: What the kustomizations around it add to names, the outermost first.
            seen: The kustomizations around it.
        """
        here, directory = os.path.realpath(file), os.path.dirname(file)  # noqa: PTH120 - names are text here
        if here in seen:
            return
        for kustomization in _documents(file):
            stated = kustomization.data
            if not isinstance(stated, dict):
                continue
            inside = [*names, _Named(_text(stated, "namePrefix"), _text(stated, "nameSuffix"))]
            for entry in _entries(stated):
                path = os.path.normpath(f"{directory}/{entry}") if directory else os.path.normpath(entry)
                self._left -= 1
                if self._left < 0:
                    return
                if os.path.isdir(path):  # noqa: PTH112 - as above
                    self._collect(kustomization_of(path), inside, seen | {here})
                else:
                    self._take(path, inside)

    def _take(self, path: str, names: list[_Named]) -> None:
        for document in _documents(path):
            kind, name, _ = _identity(document)
            for each in reversed(names):
                name = each.around(name)
            self._objects.setdefault((kind, name), []).append(document)


def has_same(resource: Document, built: Document, path: Path) -> bool:
    """Tell whether a resource has at a place what was built of it: a patch or a transformer may have changed it."""
    missing = object()
    return bool(at(resource.data, path, missing) == at(built.data, path, missing))


def _identity(document: Document) -> tuple[str, str, str]:
    """Return an object's kind, name and namespace, as text whatever they are."""
    kind, *metadata = (at(document.data, path, "") for path in (("kind",), *_NAMES))
    name, namespace = map(str, metadata)
    return str(kind), name, namespace


def _entries(kustomization: dict[str, Any]) -> Iterator[str]:
    for field in _LISTS:
        listed = kustomization.get(field)
        yield from (each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, str))


def _text(kustomization: dict[str, Any], field: str) -> str:
    value = kustomization.get(field)
    return value if isinstance(value, str) else ""


def _documents(path: str) -> Iterator[Document]:
    """Read a file; nothing if it cannot be read, or is at a remote place: kustomize has read it."""
    try:
        with open(path, "rb", opener=open_regular) as opened:
            data = opened.read(MAX_BYTES)
    except (OSError, ValueError):
        return
    yield from (each for each in parse(data, path) if isinstance(each, Document))
