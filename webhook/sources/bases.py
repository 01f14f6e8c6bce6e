"""The directories of a kustomization's bases, of which some may be far from it."""

from __future__ import annotations

import os

from webhook.documents import Document, parse
from webhook.documents.git import repository
from webhook.documents.limits import MAX_BYTES
from webhook.regular import read_up_to
from webhook.sources.options import kustomization_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from webhook.documents import Unreadable

_FIELDS: Final = ("resources", "bases", "components")
"""The fields of a kustomization that name other kustomizations."""
_MOST: Final = 200
"""The most kustomizations that are followed."""


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
    seen: dict[str, None] = {top: None}
    pending = [top]
    while pending and len(seen) < _MOST:
        for base in _bases(pending.pop()):
            if base not in seen:
                seen[base] = None
                pending.append(base)
    return [base for base in seen if base != around and not base.startswith(inside)]


def _bases(directory: str) -> Iterator[str]:
    """Return the real paths of the directories that a kustomization names."""
    try:
        data = read_up_to(kustomization_of(directory), MAX_BYTES)
    except OSError:  # kustomize itself reports it
        return
    for document in parse(data):
        for path in named_in(document):
            if os.path.isdir(named := os.path.join(directory, path)):
                yield os.path.realpath(named)


def named_in(kustomization: Document | Unreadable) -> Iterator[str]:
    """Yield the paths in a kustomization that may be other kustomizations.

    Args:
        kustomization: The kustomization as it was read.
    """
    if isinstance(kustomization, Document) and isinstance(kustomization.data, dict):
        for field in _FIELDS:
            listed = kustomization.data.get(field)
            yield from (path for path in listed if isinstance(path, str)) if isinstance(listed, list) else ()
