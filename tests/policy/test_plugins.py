"""What admission plugins add to objects before policies are asked, and what they refuse."""

from time import process_time
from typing import Any

from tests.policy.examples import binding, evaluate, mutating, policy
from tests.rows import each_row_beside
from webhook.policy.load import load

EVERYWHERE = {"resourceRules": [{key: ["*"] for key in ("apiGroups", "apiVersions", "operations", "resources")}]}
PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
MOUNTED = f"c.volumeMounts.exists_one(m, m.mountPath == '{PATH}' && m.readOnly)"
NO_VOLUMES = "!has(object.spec.volumes) && object.spec.containers.all(c, !has(c.volumeMounts))"


def pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "r/x:1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def of(kind: str, name: str = "x", version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def priority(name: str = "high", **fields: Any) -> dict[str, Any]:
    return of("PriorityClass", name, "scheduling.k8s.io/v1", value=1000, **fields)


def limits(kind: str = "Container", **fields: Any) -> dict[str, Any]:
    return of("LimitRange", spec={"limits": [{"type": kind, **fields}]})


def runtime(**fields: Any) -> dict[str, Any]:
    return of("RuntimeClass", "gvisor", "node.k8s.io/v1", handler="runsc", **fields)


def default(kind: str, name: str, group: str, created: str | None = None) -> dict[str, Any]:
    mark = f"{kind.lower()}.kubernetes.io/is-default-class"
    metadata = {"name": name, "annotations": {mark: "true"}, "creationTimestamp": created}
    return {"apiVersion": f"{group}.k8s.io/v1", "kind": kind, "metadata": metadata}


def verdict(obj: dict[str, Any], expression: str, *given: Any, old: Any = None) -> Any:
    asking = policy(matchConstraints=EVERYWHERE, validations=[{"expression": expression}])
    return evaluate(obj, old, policies=load([asking, binding(), *given]))


TOKEN_OFF: dict[str, Any] = {"automountServiceAccountToken": False}
STORAGE = of("PersistentVolumeClaim", spec={})


@each_row_beside("obj", "given", "expression")
def test_policies_see_what_plugins_add(obj: dict[str, Any], given: list[Any], expression: str) -> None:
    assert verdict(obj, expression, *given).message == ""
    stored = f"({expression}) && object.spec == oldObject.spec" if obj["kind"] == "Pod" else expression
    assert verdict(obj, stored, *given, old=obj).message == ""


@each_row_beside("obj", "given", "message")
def test_plugins_refuse_before_policies_are_asked(obj: dict[str, Any], given: list[Any], message: str) -> None:
    found = verdict(obj, "false", *given)
    assert (found.code, found.message) == (403, f'pods "p" is forbidden: {message}')


@each_row_beside("spec", "given", "refusal")
def test_a_pod_has_the_overhead_of_its_runtime_class(spec: Any, given: list[Any], refusal: str) -> None:
    assert verdict(pod(overhead={"cpu": "1"}, **spec), "true", *given).message.endswith(refusal)
    assert verdict(pod(overhead={"cpu": "1"}, **spec), "true", *given).allowed == (not refusal)


def test_a_policy_cannot_change_the_overhead() -> None:
    more = "[JSONPatch{op: 'add', path: '/spec/overhead', value: {'cpu': '9'}}]"
    given = [pod(runtimeClassName="gvisor"), runtime(overhead={"podFixed": {"cpu": "1"}})]
    found = evaluate(given[0], policies=load([*mutating("m", more, matchConstraints=EVERYWHERE), given[1]]))
    assert found.message.endswith("Pod's Overhead doesn't match RuntimeClass's defined Overhead")


@each_row_beside("obj", "given", "message")
def test_objects_beyond_limits_are_refused(obj: dict[str, Any], given: dict[str, Any], message: str) -> None:
    assert verdict(obj, "true", given).message == f'pods "p" is forbidden: {message}'
    assert verdict(obj, "true", given, old=obj).allowed
    assert verdict(obj, "true", given | {"metadata": {"name": "x", "namespace": "other"}}).allowed


