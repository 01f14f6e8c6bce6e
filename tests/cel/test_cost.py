"""The cost of expressions: the figures of cel-go's own tests, and those of the API server.

The figures without folding of constants are those that cel-go's interpreter/runtimecost_test.go
establishes for the same operations.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from tests.cel import EXTENSIONS, cost_of
from tests.cel.costing import BINDINGS, FOLDING, KUBERNETES, PLAIN
from tests.rows import each_row, each_row_beside
from webhook.cel.checker.cost import estimate_cost
from webhook.cel.checker.declarations import Library
from webhook.cel.environment import Environment
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.functions import MOST, Bounds, CallEstimate, EstimatedNode, Overload, fixed
from webhook.cel.runtime.meter import Meter
from webhook.cel.types import base as types
from webhook.cel.types.base import BOOL, DYN, INT, STRING
from webhook.cel.types.values import Optional


@each_row_beside("text", "cost")
def test_costs_are_cel_gos(text: str, cost: int) -> None:
    assert cost_of(text, PLAIN, BINDINGS) == cost


@each_row_beside("text", "cost")
def test_constants_and_extensions_cost_what_they_do_in_the_api_server(text: str, cost: int) -> None:
    assert cost_of(text, FOLDING, BINDINGS) == cost


@each_row(
    ("text", "cost"),
    ("has(item.count)", 1),
    ("has(d.deep.x)", 2),
    ("has(d.nope)", 1),
    ("has(d.nope.x)", 1),
    ("has(d.deep.nope.x)", 2),
    ("has(d.name)", 1),
)
def test_a_presence_test_costs_nothing_itself_in_kubernetes(text: str, cost: int) -> None:
    meter = Meter()
    with suppress(EvaluationError):
        KUBERNETES.compile(text).evaluate(BINDINGS, meter=meter)
    assert meter.cost == cost


def test_an_environment_can_set_costs_by_function_name_or_overload() -> None:
    costs: dict[str, Any] = {"contains_string": lambda _, result: 7 + result, "_+_": lambda _, __: 9}
    environment = FOLDING.extend(Library(call_costs=costs))
    assert cost_of("text.contains('a')", environment, BINDINGS) == 1 + 7
    assert cost_of("text.contains('x')", environment, BINDINGS) == 1 + 8
    assert cost_of("d.name + d.name", environment, BINDINGS) == 4 + 9
    assert cost_of("n + n", environment, BINDINGS) == 2 + 9


def test_at_the_limit_is_within_it_and_the_cost_is_known_after_an_error_too() -> None:
    program = FOLDING.compile("numbers.all(x, x > 0) && text.contains('a')")
    meter = Meter()
    program.evaluate(BINDINGS, meter=meter)
    program.evaluate(BINDINGS, meter=Meter(meter.cost))
    with pytest.raises(CostLimitExceededError, match=r"^operation cancelled: actual cost limit exceeded$"):
        program.evaluate(BINDINGS, meter=Meter(meter.cost - 1))
    with pytest.raises(EvaluationError):
        FOLDING.compile("d.name == 'a' || d.nope").evaluate(BINDINGS, meter=(meter := Meter()))
    assert meter.cost == 3 + NOPE


# Not recorded but read off cel-go's source: every step that was taken is observed, be its value an error or not
# (interpreter/interpretable.go); an error is of size 1 (interpreter/runtimecost.go, actualSize).
NOPE = 2  # d.nope: the variable and the field that is not there


@each_row_beside("text", "cost")
def test_what_is_evaluated_after_an_error_is_counted(text: str, cost: int) -> None:
    meters = Meter(), Meter()
    with pytest.raises(EvaluationError):
        PLAIN.compile(text).evaluate(BINDINGS, meter=meters[0])
    assert meters[0].cost == cost
    if PLAIN.check(text).type == BOOL:
        assert PLAIN.compile(f"({text}) || true").evaluate(BINDINGS, meter=meters[1])
        assert meters[1].cost == cost


@each_row("first", "has(o.a.b) && false", "o.a.b == 0", "o.a == 0")
@each_row("second", "o.a.b.c == 1", "o.a.b == 2")
@each_row("a", 1, "b", [1], {}, {"b": None}, {"b": {"c": 2}}, Optional({"b": {"c": 2}}))
def test_steps_that_were_taken_before_cost_the_same(first: str, second: str, a: Any) -> None:
    environment = Environment(variables={"o": DYN})

    def spent(text: str) -> int:
        meter = Meter()
        with suppress(EvaluationError):
            environment.compile(text).evaluate({"o": {"a": a}}, meter=meter)
        return meter.cost

    assert spent(f"{first} || {second}") == spent(first) + spent(second)


def sizes(**declared: int) -> Callable[[EstimatedNode], Bounds | None]:
    by_path = {name.replace("__", ".@"): Bounds(0, size) for name, size in declared.items()}
    return lambda node: by_path.get(".".join(node.path))


@each_row_beside("text", "low", "high")
def test_estimates_are_cel_gos(text: str, low: int | None, high: int | None) -> None:
    declared = sizes(
        text=500, other=500, raw=500, numbers=10, more=10, words=5, words__items=10, items=100, nested=50,
        nested__items=10, table=10, tables=5, tables__values=10, tables__keys=10, names=10,
    )  # fmt: skip
    estimate = estimate_cost(PLAIN.check(text), PLAIN, declared)
    if low is not None:
        assert estimate == (low, high)
    assert estimate.low <= estimate.high <= MOST


def test_without_declared_sizes_there_is_no_bound_but_optional_and_scalar_ones_are_one() -> None:
    assert estimate_cost(PLAIN.check("d.all(x, x.all(y, y == 1))"), PLAIN).high == MOST
    assert estimate_cost(KUBERNETES.check("has(item.count)"), KUBERNETES) == (1, 1)
    environment = Environment(EXTENSIONS, variables={"o": types.optional_of(INT), "p": types.optional_of(INT)})
    assert estimate_cost(environment.check("o == p"), environment) == (3, 3)


def test_libraries_bring_their_estimates() -> None:
    twice = Overload(
        "twice", "twice", (STRING,), STRING, estimate=lambda size_of, nodes: CallEstimate(fixed(2), size_of(nodes[0]))
    )
    environment = FOLDING.extend(
        Library(functions=(twice,), call_estimates={"contains": lambda _, __: CallEstimate(fixed(9))})
    )
    declared = sizes(text=500)
    assert estimate_cost(environment.check("twice(text)"), environment, declared) == (3, 3)
    assert estimate_cost(environment.check("bytes(twice(text))"), environment, declared) == (3, 53)
    assert estimate_cost(environment.check("text.contains('a')"), environment, declared) == (10, 10)


ESTIMATED = [
    ("numbers.all(x, x > 0)", PLAIN), ("words.map(x, x + 'a')", PLAIN), ("text.contains('x') && a", PLAIN),
    ("names.exists(k, names[k] == 'v')", PLAIN), ("numbers.filter(x, x in numbers)", PLAIN),
    ("has(d.deep.x) || n == 1", PLAIN), ("cel.bind(v, text + text, v + v)", PLAIN),
]  # fmt: skip


@each_row(("text", "environment"), *ESTIMATED)
def test_what_is_spent_lies_within_the_estimate(text: str, environment: Environment) -> None:
    declared = sizes(text=500, numbers=2, words=2, words__items=2, names=1, names__keys=1, names__values=1)
    estimate = estimate_cost(environment.check(text), environment, declared)
    assert estimate.low <= cost_of(text, environment, BINDINGS) <= estimate.high
