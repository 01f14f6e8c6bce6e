"""A program: an expression ready to be evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from webhook.cel.errors import EvaluationError
from webhook.cel.runtime.meter import TOO_DEEP, Meter
from webhook.cel.types.values import Value
from webhook.later import cached_property

if TYPE_CHECKING:
    from webhook.cel.runtime.constants import Analysis

    class Evaluate(Protocol):
        """The type of `Program.evaluate`."""

        def __call__(self, bindings: Mapping[str, Value], *, meter: Meter | None = None) -> Value:
            """Evaluates an expression."""


class Program:
    """An expression ready to be evaluated, any number of times and in several threads at once."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables that the expression uses."""
        return tuple(self.analysis.variables)

    def prepare(self) -> None:
        """Compiles the expression now, not at the first evaluation."""
        _ = self.evaluate

    @cached_property
    def evaluate(self) -> Evaluate:
        """Evaluates the expression: a function that is written and compiled on first use.

        Args:
            bindings: Values of the variables: JSON, or values of `webhook.cel.types.values`. They are not changed, and
                the result may be a part of them.
            meter: Limits and counts the cost; None for no limit.

        Raises:
            EvaluationError: The evaluation failed.
            CostLimitExceededError: The evaluation cost more than the meter allows, or built too much; offline also if
                it was more work than the budget in force allows.
            DeadlineExceededError: The evaluation passed the meter's deadline, or the budget's.
            BudgetExceededError: The evaluation was more work than the budget in force allows.
        """
        try:
            from webhook.cel.runtime.compiler import compile_expression  # most are only checked

            evaluate: Evaluate = compile_expression(self.analysis)
        except RecursionError:
            raise EvaluationError(TOO_DEEP) from None
        return evaluate
