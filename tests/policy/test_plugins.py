"""What admission plugins add to objects before policies are asked, and what they refuse."""

from __future__ import annotations

from time import process_time
from typing import Any

from tests.policy.examples import binding, mutating, policy
from tests.rows import each_row
from webhook.engine.offline import evaluate
from webhook.policy.load import load

EVERYWHERE = {"resourceRules": [{key: ["*"] for key in ("apiGroups", "apiVersions", "operations", "resources")}]}
PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
MOUNTED = f"c.volumeMounts.exists_one(m, m.mountPath == '{PATH}' && m.readOnly)"
NO_VOLUMES = "!has(object.spec.volumes) && object.spec.containers.all(c, !has(c.volumeMounts))"
ADDED = "object.spec.volumes.map(v, v.name.startsWith('kube-api-access-'))"


def pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "r/x:1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def of(kind: str, name: str = "x", version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def account(name: str = "quiet", **fields: Any) -> dict[str, Any]:
    return of("ServiceAccount", name, **fields)


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


MOUNT = {"name": "own", "mountPath": PATH}
TOKEN_OFF: dict[str, Any] = {"automountServiceAccountToken": False}
TOKEN_ON: dict[str, Any] = {"automountServiceAccountToken": True}
RESOURCES = "object.spec.containers[0].resources"
STORAGE, INGRESS = of("PersistentVolumeClaim", spec={}), of("Ingress", version="networking.k8s.io/v1", spec={})
OLD_CLASS = {"name": "a", "annotations": {"kubernetes.io/ingress.class": "nginx"}}
TOLERATED = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]
TOLERATED_FOR_A_WHILE = [
    {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
    {"key": "b", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
]
KEPT = [
    {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
    {"key": "a", "operator": "Exists", "effect": "NoSchedule"},
]


@each_row(
    ("obj", "given", "expression"),
    [
        (pod(), [], f"{ADDED} == [true] && object.spec.containers.all(c, {MOUNTED})"),
        (pod(), [], "object.spec.volumes[0].projected.defaultMode == 420"),
        (pod(initContainers=[{"name": "i"}]), [], f"object.spec.initContainers.all(c, {MOUNTED})"),
        (pod(volumes=[{"name": "a", "emptyDir": {}}]), [], f"{ADDED} == [false, true]"),
        (pod(containers=[{"name": "c", "volumeMounts": [MOUNT]}]), [], "!has(object.spec.volumes)"),
        (
            pod(containers=[{"name": "c", "volumeMounts": [MOUNT]}, {"name": "d"}]),
            [],
            f"{ADDED} == [true] && object.spec.containers.all(c, c.volumeMounts.size() == 1)",
        ),
        (pod(volumes=[{"name": "kube-api-access-1"}]), [], f"{ADDED} == [true]"),
        (pod(**TOKEN_OFF), [], NO_VOLUMES),
        (pod(serviceAccountName="quiet"), [account(**TOKEN_OFF)], NO_VOLUMES),
        (pod(serviceAccount="quiet"), [account(**TOKEN_OFF)], NO_VOLUMES),
        (pod(serviceAccountName="quiet", **TOKEN_ON), [account(**TOKEN_OFF)], f"{ADDED} == [true]"),
        (pod(), [account("default", **TOKEN_OFF)], NO_VOLUMES),
        (
            pod(),
            [account("default", imagePullSecrets=[{"name": "pull"}])],
            "object.spec.imagePullSecrets[0].name == 'pull'",
        ),
        (
            pod(imagePullSecrets=[{"name": "own"}]),
            [account("default", imagePullSecrets=[{"name": "pull"}])],
            "object.spec.imagePullSecrets.map(s, s.name) == ['own']",
        ),
        (pod(), [], "object.spec.serviceAccountName == 'default' && object.spec.serviceAccount == 'default'"),
        (pod(), [], "object.spec.priority == 0 && object.spec.preemptionPolicy == 'PreemptLowerPriority'"),
        (pod(priorityClassName="system-node-critical"), [priority()], "object.spec.priority == 2000001000"),
        (pod(priorityClassName="high"), [priority()], "object.spec.priority == 1000"),
        (pod(priorityClassName="high", priority=1000), [priority()], "object.spec.priority == 1000"),
        (pod(priorityClassName="unknown", priority=7), [], "object.spec.priority == 7"),
        (
            pod(),
            [priority(globalDefault=True, preemptionPolicy="Never")],
            "object.spec.priorityClassName == 'high' && object.spec.preemptionPolicy == 'Never'",
        ),
        (pod(), [], "object.spec.tolerations.size() == 2"),
        (pod(tolerations=[{"operator": "Exists"}]), [], "object.spec.tolerations.size() == 1"),
        (pod(tolerations=[{"operator": "Exists", "effect": "NoSchedule"}]), [], "object.spec.tolerations.size() == 3"),
        (pod(tolerations=TOLERATED), [], "object.spec.tolerations.size() == 2"),
        (
            pod(),
            [limits(default={"cpu": "2"})],
            (
                f"{RESOURCES}.limits.cpu == '2' && {RESOURCES}.requests.cpu == '2' && "
                "object.metadata.annotations['kubernetes.io/limit-ranger'] == "
                "'LimitRanger plugin set: cpu request for container c; cpu limit for container c'"
            ),
        ),
        (
            pod(initContainers=[{"name": "i"}]),
            [limits(max={"cpu": "0.5"}, min={"cpu": "100m", "memory": "1Mi"}, defaultRequest={"cpu": "200m"})],
            (
                "[object.spec.containers[0], object.spec.initContainers[0]].all(c, "
                "c.resources.limits == {'cpu': '500m'} && c.resources.requests == {'cpu': '200m', 'memory': '1Mi'})"
            ),
        ),
        (
            pod(runtimeClassName="gvisor", nodeSelector={"b": "2"}),
            [runtime(overhead={"podFixed": {"cpu": "0.25"}}, scheduling={"nodeSelector": {"a": "1"}})],
            "object.spec.overhead.cpu == '250m' && object.spec.nodeSelector == {'a': '1', 'b': '2'}",
        ),
        (
            pod(runtimeClassName="gvisor"),
            [runtime(scheduling={"tolerations": [{"key": "sandbox"}]})],
            "object.spec.tolerations[2].key == 'sandbox'",
        ),
        (
            pod(runtimeClassName="gvisor", tolerations=[{"key": "sandbox", "operator": "Equal", "value": "a"}]),
            [runtime(scheduling={"tolerations": [{"operator": "Exists"}, {"key": "z", "operator": "Exists"}]})],
            "object.spec.tolerations == [{'operator': 'Exists'}]",
        ),
        (
            pod(runtimeClassName="gvisor", tolerations=TOLERATED_FOR_A_WHILE),
            [runtime(scheduling={"tolerations": [{"key": "b", "operator": "Exists", "effect": "NoExecute"}, *KEPT]})],
            "object.spec.tolerations.map(t, t.key).filter(k, size(k) == 1) == ['a', 'b', 'a']",
        ),
        (STORAGE, [], "object.metadata.finalizers == ['kubernetes.io/pvc-protection']"),
        (
            of("VolumeAttributesClass", version="storage.k8s.io/v1", driverName="d"),
            [],
            "object.metadata.finalizers == ['kubernetes.io/vac-protection']",
        ),
        (
            of("PodGroup", version="scheduling.k8s.io/v1beta1", spec={}),
            [],
            "object.metadata.finalizers == ['scheduling.k8s.io/podgroup-protection']",
        ),
        (of("PersistentVolume", spec={}), [], "object.metadata.finalizers == ['kubernetes.io/pv-protection']"),
        (
            STORAGE,
            [
                default("StorageClass", "b", "storage", "2024-01-01T00:00:00Z"),
                default("StorageClass", "a", "storage", "2025-01-01T00:00:00Z"),
            ],
            "object.spec.storageClassName == 'a'",
        ),
        (STORAGE, [default("StorageClass", name, "storage") for name in "bac"], "object.spec.storageClassName == 'a'"),
        (
            STORAGE | {"spec": {"storageClassName": ""}},
            [default("StorageClass", "a", "storage")],
            "object.spec.storageClassName == ''",
        ),
        (INGRESS, [default("IngressClass", "a", "networking")], "object.spec.ingressClassName == 'a'"),
        (
            INGRESS | {"metadata": OLD_CLASS},
            [default("IngressClass", "a", "networking")],
            "!has(object.spec.ingressClassName)",
        ),
    ],
)
def test_policies_see_what_plugins_add(obj: dict[str, Any], given: list[Any], expression: str) -> None:
    assert verdict(obj, expression, *given).message == ""
    stored = f"({expression}) && object.spec == oldObject.spec" if obj["kind"] == "Pod" else expression
    assert verdict(obj, stored, *given, old=obj).message == ""


@each_row(
    ("obj", "given", "message"),
    [
        (pod(priorityClassName="nope"), [priority()], "no PriorityClass with name nope was found"),
        (
            pod(priority=5),
            [],
            (
                "the integer value of priority (5) must not be provided in pod spec; "
                "priority admission controller computed 0 from the given PriorityClass name"
            ),
        ),
        (
            pod(priorityClassName="high", preemptionPolicy="Never"),
            [priority()],
            (
                "the string value of PreemptionPolicy (Never) must not be provided in pod spec; "
                "priority admission controller computed PreemptLowerPriority from the given PriorityClass name"
            ),
        ),
        (
            pod(runtimeClassName="gvisor", overhead={"cpu": "1"}),
            [runtime(overhead={"podFixed": {"cpu": "2"}})],
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (
            pod(runtimeClassName="gvisor", nodeSelector={"a": "2"}),
            [runtime(scheduling={"nodeSelector": {"a": "1"}})],
            "conflict: runtimeClass.scheduling.nodeSelector[a] = 1; pod.spec.nodeSelector[a] = 2",
        ),
    ],
)
def test_plugins_refuse_before_policies_are_asked(obj: dict[str, Any], given: list[Any], message: str) -> None:
    found = verdict(obj, "false", *given)
    assert (found.code, found.message) == (403, f'pods "p" is forbidden: {message}')


def sized(*amounts: dict[str, dict[str, str]], first: Any = (), **spec: Any) -> dict[str, Any]:
    containers = [{"name": f"c{index}", "resources": each} for index, each in enumerate(amounts)]
    starting = [{"name": f"i{index}", **each} for index, each in enumerate(first)]
    return pod(containers=containers, initContainers=starting, **spec)


@each_row(
    ("spec", "given", "refusal"),
    [
        ({}, [], "set without corresponding RuntimeClass defined Overhead"),
        ({"runtimeClassName": "gvisor"}, [runtime()], "set without corresponding RuntimeClass defined Overhead"),
        ({"runtimeClassName": "gvisor"}, [runtime(overhead={"podFixed": {"cpu": "1000m"}})], ""),
        ({"runtimeClassName": "gvisor"}, [], ""),
    ],
)
def test_a_pod_has_the_overhead_of_its_runtime_class(spec: Any, given: list[Any], refusal: str) -> None:
    assert verdict(pod(overhead={"cpu": "1"}, **spec), "true", *given).message.endswith(refusal)
    assert verdict(pod(overhead={"cpu": "1"}, **spec), "true", *given).allowed == (not refusal)


def test_a_policy_cannot_change_the_overhead() -> None:
    more = "[JSONPatch{op: 'add', path: '/spec/overhead', value: {'cpu': '9'}}]"
    given = [pod(runtimeClassName="gvisor"), runtime(overhead={"podFixed": {"cpu": "1"}})]
    found = evaluate(given[0], policies=load([*mutating("m", more, matchConstraints=EVERYWHERE), given[1]]))
    assert found.message.endswith("Pod's Overhead doesn't match RuntimeClass's defined Overhead")


CPU = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}


@each_row(
    ("obj", "given", "message"),
    [
        (sized(CPU), limits(min={"cpu": "1500m"}), "minimum cpu usage per Container is 1500m, but request is 1"),
        (
            sized({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
            limits(min={"cpu": "1500m"}),
            "minimum cpu usage per Container is 1500m, but limit is 1",
        ),
        (sized(CPU), limits(max={"cpu": "1500m"}), "maximum cpu usage per Container is 1500m, but limit is 2"),
        (
            sized({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
            limits(max={"cpu": "1500m"}),
            "maximum cpu usage per Container is 1500m, but request is 2",
        ),
        (pod(), limits("Pod", min={"cpu": "1"}), "minimum cpu usage per Pod is 1.  No request is specified"),
        (pod(), limits("Pod", max={"cpu": "1"}), "maximum cpu usage per Pod is 1.  No limit is specified"),
        (sized(CPU, CPU), limits("Pod", max={"cpu": "3"}), "maximum cpu usage per Pod is 3, but limit is 4"),
        (
            sized(CPU, first=[{"resources": CPU, "restartPolicy": "Always"}, {"resources": CPU}]),
            limits("Pod", max={"cpu": "3"}),
            "maximum cpu usage per Pod is 3, but limit is 4",
        ),
        (
            sized(CPU, resources={"limits": {"cpu": "7"}}),
            limits("Pod", max={"cpu": "3"}),
            "maximum cpu usage per Pod is 3, but limit is 7",
        ),
        (
            sized(CPU),
            limits(maxLimitRequestRatio={"cpu": "1.5"}),
            "cpu max limit to request ratio per Container is 1500m, but provided ratio is 2.000000",
        ),
        (
            sized({"requests": {"cpu": "1"}, "limits": {"cpu": "1e999999999"}}),
            limits(maxLimitRequestRatio={"cpu": "2"}),
            "cpu max limit to request ratio per Container is 2, but provided ratio is 9223372036854775808.000000",
        ),
        (
            pod(),
            limits(maxLimitRequestRatio={"cpu": "2"}),
            "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
        ),
        (
            sized(CPU),
            limits(max={"cpu": "1"}, min={"memory": "1Mi"}, default={"memory": "512Ki"}),
            (
                "[minimum memory usage per Container is 1Mi, but request is 512Ki, "
                "maximum cpu usage per Container is 1, but limit is 2]"
            ),
        ),
    ],
)
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
