"""Tables of requests, and what is found in each: ``requests/*.yaml``.

A file has ``objects`` by name; all else are tests: a sentence and its rows, or ``rows`` beside what these share. A row
is a request to create the object ``of`` that name, with ``change`` (values by path) and ``without`` (paths); or to
update ``old``, the same object, or another ``of`` them, with changes of its own. ``release``, ``gates``, ``labels`` (of
the namespace) and ``subresource`` are those of the request; ``found`` has the findings, where ``…`` stands for any
text; they have their hints if one of them is stated. ``rules`` are theirs, if stated.
"""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command import draguard
from tests.rows import each_row, read
from tests.structured import REQUEST, changed, claim, of_kind, resource_slice
from webhook import Problem, validate
from webhook.api.gates import GATES, Stage, enabled, on_since, stage
from webhook.api.judgement import SOUGHT, judge, judge_admitted
from webhook.limits import MOST_FINDINGS
from webhook.problem import Fix
from webhook.release import Release

FILES = sorted((Path(__file__).parent / "requests").glob("*.yaml"))
OPTIONS = {
    "release": "kubernetes",
    "gates": "feature_gates",
    "labels": "namespace_labels",
    "subresource": "subresource",
}
OBJECT = {"of", "change", "without"}
ROW = {*OBJECT, *OPTIONS, "old", "found", "rules"}


