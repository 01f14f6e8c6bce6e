"""Estimated costs are those of cel-go's checker/cost_test.go, and bound what is spent."""

from __future__ import annotations

from collections.abc import Callable

from tests.cel import EXTENSIONS, cost_of
from tests.cel.costing import BINDINGS, FOLDING, KUBERNETES, PLAIN
from tests.rows import each_row, each_row_beside
from webhook.cel.checker.cost import estimate_cost
from webhook.cel.checker.declarations import Library
from webhook.cel.environment import Environment
from webhook.cel.functions import MOST, Bounds, CallEstimate, EstimatedNode, Function, Overload, fixed
from webhook.cel.types import base as types
from webhook.cel.types.base import INT, STRING


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


def test_without_declared_sizes_there_is_no_bound() -> None:
    assert estimate_cost(PLAIN.check("d.all(x, x.all(y, y == 1))"), PLAIN).high == MOST


def test_a_presence_test_is_estimated_free_in_kubernetes() -> None:
    assert estimate_cost(KUBERNETES.check("has(item.count)"), KUBERNETES) == (1, 1)


def test_libraries_bring_their_estimates() -> None:
    overloads = Overload(
        "twice", (STRING,), STRING, estimate=lambda size_of, nodes: CallEstimate(fixed(2), size_of(nodes[0]))
    )
    environment = FOLDING.extend(
        Library(
            "estimates",
            functions=(Function("twice", overloads),),
            call_estimates={"contains": lambda _, __: CallEstimate(fixed(9))},
        )
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


@each_row(("text", "environment"), ESTIMATED)
def test_what_is_spent_lies_within_the_estimate(text: str, environment: Environment) -> None:
    declared = sizes(text=500, numbers=2, words=2, words__items=2, names=1, names__keys=1, names__values=1)
    estimate = estimate_cost(environment.check(text), environment, declared)
    assert estimate.low <= cost_of(text, environment, BINDINGS) <= estimate.high


def test_optional_and_scalar_sizes_are_one() -> None:
    environment = Environment(EXTENSIONS, variables={"o": types.optional_of(INT), "p": types.optional_of(INT)})
    assert estimate_cost(environment.check("o == p"), environment) == (3, 3)
