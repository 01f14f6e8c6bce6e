"""Changes that open nodes to a pod: tolerations, node selectors, smaller requests, nodes that become ready."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from webhook.engine.prescheduled import REQUIRED
from webhook.inventory.resources import CPU, NATIVE
from webhook.objects import JSONObject, items, mapping
from webhook.simulation.affinity import Tolerations, named_by, wants
from webhook.simulation.changes.change import Change, demanding
from webhook.simulation.nodes import Demand, NodeState, amount_text
from webhook.simulation.taints import NODE_STATES, Taint, once_recovered, taint_of
from webhook.spelling import nearest

_SETS_MAX: Final = 8
"""How many sets of taints are tolerated, each alone."""
_AMOUNTS_MAX: Final = 4
"""How many smaller amounts of a resource are tried."""
_MEBI: Final = 1024 * 1024


def changes(
    demand: Demand,
    nodes: Sequence[NodeState],
    taken: Mapping[int, Mapping[str, int]],
    known: Container[str],
    is_delegated: Callable[[str], bool],
) -> Iterator[Change]:
    """Return the changes that let nodes accept a pod, its devices aside.

    Args:
        taken: The amounts that the pod's devices would take of some of them, by resource.
        is_delegated: Tells whether devices can provide an extended resource.
    """
    yield from _of_selection(demand, nodes, known)
    yield from _of_taints(demand, nodes)
    for name, wanted in demand.requests.items():
        # No smaller amount helps with a resource that no node has.
        if not is_delegated(name) and any(name in each.allocatable for each in nodes):
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
    kept = [{"matchFields": each["matchFields"]} for each in terms if _is_for_nodes(each, known)]
    if len(kept) < len(terms) or any(items(each, "matchExpressions") for each in terms):
        yield Change("without the pod's node affinity", 2, "affinity", demanding(spec=_with_terms(spec, kept)))


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


def _is_for_nodes(term: JSONObject, known: Container[str]) -> bool:
    """Tell whether a term is for certain nodes, such as that of a DaemonSet's pod, at least one of which exists."""
    names = named_by(term)
    return bool(items(term, "matchFields")) and (names is None or any(each in known for each in names))


def _with_terms(spec: JSONObject, terms: Sequence[JSONObject]) -> JSONObject:
    """Replace the node affinity of a pod by terms; remove it if there are none."""
    affinity = {key: value for key, value in mapping(spec, "affinity").items() if key != "nodeAffinity"}
    if terms:
        affinity["nodeAffinity"] = {REQUIRED[-1]: {"nodeSelectorTerms": list(terms)}}
    return {**spec, "affinity": affinity}


def _of_taints(demand: Demand, nodes: Sequence[NodeState]) -> Iterator[Change]:
    """Tolerate exactly the taints of a node; taints that reflect the node's state have to go instead."""
    states: dict[frozenset[Taint], list[int]] = {}
    for index, node in enumerate(nodes):
        if untolerated := node.untolerated(demand.tolerations):
            states.setdefault(frozenset(map(taint_of, untolerated)), []).append(index)
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
        amounts = {_round(name, left[each] or 0) for each in fitting}
        return map(requesting, sorted((each for each in amounts if 0 < each < wanted), reverse=True)[:_AMOUNTS_MAX])

    rest = {key: value for key, value in demand.requests.items() if key != name}
    yield Change(f"with no {name} requested", 3, name, demanding(requests=rest), closer=closer)


def _round(name: str, amount: int) -> int:
    """Round a large amount of bytes down to a number that people write."""
    return amount - amount % _MEBI if name in NATIVE and name != CPU and amount > _MEBI else amount