def rows() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Read the tables: sentence, objects and row."""
    for file in FILES:
        table = dict(read(file))
        objects = table.pop("objects")
        for sentence, group in table.items():
            shared = dict(group) if isinstance(group, dict) else {"rows": group}
            requests = shared.pop("rows")
            assert requests, sentence
            for row in requests:
                assert (shared | row).keys() <= ROW, row
                assert row.get("old", {}).keys() <= OBJECT, row
                yield f"{file.stem}: {sentence}", objects, shared | row


def altered(obj: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """Copy an object with other values at paths such as ``spec.containers.0.image``, and without some fields."""
    result = copy.deepcopy(obj)
    for path, value in [*row.get("change", {}).items(), *((path, ...) for path in row.get("without", ()))]:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        holder: Any = result
        for step in steps:
            holder = holder[step]
        if value is ...:
            del holder[last]
        else:
            holder[last] = value
    return result


def said(problem: Problem, *, with_hint: bool) -> str:
    """Write a finding: what is special about it, its field, its path if that differs, and its message."""
    kind = "" if problem.level == "error" else f"{problem.level} {problem.rule} "
    if problem.reason in {"Conflict", "InternalError", "NotFound"}:
        kind = f"{problem.reason} "
    path = f" ({problem.path})" if problem.path and problem.field != str(problem.path) else ""
    hint = f" -> {problem.hint}" if with_hint and problem.hint else ""
    return f"{kind}{problem.field}{path}: {problem.message}{hint}"


@each_row(("sentence", "objects", "row"), *rows())
def test_a_request_has_the_findings_of_its_row(sentence: str, objects: dict[str, Any], row: dict[str, Any]) -> None:
    obj = objects[row["of"]] if "of" in row else {}
    old = altered(objects[row["old"]["of"]] if "of" in row["old"] else obj, row["old"]) if "old" in row else None
    options = {option: row[name] for name, option in OPTIONS.items() if name in row}
    found = validate(altered(obj, row), old, **options)
    hints = any(" -> " in text for text in row["found"])
    texts = [said(problem, with_hint=hints) for problem in found]
    assert len(texts) == len(row["found"]), (sentence, texts)
    for text, wanted in zip(texts, row["found"], strict=True):
        assert re.fullmatch(".*".join(map(re.escape, wanted.split("…"))), text, re.DOTALL), (sentence, text)
    assert row.get("rules") in (None, [problem.rule for problem in found]), sentence


def test_gates_have_the_defaults_of_their_release_and_their_stage_and_dra_counts_as_on() -> None:
    assert "DRAPrioritizedList" not in enabled(Release(33))
    assert "DRAPrioritizedList" in enabled(Release(34))
    assert "DRADeviceTaints" not in enabled(Release(35))
    assert "DRADeviceTaints" in enabled(Release(36))
    assert "DRAControlPlaneController" not in enabled(Release(32), {"AllAlpha": True})
    assert "DRAListTypeAttributes" in enabled(Release(36), {"AllAlpha": True})
    assert "DRAListTypeAttributes" not in enabled(Release(36), {"AllAlpha": True, "DRAListTypeAttributes": False})
    assert "DRADeviceTaints" not in enabled(Release(36), {"AllBeta": False})
    assert "DRADeviceTaintRules" in enabled(Release(36), {"AllBeta": True})
    assert "DRAPrioritizedList" in enabled(Release(36), {"AllBeta": False})
    assert "DynamicResourceAllocation" in enabled(Release(31))
    assert "DynamicResourceAllocation" in enabled(Release(33), {"DynamicResourceAllocation": False})
    assert on_since("DRAPrioritizedList") == 34
    assert on_since("DRAListTypeAttributes") is None
    assert stage("DRAAdminAccess", Release(31)) is None
    assert {
        gate for gate in GATES if on_since(gate) and stage(gate, Release(on_since(gate) or 0)) is Stage.ALPHA
    } == set()


@each_row(
    ("gates", "message"),
    ({"DRADeviceTaint": True}, "unrecognized feature gate: DRADeviceTaint; did you mean DRADeviceTaints?"),
    ({"x": True}, "unrecognized feature gate: x; known are"),
    ({"DRAAdminAccess": False}, "cannot set feature gate DRAAdminAccess to false, feature is locked to true"),
)
def test_gates_that_cannot_be_set_are_refused(gates: dict[str, bool], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        validate(claim(), kubernetes="1.36", feature_gates=gates)


@each_row(("kubernetes", "gate"), ("1.34", "DRADeviceTaints"), ("1.35", "DRADeviceTaintRules"))
def test_the_gate_of_a_kind_is_that_of_the_release(kubernetes: str, gate: str) -> None:
    rule = of_kind("DeviceTaintRule", {"taint": {"key": "a", "effect": "NoSchedule"}})
    everything: dict[str, Any] = {"kubernetes": kubernetes, "runtime_config": {"api/all": True}}
    (problem,) = validate(rule, **everything)
    assert problem.message == f"DeviceTaintRule is served only with the feature gate {gate}"
    assert validate(rule, feature_gates={gate: True}, **everything) == []


def test_of_what_an_api_server_has_decoded_every_gate_may_be_on() -> None:
    obj = resource_slice({"name": "a", "attributes": {"ports": {"ints": [1]}}}, version="v1beta2")
    assert [problem.rule for problem in judge_admitted(obj)] == []
    assert [problem.rule for problem in judge_admitted(obj, feature_gates={})] == ["gate-off", "one-attribute-value"]


GROUP: dict[str, Any] = {
    "apiVersion": "scheduling.k8s.io/v1alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "group", "namespace": "default"},
    "spec": {"resourceClaims": [{"name": "gpu", "resourceClaimName": "a"}]},
}
CLASS: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.example.com", "generateName": "gpu/"},
    "spec": {},
}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
IMMUTABLE = ("spec.resourceClaims", "Invalid value: null: field is immutable")


@each_row(
    ("claims", "expected"),
    (GROUP["spec"]["resourceClaims"], []),
    ([{"name": "B"}, {"name": "B", "resourceClaimName": "C"}], [IMMUTABLE]),
    ([{}] * 5, [IMMUTABLE, ("spec.resourceClaims", "Too many: 5: must have at most 4 items")]),
    ([], [IMMUTABLE]),
)
def test_changed_claims_of_a_group_are_only_counted(
    claims: list[dict[str, Any]], expected: list[tuple[str, str]]
) -> None:
    new = {**GROUP, "spec": {"resourceClaims": claims}}
    problems = validate(new, GROUP, kubernetes="1.36", feature_gates={"AllAlpha": True})
    found = [(each.field, each.message) for each in problems if each.level == "error"]
    assert found == expected


def test_a_class_has_its_prefix_checked_last() -> None:
    last: tuple[Any, ...] = ({}, ["metadata.generateName"]), ({"selectors": [{}]}, ["spec.selectors[0].cel"])
    for spec, fields in last:
        assert [problem.field for problem in validate({**CLASS, "spec": spec}, kubernetes="1.36")] == fields
    metadata = {"generateName": "a" * 60 + "/"}  # it is cut out of the name
    (problem,) = validate({**CLASS, "metadata": metadata}, kubernetes="1.36")
    assert (problem.field, problem.message[-19:]) == ("metadata.generateName", "may not contain '/'")


@each_row("subresource", "", "status")
def test_an_update_warns_of_repeated_owners_once(subresource: str) -> None:
    old = claim(REQUEST)
    new = {**old, "metadata": {**old["metadata"], "ownerReferences": [OWNER, OWNER]}}
    problems = validate(new, old, kubernetes="1.36", subresource=subresource)
    (warning,) = [each for each in problems if "duplicate UID(s) observed: u" in each.message]
    assert (warning.level, warning.rule, warning.field) == ("warning", "repeated-owner", "metadata.ownerReferences")


CONTAINER = {"name": "train", "image": "trainer:1"}


def pod(*claims: dict[str, Any]) -> dict[str, Any]:
    """Make a pod with claims."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train"},
        "spec": {"containers": [CONTAINER], "resourceClaims": list(claims)},
    }


