"""Schedules pods one by one, as kube-scheduler's default plugins do.

Omits affinity to other pods, topology spread, volumes, preemption, and all scores except those of devices.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Final, NamedTuple

from webhook.allocation.features import CRASHES_UNTIL
from webhook.allocation.selecting import NO_FAULT, Fault
from webhook.api.templates import source
from webhook.budget import DeadlineExceededError, check_deadline
from webhook.inventory import has_ended
from webhook.inventory.affinity import nodes_named
from webhook.inventory.claims import (
    MADE,
    POD,
    Blocked,
    Consumer,
    Use,
    allocation_of,
    claims_of,
    not_created,
    requests_of,
    reserved_for,
)
from webhook.inventory.podgroups import Group, group_of, least_of, not_ready
from webhook.inventory.resources import created, leftover
from webhook.later import cached_property
from webhook.objects import JSONObject, full_name_of, items, mapping, name_of, namespace_of, text
from webhook.simulation import binding
from webhook.simulation.cluster import SCORES_FIXED, UNNAMED, Cluster, Demand, Needs, Round, Verdicts
from webhook.simulation.nodeallocatable import total

DEFAULT_SCHEDULER: Final = "default-scheduler"
"""The name of kube-scheduler in pods (spec.schedulerName)."""


# -- scheduling cycles

_CONFLICT: Final = "each term of its node affinity requires nodes of different names"
_STARTS: Final = (
    "the scheduler has done its part: look at the pod's events, and at the kubelet plugin of its driver on the node"
)
_RESERVED: Final = "it names its node itself ({}), and kube-controller-manager reserves its claims, which are allocated"
_REFUSED: Final = "the API server refuses its claim {}: {}"
_EITHER: Final = "the scheduler could also decide otherwise: it takes the devices of {} back, whichever comes first"
_ON_ANOTHER: Final = "the scheduler could also decide otherwise: node {} suits the pod as well, but there it {}"
_CRASHES: Final = "kube-scheduler {} crashes whenever it comes to this pod: {}: {}"
_ASKED_MAX: Final = 16
"""The number of nodes on which other devices are looked for."""
PRIORITIZED_LIST: Final = "DRAPrioritizedList"


Condition = dict[str, str]

SCHEDULED: Final[Condition] = {"status": "True"}
GATED: Final[Condition] = {
    "status": "False",
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}

NOTHING_TO_DEALLOCATE: Final = "no new claims to deallocate"


SCHEDULER_ERROR: Final = "SchedulerError"
UNSCHEDULABLE: Final = "Unschedulable"


class Placement(NamedTuple):
    """The placement of a pod.

    Args:
        node: The node it was bound to; None if there is none.
        condition: Its condition PodScheduled; None if the scheduler sets none.
        candidates: The nodes that suited it equally well, by name.
        reason: The reason why the scheduler did not try it, or still waits; empty if it did.
        verdicts: The verdict of each node; None if no node was checked.
        needs: The needs of the pod; None if no node was checked.
        uncertain: Why the result may differ in the release, such as by the order of Go's maps; empty if it may not.
        error: The error that ended the search for devices on all nodes; empty without one.
        is_unbound: Whether the API server does not let the scheduler bind it.
    """

    pod: JSONObject
    node: str | None
    condition: Condition | None
    claims: tuple[JSONObject, ...] = ()
    candidates: tuple[str, ...] = ()
    reason: str = ""
    verdicts: Verdicts | None = None
    needs: Needs | None = None
    uncertain: str = ""
    notes: tuple[str, ...] = ()
    awaited: tuple[binding.Awaited, ...] = ()
    error: Fault = NO_FAULT
    is_unbound: bool = False


class Scheduler:
    """Schedules pods into a cluster.

    Args:
        cluster: The cluster; it changes with each pod.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._gangs = defaultdict[Group, tuple[list[Placement], list[Placement]]](lambda: ([], []))
        """The pods of PodGroups that have got nodes, and those that have not."""

    @cached_property
    def _members(self) -> Counter[Group]:
        """The number of pods of PodGroups that have not ended."""
        return Counter(group_of(each) for each in self.cluster.inventory.all("Pod") if not has_ended(each))

    def schedule(self, pod: JSONObject) -> Placement:
        """Schedule a pod, with the retries that the scheduler itself would make at once."""
        check_deadline()
        cluster = self.cluster
        if not text(pod, "metadata", "uid") and (refused := cluster.quotas.admit(pod)):
            return Placement(pod, None, None, reason=f"the API server refuses it: {refused}")
        if node := text(pod, "spec", "nodeName"):
            return self._placed(pod, node)
        if held_back := self._held_back(pod):
            return held_back
        uses = claims_of(pod, cluster.inventory, cluster.settings.gates)
        if isinstance(uses, Blocked):
            entries, known, namespace = items(pod, "spec", "resourceClaims"), cluster.refused, namespace_of(pod)
            named = (f"{namespace}/{source(each, 'resourceClaimName')}" for each in entries)
            refusals = [_REFUSED.format(each, known[each]) for each in named if each in known]
            return Placement(pod, None, None, reason=uses.reason, notes=tuple(filter(None, [uses.note, *refusals])))
        for use in uses:
            if refused := cluster.refusal(use.claim):
                cluster.delete(use.claim)
                notes = (_REFUSED.format(full_name_of(use.claim), refused),)
                return Placement(pod, None, None, reason=not_created(pod).reason, notes=notes)
        before = self._awaited([use.claim for use in uses])
        last: Placement | None = None
        for _ in range(len(uses) + 1):
            placement, again = self._try(pod, uses)
            if last is not None:
                condition = last.condition if placement.condition is None else placement.condition
                placement = placement._replace(condition=condition, uncertain=placement.uncertain or last.uncertain)
            if not again:
                break
            last = placement
            uses = [use._replace(claim=self._current(use.claim)) for use in uses]
        return self._with_prospect(placement, before)

    def _held_back(self, pod: JSONObject) -> Placement | None:
        """Return the placement of a pod that is not to be scheduled yet (PreEnqueue); None for others."""
        if gates := items(pod, "spec", "schedulingGates"):
            names = ", ".join(text(each, "name") for each in gates)
            return Placement(pod, None, GATED, reason=f"it has scheduling gates: {names}")
        group = group_of(pod)
        if not group[1] or full_name_of(pod) in self.cluster.copies:
            return None
        waits, _ = not_ready(group, self.cluster.inventory, self._members[group])
        return Placement(pod, None, None, reason=waits) if waits else None

    def _awaited(self, claims: Iterable[JSONObject]) -> tuple[binding.Awaited, ...]:
        """Return the devices of claims whose binding conditions are not met."""
        if not self.cluster.waits:
            return ()
        allocated = filter(allocation_of, claims)
        return tuple(device for claim in allocated for device in binding.awaited(claim, self.cluster.now))

    def _waiting(self, placement: Placement, claims: Iterable[JSONObject], node: str) -> Placement:
        """Return the placement of a pod that waits for devices of claims."""
        awaited = self._awaited(claims)
        return placement._replace(reason=binding.Waiting.to_be_bound(awaited, node), awaited=awaited)

    def _with_prospect(self, placement: Placement, held: Sequence[binding.Awaited]) -> Placement:
        """Say what becomes of a waiting pod whose claims held devices that were not ready.

        It can never run if a device that has failed is the one that it gets again.
        """
        if not held or not placement.awaited:
            return placement
        troubled = [each for each in held if each.is_unavailable]
        places = {each.place for each in troubled or held}
        again = sorted(each.device for each in placement.awaited if each.place in places)
        said = "; ".join(each.text for each in troubled)
        back = "the scheduler takes the device back and tries again"
        if not again:
            return placement._replace(notes=(*placement.notes, f"{said}: {back}, with another device"))
        only = "it is the only one" if len(again) == 1 else "they are the only ones"
        is_only = self._suits_no_other(placement, places)
        if not troubled and isinstance(placement.reason, binding.Waiting):
            more = f"; {only}, so it gets {', '.join(again)} again" if is_only else ""
            waiting = binding.Waiting.of(f"{placement.reason.what}; {binding.LATE}: {back}{more}")
            return placement._replace(reason=waiting)
        because = f"{only}, so it gets" if is_only else "it gets"
        reason = f"{said}: {back}; {because} {', '.join(again)} again"
        placement = placement._replace(reason=reason, awaited=tuple(troubled))
        has_failed = any(each.failed and each.device in again for each in troubled)
        return placement._replace(candidates=()) if has_failed else placement

    def _suits_no_other(self, placement: Placement, places: Collection[str]) -> bool:
        """Tell whether only some devices suit the claims of a pod, once they are taken back."""
        cluster = self.cluster
        if placement.needs is None or placement.verdicts is None:
            return False
        uses = [use._replace(claim={**use.claim, "status": {}}) for use in placement.needs.uses]
        needs = placement.needs._replace(uses=tuple(uses))
        with ExitStack() as given_back:
            for claim in placement.claims:
                given_back.enter_context(cluster.without(claim))
            round_ = Round(cluster, needs)
            suiting = (node for node in placement.verdicts.nodes if not round_.filter(node).reasons)
            nodes = [*islice(suiting, _ASKED_MAX + 1)]
            attempts = ((node, round_.on(node).attempt) for node in nodes[:_ASKED_MAX])
            found = (f for node, attempt in attempts if attempt for f in attempt.explain(cluster.nodes[node].node))
            others = (str(funnel.view.devices[place]) not in places for funnel in found for place in funnel.places)
            return len(nodes) <= _ASKED_MAX and not any(others)

    def _placed(self, pod: JSONObject, node: str) -> Placement:
        """Return the placement of a pod that already has a node: from the scheduler, or without it."""
        found = claims_of(pod, self.cluster.inventory, self.cluster.settings.gates)
        uses = [] if isinstance(found, Blocked) else found
        claims = tuple(use.claim for use in uses)
        runs = text(pod, "status", "phase") == "Running"
        if runs or (found is uses and all(use.consumer.has(use.claim) for use in uses)):
            notes = () if runs or not claims else (_STARTS,)
            return Placement(pod, node, SCHEDULED, claims, reason="it runs already", notes=notes)
        known = self.cluster.inventory.find("Node", node)
        lacks = [binding.lacks(use, node, known) for use in uses]
        if claims and known and not any(lacks):
            for use in uses:
                if not use.consumer.has(claim := self._current(use.claim)):
                    self.cluster.reserve(claim, use.consumer)
            claims = tuple(map(self._current, claims))
            return Placement(pod, node, SCHEDULED, claims, reason=_RESERVED.format(node))
        absent = "" if known else ", which does not exist"
        why = next(filter(None, lacks), "" if claims else "its claims are not allocated")
        scheduler = other_scheduler(pod)
        how = f"its scheduler {scheduler} bound it to its node" if scheduler else "it names its node itself"
        reason = f"{how} ({node}{absent}), so {why and f'{why} and '}it can never run"
        return Placement(pod, None, None, claims, reason=reason)

    def settled(self, placement: Placement) -> Iterator[Placement]:
        """Yield the placement of a pod, then those of its gang that end with it, whose nodes and devices are freed.

        The pods of a gang are bound together, or not at all; those that are not scheduled here count as if they were.
        """
        yield placement
        group = group_of(placement.pod)
        if not group[1] or not (least := least_of(group, self.cluster.inventory)):
            return
        placed, failed = self._gangs[group]
        if placement.node is None and not placement.awaited:
            failed.append(placement)
        elif placement.verdicts is not None:  # it is bound by now, and was not before
            placed.append(placement)
        if not failed or self._members[group] - len(failed) >= least:
            return
        why = f"its PodGroup {group[1]} needs {least} pods together, and pod {name_of(failed[0].pod)} gets no node"
        ended = [Placement(each.pod, None, None, reason=why) for each in placed]
        while placed:
            self._undo(placed.pop())
        yield from ended

    def _undo(self, placement: Placement) -> None:
        """Take back the node and the devices of the pod of a gang that was bound last."""
        self.cluster.unbind(placement.pod)
        uses = {name_of(use.claim): use for use in placement.needs.uses} if placement.needs else {}
        for claim in map(self._current, placement.claims):
            if (use := uses.get(name_of(claim))) is None:
                self.cluster.delete(claim)
            elif {*reserved_for(claim)} <= {*reserved_for(use.claim), use.consumer}:
                self.cluster.put_status(claim, mapping(use.claim, "status"))
            else:  # pods outside of the gang use it by now
                left = [each.reference() for each in reserved_for(claim) if each != use.consumer]
                self.cluster.put_status(claim, {**mapping(claim, "status"), "reservedFor": left})

    def filter(self, pod: JSONObject, uses: Sequence[Use]) -> tuple[Verdicts, Round]:
        """Check all nodes for a pod, without binding it."""
        cluster = self.cluster
        demand, left = Demand.of(pod), None
        if any(cluster.extended.has(name) for name in demand.requests):
            left = leftover(pod, cluster.inventory.all("ResourceClaim"))
        round_ = Round(cluster, Needs(pod, demand, tuple(uses), left))
        return cluster.shapes.verdicts(round_), round_

    def _current(self, claim: JSONObject) -> JSONObject:
        return self.cluster.claim(full_name_of(claim)) or claim

    def _try(self, pod: JSONObject, uses: Sequence[Use]) -> tuple[Placement, bool]:
        """Run one scheduling cycle; tell also whether another one follows at once."""
        cluster = self.cluster
        claims = tuple(use.claim for use in uses)
        nodes = len(cluster.nodes)
        if early := self._before_filter(pod, claims):
            return early, False
        verdicts, round_ = self.filter(pod, uses)
        left = round_.needs.leftover
        if (
            left is not None
            and cluster.waits
            and Consumer.of(pod).has(left)
            and binding.waits(left)
            and not binding.is_unavailable(left, cluster.now)
        ):  # it only waits for the devices of its claim for extended resources
            home = next((each.name for each in cluster.nodes if binding.serves(left, each.node)), "")
            return self._waiting(Placement(pod, None, None, (*claims, left), candidates=(home,)), [left], home), False
        uncertain = next(iter(verdicts.uncertain.values()), "")
        placement = Placement(pod, None, None, claims, verdicts=verdicts, needs=round_.needs, uncertain=uncertain)
        if verdicts.errors:
            # If several nodes fail, the first counts; the text names this pod.
            node = min(verdicts.errors)
            error = round_.filter(node).error or verdicts.errors[node]
            if error.is_crash:
                reason = _CRASHES.format(self.cluster.settings, error, _bug(CRASHES_UNTIL))
                return placement._replace(reason=reason, verdicts=None), False
            condition = _failed(f'running "DynamicResources" filter plugin: {error}')
            return placement._replace(condition=condition, error=error), False
        if verdicts.fitting:
            return self._unscored(placement, verdicts, round_) or self._bind(placement, verdicts, round_), False
        spare = _spare(verdicts, uses)
        if len(spare) > 1:
            placement = placement._replace(uncertain=_EITHER.format(" or ".join(map(full_name_of, spare))))
        said, again = self._free(spare, round_.needs)
        refusals = [each for each in verdicts.by_node.values() if each.reasons]
        unchecked = nodes - len(refusals)  # the node affinity names others
        reasons = Counter([reason for each in refusals for reason in each.reasons])
        reasons[UNNAMED] += unchecked
        helpless = unchecked + sum(not each.resolvable for each in refusals)
        return placement._replace(condition=_unavailable(_histogram(reasons), nodes, helpless, said, pod)), again

    def _unscored(self, placement: Placement, verdicts: Verdicts, round_: Round) -> Placement | None:
        """Return the placement of a pod for which a release cannot score nodes (computeScore); None for others."""
        given = [each for each in placement.claims if allocation_of(each)]
        pending = round_.on(min(verdicts.fitting)).claims if given else ()
        settings = self.cluster.settings
        if not pending or len(verdicts.fitting) == 1 or settings.patch >= SCORES_FIXED.get(settings.release, 0):
            return None
        said = f"number of allocations {len(pending)} is smaller than number of claims"
        failed = _failed(f'running Score plugins: plugin "DynamicResources" failed with: {said}')
        reason = (
            f"claim {full_name_of(given[0])} is allocated and another claim of the pod is not, for which the scheduler "
            f"of Kubernetes {settings} cannot score several nodes: {_bug(SCORES_FIXED)}"
        )
        return Placement(placement.pod, None, failed, placement.claims, reason=reason)

    def _before_filter(self, pod: JSONObject, claims: tuple[JSONObject, ...]) -> Placement | None:
        """Return the placement of a pod that is rejected before any node is checked (PreFilter); None for others."""
        nodes = len(self.cluster.nodes)
        if not nodes:
            return Placement(pod, None, _failed("no nodes available to schedule pods", UNSCHEDULABLE), claims)
        if nodes_named(pod.get("spec") or {}) == frozenset():
            # "not found" is the state of the plugin DynamicResources, which had no turn before.
            said = f"0/{nodes} nodes are available: pod affinity terms conflict. not found"
            return Placement(pod, None, _failed(said, UNSCHEDULABLE), claims, reason=_CONFLICT)
        if not (reason := next(self._unusable(claims), "")):
            return None
        condition = _unavailable(reason, nodes, nodes, NOTHING_TO_DEALLOCATE, pod)
        return Placement(pod, None, condition, claims, reason=reason)

    def _unusable(self, claims: Sequence[JSONObject]) -> Iterator[str]:
        """Report requests that no node can meet (PreFilter in pkg/scheduler/framework/plugins/dynamicresources)."""
        knows_alternatives = PRIORITIZED_LIST in self.cluster.settings.gates
        for claim in claims:
            for each in () if allocation_of(claim) else requests_of(claim, self.cluster.inventory):
                request, is_alternative, _ = each.name.partition("/")
                if is_alternative and not knows_alternatives:
                    subject = f"resource claim {full_name_of(claim)}, request {request}"
                    yield f"{subject}: has subrequests, but the {PRIORITIZED_LIST} feature is disabled"
                if each.device_class is None:
                    yield f"request {each.name}: device class {each.class_name} does not exist"

    def _free(self, spare: Sequence[JSONObject], needs: Needs) -> tuple[str, bool]:
        """Deallocate a claim that keeps the pod from its nodes for nothing (PostFilter)."""
        if spare:
            self.cluster.deallocate(spare[0])
            return "deallocation of ResourceClaim completed", True
        if needs.leftover is not None:
            self.cluster.delete(needs.leftover)
            return "deletion of ResourceClaim completed", False
        wants_devices = needs.uses or any(map(self.cluster.extended.has, needs.demand.requests))
        return "still not schedulable" if wants_devices else NOTHING_TO_DEALLOCATE, False

    def _bind(self, placement: Placement, verdicts: Verdicts, round_: Round) -> Placement:
        """Bind a pod to the best node: allocate and reserve its claims (Reserve, PreBind)."""
        cluster, needs = self.cluster, round_.needs
        best = verdicts.best()
        node, names = best[0], tuple(map(cluster.names.__getitem__, best))
        # Other nodes do not matter any more, unless the scheduler fails to bind the pod to some of them.
        uncertain = verdicts.uncertain.get(node, "") or self._elsewhere(best, round_)
        placement = placement._replace(candidates=names, uncertain=uncertain)
        result = round_.result_on(node)
        pending = round_.on(node).claims
        made = []
        if round_.on(node).made is not None:
            made = [Use("", created(pending[-1]), Consumer.of(placement.pod))]
            pending = [*pending[:-1], made[0].claim]
        allocations = result.allocations if result else []
        given: dict[int, JSONObject] = {}
        for claim, allocation in zip(pending, allocations, strict=False):
            given.setdefault(id(claim), allocation)  # a claim that the pod names twice keeps its first devices
        bound: list[JSONObject] = []
        before: dict[str, JSONObject] = {}
        for use in (*needs.uses, *made):
            claim = self._current(use.claim)
            is_allocated = allocation_of(claim) and all(name_of(each) != name_of(claim) for each in bound)
            if is_allocated and use.consumer.has(claim):
                bound.append(claim)
                continue
            if use in made and (error := binding.unmapped(placement.pod, claim, cluster.settings.release)):
                return self._unbound(placement, needs, bound, before, error)
            before.setdefault(name_of(claim), claim)
            timestamp = cluster.timestamp if is_allocated else ""
            if not allocation_of(claim):
                cluster.inventory.put(claim)
                claim = cluster.allocate(claim, given[id(use.claim)])
            if error := binding.refusal(claim, use.consumer, cluster.settings.release, timestamp):
                return self._unbound(placement, needs, [*bound, claim], before, error)
            bound.append(cluster.reserve(claim, use.consumer))
        taken = round_.taken(result)
        cluster.bind(placement.pod, needs.demand.with_more(total(taken)) if taken else needs.demand, node)
        placement = placement._replace(claims=tuple(bound))
        if cluster.waits and any(map(binding.waits, bound)):
            return self._waiting(placement, bound, names[0])
        return placement._replace(node=names[0], condition=SCHEDULED)

    def _elsewhere(self, best: Sequence[int], round_: Round) -> str:
        """Say what happens on another node that suits the pod as well, if the pod is bound on one of the two only."""
        if round_.on(best[0]).made is None:
            return ""
        pod, release = round_.needs.pod, self.cluster.settings.release
        ways = {round_.delegated(node): node for node in reversed(best)}
        made = {node: claim for node in sorted(ways.values()) if (claim := round_.on(node).made) is not None}
        errors = {node: binding.unmapped(pod, claim, release) for node, claim in made.items()}
        for node, error in errors.items():
            if error != errors[best[0]]:
                return _ON_ANOTHER.format(self.cluster.names[node], f"fails: {error}" if error else "binds the pod")
        return ""

    def _unbound(
        self,
        placement: Placement,
        needs: Needs,
        bound: Sequence[JSONObject],
        before: Mapping[str, JSONObject],
        error: str,
    ) -> Placement:
        """Undo the reservations made before one failed; allocations stay."""
        for claim in bound:
            if earlier := before.get(name_of(claim)):
                current, reserved = self._current(claim), items(earlier, "status", "reservedFor")
                status = {key: value for key, value in mapping(current, "status").items() if key != "reservedFor"}
                status |= {"reservedFor": reserved} if reserved else {}
                self.cluster.inventory.put({**current, "status": status})
        claims = tuple(map(self._current, needs.claims))
        return placement._replace(condition=_failed(error), claims=claims, is_unbound=True)


