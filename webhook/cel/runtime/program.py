"""A program: an expression ready to be evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from webhook.cel.errors import EvaluationError
from webhook.cel.runtime.meter import TOO_DEEP, Meter
from webhook.cel.types.values import Value
from webhook.later import cached_property

if TYPE_CHECKING:
    from webhook.cel.runtime.constants import Analysis
    from webhook.extent import Extent
    from webhook.layout import Layout

    class Evaluate(Protocol):
        """The type of `Program.evaluate`."""

        def __call__(self, bindings: Mapping[str, Value], *, meter: Meter | None = None) -> Value:
            """Evaluates an expression."""

    class EvaluateJoint(Protocol):
        """The type of what `Joint.compiled` returns."""

        def __call__(
            self, meter: Meter, left: int, mark: int, bindings: Mapping[str, Value], /
        ) -> tuple[int, int, bool]:
            """Tells whether all expressions hold, or a condition is false.

            Args:
                meter: Counts the memory that is built; the caller counts costs.
                left: The cost that may be spent.
                bindings: As for `Program.evaluate`, without `variables`.

            Returns:
                The cost left, less than 0 if the expressions must be evaluated one by one; the next mark; and whether
                everything holds. The cost is that of evaluation one by one, with each variable evaluated once.

            Raises:
                CostLimitExceededError: The result is another one: the expressions must be evaluated one by one.
                EvaluationError: The same.
                RecursionError: The same.
                DeadlineExceededError: The evaluation passed the meter's deadline, or the budget's.
                BudgetExceededError: It was more work than the budget in force allows.
            """


class Program:
    """An expression ready to be evaluated, any number of times and in several threads at once.

    Args:
        analysis: The analysis of the expression.
    """

    def __init__(self, analysis: Analysis, *, specialised: bool = True) -> None:
        self.analysis = analysis
        self._specialised = specialised

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

            evaluate: Evaluate = compile_expression(self.analysis, specialised=self._specialised)
        except RecursionError:
            raise EvaluationError(TOO_DEEP) from None
        return evaluate


class Joint:
    """Several expressions, evaluated together as a fast path for the usual results.

    Args:
        conditions: The expressions that are evaluated first.
        checks: The expressions that are evaluated where all conditions hold.
        variables: The expressions that both may use as `variables.NAME`, by name.
        skipped: The largest number of conditions, from the last, that are skipped once one does not hold.
    """

    def __init__(
        self, conditions: Sequence[Program], checks: Sequence[Program], variables: Mapping[str, Program], skipped: int
    ) -> None:
        self._conditions = [each.analysis for each in conditions]
        self._checks = [each.analysis for each in checks]
        self._variables = {name: each.analysis for name, each in variables.items()}
        self._skipped = skipped

    def compiled(self, layouts: Mapping[str, Layout]) -> EvaluateJoint:
        """Returns a new function that tells whether all expressions hold, or a condition is false.

        Args:
            layouts: How variables are held that are not maps and lists of JSON, by name; of maps that are held as
                objects, the expressions read nothing but fields, as `extend` finds.

        Raises:
            CostLimitExceededError: Compiling is more work than the budget in force allows, offline.
            BudgetExceededError: Compiling is more work than the budget in force allows.
        """
        from webhook.cel.runtime.compiler import compile_joint  # most are only checked

        evaluate: EvaluateJoint = compile_joint(self._conditions, self._checks, self._variables, self._skipped, layouts)
        return evaluate

    def extend(self, extent: Extent, variable: str) -> None:
        """Adds to an extent what the evaluation reads of a variable.

        Args:
            extent: The extent of the variable.

        Raises:
            BudgetExceededError: That was more work than the budget in force allows.
            RecursionError: An expression is nested too deeply.
        """
        from webhook.cel.syntax.extents import extend  # needed only for policies that are evaluated often

        roots = [each.checked.root for each in (*self._conditions, *self._checks)]
        extend(extent, variable, roots, {name: each.checked.root for name, each in self._variables.items()})
