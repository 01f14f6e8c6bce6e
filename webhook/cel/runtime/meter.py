"""The limits of evaluations in cost and memory, and their work for the budget in force, which has a deadline.

A generated function keeps the cost `left` to be spent in a local variable, beside the `mark` below which it spends work
next. Callees that may take long get both, and return them updated.
"""

from __future__ import annotations

import sys
from sys import getsizeof
from typing import Any, Final

from webhook.budget import work
from webhook.cel.errors import UNLIMITED, CostLimitExceededError, EvaluationError
from webhook.records import Record, unset

MAX_BYTES: Final = 64 << 20
"""The bytes of texts, lists and maps that evaluations sharing a meter may build; cel-go has no such bound."""
SHARE: Final = 100
"""The cost spent between two looks at the limits: some tens of microseconds."""
COST_OF_WORK: Final = 5
"""The cost that is spent in the time of a unit of work."""
TOO_DEEP: Final = "the values are nested too deeply"


class Meter(Record):
    """The limit of cost of each of some evaluations, with the cost and the memory of all together.

    Args:
        limit: The most that one evaluation may cost.
    """

    limit: int = UNLIMITED
    cost: int = unset(0)
    bytes: int = unset(MAX_BYTES)


def look(meter: Meter, left: int, mark: int) -> int:
    """Check the limits and spend work; return the mark for the next look.

    Args:
        mark: The mark of this look: the cost below it is work, too, as one call may cost much.

    Raises:
        CostLimitExceededError: The limit is reached.
        DeadlineExceededError: The deadline has passed.
        BudgetExceededError: It is more work than the budget in force allows.
    """
    if left < 0 or meter.bytes < 0:
        raise CostLimitExceededError(left=left)
    work((SHARE + mark - left) // COST_OF_WORK)
    return left - SHARE if left > SHARE else 0


def count_built(meter: Meter, value: Any, more: int = 0) -> Any:  # any CEL value
    """Count the bytes of a new text, list or map, without those of its elements, and more; return the value.

    Raises:
        CostLimitExceededError: The evaluations have built too many bytes in all.
    """
    meter.bytes -= getsizeof(value) + more
    if meter.bytes < 0:
        raise CostLimitExceededError(
            f"operation cancelled: texts, lists and maps of more than {MAX_BYTES >> 20} MiB built"
        )
    return value


def caught() -> EvaluationError:
    """The error being handled, to be kept as a value.

    It drops its traceback, whose frames would hold it, and with it the data, in a reference cycle.
    """
    error = sys.exception()
    assert isinstance(error, EvaluationError)  # noqa: S101 - asked for where such errors are handled
    error.__traceback__ = error.__context__ = None
    return error