def other_scheduler(pod: JSONObject) -> str:
    """Return the scheduler that a pod names; empty if it is kube-scheduler."""
    name = text(pod, "spec", "schedulerName")
    return "" if name == DEFAULT_SCHEDULER else name


def _spare(verdicts: Verdicts, uses: Sequence[Use]) -> list[JSONObject]:
    """Return the claims whose devices keep a pod from its nodes and that nothing else uses, each once."""
    found: dict[str, JSONObject] = {}
    for index in sorted({index for each in verdicts.by_node.values() for index in each.unavailable}):
        claim, consumer = uses[index].claim, uses[index].consumer
        reserved = reserved_for(claim)
        is_own = consumer.resource == POD and consumer.has(claim)  # a PodGroup's other pods may use its claim
        if not reserved or (len(reserved) == 1 and is_own):
            found.setdefault(name_of(claim), claim)
    return [*found.values()]


# -- conditions


def _bug(fixed: Mapping[int, int]) -> str:
    """Say in which patch releases a bug is fixed."""
    return f"a bug, fixed in {' and '.join(f'1.{release}.{patch}' for release, patch in fixed.items())}"


def _failed(message: str, reason: str = SCHEDULER_ERROR) -> Condition:
    """Return the condition of a pod whose scheduling ended with an error, or that fits no node."""
    return {"status": "False", "reason": reason, "message": message}


