"""The claims that have devices, and the state of the pods that use them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from webhook.deviceselectors.fleet import shortened
from webhook.inventory import has_ended
from webhook.inventory.claims import allocation_of, consumers, is_pod, named
from webhook.objects import JSONObject, at, full_name_of, items, mapping, namespace_of, text
from webhook.simulation.binding import awaited
from webhook.simulation.cluster import Cluster
from webhook.simulation.nodes import selects

_NAMED_MAX: Final = 2
"""The number of pods of a claim that are named, and of its other consumers."""
FINISHED: Final = "finished"
TERMINATING: Final = "terminating"
GONE: Final = "not found"
COPY: Final = "counted here"
"""The state of pods that exist only to count how many fit."""
UNUSED: Final = "used by no pod"


def holder(cluster: Cluster, name: str, devices: int) -> JSONObject:
    """Describe a claim that has devices which a pod wants.

    Args:
        name: The claim, as namespace/name.
        devices: The number of such devices.
    """
    claim = cluster.claim(name)
    others = [named(each) for each in items(claim, "status", "reservedFor") if not is_pod(each)]
    state = "" if claim is None else _state(cluster, claim, others)
    return {"claim": name, "pods": pods_of(claim), "others": others, "state": state, "devices": devices}


def pods_of(claim: JSONObject | None) -> list[str]:
    """Return the pods that a claim is reserved for, by name."""
    return [text(each, "name") for each in items(claim, "status", "reservedFor") if is_pod(each)]


def used_by(held: JSONObject) -> str:
    """Write who uses a claim, such as ``(pod train-0, finished)``; empty if that is unknown.

    Args:
        held: The claim, as :func:`holder` describes it.
    """
    pods, others, state = _listed(held["pods"]), _listed(held["others"]), held["state"]
    said = ", ".join(filter(None, (pods and f"pod {pods}", state, others)))
    return f" ({said})" if said else ""


def _listed(names: list[str]) -> str:
    return ", ".join([*names[:_NAMED_MAX], *["…"][: max(len(names) - _NAMED_MAX, 0)]])


def _state(cluster: Cluster, claim: JSONObject, others: Sequence[str]) -> str:
    """Return why a claim may soon be released, or never is: the state of its pods, with names where these differ."""
    namespace = namespace_of(claim)
    found: defaultdict[str, list[str]] = defaultdict(list)
    for entry, pod in consumers(claim, cluster.inventory):
        name = text(entry, "name")
        found[_state_of(cluster, namespace, name, pod)].append(name)
    if not found and not others:
        return TERMINATING if at(claim, "metadata", "deletionTimestamp") else UNUSED
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{_listed(names)} {state}" for state, names in found.items() if state)


def _state_of(cluster: Cluster, namespace: str, name: str, pod: JSONObject | None) -> str:
    if (namespace, name) in cluster.copies:
        return COPY
    if pod is None:
        return GONE if namespace in cluster.namespaces_of_pods else ""
    if has_ended(pod):
        return FINISHED
    return TERMINATING if at(pod, "metadata", "deletionTimestamp") else ""


def elsewhere(cluster: Cluster, claim: JSONObject) -> str:
    """Explain why the devices of an allocated claim cannot be used on a node."""
    name = f"claim {full_name_of(claim)}"
    devices = awaited(claim, cluster.now) if cluster.waits else []
    if troubled := [each.text for each in devices if each.is_unavailable]:
        return f"{name}: {'; '.join(troubled)}"
    selector = mapping(allocation_of(claim), "nodeSelector")
    homes = [each.name for each in cluster.nodes if not selector or selects(selector, each.node)]
    held = used_by(holder(cluster, full_name_of(claim), 0))
    return f"{name}{held} has its devices on {shortened(homes) or 'no known node'}"
