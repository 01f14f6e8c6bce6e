"""Changes to pods, claims, nodes and the cluster that would let a pending pod be scheduled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from copy import deepcopy
from typing import Any

from webhook.objects import JSONObject
from webhook.records import NamedTuple
from webhook.simulation.cluster import Cluster
from webhook.simulation.scheduler import Needs


def same(needs: Needs) -> Needs:
    """Leave the needs of a pod as they are."""
    return needs


def these(changes: Iterable[Change]) -> Callable[[Collection[int]], Iterable[Change]]:
    """Return a function that returns the same changes whichever nodes are open."""
    return lambda _: changes


class Change(NamedTuple):
    """A change that may help.

    Args:
        text: Its description, such as ``without the selector memory >= 80Gi of request gpu``.
        size: Its cost: a correction costs less than doing without, and that less than taking from others.
        about: The thing that it changes; two changes of the same thing are not tried together.
        released: The claim that is released, with the pods that use it; None if there is none.
        nodes: The only nodes that it concerns; None for all.
        closer: Returns changes that do no more than is needed, the smallest first; takes the nodes that this one opens.
        selects_less: Whether it drops a selector, so that devices of any sort may come.
        parts: What it does to the thing, if it does several things at once.
        cluster: The cluster that it leads to; None if it changes the pod, or releases a claim.
        objects: The objects of that cluster that differ, if people can change these.
    """

    text: str
    size: int
    about: str
    edit: Callable[[Needs], Needs] = same
    released: JSONObject | None = None
    nodes: frozenset[int] | None = None
    closer: Callable[[Collection[int]], Iterable[Change]] = these(())
    selects_less: bool = False
    parts: frozenset[object] = frozenset()
    cluster: Cluster | None = None
    objects: Sequence[JSONObject] = ()

    def exceeds(self, other: Change) -> bool:
        """Tell whether it does all that another change does, and more."""
        return self.about == other.about and bool(other.parts) and self.parts > other.parts


def demanding(**fields: Any) -> Callable[[Needs], Needs]:
    """Return a function that changes a pod's demands of its node.

    Args:
        fields: Fields of a Demand, with their new values.
    """
    return lambda needs: needs._replace(demand=needs.demand._replace(**fields))


def in_claim(index: int, change: Callable[[JSONObject], object]) -> Callable[[Needs], Needs]:
    """Return a function that changes a claim of a pod."""

    def edit(needs: Needs) -> Needs:
        claims = list(needs.claims)
        claims[index] = deepcopy(claims[index])
        change(claims[index])
        return needs._replace(claims=tuple(claims))

    return edit
