"""The verdicts of all nodes on pods of one shape, kept up to date.

Pods with the same demands, such as the replicas of a workload, get the same verdicts; after each pod, only nodes whose
pods or devices have changed are checked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from webhook.allocation import Attempt, Failure, Result
from webhook.allocation.selecting import NO_FAULT, Fault
from webhook.budget import check_deadline
from webhook.inventory.claims import Consumer, allocation_of, uid_of
from webhook.objects import JSONObject, items, mapping, text
from webhook.records import NamedTuple
from webhook.simulation.binding import is_unavailable
from webhook.simulation.cluster import EVERYWHERE, Cluster
from webhook.simulation.nodeallocatable import Taken, total
from webhook.simulation.nodes import Demand, Refusal, selects

UNAVAILABLE: Final = "resourceclaim not available on the node"
"""The scheduler's reason for a claim with devices on another node, or with devices that failed."""
_ORDER: Final = "the scheduler could also decide otherwise: the answer depends on the order in which it sees slices"
_TIMED_OUT = "node {}: timed out trying to allocate devices"
_ALTERNATIVES_MAX = 8
"""A request's first alternative scores as much, the next one less (FirstAvailableDeviceRequestMaxSize)."""


class Needs(NamedTuple):
    """The needs of a pod.

    Args:
        demand: Its demands on a node, devices aside.
        claims: Its claims, including allocated ones, in order.
        leftover: The claim for extended resources that an earlier attempt left; None if there is none.
    """

    pod: JSONObject
    demand: Demand
    claims: tuple[JSONObject, ...]
    leftover: JSONObject | None = None
    consumers: tuple[Consumer, ...] = ()


class Verdict(NamedTuple):
    """The verdict of a node on a pod.

    Args:
        refusal: The refusal of the pod; None if the node accepts it.
        error: The error that makes the scheduler give up on the pod on all nodes; empty without one.
        score: How well the devices suit the pod.
        unavailable: The claims that have devices elsewhere, by index.
        by_devices: Whether the allocation of devices failed.
        uncertain: Why the scheduler could also decide otherwise; empty if it could not.
        taken: The amounts that its devices would take of the node, by request, if the node has too little for them.
    """

    refusal: Refusal | None = None
    error: Fault = NO_FAULT
    score: int = 0
    unavailable: tuple[int, ...] = ()
    by_devices: bool = False
    uncertain: str = ""
    taken: Mapping[tuple[str, str], Mapping[str, int]] = {}


class _Asked(NamedTuple):
    """The claims of a pod on nodes where devices must provide the same of its extended resources.

    Args:
        made: The claim that the scheduler makes for these resources; None if there are none.
        claims: The claims that need devices, including that one.
        attempt: The attempt to allocate them; None if there are none.
    """

    made: JSONObject | None
    claims: Sequence[JSONObject]
    attempt: Attempt | None


class Round:
    """One check of nodes for a pod, while the cluster does not change."""

    def __init__(self, cluster: Cluster, needs: Needs) -> None:
        self.cluster, self.needs = cluster, needs
        self._pending: list[JSONObject] = []
        self._asked: dict[frozenset[str], _Asked] = {}
        self._allocated: list[tuple[int, JSONObject, JSONObject]] = []
        """The claims that have devices: each claim's place, node selector and content."""
        for index, each in enumerate(needs.claims):
            if allocation := allocation_of(each):
                self._allocated.append((index, mapping(allocation, "nodeSelector"), each))
            else:
                self._pending.append(each)
        self._extended = frozenset(name for name in needs.demand.requests if cluster.extended.provides(name))

    def delegated(self, node: int) -> frozenset[str]:
        """Return the extended resources that devices must provide on a node."""
        if not self._extended:
            return self._extended
        allocatable = self.cluster.nodes[node].allocatable
        return self.cluster.extended.requested(self._extended, allocatable, with_claims=bool(self.needs.claims))

    def _is_delegated(self, name: str, allocatable: Mapping[str, int]) -> bool:
        return self.cluster.extended.is_delegated(name, allocatable, self.needs.demand.requests)

    def on(self, node: int) -> _Asked:
        """Return the claims of the pod that need devices on a node."""
        delegated = self.delegated(node)
        if delegated not in self._asked:
            made, claims = None, self._pending
            # It requests nothing if the node has the resources itself, but the pod has other claims.
            if delegated or (self._extended and self.needs.claims):
                made = self.cluster.extended.claim_for(self.needs.pod, delegated)
                claims = [*self._pending, made]
            attempt = self.cluster.allocator.attempt(claims) if claims else None
            self._asked[delegated] = _Asked(made, claims, attempt)
        return self._asked[delegated]

    def result_on(self, node: int) -> Result | Failure | None:
        """Allocate the pod's devices on a node; None if it needs none."""
        attempt = self.on(node).attempt
        return None if attempt is None else attempt.on(self.cluster.nodes[node].node)

    def filter(self, node: int) -> Verdict:
        """Check whether a node accepts the pod."""
        state, settings = self.cluster.nodes[node], self.cluster.settings
        refusal = state.refusal(self.needs.demand, settings.release, self._is_delegated)
        if refusal is None and self.needs.leftover is not None:
            refusal = Refusal(("cannot schedule extended resource claim",))
        return self.filter_devices(node) if refusal is None else Verdict(refusal)

    def filter_devices(self, node: int) -> Verdict:
        """Check the devices of a node that accepts the pod otherwise."""
        state = self.cluster.nodes[node]
        unavailable = self._unavailable(state.node)
        result = self.result_on(node)
        if result is not None and result.timed_out:
            said = isinstance(result, Failure) and result.error
            error = said or Fault(_TIMED_OUT.format(state.name))
            return Verdict(Refusal((error,)), error=error, by_devices=True)
        if isinstance(result, Failure):
            return _failure(result)
        if unavailable:
            return Verdict(Refusal((UNAVAILABLE,)), unavailable=unavailable)
        if shortage := self._shortage(node, result):
            return shortage
        if result is None:
            return Verdict()
        return Verdict(score=_score(self.on(node).claims, result.devices), uncertain=_uncertainty(result))

    def _unavailable(self, node: JSONObject) -> tuple[int, ...]:
        """Return the claims whose devices the node cannot use, or that have failed."""
        return tuple(
            index
            for index, selector, claim in self._allocated
            if (selector and not selects(selector, node))
            or (self.cluster.waits and is_unavailable(claim, self.cluster.now))
        )

    def taken(self, result: Result | None) -> Taken:
        """Return the amounts that the pod's devices take of their node's other resources, by request."""
        devices = self.cluster.node_allocatable
        if devices is None:
            return {}
        return devices.taken(self.needs.pod, self.needs.claims, result.allocations if result else ())

    def _shortage(self, node: int, result: Result | None) -> Verdict | None:
        """Explain why a node lacks the resources that the pod's devices stand for; None if it has them."""
        devices, pod, claims = self.cluster.node_allocatable, self.needs.pod, self.needs.claims
        if devices is None:
            return None
        for claim, results, containers in devices.given(pod, claims, result.allocations if result else ()):
            if error := devices.error(claim, results):
                return Verdict(Refusal((error,)), error=error)
            if reason := devices.unused(claim, results, containers):
                return Verdict(Refusal((reason,)))
        if reason := devices.refusal(claims, uid_of(pod)):
            return Verdict(Refusal((reason,)))
        state, wanted, taken = self.cluster.nodes[node], self.needs.demand.requests, self.taken(result)
        missing = [
            name
            for name, amount in total(taken).items()
            if amount + wanted.get(name, 0) > state.allocatable.get(name, 0) - state.used.get(name, 0)
        ]
        return Verdict(Refusal.for_lack(*missing), taken=taken) if missing else None


