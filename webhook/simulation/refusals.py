"""What the scheduler's reasons leave out: the taints and labels of nodes, and the amounts of their resources."""

from __future__ import annotations

from webhook.deviceselectors.fleet import shortened
from webhook.engine.prescheduled import REQUIRED
from webhook.inventory.affinity import unmatched
from webhook.inventory.resources import NATIVE, PODS
from webhook.objects import items, mapping, text
from webhook.simulation.affinity import requirement, selects
from webhook.simulation.nodes import INSUFFICIENT, TOO_MANY, UNSELECTED, amount_text
from webhook.simulation.taints import state_of, taint_of
from webhook.spelling import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Final

    from webhook.objects import JSONObject
    from webhook.simulation.nodes import Demand, NodeState, Refusal


_VALUES_MAX: Final = 4
"""The number of values of a label that are named."""


def taints(refusal: Refusal, node: NodeState, demand: Demand) -> tuple[str, ...]:
    """Describe the taints that make a node refuse a pod; nothing if it refuses the pod for another reason.

    Args:
        demand: The demands of the pod.
    """
    if not any("untolerated taint" in reason for reason in refusal.reasons):
        return ()
    return tuple(f"{taint}{state_of(taint.key)}" for taint in map(taint_of, node.untolerated(demand.tolerations)))


def labels(refusal: Refusal, nodes: Sequence[NodeState], demand: Demand) -> Iterator[str]:
    """Describe the labels of nodes that a pod's nodeSelector, or the only term of its node affinity, does not select.

    Args:
        refusal: The refusal of all nodes.
        demand: The demands of the pod.
    """
    if UNSELECTED not in refusal.reasons:
        return
    for key, wanted in mapping(demand.spec, "nodeSelector").items():
        selected = {"matchExpressions": [{"key": key, "operator": "In", "values": [wanted]}]}
        yield from _unselected(selected, key, f"nodeSelector {key}: {wanted}", nodes)
    if impossible := unmatched(demand.spec):
        yield from dict.fromkeys(f"node affinity: {each.reason}" for each in impossible)
        return
    terms = items(mapping(demand.spec, *REQUIRED), "nodeSelectorTerms")
    for each in items(terms[0], "matchExpressions") if len(terms) == 1 else ():
        wanted = f"node affinity {requirement(each)}"
        yield from _unselected({"matchExpressions": [each]}, text(each, "key"), wanted, nodes)


def absent(names: Collection[str], known: Iterable[str]) -> str:
    """Describe the nodes that a pod's node affinity names, none of which exists.

    Args:
        names: The names of these nodes.
        known: The names of all nodes.
    """
    if len(names) != 1:
        return f"its node affinity requires {shortened([*names])}, which do not exist"
    (name,) = names
    hint = did_you_mean(name, known)
    return f"its node affinity requires {name}, which does not exist{hint and f': {hint}'}"


def _unselected(term: JSONObject, key: str, wanted: str, nodes: Sequence[NodeState]) -> Iterator[str]:
    """Describe a label that keeps a term from selecting any node; nothing if it selects one."""
    if any(selects({"nodeSelectorTerms": [term]}, each.node) for each in nodes):
        return
    values = [mapping(each.node, "metadata", "labels").get(key) for each in nodes]
    known = sorted({str(each) for each in values if each is not None})
    more = f", … ({len(known)} values)" if len(known) > _VALUES_MAX else ""
    missing = " or not there" if None in values else ""
    if known:
        yield f"{wanted}, and the label is {', '.join(known[:_VALUES_MAX])}{more}{missing}"
        return
    hint = did_you_mean(key, sorted({name for each in nodes for name in mapping(each.node, "metadata", "labels")}))
    yield f"{wanted}, and the label is not there{hint and f': {hint}'}"


def is_full(refusal: Refusal) -> bool:
    """Tell whether a node refuses a pod only for a lack of cpu, memory, other resources or room for pods."""
    return all(reason == TOO_MANY or reason.startswith(INSUFFICIENT) for reason in refusal.reasons)


def shortages(
    refusal: Refusal, nodes: Sequence[NodeState], demand: Demand, shares: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    """Describe the amounts that are wanted, and free on the node that has the most.

    Args:
        refusal: The refusal of all nodes.
        demand: The demands of the pod, those of its devices included.
        shares: The part of them that the devices of each request take, by resource.
    """
    if TOO_MANY in refusal.reasons and not any(PODS in node.allocatable for node in nodes):
        yield _unstated(PODS)
    for name, wanted in demand.requests.items():
        if name in refusal.missing:
            free = [(max(0, node.left(name) or 0), node.allocatable.get(name, 0)) for node in nodes]
            most, whole = max(free)
            if name in NATIVE and not any(name in node.allocatable for node in nodes):
                yield _unstated(name)
                continue
            at_most = "at most " if len(set(free)) > 1 else ""
            amounts = [amount_text(name, each) for each in (wanted, most, whole)]
            taken = {request: amount_text(name, each[name]) for request, each in shares.items() if each.get(name)}
            parts = " and ".join(f"{amount} of them by {request}" for request, amount in taken.items())
            of_devices = f" ({parts})" if parts else ""
            yield f"{name} {amounts[0]} wanted{of_devices}, {at_most}{amounts[1]} of {amounts[2]} free"


def _unstated(name: str) -> str:
    return f"status.allocatable states no {name}, which counts as 0"
