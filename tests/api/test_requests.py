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

from tests.command import draguard
from tests.rows import each_row, read
from tests.structured import changed, claim, resource_slice
from webhook import Problem, validate
from webhook.api.gates import GATES, Stage, enabled, on_since, stage
from webhook.api.judgement import SOUGHT, judge, judge_admitted
from webhook.limits import MOST_FINDINGS
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


def test_of_what_an_api_server_has_decoded_every_gate_may_be_on() -> None:
    obj = resource_slice({"name": "a", "attributes": {"ports": {"ints": [1]}}}, version="v1beta2")
    assert [problem.rule for problem in judge_admitted(obj)] == []
    assert [problem.rule for problem in judge_admitted(obj, feature_gates={})] == ["gate-off", "one-attribute-value"]


def test_of_very_many_fields_only_the_first_are_looked_at_or_for() -> None:
    found = validate(claim() | {f"field{index}": {} for index in range(MOST_FINDINGS + 100)})
    assert len(found) == MOST_FINDINGS + 1
    for others, suggested in ((SOUGHT - 1, "spec is there already: remove one of the two"), (SOUGHT, "")):
        unknown: dict[str, Any] = {f"field{index}": {} for index in range(others)} | {"specs": {}}
        assert validate(claim() | unknown)[others].hint == suggested
    devices = [{"name": f"gpu-{index}", "driver": "gpu.example.com"} for index in range(SOUGHT + 1)]
    hints = [problem.hint for problem in validate(resource_slice(*devices))]
    assert hints == ["leave it out: spec.driver is set"] * SOUGHT + [""]


def test_control_characters_of_unknown_fields_are_escaped() -> None:
    (problem,) = validate(changed(claim(), **{'spec__a"\n\u2028é': 1}))
    assert problem.message == r'''strict decoding error: unknown field "spec.a\"\n\u2028é"'''


VERSION = {"apiVersion": "resource.k8s.io/v1"}
REST = {"kind": "ResourceClaim", "metadata": {"name": "a"}, "spec": {"devices": {}}}
UNMARSHAL = "items: json: cannot unmarshal {} into Go struct field decodeList.items of type []json.RawMessage"
ENTRIES = "write a list: a `-` before each entry"


@each_row(
    ("obj", "said", "hint"),
    ({"apiVersion": "v1", "kind": "List", "items": {"a": 1}}, UNMARSHAL.format("object"), ENTRIES),
    (VERSION | {"kind": "ResourceClaimList", "items": "a"}, UNMARSHAL.format("string"), ENTRIES),
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


@each_row(("release", "version"), ("1.30", "v1alpha2"), ("1.31", "v1alpha3"), ("1.33", "v1beta2"), ("1.34", "v1"))
def test_the_version_to_add_is_one_that_the_release_serves(release: str, version: str) -> None:
    manifest = f"{VERSION}\n---\n{REST}".encode()
    done = draguard("validate", "--kubernetes-version", release, "-", stdin=manifest)
    assert f"help: add apiVersion: resource.k8s.io/{version}\n" in done.out


@each_row("obj", {"kind": "Job", "spec": {}}, {"kind": "Values", "claims": [1]})
def test_other_files_are_silent(obj: dict[str, Any]) -> None:
    assert judge(obj) == []


def test_a_resource_version_of_very_many_digits_is_as_good_as_none() -> None:
    assert validate(changed(claim(), metadata__resourceVersion="9" * 5000)) == []


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
