"""Answers for objects that are judged: frequent types get a plan, which takes as long to make as some walks."""

from __future__ import annotations

from typing import Final

from webhook.schema import CompiledStruct
from webhook.schema.fields import Tell, answer_first

PLANNED_AFTER: Final = 16
"""How many values of a type take walks before a plan is made."""


def install() -> None:
    """Answer before objects are walked."""
    answer_first(lambda struct: _Often(struct).tell)


class _Often:
    """Counts values of a type.

    Args:
        struct: The type that values should have.
    """

    __slots__ = ("_met", "_planned", "_struct")

    def __init__(self, struct: CompiledStruct) -> None:
        self._struct, self._met = struct, 0
        self._planned: Tell | None = None

    def tell(self, value: object) -> bool:
        """Tell whether there is nothing to report about a value; False if only a walk can tell."""
        if self._planned:
            return self._planned(value)
        self._met += 1
        if self._met >= PLANNED_AFTER:
            from webhook.fast.plan import planned  # needed only for many objects

            self._planned = planned(self._struct)
        return False
