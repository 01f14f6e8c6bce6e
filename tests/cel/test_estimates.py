"""Estimated costs are those of cel-go's checker/cost_test.go, and bound what is spent."""

from __future__ import annotations

from collections.abc import Callable

from tests.cel import EXTENSIONS, cost_of
from tests.cel.costing import BINDINGS, FOLDING, KUBERNETES, PLAIN
from tests.rows import each_row
from webhook.cel import Environment, Function, Library, Overload
from webhook.cel.checker.cost import estimate_cost
from webhook.cel.costs import MOST, Bounds, CallEstimate, EstimatedNode, fixed
from webhook.cel.types import base as types
from webhook.cel.types.base import INT, STRING


def sizes(**declared: int) -> Callable[[EstimatedNode], Bounds | None]:
    by_path = {name.replace("__", ".@"): Bounds(0, size) for name, size in declared.items()}
    return lambda node: by_path.get(".".join(node.path))


@each_row(
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
