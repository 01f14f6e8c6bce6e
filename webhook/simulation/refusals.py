"""What the scheduler's reasons leave out: the taints of nodes, and the amounts of their resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.simulation.ofnodes import amount_text, state_of
from webhook.simulation.taints import taint_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webhook.simulation.nodes import Demand, NodeState, Refusal


def taints(refusal: Refusal, node: NodeState, demand: Demand) -> tuple[str, ...]:
    """Describe the taints that make a node refuse a pod; nothing if it refuses the pod for another reason.

    Args:
        refusal: The refusal.
        node: The node.
        demand: The demands of the pod.
    """
    if not any("untolerated taint" in reason for reason in refusal.reasons):
        return ()
    return tuple(f"{taint}{state_of(taint.key)}" for taint in map(taint_of, node.untolerated(demand.tolerations)))


def shortages(refusal: Refusal, nodes: Sequence[NodeState], demand: Demand) -> Iterator[str]:
    """Describe the amounts that are wanted, and free on the node that has the most.

    Args:
        refusal: The refusal of all nodes.
        nodes: The nodes.
        demand: The demands of the pod.
    """
    for name, wanted in demand.requests.items():
        if f"Insufficient {name}" in refusal.reasons:
            free = [(max(0, node.left(name) or 0), node.allocatable.get(name, 0)) for node in nodes]
            most, whole = max(free)
            at_most = "at most " if len(set(free)) > 1 else ""
            amounts = [amount_text(name, each) for each in (wanted, most, whole)]
            yield f"{name} {amounts[0]} wanted, {at_most}{amounts[1]} of {amounts[2]} free"
