"""References of new objects at admission: warnings, checked against the cluster."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.admission.reviews import POD, asked
from tests.command import ROOT, draguard
from tests.policy.examples import of
from tests.rows import each_row
from tests.structured import claim
from webhook.admission import Enforcement, ReviewOptions, review
from webhook.budget import Budget, BudgetExceededError, limited
from webhook.documents import Document, parse
from webhook.inventory import Inventory
from webhook.references.lookup import Surroundings

CLUSTER = ROOT / "examples" / "simulate" / "cluster.yaml"


def wanting(**exactly: Any) -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu.example.com", **exactly}}
    return claim(request) | {"metadata": {"name": "c", "namespace": "team-x"}}


CLAIM = wanting(deviceClassName="gpu.exmaple.com")


def inventory() -> Inventory:
    documents = parse(CLUSTER.read_bytes(), str(CLUSTER))
    return Inventory(each.data for each in documents if isinstance(each, Document))


def response(obj: dict[str, Any], old: Any = None, operation: str = "CREATE", **options: Any) -> dict[str, Any]:
    settings = ReviewOptions(surroundings=Surroundings(inventory()), **options)
    found: dict[str, Any] = review(asked(obj, old, operation), "validate", settings)["response"]
    return found


def test_a_class_that_is_not_there_is_warned_of_when_it_is_created_and_refused_only_if_its_rule_says_so() -> None:
    found = response(CLAIM)
    assert found["allowed"]
    (said,) = found["warnings"]
    assert said.startswith('spec.devices.requests[0].exactly.deviceClassName: DeviceClass "gpu.exmaple.com" does not')
    assert '(did you mean "gpu.example.com"?)' in said
    assert "warnings" not in response(CLAIM, CLAIM, "UPDATE")
    assert response(CLAIM, enforcement=Enforcement(mode="deny"))["allowed"]
    refused = response(CLAIM, enforcement=Enforcement(rules={"class-not-found": "deny"}))
    assert not refused["allowed"]
    audited = response(CLAIM, enforcement=Enforcement(rules={"class-not-found": "audit"}))
    assert (audited["allowed"], "warnings" in audited) == (True, False)


def test_pods_and_templates_are_looked_at_and_kinds_of_others_left_alone() -> None:
    spec = {**POD["spec"], "nodeName": "", "resourceClaims": [{"name": "gpu", "resourceClaimName": "train-1"}]}
    (warning,) = response({**POD, "spec": spec})["warnings"]
    assert "it exists in namespace team-x" in warning
    deployment = of("Deployment", version="apps/v1", spec={"selector": {}, "template": {"spec": spec}})
    deployment["metadata"]["namespace"] = "team-x"
    assert "warnings" not in response(deployment)
    for other in ({"apiVersion": "v1", "kind": "ConfigMap"}, None):
        assert Surroundings(inventory()).warnings(other, "") == []


def test_much_work_is_left_to_others_or_not_done() -> None:
    around = Surroundings(inventory(), "1.36", {"AllAlpha": True})
    selectors = [{"cel": {"expression": f"device.driver == 'a{number}'"}} for number in range(16)]
    obj = wanting(selectors=selectors)
    with limited(Budget(100)), pytest.raises(BudgetExceededError):
        around.warnings(obj, "team-x")
    with limited(Budget(11_000)):
        assert len(around.warnings(obj, "team-x")) in {0, 16}


def test_review_takes_a_snapshot(tmp_path: Path) -> None:
    file = tmp_path / "review.json"
    file.write_text(json.dumps(asked(CLAIM)))
    done = draguard("review", "--cluster", CLUSTER, file)
    assert "did you mean" in done.out
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {devices: 1}}")
    assert draguard("review", "--cluster", wrong, file).code == 2


@each_row("selectors", [1], [[]], [None], [{}], [{"cel": 1}], [{"cel": {"expression": 1.5}}], 1)
def test_what_is_malformed_is_not_looked_up(selectors: Any) -> None:
    answered = response(wanting(selectors=selectors))
    assert not answered["allowed"]
    assert answered["status"]["code"] in {400, 422}


@each_row("api_version", "resource.k8s.io/v9", "", "c")
def test_the_header_of_an_unused_field_is_not_looked_up(api_version: str) -> None:
    assert response(wanting(selectors=[{"cel": 1}]) | {"apiVersion": api_version}).get("warnings", []) == []


def test_a_class_of_a_known_driver_is_none_where_the_cluster_lists_others() -> None:
    classes = [each for each in inventory().all("DeviceClass") if each["metadata"]["name"] == "gpu.example.com"]
    for known, count in ((classes, 1), ([], 0)):
        found = Surroundings(Inventory(known)).warnings(wanting(deviceClassName="gpu.nvidia.com"), "team-x")
        assert len(found) == count
