"""What evaluations may cost, build and take, and the looks at the clock in between.

A generated function keeps what is `left` to be spent in a local variable, beside the `mark` below which the clock is
looked at next. What it calls that may take long is given both, and gives them back changed.
"""

from __future__ import annotations

import sys
from sys import getsizeof
from time import monotonic
from typing import Any, Final

from webhook.budget import DeadlineExceededError, current
from webhook.cel.cost.calls import UNLIMITED
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.limits import MAX_BYTES

SHARE: Final = 100
"""What is spent between two looks at the clock: some tens of microseconds."""
_WORK_OF_SHARE: Final = 20
TOO_DEEP: Final = "the values are nested too deeply"


class Meter:
    """What each of some evaluations may cost and until when, and what they did cost and may build together.

    Args:
        limit: The most that one evaluation may cost.
        deadline: When evaluations end, by `time.monotonic` in seconds; None for never.
    """

    __slots__ = ("bytes", "cost", "deadline", "limit")

    def __init__(self, limit: int = UNLIMITED, deadline: float | None = None) -> None:
        self.limit = limit
        self.deadline = deadline
        self.cost = 0
        self.bytes = MAX_BYTES


def look(meter: Meter, left: int) -> int:
    """Looks at the clock and spends work; gives the mark for the next look.

    Raises:
        CostLimitExceededError: The limit is reached.
        DeadlineExceededError: The deadline has passed.
        BudgetExceededError: It is more work than the budget in force allows.
    """
    if left < 0:
        raise CostLimitExceededError(left=left)
    if meter.deadline is not None and monotonic() >= meter.deadline:
        raise DeadlineExceededError
    current().spend(_WORK_OF_SHARE)
    return left - SHARE if left > SHARE else 0


def hasten(meter: Meter, left: int, mark: int, steps: int) -> int:
    """Brings the next look at the clock nearer, by work that costs less than it takes; gives its mark.

    Args:
        meter: What limits the evaluation.
        left: What is left to be spent.
        mark: The mark so far.
        steps: For how many units of cost the work would do.

    Raises:
        CostLimitExceededError: The limit is reached.
        DeadlineExceededError: The deadline has passed.
        BudgetExceededError: It is more work than the budget in force allows.
    """
    mark += steps
    return look(meter, left) if left < mark else mark


def count_bytes(meter: Meter, size: int) -> None:
    """Counts bytes of texts, lists and maps that are built.

    Raises:
        CostLimitExceededError: The evaluations have built too many bytes in all.
    """
    meter.bytes -= size
    if meter.bytes < 0:
        msg = f"operation cancelled: texts, lists and maps of more than {MAX_BYTES >> 20} MiB built"
        raise CostLimitExceededError(msg)


def count_built(meter: Meter, value: Any) -> Any:  # any CEL value
    """Counts the bytes of a text, list or map that was built, of its elements only their places; gives the value.

    Raises:
        CostLimitExceededError: The evaluations have built too many bytes in all.
    """
    meter.bytes -= getsizeof(value)
    if meter.bytes < 0:
        count_bytes(meter, 0)
    return value


def caught() -> EvaluationError:
    """The error that is being handled, to be kept as a value.

    It forgets the frames that it came through: they would hold it, and with that the data, in a circle.
    """
    error = sys.exception()
    assert isinstance(error, EvaluationError)  # noqa: S101  # asked for where such errors are handled
    error.__traceback__ = error.__context__ = None
    return error
