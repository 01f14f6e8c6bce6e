"""The defaults that the API server sets in objects before policies see them, and those in the output."""

import time
from time import process_time
from typing import Any

from tests.policy.examples import CLAIM, EVERYWHERE, POD, evaluate, mutating, of, validating
from tests.rows import each_row, each_row_beside
from tests.structured import resource_slice
from webhook.api.versions import release_of
from webhook.policy.change.defaults import stated
from webhook.policy.evaluation.policyset import decoded
from webhook.policy.load import load
from webhook.policy.manifest.kinds import Kinds


def with_defaults(obj: dict[str, Any]) -> dict[str, Any]:
    return decoded(obj, Kinds())


def test_a_new_pod_is_completed_by_what_it_does_not_state() -> None:
    expected = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "enableServiceLinks": True}
    assert (expected | {"schedulerName": "default-scheduler"}).items() <= with_defaults(POD)["spec"].items()
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}
    containers = [{"name": "c", "image": "i", "resources": resources}]
    spec = with_defaults(POD | {"spec": {"restartPolicy": "Never", "containers": containers}})["spec"]
    assert spec["restartPolicy"] == "Never"
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}


def test_what_follows_from_no_template_or_image_is_as_in_the_api_server() -> None:
    workload = of("Deployment", version="apps/v1", spec={})
    assert with_defaults(workload)["status"] == {}
    assert with_defaults(workload | {"status": {"replicas": 1}})["status"] == {"replicas": 1}
    images = [{"name": "c", "image": {"reference": "r/m:latest"}}, {"name": "d", "image": {"reference": "r/m:1"}}]
    volumes = [{"name": "a"}, {"name": "b", "hostPath": None}, *images]
    seen = with_defaults(POD | {"spec": {"volumes": volumes}})["spec"]["volumes"]
    assert seen[:2] == [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}]
    assert [each["image"]["pullPolicy"] for each in seen[2:]] == ["Always", "IfNotPresent"]


def test_quantities_and_times_are_written_as_the_api_server_does() -> None:
    limits = {"cpu": "0.5", "memory": "1024Ki", "example.com/a": "1000", "example.com/b": "many"}
    pod = POD | {
        "metadata": {"name": "p", "creationTimestamp": "2024-01-02T03:04:05.6+05:30"},
        "spec": {"containers": [{"name": "c", "resources": {"limits": limits, "requests": {"cpu": 0.1}}}]},
    }
    seen = with_defaults(pod)
    resources = seen["spec"]["containers"][0]["resources"]
    assert resources["limits"] == {"cpu": "500m", "memory": "1Mi", "example.com/a": "1k", "example.com/b": "many"}
    assert resources["requests"]["cpu"] == "100m"
    assert seen["metadata"]["creationTimestamp"] == "2024-01-01T21:34:05Z"
    late = pod | {"metadata": {"creationTimestamp": "9999-12-31T23:59:59-01:00"}}
    assert with_defaults(late)["metadata"] == late["metadata"]
    del limits["example.com/b"]  # the API server refuses it
    shown = ever_changed(pod, "{op: 'add', path: '/spec/dnsPolicy', value: 'None'}")
    assert shown["spec"]["containers"] == pod["spec"]["containers"]


def test_pods_in_the_hosts_network_have_its_ports() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 82}]
    spec = {"hostNetwork": True, "containers": [{"name": "c", "ports": ports}, {"name": "d"}]}
    seen = with_defaults(POD | {"spec": spec})["spec"]["containers"]
    assert [each["hostPort"] for each in seen[0]["ports"]] == [80, 82]
    other = with_defaults(POD | {"spec": spec | {"hostNetwork": False}})["spec"]["containers"]
    assert [each.get("hostPort") for each in other[0]["ports"]] == [None, 82]


def test_the_metadata_of_unknown_kinds_has_no_empty_fields_and_all_else_stays() -> None:
    other: dict[str, Any] = {"apiVersion": "example.com/v1", "kind": "Quota", "spec": {"labels": {}}, "most": None}
    metadata: dict[str, Any] = {"name": "q", "labels": {}, "creationTimestamp": None}
    assert with_defaults(other | {"metadata": metadata}) == other | {"metadata": {"name": "q"}}
    other = {"apiVersion": "example.com/v1", "kind": "Quota"}
    assert with_defaults(other) is other


