"""What was found in an object holds for all that are alike.

Most claims of a repository differ by their names, and some by a constant in a selector.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.api.versions import find
from webhook.inventory import CLAIMS
from webhook.objects import name_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Sequence

    from webhook.objects import JSONObject
    from webhook.problem import Problem

_BYTES: Final = 16 << 20
"""How much is remembered."""
_PROBLEM: Final = 1_000
"""How many bytes a problem counts for."""
_PLAIN: Final = 2
"""The format of marshal in which equal values have equal bytes: those after it refer to what they have had."""
_SELECTS: Final = b"expression"
_FEW: Final = 16
"""How much is remembered before shapes are sought, which takes a while at first."""
_KEPT: Final = frozenset({"metadata", "config", "status"})
"""What holds no selectors, and may be nested deep."""


class Found(NamedTuple):
    """What rules say about an object.

    Args:
        problems: What they find.
        skipped: How much was not looked up, by kind.
    """

    problems: Sequence[Problem]
    skipped: Counter[str]


class Alike:
    """Remembers what was found in claims and templates, of whose metadata rules read only whether there is a name.

    Args:
        most: How many bytes are remembered.
    """

    def __init__(self, most: int = _BYTES) -> None:
        self._left = most
        self._found: dict[bytes, Found] = {}

    def find(self, obj: JSONObject, look: Callable[[], Found], has_plain_constants: Callable[[], bool]) -> Found:
        """Return what is found in an object.

        Args:
            obj: The object, in any version.
            look: Looks at it, unless that is known of one like it.
            has_plain_constants: Tells of an object in which nothing was found whether that holds for all whose
                selectors have the same shapes.
        """
        key = _key(obj)
        if key is None:
            return look()
        found = self._found.get(key)
        shape = _shape(obj) if found is None and _SELECTS in key and len(self._found) >= _FEW else None
        if shape and found is None:
            found = self._found.get(shape)
        if found is None:
            found = look()
            self._keep(key, found)
            if shape and not found.problems and has_plain_constants():
                self._keep(shape, found)
        return found

    def _keep(self, key: bytes, found: Found) -> None:
        self._left -= len(key) + _PROBLEM * (1 + len(found.problems))
        if self._left >= 0:
            self._found[key] = found


def _key(obj: JSONObject) -> bytes | None:
    """Return what claims have in common that rules cannot tell apart; None of others, and if they are nested deep."""
    if obj.get("kind") not in CLAIMS or not find(obj.get("apiVersion"), obj["kind"]):
        return None
    try:
        return marshal.dumps({**obj, "metadata": bool(name_of(obj))}, _PLAIN)
    except ValueError:
        return None


def _shape(obj: JSONObject) -> bytes | None:
    """Return what claims have in common whose selectors have the same shapes; None of those nested deep."""
    try:
        return marshal.dumps({**_blanked(obj), "metadata": bool(name_of(obj))}, _PLAIN)
    except RecursionError:
        return None


def _blanked(value: Any) -> Any:
    """Put shapes in the place of selectors, as bytes, which no manifest has."""
    if type(value) is list:
        return [_blanked(each) for each in value]
    if type(value) is not dict:
        return value
    return {
        name: each if name in _KEPT else _shaped(each) if name == "expression" else _blanked(each)
        for name, each in value.items()
    }


def _shaped(value: Any) -> Any:
    from webhook.cel.kubernetes.shapes import shape_of  # noqa: PLC0415 - most objects have no selectors

    shape = shape_of(value) if isinstance(value, str) else None
    return value if shape is None else shape.encode()
