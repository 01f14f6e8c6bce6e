"""No text and no data make the engine fail except with its own errors, or do much work."""
# ruff: noqa: SIM905  # a few lines in place of a hundred

import inspect
import re
import sys
from contextlib import ExitStack, suppress
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cel import EVERYTHING, EXTENSIONS, dynamic
from tests.rows import each_row
from tests.steps import counting
from webhook.cel.checker.cost import estimate_cost
from webhook.cel.environment import Environment, Program
from webhook.cel.errors import CelError, CompileError, CostLimitExceededError, EvaluationError
from webhook.cel.ext.validators import EXTENDED_VALIDATIONS
from webhook.cel.functions import MOST
from webhook.cel.runtime.meter import Meter
from webhook.cel.runtime.operators import MAX_ELEMENTS
from webhook.cel.syntax.parser import MAX_CODE_POINTS
from webhook.cel.types.base import DYN

pytestmark = pytest.mark.slow

ENVIRONMENT = Environment((*EXTENSIONS, EXTENDED_VALIDATIONS), variables={"o": DYN, "p": DYN})
LIMIT = 5000

JSON = st.recursive(
    st.sampled_from([None, True, False, -3, -2, -1, 0, 1, 2, 3])
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=10,
)
PLAIN_WORDS = r"""
o p x a b 1 0u 1.5 'a' b'a' '' true false null int [] {} + - * / % < <= > >= == != && || ! ? : in ( ) [ ] { } , . .? [?
.a .b has( .size() size( string( int( duration( timestamp( .matches( .format( .startsWith( .orValue(
optional.of( .sort() .flatten() .split( .join( $ sets.contains( ''' " \ // é 😀 9223372036854775807 while
""".split()
OF_ONE = ("all", "exists", "map", "filter", "exists_one", "optMap", "sortBy")
OF_TWO = ("all", "transformMap", "transformMapEntry")
WORDS = st.sampled_from(
    [*PLAIN_WORDS, *(f".{name}(x, " for name in OF_ONE), *(f".{name}(i, x, " for name in OF_TWO),
     "cel.bind(x, ", "'%s %d'", "`a b`", "\n"]
)  # fmt: skip
ATOMS = "o p o.a p.b o.?a 1 2u 0 1.5 'a' '' true null [] {} x".split()
OPERATORS = "+ - * / % < >= == != && || in".split()
MACROS = "all exists exists_one map filter sortBy".split()
MEMBERS = "size() sort() flatten() distinct() join() a ?b first() hasValue()".split()
FUNCTIONS = "size string int dyn type bool duration optional.of lists.range".split()
FORMS = (
    "({} ? {} : {})", "[{}, {}]", "[{}].map(y, {})", "{{{}: {}}}", "{}[{}]", "{}[?{}]", "{}.transformMap(x, y, {})",
    "cel.bind(x, {}, {})", "!({})", "-({})",
)  # fmt: skip


def expressions() -> st.SearchStrategy[str]:
    """Well-formed expressions, though not always well-typed."""

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            *(st.builds(each.format, *[inner] * each.count("{}")) for each in FORMS),
            st.builds("({} {} {})".format, inner, st.sampled_from(OPERATORS), inner),
            st.builds("{}.{}(x, {})".format, inner, st.sampled_from(MACROS), inner),
            st.builds("{}.{}".format, inner, st.sampled_from(MEMBERS)),
            st.builds("{}({})".format, st.sampled_from(FUNCTIONS), inner),
        )

    return st.recursive(st.sampled_from(ATOMS), grow, max_leaves=12)


def compiles(text: str) -> None:
    try:
        checked = ENVIRONMENT.check(text)
        estimate = estimate_cost(checked, ENVIRONMENT)
        assert 0 <= estimate.low <= MOST
        ENVIRONMENT.program(checked)
    except CelError:
        return


@settings(max_examples=800)
@given(st.lists(WORDS, max_size=25).map(" ".join) | st.text(max_size=60))
def test_no_text_makes_the_compiler_fail_otherwise(text: str) -> None:
    compiles(text)


@settings(max_examples=600)
@given(text=expressions() | expressions().map(dynamic), o=JSON, p=JSON)
def test_no_data_makes_an_evaluation_fail_otherwise_or_cost_more(text: str, o: Any, p: Any) -> None:
    try:
        program = ENVIRONMENT.compile(text)
    except CelError:
        return
    meter = Meter(LIMIT)
    try:
        with suppress(EvaluationError):
            program.evaluate({"o": o, "p": p}, meter=meter)
    except CostLimitExceededError as error:
        if "internal error" in str(error) or meter.cost > LIMIT:
            return
        raise
    assert 0 <= meter.cost <= LIMIT + 500


@settings(max_examples=200)
@given(text=expressions(), o=JSON, p=JSON)
def test_types_do_not_change_what_comes_out(text: str, o: Any, p: Any) -> None:
    try:
        programs = [ENVIRONMENT.compile(each) for each in (text, dynamic(text))]
    except CelError:
        return
    results = []
    for program in programs:
        try:
            results.append(repr(program.evaluate({"o": o, "p": p}, meter=Meter(LIMIT * 100))))
        except (EvaluationError, CostLimitExceededError):
            results.append("error")
    assert results[0] == results[1] or " object at " in results[0]


def outcome(program: Program, bindings: dict[str, Any]) -> tuple[str, int]:
    meter = Meter(LIMIT * 100)
    try:
        shown = repr(program.evaluate(bindings, meter=meter))
    except (EvaluationError, CostLimitExceededError) as error:
        shown = str(error)
    cost = 0 if "internal error" in shown else meter.cost
    return re.sub(r" object at 0x\w+", "", shown), cost