def _unavailable(said: str, nodes: int, helpless: int, done: str, pod: JSONObject) -> Condition:
    """Return the condition of a pod that no node takes.

    Follows ``pkg/scheduler/framework/types.go`` (FitError) and ``framework/preemption/preemption.go``.

    Args:
        said: The reasons of the nodes.
        helpless: The number of nodes for which preemption does not help.
        done: The changes to the pod's claims.
    """
    preemption = "preemption: not eligible due to preemptionPolicy=Never."
    if text(pod, "spec", "preemptionPolicy") != "Never":
        no_victims = "No preemption victims found for incoming pod"
        counts = {"Preemption is not helpful for scheduling": helpless, no_victims: nodes - helpless}
        preemption = f"preemption: 0/{nodes} nodes are available: {_histogram(counts)}."
    return _failed(f"0/{nodes} nodes are available: {said}. {done}, {preemption}", UNSCHEDULABLE)


def _histogram(counts: Mapping[str, int]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items() if count))


# -- how many pods fit

MOST: Final = 20_000
"""The count stops at this number: without a limit, pods would fit forever."""


class Fit(NamedTuple):
    """The number of additional pods that fit.

    Args:
        nodes: Their number on each node.
        last: The placement of the first pod that did not fit; None if the count ended before there was one.
        is_cut: Whether it ended because the time was over.
    """

    nodes: dict[str, int]
    last: Placement | None
    is_cut: bool = False

    @property
    def pods(self) -> int:
        """The number of pods that fit."""
        return sum(self.nodes.values())


