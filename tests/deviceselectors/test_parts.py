"""Selectors split into parts: their reads, the values that they want, and the part that is false."""

from itertools import product
from unittest import mock

import pytest

from tests.rows import each_row, each_row_beside
from webhook.cel.environment import Program
from webhook.cel.errors import CelError
from webhook.cel.kubernetes.devices import compile_selector
from webhook.cel.kubernetes.quantity import parse
from webhook.cel.syntax.ast import Expression
from webhook.cel.syntax.ast import reads as paths
from webhook.deviceselectors import witnesses
from webhook.deviceselectors.fleet import EVERYWHERE, shortened
from webhook.deviceselectors.parts import Parts, _kept, depends_on_device, parts_of, reads
from webhook.deviceselectors.witnesses import always_holds, conflict_of
from webhook.release import Release

A = 'device.attributes["g"]'
DEVICE = {
    "driver": "g",
    "attributes": {"g": {"model": "a", "index": 1, "ecc": False, "tags": ["x"]}},
    "capacity": {"g": {"memory": parse("40Gi")}},
}


@each_row_beside("expression", "wanted", "blamed")
def test_says_what_is_wanted_and_what_was_met(expression: str, wanted: str, blamed: str) -> None:
    parts = Parts(expression, Release(36))
    assert parts.wanted == wanted
    assert parts.blame({"device": DEVICE}).text == blamed


@each_row(
    ("expression", "expected"),
    (f"{A}.x == 1", [("x", False)]),
    (f'{A}["x"] == 1', [("x", False)]),
    ("device.attributes.g.x == 1", [("x", False)]),
    (f"has({A}.x) && {A}.x == 1", [("x", True)]),
    (f'"x" in {A} && {A}.x == 1', [("x", True)]),
    (f"!has({A}.x) || {A}.x == 1", [("x", True)]),
    (f"!(!has({A}.x)) && {A}.x == 1", [("x", True)]),
    (f"has({A}.x) ? {A}.x == 1 : {A}.y == 1", [("x", True), ("y", False)]),
    (f"!(has({A}.x) || has({A}.y)) || {A}.x == 1", [("x", False)]),
    (f"!(!has({A}.x) || !has({A}.y)) && {A}.x == 1 && {A}.y == 1", [("x", True), ("y", True)]),
    (f"{A}.?x.orValue(1) == 1", [("x", True)]),
    ('device.attributes[?"g"].x.orValue(1) == 1', [("x", True)]),
    ('device.driver == "g"', []),
    (f"(has({A}.x) && has({A}.y)) && {A}.y == 1", [("y", True)]),
)
def test_tells_which_reads_are_guarded(expression: str, expected: list[tuple[str, bool]]) -> None:
    assert [(each.name, each.is_guarded) for each in reads(Parts(expression, Release(36)).root)] == expected


def test_what_nested_macros_share_is_read_once_and_drivers_are_those_that_are_insisted_on() -> None:
    chain = compile_selector(f"optional.of(device.driver){'.optMap(x, x)' * 40}.hasValue()", Release(36), stored=True)
    assert isinstance(chain, Program)
    assert list(paths(chain.checked.root, "device")) == [("driver",)]
    assert Parts('device.driver == "a" && "b" == device.driver', Release(36)).drivers == {"a", "b"}
    assert Parts('device.driver == "a" || device.driver == "b"', Release(36)).drivers == set()


@each_row(("expression", "depends"), ("1 < 2", False), ("[1].all(x, x > 0)", False), ('device.driver == "a"', True))
def test_constants_do_not_look_at_the_device(expression: str, depends: bool) -> None:
    assert depends_on_device(Parts(expression, Release(36)).root) == depends


def test_what_cannot_be_compiled_or_nests_macros_has_no_parts() -> None:
    assert parts_of("device.", Release(36)) is None
    nested = "optional.of(device){}.hasValue()"
    assert parts_of(nested.format(".optMap(x, x)" * 5), Release(36)) is not None
    assert parts_of(nested.format(".optMap(x, x)" * 40), Release(36)) is None
    assert parts_of(nested.format(".optMap(x, x)" * 9), Release(36)) is None


@each_row_beside("expression", "expected")
def test_each_condition_asks_for_what_it_reads(expression: str, expected: str) -> None:
    assert Parts(expression, Release(36)).guarded({("attributes", "g", "x")}) == expected