@each_row_beside("image", "pull")
def test_images_are_pulled_by_their_tag(image: str, pull: str) -> None:
    pod = POD | {"spec": {"containers": [{"name": "c", "image": image}]}}
    assert with_defaults(pod)["spec"]["containers"][0]["imagePullPolicy"] == pull


def exactly(**fields: Any) -> dict[str, Any]:
    claim = CLAIM | {"spec": {"devices": {"requests": [{"name": "a", "exactly": fields}]}}}
    found: dict[str, Any] = with_defaults(claim)["spec"]["devices"]["requests"][0]["exactly"]
    return found


def test_requests_ask_for_one_device_but_with_alternatives_of_v1beta1_for_none() -> None:
    assert exactly(deviceClassName="c") == {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}
    assert exactly(deviceClassName="c", allocationMode="All") == {"deviceClassName": "c", "allocationMode": "All"}
    assert exactly(deviceClassName="c", count=3)["count"] == 3
    request = {"name": "a", "firstAvailable": [{"name": "b", "deviceClassName": "c"}]}
    claim = CLAIM | {"apiVersion": "resource.k8s.io/v1beta1", "spec": {"devices": {"requests": [request]}}}
    (completed,) = with_defaults(claim)["spec"]["devices"]["requests"]
    assert "count" not in completed
    assert completed["firstAvailable"][0]["count"] == 1


def test_what_go_leaves_out_policies_do_not_see() -> None:
    empty = {"hostNetwork": False, "nodeName": "", "nodeSelector": {}, "priority": 0, "hostUsers": False, "os": None}
    container = {"name": "", "image": "i", "stdin": False, "env": [{"name": "E", "value": ""}], "args": []}
    pod = POD | {"spec": empty | {"containers": [container]}}
    spec = with_defaults(pod)["spec"]
    assert {"hostNetwork", "nodeName", "nodeSelector", "os"}.isdisjoint(spec)
    assert (spec["priority"], spec["hostUsers"]) == (0, False)
    assert spec["containers"][0]["env"] == [{"name": "E"}]
    assert spec["containers"][0]["name"] == ""
    assert {"stdin", "args"}.isdisjoint(spec["containers"][0])
    assert with_defaults(POD | {"spec": {"containers": []}})["spec"]["containers"] == []
    patch = "{op: 'add', path: '/spec/dnsPolicy', value: 'None'}"
    assert ever_changed(pod, patch) == pod | {"spec": pod["spec"] | {"dnsPolicy": "None"}}


@each_row("version", "v1", "v1beta1", "v1beta2")
def test_a_claim_without_requests_has_null(version: str) -> None:
    claim = CLAIM | {"apiVersion": f"resource.k8s.io/{version}"}
    empty: list[dict[str, Any]] = [{}, {"devices": {}}, {"devices": {"requests": []}}]
    seen = [with_defaults(claim | {"spec": spec})["spec"] for spec in empty]
    assert [each["devices"] for each in seen] == [{"requests": None}, {"requests": None}, {"requests": []}]
    null = "has(object.spec.devices.requests) && object.spec.devices.requests == null"
    assert verdict(claim | {"spec": {}}, null).allowed


def ever_changed(obj: dict[str, Any], *patches: str) -> Any:
    return changed_by(obj, f"[{', '.join(f'JSONPatch{each}' for each in patches)}]").object


def changed_by(obj: dict[str, Any], mutation: str, *given: Any) -> Any:
    return evaluate(obj, policies=load([*mutating("m", mutation, matchConstraints=EVERYWHERE), *given]))


def changed(patch: str) -> Any:
    return ever_changed(POD, patch)["spec"]


@each_row_beside("patch", "shown")
def test_changes_are_shown_stated(patch: str, shown: dict[str, Any]) -> None:
    assert changed(patch) == POD["spec"] | shown


SECRET, SERVICE = of("Secret", "s"), of("Service", "s")


