"""Changes to what a pod demands of its node: tolerations, node selectors, smaller requests; nodes that recover."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from itertools import chain
from typing import Final

from webhook.engine.prescheduled import REQUIRED
from webhook.inventory.affinity import nodes_named_by, wants
from webhook.inventory.resources import CPU, NATIVE, amounts, container_requests, is_extended, requests
from webhook.objects import JSONObject, items, mapping, text
from webhook.simulation.changes import Change, demanding, these
from webhook.simulation.changes import cluster as of_cluster
from webhook.simulation.cluster import (
    NODE_STATES,
    Cluster,
    Demand,
    NodeState,
    Taint,
    Tolerations,
    amount_text,
    once_recovered,
)
from webhook.simulation.rejections import Group
from webhook.simulation.scheduler import Needs
from webhook.spelling import nearest

_SETS_MAX: Final = 8
"""How many sets of taints are tolerated, each alone."""
_AMOUNTS_MAX: Final = 4
"""How many smaller amounts of a resource are tried."""
_MEBI: Final = 1024 * 1024


def changes(cluster: Cluster, needs: Needs, groups: Sequence[Group]) -> Iterator[Change]:
    """Return the changes to what a pod demands of its node, extended resources among it, but for its claims."""
    demand, nodes = needs.demand, cluster.nodes[: of_cluster.NODES_MAX]
    taken = {cluster.index[node]: group.taken for group in groups for node in group.nodes if group.taken}
    yield from _renamed(cluster, needs)
    yield from _counted(cluster, needs, groups)
    yield from _of_selection(demand, nodes, cluster.index)
    yield from _of_taints(demand, nodes)
    for name, wanted in demand.requests.items():
        # No smaller amount helps with a resource that no node has.
        if not cluster.extended.has(name) and any(name in each.allocatable for each in nodes):
            left = [
                None if (most := each.left(name)) is None else most - taken.get(index, {}).get(name, 0)
                for index, each in enumerate(nodes)
            ]
            yield from _of_resource(demand, name, wanted, left)


def _of_selection(demand: Demand, nodes: Sequence[NodeState], known: Container[str]) -> Iterator[Change]:
    spec = demand.spec
    if all(wants(spec, each.node) for each in nodes):
        return
    if selector := mapping(spec, "nodeSelector"):
        for written, meant, better in _respelt(selector, [mapping(each.node, "metadata", "labels") for each in nodes]):
            what = f"with nodeSelector {meant} in place of {written}"
            yield Change(what, 0, "nodeSelector", demanding(spec={**spec, "nodeSelector": better}))
        without = {key: value for key, value in spec.items() if key != "nodeSelector"}
        yield Change("without the pod's nodeSelector", 2, "nodeSelector", demanding(spec=without))
    terms = items(mapping(spec, *REQUIRED), "nodeSelectorTerms")
    # A term may be for certain nodes, such as that of a DaemonSet's pod; it stays if at least one of them exists.
    named = [(each, nodes_named_by(each)) for each in terms if items(each, "matchFields")]
    exists = [each for each, names in named if names is None or any(name in known for name in names)]
    if len(exists) < len(terms) or any(items(each, "matchExpressions") for each in terms):
        affinity = {key: value for key, value in mapping(spec, "affinity").items() if key != "nodeAffinity"}
        if exists:
            kept = [{"matchFields": each["matchFields"]} for each in exists]
            affinity["nodeAffinity"] = {REQUIRED[-1]: {"nodeSelectorTerms": kept}}
        changed = demanding(spec={**spec, "affinity": affinity})
        yield Change("without the pod's node affinity", 2, "affinity", changed)


def _respelt(selector: JSONObject, labels: Sequence[JSONObject]) -> Iterator[tuple[str, str, JSONObject]]:
    """Correct a key or value that no node has; return both labels as written, and the selector with the better one."""
    keys = [each for each in dict.fromkeys(chain(*labels)) if each not in selector]  # no other label gives way
    for key, value in selector.items():
        values = {str(each[key]) for each in labels if key in each}
        if value in values:
            continue
        meant = (key, nearest(str(value), values)) if values else (nearest(key, keys), value)
        if all(meant):
            better = {each: other for each, other in selector.items() if each != key} | dict([meant])
            yield f"{key}: {value}", ": ".join(map(str, meant)), better


def _of_taints(demand: Demand, nodes: Sequence[NodeState]) -> Iterator[Change]:
    """Tolerate exactly the taints of a node; taints that reflect the node's state have to go instead."""
    states: dict[frozenset[Taint], list[int]] = {}
    for index, node in enumerate(nodes):
        if untolerated := node.untolerated(demand.tolerations):
            states.setdefault(frozenset(untolerated), []).append(index)
    for taints, places in sorted(states.items(), key=lambda each: (len(each[0]), -len(each[1])))[:_SETS_MAX]:
        ordered = sorted(taints)
        to_tolerate = [str(each) for each in ordered if each.key not in NODE_STATES]
        parts = [f"if the pod tolerates {' and '.join(to_tolerate)}"] if to_tolerate else []
        if to_recover := [each.key for each in ordered if each.key in NODE_STATES]:
            parts.append(once_recovered(dict.fromkeys(to_recover), [nodes[each].name for each in places]))
        tolerated = demanding(tolerations=Tolerations([*demand.tolerations, *(each.toleration for each in ordered)]))
        only = frozenset(places) if to_recover else None
        yield Change(" and ".join(parts), 4 if to_recover else 2, "taints", tolerated, nodes=only)


