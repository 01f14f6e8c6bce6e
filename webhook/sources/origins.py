"""Finds the files that the objects of a kustomization come from, which kustomize's output does not tell.

A built object is matched to the resource of its kind whose name, with the prefixes and suffixes of the kustomizations
around it, equals its own. If there is none, or several, or it comes from elsewhere, its file is unknown.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from webhook.documents import Document, parse
from webhook.documents.files import open_regular
from webhook.documents.limits import MAX_BYTES
from webhook.problem import Path, at
from webhook.records import NamedTuple
from webhook.sources.options import kustomization_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LISTS: Final = ("resources", "bases", "components")
"""The fields of a kustomization that name files and other kustomizations."""
_NAMES: Final = (("metadata", "name"), ("metadata", "namespace"))
_MOST: Final = 10_000
"""The most files to read."""


class _Named(NamedTuple):
    """The prefix and suffix that a kustomization adds to names."""

    prefix: str = ""
    suffix: str = ""

    def around(self, name: str) -> str:
        return f"{self.prefix}{name}{self.suffix}"


class Origins:
    """The resource files of a kustomization.

    Args:
        file: The kustomization's file, as named.
    """

    def __init__(self, file: str) -> None:
        self._left = _MOST
        self._objects: dict[tuple[str, str], list[Document]] = {}
        self._patches: dict[str, list[Document]] = {}
        self._collect(file, [], frozenset())

    def of(self, built: Document) -> Document | None:
        """Return the manifest that an object was built from; None if unknown."""
        kind, name, namespace = _identity(built)
        found = self._objects.get((kind, name), [])
        if found[1:]:
            found = [each for each in found if _identity(each)[2] == namespace]
        return found[0] if len(found) == 1 else None

    def patched(self, built: Document, path: Path) -> tuple[Document, Path] | None:
        """Return the patch with a built value, and the path there; None if no file has it.

        Lists are merged by keys, so that a patch may have a value at another index.
        """
        value = at(built.data, path)
        for patch in self._patches.get(_identity(built)[0], ()):
            for place in _places(patch.data, path):
                if at(patch.data, place) == value:
                    return patch, Path(place)
        return None

    def _collect(self, file: str, names: list[_Named], seen: frozenset[str]) -> None:
        """Collect the objects of a kustomization, and of those that it names.

        Args:
            file: The kustomization's file.
            names: The prefixes and suffixes of the kustomizations around it, the outermost first.
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
                path = os.path.normpath(f"{directory or '.'}/{entry}")
                self._left -= 1
                if self._left < 0:
                    return
                if os.path.isdir(path):  # noqa: PTH112 - as above
                    self._collect(kustomization_of(path), inside, seen | {here})
                else:
                    self._take(path, inside)
            for entry in _patches(stated):
                self._left -= 1
                if self._left < 0:
                    return
                for patch in _documents(os.path.normpath(f"{directory or '.'}/{entry}")):
                    self._patches.setdefault(_identity(patch)[0], []).append(patch)

    def _take(self, path: str, names: list[_Named]) -> None:
        for document in _documents(path):
            kind, name, _ = _identity(document)
            for each in reversed(names):
                name = each.around(name)
            self._objects.setdefault((kind, name), []).append(document)


def has_same(resource: Document, built: Document, path: Path) -> bool:
    """Tell whether a resource has the built value at a place: a patch or a transformer may have changed it."""
    missing = object()
    return bool(at(resource.data, path, missing) == at(built.data, path, missing))


def _identity(document: Document) -> tuple[str, str, str]:
    """Return an object's kind, name and namespace, converted to text."""
    kind, *metadata = (at(document.data, path, "") for path in (("kind",), *_NAMES))
    name, namespace = map(str, metadata)
    return str(kind), name, namespace


def _entries(kustomization: dict[str, Any]) -> Iterator[str]:
    for field in _LISTS:
        listed = kustomization.get(field)
        yield from (each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, str))


def _patches(kustomization: dict[str, Any]) -> Iterator[str]:
    """List the files with strategic merge patches."""
    for field in ("patches", "patchesStrategicMerge"):
        listed = kustomization.get(field)
        for each in listed if isinstance(listed, list) else ():
            path = each.get("path") if isinstance(each, dict) else each
            if isinstance(path, str) and "\n" not in path:
                yield path


def _places(value: Any, path: Sequence[str | int], here: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Find the places of a value that a path leads to, at any index of lists."""
    if not path:
        yield here
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _places(each, path[1:], (*here, index))
    elif isinstance(value, dict) and path[0] in value:
        yield from _places(value[path[0]], path[1:], (*here, path[0]))


def _text(kustomization: dict[str, Any], field: str) -> str:
    value = kustomization.get(field)
    return value if isinstance(value, str) else ""


def _documents(path: str) -> Iterator[Document]:
    """Read a file; empty if it is unreadable or remote: kustomize has read it."""
    try:
        with open(path, "rb", opener=open_regular) as opened:
            data = opened.read(MAX_BYTES)
    except (OSError, ValueError):
        return
    yield from (each for each in parse(data, path) if isinstance(each, Document))
