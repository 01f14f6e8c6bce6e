"""Changes that release claims, with the pods that use them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from webhook.inventory.claims import allocation_of, results_of
from webhook.objects import JSONObject, at, full_name_of, items, namespace_of
from webhook.simulation.binding import CONSUMERS_MAX
from webhook.simulation.changes import Change, in_claim, same
from webhook.simulation.cluster import Cluster
from webhook.simulation.holders import COPY, holder, used_by
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
    on = [full_name_of(each) for each in claims if not cluster.nodes_of(each).isdisjoint(nodes)]
    yield from islice(_released(cluster, needs.pod, own, {**own, **held}, on), _RELEASED_MAX)


def _released(
    cluster: Cluster, pod: JSONObject, own: Mapping[str, int], wanted: Collection[str], on: Iterable[str]
) -> Iterator[Change]:
    """Release claims with devices, but for those of copies of a pod, and of pods that are scheduled together with it.

    Args:
        own: The places of the pod's own claims.
        wanted: The claims whose devices the pod wants; other pods of its workload would take them in its place.
        on: The claims of pods on nodes that lack room for it.
    """
    owners, group = set(owners_of(pod)), at(pod, "spec", "schedulingGroup")
    for name in dict.fromkeys((*wanted, *on)):
        claim, using = cluster.claim(name), holder(cluster, name, 0)
        if claim is None or not allocation_of(claim) or using["state"] == COPY:
            continue
        namespace = namespace_of(claim)
        pods = [cluster.inventory.find("Pod", each, namespace) or {} for each in using["pods"]]
        is_same = any(not owners.isdisjoint(owners_of(each)) for each in pods)
        is_of_gang = bool(group) and any(at(each, "spec", "schedulingGroup") == group for each in pods)
        if (is_same and name in wanted) or (is_of_gang and namespace == namespace_of(pod)):
            continue
        count = len(results_of(claim))
        size = f" with {count} devices" if count > 1 else ""
        by = ", by fewer replicas" if is_same else ""
        what = f"once claim {name}{size} is released{used_by(using)}{by}"
        edit = in_claim(own[name], lambda claim: claim.update(status={})) if name in own else same
        yield Change(what, 5 if is_same else 4, f"claim {name}", edit, released=claim, parts=_RELEASED)
