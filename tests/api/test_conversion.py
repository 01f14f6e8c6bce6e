"""Conversion to another version gives the same object as in the API server."""

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import webhook
from tests.api.bases import BASES, CLAIM, Base, pairs, plain
from tests.policy.examples import POD
from tests.reviews import recorded
from tests.rows import each_row
from tests.structured import resource_slice
from webhook.api.conversion import ConversionError, convert, to_v1, with_defaults
from webhook.api.gates import every
from webhook.api.versions import GROUP, NEWEST, VERSIONS, target
from webhook.release import Release
from webhook.schema.declarations import Field, Struct
from webhook.schema.decoding import apart
from webhook.schema.fields import Array, Bool, Int, Map, Nested, Parsed, Text, compile_struct
from webhook.schema.target import CREATE, OLDEST, Target

SLICE = resource_slice({"name": "a", "capacity": {"memory": {"value": "1Gi"}}}, pool=..., nodeName=...)


@each_row(("one", "other"), *pairs())
def test_a_converted_object_is_what_the_server_gives_in_that_version(one: Base, other: Base) -> None:
    wanted = f"{GROUP}/{other.version}"
    if plain(convert(with_defaults(one.submitted, Release(one.release)), wanted)) != plain(
        with_defaults(other.submitted, Release(other.release))
    ):
        assert one.name == "ResourceSlice/slice-sel", "they were submitted with the same content"
        return
    for ours, theirs in zip(one.stored, other.stored, strict=True):
        converted = convert(ours, wanted)
        assert plain(converted) == plain(theirs)
        assert convert(converted, ours["apiVersion"]) == ours


@each_row("base", *(base for base in BASES if base.stored))
def test_a_new_object_has_what_the_server_adds(base: Base) -> None:
    completed, stored = with_defaults(base.submitted, Release(base.release)), base.stored[0]
    if "/c-first" in base.name and not completed["spec"]["devices"]["requests"]:
        del completed["spec"]["devices"]["requests"]  # the storage does not tell an empty list from null
    if base.name in {"ResourceClaim/c-status", "ResourceClaim/c-classic-status"} or "status" in base.submitted:
        completed, stored = ({k: v for k, v in each.items() if k != "status"} for each in (completed, stored))
    assert plain(completed) == plain(stored)


def test_what_a_server_shows_to_webhooks_is_complete() -> None:
    for each in recorded():
        if shown := each.review["request"].get("object"):
            release = 30 if shown["apiVersion"].endswith("v1alpha2") else 36
            assert without_nulls(with_defaults(shown, Release(release))) == without_nulls(shown), shown["kind"]