def test_claims_of_volumes_have_limits() -> None:
    claim = STORAGE | {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    refusal = 'persistentvolumeclaims "x" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, but'
    beyond = limits("PersistentVolumeClaim", max={"storage": "1Gi"})
    assert verdict(claim, "true", beyond).message == f"{refusal} request is 2Gi"
    assert verdict(claim, "true", limits("PersistentVolumeClaim", max={"storage": "2Gi"}), limits("Pod")).allowed


def test_limits_apply_to_what_mutating_policies_have_made() -> None:
    more = "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', resources: Object.spec.containers."
    more += "resources{limits: {'cpu': '9'}}}]}}"
    change = mutating("m", more, matchConstraints=EVERYWHERE)
    found = evaluate(pod(), policies=load([*change, limits(max={"cpu": "4"})]))
    assert found.message.endswith("maximum cpu usage per Container is 4, but limit is 9")


def test_new_nodes_are_not_ready() -> None:
    tainted = "has(object.spec) && object.spec.taints[0].key == 'node.kubernetes.io/not-ready'"
    assert verdict(of("Node"), tainted).allowed
    assert verdict(of("Node", spec={"taints": [{"key": "a"}]}), "object.spec.taints.size() == 2").allowed
    assert not verdict(of("Node"), tainted, old=of("Node")).allowed


def test_mirror_pods_get_no_token() -> None:
    mirror = pod() | {"metadata": {"name": "p", "annotations": {"kubernetes.io/config.mirror": "x"}}}
    assert verdict(mirror, "!has(object.spec.volumes) && !has(object.spec.serviceAccountName)").allowed


def test_an_update_keeps_the_token_of_the_stored_pod() -> None:
    assert verdict(pod(), NO_VOLUMES, old=pod(**TOKEN_OFF)).allowed
    stored = pod(volumes=[{"name": "kube-api-access-12345"}], priority=7)
    kept = "object.spec.volumes[0].name == 'kube-api-access-12345' && object.spec.priority == 7"
    assert verdict(stored, kept, old=stored).allowed


SIDECAR = "[JSONPatch{op: 'add', path: '/spec/containers/-', value: {'name': 's', 'image': 'r/s:1'}}]"


def test_plugins_complete_what_policies_add_and_the_output_shows_what_they_change_elsewhere() -> None:
    asking = policy(
        matchConstraints=EVERYWHERE,
        validations=[{"expression": f"object.spec.containers.size() == 2 && object.spec.containers.all(c, {MOUNTED})"}],
    )
    change = mutating("m", SIDECAR, matchConstraints=EVERYWHERE)
    found = evaluate(pod(), policies=load([*change, asking, binding(), limits(default={"cpu": "1"})]))
    assert found.allowed
    note = "LimitRanger plugin set: cpu request for container s; cpu limit for container s"
    assert found.object["metadata"] == pod()["metadata"] | {"annotations": {"kubernetes.io/limit-ranger": note}}
    assert found.object["spec"]["containers"] == [*pod()["spec"]["containers"], {"name": "s", "image": "r/s:1"}]


def test_a_policy_cannot_name_a_priority_class_without_its_priority() -> None:
    named = "[JSONPatch{op: 'add', path: '/spec/priorityClassName', value: 'high'}]"
    found = evaluate(pod(), policies=load([*mutating("m", named, matchConstraints=EVERYWHERE), priority()]))
    assert "the integer value of priority (0) must not be provided" in found.message


def test_many_tolerations_are_merged_in_bounded_time() -> None:
    many = [{"key": f"k{number}", "operator": "Exists"} for number in range(5_000)]
    given = runtime(scheduling={"tolerations": [{"operator": "Exists"}]})
    started = process_time()
    found = verdict(pod(runtimeClassName="gvisor", tolerations=many), "object.spec.tolerations.size() > 5000", given)
    assert (found.allowed, process_time() - started < 2) == (True, True)
