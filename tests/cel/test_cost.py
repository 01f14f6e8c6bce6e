"""The cost of expressions: the figures of cel-go's own tests, and those of the API server.

The figures without folding of constants are those that cel-go's interpreter/runtimecost_test.go and
checker/cost_test.go establish for the same operations.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cel import EXTENSIONS, cost_of
from tests.examples import examples
from webhook.budget import DeadlineExceededError
from webhook.cel import (
    CostLimitExceededError,
    Environment,
    EnvironmentOptions,
    EvaluationError,
    Function,
    Library,
    Meter,
    Overload,
    StructType,
)
from webhook.cel.checker.cost import estimate_cost
from webhook.cel.cost.sizes import MOST, Bounds, CallEstimate, EstimatedNode, fixed
from webhook.cel.runtime.constants import Analysis
from webhook.cel.runtime.program import Program
from webhook.cel.types import base as types
from webhook.cel.types.base import BOOL, BYTES, DOUBLE, DYN, INT, STRING, TIMESTAMP, list_of, map_of, struct
from webhook.cel.types.values import Optional

if TYPE_CHECKING:
    from collections.abc import Callable

ITEM = struct("Item")
VARIABLES = {
    "a": BOOL, "b": BOOL, "n": INT, "text": STRING, "other": STRING, "raw": BYTES, "time": TIMESTAMP,
    "numbers": list_of(INT), "more": list_of(INT), "words": list_of(STRING), "item": ITEM,
    "items": list_of(ITEM), "nested": list_of(list_of(ITEM)), "table": map_of(STRING, ITEM),
    "tables": map_of(STRING, map_of(STRING, ITEM)), "names": map_of(STRING, STRING), "d": DYN, "dotted.name": DOUBLE,
}  # fmt: skip
LIBRARY = Library("items", structs=(StructType(ITEM, {"count": INT, "name": STRING}),))
PLAIN = Environment((*EXTENSIONS, LIBRARY), variables=VARIABLES, options=EnvironmentOptions(fold_constants=False))
FOLDING = Environment((*EXTENSIONS, LIBRARY), variables=VARIABLES)
KUBERNETES = FOLDING.extend(presence_test_cost=0)
BINDINGS: dict[str, Any] = {
    "a": True, "b": False, "n": 1, "text": "x" * 500, "other": "y" * 500, "raw": b"z" * 500, "numbers": [1, 2],
    "more": [], "words": ["a", "ab"], "item": {"count": 1}, "items": [{"count": 1}], "table": {"k": {"count": 1}},
    "names": {"k": "v"}, "d": {"list": [1, 2, 3], "name": "n" * 25, "deep": {"x": {"y": 1}}}, "dotted.name": 1.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("'text'", 0),
        ("numbers", 1),
        ("names['k']", 2),
        ("numbers[0]", 2),
        ("item.count", 2),
        ("names['' + 'k']", 3),
        ("numbers[1 - 1]", 3),
        ("numbers[n]", 2),
        ("numbers[item.count]", 3),
        ("numbers[a ? 0 : 1]", 3),
        ("has(item.count)", 2),
        ("has(d.deep.x)", 3),
        ("[1, 2, 3]", 10),
        ("{'a': 1, 'b': 2}", 30),
        ("Item{count: 1, name: 'x'}", 40),
        ("more.all(x, true)", 2),
        ("[1, 2, 3].all(x, true)", 20),
        ("text.matches('[0-9]')", 103),
        ("'123'.matches('[0-9]')", 2),
        ("false || false", 0),
        ("true || false", 0),
        ("b || b || b || b", 4),
        ("a && a && a && a", 4),
        ("b && a", 1),
        ("1 < 2", 1),
        ("1 == 2", 1),
        ("2 in [1, 2, 3]", 13),
        ("1 + 1", 1),
        ("1 % 1", 1),
        ("true ? 1 : 2", 0),
        ("false ? false : 1 > 3", 1),
        ("(1 > 2 ? 5 : 3) > 1", 2),
        ("(1 > 2 || 2 > 1) == true", 3),
        ("size('123')", 1),
        ("'12345678901234567890' == '123456789012345678901234567890'", 2),
        ("string(raw)", 51),
        ("bytes(text)", 51),
        ("string(1)", 1),
        ("text.contains(other)", 2502),
        ("'idc'.startsWith(other)", 2),
        ("text.endsWith('x')", 51),
        ("text < other", 52),
        ("text + other", 102),
        ("raw == raw", 52),
        ("words == words", 3),
        ("matches(text, '.')", 2),
        ("(n > 2 ? items : items).all(y, true)", 6),
        ("table.all(k, table[k].count > 3)", 9),
        ("(numbers + more).all(x, true)", 10),
        ("'abcdefg'.contains('val1' + 'val2222222')", 4),
        ("[{'k1': 1}, {'k2': 2}].all(x, true)", 77),
        ("[1, 2, 3, 4, 5].filter(x, x % 2 == 0)", 62),
        ("[1, 2, 3, 4, 5].map(x, x)", 86),
        ("[1, 2, 3, 4, 5].map(x, x).filter(x, x % 2 == 0)", 138),
        ("[1, 2, 3, 4, 5].map(x, x).exists(x, x == 5) == true", 118),
        ("[1, 2, 3, 4, 5].map(x, x).map(x, x)", 162),
        ("[1, 2, 3, 4, 5].map(x, [x, x]).filter(z, z.size() == 2)", 232),
        ("[1, 2, 3, 4, 5].map(x, [x, x]).all(y, y.all(y, y == 1))", 171),
        ("[1, 2, 3, 4, 5].map(x, x).map(x, x) + [1]", 173),
        ("[1, 2, 3].all(i, i in [1, 2, 3].map(j, j + j))", 86),
    ],
)
def test_costs_are_cel_gos(text: str, cost: int) -> None:
    assert cost_of(text, PLAIN, BINDINGS) == cost


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("[1, 2, 3]", 0),
        ("{'a': [1]}", 0),
        ("[int, type(1)]", 0),
        ("[1, n]", 11),
        ("string(1)", 0),
        ("int(string(1)) + n", 2),
        ("2 in [1, 2, 3]", 0),
        ("n in [1, 2, 3]", 1),
        ("n in []", 0),
        ("n in numbers", 4),
        ("n in d.list", 4),
        ("numbers in [[1, 2]]", 2),
        ("d.name == 'x'", 3),
        ("d.name < 'x'", 3),
        ("d.name == d.name", 7),
        ("d.name + d.name", 5),
        ("d.name.startsWith('n')", 5),
        ("d.deep.?x.?y", 4),
        ("d.?nope.?x.?y", 1),
        ("d.?nope.orValue(1)", 1),
        ("d.?deep.or(optional.none()).hasValue()", 3),
        ("numbers.map(x, 1)", 1 + 2 * 2 + 1),
        ("numbers.exists(x, x == 2)", 1 + 2 * (4 + 2) + 1),
        ("numbers.exists(x, x == 1)", 1 + (4 + 2) + 3 + 1),
        ("numbers.all(x, x == 2)", 1 + (3 + 2) + 2 + 1),
        ("numbers.exists_one(x, x == 2)", 1 + 2 * 2 + 2 + 2),
        ("numbers.transformList(i, x, i + x)", 1 + 2 * (12 + 3) + 1),
        ("numbers.transformMap(i, x, x)", 1 + 2 * (3 + 1) + 1),
        ("numbers.transformMap(i, x, x > 1, x)", 1 + 2 * 2 + 4 + 1),
        ("numbers.transformMapEntry(i, x, {x: i})", 1 + 2 * (2 + 32) + 1),
        ("cel.bind(v, n + n, v * v)", 3 + 2 + 1),
        ("cel.bind(v, n + n, 1)", 0),
        ("optional.of(n).optMap(x, x)", 2 + 1 + (2 + 1) + 1 + 1),
        ("sets.contains(numbers, [1])", 1 + 1 + 2),
        ("sets.equivalent(numbers, numbers)", 2 + 1 + 8),
        ("numbers.sort()", 1 + 8 + 1 + 10),
        ("words.distinct()", 1 + 8 + 1 + 10),
        ("numbers.reverse()", 1 + 2 + 1 + 10),
        ("[numbers].flatten()", 11 + 1 + 1 + 10),
        ("lists.range(5)", 5 + 1 + 10),
        ("'%s'.format([n])", 11 + 1),
        ("strings.quote(text)", 51),
    ],
)
def test_constants_and_extensions_cost_what_they_do_in_the_api_server(text: str, cost: int) -> None:
    assert cost_of(text, FOLDING, BINDINGS) == cost


@pytest.mark.parametrize(("text", "cost"), [("has(item.count)", 1), ("has(d.deep.x)", 2), ("has(d.nope)", 1)])
def test_a_presence_test_costs_nothing_itself_in_kubernetes(text: str, cost: int) -> None:
    assert cost_of(text, KUBERNETES, BINDINGS) == cost


def test_an_environment_can_set_costs_by_function_name() -> None:
    costs: dict[str, Any] = {
        "contains": lambda id_, _, result: 7 if id_ == "contains_string" and not result else None,
        "_==_": lambda _, __, result: 5 if result else None,
        "_+_": lambda id_, _, __: 9 if not id_ else None,
    }
    environment = FOLDING.extend(Library("costs", call_costs=costs))
    assert cost_of("text.contains('a')", environment, BINDINGS) == 1 + 7
    assert cost_of("text.contains('x')", environment, BINDINGS) == 1 + 50
    assert cost_of("n == 1", environment, BINDINGS) == 1 + 5
    assert cost_of("n == 2", environment, BINDINGS) == 1 + 1
    assert cost_of("d.name + d.name", environment, BINDINGS) == 4 + 9
    assert cost_of("n + n", environment, BINDINGS) == 2 + 1


def test_at_the_limit_is_within_it() -> None:
    program = FOLDING.compile("numbers.all(x, x > 0) && text.contains('a')")
    meter = Meter()
    program.evaluate(BINDINGS, meter=meter)
    program.evaluate(BINDINGS, meter=Meter(meter.cost))
    with pytest.raises(CostLimitExceededError, match=r"^operation cancelled: actual cost limit exceeded$"):
        program.evaluate(BINDINGS, meter=Meter(meter.cost - 1))


def test_the_cost_is_known_after_an_error_too() -> None:
    meter = Meter()
    with pytest.raises(EvaluationError):
        FOLDING.compile("d.name == 'a' || d.nope").evaluate(BINDINGS, meter=meter)
    assert meter.cost == 3 + NOPE


# Not recorded but read off cel-go's source: every step that was taken is observed, be its value an error or not
# (interpreter/interpretable.go); an error is of size 1 (interpreter/runtimecost.go, actualSize).
NOPE = 2  # d.nope: the variable and the field that is not there


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("d.nope == 'a'", NOPE + 1),
        ("d.nope == d.name", NOPE + 2 + 1),
        ("d.name == d.nope", 2 + NOPE + 1),
        ("d.nope == ''", NOPE + 0),
        ("d.nope == d.nope", NOPE + NOPE + 1),
        ("d.nope != 1", NOPE + 1),
        ("(d.nope == 'a') == (d.nope == 'b')", (NOPE + 1) + (NOPE + 1) + 1),
        ("n / 0 > n + 1", (1 + 1) + (1 + 1) + 1),
        ("d.nope + text == 'a'", NOPE + 1 + 51 + 1),
        ("string(d.nope) + text == 'a'", (NOPE + 1) + 1 + 51 + 1),
        ("text + string(d.nope) == 'a'", 1 + (NOPE + 1) + 51 + 1),
        ("!d.nope", NOPE + 1),
        ("!(n / 0 > 1)", (1 + 1) + 1 + 1),
        ("bytes(string(d.nope)) == raw", (NOPE + 1) + 1 + 1 + 1),
        ("text.startsWith(string(d.nope))", 1 + (NOPE + 1) + 50),
        ("string(d.nope).startsWith(text)", (NOPE + 1) + 1 + 1),
        ("text.matches(text + '(')", 1 + (1 + 51) + 51 * 126),
        ("text.replace(string(d.nope), 'b') == 'a'", 1 + (NOPE + 1) + 1),
        ("text.replace('a', string(d.nope)) == 'a'", 1 + (NOPE + 1) + 1 + 1),
        ("text.replace('a', 'b', n / 0) == 'a'", 1 + (1 + 1) + 1 + 1),
        ("numbers.slice(n, 0) == more", (1 + 1 + 11 + 1) + 1 + 0),
        ("numbers[n / 0] == 1", (1 + 1) + (1 + 1) + 1),
        ("numbers[d.nope] == 1", 1 + 1 + 1 + 1),
        ("[n / 0, n + n] == numbers", (10 + 1 + 1) + 1 + 1),
        ("{'a': n / 0, 'b': n + n} == d", (30 + 1 + 1) + 1 + 1),
        ("{?'a': optional.of(n / 0)} == d", (30 + 1 + 1 + 1) + 1 + 1),
        ("[?optional.of(n / 0)] == numbers", (10 + 1 + 1 + 1) + 1 + 1),
        ("Item{count: n / 0} == item", (40 + 1 + 1) + 1 + 1),
        ("has(d.nope.x)", NOPE),
        ("numbers.map(x, x / 0) == more", 1 + 10 + 2 * (2 + 10 + 2) + 1 + 1 + 0),
        ("numbers.transformMap(i, x, x / 0) == d", 1 + 30 + (3 + 2) + 1 + 1 + 1 + 1),
        ("numbers.transformMapEntry(i, x, {i: x / 0}) == d", 1 + 30 + 2 * (2 + 30 + 1 + 2) + 1 + 1 + 1),
        ("numbers.all(x, x / 0 > 1)", 1 + 2 * (3 + 2 + 1) + 1),
        ("numbers.sort() == d.nope", 1 + (8 + 11) + NOPE + 1),
        ("[d.nope].flatten() == numbers", (10 + NOPE) + (1 + 11) + 1 + 1),
        ("names.exists(k, d.nope == k) == (n / 0 > 1)", 1 + (4 + NOPE + 1 + 1) + 1 + 3 + 1),
    ],
)
def test_what_is_evaluated_after_an_error_is_counted(text: str, cost: int) -> None:
    meters = Meter(), Meter()
    with pytest.raises(EvaluationError):
        PLAIN.compile(text).evaluate(BINDINGS, meter=meters[0])
    assert meters[0].cost == cost
    if PLAIN.check(text).type == BOOL:
        assert PLAIN.compile(f"({text}) || true").evaluate(BINDINGS, meter=meters[1])
        assert meters[1].cost == cost


@pytest.mark.parametrize(("text", "cost"), [("has(d.nope.x)", 1), ("has(d.deep.nope.x)", 2), ("has(d.name)", 1)])
def test_a_presence_test_that_is_not_come_to_is_not_counted(text: str, cost: int) -> None:
    meter = Meter()
    with suppress(EvaluationError):
        KUBERNETES.compile(text).evaluate(BINDINGS, meter=meter)
    assert meter.cost == cost


@pytest.mark.parametrize("first", ["has(o.a.b) && false", "o.a.b == 0", "o.a == 0"])
@pytest.mark.parametrize("second", ["o.a.b.c == 1", "o.a.b == 2"])
@pytest.mark.parametrize("a", [1, "b", [1], {}, {"b": None}, {"b": {"c": 2}}, Optional({"b": {"c": 2}})])
def test_steps_that_were_taken_before_cost_the_same(first: str, second: str, a: Any) -> None:
    environment = Environment(variables={"o": DYN})

    def spent(text: str) -> int:
        meter = Meter()
        with suppress(EvaluationError):
            environment.compile(text).evaluate({"o": {"a": a}}, meter=meter)
        return meter.cost

    assert spent(f"{first} || {second}") == spent(first) + spent(second)


def test_a_call_that_fits_no_overload_costs_a_unit() -> None:
    environment = FOLDING.extend(Library("", call_costs={"size": lambda _, values, __: len(values[1])}))
    meter = Meter()
    with pytest.raises(EvaluationError, match="no such overload"):
        environment.program(environment.parse("size(1, 2, 3)")).evaluate({}, meter=meter)
    assert meter.cost == 1


def test_a_cost_of_the_environments_own_counts_errors_too() -> None:
    environment = FOLDING.extend(
        Library("", call_costs={"_==_": lambda _, values, __: 1000 if isinstance(values[0], str) else None})
    )
    costs = []
    for text in ("text == d.nope", "d.nope == text"):
        meter = Meter()
        with pytest.raises(EvaluationError):
            environment.compile(text).evaluate(BINDINGS, meter=meter)
        costs.append(meter.cost)
    assert costs == [1 + NOPE + 1000, NOPE + 1 + 1]


LOOPS = (
    "big.all(x, x >= 0)",
    "big.exists(x, x < 0)",
    "big.exists_one(x, x < 0)",
    "big.map(x, x)",
    "big.filter(x, x > 5)",
    "big.all(i, x, x >= 0)",
    "big.transformMap(i, x, x)",
    "big.transformMapEntry(i, x, {x: x})",
    "big.map(x, big.map(y, y))",
    "big.sortBy(x, -x)",
)


def looping(text: str, *, specialised: bool = True) -> Program:
    environment = FOLDING.extend(variables={"big": list_of(INT)})
    return Program(Analysis(environment.check(text), environment), specialised=specialised)


@pytest.mark.parametrize("text", LOOPS)
@pytest.mark.parametrize("specialised", [True, False])
def test_a_loop_is_stopped_within_a_step_of_its_limit(text: str, *, specialised: bool) -> None:
    program = looping(text, specialised=specialised)
    meter = Meter(1000)
    with pytest.raises(CostLimitExceededError):
        program.evaluate({"big": list(range(5000))}, meter=meter)
    assert 1000 < meter.cost <= 1000 + 50


@pytest.mark.parametrize(
    "text", ["text.contains(text)", "text.matches('a*b*c*d*e*') && a", "raw == raw", "text == text", "text + text"]
)
def test_a_costly_call_exceeds_the_limit_by_itself_alone(text: str) -> None:
    meter = Meter(5)
    with pytest.raises(CostLimitExceededError):
        FOLDING.compile(text).evaluate(BINDINGS, meter=meter)
    assert meter.cost > 5


def test_a_meter_limits_each_evaluation_and_counts_them_together() -> None:
    program = FOLDING.compile("numbers.all(x, x > 0)")
    once = Meter()
    program.evaluate(BINDINGS, meter=once)
    meter = Meter(once.cost)
    program.evaluate(BINDINGS, meter=meter)
    program.evaluate(BINDINGS, meter=meter)
    assert meter.cost == 2 * once.cost


# -- deadlines


def test_nothing_is_evaluated_after_the_deadline() -> None:
    meter = Meter(deadline=time.monotonic())
    with pytest.raises(DeadlineExceededError, match=r"^operation cancelled: the deadline has passed$"):
        FOLDING.compile("numbers.all(x, x > 0)").evaluate(BINDINGS, meter=meter)
    assert meter.cost == 0


@pytest.mark.parametrize("text", LOOPS)
@pytest.mark.parametrize("specialised", [True, False])
def test_a_loop_is_stopped_when_its_deadline_passes(text: str, *, specialised: bool) -> None:
    program = looping(text, specialised=specialised)
    with pytest.raises(DeadlineExceededError):
        program.evaluate({"big": list(range(200_000))}, meter=Meter(deadline=time.monotonic() + 0.005))


MATRICES = [[[float(column) for column in range(300)] for _ in range(300)] for _ in range(2)]
LONG = list(range(200_000))


@pytest.mark.parametrize(
    "text",
    [
        "d.matrix == d.copy",
        "[d.matrix] != [d.copy]",
        "{'a': d.matrix} == {'a': d.copy}",
        "[d.matrix] in d.copies",
        "d.matrix in dyn([d.copy, d.copy])",
        "d.long == d.same",
        "-1 in d.long",
        "[-1] in d.long",
        "-1 in dyn(d.long)",
        "[1, 2, 3].all(x, sets.contains([d.matrix], [d.copy]))",
        "[1, 2, 3].all(x, [d.matrix, d.copy].distinct().size() == 1)",
    ],
)
def test_what_takes_long_at_little_cost_is_stopped_too(text: str) -> None:
    matrix, copy = MATRICES
    data = {"matrix": matrix, "copy": copy, "copies": [[copy], [copy]], "long": LONG, "same": LONG.copy()}
    meter = Meter(deadline=time.monotonic() + 0.001)
    with pytest.raises(DeadlineExceededError):
        FOLDING.compile(f"{text} || a").evaluate({**BINDINGS, "d": data}, meter=meter)


@pytest.mark.parametrize(
    ("text", "is_true"),
    [
        ("d.one == {'a': [1, 2.0, {'b': null}], 'c': true}", True),
        ("d.one == {'a': [1, 2, {'b': null}], 'c': 1}", False),
        ("d.one == {'a': [1, 2, {'b': null}], 'x': true}", False),
        ("d.one == {'a': [1, 2, {'b': null}]}", False),
        ("d.one == {'a': [1, 2], 'c': true}", False),
        ("d.one == [d.one]", False),
        ("d.one in [d.one.a, [], {}, 1, d.one]", True),
        ("d.one in dyn([d.one.a, [], {}, 1])", False),
        ("2.0 in d.one.a", True),
        ("true in d.one.a", False),
        ("'x' in d.one.a", False),
    ],
)
def test_equality_and_membership_with_a_deadline_are_what_they_are_without(text: str, *, is_true: bool) -> None:
    data = {"one": {"a": [1, 2, {"b": None}], "c": True}}
    for deadline in (None, time.monotonic() + 60):
        assert FOLDING.compile(text).evaluate({"d": data}, meter=Meter(deadline=deadline)) is is_true


@pytest.mark.parametrize("text", ["numbers.all(x, x > 0)", "[1, 2].map(x, text.matches('a*b*'))", "d.nope"])
def test_a_deadline_that_does_not_pass_changes_neither_limit_nor_cost(text: str) -> None:
    program = FOLDING.compile(text)
    costs = []
    for deadline in (None, time.monotonic() + 60):
        meter = Meter(deadline=deadline)
        with suppress(EvaluationError):
            program.evaluate(BINDINGS, meter=meter)
        costs.append(meter.cost)
    assert costs[0] == costs[1] > 0


@pytest.mark.parametrize("text", LOOPS)
def test_a_loop_is_stopped_at_its_limit_with_a_deadline_too(text: str) -> None:
    program = looping(text)
    meters = [Meter(12_345), Meter(12_345, deadline=time.monotonic() + 60)]
    for meter in meters:
        with pytest.raises(CostLimitExceededError):
            program.evaluate({"big": list(range(50_000))}, meter=meter)
    assert meters[0].cost == meters[1].cost > 12_345


# -- the loops made for each macro against the fold by its parts

NUMBERS = st.lists(st.integers(-3, 3), max_size=5)
PREDICATES = st.sampled_from(["x > 0", "6 / x > 1", "x == 1", "d", "x in [1, 2] || 1 / x > 0", "has(d.x)"])
TERMS = st.sampled_from(["x", "6 / x", "1", "[x]", "d + x"])
SHAPES = st.sampled_from(
    [
        "l.all(x, {p})", "l.exists(x, {p})", "l.exists_one(x, {p})", "l.filter(x, {p})", "l.map(x, {t})",
        "l.map(x, {p}, {t})", "l.all(i, x, {p})", "l.exists(i, x, {p})", "l.existsOne(i, x, {p})",
        "l.transformList(i, x, {p}, {t})", "l.transformMap(i, x, {t})", "l.transformMap(i, x, {p}, {t})",
        "l.transformMapEntry(i, x, {{{t}: i}})", "l.transformMapEntry(i, x, {p}, {{i: {t}}})",
        "m.all(x, {p})", "m.exists(i, x, {p})", "m.transformMap(i, x, {t})",
    ]
)  # fmt: skip
LOOPING = Environment(EXTENSIONS, variables={"l": list_of(INT), "m": map_of(INT, INT), "d": DYN})


def outcome(text: str, bindings: dict[str, Any], *, specialised: bool) -> tuple[Any, str, int]:
    program = Program(Analysis(LOOPING.check(text), LOOPING), specialised=specialised)
    meter = Meter()
    try:
        return program.evaluate(bindings, meter=meter), "", meter.cost
    except EvaluationError as error:
        return None, str(error), meter.cost


@examples(400)
@given(shape=SHAPES, predicate=PREDICATES, term=TERMS, numbers=NUMBERS, dynamic=st.sampled_from([True, 1, "a", {}]))
def test_special_loops_do_what_the_parts_say(
    shape: str, predicate: str, term: str, numbers: list[int], dynamic: object
) -> None:
    text = shape.format(p=predicate, t=term)
    bindings = {"l": numbers, "m": {number: number for number in numbers}, "d": dynamic}
    assert outcome(text, bindings, specialised=True) == outcome(text, bindings, specialised=False)


# -- estimates


def sizes(**declared: int) -> Callable[[EstimatedNode], Bounds | None]:
    by_path = {name.replace("__", ".@"): Bounds(0, size) for name, size in declared.items()}
    return lambda node: by_path.get(".".join(node.path))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("'text'", 0, 0),
        ("numbers", 1, 1),
        ("names['k']", 2, 2),
        ("item.count", 2, 2),
        ("has(item.count)", 2, 2),
        ("has(tables.k.l)", 3, 3),
        ("[1, 2, 3]", 10, 10),
        ("{'a': 1, 'b': 2}", 30, 30),
        ("Item{count: 1}", 40, 40),
        ("items.all(x, true)", 2, 302),
        ("nested.all(x, x.all(y, true))", 2, 1752),
        ("[1, 2, 3].all(x, true)", 20, 20),
        ("text.matches('[0-9]')", 3, 103),
        ("'123'.matches('[0-9]')", 2, 2),
        ("matches(text, '.')", 2, 2),
        ("true || false", 0, 0),
        ("a || b || a || b", 1, 4),
        ("a && b && a && b", 1, 4),
        ("1 < 2", 1, 1),
        ("2 in [1, 2, 3]", 13, 13),
        ("'k' in names", 2, 2),
        ("true ? 1 : 2", 0, 0),
        ("size(b'123')", 1, 1),
        ("string(raw)", 1, 51),
        ("string(raw) == string(raw)", 3, 152),
        ("bytes(text)", 1, 51),
        ("bytes(text) == bytes(text)", 3, 302),
        ("text.contains(other)", 2, 2502),
        ("text.startsWith(other)", 2, 52),
        ("text.size()", 2, 2),
        ("(n > 2 ? numbers : more).all(y, true)", 4, 34),
        ("table.all(k, table[k].count > 3)", 2, 82),
        ("tables.all(k, tables[k].all(x, true))", 2, 187),
        ("tables.all(k, k.contains(k))", 2, 32),
        ("(numbers + more).all(x, true)", 4, 64),
        ("'abcdefg'.contains(text + other)", 2, 202),
        ("numbers.size() == more.size()", 5, 5),
        ("text.endsWith('abcdefghijklmnopqrstuvwxyz')", 4, 4),
        ("((5 != 6) == (1 == 2)) == ((3 <= 4) == (9 != 9))", 7, 7),
        ("string(time) == string(time)", 5, 1844674407370955268),
        ("time == time", 3, 3),
        ("[1, 2, 3, 4, 5].filter(x, x % 2 == 0)", 41, 101),
        ("[1, 2, 3, 4, 5].map(x, x)", 86, 86),
        ("[1, 2, 3, 4, 5].map(x, x).filter(x, x % 2 == 0)", 117, 177),
        ("[1, 2, 3, 4, 5].map(x, x).exists(x, x == 5) == true", 108, 118),
        ("[1, 2, 3, 4, 5].map(x, x)[4]", 87, 87),
        ("[[1, 2], [1, 2], [1, 2], [1, 2], [1, 2]][4]", 61, 61),
        ("{'a': [1, 2], 'b': [1, 2], 'c': [1, 2], 'd': [1, 2], 'e': [1, 2]}.b", 81, 81),
        ("[[1, 1], [2, 2], [3, 3], [4, 4], [5, 5]].all(y, y.all(y, y == 1))", 76, 136),
        ("[1, 2, 3, 4, 5].map(x, [x, x]).all(y, y.all(y, y == 1))", 157, 217),
        ("words.map(x, [x, x]).all(y, y.all(y, y.startsWith('a')))", 13, 208),
        ("[1, 2, 3, 4, 5].map(x, x).map(x, x) + [1]", 173, 173),
        ("[1, 2, 3].all(i, i in [1, 2, 3].map(j, j + j))", 20, 230),
        ("dyn([1, 2, 3]).all(i, i in dyn([1, 2, 3]).map(j, j + j))", 21, 234),
        ("{'hello': 'hi'}['hello'] != {'hello': 'bye'}['hello']", 63, 63),
        ("['hello', 'hi'][0] != ['hello', 'bye'][1]", 23, 23),
        ("type(1)", 1, 1),
        ("type(1) == int", 3, 1844674407370955266),
        ("dotted.name == 1.0", 2, 2),
        ("time == timestamp('2011-08-18T00:00:00.000+01:00') + duration('19h3m37s10ms')", 5, 5),
        ("cel.bind(v, n + n, v + v)", 10 + 3 + 3, 10 + 3 + 3),
        ("optional.of(n).value()", 3, 3),
        ("names.?k", 2, 2),
        ("numbers.transformList(i, x, x)", 12, 12 + 10 * 13),
        ("names.transformMap(k, v, v)", 32, 32 + 10 * 4),
        ("a ? [text] : [other]", 12, 12),
        ("sets.contains(numbers, more)", 3, 103),
        ("numbers.sort()", 12, 212),
        ("words.sortBy(x, x).size()", None, None),
        ("numbers.slice(1, 3)", 14, 14),
        ("[numbers].flatten()", 23, 23),
        ("lists.range(5)", 16, 16),
        ("numbers.reverse().distinct()", 23, 233),
        ("'%s'.format([n])", 12, 12),
        ("strings.quote(text)", 1, 51),
        ("text < other || 'x' + text == 'y'", None, None),
    ],
)
def test_estimates_are_cel_gos(text: str, low: int | None, high: int | None) -> None:
    declared = sizes(
        text=500, other=500, raw=500, numbers=10, more=10, words=5, words__items=10, items=100, nested=50,
        nested__items=10, table=10, tables=5, tables__values=10, tables__keys=10, names=10,
    )  # fmt: skip
    estimate = estimate_cost(PLAIN.check(text), PLAIN, declared)
    if low is not None:
        assert estimate == (low, high)
    assert estimate.low <= estimate.high <= MOST


def test_without_declared_sizes_there_is_no_bound() -> None:
    assert estimate_cost(PLAIN.check("d.all(x, x.all(y, y == 1))"), PLAIN).high == MOST


def test_a_presence_test_is_estimated_free_in_kubernetes() -> None:
    assert estimate_cost(KUBERNETES.check("has(item.count)"), KUBERNETES) == (1, 1)


def test_libraries_bring_their_estimates() -> None:
    overloads = Overload(
        "twice", (STRING,), STRING, estimate=lambda size_of, _, nodes: CallEstimate(fixed(2), size_of(nodes[0]))
    )
    environment = FOLDING.extend(
        Library(
            "estimates",
            functions=(Function("twice", overloads),),
            call_estimates={"contains": lambda _, __, ___, nodes: CallEstimate(fixed(9)) if nodes[0].size else None},
        )
    )
    declared = sizes(text=500)
    assert estimate_cost(environment.check("twice(text)"), environment, declared) == (3, 3)
    assert estimate_cost(environment.check("bytes(twice(text))"), environment, declared) == (3, 53)
    assert estimate_cost(environment.check("text.contains('a')"), environment, declared) == (10, 10)
    assert estimate_cost(environment.check("'a'.contains(other)"), environment, declared).high > 10**15


ESTIMATED = [
    ("numbers.all(x, x > 0)", PLAIN), ("words.map(x, x + 'a')", PLAIN), ("text.contains('x') && a", PLAIN),
    ("names.exists(k, names[k] == 'v')", PLAIN), ("numbers.filter(x, x in numbers)", PLAIN),
    ("has(d.deep.x) || n == 1", PLAIN), ("cel.bind(v, text + text, v + v)", PLAIN),
]  # fmt: skip


@pytest.mark.parametrize(("text", "environment"), ESTIMATED)
def test_what_is_spent_lies_within_the_estimate(text: str, environment: Environment) -> None:
    declared = sizes(text=500, numbers=2, words=2, words__items=2, names=1, names__keys=1, names__values=1)
    estimate = estimate_cost(environment.check(text), environment, declared)
    assert estimate.low <= cost_of(text, environment, BINDINGS) <= estimate.high


def test_optional_and_scalar_sizes_are_one() -> None:
    environment = Environment(EXTENSIONS, variables={"o": types.optional_of(INT), "p": types.optional_of(INT)})
    assert estimate_cost(environment.check("o == p"), environment) == (3, 3)