def fit(
    scheduler: Scheduler,
    pod: JSONObject,
    progress: Callable[[int], None] = lambda _: None,
    take: Callable[[Placement], None] = lambda _: None,
) -> Fit:
    """Schedule copies of a pod until one does not fit; each gets claims of its own where it has a template.

    It ends sooner if the deadline of the budget in force passes.

    Args:
        scheduler: The scheduler; its cluster is full of such pods afterwards.
        progress: Takes the number that fit so far.
        take: Takes the placement of each copy that fits.
    """
    nodes: Counter[str] = Counter()
    stem = "".join(name_of(pod).rpartition(MADE)[:2]) or name_of(pod)  # without the number of a pod of several
    for number in range(MOST):
        metadata: JSONObject = {**pod["metadata"], "name": f"{stem}-{number}"}
        metadata.pop("uid", None)
        spec = {key: value for key, value in mapping(pod, "spec").items() if key != "nodeName"}
        copy = {**pod, "metadata": metadata, "spec": spec, "status": {}}
        scheduler.cluster.copies.add(full_name_of(copy))
        try:
            placement = scheduler.schedule(copy)
        except DeadlineExceededError:
            return Fit(dict(nodes), None, is_cut=True)
        has_failed = placement.condition is not None and placement.condition["status"] == "False"
        node = placement.node or (placement.candidates[0] if placement.candidates and not has_failed else None)
        if node is None:
            return Fit(dict(nodes), placement)
        nodes[node] += 1
        take(placement)
        progress(number + 1)
    return Fit(dict(nodes), None)


def shared(pod: JSONObject) -> str:
    """Say which claims the copies of a pod share; empty if each has its own."""
    names = [name for each in items(pod, "spec", "resourceClaims") if (name := source(each, "resourceClaimName"))]
    if not names:
        return ""
    claims = ", ".join(f"{namespace_of(pod)}/{name}" for name in names)
    return f"all these pods share claim {claims}: with a ResourceClaimTemplate, each has its own"
