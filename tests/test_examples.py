import json
from pathlib import Path

from tests.command import ROOT, draguard, reported
from tests.rows import each_row

EXAMPLES = ROOT / "examples"


def findings(path: str, *options: str) -> list[tuple[int, str, str, str]]:
    found = reported("validate", *options, str(EXAMPLES / path))["findings"]
    return [(each["line"], each["level"], each["rule"], each["field"]) for each in found]


def test_the_documentations_example_is_found_wanting_as_published() -> None:
    # The name of the class sits beside its metadata, and one --- begins with an en dash. The same mistake in
    # ClaimParameters is between the user and the driver that defines the kind.
    assert findings("as-published") == [(3, "error", "unknown-field", "name"), (24, "error", "unreadable", "")]


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
        (1, "error", "not-served", "apiVersion"),
        (15, "error", "not-served", "apiVersion"),
        (47, "error", "unknown-field", "spec.resourceClaims[0].source"),
        (50, "error", "unknown-field", "spec.resourceClaims[1].source"),
    ]


def test_the_limits_are_exceeded_where_the_comments_say_so() -> None:
    assert findings("limits") == [
        (8, "error", "unknown-field", "spec.resourceClass"),
        (9, "error", "wrong-type", "spec.allocationMode"),
        (19, "error", "unreadable", ""),
        (5, "error", "object-name", "metadata.name"),
        (6, "error", "label-syntax", "metadata.labels"),
        (8, "error", "max-length", "driverName"),
        (9, "error", "required", "parametersRef.name"),
        (15, "error", "values-for-operator", "suitableNodes.nodeSelectorTerms[0].matchExpressions[0].values"),
        (25, "error", "only-labels-and-annotations", "spec.metadata.name"),
        (28, "error", "enum", "spec.spec.allocationMode"),
        (9, "error", "max-items", "spec.potentialNodes"),
        (12, "error", "duplicate", "driverRequests[1].driverName"),
        (13, "error", "required", "driverRequests[1].requests"),
    ]


def test_the_pre_scheduled_pod_becomes_one_that_the_scheduler_sees() -> None:
    patch = json.loads(draguard("mutate", "--patch", EXAMPLES / "pre-scheduled").out)["patch"]
    assert patch == [
        {"op": "remove", "path": "/spec/nodeName"},
        {"op": "add", "path": "/spec/nodeSelector", "value": {"kubernetes.io/hostname": "node-1"}},
    ]


def test_the_examples_of_v1_are_fine() -> None:
    assert reported("validate", str(EXAMPLES / "v1"))["findings"] == []


@each_row("mistake", *sorted((EXAMPLES / "mistakes").glob("*.yaml")))
def test_each_mistake_is_found_by_the_rule_that_it_names(mistake: Path) -> None:
    rule = mistake.read_text(encoding="utf-8").removeprefix("# ").partition(":")[0]
    assert [found[2] for found in findings(f"mistakes/{mistake.name}")] == [rule]
