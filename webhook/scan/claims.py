"""Rules about claims that keep devices from others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from webhook.api.versions import VERSIONS
from webhook.hints.names import listed
from webhook.inventory.claims import CLAIM_NAME, POD_GROUP, allocation_of, consumers, devices_of, is_pod
from webhook.inventory.resources import ANNOTATION
from webhook.objects import JSONObject, items, mapping, name_of, namespace_of, text, texts
from webhook.problem import NOTE, WARNING
from webhook.scan.rules import Found, command, rule
from webhook.scan.stored import Cluster, once
from webhook.simulation.binding import CONSUMERS_MAX

_RESERVED_MANY: Final = 230
_DELETING: Final = 600
"""How many seconds the deletion of a claim may take."""

STUCK, ORPHANED, GONE, UNUSED, ENDED = "stuck", "orphaned", "gone", "unused", "ended"
"""What can be wrong with a claim; if several hold, the first counts."""


def state_of(claim: JSONObject, cluster: Cluster) -> str:
    """Return what is wrong with a stored claim, empty if it is in order, or if the cluster's pods are not known."""
    return _states(cluster).get(id(claim), "")


@once
def _states(cluster: Cluster) -> Mapping[int, str]:
    found = ((id(each), _state_of(each, cluster)) for each in cluster.all("ResourceClaim"))
    return {claim: state for claim, state in found if state}


def _state_of(claim: JSONObject, cluster: Cluster) -> str:
    if not cluster.inventory.knows("Pod") or cluster.running(claim) or _of_other_kinds(claim, cluster):
        return ""
    if deleted := text(claim, "metadata", "deletionTimestamp"):
        is_kept = bool(texts(mapping(claim, "metadata"), "finalizers"))
        return STUCK if is_kept and cluster.is_older(deleted, _DELETING) else ""
    pods = [pod for _, pod in consumers(claim, cluster.inventory)]
    is_named = bool(cluster.users(claim))
    if not is_named and _is_orphaned(claim, cluster):
        return ORPHANED
    state = GONE if None in pods else ENDED if pods else "" if is_named else UNUSED
    return state if allocation_of(claim) else ""


def _of_other_kinds(claim: JSONObject, cluster: Cluster) -> bool:
    """Tell whether a claim is reserved for anything but pods that may still be there."""
    others = [each for each in items(claim, "status", "reservedFor") if not is_pod(each)]
    knows_groups = cluster.inventory.knows("PodGroup")
    return any(
        text(each, "resource") != POD_GROUP
        or not knows_groups
        or cluster.inventory.find("PodGroup", text(each, "name"), namespace_of(claim))
        for each in others
    )


def _is_orphaned(claim: JSONObject, cluster: Cluster) -> bool:
    """Tell whether a claim was made for a pod that is gone."""
    owners = [each for each in items(claim, "metadata", "ownerReferences") if text(each, "kind") == "Pod"]
    if owners:
        return not any(cluster.inventory.referred("Pod", each, namespace_of(claim)) for each in owners)
    annotations = mapping(claim, "metadata", "annotations")
    return not items(claim, "metadata", "ownerReferences") and (CLAIM_NAME in annotations or ANNOTATION in annotations)


def _devices(claim: JSONObject) -> str:
    held = listed(devices_of(claim))
    return f"; it holds {held}" if held else ""


def _in_state(cluster: Cluster, state: str) -> Iterator[JSONObject]:
    for claim in cluster.all("ResourceClaim"):
        if state_of(claim, cluster) == state:
            yield claim


@rule("claim-deletion-stuck")
def claim_deletion_stuck(cluster: Cluster) -> Iterator[Found]:
    """A claim is being deleted, and a finalizer keeps it although no pod that runs uses it.

    Its devices stay allocated. The controller that removes the finalizer does not run, or its request is refused: a
    claim that was created with spaces in its opaque parameters refuses JSON patches, even of its finalizers, as the
    server compares parameters by their bytes.
    """
    for claim in _in_state(cluster, STUCK):
        kept = ", ".join(texts(mapping(claim, "metadata"), "finalizers"))
        message = (
            f"being deleted since {text(claim, 'metadata', 'deletionTimestamp')}, and kept by its finalizer {kept}, "
            f"though no pod that runs uses it{_devices(claim)}"
        )
        patch = command(cluster, "patch", claim, """--type merge -p '{"metadata":{"finalizers":null}}'""")
        yield Found(claim, message, f"{patch} lets it go", ("metadata", "finalizers"))


