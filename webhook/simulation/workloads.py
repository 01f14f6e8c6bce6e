"""The pods of workloads, named as the controllers name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webhook.api.templates import pod_template
from webhook.inventory import MalformedError
from webhook.inventory.claims import MADE
from webhook.objects import at, items, mapping, name_of, namespace_of, number, text
from webhook.simulation.affinity import UNSCHEDULABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webhook.objects import JSONObject

_NUMBERED: Final = frozenset({"StatefulSet"})


def is_workload(obj: JSONObject) -> bool:
    """Tell whether an object is a pod, or makes some."""
    return pod_template(obj) is not None


def pods_of(obj: JSONObject, nodes: Sequence[str]) -> Iterator[JSONObject]:
    """Return the pods that an object is, or makes.

    Args:
        obj: A pod, or a workload with a pod template.
        nodes: The names of the nodes; a DaemonSet makes a pod for each.

    Raises:
        MalformedError: It has no pod template.
    """
    steps = pod_template(obj)
    if steps is None:
        return
    if not steps:
        yield obj
        return
    template: Any = at(obj, *steps)
    if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
        message = f"{text(obj, 'kind')} {name_of(obj)}: {'.'.join(steps)} is not a pod template with a spec"
        raise MalformedError(message)
    if text(obj, "kind") == "DaemonSet":
        for node in nodes:
            yield _pod(obj, template, MADE, node)
        return
    count = replicas_of(obj)
    for index in range(count):
        suffix = str(index) if text(obj, "kind") in _NUMBERED else MADE if count == 1 else f"{MADE}-{index}"
        yield _pod(obj, template, suffix)


def replicas_of(obj: JSONObject) -> int:
    """Return how many pods a workload runs at a time."""
    spec = mapping(obj, "spec")
    if text(obj, "kind") == "CronJob":
        spec = mapping(spec, "jobTemplate", "spec")
    parallelism = number(spec, "parallelism")
    if parallelism is not None:
        completions = number(spec, "completions")
        return parallelism if completions is None else min(parallelism, completions)
    replicas = number(spec, "replicas")
    return 1 if replicas is None else replicas


def _pod(owner: JSONObject, template: JSONObject, suffix: str, node: str | None = None) -> JSONObject:
    spec = dict(mapping(template, "spec"))
    if node is not None:
        spec = _on(spec, node)
    metadata = mapping(template, "metadata")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name_of(owner)}-{suffix}" if node is None else f"{name_of(owner)}-{node}",
            "namespace": namespace_of(owner),
            "labels": mapping(metadata, "labels"),
            "annotations": mapping(metadata, "annotations"),
        },
        "spec": spec,
    }


def _on(spec: JSONObject, node: str) -> JSONObject:
    """Make a DaemonSet's pod one for a node, as its controller does."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = dict(mapping(spec, "affinity"))
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    known = mapping(affinity, "nodeAffinity")
    terms = items(known, required, "nodeSelectorTerms")
    both = [{**each, **term} for each in terms] or [term]
    affinity["nodeAffinity"] = {**known, required: {"nodeSelectorTerms": both}}
    tolerations = [*items(spec, "tolerations"), {**UNSCHEDULABLE, "operator": "Exists"}]
    return {**spec, "affinity": affinity, "tolerations": tolerations}
