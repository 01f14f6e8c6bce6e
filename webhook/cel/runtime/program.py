"""A program: an expression ready to be evaluated, and its cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from webhook.budget import NONE, BudgetExceededError, current
from webhook.cel.cost.calls import UNLIMITED
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.limits import MAX_BYTES
from webhook.cel.runtime.frame import (
    BINDINGS,
    BUDGET,
    BYTES,
    DEADLINE,
    FIRST_SLOT,
    RESERVE,
    UNSET,
    WORK,
    draw,
    new_frame,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.cel.runtime.frame import Closure
    from webhook.cel.types.values import Value


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


class Program:
    """An expression ready to be evaluated, as often as wanted and in several threads at once."""

    __slots__ = ("_run", "_template", "_variables")

    def __init__(self, run: Closure, variables: Mapping[str, int], slots: int) -> None:
        self._run = run
        self._variables = tuple(variables.items())
        self._template: list[Value] = [*new_frame(), *([UNSET] * (slots - FIRST_SLOT))]

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables that the expression uses."""
        return tuple(name for name, _ in self._variables)

    def evaluate(self, bindings: Mapping[str, Value], *, meter: Meter | None = None) -> Value:  # noqa: C901  # a call more would take long
        """Evaluates the expression.

        Args:
            bindings: Values of the variables: JSON, or values of `webhook.cel.types.values`. They are not changed,
                and what is returned may be a part of them.
            meter: Limits and counts the cost; None for no limit.

        Raises:
            EvaluationError: It came to an error.
            CostLimitExceededError: It came to cost more than the meter allows, or built too much; offline also if it
                was more work than the budget in force allows.
            DeadlineExceededError: It was to go on after the meter's deadline, or the budget's.
            BudgetExceededError: It was more work than the budget in force allows.
        """
        frame = self._template.copy()
        frame[BINDINGS] = bindings
        frame[WORK] = budget = current()
        for name, slot in self._variables:
            frame[slot] = bindings.get(name, UNSET)
        if meter is not None:
            frame[BUDGET] = meter.limit
            frame[BYTES] = meter.bytes
            if meter.deadline is not None:
                frame[DEADLINE] = meter.deadline
        if budget is not NONE or frame[DEADLINE] is not math.inf:
            draw(frame)
        try:
            value = self._run(frame)
        except CostLimitExceededError:
            frame[BUDGET], frame[RESERVE] = min(frame[BUDGET] + frame[RESERVE], -1), 0
            raise
        except BudgetExceededError as error:
            if budget.is_offline:
                raise CostLimitExceededError(str(error)) from None
            raise
        except RecursionError:
            msg = "the values are nested too deeply"
            raise EvaluationError(msg) from None
        finally:
            if meter is not None:
                meter.cost += meter.limit - frame[BUDGET] - frame[RESERVE]
                meter.bytes = frame[BYTES]
        if frame[BUDGET] + frame[RESERVE] < 0:
            raise CostLimitExceededError
        return value