SMALL = {
    "webhook.cel.runtime.constants.LARGE": 4,
    "webhook.cel.runtime.generator.LARGE": 4,
    "webhook.cel.runtime.generator.MOST_INLINE": 2,
    "webhook.cel.runtime.generator.SMALL": 1,
    "webhook.cel.runtime.writer.DEEPEST": 2,
}


@settings(max_examples=300)
@given(text=expressions() | expressions().map(dynamic), o=JSON, p=JSON)
def test_many_small_functions_do_what_one_does(text: str, o: Any, p: Any) -> None:
    try:
        checked = ENVIRONMENT.check(text)
        whole = ENVIRONMENT.program(checked)
    except CelError:
        return
    expected = outcome(whole, {"o": o, "p": p})
    with ExitStack() as stack:
        for name, value in SMALL.items():
            stack.enter_context(mock.patch(name, value))
        assert outcome(ENVIRONMENT.program(checked), {"o": o, "p": p}) == expected


DEEP = (
    ("(", "1", ")"), ("[", "1", "]"), ("{1: ", "1", "}"), ("!(", "true", ")"), ("-(", "1", ")"),
    ("[1].map(x, ", "1", ")"), ("[1].all(x, ", "true", ")"), ("[o].exists(x, x == o && ", "true", ")"),
    ("true ? 1 : (", "1", ")"), ("size([", "1", "])"), ("o[", "o", "]"), ("o == (", "o", ")"),
    ("cel.bind(x, 1, ", "1", ")"), ("false || (", "true", ")"), ("[{'a': optional.of([", "1", "])}]"),
    ("{?'a': optional.of(", "1", ")}"), ("o.?a[?", "o", "]"),
)  # fmt: skip


@each_row(("before", "core", "after"), *DEEP)
@each_row("depth", 40, 80, 120, 240, 300, 3000)
def test_deep_nesting_is_refused_or_works(before: str, core: str, after: str, depth: int) -> None:
    text = before * depth + core + after * depth
    try:
        program = ENVIRONMENT.compile(text)
        estimate_cost(ENVIRONMENT.check(text), ENVIRONMENT)
        outcome = ""
    except CompileError as error:
        outcome = str(error)
    assert ("recursion" in outcome) if outcome else depth < 260
    if not outcome:
        with suppress(EvaluationError):
            program.evaluate({"o": {"a": 1}})


def test_little_stack_left_is_not_a_python_error() -> None:
    text = "[" * 200 + "o" + "]" * 200
    program = ENVIRONMENT.compile(text)

    def sink(levels: int) -> list[str]:
        if levels:
            return sink(levels - 1)
        errors = []
        attempts = ENVIRONMENT.parse, ENVIRONMENT.check, ENVIRONMENT.compile, lambda _: program.evaluate({"o": 1})
        for attempt in attempts:
            try:
                attempt(text)
            except CelError as error:
                errors.append(str(error))
        return errors

    depth = sys.getrecursionlimit() - len(inspect.stack(0)) - 150
    expected = "ERROR: <input>:-1:0: expression is nested too deeply"
    assert sink(depth) == [expected, expected, expected, "the values are nested too deeply"]


@each_row(
    ("start", "grown"),
    ("'0123456789'", "x + x"), ("'01'", "x.replace('', x)"), ("'01'", "[x, x, x].join()"), ("[1, 2]", "x + x"),
    ("[1, 2]", "[x, x].flatten()"), ("b'01'", "x + x"),
)  # fmt: skip
def test_what_grows_without_end_is_stopped(start: str, grown: str) -> None:
    built = start
    for _ in range(40):
        built = f"cel.bind(x, {built}, {grown})"
    with pytest.raises(CostLimitExceededError, match=f"is larger than {MAX_ELEMENTS}|MiB built"):
        ENVIRONMENT.compile(built).evaluate({})


def test_a_long_range_is_not_made_and_no_alternative_hides_that() -> None:
    meter = Meter(LIMIT)
    with pytest.raises(CostLimitExceededError, match="is larger than 1000000"):
        EVERYTHING.compile("lists.range(1000001).size() > 0 || true").evaluate({}, meter=meter)
    assert meter.cost > LIMIT
    assert len(EVERYTHING.compile("lists.range(1000000)").evaluate({})) == 1_000_000


def test_deep_data_can_be_compared() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [{"a": deep}]
    assert ENVIRONMENT.compile("o == p").evaluate({"o": deep, "p": deep}) is True


LONG = (
    ("a", "+ a"), ("true", "&& true"), ("o", "|| o"), ("[1", ", 1"), ("f(1", ", 1"), ("{1: 1", ", 1: 1"),
    ("'a'", "'a'"),
    ("", "$"), ("", "("), ("", "]"), ("", "'"), ("", "\\"), ("", "a."), ("", "1 "), ("", "/* "), ("", "a ? "),
    ("", "\n"),
    ("o", ".a"), ("o", "[0]"), ("o", ".optMap(x, x)"), ("o", ".sortBy(x, x)"), ("", '"""'), ("", "r'"), ("", "`"),
    ("[].map(x, x", " + x"), ("", "-"), ("", "!"), ("", "0x"), ("", "1e"),
)  # fmt: skip


@each_row(("start", "more"), *LONG)
def test_work_grows_with_the_text_and_not_much_faster(start: str, more: str) -> None:
    taken = []
    for size in (2_000, 8_000):
        with counting() as steps:
            compiles(start + more * (size // len(more)))
        taken.append(steps())
    assert taken[1] < max(5 * taken[0], 300_000)


def test_the_largest_text_is_compiled() -> None:
    text = "[" + "1," * (MAX_CODE_POINTS // 2 - 2) + "]"
    assert len(EVERYTHING.compile(text).evaluate({})) == MAX_CODE_POINTS // 2 - 2
