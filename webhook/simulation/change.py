"""A change to what a pod asks for, or to the cluster, that may give the pod a node."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from webhook.objects import JSONObject
    from webhook.simulation.verdicts import Needs


def same(needs: Needs) -> Needs:
    """Leave what a pod needs as it is."""
    return needs


def _none(_: Collection[int]) -> Iterable[Change]:
    return ()


class Change(NamedTuple):
    """A change that may help.

    Args:
        text: What it is, such as ``without the selector memory >= 80Gi of request gpu``.
        size: How much it takes: a correction is smaller than to do without, and that than to take from others.
        about: What it changes; two changes of the same thing are not tried together.
        edit: Makes the change to what a pod needs.
        released: The claim that gives its devices back; None if none does.
        nodes: The only nodes that it concerns; None for all.
        closer: Returns changes that do no more than is needed, the smallest first; takes the nodes to which this leads.
    """

    text: str
    size: int
    about: str
    edit: Callable[[Needs], Needs] = same
    released: JSONObject | None = None
    nodes: frozenset[int] | None = None
    closer: Callable[[Collection[int]], Iterable[Change]] = _none


def demanding(**fields: Any) -> Callable[[Needs], Needs]:
    """Return what changes a pod's demands of its node.

    Args:
        fields: Fields of a Demand, with their new values.
    """
    return lambda needs: needs._replace(demand=needs.demand._replace(**fields))


def in_claim(index: int, change: Callable[[JSONObject], object]) -> Callable[[Needs], Needs]:
    """Return what changes a claim of a pod.

    Args:
        index: The claim's place.
        change: Changes a claim in place.
    """

    def edit(needs: Needs) -> Needs:
        claims = list(needs.claims)
        claims[index] = deepcopy(claims[index])
        change(claims[index])
        return needs._replace(claims=tuple(claims))

    return edit
