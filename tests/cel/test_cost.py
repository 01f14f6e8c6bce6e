"""The cost of expressions: the figures of cel-go's own tests, and those of the API server.

The figures without folding of constants are those that cel-go's interpreter/runtimecost_test.go
establishes for the same operations.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from tests.cel import cost_of
from tests.cel.costing import BINDINGS, FOLDING, KUBERNETES, PLAIN
from tests.rows import each_row
from webhook.cel import CostLimitExceededError, Environment, EvaluationError, Library, Meter
from webhook.cel.types.base import BOOL, DYN
from webhook.cel.types.values import Optional


@each_row(
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


@each_row(
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


@each_row(("text", "cost"), [("has(item.count)", 1), ("has(d.deep.x)", 2), ("has(d.nope)", 1)])
def test_a_presence_test_costs_nothing_itself_in_kubernetes(text: str, cost: int) -> None:
    assert cost_of(text, KUBERNETES, BINDINGS) == cost


def test_an_environment_can_set_costs_by_function_name_or_overload() -> None:
    costs: dict[str, Any] = {"contains_string": lambda _, result: 7 + result, "_+_": lambda _, __: 9}
    environment = FOLDING.extend(Library("costs", call_costs=costs))
    assert cost_of("text.contains('a')", environment, BINDINGS) == 1 + 7
    assert cost_of("text.contains('x')", environment, BINDINGS) == 1 + 8
    assert cost_of("d.name + d.name", environment, BINDINGS) == 4 + 9
    assert cost_of("n + n", environment, BINDINGS) == 2 + 9


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


@each_row(
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


@each_row(("text", "cost"), [("has(d.nope.x)", 1), ("has(d.deep.nope.x)", 2), ("has(d.name)", 1)])
def test_a_presence_test_that_is_not_come_to_is_not_counted(text: str, cost: int) -> None:
    meter = Meter()
    with suppress(EvaluationError):
        KUBERNETES.compile(text).evaluate(BINDINGS, meter=meter)
    assert meter.cost == cost


@each_row("first", ["has(o.a.b) && false", "o.a.b == 0", "o.a == 0"])
@each_row("second", ["o.a.b.c == 1", "o.a.b == 2"])
@each_row("a", [1, "b", [1], {}, {"b": None}, {"b": {"c": 2}}, Optional({"b": {"c": 2}})])
def test_steps_that_were_taken_before_cost_the_same(first: str, second: str, a: Any) -> None:
    environment = Environment(variables={"o": DYN})

    def spent(text: str) -> int:
        meter = Meter()
        with suppress(EvaluationError):
            environment.compile(text).evaluate({"o": {"a": a}}, meter=meter)
        return meter.cost

    assert spent(f"{first} || {second}") == spent(first) + spent(second)


def test_a_call_that_fits_no_overload_costs_a_unit() -> None:
    environment = FOLDING.extend(Library("", call_costs={"size": lambda values, _: len(values[1])}))
    meter = Meter()
    with pytest.raises(EvaluationError, match="no such overload"):
        environment.program(environment.parse("size(1, 2, 3)")).evaluate({}, meter=meter)
    assert meter.cost == 1
