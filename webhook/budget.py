"""The budget of a review or document: how much work it may cost, and its deadline.

Selectors and patterns come from any client, and compiling them takes time before any limit of an evaluation counts.
Parsing, expanding, checking, estimating, compiling and searching spend units of the budget in force; a unit is
about a microsecond. Functions that traverse large values spend from it, too, and so does evaluation, besides the limits
of its `Meter`.

Put a budget in force for a review::

    try:
        with limited(Budget(INLINE, deadline)):
            return answer(review)
    except BudgetExceededError:
        …   # more work than may be done here: do it again in a process that can be ended

    with limited(Budget(REVIEW, deadline)):       # in that process
        return answer(review)                     # or an error: the failure policy decides

`deadline` is a `time.monotonic` time in seconds. `DeadlineExceededError` is raised after it, `BudgetExceededError` when
the units are spent before it; nothing in the engine catches either. An exceeded budget stays exceeded: all further work
is refused at once.

With `is_offline`, rules report an expression that exceeds the budget as a separate finding, and compile errors are
shown in full; otherwise reports are cut (`MAX_REPORT`), since a review's response must stay small.

A budget belongs to one thread and its context (`contextvars`). Without a budget in force nothing is limited.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

INLINE: Final = 10_000
"""The budget of a review that shares an event loop with others: some ten milliseconds."""
REVIEW: Final = 2_000_000
"""The budget of a review in its own process, and of the rules for a document offline."""
DOCUMENT: Final = 10_000_000
"""The budget of policies for a document offline, and of loading a policy."""
UNLIMITED: Final = 2**62
QUOTABLE: Final = 1 << 22
"""How many characters of long values all findings of a document may quote; a review's findings quote none in full."""
MAX_REPORT: Final = 4096
"""How many characters of a compile error a review keeps."""

READ: Final = 512
"""How many characters of a text are read for a unit, as a rule; a long text may cost no more than a short one."""
_STRIDE: Final = 1000
"""How many units are spent between two checks of the clock."""


class BudgetExceededError(Exception):
    """There is more work than the budget allows."""

    def __init__(self) -> None:
        super().__init__("the object's expressions take more work than draguard allows")


class DeadlineExceededError(Exception):
    """The deadline passed before the work was done."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: the deadline has passed")


class Budget:
    """The units of work that may be spent, and the deadline.

    Args:
        units: The number of units.
        deadline: When work ends, by `time.monotonic` in seconds; None for never.
        is_offline: Whether exceeding it becomes a finding, and errors are shown in full.
    """

    __slots__ = ("_reserve", "_share", "deadline", "is_offline", "quotable")

    def __init__(self, units: int = UNLIMITED, deadline: float | None = None, *, is_offline: bool = False) -> None:
        self.deadline = deadline
        self.is_offline = is_offline
        self.quotable = 0 if not is_offline else UNLIMITED if units == UNLIMITED else QUOTABLE
        self._share = min(units, _STRIDE)
        self._reserve = units - self._share

    @property
    def left(self) -> int:
        """The units that may still be spent; less than 0 once it is exceeded."""
        return self._share + self._reserve

    def spend(self, units: int) -> None:
        """Spend units; call it before the work.

        Raises:
            BudgetExceededError: Fewer units are left.
            DeadlineExceededError: The deadline has passed.
        """
        self._share -= units
        if self._share < 0:
            self._draw()

    def _draw(self) -> None:
        left = self._share + self._reserve
        self._share, self._reserve = left, 0
        if left < 0:
            raise BudgetExceededError
        if self.deadline is not None and time.monotonic() >= self.deadline:
            self._share = -1
            raise DeadlineExceededError
        if left > _STRIDE:
            self._share, self._reserve = _STRIDE, left - _STRIDE


NONE: Final = Budget(is_offline=True)
"""The default, which limits nothing."""
_in_force: ContextVar[Budget] = ContextVar("budget", default=NONE)

current = _in_force.get
"""Return the budget in force."""
enter = _in_force.set
"""Put a budget in force, and return the token for `leave`; for reviews, since `limited` would take 2 us longer."""
leave = _in_force.reset
"""Put the earlier budget in force again."""


def work(units: int) -> None:
    """Spend units of the budget in force.

    Raises:
        BudgetExceededError: Fewer units are left.
        DeadlineExceededError: The deadline has passed.
    """
    _in_force.get().spend(units)


def check_deadline() -> None:
    """Check the deadline of the budget in force, without spending any of it.

    Raises:
        DeadlineExceededError: The deadline has passed.
    """
    deadline = _in_force.get().deadline
    if deadline is not None and time.monotonic() >= deadline:
        raise DeadlineExceededError


@contextmanager
def limited(budget: Budget) -> Iterator[Budget]:
    """Put a budget in force within the `with` block."""
    token = _in_force.set(budget)
    try:
        yield budget
    finally:
        _in_force.reset(token)
