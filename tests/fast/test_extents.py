"""What expressions read of an object: they have the same results and costs if the rest of it is missing."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.objects import mutilated
from tests.rows import each_row
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.kubernetes.environments import admission_environment, with_variables
from webhook.cel.runtime.meter import Meter
from webhook.cel.types.base import DYN
from webhook.fast.extents import ITEMS, Extent, type_of
from webhook.fast.joint import Joint
from webhook.release import Release

pytestmark = pytest.mark.no_cover

ENVIRONMENT = admission_environment(Release(36))
VARIABLES = {
    "spec": "object.kind == 'Pod' ? object.spec : object.spec.template.spec",
    "containers": "variables.spec.containers + (has(variables.spec.extra) ? variables.spec.extra : [])",
    "names": "variables.containers.map(c, c.name)",
}
CONTAINERS: dict[str, Any] = {name: {ITEMS: {"env": {}}} for name in ("containers", "extra")}
OBJECT: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"a": "b", "c": ""}, "annotations": {}},
    "spec": {
        "n": 3,
        "nothing": None,
        "text": "gpu",
        "containers": [
            {"name": "a", "image": "x/a", "env": [{"name": "E", "value": "1"}], "ports": {"http": {"port": 80}}},
            {"name": "b", "image": "y/b", "env": [], "resources": {"limits": {"cpu": "1"}}},
        ],
        "extra": [{"name": "c"}],
        "template": {"spec": {"containers": [{"name": "t", "image": "z"}]}},
    },
}


def joint(text: str) -> Joint:
    environment = with_variables(ENVIRONMENT, dict.fromkeys(VARIABLES, DYN))
    return Joint([], [environment.compile(text)], {name: environment.compile(VARIABLES[name]) for name in VARIABLES}, 0)


def extent_of(text: str) -> Extent:
    extent = Extent()
    joint(text).extend(extent, "object")
    return extent


EXPRESSIONS: list[tuple[str, Any]] = [
    ("object.spec.n == 3", {"spec": {"n": "*"}}),
    ("object.spec['n'] == 3", {"spec": {"n": "*"}}),
    ("has(object.spec.env)", {"spec": {"env": {}}}),
    ("object.?spec.?n.orValue(3) == 3", {"spec": {"n": "*"}}),
    ("object.spec.?n.optMap(n, n > 1).orValue(true)", {"spec": {"n": "*"}}),
    ("object.?spec.hasValue()", {"spec": {}}),
    ("object != null && null != object", {}),
    ("object.spec.nothing == null", {"spec": {"nothing": "*"}}),
    ("object.spec.containers.all(c, c.name != '')", {"spec": {"containers": {ITEMS: {"name": "*"}}}}),
    ("object.spec.containers.all(i, c, i < 9)", {"spec": {"containers": {ITEMS: {}}}}),
    ("object.spec.containers.all(i, c, c.name != '')", {"spec": {"containers": {ITEMS: {"name": "*"}}}}),
    ("size(object.spec.containers) < 9", {"spec": {"containers": {ITEMS: {}}}}),
    ("object.spec.containers.size() < 9", {"spec": {"containers": {ITEMS: {}}}}),
    ("object.spec.containers[0].image != ''", {"spec": {"containers": {ITEMS: {"image": "*"}}}}),
    (
        "object.spec.containers.filter(c, has(c.image)).map(c, c.name).size() == 2",
        {"spec": {"containers": {ITEMS: {"image": {}, "name": {}}}}},
    ),
    (
        "object.spec.containers.exists_one(c, c.env.exists(e, e.name == 'E'))",
        {"spec": {"containers": {ITEMS: {"env": {ITEMS: {"name": "*"}}}}}},
    ),
    ("[object.spec][0].n == 3", {"spec": {"n": "*"}}),
    ("object.?spec.optMap(s, s.n == s.m).orValue(true)", {"spec": {"n": "*", "m": "*"}}),
    ("object.metadata.labels.all(k, k != 'x')", {"metadata": {"labels": {ITEMS: "*"}}}),
    ("'a' in object.metadata.labels", {"metadata": {"labels": "*"}}),
    ("object.metadata.labels[object.spec.text] == ''", {"metadata": {"labels": {ITEMS: "*"}}, "spec": {"text": "*"}}),
    ("object.metadata == oldObject.metadata", {"metadata": "*"}),
    ("[object.spec].all(s, s == {})", {"spec": "*"}),
    ("{'a': object.spec}.a.n == 3", {"spec": "*"}),
    ("object == oldObject", "*"),
    ("dyn(object).spec.n == 3", {"spec": {"n": "*"}}),
    (
        "(object.spec.n > 2 ? object.spec : object.metadata).name == ''",
        {"spec": {"n": "*", "name": "*"}, "metadata": {"name": "*"}},
    ),
    ("dyn(variables).spec.n == 3", "*"),
    ("variables.spec.n == 3", {"kind": "*", "spec": {"n": "*", "template": {"spec": {"n": "*"}}}}),
    ("variables.containers.all(c, has(c.env))", {"kind": "*", "spec": CONTAINERS | {"template": {"spec": CONTAINERS}}}),
    ("[1, 2].all(x, x < 3)", {}),
    ("oldObject.spec.n == 3", {}),
]


def evaluated(program: Joint, obj: Any) -> tuple[int, bool] | type:
    bindings = {"object": obj, "oldObject": OBJECT, "params": None, "request": None, "namespaceObject": None}
    try:
        left, _, holds = program.compiled()(Meter(10**6), 10**6, 10**6, bindings)
    except (EvaluationError, CostLimitExceededError) as error:
        return type(error)
    return left, holds


def written(extent: Extent) -> Any:
    """Write an extent: ``"*"`` for the whole, else its parts."""
    return "*" if extent.whole else {name: written(part) for name, part in extent.parts.items()}


@each_row(("text", "read"), *EXPRESSIONS)
def test_paths_are_followed(text: str, read: Any) -> None:
    assert written(extent_of(text)) == read


def kept(value: Any, extent: Extent) -> Any:
    """Keep those parts of a value that are read."""
    if extent.whole or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return [kept(each, extent.parts.get(ITEMS, Extent())) for each in value]
    if ITEMS in extent.parts:
        return value
    return {name: kept(each, extent.parts[name]) for name, each in value.items() if name in extent.parts}


@given(st.sampled_from([text for text, _ in EXPRESSIONS]), st.just(OBJECT) | mutilated(OBJECT))
def test_what_is_not_read_may_be_missing_and_what_is_decoded_suffices(text: str, obj: Any) -> None:
    expected, extent = evaluated(joint(text), obj), extent_of(text)
    try:
        assert evaluated(joint(text), msgspec.convert(obj, type_of(extent))) == expected
    except msgspec.ValidationError:
        assert obj is not OBJECT
    extent.part("kind")  # which tells what the object is: it is never empty
    assert evaluated(joint(text), kept(obj, extent)) == expected


def test_extents_of_doubling_expressions_stay_small() -> None:
    text = "object.spec.containers"
    for _ in range(12):
        text = f"[{text}].map(x, x + x)[0]"
    assert written(extent_of(f"{text} == []")) == {"spec": {"containers": "*"}}
