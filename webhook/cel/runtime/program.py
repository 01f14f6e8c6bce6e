"""A program: an expression ready to be evaluated, and its cost."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

from webhook.budget import NONE, BudgetExceededError, current, work
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.runtime import aggregates, attributes, calls, equality, folds, logic
from webhook.cel.runtime.generator import Generator
from webhook.cel.runtime.meter import Meter, caught, count_built, count_bytes, look
from webhook.cel.types.values import Optional

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.cel.runtime.constants import Analysis
    from webhook.cel.types.values import Value

_WORK_OF_NODE: Final = 5
"""How much work it is at least to write what evaluates a node; what is too much is then not begun."""
_WORK_OF_LINE: Final = 6
"""How much work it is to compile a line."""


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
            return self._compile()
        except (BudgetExceededError, RecursionError) as error:
            stopped(0, error)
            raise

    def _compile(self) -> Evaluate:
        work(self._analysis.size * _WORK_OF_NODE)
        generator = Generator(self._analysis, specialised=self._specialised)
        name = generator.write()
        names = {"__builtins__": BUILTINS, **generator.constants}
        for source in generator.functions:
            work(source.count("\n") * _WORK_OF_LINE)
            exec(compile(source, "<cel>", "exec"), names)  # noqa: S102  # written by `Generator`
        evaluate: Evaluate = names[name]
        return evaluate


def stopped(left: int, error: Exception) -> int:
    """What is left to be spent once an evaluation was stopped.

    Raises:
        CostLimitExceededError: It was more work than the budget in force allows, offline.
        EvaluationError: The values are nested too deeply.
    """
    if isinstance(error, CostLimitExceededError):
        return min(left, error.left)
    if isinstance(error, RecursionError):
        msg = "the values are nested too deeply"
        raise EvaluationError(msg) from None
    if current().is_offline:
        raise CostLimitExceededError(str(error)) from None
    return left


BUILTINS: Final[dict[str, object]] = {
    **{each.__name__: each for each in (bool, dict, enumerate, int, iter, len, list, next, str, type)},
    **{each.__name__: each for each in (CostLimitExceededError, EvaluationError, KeyError)},
    **{each.__name__: each for each in (Meter, caught, count_built, count_bytes, look)},
    **{each.__name__: each for each in (attributes.follow, attributes.goes_on, attributes.lookup)},
    **{each.__name__: each for each in (attributes.present, attributes.step, attributes.unbound)},
    **{each.__name__: each for each in (aggregates.MapBuilder, aggregates.append, aggregates.put_optional)},
    **{each.__name__: each for each in (Optional, calls.afford)},
    **{each.__name__: each for each in (folds.Lazy, folds.elements, folds.entries, folds.inserted)},
    **{each.__name__: each for each in (logic.among, logic.member, logic.not_bool, logic.same, logic.same_by_name)},
    **{each.__name__: each for each in (folds.insert_entry, folds.insert_map, logic.undecided, stopped)},
    "CONTAINERS": equality.CONTAINERS,
    "END": folds.END,
    "KEYS": folds.KEYS,
    "LOOKUP": attributes.LOOKUP,
    "NONE": NONE,
    "PENDING": folds.PENDING,
    "STOPPED": (CostLimitExceededError, BudgetExceededError, RecursionError),
    "UNSET": attributes.UNSET,
    "current": current,
}
"""All that generated functions can call or name beside their own constants."""