@each_row_beside("patch", "expected")
def test_changed_texts_of_a_secret_are_in_its_data(patch: str, expected: dict[str, Any]) -> None:
    secret = SECRET | {"stringData": {"a": "1", "c": "2"}}
    assert ever_changed(secret, patch) == SECRET | expected


def test_an_item_without_a_name_is_shown_with_its_changes_alone() -> None:
    service = SERVICE | {"spec": {"ports": [{"port": 80}, {"port": 81}]}}
    ports = ever_changed(service, "{op: 'add', path: '/spec/ports/1/nodePort', value: 30080}")["spec"]["ports"]
    assert ports == [{"port": 80}, {"port": 81, "nodePort": 30080}]
    ports = ever_changed(service, "{op: 'add', path: '/spec/ports/0', value: {'port': 79}}")["spec"]["ports"]
    assert ports == [{"port": 79}, {"port": 80}, {"port": 81}]
    kept = "{op: 'replace', path: '/spec/tolerations/0/tolerationSeconds', value: 9}"
    assert changed(kept)["tolerations"] == [
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9}
    ]


def test_changes_are_shown_as_they_follow_or_as_they_are() -> None:
    limits = "{'limits': {'memory': '1024Mi'}}"
    known = changed(f"{{op: 'add', path: '/spec/containers/0/resources', value: {limits}}}")["containers"][0]
    assert known["resources"] == {"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi"}}
    sidecar = f"{{'name': dyn('z'), 'resources': dyn({limits})}}"
    added = changed(f"{{op: 'add', path: '/spec/containers/-', value: {sidecar}}}")["containers"][1]
    assert added == {"name": "z", "resources": {"limits": {"memory": "1Gi"}}}
    assert stated({"a": 1}, [1], [1], {"a": 1}) == {"a": 1}
    assert stated([{"b": 1}], [{"b": 2}], [{"b": 2}], [{"b": 1}]) == [{"b": 1}]


def test_an_object_of_a_namespace_has_that_of_its_request() -> None:
    homeless = POD | {"metadata": {"name": "p", "labels": {"app": "a"}}}
    patch = "[JSONPatch{op: 'add', path: '/metadata/labels/in', value: object.metadata.namespace}]"
    policies = load(mutating("m", patch))
    labels = {"app": "a", "in": "team"}
    assert evaluate(homeless, policies=policies, namespace="team").object["metadata"] == {"name": "p", "labels": labels}
    stated = homeless | {"metadata": homeless["metadata"] | {"namespace": "team"}}
    assert evaluate(stated, policies=policies).object["metadata"] == stated["metadata"] | {"labels": labels}
    here = load(validating("oldObject.metadata.namespace == 'team'"))
    for new in (homeless, None):
        assert evaluate(new, homeless, policies=here, namespace="team").allowed
    for kind in ("Node", "Namespace"):
        assert verdict(of(kind), "!has(object.metadata.namespace)").allowed


def test_items_of_a_long_list_are_found_at_once() -> None:
    items = [{"value": number} for number in range(5000)]
    longer = [{"new": True}, *items]
    started = time.process_time()
    assert stated(longer, items, items, longer) == longer
    assert time.process_time() - started < 1


def test_what_go_writes_even_if_empty_is_there() -> None:
    pool = with_defaults(resource_slice({}, pool={"name": "p", "generation": 0}))["spec"]
    assert pool["pool"] == {"name": "p", "generation": 0, "resourceSliceCount": 0}
    assert pool["devices"] == [{"name": ""}]
    policy_ = {"value": "8Gi", "requestPolicy": {}}
    (device,) = with_defaults(resource_slice({"name": "a", "capacity": {"memory": policy_}}))["spec"]["devices"]
    assert device["capacity"]["memory"]["requestPolicy"] == {"default": None}


@each_row_beside("api_version", "kind", "fields", "added")
def test_other_kinds_have_their_defaults(
    api_version: str, kind: str, fields: dict[str, Any], added: dict[str, Any]
) -> None:
    seen = with_defaults({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields})
    assert {name: seen[name] for name in added} == added
    assert "stringData" not in seen


