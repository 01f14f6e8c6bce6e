"""What the API server sets in objects before it asks validating policies, as recorded, and as policies see it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.policy.examples import CLAIM, POD, binding, mutating, policy
from tests.reviews import recorded
from webhook.engine.offline import evaluate
from webhook.engine.registry import before_validation
from webhook.policy.ask.request import request_of
from webhook.policy.change.defaults import completed
from webhook.policy.load import load
from webhook.policy.manifest.kinds import Kinds

CREATED = [
    each.review["request"]
    for each in recorded()
    if each.endpoint == "validate" and each.review["request"]["operation"] == "CREATE"
]
OF_SERVER = {"uid", "creationTimestamp", "generation", "managedFields", "resourceVersion"}


def submitted(obj: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the server has set."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in OF_SERVER}
    return {name: value for name, value in obj.items() if name != "status"} | {"metadata": metadata}


@pytest.mark.parametrize("request_", CREATED, ids=lambda each: f"{each['kind']['kind']}-{each['uid'][:8]}")
def test_a_new_object_has_what_the_server_sets(request_: dict[str, Any]) -> None:
    theirs = request_["object"]
    if request_.get("subResource"):
        return
    release = 30 if theirs["apiVersion"].endswith("v1alpha2") or not theirs["metadata"].get("generation") else 36
    kinds = Kinds(release)
    ours = before_validation(completed(request_of(submitted(theirs), kinds=kinds)), kinds).object
    assert ours is not None
    assert ours["metadata"].keys() == theirs["metadata"].keys()
    assert ours["metadata"].get("generation") == theirs["metadata"].get("generation")
    assert ours.get("status") == theirs.get("status")


def verdict(obj: dict[str, Any], expression: str, old: Any = None, **rule: Any) -> bool:
    rules = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]} | rule]
    asks = policy(validations=[{"expression": expression}], matchConstraints={"resourceRules": rules})
    return evaluate(obj, old, policies=load([asks, binding()])).allowed


@pytest.mark.parametrize(
    "expression",
    [
        "has(object.metadata.uid) && object.metadata.uid != ''",
        "has(object.metadata.creationTimestamp)",
        "object.metadata.managedFields.all(each, each.operation == 'Update')",
        "request.name == 'c'",
        "!has(object.metadata.generation)",
        "object.?status.?allocation.hasValue() == false",
    ],
)
def test_policies_see_a_new_claim_as_in_a_cluster(expression: str) -> None:
    assert verdict(CLAIM, expression)


def test_the_policy_of_these_tests_can_refuse() -> None:
    assert not verdict(CLAIM, "!has(object.metadata.uid)")


def test_a_name_is_made_of_its_prefix_before_validating_policies_are_asked() -> None:
    prefixed = copy.deepcopy(CLAIM)
    prefixed["metadata"] = {"generateName": "c-", "namespace": "default"}
    assert verdict(prefixed, "request.name.startsWith('c-') && object.metadata.name == request.name")


@pytest.mark.parametrize(
    ("resources", "qos"),
    [
        ({}, "BestEffort"),
        ({"claims": [{"name": "gpu"}]}, "BestEffort"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Mi"}}, "Burstable"),
    ],
)
def test_a_new_pod_is_pending(resources: dict[str, Any], qos: str) -> None:
    pod = copy.deepcopy(POD)
    pod["spec"]["containers"][0]["resources"] = resources
    assert verdict(pod, f"object.status.phase == 'Pending' && object.status.qosClass == '{qos}'")


def test_a_status_that_a_client_sends_is_seen_by_no_validating_policy() -> None:
    claim = CLAIM | {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}}
    assert verdict(claim, "!has(object.status.reservedFor)")
    assert verdict(claim, "!has(object.status.reservedFor)", old=CLAIM)


def test_an_update_keeps_what_only_the_server_sets() -> None:
    stored = copy.deepcopy(CLAIM)
    stored["metadata"] |= {"uid": "u-1", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
    expression = "object.metadata.uid == 'u-1' && oldObject.metadata.resourceVersion == '7'"
    assert verdict(CLAIM, expression, old=stored)
    assert verdict(CLAIM, "object.metadata.uid == oldObject.metadata.uid", old=CLAIM)


def test_a_deleted_object_is_a_stored_one() -> None:
    asks = policy(
        validations=[{"expression": "has(oldObject.metadata.uid)"}],
        matchConstraints={
            "resourceRules": [
                {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["DELETE"], "resources": ["*"]},
            ]
        },
    )
    assert evaluate(None, CLAIM, policies=load([asks, binding()])).allowed


def test_mutating_policies_see_what_was_sent_and_nothing_of_the_rest_is_shown() -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    label = "Object{metadata: Object.metadata{labels: {'new': string(!has(object.metadata.uid))}}}"
    done = evaluate(CLAIM, policies=load(mutating("m", label, matchConstraints={"resourceRules": [rule]})))
    assert done.allowed, done.message
    assert done.object == CLAIM | {"metadata": CLAIM["metadata"] | {"labels": {"new": "true"}}}


def test_what_no_crd_defines_counts_its_generations() -> None:
    gadget = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {}}
    assert verdict(gadget, "object.metadata.generation == 1")
