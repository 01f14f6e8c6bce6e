"""The pods of workloads, named as the controllers name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from webhook.allocation.devices import Tolerations, blocking
from webhook.api.templates import pod_template
from webhook.api.versions import find
from webhook.engine.prescheduled import REQUIRED
from webhook.inventory import Inventory, MalformedError, controller_of, replicas_of
from webhook.inventory.affinity import wants
from webhook.inventory.claims import MADE, owner_reference
from webhook.objects import JSONObject, at, full_name_of, items, mapping, name_of, namespace_of, number, text
from webhook.simulation.cluster import UNSCHEDULABLE
from webhook.workloads.runtimes import Templates, is_template

_TOLERATED: Final = (
    {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/pid-pressure", "effect": "NoSchedule"},
    {"key": UNSCHEDULABLE.key, "effect": UNSCHEDULABLE.effect},
)
"""The taints that the pods of a DaemonSet tolerate."""
_OF_HOST_NETWORK: Final = ({"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"},)
"""The taints that they also tolerate if they use the host network."""


def is_workload(obj: JSONObject) -> bool:
    """Tell whether an object is a pod, or creates pods."""
    return pod_template(obj) is not None and obj.get("kind") != "PodTemplate"


def stand_ins(obj: JSONObject, templates: Templates) -> tuple[list[JSONObject], Sequence[str]]:
    """Return ReplicaSets that make the pods of another project's workload, and why there may be other pods.

    Args:
        templates: The runtimes and templates that it may use; they make no pods themselves.
    """
    if find(obj.get("apiVersion"), obj.get("kind")):
        return [], ()
    from webhook.workloads import pods_in  # most objects are of Kubernetes itself
    from webhook.workloads.nested import HOLDERS

    if is_template(obj) or obj.get("kind") in HOLDERS:
        return [], ()
    made = list(pods_in(templates.applied(obj)))
    workloads: list[JSONObject] = []
    for index, pods in enumerate(made):
        metadata = dict(pods.manifest["metadata"])
        if len(made) > 1:
            metadata["name"] += f"-{index}"
        spec = {"replicas": pods.number, "template": pods.manifest["template"]}
        workloads.append({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec})
    pod = "1 pod is" if (total := sum(each.number for each in made)) == 1 else f"{total:,} pods are"
    notes = [f"{pod} simulated: {each}" for each in dict.fromkeys(pods.unsure for pods in made) if each]
    none = (pods.place(("template", "spec")) for pods in made if not pods.number and not pods.unsure)
    notes += (f"no pods of {each} are simulated: their number is 0" for each in none)
    if not made and (missing := templates.missing(obj)):
        notes = [f"no pods are simulated: {missing} is not among the manifests"]
    return workloads, notes


def pods_of(obj: JSONObject, nodes: Sequence[JSONObject], running: Running | None = None) -> Iterator[JSONObject]:
    """Return an object that is a pod, or the pods that it creates; those that already run come as they are.

    Args:
        nodes: The nodes; a DaemonSet creates a pod for each node that its pods may run on.
        running: The pods that already have a node.

    Raises:
        MalformedError: The workload has no pod template.
    """
    one, running = sample(obj), running or Running()
    if one is None:
        return
    if one is obj:
        yield obj if text(obj, "spec", "nodeName") else running.named(obj) or obj
    elif text(obj, "kind") == "DaemonSet":
        placed = {text(each, "spec", "nodeName"): each for each in running.of(obj)}
        for node in nodes:
            if pod := placed.get(name_of(node)) or _of_daemon_set(one, obj, node):
                yield pod
    elif text(obj, "kind") == "StatefulSet":
        start = number(obj, "spec", "ordinals", "start") or 0
        for index in range(start, start + replicas_of(obj)):
            pod = _named(one, obj, str(index))
            yield running.named(pod) or pod
    else:
        count = replicas_of(obj)
        there = running.of(obj)[: max(count, 0)]
        yield from there
        for index in range(count - len(there)):
            yield _named(one, obj, MADE if count == 1 else f"{MADE}-{index}")


def distinct(pods: Iterable[JSONObject], notes: list[str]) -> Iterator[JSONObject]:
    """Return pods with different names: the API server refuses others, and makes up other random suffixes.

    Args:
        notes: Takes a note about each pod that is left out.
    """
    known = Counter[str]()
    for pod in pods:
        full_name, name = full_name_of(pod), name_of(pod)
        known[full_name] += 1
        if known[full_name] == 1 or not name:
            yield pod
        elif MADE in name:
            yield {**pod, "metadata": {**pod["metadata"], "name": f"{name}-{known[full_name]}"}}
        else:
            notes.append(f"Pod {full_name} is made twice: the API server refuses the second")


def sample(obj: JSONObject) -> JSONObject | None:
    """Return an object that is a pod, or a pod as it creates them; None if it creates none.

    Raises:
        MalformedError: The workload has no pod template.
    """
    steps = pod_template(obj)
    if not steps:
        return None if steps is None else obj
    template: Any = at(obj, *steps)
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        raise MalformedError(f"{text(obj, 'kind')} {name_of(obj)}: {'.'.join(steps)} is not a pod template with a spec")
    metadata = mapping(template, "metadata")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name_of(obj)}-{MADE}",
            "namespace": namespace_of(obj),
            "labels": mapping(metadata, "labels"),
            "annotations": mapping(metadata, "annotations"),
            "ownerReferences": [owner_reference(obj)],
        },
        "spec": template["spec"],
    }


def is_suspended(obj: JSONObject) -> bool:
    """Tell whether a workload, such as a Job or a CronJob, makes no pods until it is resumed."""
    fields = (("suspend",), ("jobTemplate", "spec", "suspend"), ("runPolicy", "suspend"))
    return any(at(obj, "spec", *field) is True for field in fields)


def _named(pod: JSONObject, owner: JSONObject, suffix: str) -> JSONObject:
    return {**pod, "metadata": {**pod["metadata"], "name": f"{name_of(owner)}-{suffix}"}, "spec": dict(pod["spec"])}


def is_for(spec: JSONObject, node: JSONObject) -> bool:
    """Tell whether a DaemonSet has a pod on a node.

    Follows ``pkg/controller/daemon/daemon_controller.go`` (predicates).
    """
    taints = blocking(items(node, "spec", "taints"))
    return wants(spec, node) and (not taints or all(map(Tolerations(_tolerations(spec)).cover, taints)))


def _tolerations(spec: JSONObject) -> list[JSONObject]:
    """Return the tolerations of a DaemonSet's pods (``util/daemonset_util.go``)."""
    tolerated = [*_TOLERATED, *(_OF_HOST_NETWORK if spec.get("hostNetwork") is True else ())]
    return [*items(spec, "tolerations"), *({**each, "operator": "Exists"} for each in tolerated)]


