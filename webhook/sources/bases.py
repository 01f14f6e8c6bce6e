"""The files and directories that a kustomization is built from, of which some may be far from it, or remote."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from webhook.documents import Document, Piece
from webhook.documents.search import documents_in, listed, repository
from webhook.sources.options import kustomization_of

_FIELDS: Final = ("resources", "bases", "components")
"""The fields of a kustomization that name files and other kustomizations."""
_NO_PATHS: Final = frozenset(
    {"commonAnnotations", "commonLabels", "images", "labels", "metadata", "namePrefix", "nameSuffix", "namespace"}
)
"""Fields of a kustomization that name no files."""
_MOST: Final = 200
"""The most kustomizations that are followed."""


class Inputs(NamedTuple):
    """The files that a kustomization is built from.

    Args:
        files: The real paths of the files.
        directories: The real paths of the directories of other kustomizations.
        has_remote: Whether it names what is on other machines, or missing.
        is_component: Whether it is a Component, which is only a part of others.
    """

    files: set[str]
    directories: Collection[str]
    has_remote: bool = False
    is_component: bool = False


def inputs_of(directory: str) -> Inputs:
    """Find what a kustomization is built from, directly and through others.

    Args:
        directory: The directory of the kustomization.
    """
    found = Inputs(set(), ())
    top = os.path.realpath(directory)
    pending, seen = [top], {top: True}
    while pending and len(seen) < _MOST:
        here = pending.pop()
        file = kustomization_of(here)
        found.files.add(os.path.realpath(file))
        for document in documents_in(file):
            data = document.data if isinstance(document.data, dict) else {}
            if here == top and data.get("kind") == "Component":
                found = found._replace(is_component=True)
            if any("://" in each or not os.path.exists(f"{here}/{each}") for each in named_in(document)):
                found = found._replace(has_remote=True)
            for text in _texts({key: value for key, value in data.items() if key not in _NO_PATHS}):
                path = os.path.realpath(f"{here}/{text.rpartition('=')[2]}")  # generators name files as KEY=FILE
                if "://" in text:
                    found = found._replace(has_remote=True)
                elif os.path.isfile(path):
                    found.files.add(path)
                elif path not in seen and kustomization_of(path):
                    seen[path] = True
                    pending.append(path)
    return found._replace(directories=[each for each in seen if each != top])


def outside(directory: str) -> list[str]:
    """List the bases of a kustomization, and theirs, that are outside its surroundings.

    These are the git repository that it is in, or else the directory around it: users expect that bases beside an
    overlay are read.

    Args:
        directory: The directory of the kustomization.
    """
    top = os.path.realpath(directory)
    around = repository(top) or os.path.dirname(top)
    inside = f"{around.rstrip('/')}/"
    return [base for base in inputs_of(top).directories if base != around and not base.startswith(inside)]


def _texts(value: Any) -> Iterator[str]:
    """Return the texts of one line in a value that may be paths."""
    if isinstance(value, str):
        yield from [value] if value and "\n" not in value and "\0" not in value else []
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def named_in(kustomization: Piece) -> Iterator[str]:
    """Yield the paths in a kustomization that are files or other kustomizations."""
    data = kustomization.data if isinstance(kustomization, Document) else None
    return (path for _, path in listed(data, _FIELDS) if isinstance(path, str))