CONTAINERS = [
    {"name": "a", "resources": {"requests": {"cpu": "250m", "example.com/a": "1"}, "limits": {"hugepages-2Mi": "2Mi"}}},
    {"name": "b", "resources": {"limits": {"cpu": "1"}}},
]


@each_row_beside("stated", "first", "limits", "requests")
def test_resources_of_a_whole_pod(stated: Any, first: Any, limits: Any, requests: Any) -> None:
    spec = {"resources": stated, "containers": CONTAINERS, "initContainers": first}
    resources = with_defaults(POD | {"spec": spec})["spec"]["resources"]
    assert (resources.get("limits"), resources.get("requests")) == (limits, requests)


@each_row(
    ("stated", "qos"),
    ({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "2"}}, "Guaranteed"),
    ({"limits": {"cpu": "2", "memory": "1Gi"}}, "Burstable"),
    ({}, "Burstable"),
)
def test_the_resources_of_a_whole_pod_decide_its_class(stated: Any, qos: str) -> None:
    spec = {"resources": stated, "containers": CONTAINERS}
    assert verdict(POD | {"spec": spec}, f"object.status.qosClass == '{qos}'").message == ""


@each_row_beside("api_version", "kind", "fields", "path", "value")
def test_a_field_has_its_default(api_version: str, kind: str, fields: dict[str, Any], path: str, value: Any) -> None:
    release = {"v1alpha2": 36, "v1alpha1": 31}.get(api_version.rpartition("/")[2], 37)
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}
    found: Any = decoded(obj, Kinds(release_of(f"1.{release}")))
    for step in path.split():
        found = found.get(step)
        found = found[0] if isinstance(found, list) and step != "storedVersions" else found
    assert found == value


@each_row(
    ("behavior", "up", "down"),
    (None, None, None), ({"scaleUp": {"stabilizationWindowSeconds": 9}}, 9, None), ({}, 0, None),
)  # fmt: skip
def test_an_autoscaler_has_a_metric_and_the_rules_of_its_behavior(behavior: Any, up: Any, down: Any) -> None:
    spec = {"maxReplicas": 3, "behavior": behavior}
    seen = with_defaults(of("HorizontalPodAutoscaler", version="autoscaling/v2", spec=spec))["spec"]
    assert (seen["minReplicas"], seen["metrics"][0]["resource"]["target"]["averageUtilization"]) == (1, 80)
    assert ("behavior" in seen) is (behavior is not None)
    rules = seen.get("behavior", {"scaleUp": {}, "scaleDown": {}})
    found = [rules[way].get("stabilizationWindowSeconds") for way in ("scaleUp", "scaleDown")]
    assert found == [up, down]


@each_row(("kind", "version"), ("Job", "batch/v1"), ("ReplicationController", "v1"))
def test_a_workload_has_the_labels_of_its_pods(kind: str, version: str) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": POD["spec"]}
    obj = of(kind, "w", version, spec={"template": template})
    assert with_defaults(obj)["metadata"]["labels"] == {"app": "a"}
    own = obj | {"metadata": {"name": "w", "labels": {"own": "b"}}}
    assert with_defaults(own)["metadata"]["labels"] == {"own": "b"}
    assert with_defaults(obj)["spec"].get("selector") == ({"app": "a"} if version == "v1" else None)
    stated = obj | {"spec": obj["spec"] | {"selector": {"tier": "x"}}}
    assert with_defaults(stated)["spec"]["selector"] == {"tier": "x"}


PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
MOUNTED = f"c.volumeMounts.exists_one(m, m.mountPath == '{PATH}' && m.readOnly)"
NO_VOLUMES = "!has(object.spec.volumes) && object.spec.containers.all(c, !has(c.volumeMounts))"


def pod(**spec: Any) -> dict[str, Any]:
    return of("Pod", "p", spec={"containers": [{"name": "c", "image": "r/x:1"}], **spec})


def priority(name: str = "high", **fields: Any) -> dict[str, Any]:
    return of("PriorityClass", name, "scheduling.k8s.io/v1", value=1000, **fields)