def without_nulls(value: Any) -> Any:
    """Remove null values: Go writes them for some types, and policies do not see them."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


def test_every_kind_of_v1_comes_from_and_goes_to_every_version() -> None:
    versions = {(base.version, base.submitted["kind"]) for base in BASES if not base.version.startswith("v1alpha2")}
    assert len(versions) > 10
    for base in BASES:
        if base.version != "v1alpha2" and base.submitted["kind"] != "PodSchedulingContext":
            newest = to_v1(base.submitted)
            assert convert(newest, base.submitted["apiVersion"])["kind"] == base.submitted["kind"]


@each_row("version", "v1beta2", "v1beta1", "v1alpha3")
def test_a_field_of_a_newer_release_stays_in_its_struct(version: str) -> None:
    for obj, steps in ((CLAIM, ("spec", "devices", "requests", 0, "exactly")), (SLICE, ("spec", "devices", 0))):
        newer = json.loads(json.dumps(obj))
        part = newer
        for step in steps:
            part = part[step]
        part["fieldOfTheFuture"] = newer["spec"]["another"] = newer["another"] = {"a": [1]}
        older = convert(newer, f"{GROUP}/{version}")
        assert to_v1(older) == newer


def sample(field: Field, target: Target) -> Any:
    """Make a value with all fields set."""
    if isinstance(field, Nested):
        return full(field.type, target)
    if isinstance(field, Array):
        return [sample(field.item, target)]
    if isinstance(field, Map):
        return {"key": sample(field.item, target)}
    if isinstance(field, Parsed):
        return "2026-01-02T03:04:05Z" if field.rule == "timestamp" else "1"
    samples: dict[type[Field], Any] = {Int: 1, Bool: True, Text: "x"}
    return samples.get(type(field), {"a": 1})


def full(type_: type[Struct], target: Target) -> dict[str, Any]:
    """Make a struct with every field of a release."""
    found: dict[str, Any] = {}
    wanted = target.replaced.get(type_, type_)
    for name, field in wanted.fields.items():
        if target.has(field.since, field.until):
            found[name] = sample(field, target)
    return found


def several_versions() -> list[tuple[int, str, str, str]]:
    """List the kinds that a release serves in two versions."""
    return [
        (release, kind, one, other)
        for release in range(OLDEST, NEWEST + 1)
        for one, other in permutations(VERSIONS, 2)
        for kind, first in VERSIONS[one].kinds.items()
        if (second := VERSIONS[other].kinds.get(kind)) and first.type is second.type
        if all(each.since <= release <= each.until for each in (first, second))
    ]


@each_row(("release", "kind", "one", "other"), *several_versions())
def test_every_field_finds_its_place_in_the_other_version(release: int, kind: str, one: str, other: str) -> None:
    type_ = VERSIONS[one].kinds[kind].type
    source, wanted = (target(version, Release(release), CREATE, every(release)) for version in (one, other))
    obj = full(type_, source) | {"apiVersion": one, "kind": kind}
    converted = convert(obj, other)
    assert unknown(obj, type_, source) == unknown(converted, type_, wanted) == []
    assert convert(converted, one) == obj


def unknown(obj: dict[str, Any], type_: type[Struct], target: Target) -> list[str]:
    """List the fields of an object that a version does not have, or whose values have a wrong type."""
    return [str(misfit.path) for misfit in apart(compile_struct(type_, target).decoding.walk(obj))[0]]


def test_what_says_nothing_in_an_older_version_is_gone_and_objects_of_other_groups_stay_as_they_are() -> None:
    older = SLICE | {"apiVersion": f"{GROUP}/v1beta1", "spec": {"driver": "d", "nodeName": "", "allNodes": False}}
    assert to_v1(older)["spec"] == {"driver": "d"}
    other = {"apiVersion": "example.com/v1", "kind": "Quota"}
    assert to_v1(other) is with_defaults(other) is other


@each_row(
    "spec",
    None,
    [],
    {"devices": 1},
    {"devices": {"requests": {}}},
    {"devices": {"requests": [1, None, {"exactly": 1}]}},
)
def test_what_is_malformed_stays_as_it_is(spec: Any) -> None:
    claim = CLAIM | {"spec": spec}
    assert convert(claim, f"{GROUP}/v1beta2")["spec"] == spec
    assert to_v1(convert(claim, f"{GROUP}/v1beta1"))["apiVersion"] == f"{GROUP}/v1"
    assert with_defaults(claim)["kind"] == "ResourceClaim"


@given(st.data())
def test_nothing_that_is_malformed_raises(data: st.DataObject) -> None:
    given = [CLAIM, SLICE, POD, *(base.submitted for base in BASES if "spec" in base.submitted)]
    obj = json.loads(json.dumps(data.draw(st.sampled_from(given))))
    part: Any = obj["spec"]
    while isinstance(part, dict | list) and part:
        step = data.draw(st.sampled_from(sorted(part) if isinstance(part, dict) else range(len(part))))
        if data.draw(st.booleans()) or not isinstance(part[step], dict | list):
            part[step] = data.draw(st.sampled_from([None, [], {}, "", "a", 0, 1, True, [None], {"a": None}, [[]]]))
            break
        part = part[step]
    assert with_defaults(obj)["kind"] == obj["kind"]
    if not obj["apiVersion"].endswith("v1alpha2") and obj["kind"] != "PodSchedulingContext":
        assert to_v1(obj)["kind"] == obj["kind"]


@each_row(
    ("obj", "version", "message"),
    *(
        ({"apiVersion": f"{GROUP}/v1alpha2", "kind": kind}, f"{GROUP}/v1", f"{kind} of .*v1alpha2 has no counterpart")
        for kind in ("ResourceClaim", "ResourceClass", "ResourceSlice", "PodSchedulingContext")
    ),
    ({"kind": "ResourceClaim"}, f"{GROUP}/v1", "the object has no apiVersion$"),
    ({"apiVersion": f"{GROUP}/v1beta1"}, f"{GROUP}/v1", "the object has no kind$"),
    (CLAIM, "v1beta1", r"give group and version, such as resource\.k8s\.io/v1"),
    ([CLAIM], f"{GROUP}/v1", "an object is a dict, not list"),
)
def test_what_has_no_counterpart_or_type_is_not_converted(obj: Any, version: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        webhook.convert(obj, version)
    assert isinstance(raised.value, ConversionError) == isinstance(obj, dict)
