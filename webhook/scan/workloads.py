"""Rules about pods and workloads whose claims cannot be there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.api.dra.names import NAMED_BY
from webhook.hints.names import instead, listed
from webhook.inventory import CLAIMS
from webhook.inventory.claims import allocation_of, claims_named, source
from webhook.objects import JSONObject, at, items, namespace_of, text
from webhook.scan.rules import Found, named, rule
from webhook.scan.stored import Cluster, makes_pods, template_of

_KINDS: Final = ("Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "ReplicaSet", "Pod")
"""The kinds that need claims; those that own others come first."""


@rule("reference-missing")
def reference_missing(cluster: Cluster) -> Iterator[Found]:
    """Pods need a claim or a template that their namespace does not have, so that they stay pending.

    Finished pods and workloads, and those without replicas, need nothing any more.
    """
    said: set[str] = set()
    for each in (one for kind in _KINDS for one in cluster.all(kind)):
        if not makes_pods(each) or at(each, "metadata", "deletionTimestamp"):
            continue
        owners = {text(owner, "uid") for owner in items(each, "metadata", "ownerReferences")}
        if owners & said:
            said.add(text(each, "metadata", "uid"))
            continue
        for path, message, hint in _missing(each, cluster):
            said.add(text(each, "metadata", "uid"))
            yield Found(each, message, hint, path)


def _missing(workload: JSONObject, cluster: Cluster) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield the claims and templates that a workload, or a pod, needs and that are not there."""
    namespace = namespace_of(workload)
    kinds: dict[str, tuple[str, ...]] = {"Pod": ("spec",), "CronJob": _IN_CRON_JOB}
    path: tuple[str | int, ...] = kinds.get(workload["kind"], ("spec", "template", "spec"))
    made = {text(each, "name"): each for each in items(workload, "status", "resourceClaimStatuses")}
    for index, entry in enumerate(items(template_of(workload), "resourceClaims")):
        here = (*path, "resourceClaims", index)
        status = made.get(text(entry, "name"))
        if status is not None:
            name = text(status, "resourceClaimName")
            if name and cluster.has_all_claims and not cluster.inventory.find("ResourceClaim", name, namespace):
                message = f"its ResourceClaim {namespace}/{name} does not exist any more: it was deleted"
                yield here, message, "delete the pod, so that its claim is made again"
            continue
        for kind in CLAIMS:
            name = source(entry, NAMED_BY[kind])
            is_known = kind != "ResourceClaim" or cluster.has_all_claims
            if not name or not is_known or cluster.inventory.find(kind, name, namespace):
                continue
            everywhere = list(cluster.inventory.names(kind))
            elsewhere = [space for space, one in everywhere if one == name]
            what = "claims" if kind == "ResourceClaim" else "claim templates"
            hint = instead(name, [one for space, one in everywhere if space == namespace], f"{what} of the namespace")
            if elsewhere:
                hint = f"namespace {listed(elsewhere)} has one; pods use those of their own namespace only"
            message = f'{kind} "{name}" does not exist in namespace {namespace}, so that pods stay pending'
            yield (*here, NAMED_BY[kind]), message, hint


_IN_CRON_JOB: Final = ("spec", "jobTemplate", "spec", "template", "spec")


@rule("pod-bypassed-scheduler")
def pod_bypassed_scheduler(cluster: Cluster) -> Iterator[Found]:
    """A pod has a node and waits for claims that are never allocated, because it bypassed the scheduler.

    Only the scheduler allocates devices, and it does not look at pods whose spec.nodeName is set when they are created.
    kubelet waits for the devices for ever. Use a node selector instead (``draguard mutate`` writes it).
    """
    said: set[str] = set()
    for pod in cluster.all("Pod"):
        claims = [cluster.inventory.find("ResourceClaim", name, namespace_of(pod)) for name in _waiting(pod)]
        left = [each for each in claims if each is not None and not allocation_of(each)]
        if not left:
            continue
        owner = [pod, *cluster.owners(pod)][-1]
        top = owner if text(template_of(owner), "nodeName") else pod
        if text(top, "metadata", "uid") in said:
            continue
        said.add(text(top, "metadata", "uid"))
        node = text(pod, "spec", "nodeName")
        message = (
            f"{'it names' if top is pod else 'its pods name'} node {node} in spec.nodeName, and so bypassed the "
            f"scheduler: {listed(map(named, left))} is not allocated, and never will be"
        )
        hint = "replace spec.nodeName by a nodeSelector (draguard mutate does it)"
        yield Found(top, message, hint, ("spec", "nodeName"))


def _waiting(pod: JSONObject) -> Iterator[str]:
    """Yield the claims of a pod that has a node and does not start there."""
    is_pending = text(pod, "status", "phase") == "Pending"
    if is_pending and text(pod, "spec", "nodeName") and not at(pod, "metadata", "deletionTimestamp"):
        yield from claims_named(pod)
