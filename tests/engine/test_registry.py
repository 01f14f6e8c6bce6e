"""The fields that the API server sets in objects before validating policies run, as recorded and as policies see."""

import copy
from typing import Any

from tests.policy.examples import ANYTHING, CLAIM, EVERYWHERE, POD, evaluate, mutating, of, validating
from tests.reviews import recorded
from tests.rows import each_row, each_row_beside
from webhook.engine.registry import before_mutation, before_validation
from webhook.policy.change.defaults import completed
from webhook.policy.evaluation.request import Request, request_of
from webhook.policy.load import load
from webhook.policy.manifest.kinds import Kinds
from webhook.release import Release


def created(endpoint: str) -> list[dict[str, Any]]:
    requests = [each.review["request"] for each in recorded() if each.endpoint == endpoint]
    return [each for each in requests if each["operation"] == "CREATE" and not each.get("subResource")]


OF_SERVER = {"uid", "creationTimestamp", "generation", "managedFields", "resourceVersion"}


def submitted(obj: dict[str, Any]) -> dict[str, Any]:
    """Remove the fields that the server has set."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in OF_SERVER}
    return {name: value for name, value in obj.items() if name != "status"} | {"metadata": metadata}


def mutated(obj: dict[str, Any], kinds: Kinds) -> Request:
    """Return the request to create an object, as mutating policies see it."""
    return before_mutation(completed(request_of(obj, kinds=kinds), kinds), kinds)


def created_as(obj: dict[str, Any], release: int = 36) -> dict[str, Any]:
    """Return a new object as validating policies see it."""
    kinds = Kinds(Release(release))
    found = before_validation(mutated(obj, kinds), kinds).object
    assert found is not None
    return found


@each_row("request_", *created("mutate"))
def test_a_new_object_has_little_of_the_server_before_it_is_changed(request_: dict[str, Any]) -> None:
    theirs = request_["object"]
    kinds = Kinds(Release(30 if theirs["apiVersion"].endswith("v1alpha2") else 36))
    ours = mutated(submitted(theirs), kinds).object
    assert ours is not None
    # A creationTimestamp is null there, if present at all, and policies cannot tell null from absent.
    assert ours["metadata"].keys() == theirs["metadata"].keys() - {"creationTimestamp"}
    assert ours.get("status") == theirs.get("status")


@each_row("request_", *created("validate"))
def test_a_new_object_has_what_the_server_sets(request_: dict[str, Any]) -> None:
    theirs = request_["object"]
    release = 30 if theirs["apiVersion"].endswith("v1alpha2") or not theirs["metadata"].get("generation") else 36
    ours = created_as(submitted(theirs), release)
    assert ours["metadata"].keys() == theirs["metadata"].keys()
    assert ours["metadata"].get("generation") == theirs["metadata"].get("generation")
    assert ours.get("status") == theirs.get("status")


def verdict(obj: dict[str, Any] | None, expression: str, old: Any = None, **rule: Any) -> bool:
    rules = [ANYTHING | {"resources": ["*/*"]} | rule]
    return evaluate(obj, old, policies=load(validating(expression, rules=rules))).allowed


@each_row(
    "expression",
    "has(object.metadata.uid) && object.metadata.uid != ''",
    "has(object.metadata.creationTimestamp)",
    "object.metadata.managedFields.all(each, each.operation == 'Update')",
    "request.name == 'c'",
    "!has(object.metadata.generation)",
    "object.?status.?allocation.hasValue() == false",
)
def test_policies_see_a_new_claim_as_in_a_cluster(expression: str) -> None:
    assert verdict(CLAIM, expression)
    assert not verdict(CLAIM, f"!({expression})")


def test_a_name_is_generated_before_validating_policies_are_evaluated_and_generations_are_counted() -> None:
    prefixed = CLAIM | {"metadata": {"generateName": "c-", "namespace": "default"}}
    assert verdict(prefixed, "request.name.startsWith('c-') && object.metadata.name == request.name")
    assert verdict(of("Gadget", version="example.com/v1", spec={}), "object.metadata.generation == 1")


@each_row(
    ("resources", "qos"),
    ({}, "BestEffort"),
    ({"claims": [{"name": "gpu"}]}, "BestEffort"),
    ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
    ({"limits": {"cpu": "1"}}, "Burstable"),
    ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Mi"}}, "Burstable"),
)
def test_a_new_pod_is_pending(resources: dict[str, Any], qos: str) -> None:
    pod = copy.deepcopy(POD)
    pod["spec"]["containers"][0]["resources"] = resources
    assert verdict(pod, f"object.status.phase == 'Pending' && object.status.qosClass == '{qos}'")


def test_a_status_that_a_client_sends_is_seen_by_no_validating_policy_and_what_the_server_sets_is_kept() -> None:
    claim = CLAIM | {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}}
    assert verdict(claim, "!has(object.status.reservedFor)")
    assert verdict(claim, "!has(object.status.reservedFor)", old=CLAIM)
    stored = copy.deepcopy(CLAIM)
    stored["metadata"] |= {"uid": "u-1", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
    expression = "object.metadata.uid == 'u-1' && oldObject.metadata.resourceVersion == '7'"
    assert verdict(CLAIM, expression, old=stored)
    assert verdict(CLAIM, "object.metadata.uid == oldObject.metadata.uid", old=CLAIM)
    assert verdict(None, "has(oldObject.metadata.uid)", old=CLAIM, operations=["DELETE"])


def test_mutating_policies_see_what_was_sent_and_nothing_of_the_rest_is_shown() -> None:
    label = "Object{metadata: Object.metadata{labels: {'new': string(!has(object.metadata.uid))}}}"
    assert changed(label) == CLAIM | {"metadata": CLAIM["metadata"] | {"labels": {"new": "true"}}}


def changed(expression: str, obj: dict[str, Any] = CLAIM, old: dict[str, Any] | None = None) -> Any:
    """Return an object, changed by a mutation."""
    done = evaluate(obj, old, policies=load(mutating("m", expression, matchConstraints=EVERYWHERE)))
    assert done.allowed, done.message
    return done.object


TEST = "JSONPatch{op: 'test', path: '%s', value: %s}, JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}"
LABELLED = CLAIM | {"metadata": CLAIM["metadata"] | {"labels": {"a": "b"}}}


def test_mutating_policies_see_who_manages_fields_an_empty_status_and_of_an_update_what_is_stored() -> None:
    assert changed(f"[{TEST % ('/metadata/managedFields/0/operation', repr('Update'))}]") == LABELLED
    assert changed(f"[{TEST % ('/status', '{}')}]") == LABELLED
    assert changed(f"[{TEST % ('/status', repr('other'))}]") == CLAIM
    stored = CLAIM | {
        "metadata": CLAIM["metadata"] | {"uid": "u-1"},
        "status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]},
    }
    assert changed(f"[{TEST % ('/metadata/uid', repr('u-1'))}]", old=stored) == LABELLED
    assert changed(f"[{TEST % ('/status', '{}')}]", old=stored) == CLAIM


@each_row("path", "/metadata/managedFields/0/manager", "/metadata/managedFields/0/subresource")
def test_who_manages_fields_is_never_shown(path: str) -> None:
    change = "[JSONPatch{op: 'add', path: '%s', value: 'me'}]" % path  # noqa: UP031 - braces are CEL's
    assert changed(change) == CLAIM
    stated = CLAIM | {"metadata": CLAIM["metadata"] | {"managedFields": [{"manager": "m", "operation": "Apply"}]}}
    assert changed(change, stated) == stated


def test_what_a_plugin_adds_comes_back_after_a_policy_has_taken_it_away() -> None:
    gone = "[JSONPatch{op: 'remove', path: '/spec/tolerations'}]"
    asks = validating("object.spec.tolerations.size() == 2", matchConstraints=EVERYWHERE)
    made = mutating("m", gone, matchConstraints=EVERYWHERE)
    assert evaluate(POD, policies=load([*made, *asks])).allowed


@each_row_beside("api_version", "kind", "is_counted")
def test_generations_are_counted_for_some_kinds(api_version: str, kind: str, *, is_counted: bool) -> None:
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "generation": 7}}
    kinds = Kinds(Release(36))
    made = before_validation(request_of(obj, kinds=kinds), kinds).object
    assert made
    assert made["metadata"]["generation"] == (1 if is_counted else 7)


@each_row(
    ("version", "kind", "label"),
    ("v1", "Pod", "new"),
    ("resource.k8s.io/v1", "ResourceClaim", "old"),
    ("apps/v1", "Deployment", "old"),
    ("apps/v1", "DaemonSet", "new"),
    ("example.com/v1", "Widget", "old"),
)
def test_an_update_of_the_status_changes_no_metadata(version: str, kind: str, label: str) -> None:
    kinds = Kinds(Release(36))
    old, new = of(kind, "a", version, spec={"a": 1}, status={"old": 1}), of(kind, "a", version, status={"new": 1})
    old["metadata"] |= {"labels": {"app": "old"}}
    new["metadata"] |= {"labels": {"app": "new"}, "annotations": {}}
    request = before_mutation(request_of(new, old, kinds=kinds, subresource="status"), kinds)
    assert request.object is not None
    assert request.object["metadata"]["labels"] == {"app": "new"}
    seen = before_validation(request, kinds).object
    assert seen is not None
    assert (seen["metadata"]["labels"], seen["spec"], seen["status"]) == ({"app": label}, {"a": 1}, {"new": 1})


def seen(api_version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of a new object as validating policies see it."""
    found = created_as(of(kind, "n", api_version, spec=spec))
    return {**found["spec"], "uid": found["metadata"]["uid"]}


