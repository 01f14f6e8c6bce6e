"""The working memory of one evaluation.

A frame is a list: the cost that may be spent before the next look at the clock, what may be spent after it, the
deadline, the bindings, then a slot for every variable that the expression uses. Closures that take a frame are what an
expression is compiled to; those that may run long call `draw` when the budget is below zero.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from webhook.budget import DeadlineExceededError
from webhook.cel.errors import CostLimitExceededError, EvaluationError

Frame = list[Any]
Closure = Callable[[Frame], Any]

BUDGET: Final = 0
RESERVE: Final = 1
DEADLINE: Final = 2
BINDINGS: Final = 3
FIRST_SLOT: Final = 4

SHARE: Final = 100
"""What is spent between two looks at the clock: some tens of microseconds."""


class _Unset:
    """The content of a slot whose variable was not bound."""


UNSET: Final = _Unset()


class _Failed:
    """What costs see in the place of an argument or result that is an error: something of size 1, as in cel-go."""


FAILED: Final = _Failed()


def try_to_evaluate(closure: Closure, frame: Frame) -> Any:  # any CEL value
    """The value of a closure, or `FAILED`; for what cel-go evaluates, and counts, though an error is certain."""
    try:
        return closure(frame)
    except EvaluationError:
        return FAILED


def hasten(frame: Frame, steps: int) -> None:
    """Brings the next look at the clock nearer, by work that costs less than it takes.

    Args:
        frame: The frame.
        steps: For how many units of cost the work would do.

    Raises:
        CostLimitExceededError: All that might be spent is.
        DeadlineExceededError: The deadline has passed.
    """
    frame[BUDGET] -= steps
    frame[RESERVE] += steps
    if frame[BUDGET] < 0:
        draw(frame)


def draw(frame: Frame) -> None:
    """Takes the next share of what may be spent, if there is any left and time for it.

    Raises:
        CostLimitExceededError: All that might be spent is.
        DeadlineExceededError: The deadline has passed.
    """
    left = frame[BUDGET] + frame[RESERVE]
    frame[BUDGET], frame[RESERVE] = left, 0
    if left < 0:
        raise CostLimitExceededError
    if time.monotonic() >= frame[DEADLINE]:
        raise DeadlineExceededError
    if left > SHARE:
        frame[BUDGET], frame[RESERVE] = SHARE, left - SHARE