def test_a_map_or_list_in_the_place_of_one_value_has_no_fix() -> None:
    (found,) = validate(pod({"name": "gpu", "resourceClaimTemplate": {"spec": {}}}))
    assert (found.fix, found.hint) == (None, 'did you mean "resourceClaimTemplateName"? It takes one value, not a map')
    (found,) = validate(pod({"name": "gpu", "resourceClaimTemplate": "gpu"}))
    assert (found.fix, found.hint) == (
        Fix("rename", "resourceClaimTemplateName"),
        'did you mean "resourceClaimTemplateName"?',
    )


def test_of_very_many_fields_only_the_first_are_looked_at_or_for() -> None:
    found = validate(claim() | {f"field{index}": {} for index in range(MOST_FINDINGS + 100)})
    assert len(found) == MOST_FINDINGS + 1
    for others, suggested in ((SOUGHT - 1, 'did you mean "spec"?'), (SOUGHT, "")):
        unknown: dict[str, Any] = {f"field{index}": {} for index in range(others)} | {"specs": {}}
        assert validate(claim() | unknown)[others].hint == suggested
    devices = [{"name": f"gpu-{index}", "driver": "gpu.example.com"} for index in range(SOUGHT + 1)]
    hints = [problem.hint for problem in validate(resource_slice(*devices))]
    assert hints == ['did you mean "spec.driver"?'] * SOUGHT + [""]


def test_control_characters_of_unknown_fields_are_escaped() -> None:
    (problem,) = validate(changed(claim(), **{'spec__a"\n\u2028é': 1}))
    assert problem.message == r'''strict decoding error: unknown field "spec.a\"\n\u2028é"'''


REST = {"metadata": {"name": "a"}, "spec": {"devices": {}}}
VERSION, KIND = {"apiVersion": "resource.k8s.io/v1"}, {"kind": "ResourceClaim"}
POD = {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"claims": [{"name": "g"}]}}]}}


@each_row(
    ("head", "said", "place", "hint"),
    (VERSION | {"knd": "ResourceClaim"}, "kind: kind not set", "knd", 'did you mean "kind" in place of "knd"?'),
    (VERSION | {"Kind": "ResourceClaim"}, "kind: kind not set", "Kind", 'did you mean "kind" in place of "Kind"?'),
    (
        VERSION,
        "kind: kind not set",
        "kind",
        "add kind: DeviceClass or DeviceTaintRule or ResourceClaim or ResourceClaimTemplate or ResourceSlice",
    ),
    ({"apiVersion": "apps/v1"}, "kind: kind not set", "kind", ""),
    (
        KIND | {"apiversion": "resource.k8s.io/v1"},
        "apiVersion: apiVersion not set",
        "apiversion",
        'did you mean "apiVersion" in place of "apiversion"?',
    ),
    (KIND, "apiVersion: apiVersion not set", "apiVersion", "add apiVersion: resource.k8s.io/v1"),
    ({"kind": "Pod"} | POD, "apiVersion: apiVersion not set", "apiVersion", "add apiVersion: v1"),
    ({"kind": "Deployment"} | POD, "apiVersion: apiVersion not set", "apiVersion", "add apiVersion: apps/v1"),
)
def test_what_an_object_lacks_is_found_where_it_is_misspelt(
    head: dict[str, Any], said: str, place: str, hint: str
) -> None:
    (problem,) = validate(REST | head)
    assert (str(problem), problem.path, problem.hint) == (said, (place,), hint)


RAW = "of type []json.RawMessage"


