"""An expression ready to be evaluated, and the cost of doing so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.cel.cost import UNLIMITED
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.frame import BINDINGS, BUDGET, FIRST_SLOT, UNSET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.cel.frame import Closure
    from webhook.cel.values import Value


class Meter:
    """What one evaluation may cost, and after it what it did cost.

    Args:
        limit: The most that it may cost.
    """

    __slots__ = ("cost", "limit")

    def __init__(self, limit: int = UNLIMITED) -> None:
        self.limit = limit
        self.cost = 0


class Program:
    """An expression ready to be evaluated, as often as wanted and in several threads at once."""

    __slots__ = ("_run", "_template", "_variables")

    def __init__(self, run: Closure, variables: Mapping[str, int], slots: int) -> None:
        self._run = run
        self._variables = tuple(variables.items())
        self._template: list[Value] = [0, None, *([UNSET] * (slots - FIRST_SLOT))]

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables that the expression uses."""
        return tuple(name for name, _ in self._variables)

    def evaluate(self, bindings: Mapping[str, Value], *, meter: Meter | None = None) -> Value:
        """Evaluates the expression.

        Args:
            bindings: Values of the variables: JSON, or values of `webhook.cel.values`. They are not changed, and what
                is returned may be a part of them.
            meter: Limits and counts the cost; None for no limit.

        Raises:
            EvaluationError: It came to an error.
            CostLimitExceededError: It came to cost more than the meter allows.
        """
        frame = self._template.copy()
        frame[BUDGET] = limit = UNLIMITED if meter is None else meter.limit
        frame[BINDINGS] = bindings
        for name, slot in self._variables:
            frame[slot] = bindings.get(name, UNSET)
        try:
            value = self._run(frame)
        except CostLimitExceededError:
            frame[BUDGET] = min(frame[BUDGET], -1)
            raise
        except RecursionError:
            msg = "the values are nested too deeply"
            raise EvaluationError(msg) from None
        finally:
            if meter is not None:
                meter.cost = limit - frame[BUDGET]
        if frame[BUDGET] < 0:
            raise CostLimitExceededError
        return value
