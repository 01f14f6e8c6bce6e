"""Compiles the source that `Generator` writes, with the few functions that it may call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from sys import getsizeof
from typing import Any, Final

from webhook.budget import NONE, BudgetExceededError, current, work
from webhook.cel.errors import CostLimitExceededError, EvaluationError, WorkExceededError
from webhook.cel.runtime import aggregates, attributes, calls, folds, logic
from webhook.cel.runtime.constants import Analysis
from webhook.cel.runtime.generator import Generator
from webhook.cel.runtime.meter import TOO_DEEP, Meter, caught, count_built, count_bytes, look
from webhook.cel.types.values import NONE as NO_VALUE
from webhook.cel.types.values import Optional

_WORK_OF_NODE: Final = 5
"""The least work of writing a node's evaluation; expressions that need too much are not begun."""
_WORK_OF_LINE: Final = 6
"""The work of compiling a line."""


def compile_expression(analysis: Analysis) -> Any:  # `webhook.cel.runtime.program.Evaluate`
    """Writes and compiles an expression; gives the function that evaluates it. It raises what `compiled` does."""
    return compiled([analysis], lambda: Generator(analysis))


def compiled(analyses: Iterable[Analysis], make: Callable[[], Generator]) -> Any:  # what the functions are
    """Compiles what a generator of some expressions writes; gives the function that evaluates it.

    Raises:
        CostLimitExceededError: Compiling is more work than the budget in force allows, offline.
        BudgetExceededError: Compiling is more work than the budget in force allows.
    """
    try:
        work(sum(analysis.size for analysis in analyses) * _WORK_OF_NODE)
        generator = make()
        name = generator.write()
        names = {"__builtins__": BUILTINS, **generator.constants}
        for source in generator.functions:
            work(source.count("\n") * _WORK_OF_LINE)
            exec(compile(source, "<cel>", "exec"), names)  # noqa: S102 - written by `Generator`
    except BudgetExceededError as error:
        stopped(0, error)
        raise
    return names[name]


def stopped(left: int, error: Exception) -> int:
    """The cost left once an evaluation was stopped.

    Raises:
        CostLimitExceededError: It was more work than the budget in force allows, offline.
        EvaluationError: The values are nested too deeply.
    """
    if isinstance(error, CostLimitExceededError):
        return min(left, error.left)
    if isinstance(error, RecursionError):
        raise EvaluationError(TOO_DEEP) from None
    if current().is_offline:
        raise WorkExceededError(str(error)) from None
    return left


_NAMED: Final[tuple[Any, ...]] = (
    *(bool, dict, enumerate, int, iter, len, list, max, min, next, str, sum, type),
    *(CostLimitExceededError, EvaluationError, KeyError, getsizeof, Meter, caught, count_built, count_bytes, look),
    *(attributes.follow, attributes.goes_on, attributes.lookup, attributes.present, attributes.resolved_optional),
    *(attributes.resolved_presence, attributes.step, attributes.unbound),
    *(aggregates.MapBuilder, aggregates.append, aggregates.put_optional, Optional, calls.afford),
    *(folds.Lazy, folds.elements, folds.entries, folds.inserted, folds.insert_entry, folds.insert_map),
    *(logic.among, logic.member, logic.not_bool, logic.same, logic.undecided, stopped),
)
BUILTINS: Final[dict[str, object]] = {
    **{each.__name__: each for each in _NAMED},
    "END": folds.END,
    "KEYS": folds.KEYS,
    "LOOKUP": attributes.LOOKUP,
    "NONE": NONE,
    "NO_VALUE": NO_VALUE,
    "PENDING": folds.PENDING,
    "STOPPED": (CostLimitExceededError, BudgetExceededError, RecursionError),
    "UNSET": attributes.UNSET,
    "current": current,
}
"""Everything that generated functions can call or name beside their own constants."""
