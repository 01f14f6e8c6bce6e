"""The frame of one evaluation: bindings, budget, slots.

A frame is a list: the cost that may be spent before the next look at the clock, what may be spent after it, the
deadline, the bindings, the bytes that may still be built, the budget of work in force, then a slot for every variable
that the expression uses. Closures that take a frame are what an expression is compiled to; those that may run long call
`draw` when the cost is spent, and those that build texts, lists or maps call `count_built`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from sys import getsizeof
from typing import Any, Final

from webhook.budget import DeadlineExceededError, current
from webhook.cel.cost.calls import UNLIMITED
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.limits import MAX_BYTES

Frame = list[Any]
Closure = Callable[[Frame], Any]

BUDGET: Final = 0
RESERVE: Final = 1
DEADLINE: Final = 2
BINDINGS: Final = 3
BYTES: Final = 4
WORK: Final = 5
FIRST_SLOT: Final = 6

SHARE: Final = 100
"""What is spent between two looks at the clock: some tens of microseconds."""
_WORK_OF_SHARE: Final = 20


class _Unset:
    """The content of a slot whose variable was not bound."""


UNSET: Final = _Unset()


class _Failed:
    """What costs see in the place of an argument or result that is an error: something of size 1, as in cel-go."""


FAILED: Final = _Failed()


def new_frame() -> Frame:
    """A frame without slots, limited in nothing but the bytes that are built."""
    return [UNLIMITED, 0, math.inf, None, MAX_BYTES, current()]


def count_built(frame: Frame, value: Any) -> Any:  # any CEL value
    """Counts the bytes of a text, list or map that was built, of its elements only their places; gives the value.

    Raises:
        CostLimitExceededError: All of the evaluation have come to be too many.
    """
    frame[BYTES] -= getsizeof(value)
    if frame[BYTES] < 0:
        raise too_many_bytes()
    return value


def too_many_bytes() -> CostLimitExceededError:
    """The error of evaluations that build more than fits the memory that they may take."""
    return CostLimitExceededError(
        f"operation cancelled: texts, lists and maps of more than {MAX_BYTES >> 20} MiB built"
    )


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
    frame[WORK].spend(_WORK_OF_SHARE)
    if left > SHARE:
        frame[BUDGET], frame[RESERVE] = SHARE, left - SHARE