def _of_resource(demand: Demand, name: str, wanted: int, left: Sequence[int | None]) -> Iterator[Change]:
    """Lower a request to the amounts left on nodes that fit otherwise."""
    if all(each is None or wanted <= each for each in left):
        return

    def requesting(amount: int) -> Change:
        what = f"with {name} {amount_text(name, amount)} in place of {amount_text(name, wanted)}"
        return Change(what, 2, name, demanding(requests={**demand.requests, name: amount}))

    def closer(fitting: Collection[int]) -> Iterable[Change]:
        amounts = {left[each] or 0 for each in fitting}
        if name in NATIVE and name != CPU:  # to numbers of bytes that people write
            amounts = {each - each % _MEBI if each > _MEBI else each for each in amounts}
        return map(requesting, sorted((each for each in amounts if 0 < each < wanted), reverse=True)[:_AMOUNTS_MAX])

    rest = {key: value for key, value in demand.requests.items() if key != name}
    yield Change(f"with no {name} requested", 3, name, demanding(requests=rest), closer=closer)


# -- extended resources that devices provide


def _renamed(cluster: Cluster, needs: Needs) -> Iterator[Change]:
    """Correct the names of resources that neither classes nor nodes provide."""
    wanted = [name for name in needs.demand.requests if is_extended(name) and not cluster.extended.has(name)]
    known = {*cluster.extended.classes, *(name for node in cluster.nodes if wanted for name in node.allocatable)}
    for name in wanted:
        if name not in known and (meant := nearest(name, known)):
            edit = _in_containers(name, "", partial(_renaming, name, meant))
            yield Change(f"with {meant} in place of {name}", 0, name, edit)


def _counted(cluster: Cluster, needs: Needs, groups: Sequence[Group]) -> Iterator[Change]:
    """Lower the counts of containers to those that some node could provide."""
    had = {each["together"] or each["enough"] for group in groups for each in group.requests}
    for name in filter(cluster.extended.has, needs.demand.requests):
        containers = _containers_requesting(needs.pod, name)
        for each in containers:
            wanted, container = amounts(container_requests(each))[name], text(each, "name")
            if wanted > 1:
                where = "" if len(containers) == 1 else f" in container {container}"
                least, *closer = [
                    Change(
                        f"with {name} {count} in place of {wanted}{where}",
                        2,
                        f"{name} of {container}",
                        _in_containers(name, container, partial(_setting, name, count)),
                    )
                    for count in (1, *sorted({n for n in (*had, wanted - 1) if 1 < n < wanted}, reverse=True))
                ]
                yield least._replace(closer=these(closer))


def _renaming(name: str, meant: str, stated: JSONObject) -> JSONObject:
    return {meant if key == name else key: each for key, each in stated.items()}


def _setting(name: str, count: int, stated: JSONObject) -> JSONObject:
    return {**stated, name: str(count)}


def _in_containers(
    resource: str, container: str, change: Callable[[JSONObject], JSONObject]
) -> Callable[[Needs], Needs]:
    """Return a function that changes the requests and limits of containers.

    Args:
        resource: The resource that the containers request.
        container: The only container to change; empty for all.
    """

    def edit(needs: Needs) -> Needs:
        pod = deepcopy(needs.pod)
        for each in _containers_requesting(pod, resource):
            if container in {"", text(each, "name")}:
                resources = each["resources"]
                fields = ("requests", "limits") if container else resources.keys() & {"requests", "limits"}
                resources |= {field: change(mapping(resources, field)) for field in fields}
        return needs._replace(pod=pod, demand=needs.demand._replace(requests=requests(pod)))

    return edit


def _containers_requesting(pod: JSONObject, resource: str) -> list[JSONObject]:
    """Return the containers that want a resource."""
    containers = (*items(pod, "spec", "initContainers"), *items(pod, "spec", "containers"))
    return [each for each in containers if resource in container_requests(each)]