@each_row(
    ("obj", "said", "hint"),
    (
        {"apiVersion": "v1", "kind": "List", "items": {"a": 1}},
        f"items: json: cannot unmarshal object into Go struct field decodeList.items {RAW}",
        "write a list: a `-` before each entry",
    ),
    (
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimList", "items": "a"},
        f"items: json: cannot unmarshal string into Go struct field decodeList.items {RAW}",
        "write a list: a `-` before each entry",
    ),
    (
        {"apiVersion": "v1", "kind": "List"},
        'kind: no matches for kind "List" in version "v1"',
        "it has no items: write the objects there",
    ),
)
def test_a_list_that_kubectl_cannot_take_apart_is_refused(obj: dict[str, Any], said: str, hint: str) -> None:
    (problem,) = validate(obj)
    assert (problem.level, str(problem), problem.hint) == ("error", said, hint)
    done = draguard("validate", "-", stdin=f"\n{json.dumps(obj)}".encode())
    assert (done.code, said in done.out) == (1, True)


def test_an_empty_list_is_fine_and_other_kinds_may_be_called_lists() -> None:
    assert validate({"apiVersion": "v1", "kind": "List", "items": None}) == []
    assert validate({"apiVersion": "v1", "kind": "List", "items": "${ITEMS}"}) == []
    assert validate({"apiVersion": "example.com/v1", "kind": "AllowList", "spec": {}}) == []


@each_row(("release", "version"), ("1.30", "v1alpha2"), ("1.31", "v1alpha3"), ("1.33", "v1beta2"), ("1.34", "v1"))
def test_the_version_to_add_is_one_that_the_release_serves(release: str, version: str) -> None:
    manifest = f"{VERSION}\n---\n{REST | KIND}".encode()
    done = draguard("validate", "--kubernetes-version", release, "-", stdin=manifest)
    assert f"help: add apiVersion: resource.k8s.io/{version}\n" in done.out


@each_row("obj", {"kind": "Job", "spec": {}}, {"kind": "Values", "claims": [1]})
def test_other_files_are_silent(obj: dict[str, Any]) -> None:
    assert judge(obj) == []


@each_row(
    ("arguments", "message"),
    ({"kubernetes": 1.34}, "kubernetes must be a string, not float"),
    ({"kubernetes": 34}, "kubernetes must be a string, not int"),
    ({"kubernetes": "1.26"}, r"Kubernetes 1\.26 is not known here; 1\.27 and later are"),
    ({"subresource": "scale"}, "subresource 'scale' is not judged: give \"status\""),
    ({"subresource": "Status", "old": claim()}, "subresource 'Status' is not judged"),
    ({"subresource": "status"}, "a status is judged as an update: give the stored object as old"),
    ({"feature_gates": {"DRADeviceTaint": True}}, "unrecognized feature gate: DRADeviceTaint"),
)
def test_an_invalid_query_is_a_value_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        validate(claim(), **arguments)


# Metadata


@each_row("version", "7", "007", str(2**64 - 1))
def test_a_new_object_has_no_resource_version(version: str) -> None:
    (problem,) = validate(changed(claim(), metadata__resourceVersion=version))
    assert (problem.rule, problem.reason) == ("resource-version-of-new", "InternalError")
    assert str(problem) == "metadata.resourceVersion: resourceVersion should not be set on objects to be created"


@each_row("version", "", "0", "abc", "-7", "7.0", "\uff17", str(2**64), "9" * 5000)
def test_a_resource_version_that_is_no_number_is_as_good_as_none(version: str) -> None:
    assert validate(changed(claim(), metadata__resourceVersion=version)) == []


@each_row("old", [], "x", 3, changed(claim(), spec=[]))
def test_an_old_object_that_was_never_stored_is_a_finding(old: object) -> None:
    assert [problem.rule for problem in validate(claim(), old)] == ["old-object"]


@each_row("count", 1, "2")
def test_what_cannot_be_decoded_in_an_old_object_is_said(count: object) -> None:
    new, old = (claim({"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": each}}) for each in (count, "x"))
    *_, problem = judge(new, old, beyond_decoding=True)
    assert problem.message == (
        "the old object is not a stored object of this kind: spec.devices.requests[0].exactly.count: "
        "json: cannot unmarshal string into Go struct field ExactDeviceRequest.spec.devices.requests.exactly.count "
        "of type int64"
    )
    assert problem.hint == "in the old object: write a whole number, as in 2"
