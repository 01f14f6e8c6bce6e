"""A program: an expression ready to be evaluated."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from webhook.cel.errors import EvaluationError
from webhook.cel.runtime.meter import TOO_DEEP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        self.analysis = analysis
        self._specialised = specialised

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables that the expression uses."""
        return tuple(self.analysis.variables)

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

            evaluate: Evaluate = compile_expression(self.analysis, specialised=self._specialised)
        except RecursionError:
            raise EvaluationError(TOO_DEEP) from None
        return evaluate


class Ask(Protocol):
    """The type of `Joint.ask`."""

    def __call__(self, meter: Meter, left: int, mark: int, bindings: Mapping[str, Value], /) -> tuple[int, int, bool]:
        """Evaluates several expressions."""


class Joint:
    """Several expressions that tell quickly what is nearly always so.

    Args:
        conditions: Those that are evaluated first.
        checks: Those that are evaluated where all conditions hold.
        variables: What both may use as `variables.NAME`, by their names.
        unasked: How many conditions at most are left out once one does not hold: the last ones.
    """

    def __init__(
        self, conditions: Sequence[Program], checks: Sequence[Program], variables: Mapping[str, Program], unasked: int
    ) -> None:
        self._conditions = [each.analysis for each in conditions]
        self._checks = [each.analysis for each in checks]
        self._variables = {name: each.analysis for name, each in variables.items()}
        self._unasked = unasked

    @cached_property
    def ask(self) -> Ask:
        """Tells whether all expressions hold, or a condition does not.

        Args:
            meter: Counts what is built; costs are counted by the caller.
            left: What may be spent.
            mark: As for `webhook.cel.runtime.meter.look`.
            bindings: As for `Program.evaluate`, the variables apart.

        Returns:
            What is left, less than 0 if the expressions are to be evaluated one by one; the next mark; and whether
            everything holds. What they cost is what they would cost one by one, each variable once.

        Raises:
            CostLimitExceededError: They come to something else, and are to be evaluated one by one.
            RecursionError: As well.
            DeadlineExceededError: It was to go on after the meter's deadline, or the budget's.
            BudgetExceededError: It was more work than the budget in force allows.
        """
        from webhook.cel.runtime.compiler import compile_joint  # noqa: PLC0415  # most are only checked

        ask: Ask = compile_joint(self._conditions, self._checks, self._variables, self._unasked)
        return ask