@rule("claim-orphaned")
def claim_orphaned(cluster: Cluster) -> Iterator[Found]:
    """A claim was generated for a pod that does not exist any more.

    The garbage collector deletes claims with their pods. It leaves a claim whose owner references were removed, or that
    it cannot delete.
    """
    for claim in _in_state(cluster, ORPHANED):
        owner = next((text(each, "name") for each in items(claim, "metadata", "ownerReferences")), "")
        what = f"pod {owner}, which is gone" if owner else "a pod, and has no owner any more: the pod is gone"
        message = f"generated for {what}{_devices(claim)}"
        yield Found(claim, message, f"{command(cluster, 'delete', claim)} releases it", ("metadata", "ownerReferences"))


@rule("claim-zombie")
def claim_zombie(cluster: Cluster) -> Iterator[Found]:
    """A claim is allocated, and the pods that it is reserved for are gone, or there are none.

    Its devices are kept from other pods. Usually the controller for claims removes pods that are gone, and deallocates.
    """
    patch = """--subresource status --type merge -p '{"status":{"allocation":null,"reservedFor":null}}'"""
    for claim in cluster.all("ResourceClaim"):
        state = state_of(claim, cluster)
        if state not in {GONE, UNUSED}:
            continue
        gone = listed(text(entry, "name") for entry, pod in consumers(claim, cluster.inventory) if pod is None)
        message = f"reserved for pod {gone}, which is gone" if gone else "allocated, and no pod uses it"
        hint = f"{command(cluster, 'patch', claim, patch)} releases its devices, once nothing on the node uses them"
        yield Found(claim, message + _devices(claim), hint, ("status", "reservedFor" if gone else "allocation"))


@rule("claim-after-completion")
def claim_after_completion(cluster: Cluster) -> Iterator[Found]:
    """A claim is held by pods that have ended: they succeeded, failed or were evicted.

    The controller for claims removes such pods from the claim. Until then, its devices are kept from other pods.
    """
    for claim in _in_state(cluster, ENDED):
        pods = [pod for _, pod in consumers(claim, cluster.inventory) if pod]
        why = {text(pod, "status", "reason") or text(pod, "status", "phase") for pod in pods}
        names = listed(map(name_of, pods))
        message = f"held by pod {names}, which has ended ({', '.join(sorted(why))}){_devices(claim)}"
        hint = f"{command(cluster, 'delete', pods[0])} releases it, unless the controller for claims does"
        yield Found(claim, message, hint, ("status", "reservedFor"))


@rule("reserved-near-limit", NOTE)
def reserved_near_limit(cluster: Cluster) -> Iterator[Found]:
    """A claim is reserved for nearly 256 pods, the limit.

    The next pods cannot be bound, and stay pending.
    """
    for claim in cluster.all("ResourceClaim"):
        if (many := len(items(claim, "status", "reservedFor"))) >= _RESERVED_MANY:
            is_full = many >= CONSUMERS_MAX
            message = f"reserved for {many} pods, and the limit is {CONSUMERS_MAX}"
            hint = "spread the pods over several claims"
            yield Found(claim, message, hint, ("status", "reservedFor"), WARNING if is_full else "")


@rule("version-going", NOTE)
def version_going(cluster: Cluster) -> Iterator[Found]:
    """An object is written in a version of resource.k8s.io that the next releases no longer serve.

    What writes it, such as ``kubectl apply``, a chart or a driver, is refused after the upgrade. ``draguard convert``
    converts manifests; drivers have to be updated.
    """
    together: dict[tuple[str, str, str], list[JSONObject]] = defaultdict(list)
    for (kind, namespace, name), writers in cluster.written_as.items():
        obj = cluster.inventory.find(kind, name, namespace)
        for version, manager in sorted(writers) if obj else ():
            served = VERSIONS[version].kinds.get(kind) if version in VERSIONS else None
            if obj and served and served.deprecation:
                writer = text(obj, "spec", "driver") if kind == "ResourceSlice" else f"{kind}/{namespace}/{name}"
                together[version, manager, writer].append(obj)
    for (version, manager, _), objects in together.items():
        obj = objects[0]
        served = VERSIONS[version].kinds[obj["kind"]]
        until = served.deprecation and served.deprecation.removed
        more = f", as are {len(objects) - 1} others" if objects[1:] else ""
        message = f"written as {version} by {manager}{more}: Kubernetes 1.{until} no longer serves that version"
        is_slice = obj["kind"] == "ResourceSlice"
        hint = "update the driver" if is_slice else "apply it as resource.k8s.io/v1 (draguard convert writes it)"
        yield Found(obj, message, hint)
