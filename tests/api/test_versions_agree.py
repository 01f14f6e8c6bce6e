"""An object has the same findings in every version that can express it; only their paths differ."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.recorded import NAMESPACE_LABELS, bases, cases
from tests.rows import each_row
from webhook import Problem, validate
from webhook.api.conversion import convert

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[1] / "conformance"
RECORDED = FOLDER / "v1-1.36.jsonl.gz"


def mapped(path: tuple[str | int, ...], kind: str) -> tuple[str | int, ...]:
    """Return the path of a v1 field in v1beta1."""
    if kind == "ResourceSlice" and path[:2] == ("spec", "devices") and path[3:4] not in {(), ("name",)}:
        return (*path[:3], "basic", *path[3:])
    return tuple(step for step in path if step != "exactly")


def whole(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Move findings about ``basic`` to the device."""
    return path[:-1] if path[-1:] == ("basic",) else tuple(path)


def cannot_be_written(obj: dict[str, Any]) -> bool:
    """Tell whether a v1 object has a value that v1beta1 treats as absent: an empty request or node name."""
    spec = obj.get("spec") or {}
    devices = (spec.get("spec") or spec).get("devices")
    requests = (devices.get("requests") or ()) if isinstance(devices, dict) else ()
    return spec.get("nodeName") == "" or any(request and request.get("exactly") == {} for request in requests)


def problems_of(obj: dict[str, Any]) -> list[Problem]:
    """Return the findings about an object, except that its version is deprecated, and off by default."""
    problems = validate(obj, kubernetes="1.36", feature_gates={"AllAlpha": True}, namespace_labels=NAMESPACE_LABELS)
    return [problem for problem in problems if problem.rule not in {"deprecated", "version-off"}]


def said(problem: Problem, path: tuple[str | int, ...]) -> tuple[Any, ...]:
    return path, problem.level, problem.rule, problem.field, problem.message


def test_the_same_is_said_in_every_version_at_mapped_paths_and_spelled_the_same() -> None:
    objects = [
        case.sent
        for case in cases(RECORDED)
        if case.kind != "Pod" and case.line["op"] == "CREATE" and case.expected.get("code") != 400
    ]
    corpus = [(obj, problems_of(obj)) for obj in objects]
    different = []
    for version, (obj, problems) in product(("v1beta2", "v1beta1"), corpus):
        kind = obj["kind"] if version == "v1beta1" else ""
        expected = {said(problem, mapped(problem.path, kind) if kind else problem.path) for problem in problems}
        written = convert(obj, f"resource.k8s.io/{version}")
        ours = {said(problem, whole(problem.path)) for problem in problems_of(written)}
        if ours != expected and not (kind and cannot_be_written(obj)):
            different.append((sorted(map(str, expected - ours)), sorted(map(str, ours - expected))))
    assert different == []
    assert sum(not problems for _, problems in corpus) > 500
    assert sum(map(cannot_be_written, objects)) < 10


FILES = ("v1-1.36", "v1-1.34", "v1beta1-1.36", "v1alpha3-1.36")


def objects() -> list[tuple[str, dict[str, Any]]]:
    """Read the objects of the recorded requests, as they were sent and as they were stored, with the release."""
    lines = [line for file in FILES for line in bases(FOLDER / f"{file}.jsonl.gz")]
    found = [(line["kubernetes"], obj) for line in lines for obj in (line["object"], *line["stored"])]
    return [(kubernetes, obj) for kubernetes, obj in found if obj["kind"] != "Pod"]


@each_row(("kubernetes", "obj"), *objects())
def test_an_object_is_not_a_change_of_itself(kubernetes: str, obj: dict[str, Any]) -> None:
    for subresource in ("", "status"):
        gates = {"AllAlpha": True}
        problems = validate(obj, obj, kubernetes=kubernetes, subresource=subresource, feature_gates=gates)
        assert [problem for problem in problems if problem.level == "error"] == []
