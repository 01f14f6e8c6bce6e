"""Pods as reference rules see them: a workload's pod has its namespace and refers to it."""

from __future__ import annotations

from typing import Any, Final

from webhook.objects import JSONObject, mapping, number, text

CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


def pod_view(owner: JSONObject, template: JSONObject, namespace: str = "", pods: int | None = None) -> JSONObject:
    """Return a pod of a workload.

    Args:
        owner: The workload, or the pod itself.
        template: Its pod template, or the pod itself.
        namespace: Its namespace; empty for its stated one.
        pods: How many such pods the workload makes; None for what its fields say.

    Returns:
        The pod, with an ``owner`` that has the workload's kind and labels, and ``pods``: their number at a time, or,
        with one for each node, their place.
    """
    metadata = {"name": text(owner, "metadata", "name"), **mapping(template, "metadata")}
    metadata["namespace"] = namespace or text(owner, "metadata", "namespace") or "default"
    about = {"kind": text(owner, "kind"), "labels": mapping(owner, "metadata", "labels"), "pods": pods}
    if pods is None:
        about["pods"] = 1 if owner is template else _pods(owner)
    return {**template, "kind": "Pod", "metadata": metadata, "owner": about}


def _pods(owner: JSONObject) -> Any:
    if owner.get("kind") == "DaemonSet":
        return "of all nodes"
    spec = mapping(owner, "spec")
    spec = mapping(spec, "jobTemplate", "spec") if owner.get("kind") == "CronJob" else spec
    count = number(spec, "replicas")
    return number(spec, "parallelism") if count is None else count
