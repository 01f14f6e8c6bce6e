import json
from pathlib import Path

from tests.command import ROOT, draguard, reported
from tests.rows import each_row

EXAMPLES = ROOT / "examples"


def findings(path: str, *options: str) -> list[tuple[int, str, str]]:
    found = reported("validate", *options, str(EXAMPLES / path))["findings"]
    assert {each["level"] for each in found} <= {"error"}
    return [(each["line"], each["rule"], each["field"]) for each in found]


def test_the_documentations_example_is_found_wanting_as_published() -> None:
    # The name of the class sits beside its metadata, and one --- begins with an en dash. The same mistake in
    # ClaimParameters is between the user and the driver that defines the kind.
    assert findings("as-published") == [(3, "unknown-field", "name"), (24, "unreadable", "")]


def test_the_documentations_example_is_fine_once_fixed() -> None:
    report = reported("validate", str(EXAMPLES / "fixed"))
    assert report["findings"] == []
    summary = report["summary"]
    assert (summary["kubernetes"], summary["files"], summary["documents"], summary["judged"]) == (["1.37"], 1, 4, 3)
    skipped = {"apiVersion": "cats.resource.example.com/v1", "kind": "ClaimParameters", "documents": 1}
    assert summary["skipped"] == [skipped]


@each_row("release", "1.27", "1.28", "1.29", "1.30")
def test_the_fixed_example_is_fine_for_every_release_that_had_its_version(release: str) -> None:
    assert findings("fixed", "--kubernetes-version", release) == []


def test_later_releases_neither_serve_the_version_nor_have_the_pods_field() -> None:
    assert findings("fixed", "--kubernetes-version", "1.31") == [
        *((line, "not-served", "apiVersion") for line in (1, 15)),
        (47, "unknown-field", "spec.resourceClaims[0].source"),
        (50, "unknown-field", "spec.resourceClaims[1].source"),
    ]


def test_the_limits_are_exceeded_where_the_comments_say_so() -> None:
    assert findings("limits") == [
        (8, "unknown-field", "spec.resourceClass"),
        (9, "wrong-type", "spec.allocationMode"),
        (19, "unreadable", ""),
        (5, "object-name", "metadata.name"),
        (6, "label-syntax", "metadata.labels"),
        (8, "max-length", "driverName"),
        (9, "required", "parametersRef.name"),
        (15, "values-for-operator", "suitableNodes.nodeSelectorTerms[0].matchExpressions[0].values"),
        (25, "only-labels-and-annotations", "spec.metadata.name"),
        (28, "enum", "spec.spec.allocationMode"),
        (9, "max-items", "spec.potentialNodes"),
        (12, "duplicate", "driverRequests[1].driverName"),
        (13, "required", "driverRequests[1].requests"),
    ]


def test_the_pre_scheduled_pod_becomes_one_that_the_scheduler_sees() -> None:
    remove, add = json.loads(draguard("mutate", "--patch", EXAMPLES / "pre-scheduled").out)["patch"]
    assert remove == {"op": "remove", "path": "/spec/nodeName"}
    assert add == {"op": "add", "path": "/spec/nodeSelector", "value": {"kubernetes.io/hostname": "node-1"}}


def test_the_examples_of_v1_are_fine() -> None:
    assert findings("v1") == []


@each_row("mistake", *sorted((EXAMPLES / "mistakes").glob("*.yaml")))
def test_each_mistake_is_found_by_the_rule_that_it_names(mistake: Path) -> None:
    rule = mistake.read_text(encoding="utf-8").removeprefix("# ").partition(":")[0]
    assert [each["rule"] for each in reported("validate", str(mistake))["findings"]] == [rule]