def _of_daemon_set(pod: JSONObject, owner: JSONObject, node: JSONObject) -> JSONObject | None:
    """Create a DaemonSet's pod for a node, as its controller does; None if it creates none there."""
    spec = pod["spec"]
    if not is_for(spec, node):
        return None
    name = {"key": "metadata.name", "operator": "In", "values": [name_of(node)]}
    required = {REQUIRED[-1]: {"nodeSelectorTerms": [{"matchFields": [name]}]}}
    around = mapping(spec, "affinity")
    affinity = {**around, "nodeAffinity": {**mapping(around, "nodeAffinity"), **required}}
    placed = _named(pod, owner, name_of(node))
    placed["spec"] |= {"affinity": affinity, "tolerations": _tolerations(spec)}
    return placed


_Key = tuple[str, str, str]


class Running:
    """Finds the pods of workloads among those that already have a node.

    Args:
        pods: The pods that have a node and have not ended.
    """

    def __init__(self, pods: Iterable[JSONObject] = ()) -> None:
        self._by_name: dict[str, JSONObject] = {}
        self._by_owner: dict[_Key, list[JSONObject]] = {}
        for pod in pods:
            self._by_name[full_name_of(pod)] = pod
            if not at(pod, "metadata", "deletionTimestamp"):  # its controller makes another pod in its place
                for owner in owners_of(pod):
                    self._by_owner.setdefault(owner, []).append(pod)

    def named(self, pod: JSONObject) -> JSONObject | None:
        """Return the running pod of the same name; None if there is none."""
        return self._by_name.get(full_name_of(pod))

    def of(self, workload: JSONObject) -> list[JSONObject]:
        """Return the running pods of a workload."""
        return self._by_owner.get((namespace_of(workload), text(workload, "kind"), name_of(workload)), [])


def owners_of(pod: JSONObject) -> Iterator[_Key]:
    """Return the controller of a pod, and the controller of that one, which its name tells."""
    if not (owner := controller_of(pod)):
        return
    namespace, kind, name = namespace_of(pod), text(owner, "kind"), text(owner, "name")
    yield namespace, kind, name
    above, _, suffix = name.rpartition("-")
    if kind == "ReplicaSet" and suffix == text(pod, "metadata", "labels", "pod-template-hash"):
        yield namespace, "Deployment", above
    elif kind == "Job" and suffix.isdecimal():
        yield namespace, "CronJob", above


_SYSTEM: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def priority(pod: JSONObject, inventory: Inventory) -> int:
    """Return a pod's priority, by its number, its class, or the default class."""
    spec = pod.get("spec") or {}
    stated: int | None = spec.get("priority")
    if stated is not None:
        return stated
    if name := spec.get("priorityClassName"):
        named = inventory.find("PriorityClass", name)
        return _SYSTEM.get(name, 0) if named is None else number(named, "value") or 0
    defaults = [each for each in inventory.all("PriorityClass") if each.get("globalDefault") is True]
    # Of several it is the lowest (``plugin/pkg/admission/priority/admission.go``, getDefaultPriorityClass).
    return min((number(each, "value") or 0 for each in defaults), default=0)


def in_order(pods: Sequence[JSONObject], inventory: Inventory) -> list[int]:
    """Return the indexes of pods in scheduling order: by priority, then age, then the order given."""

    def rank(index: int) -> tuple[int, bool, str]:
        created = text(pods[index], "metadata", "creationTimestamp")
        return -priority(pods[index], inventory), not created, created

    return sorted(range(len(pods)), key=rank)