def _failure(failure: Failure) -> Verdict:
    error, reason = failure.error or NO_FAULT, failure.error or "cannot allocate all claims"
    ends_all = failure.scope == "abort"
    uncertain = _uncertainty(failure)
    return Verdict(Refusal((reason,)), error if ends_all else NO_FAULT, by_devices=True, uncertain=uncertain)


def _uncertainty(result: Result | Failure) -> str:
    """Say why the scheduler could also decide otherwise on a node; empty if it could not."""
    if not result.depends_on_order:
        return ""
    mixed_up = result.mixed_up
    if not mixed_up:
        return _ORDER
    pool, drivers = next(iter(mixed_up.items()))
    return (
        f"the scheduler may not check counters of {' or '.join(sorted(drivers))}: these drivers have pools of the same "
        f"name, {pool}, and it looks up counters by the pool's name alone"
    )


def _score(claims: Sequence[JSONObject], devices: Sequence[Sequence[tuple[str, str, str, str]]]) -> int:
    """Prefer nodes where earlier alternatives of ``firstAvailable`` were possible (computeScore)."""
    score = 0
    for claim, results in zip(claims, devices, strict=False):
        chosen = {request for request, *_ in results if "/" in request}
        if not chosen:
            continue
        for request in items(claim, "spec", "devices", "requests"):
            for rank, alternative in enumerate(items(request, "firstAvailable")):
                if f"{text(request, 'name')}/{text(alternative, 'name')}" in chosen:
                    score += _ALTERNATIVES_MAX - rank
    return score


class Verdicts:
    """The verdicts of all nodes on pods of one shape.

    Args:
        names: The names of the only nodes to check; None for all.
    """

    def __init__(self, cluster: Cluster, names: frozenset[str] | None = None) -> None:
        self._cluster = cluster
        index = cluster.index
        self.nodes = range(len(cluster.nodes)) if names is None else sorted(index[n] for n in names if n in index)
        self.by_node: dict[int, Verdict] = {}
        self.fitting: dict[int, int] = {}
        """The nodes that accept the pod, with their scores."""
        self.errors: dict[int, Fault] = {}
        self.uncertain: dict[int, str] = {}
        """Why the scheduler could also decide otherwise, by node."""
        self._seen = 0

    def update(self, round_: Round, *, at_most: int | None = None) -> None:
        """Check the nodes that changed since their last check.

        Args:
            at_most: The number of nodes to check; None for all.

        Raises:
            DeadlineExceededError: The deadline of the budget in force has passed.
        """
        log = self._cluster.log
        if not self.by_node:
            stale: Mapping[int, None] = dict.fromkeys(self.nodes[:at_most])
        else:
            changed = set(log[self._seen :])
            stale = dict.fromkeys(self.nodes if EVERYWHERE in changed else sorted(changed & self.by_node.keys()))
        self._seen = len(log)
        self._cluster.progress(len(stale))
        for node in stale:
            check_deadline()
            verdict = self.by_node[node] = round_.filter(node)
            self.fitting.pop(node, None)
            self.errors.pop(node, None)
            self.uncertain.pop(node, None)
            if verdict.uncertain:
                self.uncertain[node] = verdict.uncertain
            if verdict.error:
                self.errors[node] = verdict.error
            elif verdict.refusal is None:
                self.fitting[node] = verdict.score

    def best(self) -> list[int]:
        """Return the nodes that suit the pod best; the scheduler picks one of them at random."""
        highest = max(self.fitting.values(), default=0)
        if not highest:
            return sorted(self.fitting)
        return sorted(node for node, score in self.fitting.items() if score == highest)
