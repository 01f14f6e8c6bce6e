"""Changes that release claims, with the pods that use them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from webhook.inventory.claims import allocation_of, results_of
from webhook.objects import JSONObject, at, full_name_of, items, namespace_of
from webhook.simulation.binding import CONSUMERS_MAX
from webhook.simulation.changes.change import Change, in_claim, same
from webhook.simulation.cluster import Cluster
from webhook.simulation.holders import COPY, holder, pods_of, used_by
from webhook.simulation.rejections import Group
from webhook.simulation.verdicts import Needs
from webhook.simulation.workloads import owners_of

_RELEASED_MAX: Final = 6
"""The number of claims whose release is tried, each alone."""
_LEFT: Final = frozenset({"consumer"})
_RELEASED: Final = _LEFT | {"devices"}
"""What releases do to a claim: the release for all pods does more than that for one."""


def changes(cluster: Cluster, needs: Needs, groups: Sequence[Group]) -> Iterator[Change]:
    """Return the changes that release claims, with the pods that use them.

    Args:
        needs: The needs of the pod; its own claims may be in use by others, on other nodes.
    """
    own = {
        full_name_of(claim): index
        for index, (claim, consumer) in enumerate(zip(needs.claims, needs.consumers, strict=False))
        if allocation_of(claim) and len(items(claim, "status", "reservedFor")) > consumer.has(claim)
    }
    for name, index in own.items():
        if len(items(needs.claims[index], "status", "reservedFor")) >= CONSUMERS_MAX:
            what = f"once one of the {CONSUMERS_MAX} pods of claim {name} is gone"
            yield Change(
                what,
                3,
                f"claim {name}",
                in_claim(index, lambda claim: claim["status"]["reservedFor"].pop(0)),
                parts=_LEFT,
            )
    held = {one["claim"]: one["devices"] for g in groups for request in g.requests for one in request["heldBy"]}
    nodes = {node for g in groups if g.resolvable for node in g.nodes}
    claims = cluster.inventory.all("ResourceClaim") if nodes else ()
    on = dict.fromkeys(full_name_of(each) for each in claims if not cluster.nodes_of(each).isdisjoint(nodes))
    for name, claim in islice(_releasable(cluster, (*own, *held), on, needs.pod), _RELEASED_MAX):
        is_same, count = _is_of_same(cluster, claim, needs.pod), len(results_of(claim))
        size = f" with {count} devices" if count > 1 else ""
        by = ", by fewer replicas" if is_same else ""
        what = f"once claim {name}{size} is released{used_by(holder(cluster, name, 0))}{by}"
        edit = in_claim(own[name], lambda claim: claim.update(status={})) if name in own else same
        yield Change(what, 5 if is_same else 4, f"claim {name}", edit, released=claim, parts=_RELEASED)


def _releasable(
    cluster: Cluster, wanted: Collection[str], on: Iterable[str], pod: JSONObject
) -> Iterator[tuple[str, JSONObject]]:
    """Return the claims with devices, but for those of copies of a pod.

    Args:
        wanted: The claims whose devices the pod wants; other pods of its workload would take them in its place.
        on: The claims of pods on nodes that lack room for it.
    """
    for name in dict.fromkeys((*wanted, *on)):
        claim = cluster.claim(name)
        if (
            claim is None
            or not allocation_of(claim)
            or _is_of_gang(cluster, claim, pod)
            or holder(cluster, name, 0)["state"] == COPY
        ):
            continue
        if name not in wanted or not _is_of_same(cluster, claim, pod):
            yield name, claim


def _is_of_same(cluster: Cluster, claim: JSONObject, pod: JSONObject) -> bool:
    """Tell whether another pod of the same workload uses a claim, which makes that pod again."""
    owners, namespace = set(owners_of(pod)), namespace_of(claim)
    pods = (cluster.inventory.find("Pod", name, namespace) or {} for name in pods_of(claim))
    return any(not owners.isdisjoint(owners_of(each)) for each in pods)


def _is_of_gang(cluster: Cluster, claim: JSONObject, pod: JSONObject) -> bool:
    """Tell whether a pod uses a claim that is scheduled together with another, so that its release helps neither."""
    group, namespace = at(pod, "spec", "schedulingGroup"), namespace_of(claim)
    pods = (cluster.inventory.find("Pod", name, namespace) or {} for name in pods_of(claim))
    return (
        bool(group)
        and namespace == namespace_of(pod)
        and any(at(each, "spec", "schedulingGroup") == group for each in pods)
    )
