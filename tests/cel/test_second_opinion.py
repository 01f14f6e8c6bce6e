"""The engine beside cel-python, an independent implementation of the specification.

Both evaluate every expression that cel-python can parse. Where they disagree, the expression is listed below with the
source that decides it; a disagreement that is not listed, or a listed one that is gone, fails.
"""

import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cel import EXTENSIONS
from tests.cel.specification import SAMPLES, disagreement, is_explained, suite, without_checks
from webhook.cel.environment import Environment
from webhook.cel.errors import CelError
from webhook.cel.types.base import DYN
from webhook.cel.types.values import BoolKey, Duration, Timestamp, UInt

pytestmark = pytest.mark.slow

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import celpy
    from celpy import celtypes
    from celpy.adapter import json_to_cel
    from celpy.celparser import CELParseError
    from celpy.evaluation import CELEvalError

UNREADABLE = object()
PRELUDE = Environment(EXTENSIONS, variables={"o": DYN})
POD = {
    "metadata": {"name": "probe", "labels": {"app": "inference", "tier": "gpu"}},
    "spec": {
        "priority": 0,
        "containers": [
            {"name": "c0", "image": "a/b:1", "args": ["--x"], "ports": [{"containerPort": 8080}]},
            {"name": "c1", "image": "b"},
        ],
    },
}
EXPRESSIONS = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
# The clauses are those of the language definition (cel-spec doc/langdef.md).
EQUALITY = "Equality: == of different types is false, numbers compare by value on one number line"
ORDERING = "Ordering: int, uint and double compare across types by value"
NO_CONVERSION = "Values: there are no implicit conversions between numbers"
LOGIC = "Logical operators: && and || are of booleans; any other operand is an error unless the other decides"
DECIDED = {
    "1 + 1u": NO_CONVERSION,
    "1 == 1.0": EQUALITY,
    "1u == 1": EQUALITY,
    "dyn(1) == dyn(1u)": EQUALITY,
    "{'a': 1} == {'a': 1.0}": EQUALITY,
    "1 in [1.0, 2.0]": EQUALITY,
    "null == 0": EQUALITY,
    "'1' == 1": EQUALITY,
    "1 < 1.5": ORDERING,
    "0.0 / 0.0 == 0.0 / 0.0": "Equality: NaN equals nothing, itself neither",
    "{1: 'a', 2u: 'b'}[2]": "Field selection: a key of another numeric type is looked up by value",
    "[1, 2][-1]": "List access: an index out of range, a negative one too, is an error",
    "[1, 2].map(x, x > 1, x * 10)": "Macros: map with three arguments filters before it transforms",
    "true && 1": LOGIC,
    "false || 'a'": LOGIC,
    "string(true)": "Standard definitions: string(bool) is `true` or `false`",
}


def plain(value: Any) -> Any:  # noqa: PLR0911  # one return for each type
    """A value of ours in a form that can be compared."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, UInt):
        return ("uint", int(value))
    if isinstance(value, (Timestamp, Duration)):
        return (type(value).__name__.lower(), value.nanos // 1000)
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else ("double", value)
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        pairs = [(plain(key.value if isinstance(key, BoolKey) else key), plain(each)) for key, each in value.items()]
        return sorted(pairs, key=repr)
    return value


THEIRS: dict[type, Callable[[Any], Any]] = {
    celtypes.BoolType: bool,
    celtypes.UintType: lambda value: ("uint", int(value)),
    celtypes.IntType: int,
    celtypes.DoubleType: lambda value: "NaN" if math.isnan(value) else ("double", float(value)),
    celtypes.StringType: str,
    celtypes.BytesType: bytes,
    celtypes.ListType: lambda value: [theirs(each) for each in value],
    celtypes.MapType: lambda value: sorted(((theirs(key), theirs(each)) for key, each in value.items()), key=repr),
    celtypes.TimestampType: lambda value: ("timestamp", round(value.timestamp() * 10**6)),
    celtypes.DurationType: lambda value: ("duration", round(value.total_seconds() * 10**6)),
}


def theirs(value: Any) -> Any:
    """The same for a value of cel-python."""
    return THEIRS[type(value)](value) if type(value) in THEIRS else value


def ours(text: str) -> Any:
    try:
        return plain(PRELUDE.program(without_checks(text, PRELUDE)).evaluate({"o": POD}))
    except CelError:
        return "error"


def second_opinion(text: str) -> Any:
    """cel-python's result of an expression; `UNREADABLE` if it cannot parse it."""
    limit = sys.getrecursionlimit()
    environment = celpy.Environment()
    sys.setrecursionlimit(limit)  # it lowers the limit, for all tests after it
    try:
        tree = environment.compile(text)
    except CELParseError:
        return UNREADABLE
    try:
        return theirs(environment.program(tree).evaluate({"o": json_to_cel(POD)}))
    except (CELEvalError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, RecursionError):
        return "error"


CORE = {
    *("basic", "comparisons", "conversions", "fields", "fp_math", "integer_math", "lists", "logic", "macros", "parse"),
    *("plumbing", "string", "timestamps"),
}


def comparable() -> list[dict[str, Any]]:
    """The cases of the specification's suite about features of cel-python."""
    core = [case for case in suite() if case["file"] in CORE] or SAMPLES
    return [case for case in core if not {"bindings", "type_env", "container", "check_only"} & case.keys()]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_both_agree_but_where_the_specification_sides_with_us(text: str) -> None:
    opinion = second_opinion(text)
    assert opinion != UNREADABLE
    assert (ours(text) == opinion) is (text not in DECIDED)


def test_where_both_disagree_on_the_suite_it_sides_with_us() -> None:
    lost = []
    for case in comparable():
        opinion = second_opinion(case["expr"])
        if opinion not in (UNREADABLE, ours(case["expr"])) and disagreement(case) and not is_explained(case):
            lost.append((case["expr"], ours(case["expr"]), opinion))
    assert lost == []
