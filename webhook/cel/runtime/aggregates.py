"""Values that expressions build: `[a, ?b]`, `{k: v}`, `Type{f: v}`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.cel.errors import EvaluationError
from webhook.cel.runtime.frame import BYTES, count_built, too_many_bytes
from webhook.cel.types.values import FALSE_KEY, TRUE_KEY, Optional, UInt, Value, type_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from webhook.cel.runtime.frame import Closure, Frame

_LIST_BYTES: Final = 56
_PLACE_BYTES: Final = 8


def _unwrap(value: Value, what: str) -> Optional:
    if type(value) is Optional:
        return value
    msg = f"cannot initialize optional {what} from non-optional value {value}"
    raise EvaluationError(msg)


class MapBuilder:
    """A map in the making.

    Args:
        strict: Whether a key may come only once and must be a bool, a whole number or a string.
    """

    __slots__ = ("_strict", "made")

    def __init__(self, *, strict: bool) -> None:
        self.made: dict[Value, Value] = {}
        self._strict = strict

    def put(self, key: Value, value: Value, *, optional: bool = False) -> None:
        """Adds an entry; an optional one only if its value is there.

        Raises:
            EvaluationError: The key cannot be one, or an optional value is none.
        """
        cls = type(key)
        if cls is bool:
            key = TRUE_KEY if key else FALSE_KEY
        elif cls is not str and cls is not int and cls is not UInt and (self._strict or cls is not float):
            msg = f"unsupported key type: {type_of(key).name}"
            raise EvaluationError(msg)
        if self._strict and key in self.made:
            msg = "Failed with repeated key"
            raise EvaluationError(msg)
        if optional:
            found = _unwrap(value, f"entry '{key}'")
            if not found.present:
                self.made.pop(key, None)
                return
            value = found.value
        self.made[key] = value


def build_list(elements: list[Closure], optional: frozenset[int], cost: int) -> Closure:
    """The closure of a list."""
    if not optional:
        size = _LIST_BYTES + len(elements) * _PLACE_BYTES

        def plain(frame: Frame) -> list[Value]:
            frame[0] -= cost
            frame[BYTES] -= size
            if frame[BYTES] < 0:
                raise too_many_bytes()
            return [element(frame) for element in elements]

        return plain

    def build(frame: Frame) -> list[Value]:
        frame[0] -= cost
        made = []
        for position, element in enumerate(elements):
            value = element(frame)
            if position in optional:
                found = _unwrap(value, "list element")
                if not found.present:
                    continue
                value = found.value
            made.append(value)
        count_built(frame, made)
        return made

    return build


def build_struct(
    construct: Callable[[dict[str, Value]], Value], fields: list[tuple[str, Closure, bool]], cost: int
) -> Closure:
    """The closure of a struct."""

    def build(frame: Frame) -> Value:
        frame[0] -= cost
        made: dict[str, Value] = {}
        for name, closure, optional in fields:
            value = closure(frame)
            if optional:
                found = _unwrap(value, f"entry '{name}'")
                if not found.present:
                    made.pop(name, None)
                    continue
                value = found.value
            made[name] = value
        count_built(frame, made)
        return construct(made)

    return build
