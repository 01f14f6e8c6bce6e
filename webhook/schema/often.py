"""Counts values by type: frequent types get a plan, which takes as long as some walks."""

from __future__ import annotations

from functools import cache

from webhook.schema.decoding import apart

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Final

    from webhook.problem import Problem
    from webhook.schema.compiled import CompiledStruct
    from webhook.schema.decoding import Misfit

PLANNED_AFTER: Final = 16
"""How many values of a type take walks before a plan is made."""


class Often:
    """Recognizes valid values quickly.

    Args:
        struct: The type that values should have.
    """

    __slots__ = ("_met", "_struct", "is_fine")

    def __init__(self, struct: CompiledStruct) -> None:
        self._struct, self._met = struct, 0
        self.is_fine: Callable[[object], bool] = self._is_fine_so_far
        """Returns whether a value is fine; False if only the walk can tell."""

    def _is_fine_so_far(self, _value: object) -> bool:
        self._met += 1
        if self._met >= PLANNED_AFTER:
            from webhook.schema.plan import planned  # needed only for many objects

            self.is_fine = planned(self._struct)
        return False


often = cache(Often)
"""Returns what recognizes a type's valid values, the same for all callers."""


def examined(struct: CompiledStruct, value: object) -> tuple[Sequence[Misfit], Sequence[Problem]]:
    """Return the findings in a value, from decoding and from validation; most values take no walk."""
    return ((), ()) if often(struct).is_fine(value) else apart(struct.walk(value))
