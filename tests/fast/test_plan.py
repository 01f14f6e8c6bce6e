# ruff: noqa: SLF001 - what is remembered is looked at
"""The walk has no findings in objects that a plan accepts."""

import copy
from collections.abc import Iterator
from functools import cache
from itertools import cycle
from typing import Any

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.reviews import pod, reviews
from benchmarks.structured import claim, resource_slice
from tests.conformance.recorded import FILES, cases
from tests.objects import OBJECTS, mutated, with_value
from tests.rows import each_row
from webhook.api import gates
from webhook.api.judgement import judge, judge_admitted, plan_of
from webhook.api.versions import find, target
from webhook.fast import plan as fast
from webhook.fast.objects import PLANNED_AFTER
from webhook.fast.plan import planned
from webhook.release import releases
from webhook.schema import CREATE, UPDATE, UPDATE_STATUS, CompiledStruct, compile_struct

EXAMPLES = settings(max_examples=400)
JUDGED = [each for each in OBJECTS if find(each["apiVersion"], each["kind"])]
FINE = {
    **{name: each["request"]["object"] for name, each in reviews().items()},
    "a large slice": resource_slice(),
    "a claim": claim(),
    "a pod of a controller": pod(1000) | {"metadata": {"generateName": "web-5d4f8c7b9-", "labels": {"app": "web"}}},
    "a pod of a controller, named": pod(1000)
    | {"metadata": {"generateName": "web-5d4f8c7b9-", "name": "web-5d4f8c7b9-x"}},
}
TEMPLATE = {"metadata": {"creationTimestamp": None, "labels": {"a": "b"}}, "spec": claim()["spec"]}
FINE["a template of a client"] = claim() | {"kind": "ResourceClaimTemplate", "spec": TEMPLATE}
SHARED = pod(1000)
SHARED["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu", "request": each} for each in ("a", "b")]
FINE["a pod with requests of a claim"] = SHARED
OFTEN = PLANNED_AFTER + 1


@cache
def structs_of(api_version: str, kind: str) -> list[CompiledStruct]:
    """Compile a kind for every release that serves it, all gates on or off, for new, updated and only decoded ones."""
    known = find(api_version, kind)
    assert known
    targets = [
        target(api_version, release, operation, on, admin_namespace=True, declarative=every, thorough=not every)
        for release in releases(known.since, known.until)
        for every, on in ((True, gates.every(release)), (False, gates.enabled(release)))
        for operation in (CREATE, UPDATE, UPDATE_STATUS)
    ]
    structs = [compile_struct(known.type, each) for each in targets]
    structs += [compile_struct(known.type, each.lenient) for each in targets if each.operation == UPDATE]
    structs += [struct.decoding for struct in structs if struct.target.operation == UPDATE]
    return structs


plan = cache(planned)
"""Plans a struct once: it takes long."""


def is_judged(obj: Any) -> bool:
    return isinstance(obj, dict) and find(obj.get("apiVersion"), obj.get("kind")) is not None


def check(obj: Any, some: Iterator[int], count: int = 2) -> int:
    """Compare some plans with the walk; count those that accept the object."""
    if not is_judged(obj):
        return 0
    known, fine = structs_of(obj["apiVersion"], obj["kind"]), 0
    for _ in range(count):
        struct = known[next(some) % len(known)]
        if plan(struct)(obj):
            fine += 1
            assert not struct.walk(obj), struct.target
    return fine


@pytest.mark.slow
def test_recorded_objects() -> None:
    for file in FILES:  # one test, for the plans of all
        some = iter(cycle(range(997)))
        assert sum(check(case.sent, some) for case in cases(file, one_of=16)), file


@pytest.mark.slow
@EXAMPLES
@given(mutated(JUDGED), st.integers(0, 1000))
def test_mutated_objects(obj: Any, start: int) -> None:
    check(obj, iter(range(start, start + 2)))


@each_row("name", *FINE)
def test_common_objects_take_no_walk(name: str) -> None:
    obj = FINE[name]
    for _ in range(OFTEN):
        assert not judge(obj)
        assert not judge_admitted(obj)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("webhook.schema.fields.apart", lambda *_: pytest.fail("it was walked"))
        assert not judge(obj)
        assert not judge_admitted(obj)


@pytest.mark.no_cover
@each_row("field", {"nodeSelector": {"nodeSelectorTerms": [{"matchFields": [[None]]}]}}, {"taints": 1})
def test_an_unknown_field_hides_no_other(field: dict[str, Any]) -> None:
    wrong = {**resource_slice(), "later": 1}
    wrong["spec"] = {**wrong["spec"], "devices": [{"name": "a", **field}]}
    for struct in structs_of(wrong["apiVersion"], wrong["kind"]):
        assert not plan(struct)(wrong), struct.target


