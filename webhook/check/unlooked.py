"""Names the objects that manifests refer to and that are not known."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from webhook.documents import STDIN_NAME, Document
from webhook.problem import Path, value_at
from webhook.report.summary import counted

UNMATCHED: Final = ""
"""Stands, among kinds, for objects whose selectors were not matched against devices."""
_NAMED: Final = 3
"""How many objects of a kind are named, with the first place of each."""


class Unlooked:
    """References that were not looked up, because no object of their kind is known beside them."""

    def __init__(self) -> None:
        self._unmatched = 0
        self._uses: dict[str, dict[str, tuple[str, int]]] = {}

    def add(self, kind: str, path: Path, document: Document, count: int) -> None:
        """Add references to an object.

        Args:
            path: The field that refers to it.
            count: How many they are.
        """
        if kind == UNMATCHED:
            self._unmatched += count
            return
        uses, name = self._uses.setdefault(kind, {}), _name(document.data, path)
        first, before = uses.get(name) or (_place(document, path) if len(uses) < _NAMED else "", 0)
        uses[name] = first, before + count

    def kinds(self) -> set[str]:
        """Return the kinds of the objects."""
        return set(self._uses)

    def lines(self, *, has_errors: bool) -> Iterator[str]:
        """Describe them.

        Args:
            has_errors: Whether manifests with errors may be such objects.
        """
        if self._unmatched:
            objects = counted(self._unmatched, "object")
            yield f"note: not matched against devices: {objects}, as that is too much work; validate fewer at a time"
        if self._uses:
            kinds = "; ".join(f"{kind} {_listed(uses)}" for kind, uses in sorted(self._uses.items()))
            such = "such objects without errors" if has_errors else "such objects"
            how = "add them, or give the objects of the cluster with --cluster"
            yield f"note: references not checked: {kinds}; the manifests have no {such}: {how}"


def _listed(uses: dict[str, tuple[str, int]]) -> str:
    named = [f"{name} ({_places(*use)})" for name, use in islice(uses.items(), _NAMED)]
    more = f", and {len(uses) - _NAMED} more" if len(uses) > _NAMED else ""
    return ", ".join(named) + more


def _places(first: str, count: int) -> str:
    return f"{first} and {counted(count - 1, 'more place')}" if count > 1 else first


def _name(obj: object, path: Path) -> str:
    """Return the name of the object that a field refers to, or what is wanted of it, such as a resource."""
    value, field = value_at(obj, path), str(path[-1])
    if not isinstance(value, str):
        return f"of {field}"
    return value if field.endswith("Name") else f"of {value}"


def _place(document: Document, path: Path) -> str:
    """Return the place of a field; in what was rendered from a chart or kustomization, that alone."""
    has_lines = document.source == STDIN_NAME or not document.rendered
    return f"{document.source}:{document.position(path).line}" if has_lines else document.source
