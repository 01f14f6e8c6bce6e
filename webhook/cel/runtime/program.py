"""A program: an expression ready to be evaluated."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from webhook.cel.errors import EvaluationError
from webhook.cel.runtime.meter import TOO_DEEP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.cel.runtime.constants import Analysis
    from webhook.cel.runtime.meter import Meter
    from webhook.cel.types.values import Value


class Evaluate(Protocol):
    """The type of `Program.evaluate`."""

    def __call__(self, bindings: Mapping[str, Value], *, meter: Meter | None = None) -> Value:
        """Evaluates an expression."""


class Program:
    """An expression ready to be evaluated, as often as wanted and in several threads at once.

    Args:
        analysis: What is known of the expression.
        specialised: As for `Generator`.
    """

    def __init__(self, analysis: Analysis, *, specialised: bool = True) -> None:
        self._analysis = analysis
        self._specialised = specialised

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables that the expression uses."""
        return tuple(self._analysis.variables)

    def prepare(self) -> None:
        """Compiles the expression now rather than when it is first evaluated."""
        _ = self.evaluate

    @cached_property
    def evaluate(self) -> Evaluate:
        """Evaluates the expression: a function that is written and compiled when it is first asked for.

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
        try:
            from webhook.cel.runtime.compiler import compile_expression  # noqa: PLC0415  # most are only checked

            evaluate: Evaluate = compile_expression(self._analysis, specialised=self._specialised)
        except RecursionError:
            raise EvaluationError(TOO_DEEP) from None
        return evaluate
