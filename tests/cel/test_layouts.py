"""Values that are held as objects with attributes: expressions have the same results and costs, or give up."""

from __future__ import annotations

from types import GenericAlias
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cel.extents import EXPRESSIONS, OBJECT, evaluated, extent_of, joint
from tests.mutilation import mutilated
from webhook.cel import CostLimitExceededError, EvaluationError, Joint, Meter
from webhook.extent import ITEMS, Extent
from webhook.fast.decoded import Decoded, layout_of
from webhook.layout import ABSENT, Held, Layout, common

pytestmark = pytest.mark.no_cover

VALUE = bool | int | float | str | list[Any] | dict[str, Any]
QUICK = [
    "object.kind == 'Pod'",
    "object.kind != 'Pod' || object.spec.n == 3",
    "(object.kind == 'Pod' ? object.spec : object.metadata).n == 3",
    "has(object.metadata) && has(object.spec.text) && !has(object.spec.absent)",
    "object.spec.containers.all(c, c.name < 'c' && has(c.image) && c.image.contains('/'))",
    "object.spec.containers.map(c, c.name) == ['a', 'b']",
    "(object.spec.containers + object.spec.?extra.orValue([])).all(c, c.name != '')",
    "(has(object.spec.extra) ? object.spec.extra : []).exists(c, c.name == 'c')",
    "(has(object.spec.extra) ? object.spec.extra : object.spec.containers).exists(c, c.name == 'c')",
    "object.spec.containers[0].name == 'a'",
    "object.spec.containers[object.spec.n - 3].name == 'a'",
    "object.spec.containers.filter(c, has(c.env)).size() == 2",
    "object.spec.containers.all(c, c.?missing.orValue('none') == 'none' && c.?name.hasValue())",
    "object.?spec.?n.orValue(4) == object.spec.?n.value()",
    "object.?spec.optMap(s, s.n == 3 && s.text == 'gpu').value()",
    "object.?spec.?containers.orValue([]).all(c, c.?resources.?limits.?cpu.orValue('0') != '')",
    "object.?spec.?missing.?n.orValue(3) == object.?spec.n.orValue(4)",
    "object.?metadata.?labels.?a.orValue('') == object.metadata.labels.a",
    "object.spec.?template.spec.containers.hasValue()",
    "dyn(object.spec).?n.optMap(n, n + 1).orValue(0) == 4 && optional.of(object.spec).value().n == 3",
    "[object.spec, object.metadata].exists(m, has(m.name))",
    "object != null && !(object == null)",
    "variables.containers.all(c, c.name != '') && variables.names.size() < 9",
]
"""Expressions that are true."""
TEXTS = [*QUICK, *(text for text, _ in EXPRESSIONS)]


def held(value: Any, extent: Extent) -> Any:
    """Return a type for values like one, which holds its maps as objects as far as only fields of them are read."""
    if extent.whole or (ITEMS in extent.parts and isinstance(value, dict)):
        return VALUE
    if isinstance(value, list):
        return GenericAlias(list, held(value[0] if value else None, extent.parts.get(ITEMS, Extent())))
    if not isinstance(value, dict):
        return VALUE
    fields = [(f"_{at}", held(value.get(name), part), None) for at, (name, part) in enumerate(extent.parts.items())]
    names = {f"_{at}": name for at, name in enumerate(extent.parts)}
    return msgspec.defstruct("Map", fields, bases=(Decoded,), rename=names, gc=False)


def compare(program: Joint, text: str, obj: Any) -> bool | None:
    """Evaluate an expression in both ways; None if it gives up."""
    try:
        type_ = held(OBJECT, extent_of(text))
        value = msgspec.convert(obj, type_)
    except msgspec.ValidationError:
        return None
    bindings = {"object": value, "oldObject": OBJECT, "params": None, "request": None, "namespaceObject": None}
    evaluate = program.compiled({"object": layout_of(type_)})
    try:
        left, _, holds = evaluate(Meter(10**6), 10**6, 10**6, bindings)
    except (EvaluationError, CostLimitExceededError):
        return None
    assert (left, holds) == evaluated(program, obj)
    return holds


@pytest.mark.parametrize("text", QUICK)
def test_true_expressions_are_evaluated(text: str) -> None:
    assert compare(joint(text), text, OBJECT) is True


@given(st.sampled_from(TEXTS), st.just(OBJECT) | mutilated(OBJECT))
def test_results_and_costs_are_those_of_maps(text: str, obj: Any) -> None:
    compare(joint(text), text, obj)


def test_constants_decide_once() -> None:
    program = joint("object.kind == 'Pod' ? object.spec.n == 3 : object.missing")
    type_ = msgspec.defstruct("Pod", [("spec", dict[str, Any])], bases=(Decoded,))
    fields = {"kind": Held("kind", Layout(str, value="Pod"), is_needed=True), **(layout_of(type_).fields or {})}
    layout = Layout(type_, fields)
    value = msgspec.convert(OBJECT, type_)
    left, _, holds = program.compiled({"object": layout})(Meter(10**6), 10**6, 10**6, {"object": value})
    assert (left, holds) == evaluated(program, OBJECT)


def test_what_is_known_of_two_layouts_holds_for_both() -> None:
    name, image = Held("name", Layout(str), is_needed=True), Held("image", Layout(str))
    maybe = Held("name", Layout(str))
    first, second = Layout(list, item=Layout(Decoded, {"name": name, "image": image})), Layout(list, item=Layout())
    assert common(first, first) is first
    assert common(first, second) == Layout(list, item=Layout())
    assert common(Layout(str), Layout(int)) == Layout()
    assert common(Layout(str, value="a"), Layout(str, value="b")) == Layout(str)
    third = Layout(list, item=Layout(Decoded, {"name": maybe, "image": Held("_0", Layout(str))}))
    assert common(first, third) == Layout(list, item=Layout(Decoded, {"name": maybe}))


def test_objects_are_read_like_maps() -> None:
    type_ = msgspec.defstruct("Map", [("a", int, None)], bases=(Decoded,))
    value: Any = msgspec.json.decode(b'{"a": 1}', type=type_)
    assert (value.cel_select("a"), value.cel_select("b")) == (1, ABSENT)
    assert (value.cel_has("a"), value.cel_has("b")) == (True, False)
