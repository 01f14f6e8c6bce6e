"""Answers for objects that are judged: frequent types get a plan, which takes as long to make as some walks."""

from __future__ import annotations

from typing import Final

from webhook.schema import CompiledStruct
from webhook.schema.fields import Tell, answer_first

PLANNED_AFTER: Final = 16
"""How many values of a type take walks before a plan is made."""


def install() -> None:
    """Answer before objects are walked."""
    answer_first(_often)


def _often(struct: CompiledStruct) -> Tell:
    """Return a function that tells whether there is nothing to report about a value; False if only a walk can tell."""
    met, answer = 0, None

    def tell(value: object) -> bool:
        nonlocal met, answer
        if answer:
            return answer(value)
        met += 1
        if met >= PLANNED_AFTER:
            from webhook.fast.plan import planned  # needed only for many objects

            answer = planned(struct)
        return False

    return tell
