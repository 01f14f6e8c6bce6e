"""Reuses the findings of an object for similar ones.

Most claims of a repository differ by their names, and some by a constant in a selector, or by a name that it reads.
"""

from __future__ import annotations

import marshal
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from webhook.api.versions import find
from webhook.inventory import CLAIMS
from webhook.later import Module
from webhook.objects import name_of
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence

    from webhook.objects import JSONObject
    from webhook.problem import Path, Problem

_BYTES: Final = 16 << 20
"""How many bytes are cached."""
_PROBLEM: Final = 1_000
"""How many bytes a problem counts for."""
_SHAPES: Final = 1_000
"""How many shapes are known to differ."""
_SEEN: Final = 1 << 14
"""How many shapes are known to have been seen."""
_PLAIN: Final = 2
"""The format of marshal in which equal values have equal bytes: later ones contain back references."""
_EXPRESSION: Final = "expression"
_SELECTS: Final = _EXPRESSION.encode()
_NESTED: Final = frozenset({dict, list})
_FEW: Final = 16
"""How many bytes are cached before shapes are computed, which is slow at first."""
_KEPT: Final = frozenset({"metadata", "config", "status"})
"""Fields that hold no selectors, and may be deeply nested."""


_selectors: Final = Module("webhook.cel.kubernetes.shapes")


class Plain(Enum):
    """The parts of a claim's selectors that do not matter to its findings."""

    NOTHING = "none"
    CONSTANTS = "plain constants"
    NAMES = "plain constants, and which attributes and capacities are read"


class Found(NamedTuple):
    """The findings of rules about an object.

    Args:
        problems: The findings.
        skipped: The number of lookups skipped, by the kind of the object and the field that names it.
    """

    problems: Sequence[Problem]
    skipped: Counter[tuple[str, Path]]


class _Shapes(NamedTuple):
    """The keys of claims whose selectors have the same shapes.

    Args:
        any_names: The same whatever they read, if equal names are in the same places.
        names: The names that they read.
    """

    any_names: bytes
    names: list[str]

    @property
    def same_names(self) -> bytes:
        """The same only if they read the same names."""
        return self.any_names + marshal.dumps(self.names, _PLAIN)


class Alike:
    """Caches findings of claims and templates; of their metadata, rules read only whether there is a name.

    Args:
        most: How many bytes are cached.
    """

    def __init__(self, most: int = _BYTES) -> None:
        self._left = most
        self._found: dict[bytes, Found] = {}
        self._seen: set[int] = set()
        self._differing: set[bytes] = set()
        """Shapes of claims whose findings depend on the constants, or did for one of them."""
        self._selects = False
        """Whether the last claim that was not known by its shape has selectors: then the next has them, too."""

    def find(self, obj: JSONObject, look: Callable[[], Found], plain: Callable[[], Plain]) -> Found:
        """Return the findings of an object.

        Args:
            obj: The object, in any version.
            look: The function that checks it, if no similar one is cached.
            plain: Tells what does not matter in an object without findings: those that differ in nothing else have
                none.
        """
        if obj.get("kind") not in CLAIMS or not find(obj.get("apiVersion"), obj["kind"]):
            return look()
        shapes = _shapes(obj) if self._selects else None
        if shapes and (found := self._of(shapes)):
            return found
        key = _key(obj)
        if key is None:
            return look()
        found = self._found.get(key)
        self._selects = _SELECTS in key and len(self._found) >= _FEW
        if found is None and self._selects and shapes is None and (shapes := _shapes(obj)):
            found = self._of(shapes)
        if found is None:
            found = look()
            self._keep(key, found)
            if shapes and not found.problems and self._is_again(shapes.any_names):
                known = plain()
                if known is not Plain.NOTHING:
                    self._keep(shapes.any_names if known is Plain.NAMES else shapes.same_names, found)
                elif len(self._differing) < _SHAPES:
                    self._differing.add(shapes.any_names)
        return found

    def _is_again(self, shape: bytes) -> bool:
        """Tell whether a shape was seen before, and may have one answer; most are seen once, and asking takes long."""
        if shape in self._differing:
            return False
        known = hash(shape)
        if known in self._seen or len(self._seen) >= _SEEN:
            return True
        self._seen.add(known)
        return False

    def _of(self, shapes: _Shapes) -> Found | None:
        return self._found.get(shapes.any_names) or self._found.get(shapes.same_names)

    def _keep(self, key: bytes, found: Found) -> None:
        self._left -= len(key) + _PROBLEM * (1 + len(found.problems))
        if self._left >= 0:
            self._found[key] = found


def _key(obj: JSONObject) -> bytes | None:
    """Return the same key for claims that rules cannot distinguish; None for deeply nested ones."""
    try:
        return marshal.dumps({**obj, "metadata": bool(name_of(obj))}, _PLAIN)
    except ValueError:
        return None


def _shapes(obj: JSONObject) -> _Shapes | None:
    """Return the keys of a claim's shapes; None for deeply nested ones."""
    names: list[str] = []
    numbers: dict[str, int] = {}
    try:
        blanked = {**_blanked(obj, names), "metadata": bool(name_of(obj))}
        places = [numbers.setdefault(name, len(numbers)) for name in names]
        shape = marshal.dumps((blanked, places), _PLAIN)
    except RecursionError:
        return None
    return _Shapes(shape, names)


def _blanked(value: Any, names: list[str]) -> Any:
    """Replace selectors in a list or map by their shapes, as bytes, which no manifest has; note the names they read."""
    if type(value) is list:
        return [_blanked(each, names) if type(each) in _NESTED else each for each in value]
    blanked = value.copy()
    for name, each in value.items():
        if type(each) in _NESTED:
            if name not in _KEPT:
                blanked[name] = _blanked(each, names)
        elif name == _EXPRESSION and type(each) is str and (shape := _selectors.shape_of(each)):
            blanked[name] = shape.text.encode()
            names += shape.names
    return blanked
