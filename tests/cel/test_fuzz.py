"""No text and no data make the engine fail except with its own errors, or do much work."""

import contextlib
import inspect
import re
import sys
from contextlib import ExitStack
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cel import EVERYTHING, EXTENSIONS, dynamic
from webhook.cel.checker.cost import estimate_cost
from webhook.cel.environment import Environment, Program
from webhook.cel.errors import CelError, CompileError, CostLimitExceededError, EvaluationError
from webhook.cel.ext.validators import EXTENDED_VALIDATIONS
from webhook.cel.functions import MOST
from webhook.cel.runtime import operators
from webhook.cel.runtime.meter import Meter
from webhook.cel.runtime.operators import MAX_ELEMENTS
from webhook.cel.syntax.parser import MAX_CODE_POINTS
from webhook.cel.types.base import DYN

pytestmark = pytest.mark.slow

ENVIRONMENT = Environment((*EXTENSIONS, EXTENDED_VALIDATIONS), variables={"o": DYN, "p": DYN})
LIMIT = 5000

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
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
""".split()  # noqa: SIM905 - a few lines in place of seventy
OF_ONE = ("all", "exists", "map", "filter", "exists_one", "optMap", "sortBy")
OF_TWO = ("all", "transformMap", "transformMapEntry")
WORDS = st.sampled_from(
    [
        *PLAIN_WORDS,
        *(f".{name}(x, " for name in OF_ONE),
        *(f".{name}(i, x, " for name in OF_TWO),
        *("cel.bind(x, ", "'%s %d'", "`a b`", "\n"),
    ]
)


def expressions() -> st.SearchStrategy[str]:
    """Well-formed expressions, though not always well-typed."""
    atoms = st.sampled_from(
        ["o", "p", "o.a", "p.b", "o.?a", "1", "2u", "0", "1.5", "'a'", "''", "true", "null", "[]", "{}", "x"]
    )

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        operator = st.sampled_from(["+", "-", "*", "/", "%", "<", ">=", "==", "!=", "&&", "||", "in"])
        macro = st.sampled_from(["all", "exists", "exists_one", "map", "filter", "sortBy"])
        member = st.sampled_from(
            ["size()", "sort()", "flatten()", "distinct()", "join()", "a", "?b", "first()", "hasValue()"]
        )
        function = st.sampled_from(
            ["size", "string", "int", "dyn", "type", "bool", "duration", "optional.of", "lists.range"]
        )
        return st.one_of(
            st.builds("({} {} {})".format, inner, operator, inner),
            st.builds("({} ? {} : {})".format, inner, inner, inner),
            st.builds("[{}, {}]".format, inner, inner),
            st.builds("[{}].map(y, {})".format, inner, inner),
            st.builds("{{{}: {}}}".format, inner, inner),
            st.builds("{}[{}]".format, inner, inner),
            st.builds("{}[?{}]".format, inner, inner),
            st.builds("{}.{}(x, {})".format, inner, macro, inner),
            st.builds("{}.transformMap(x, y, {})".format, inner, inner),
            st.builds("{}.{}".format, inner, member),
            st.builds("{}({})".format, function, inner),
            st.builds("cel.bind(x, {}, {})".format, inner, inner),
            st.builds("!({})".format, inner),
            st.builds("-({})".format, inner),
        )

    return st.recursive(atoms, grow, max_leaves=12)


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
        program.evaluate({"o": o, "p": p}, meter=meter)
    except EvaluationError:
        pass
    except CostLimitExceededError as error:
        is_crash = "internal error" in str(error)
        if is_crash or meter.cost > LIMIT:
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
    ("(", "1", ")"),
    ("[", "1", "]"),
    ("{1: ", "1", "}"),
    ("!(", "true", ")"),
    ("-(", "1", ")"),
    ("[1].map(x, ", "1", ")"),
    ("[1].all(x, ", "true", ")"),
    ("[o].exists(x, x == o && ", "true", ")"),
    ("true ? 1 : (", "1", ")"),
    ("size([", "1", "])"),
    ("o[", "o", "]"),
    ("o == (", "o", ")"),
    ("cel.bind(x, 1, ", "1", ")"),
    ("false || (", "true", ")"),
    ("[{'a': optional.of([", "1", "])}]"),
    ("{?'a': optional.of(", "1", ")}"),
    ("o.?a[?", "o", "]"),
)


@pytest.mark.parametrize(("before", "core", "after"), DEEP)
@pytest.mark.parametrize("depth", [40, 80, 120, 240, 300, 3000])
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
        with contextlib.suppress(EvaluationError):
            program.evaluate({"o": {"a": 1}})


def test_little_stack_left_is_no_python_error() -> None:
    text = "[" * 200 + "o" + "]" * 200
    program = ENVIRONMENT.compile(text)

    def sink(levels: int) -> list[str]:
        if levels:
            return sink(levels - 1)
        errors = []
        for attempt in (
            lambda: ENVIRONMENT.parse(text),
            lambda: ENVIRONMENT.check(text),
            lambda: ENVIRONMENT.compile("o") and ENVIRONMENT.compile(text),
            lambda: program.evaluate({"o": 1}),
        ):
            try:
                attempt()
            except CelError as error:
                errors.append(str(error))
        return errors

    depth = sys.getrecursionlimit() - len(inspect.stack(0)) - 150
    expected = "ERROR: <input>:-1:0: expression is nested too deeply"
    assert sink(depth) == [expected, expected, expected, "the values are nested too deeply"]


@pytest.mark.parametrize(
    ("start", "grown"),
    [("'0123456789'", "x + x"), ("'01'", "x.replace('', x)"), ("'01'", "[x, x, x].join()"), ("[1, 2]", "x + x"),
     ("[1, 2]", "[x, x].flatten()"), ("b'01'", "x + x")],
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


def calls_to_compile(text: str) -> int:
    """Count the calls, of Python and builtin functions, that compiling takes: the same everywhere, unlike the time."""
    count = 0

    def note(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(note)
    try:
        compiles(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(("start", "more"), LONG)
def test_work_grows_with_the_text_and_not_much_faster(start: str, more: str) -> None:
    few, many = (calls_to_compile(start + more * (size // len(more))) for size in (2_000, 8_000))
    assert many < max(5 * few, 300_000)


def test_the_largest_text_is_compiled() -> None:
    text = "[" + "1," * (MAX_CODE_POINTS // 2 - 2) + "]"
    assert len(EVERYTHING.compile(text).evaluate({})) == MAX_CODE_POINTS // 2 - 2


@settings(max_examples=300)
@given(one=JSON, other=JSON, container=st.lists(JSON, max_size=6))
def test_equality_that_looks_at_the_clock_is_equality(one: Any, other: Any, container: list[Any]) -> None:
    program = ENVIRONMENT.compile("[o == p, o == dyn([p])[0], p in dyn([p]), o in dyn([p])]")
    assert program.evaluate({"o": one, "p": other}) == [
        operators.equal(one, other),
        operators.equal(one, other),
        operators.contains(other, [other]),
        operators.contains(one, [other]),
    ]
    assert ENVIRONMENT.compile("o in p").evaluate({"o": one, "p": container}) is operators.contains(one, container)