def limits(kind: str = "Container", **fields: Any) -> dict[str, Any]:
    return of("LimitRange", spec={"limits": [{"type": kind, **fields}]})


def runtime(**fields: Any) -> dict[str, Any]:
    return of("RuntimeClass", "gvisor", "node.k8s.io/v1", handler="runsc", **fields)


def verdict(obj: dict[str, Any], expression: str, *given: Any, old: Any = None) -> Any:
    return evaluate(obj, old, policies=load([*validating(expression, matchConstraints=EVERYWHERE), *given]))


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


def test_new_nodes_are_not_ready_and_plugins_leave_mirror_pods_and_updates_alone() -> None:
    tainted = "has(object.spec) && object.spec.taints[0].key == 'node.kubernetes.io/not-ready'"
    assert verdict(of("Node"), tainted).allowed
    assert verdict(of("Node", spec={"taints": [{"key": "a"}]}), "object.spec.taints.size() == 2").allowed
    assert not verdict(of("Node"), tainted, old=of("Node")).allowed
    mirror = pod() | {"metadata": {"name": "p", "annotations": {"kubernetes.io/config.mirror": "x"}}}
    assert verdict(mirror, "!has(object.spec.volumes) && !has(object.spec.serviceAccountName)").allowed
    assert verdict(pod(), NO_VOLUMES, old=pod(**TOKEN_OFF)).allowed
    stored = pod(volumes=[{"name": "kube-api-access-12345"}], priority=7)
    kept = "object.spec.volumes[0].name == 'kube-api-access-12345' && object.spec.priority == 7"
    assert verdict(stored, kept, old=stored).allowed


SIDECAR = "[JSONPatch{op: 'add', path: '/spec/containers/-', value: {'name': 's', 'image': 'r/s:1'}}]"


def test_plugins_complete_what_policies_add_and_the_output_shows_what_they_change_elsewhere() -> None:
    expression = f"object.spec.containers.size() == 2 && object.spec.containers.all(c, {MOUNTED})"
    asking = validating(expression, matchConstraints=EVERYWHERE)
    found = changed_by(pod(), SIDECAR, *asking, limits(default={"cpu": "1"}))
    assert found.allowed
    note = "LimitRanger plugin set: cpu request for container s; cpu limit for container s"
    assert found.object["metadata"] == pod()["metadata"] | {"annotations": {"kubernetes.io/limit-ranger": note}}
    assert found.object["spec"]["containers"] == [*pod()["spec"]["containers"], {"name": "s", "image": "r/s:1"}]


CHANGE = "[JSONPatch{{op: 'add', path: '/spec/{}', value: {}}}]"
BIG = "ITS{name: 'c', resources: ITS.resources{limits: {'cpu': '9'}}}".replace("ITS", "Object.spec.containers")


MANY = f"Object{{spec: Object.spec{{containers: [{BIG}]}}}}"
OVERHEAD = runtime(overhead={"podFixed": {"cpu": "1"}})


@each_row(
    ("spec", "mutation", "given", "message"),
    ({}, CHANGE.format("priorityClassName", "'high'"), priority(), "value of priority (0) must not be provided"),
    ({"runtimeClassName": "gvisor"}, CHANGE.format("overhead", "{'cpu': '9'}"), OVERHEAD,
     "Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
    ({}, MANY, limits(max={"cpu": "4"}), "maximum cpu usage per Container is 4, but limit is 9"),
)  # fmt: skip
def test_plugins_refuse_what_policies_make_of_a_pod(spec: Any, mutation: str, given: Any, message: str) -> None:
    assert message in changed_by(pod(**spec), mutation, given).message


def test_many_tolerations_are_merged_in_bounded_time() -> None:
    many = [{"key": f"k{number}", "operator": "Exists"} for number in range(5_000)]
    given = runtime(scheduling={"tolerations": [{"operator": "Exists"}]})
    started = process_time()
    found = verdict(pod(runtimeClassName="gvisor", tolerations=many), "object.spec.tolerations.size() > 5000", given)
    assert (found.allowed, process_time() - started < 2) == (True, True)