@each_row(
    ("given", "found"),
    (None, ["kubernetes"]),
    (["kubernetes", "example.com/a"], ["kubernetes", "example.com/a"]),
    (["example.com/a"], ["example.com/a", "kubernetes"]),
)
def test_a_namespace_has_a_finalizer(given: Any, found: list[str]) -> None:
    assert seen("v1", "Namespace", {"finalizers": given})["finalizers"] == found


IP, IP6 = "10.96.0.10", "fd00:10:96::a"


@each_row(
    ("spec", "policy_", "families", "addresses"),
    ({}, "SingleStack", ["IPv4"], [IP]),
    ({"clusterIP": "10.0.0.1"}, "SingleStack", ["IPv4"], ["10.0.0.1"]),
    ({"clusterIPs": ["fd00::1"]}, "SingleStack", ["IPv6"], ["fd00::1"]),
    ({"ipFamilies": ["IPv6"]}, "SingleStack", ["IPv6"], [IP6]),
    ({"ipFamilyPolicy": "PreferDualStack"}, "PreferDualStack", ["IPv4"], [IP]),
    ({"clusterIP": "None", "selector": {"a": "b"}}, "SingleStack", ["IPv4"], ["None"]),
    ({"clusterIP": "None"}, "RequireDualStack", ["IPv4", "IPv6"], ["None"]),
    ({"clusterIP": "None", "ipFamilies": ["IPv6"]}, "RequireDualStack", ["IPv6", "IPv4"], ["None"]),
    ({"type": "ExternalName"}, None, None, None),
)
def test_a_service_is_allocated_addresses(spec: dict[str, Any], policy_: Any, families: Any, addresses: Any) -> None:
    found = seen("v1", "Service", {"ports": [{"port": 80}]} | spec)
    fields = ("ipFamilyPolicy", "ipFamilies", "clusterIPs", "clusterIP")
    assert [found.get(name) for name in fields] == [policy_, families, addresses, addresses and addresses[0]]


@each_row(
    ("spec", "ports"),
    ({}, [None, 31000]),
    ({"type": "NodePort"}, [30000, 31000]),
    ({"type": "LoadBalancer"}, [30000, 31000]),
    ({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, [None, 31000]),
)
def test_a_service_is_allocated_ports_of_nodes(spec: dict[str, Any], ports: list[Any]) -> None:
    found = seen("v1", "Service", spec | {"ports": [{"port": 80}, {"port": 81, "nodePort": 31000}]})
    assert [each.get("nodePort") for each in found["ports"]] == ports


def test_a_job_selects_its_pods() -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": POD["spec"]}
    found = seen("batch/v1", "Job", {"template": template})
    of_job = {"batch.kubernetes.io/job-name": "n", "job-name": "n"}
    of_uid = dict.fromkeys(["batch.kubernetes.io/controller-uid", "controller-uid"], found["uid"])
    assert found["template"]["metadata"]["labels"] == {"app": "a", **of_job, **of_uid}
    assert found["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": found["uid"]}}
    manual = {"manualSelector": True, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    found = seen("batch/v1", "Job", manual)
    assert (found["selector"], found["template"]["metadata"]["labels"]) == (manual["selector"], {"app": "a"})