def test_many_nodes_are_shortened() -> None:
    assert shortened(("a", "b")) == "a, b"
    assert shortened(tuple("abcde")) == "a … e (5 nodes)"
    assert shortened(("n10", "n9", "m2", "n11")) == "m2 … n11 (4 nodes)"
    assert shortened((EVERYWHERE,)) == "several nodes"
    assert shortened((EVERYWHERE, "a")) == "several nodes, a"


@pytest.mark.no_cover
def test_parts_are_kept_as_long_as_there_is_room() -> None:
    long = [f'device.driver == "{number}"' + ' || device.driver == "a"' * 300 for number in range(40)]
    parts = [parts_of(each, Release(36)) for each in long]
    assert parts_of(long[-1], Release(36)) is parts[-1] is not None
    assert parts_of(long[0], Release(36)) is not parts[0]
    assert _kept.size <= _kept.most


@each_row(
    ("value", "shown"),
    ('[dyn(1), dyn("a"), dyn([true])]', '[1, "a", [true]]'),
    ('{"a": dyn(1), "b": dyn([null])}', '{"a": 1, "b": [null]}'),
    ('optional.of({"a": 1})', 'optional({"a": 1})'),
    ("optional.none()", "optional.none()"),
)
def test_values_are_shown_as_in_expressions(value: str, shown: str) -> None:
    parts = Parts(f"dyn({value}) == 2", Release(36))
    assert parts.blame({"device": DEVICE}).met == shown


@pytest.mark.no_cover
@each_row("value", "[$, $]", '{"a": $, "b": $}', "optional.of([$, $])")
def test_of_a_value_that_doubles_again_and_again_only_the_beginning_is_shown(value: str) -> None:
    expression = "v60"
    for number in range(60, 0, -1):
        expression = f"cel.bind(v{number}, {value.replace('$', f'v{number - 1}')}, {expression})"
    parts = Parts(f"dyn(cel.bind(v0, dyn(1), {expression})) == 2", Release(36))
    met = parts.blame({"device": DEVICE}).met
    assert met.endswith("…")
    assert len(met) < 20_000


VALUES = [
    'device.attributes["gpu.example.com"].model',
    'device.capacity["gpu.example.com"].memory',
    "device.driver",
    "device.allowMultipleAllocations",
]
CONDITIONS = [
    '{0} == "a"',
    '{0} != "a"',
    '{0} in ["a", "b"]',
    "{0} in []",
    '{0} < "b"',
    '{0} == quantity("1Gi")',
    '{0} in [quantity("x")]',
    "has({0})",
    "{0} == true",
    "true",
]
COMPOUNDS = ["{0}", "!({0})", "has({0}) && {1}", "!({0}) && has({1})", "{0} || {1}", "!({0} && {1})", "{0} ? {1} : {0}"]


def selectors() -> list[Parts]:
    """Return all that compile."""
    found = []
    for value, compound, *pair in product(VALUES, COMPOUNDS, CONDITIONS, CONDITIONS):
        text = compound.format(*(each.format(value) for each in pair))
        try:
            found.append(Parts(text, Release(36)))
        except CelError:
            continue
    return found


def test_a_conflict_is_told_where_it_is_written_first() -> None:
    one, other = (Parts(f'device.driver in ["{each}"]', Release(36)) for each in "ab")
    assert [each.selector for each in conflict_of([one, other])] == [one, other]
    assert not conflict_of([one, other, one])
    never = Parts("device.driver in []", Release(36))
    assert conflict_of([never])
    assert not conflict_of([never, never])


@pytest.mark.slow
def test_shortcuts_tell_what_evaluation_tells() -> None:
    def is_simple(node: Expression, _: object) -> bool:
        return not witnesses._is_compound(node)  # noqa: SLF001 - as without the shortcut

    known = selectors()
    shortened = [(conflict_of([each]), always_holds(each)) for each in known]
    with (
        mock.patch.object(witnesses, "_holds_for_some", is_simple),
        mock.patch.object(witnesses, "_telling", list),
        mock.patch.object(witnesses, "_may_hold_without", return_value=True),
    ):
        evaluated = [(conflict_of([each]), always_holds(each)) for each in known]
    assert shortened == evaluated
    assert any(conflict for conflict, _ in shortened)
    assert any(always for _, always in shortened)