WRONG: dict[str, tuple[str, Any]] = {
    "an integer beyond 64 bits": ("spec/pool/generation", 2**63),
    "an integer beyond all bits": ("spec/pool/generation", 2**70),
    "a float": ("spec/pool/generation", 1.0),
    "a truth value": ("spec/pool/generation", True),
    "a string for an integer": ("spec/pool/generation", "1"),
    "an integer for a truth value": ("spec/devices/0/attributes/attribute1", {"bool": 1}),
    "null for a value": ("spec/devices/0/attributes/attribute1", {"string": None}),
    "two values": ("spec/devices/0/attributes/attribute1", {"string": "a", "int": 1}),
    "no value": ("spec/devices/0/attributes/attribute1", {}),
    "more bytes than characters": ("spec/devices/0/attributes/attribute1", {"string": "é" * 33}),
    "half of a surrogate pair, too often": ("spec/devices/0/attributes/attribute1", {"string": "\ud800" * 22}),
    "a version that is none": ("spec/devices/0/attributes/attribute1", {"version": "1"}),
    "a label in Kelvin": ("spec/devices/0/name", "\u212a"),
    "a name with a newline": ("spec/devices/0/name", "gpu-0\n"),
    "a repeated name": ("spec/devices/1/name", "gpu-0"),
    "null for a name": ("spec/devices/0/name", None),
    "an unknown field": ("spec/devices/0/attribute", {}),
    "a list for a map": ("spec/devices/0/attributes", []),
    "too many devices": ("spec/devices", [{"name": f"gpu-{number}"} for number in range(129)]),
    "a bad label": ("metadata/labels", {"-": ""}),
    "a bad annotation": ("metadata/annotations", {"a/b/c": ""}),
    "too large annotations": ("metadata/annotations", {"a": "é" * (128 * 1024)}),
    "an owner in part": ("metadata/ownerReferences", [{"apiVersion": "v1", "kind": "Node", "name": "a"}]),
}


def small_slice() -> Any:
    obj = copy.deepcopy(FINE["a large slice"])
    obj["spec"]["devices"] = obj["spec"]["devices"][:2]
    return obj


@pytest.mark.no_cover
@each_row("name", *WRONG)
def test_wrong_objects_are_found(name: str) -> None:
    obj, (path, value) = small_slice(), WRONG[name]
    obj = jsonpatch.apply_patch(obj, [{"op": "add", "path": f"/{path}", "value": value}])
    for _ in range(OFTEN):
        assert judge(obj)
        assert judge_admitted(obj) or name == "an unknown field"


CLAIMS = ("spec", "containers", 0, "resources", "claims")


WHOLE, PART = {"name": "gpu"}, {"name": "gpu", "request": "a"}


@each_row(
    ("path", "value"),
    *((("metadata",), each) for each in ({"generateName": "Web-"}, {"generateName": "a.-"})),
    (("metadata",), {"generateName": "Web-", "name": "a"}),
    *((CLAIMS, each) for each in ([WHOLE, WHOLE], [PART, PART], [PART, WHOLE], [WHOLE, PART])),
    *((CLAIMS, [each]) for each in ({"name": "gpu", "request": "A"}, {"name": "other", "request": "a"})),
)
def test_wrong_prefixes_and_claims_of_pods_are_found(path: tuple[str | int, ...], value: Any) -> None:
    obj = with_value(pod(1000), path, value)
    for _ in range(OFTEN):
        assert judge(obj)
        assert judge_admitted(obj)


@each_row(
    ("path", "value", "rule"),
    (("status",), {"reservedFor": []}, "status-dropped"),
    (("metadata", "namespace"), "A", "namespace"),
)
def test_a_dropped_status_and_an_impossible_namespace_are_found(path: tuple[str], value: Any, rule: str) -> None:
    obj = with_value(FINE["a claim"], path, value)
    for _ in range(OFTEN):
        assert [problem.rule for problem in judge(obj)] == [rule]


def test_texts_may_have_more_characters_than_ascii() -> None:
    obj = small_slice()
    obj["spec"]["devices"][0]["attributes"]["attribute1"] = {"string": "é" * 32}
    for _ in range(OFTEN):
        assert not judge(obj)


@pytest.mark.no_cover
@each_row("value", [1], [], "a")
def test_a_member_of_a_union_does_not_count_before_its_release(value: Any) -> None:
    obj = resource_slice()
    obj["spec"]["devices"][0]["attributes"] = {"a": {"string": "a", "ints": value}}
    assert [each.rule for each in judge(obj, kubernetes="1.34", beyond_decoding=True)] == ["unknown-field"]
    for struct in structs_of(obj["apiVersion"], obj["kind"]):
        if not struct.target.strict and struct.target.release == 34:
            assert plan(struct)(obj)
            assert not struct.walk(obj)


@pytest.mark.no_cover
def test_what_is_remembered_of_structs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "STRUCTS", 10)
    struct, _ = plan_of("v1", "Pod", CREATE, "1.36", None)
    is_fine = planned(struct)
    made = pod(1000)
    for number in range(100):
        made["spec"]["containers"][0]["name"] = f"c-{number}"
        assert is_fine(made)
        assert len(fast._fine) <= 10
    made["spec"]["containers"][0]["args"] = ["x" * 4096]
    assert is_fine(made)
    assert all(len(key) < 4096 for _, key in fast._fine), "long ones are not remembered"
    made["spec"]["containers"][0]["name"] = "No"
    assert not is_fine(made)
