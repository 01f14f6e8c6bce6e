"""Suggests changes that would let a pending pod be scheduled, the smallest first.

Changes of the pod, of claims, of nodes and of the cluster are listed, then tried.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from copy import deepcopy
from functools import partial
from itertools import chain, combinations, islice
from time import monotonic
from typing import Any, Final, NamedTuple

from webhook.allocation.devices import PoolId, Taint, Tolerations, amount, quantity_text
from webhook.allocation.selecting import Fault
from webhook.api import gates
from webhook.budget import Budget, DeadlineExceededError, current, limited
from webhook.cel.errors import EvaluationError
from webhook.cel.kubernetes import semver
from webhook.cel.syntax.ast import Call, Literal
from webhook.deviceselectors.fleet import published
from webhook.deviceselectors.parts import Parts, Read, comparison, label, parts_of, read_of
from webhook.engine.prescheduled import REQUIRED
from webhook.formats.quantities import Quantity, readable_quantity
from webhook.grouping import by_key
from webhook.inventory.affinity import nodes_named_by, wants
from webhook.inventory.claims import ClaimRequest, DeviceID, allocation_of, requests_of, reserved_for, results_of
from webhook.inventory.resources import CPU, NATIVE, amounts, container_requests, is_extended, requests
from webhook.objects import JSONObject, at, full_name_of, items, mapping, name_of, namespace_of, text, texts
from webhook.problem import value_at
from webhook.simulation.binding import CONSUMERS_MAX
from webhook.simulation.cluster import (
    NODE_ALLOCATABLE,
    NODE_STATES,
    UNSCHEDULABLE,
    Cluster,
    Demand,
    Needs,
    NodeState,
    Round,
    Settings,
    Verdicts,
    amount_text,
    once_recovered,
)
from webhook.simulation.rejections import COPY, NodeGroup, holder, node_groups, taints_of, used_by, wanted_of
from webhook.simulation.workloads import owners_of
from webhook.spelling import nearest, some_of

NODES_MAX: Final = 2000
"""The number of nodes on which a change is tried."""


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
        parts: Its parts, if it changes several things at once.
        cluster: The cluster that it leads to; None if it changes the pod, or releases a claim.
        objects: The objects of that cluster that differ, if people can change these.
    """

    text: str
    size: int
    about: str
    edit: Callable[[Needs], Needs] = lambda needs: needs
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


def demanding(field: str, entries: Mapping[str, Any]) -> Callable[[Needs], Needs]:
    """Return a function that changes a pod's demands of its node; the others stay as another change has made them.

    Args:
        field: The field of a Demand that changes, a map.
        entries: Its entries that change, with their new values; None for one that is left out.
    """

    def edit(needs: Needs) -> Needs:
        every = {**getattr(needs.demand, field), **entries}
        changed: Any = {name: value for name, value in every.items() if value is not None}
        return needs._replace(demand=needs.demand._replace(**{field: changed}))

    return edit


def in_claim(index: int, change: Callable[[JSONObject], object]) -> Callable[[Needs], Needs]:
    """Return a function that changes a claim of a pod."""

    def edit(needs: Needs) -> Needs:
        uses = list(needs.uses)
        uses[index] = uses[index]._replace(claim=deepcopy(uses[index].claim))
        change(uses[index].claim)
        return needs._replace(uses=tuple(uses))

    return edit


# -- of claims: fewer, smaller, other or tainted devices

_FEWER: Final = 3
"""The largest cost of getting fewer devices: still less than taking them from other claims."""
_COUNTS_MAX: Final = 9
"""The largest count below which each is tried."""
_AMOUNTS_MAX: Final = 4
"""How many smaller amounts of a capacity are tried."""


def of_claims(
    cluster: Cluster, claims: Sequence[JSONObject], groups: Sequence[NodeGroup], error: Fault
) -> Iterator[Change]:
    """Return the changes to the requests of a pod's claims.

    Args:
        claims: The claims; those that have devices are left alone.
    """
    pending = {index: (claim, requests_of(claim)) for index, claim in enumerate(claims) if not allocation_of(claim)}
    named = Counter(name for _, asks in pending.values() for name in {each.name for each in asks})
    compared = Counter(_compared(each) for claim, _ in pending.values() for each in _constraints(claim))
    is_found = any(group.taken for group in groups)
    for index, (claim, asks) in pending.items():
        full_name = full_name_of(claim)
        of_claim = f" of claim {full_name}"
        for constraint in _constraints(claim):
            what = f"without the constraint {_compared(constraint)}"
            if compared[_compared(constraint)] > 1:
                concerned = ", ".join(texts(constraint, "requests")) or "all requests"
                what += f" for {concerned}{of_claim if len(pending) > 1 else ''}"
            yield Change(what, 2, f"{index} {what}", in_claim(index, partial(_unconstrained, constraint)))
        for asked in asks:
            alike = [
                each
                for group in groups
                for each in group.requests
                if (each["claim"], each["request"]) == (full_name, asked.name)
            ]
            title = f"request {asked.name}{of_claim if named[asked.name] > 1 else ''}"
            yield from _Request(cluster, index, asked, alike, title, is_found).changes(error)


def _constraints(claim: JSONObject) -> list[JSONObject]:
    return items(claim, "spec", "devices", "constraints")


def _compared(constraint: JSONObject) -> str:
    """Write what a constraint compares, such as ``matchAttribute: example.com/numa``."""
    field = "matchAttribute" if "matchAttribute" in constraint else "distinctAttribute"
    return f"{field}: {text(constraint, field)}"


def _lacking(answers: Sequence[JSONObject]) -> dict[str, list[str]]:
    """Return the values of devices that were too small for a request, by the name of the attribute or capacity."""
    found: dict[str, dict[str, None]] = {}
    for each in answers:
        if lacking := each["lacking"]:
            found.setdefault(lacking["name"], {}).update(dict.fromkeys(lacking["values"]))
    return {name: list(values) for name, values in found.items()}


class _Request(NamedTuple):
    """A request, or an alternative, that may be changed.

    Args:
        place: The place of its claim.
        answers: The devices that nodes have left for it.
        is_found: Whether some node has devices for all requests, but too little of what these take of the node.
    """

    cluster: Cluster
    place: int
    asked: ClaimRequest
    answers: Sequence[JSONObject]
    title: str
    is_found: bool

    def changes(self, error: Fault) -> Iterator[Change]:
        """Return the changes to the request."""
        for selector in self.asked.own:
            yield from self._of_selector(selector, error)
        yield from self._of_count()
        yield from self._of_capacity()
        tolerated = items(self.asked.content, "tolerations")
        several = _taints(self.answers, tolerated)
        for taints in several:
            tolerations = [*tolerated, *(each.toleration for each in taints)]
            what = f"if {self.title} tolerates {' and '.join(map(str, taints))}"
            size = 3 if len(several) == 1 or taints != several[-1] else 4
            change = self._change(what, size, "taints", _setting(tolerations=tolerations))
            yield change._replace(parts=frozenset(taints))

    def _change(self, what: str, size: int, about: str, edit: Callable[[JSONObject], object]) -> Change:
        def change(claim: JSONObject) -> None:
            edit(value_at(claim, self.asked.path))

        return Change(what, size, f"{self.place} {self.asked.name} {about}", in_claim(self.place, change))

    def _of_selector(self, selector: JSONObject, error: Fault) -> Iterator[Change]:
        settings, expression = self.cluster.settings, text(selector, "cel", "expression")
        parts = parts_of(expression, settings.release, settings.gates)
        if parts is None:
            return
        unguarded = [read for read in parts.reads if not read.is_guarded] if error.missing else ()
        for read in unguarded:
            known = published(self.cluster.allocator.catalog.contents, read.holder)
            domains = {domain for domain, _ in known}
            names = {name for domain, name in known if domain == read.domain}
            having = [domain for domain, name in known if name == read.name]
            other = nearest(read.domain, domains) or (having[0] if len(having) == 1 else "")
            written, meant, offset = read.domain, other, read.domain_offset
            if names:
                written, meant, offset = read.name, nearest(read.name, names), read.offset
            start = offset + (expression[offset : offset + 1] in {'"', "'"})
            end = start + len(written)
            if meant and meant != written == expression[start:end]:  # it may be spelled otherwise there
                better = f"{expression[:start]}{meant}{expression[end:]}"
                what = f"with {meant} in place of {written} in the selector of {self.title}"
                yield self._reselect(what, 0, selector, better)
        if missing := {read[:3] for read in unguarded}:
            better = parts.guarded(missing)
            yield self._reselect(f"with the selector of {self.title} guarded: {better}", 0, selector, better)
        others = [each for name, values in _lacking(self.answers).items() for each in lowered(parts, name, values)]
        for is_respelt, what, better in of_values(parts, self._values):
            if is_respelt:
                yield self._reselect(f"with {what} in the selector of {self.title}", 0, selector, better)
            else:
                others.append((what, better))
        less = [self._reselect(f"with {what} in {self.title}", 1, selector, better) for what, better in others]
        without = self._reselect(f"without the selector {parts.wanted} of {self.title}", 2, selector)
        yield without._replace(closer=these(less), selects_less=True)

    def _reselect(self, what: str, size: int, selector: JSONObject, better: str = "") -> Change:
        """Change the expression of a selector, or drop the selector; the others stay as another change has made them.

        Args:
            better: The expression that it gets; empty to drop it.
        """
        instead = [{"cel": {"expression": better}}] if better else []

        def edit(asks: JSONObject) -> None:
            every = items(asks, "selectors")
            asks["selectors"] = [one for each in every for one in (instead if each == selector else [each])]

        return self._change(what, size, text(selector, "cel", "expression"), edit)

    def _values(self, read: Read) -> Collection[object]:
        """Return the values that devices have of an attribute."""
        return self.cluster.allocator.catalog.values(read.holder, f"{read.domain}/{read.name}")

    def _of_capacity(self) -> Iterator[Change]:
        """Lower a requested capacity to the amounts that devices have left, or correct its name; or drop it."""
        asked = self.asked.capacity
        # Those that are free and tolerated suffice, but for their capacity.
        short = [
            each
            for each in self.answers
            if each["enough"] < wanted_of(each) and (each["wanted"] is None or wanted_of(each) <= each["tolerated"])
        ]
        for name, values in _lacking(short).items():
            for each in _largest(values) if name not in asked else ():  # the whole, or the default, is too much
                what = f"with capacity.requests {name}: {each} in {self.title}"
                yield self._change(what, 1, "capacity", _setting(capacity={"requests": {**asked, name: each}}))
        known = {name for each in self.cluster.allocator.catalog.contents if asked for name in each.capacity}
        # Whether some node has enough devices for it alone, constraints aside: others take of the same ones.
        is_met = self.is_found or any(wanted_of(each) <= each["enough"] for each in self.answers)
        for name, wanted in asked.items():
            alike = [each for each in sorted(known) if each.rpartition("/")[2] == name.rpartition("/")[2]]
            alike = [each for each in alike if each not in asked]  # they differ in the domain
            meant = alike[0] if alike else nearest(name, known - set(asked))
            if name not in known and meant:
                better = {meant if each == name else each: value for each, value in asked.items()}
                what = f"with {meant} in place of {name} in {self.title}"
                yield self._change(what, 0, "capacity", _setting(capacity={"requests": better}))
            most = readable_quantity(str(wanted))
            if not most:
                continue
            for each in _largest(_lacking(self.answers).get(name, ()), most):
                yield self._with_amount(asked, name, each)
            if is_met:
                # To a fraction, to half of it at most.
                halves = [quantity_text(amount(most) >> bits) for bits in range(1, _AMOUNTS_MAX + 1)]
                *larger, least = (self._with_amount(asked, name, each) for each in halves)
                yield least._replace(closer=these(larger))
        if asked:
            what = f"without the capacity that {self.title} asks for"
            yield self._change(what, 3, "capacity", _setting(capacity={}))

    def _with_amount(self, asked: JSONObject, name: str, amount: str) -> Change:
        what = f"with {name} {amount} in place of {asked[name]} in {self.title}"
        return self._change(what, 2, "capacity", _setting(capacity={"requests": {**asked, name: amount}}))

    def _of_count(self) -> Iterator[Change]:
        """Lower the count to one, or as little as possible; if it is large, to what nodes have left, or by halves."""
        # How many devices nodes could give, each alone.
        had = {
            min(filter(None, (each["enough"], each["constrained"], each["together"])), default=0)
            for each in self.answers
        }
        wanted = self.asked.wanted
        if self.asked.is_for_all:
            instead, most = " in place of allocationMode All", max(map(wanted_of, self.answers), default=1)
            fewer = [self._with_count(most, each, instead) for each in sorted(had, reverse=True) if each > 1]
            yield self._with_count(most, 1, instead)._replace(closer=these(fewer))
        if wanted > 1:
            halves = {1 << bits for bits in range(wanted.bit_length())}
            counts = range(wanted) if wanted <= _COUNTS_MAX else {*had, wanted - 1, *halves}
            less = [self._with_count(wanted, each) for each in sorted(counts, reverse=True) if 1 < each < wanted]
            yield self._with_count(wanted, 1)._replace(closer=these(less))

    def _with_count(self, wanted: int, count: int, instead: str = "") -> Change:
        what = f"with count {count}{instead} in {self.title}"
        edit = _setting(allocationMode="ExactCount", count=count)
        return self._change(what, min(wanted - count, _FEWER) + 1, "count", edit)


def _taints(answers: Sequence[JSONObject], tolerations: Sequence[JSONObject]) -> list[list[Taint]]:
    """Return the sets of taints that keep devices out; and all of them together.

    The smallest first: those whose keys are tolerated already, but not so; those that evict no pods; the most common.
    """
    found = taints_of(answers)
    keys = {text(each, "key") for each in tolerations}

    def cost(taints: frozenset[Taint]) -> tuple[int, int, int, int, list[Taint]]:
        new = sum(each.key not in keys for each in taints)
        return len(taints), new, sum(each.effect == "NoExecute" for each in taints), -found[taints], sorted(taints)

    several = sorted(found, key=cost)[:4]
    every = frozenset[Taint]().union(*found)
    return [sorted(each) for each in dict.fromkeys([*several, *([every] if every else [])])]


def _largest(values: Iterable[str], below: Quantity | None = None) -> list[str]:
    """Return the largest of some amounts, or of those below another one."""
    known = {each for value in values if (each := readable_quantity(value)) and (below is None or each < below)}
    return [str(each) for each in sorted(known, reverse=True)[:_AMOUNTS_MAX]]


def _setting(**fields: Any) -> Callable[[JSONObject], object]:
    return lambda asks: asks.update(fields)


def _unconstrained(constraint: JSONObject, claim: JSONObject) -> None:
    claim["spec"]["devices"]["constraints"] = [each for each in _constraints(claim) if each != constraint]


_AT_LEAST: Final = frozenset({">", ">="})
_AT_MOST: Final = frozenset({"<", "<="})


Other = tuple[str, str]
"""The difference of another selector, and its expression."""


def lowered(parts: Parts, name: str, values: Iterable[str]) -> Iterator[Other]:
    """Return a selector with lower thresholds, or higher ones where it sets an upper limit; the nearest first.

    Args:
        name: The attribute or capacity, as :class:`~webhook.deviceselectors.parts.Blame` names it.
        values: The values that devices have of it: whole numbers, quantities or versions.
    """
    for part in parts.all:
        found = comparison(part)
        if found is None or label(found.subject) != name or found.operator not in _AT_LEAST | _AT_MOST:
            continue
        call = found.wanted if isinstance(found.wanted, Call) else None
        literal = call.arguments[0] if call else found.wanted
        read = _version if call and call.function == "semver" else readable_quantity
        if not isinstance(literal, Literal) or (wanted := read(str(literal.value))) is None:
            continue
        at_least = found.operator in _AT_LEAST
        known: dict[str, Any] = {value: number for value in values if (number := read(value)) is not None}
        fine = [each for each in known if (known[each] < wanted if at_least else wanted < known[each])]
        for value in sorted(fine, key=known.__getitem__, reverse=at_least):
            if better := parts.rewritten(literal, json.dumps(value) if call else value):
                yield f"{name} {found.operator} {value}", str(better.value)


def _version(text: str) -> semver.Semver | None:
    """Read a version, None if the text is malformed."""
    try:
        return semver.parse(text)
    except EvaluationError:
        return None


def of_values(parts: Parts, values: Callable[[Read], Collection[object]]) -> Iterator[tuple[bool, str, str]]:
    """Yield selectors with other values that devices have in place of one that the selector wants.

    If no device has the wanted value, only the value that is spelled nearly like it comes into question.

    Args:
        values: Returns the values that devices have of an attribute.

    Yields:
        Whether no device has the wanted value, what differs, and the expression.
    """
    equalities = (each for each in parts.all if isinstance(each, Call) and each.function == "_==_")
    for subject, constant in (pair for each in equalities for pair in (each.arguments, reversed(each.arguments))):
        read = read_of(subject)
        if read is None or not isinstance(constant, Literal):
            continue
        known = values(read)
        is_respelt = not any(constant.value == each and type(constant.value) is type(each) for each in known)
        instead = sorted((each for each in known if each != constant.value), key=str)
        if is_respelt:
            spelled = {str(json.loads(json.dumps(each))).lower(): each for each in known}
            instead = [spelled[near] for near in [nearest(str(constant.value).lower(), spelled)] if near]
        for written in map(json.dumps, instead):
            if better := parts.rewritten(constant, written):
                yield is_respelt, f"{read.name} = {written}", str(better.value)


# -- releases of claims that have devices

_RELEASED_MAX: Final = 6
"""The number of claims whose release is tried, each alone."""
_LEFT: Final = frozenset({"consumer"})
_RELEASED: Final = _LEFT | {"devices"}
"""The effects of releases on a claim: the release for all pods does more than that for one."""


def releases(cluster: Cluster, needs: Needs, groups: Sequence[NodeGroup]) -> Iterator[Change]:
    """Return the changes that release claims, with the pods that use them.

    Args:
        needs: The needs of the pod; its own claims may be in use by others, on other nodes.
    """
    own = {
        full_name_of(use.claim): index
        for index, use in enumerate(needs.uses)
        if allocation_of(use.claim) and len(reserved_for(use.claim)) > use.consumer.has(use.claim)
    }
    for name, index in own.items():
        if len(reserved_for(needs.uses[index].claim)) >= CONSUMERS_MAX:
            what = f"once one of the {CONSUMERS_MAX} pods of claim {name} is gone"
            yield Change(
                what,
                3,
                f"claim {name}",
                in_claim(index, lambda claim: claim["status"]["reservedFor"].pop(0)),
                parts=_LEFT,
            )
    held = {one["claim"]: one for g in groups for request in g.requests for one in request["heldBy"]}
    nodes = {node for g in groups if g.resolvable for node in g.nodes}
    claims = cluster.inventory.all("ResourceClaim") if nodes else ()
    on = [full_name_of(each) for each in claims if not cluster.nodes_of(each).isdisjoint(nodes)]
    yield from islice(_released(cluster, needs.pod, own, held, on), _RELEASED_MAX)


def _released(
    cluster: Cluster, pod: JSONObject, own: Mapping[str, int], held: Mapping[str, JSONObject], on: Iterable[str]
) -> Iterator[Change]:
    """Release claims with devices, but for those of copies of a pod, and of pods that are scheduled together with it.

    Args:
        own: The places of the pod's own claims.
        held: The claims whose devices the pod wants; other pods of its workload would take them in its place.
        on: The claims of pods on nodes that lack room for it.
    """
    owners, group = set(owners_of(pod)), at(pod, "spec", "schedulingGroup")
    for name in dict.fromkeys((*own, *held, *on)):
        claim, using = cluster.claim(name), held.get(name) or holder(cluster, name, 0)
        if claim is None or not allocation_of(claim) or using["state"] == COPY:
            continue
        namespace = namespace_of(claim)
        pods = [cluster.inventory.find("Pod", each, namespace) or {} for each in using["pods"]]
        is_same = any(not owners.isdisjoint(owners_of(each)) for each in pods)
        is_of_gang = bool(group) and any(at(each, "spec", "schedulingGroup") == group for each in pods)
        if (is_same and name in {*own, *held}) or (is_of_gang and namespace == namespace_of(pod)):
            continue
        count = len(results_of(claim))
        size = f" with {count} devices" if count > 1 else ""
        by = ", by fewer replicas" if is_same else ""
        what = f"once claim {name}{size} is released{used_by(using)}{by}"
        change = Change(what, 5 if is_same else 4, f"claim {name}", released=claim, parts=_RELEASED)
        if name in own:
            change = change._replace(edit=in_claim(own[name], lambda claim: claim.update(status={})))
        yield change


# -- of what a pod demands of its node: tolerations, node selectors, smaller requests; nodes that recover

_STATES_MAX: Final = 8
"""How many sets of taints are tolerated, each alone."""
_MEBI: Final = 1024 * 1024


def of_pods(cluster: Cluster, needs: Needs, groups: Sequence[NodeGroup]) -> Iterator[Change]:
    """Return the changes to what a pod demands of its node, extended resources among it, but for its claims."""
    demand, nodes = needs.demand, cluster.nodes[:NODES_MAX]
    taken = {cluster.index[node]: group.taken for group in groups for node in group.nodes if group.taken}
    yield from _of_names(cluster, needs)
    yield from _of_counts(cluster, needs, groups)
    yield from _of_selection(demand, nodes, cluster.index)
    yield from of_taints(demand, nodes)
    for name, wanted in demand.requests.items():
        # No smaller amount helps with a resource that no node has.
        if not cluster.extended.has(name) and any(name in each.allocatable for each in nodes):
            left = [
                None if (most := each.left(name)) is None else most - taken.get(index, {}).get(name, 0)
                for index, each in enumerate(nodes)
            ]
            yield from _of_resource(name, wanted, left)


def _of_selection(demand: Demand, nodes: Sequence[NodeState], known: Container[str]) -> Iterator[Change]:
    spec, selector = demand.spec, mapping(demand.spec, "nodeSelector")
    terms = items(mapping(spec, *REQUIRED), "nodeSelectorTerms")
    if all(wants(spec, each.node) for each in nodes if selector or terms):
        return
    if selector:
        for written, meant, better in _relabelled(
            selector, [mapping(each.node, "metadata", "labels") for each in nodes]
        ):
            what = f"with nodeSelector {meant} in place of {written}"
            yield Change(what, 0, "nodeSelector", demanding("spec", {"nodeSelector": better}))
        yield Change("without the pod's nodeSelector", 2, "nodeSelector", demanding("spec", {"nodeSelector": None}))
    # A term may be for certain nodes, such as that of a DaemonSet's pod; it stays if at least one of them exists.
    named = [(each, nodes_named_by(each)) for each in terms if items(each, "matchFields")]
    exists = [each for each, names in named if names is None or any(name in known for name in names)]
    if len(exists) < len(terms) or any(items(each, "matchExpressions") for each in terms):
        affinity = {key: value for key, value in mapping(spec, "affinity").items() if key != "nodeAffinity"}
        if exists:
            kept = [{"matchFields": each["matchFields"]} for each in exists]
            affinity["nodeAffinity"] = {REQUIRED[-1]: {"nodeSelectorTerms": kept}}
        yield Change("without the pod's node affinity", 2, "affinity", demanding("spec", {"affinity": affinity}))


def _relabelled(selector: JSONObject, labels: Sequence[JSONObject]) -> Iterator[tuple[str, str, JSONObject]]:
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


def of_taints(demand: Demand, nodes: Sequence[NodeState]) -> Iterator[Change]:
    """Tolerate exactly the taints of a node; taints that reflect the node's state have to go instead."""
    states: dict[frozenset[Taint], list[int]] = {}
    for index, node in enumerate(nodes):
        cordon = [UNSCHEDULABLE] if node.is_cordoned(demand.tolerations) else []
        if untolerated := frozenset([*node.untolerated(demand.tolerations), *cordon]):
            states.setdefault(untolerated, []).append(index)
    for taints, places in sorted(states.items(), key=lambda each: (len(each[0]), -len(each[1])))[:_STATES_MAX]:
        ordered = sorted(taints)
        to_tolerate = [str(each) for each in ordered if each.key not in NODE_STATES]
        parts = [f"if the pod tolerates {' and '.join(to_tolerate)}"] if to_tolerate else []
        if to_recover := [each.key for each in ordered if each.key in NODE_STATES]:
            parts.append(once_recovered(dict.fromkeys(to_recover), [nodes[each].name for each in places]))
        only = frozenset(places) if to_recover else None
        edit = partial(_tolerating, ordered)
        yield Change(" and ".join(parts), 4 if to_recover else 2, "taints", edit, nodes=only)


def _tolerating(taints: Iterable[Taint], needs: Needs) -> Needs:
    stated = [*needs.demand.tolerations.stated, *(each.toleration for each in taints)]
    return needs._replace(demand=needs.demand._replace(tolerations=Tolerations(stated)))


def _of_resource(name: str, wanted: int, left: Sequence[int | None]) -> Iterator[Change]:
    """Lower a request to the amounts left on nodes that fit otherwise."""
    if all(each is None or wanted <= each for each in left):
        return

    def requesting(amount: int) -> Change:
        what = f"with {name} {amount_text(name, amount)} in place of {amount_text(name, wanted)}"
        return Change(what, 2, name, demanding("requests", {name: amount}))

    def closer(fitting: Collection[int]) -> Iterable[Change]:
        amounts = {left[each] or 0 for each in fitting}
        if name in NATIVE and name != CPU:  # to numbers of bytes that people write
            amounts = {each - each % _MEBI if each > _MEBI else each for each in amounts}
        return map(requesting, sorted((each for each in amounts if 0 < each < wanted), reverse=True)[:4])

    yield Change(f"with no {name} requested", 3, name, demanding("requests", {name: None}), closer=closer)


# -- extended resources that devices provide


def _of_names(cluster: Cluster, needs: Needs) -> Iterator[Change]:
    """Correct the names of resources that neither classes nor nodes provide."""
    wanted = [name for name in needs.demand.requests if is_extended(name) and not cluster.extended.has(name)]
    known = {*cluster.extended.classes, *(name for node in cluster.nodes if wanted for name in node.allocatable)}
    for name in wanted:
        if name not in known and (meant := nearest(name, known)):
            yield Change(f"with {meant} in place of {name}", 0, name, _in_containers(name, meant=meant))


def _of_counts(cluster: Cluster, needs: Needs, groups: Sequence[NodeGroup]) -> Iterator[Change]:
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
                        _in_containers(name, container=container, count=count),
                    )
                    for count in (1, *sorted({n for n in (*had, wanted - 1) if 1 < n < wanted}, reverse=True))
                ]
                yield least._replace(closer=these(closer))


def _in_containers(
    resource: str, *, container: str = "", meant: str = "", count: int | None = None
) -> Callable[[Needs], Needs]:
    """Return a function that changes the name or the amount of a resource that containers request.

    Args:
        container: The only container to change; empty for all.
    """

    def edit(needs: Needs) -> Needs:
        pod = deepcopy(needs.pod)
        for each in _containers_requesting(pod, resource):
            if container not in {"", text(each, "name")}:
                continue
            for stated in (mapping(each, "resources", field) for field in ("requests", "limits")):
                if resource in stated:
                    asked = stated.pop(resource)
                    stated[meant or resource] = asked if count is None else str(count)
        before, after = requests(needs.pod), requests(pod)
        changes = {name: after.get(name) for name in {**before, **after} if before.get(name) != after.get(name)}
        return demanding("requests", changes)(needs)._replace(pod=pod)

    return edit


def _containers_requesting(pod: JSONObject, resource: str) -> list[JSONObject]:
    """Return the containers that want a resource."""
    containers = (*items(pod, "spec", "initContainers"), *items(pod, "spec", "containers"))
    return [each for each in containers if resource in container_requests(each)]


# -- of the cluster: releases, gates, pools, drivers of classes, DeviceTaintRules

_OPENING: Final = (
    "DRAAdminAccess",
    "DRAConsumableCapacity",
    "DRADerivedAttributes",
    "DRADeviceBindingConditions",
    "DRAExtendedResource",
    "DRAListTypeAttributes",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
)
"""The feature gates without which devices are left out, or requests refused; the others only rule out more."""

_VARIANTS_MAX: Final = 16
"""The number of changed clusters that are kept."""
_WAIT: Final = 5
"""The cost of a cluster update: more than that of any change of a pod."""
RELEASE: Final = "release"
"""What updates change: only the first that helps is of interest."""


def of_cluster(cluster: Cluster, needs: Needs, groups: Sequence[NodeGroup], error: Fault) -> Iterator[Change]:
    """Return the changes to a cluster that may help a pod; each leads to a cluster that is made once for all pods."""
    if len(cluster.nodes) > NODES_MAX:
        return
    for what, about, settings in _schedulers(cluster, needs, groups, error):
        with suppress(ValueError):  # no allocator supports the gates
            yield _change(cluster, what, about, settings)
    if pools := completed(cluster):
        slices = [each for several in pools.values() for each in several]
        names = ", ".join(some_of(["/".join(each) for each in pools], 3, "…"))
        count = sum(len(items(each, "spec", "devices")) for each in slices)
        what = f"pool {names}" if len(pools) == 1 else f"{len(pools)} pools ({names})"
        devices = f" with {count} devices" if count > 1 else ""
        what = f"once {what}{devices} {'is' if len(pools) == 1 else 'are'} complete"
        yield _change(cluster, what, "pools", ResourceSlice=_with(cluster, slices))
    for device_class, what in _of_classes(cluster, needs, groups, error):
        classes = _with(cluster, [device_class])
        yield _change(cluster, what, what, DeviceClass=classes)._replace(objects=[device_class])
    taints = frozenset().union(*taints_of(each for group in groups for each in group.requests))
    for rule in () if cluster.settings.taint_rules_ignored else cluster.rules_of(taints)[:3]:
        what = f"once DeviceTaintRule {name_of(rule)} is deleted"
        left = [each for each in cluster.inventory.all("DeviceTaintRule") if each is not rule]
        yield _change(cluster, what, what, DeviceTaintRule=left)


def _change(
    cluster: Cluster, what: str, about: str, settings: Settings | None = None, **others: list[JSONObject]
) -> Change:
    """Return a change with the cluster that it leads to, which is kept for other pods.

    Args:
        settings: The settings of that cluster, if they differ.
        others: Its objects of a kind, if they differ.

    Raises:
        ValueError: There is none.
    """
    made = cluster.variants.pop(what, None) or cluster.variant(settings or cluster.settings, **others)
    if len(cluster.variants) >= _VARIANTS_MAX:
        del cluster.variants[next(iter(cluster.variants))]
    cluster.variants[what] = made
    return Change(what, _WAIT, about, cluster=made)


def _schedulers(
    cluster: Cluster, needs: Needs, groups: Sequence[NodeGroup], error: Fault
) -> Iterator[tuple[str, str, Settings]]:
    """Return other settings of the scheduler: with one feature gate more or less, and of the later releases."""
    if any(each.taken for each in groups):
        without = cluster.settings._replace(gates=cluster.settings.gates - {NODE_ALLOCATABLE})
        yield f"without the feature gate {NODE_ALLOCATABLE}", NODE_ALLOCATABLE, without
    asked = (each for claim in needs.claims for each in requests_of(claim))
    # Without these, a gate changes nothing but what expressions may read.
    is_stated = {
        "DRADerivedAttributes": any("derivedAttributes" in each.content for each in asked),
        "DRAListTypeAttributes": not all(each.is_plain for each in cluster.allocator.catalog.contents),
    }
    for gate in _OPENING:
        is_off = gate not in cluster.settings.gates and gates.known(gate, cluster.settings.release)
        if is_off and (error or is_stated.get(gate, True)):
            with_gate = cluster.settings._replace(gates=cluster.settings.gates | {gate})
            yield f"with the feature gate {gate}", gate, with_gate
    for settings in cluster.settings.later:
        ignores_more = settings.taint_rules_ignored and not cluster.settings.taint_rules_ignored
        # A release that ignores the taints of DeviceTaintRules would only seem to help.
        if not (ignores_more and cluster.inventory.knows("DeviceTaintRule")):
            yield f"on Kubernetes {settings}", RELEASE, settings


def _of_classes(
    cluster: Cluster, needs: Needs, groups: Sequence[NodeGroup], error: Fault
) -> Iterator[tuple[JSONObject, str]]:
    """Return better classes of a pod's claims, and what is better.

    If no node has devices of any, one selects the driver of published devices whose name is nearly that which it has.
    A selector that fails on devices without an attribute is guarded.
    """
    inventory, settings = cluster.inventory, cluster.settings
    counts = [each["ofClass"] for group in groups for each in group.requests]
    is_empty = bool(counts) and not any(counts)
    if not is_empty and not error.missing:
        return
    known = {text(each, "spec", "driver") for each in inventory.all("ResourceSlice")}
    for name in sorted({each.class_name for claim in needs.claims for each in requests_of(claim)}):
        device_class = inventory.find("DeviceClass", name) or {}
        written = [text(each, "cel", "expression") for each in items(device_class, "spec", "selectors")]
        every = {each: parts_of(each, settings.release, settings.gates) for each in written}
        selected = {driver for parts in every.values() if parts for driver in parts.drivers}
        unknown = sorted(selected - known) if is_empty else ()
        misspelt = by_key((meant, driver) for driver in unknown if (meant := nearest(driver, known)))
        for meant, wrong in misspelt.items():
            pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, wrong))})(?![\w.-])")
            better = [meant.join(pattern.split(each)) for each in written]
            yield _selecting(device_class, better), f"if DeviceClass {name} selects driver {meant}"
        for expression, parts in every.items():
            missing = {one[:3] for one in parts.reads if one.name == error.missing} if parts else set()
            safe = parts.guarded(missing) if parts and missing else expression
            if safe != expression:
                better = [safe if each == expression else each for each in written]
                yield _selecting(device_class, better), f"with the selector of DeviceClass {name} guarded: {safe}"


def _selecting(device_class: JSONObject, expressions: Iterable[str]) -> JSONObject:
    """Return a class with other selectors."""
    selectors = [{"cel": {"expression": each}} for each in expressions]
    return {**device_class, "spec": {**mapping(device_class, "spec"), "selectors": selectors}}


def _with(cluster: Cluster, objects: Sequence[JSONObject]) -> list[JSONObject]:
    """Return the objects of a kind, with some others in place of those of the same names."""
    better = {name_of(each): each for each in objects}
    return [better.get(name_of(each), each) for each in cluster.inventory.all(text(objects[0], "kind"))]


def completed(cluster: Cluster) -> dict[PoolId, list[JSONObject]]:
    """Return the slices of each pool that is incomplete, with their number as their count."""
    found: dict[PoolId, list[JSONObject]] = {}
    for pool, slices in cluster.allocator.catalog.current.items():
        if any(each.count > len(slices) for each in slices):
            for each in slices:
                raw: Any = cluster.inventory.find("ResourceSlice", each.name)
                of_pool = {**raw["spec"]["pool"], "resourceSliceCount": len(slices)}
                found.setdefault(pool, []).append({**raw, "spec": {**raw["spec"], "pool": of_pool}})
    return found


# -- trying the changes

_TRIED_MAX: Final = 24
"""The number of single changes that are tried."""
_PAIRED_MAX: Final = 60
"""The number of pairs of changes that are tried, if none helps alone."""
_CLOSER_MAX: Final = 8
"""How many changes that do less are tried in place of one that helps."""
_FILTERED_MAX: Final = 100_000
"""The number of checks of nodes for one pod, all changes together."""
_SECONDS: Final = 10.0
"""The time in which changes are tried for one pod."""


class Made(NamedTuple):
    """The outcome for a pod with a change made.

    Args:
        needs: The needs of the pod then.
        devices: The devices that it would get.
        released: The claims that are released, by full name.
        objects: The objects of the cluster that differ then.
        is_manifest: Whether it is all in manifests: of the pod, its claims, and these objects.
        is_release: Whether it is nothing but the release of a claim.
    """

    needs: Needs
    devices: Sequence[DeviceID]
    released: Sequence[str] = ()
    objects: Sequence[JSONObject] = ()
    is_manifest: bool = True
    is_release: bool = False

    @classmethod
    def on(cls, node: int, round_: Round) -> Made:
        """Let a pod have its devices on a node."""
        result = round_.result_on(node)
        each = result.devices if result else ()
        return cls(round_.needs, [(driver, pool, device) for found in each for _, driver, pool, device in found])


class Suggestion(NamedTuple):
    """Changes that together let a pending pod fit.

    Args:
        change: The changes, combined into one.
        nodes: The number of nodes that they open.
        at_least: Whether nodes were left untried, so that they may open more.
        opened: The places of these nodes, the best first, as far as they are known.
        made: Makes the changes for a while, to see what the pod would get on the first of them.
        changes: The changes that were tried.
    """

    change: str
    nodes: int
    at_least: bool = False
    opened: Sequence[int] = ()
    made: Callable[[], Made] | None = None
    changes: tuple[Change, ...] = ()

    @property
    def selects_less(self) -> bool:
        """Whether a selector is dropped."""
        return any(each.selects_less for each in self.changes)

    def as_json(self) -> JSONObject:
        """Return it as JSON."""
        return {"change": self.change, "nodes": self.nodes, "atLeast": self.at_least}


class Advice(NamedTuple):
    """The changes that would let a pod fit.

    Args:
        suggestions: The changes, the smallest first.
        is_complete: Whether there was time to try all.
    """

    suggestions: list[Suggestion]
    tried: int
    is_complete: bool


class Suggestions:
    """Suggests changes that let a pending pod fit, by trying them.

    Args:
        cluster: The cluster, as it was when the pod was refused; suggestions do not change it.
    """

    def __init__(self, cluster: Cluster, needs: Needs) -> None:
        self._cluster, self._needs = cluster, needs
        self._filtered = self._tried = 0

    def advice(self, groups: Sequence[NodeGroup], error: Fault) -> Advice:
        """List the changes that would let the pod fit.

        Args:
            groups: The nodes that refuse it.
            error: The error that made the scheduler give up on it; empty without one.
        """
        best: list[Suggestion] = []
        try:
            end, outer = monotonic() + _SECONDS, current().deadline
            with limited(Budget(deadline=end if outer is None else min(end, outer))):
                for each in self._every(groups, error):
                    best.append(each)  # noqa: PERF402 - those found until the deadline count
        except DeadlineExceededError:
            is_complete = False
        else:
            is_complete = True
        # What is tried first costs less; selectors are dropped last.
        best.sort(key=lambda each: (each.selects_less, sum(one.size for one in each.changes), -each.nodes))
        return Advice(best, self._tried, is_complete)

    def _every(self, groups: Sequence[NodeGroup], error: Fault) -> Iterator[Suggestion]:
        """Try changes to the pod, then those to the cluster; if none of these helps, one of each together."""
        helps, cluster, needs = False, self._cluster, self._needs
        changes = self._of_pod(groups, error)
        if other := [each for each in changes if not each.size or each.selects_less][:1]:
            groups = [*groups, *self._groups(other)]  # to see what a selector hides
            changes = self._of_pod(groups, error)
        if needs.claims or any(group.requests for group in groups):
            changes = _smallest([*changes, *releases(cluster, needs, groups)])
        for found in self._alone_or_paired(changes):
            helps = True
            yield found
        updates = list(of_cluster(cluster, needs, groups, error))
        updated = False
        for update in updates:
            if not (updated and update.about == RELEASE):
                for found in self._try((update,)):
                    helps = True
                    updated = updated or update.about == RELEASE
                    yield found
        if not helps:
            yield from self._paired([(change, update) for update in updates for change in changes])

    def _groups(self, changes: Sequence[Change]) -> list[NodeGroup]:
        """Return the nodes that refuse the pod with changes made."""
        with ExitStack() as released:
            round_ = self._round(changes, released)
            return node_groups(self._verdicts(round_).by_node, round_)

    def _of_pod(self, groups: Sequence[NodeGroup], error: Fault) -> list[Change]:
        """Return the changes to a pod and its claims."""
        cluster, needs = self._cluster, self._needs
        return _smallest([*of_claims(cluster, needs.claims, groups, error), *of_pods(cluster, needs, groups)])

    def _alone_or_paired(self, changes: Sequence[Change]) -> Iterator[Suggestion]:
        """Try each change alone; if none helps, in pairs.

        If only the loss of a selector helps, pairs that keep all selectors are tried, too.
        """
        alone: list[Suggestion] = []
        for change in changes:
            self._tried += 1
            for found in self._try((change,)):
                if not any(found.nodes <= each.nodes and found.changes[0].exceeds(each.changes[0]) for each in alone):
                    alone.append(found)
                    yield found
        if all(each.selects_less for each in alone):
            for found in self._paired(combinations(changes, 2)):
                if not (alone and found.selects_less):
                    yield found

    def _paired(self, pairs: Iterable[tuple[Change, Change]]) -> Iterator[Suggestion]:
        """Try pairs of changes of different things, the smallest first."""
        different = [pair for pair in pairs if pair[0].about != pair[1].about]
        for pair in sorted(different, key=lambda pair: pair[0].size + pair[1].size)[:_PAIRED_MAX]:
            self._tried += 1
            yield from islice(self._try(pair), 1)

    def _try(self, changes: tuple[Change, ...]) -> Iterator[Suggestion]:
        """Try changes together: with the smallest that help in place of each, and that open as many nodes."""
        fitting, at_least = self._nodes(changes)
        if not fitting:
            return
        exact, nodes = self._least(changes, fitting, opening=1)
        yield self._suggestion(exact, nodes, at_least=at_least)
        if len(fitting) > len(nodes):
            most, nodes = self._least(changes, fitting, opening=len(fitting))
            yield self._suggestion(most, nodes, at_least=at_least)

    def _suggestion(self, changes: tuple[Change, ...], opened: Sequence[int], *, at_least: bool) -> Suggestion:
        said, made = " and ".join(each.text for each in changes), partial(self._made, changes, opened[0])
        return Suggestion(said, len(opened), at_least, opened, made, changes)

    def _least(
        self, changes: tuple[Change, ...], fitting: list[int], *, opening: int
    ) -> tuple[tuple[Change, ...], list[int]]:
        """Put the smallest change in place of each that still opens some number of nodes; return the nodes, too."""
        exact, nodes = changes, fitting
        for place, change in enumerate(changes):
            for closer in islice(change.closer(fitting), _CLOSER_MAX):
                less = (*exact[:place], closer, *exact[place + 1 :])
                found, _ = self._nodes(less)
                if len(found) >= opening:
                    exact, nodes = less, found
                    break
        return exact, nodes

    def _nodes(self, changes: Sequence[Change]) -> tuple[list[int], bool]:
        """Return the nodes that would accept the pod, and whether others were left untried."""
        with ExitStack() as released:
            round_ = self._round(changes, released)
            if self._filtered > _FILTERED_MAX:
                raise DeadlineExceededError
            if not round_.is_reservable:
                return [], False
            fitting, errors = (verdicts := self._verdicts(round_)).fitting, verdicts.errors
            nodes = [] if errors else sorted(fitting, key=lambda node: (-fitting[node], node))
            return _concerned(changes, nodes), bool(_concerned(changes, verdicts.nodes[NODES_MAX:]))

    def _verdicts(self, round_: Round) -> Verdicts:
        verdicts = round_.cluster.shapes.verdicts(round_, at_most=NODES_MAX)
        self._filtered += len(verdicts.by_node)
        return verdicts

    def _made(self, changes: Sequence[Change], node: int) -> Made:
        with ExitStack() as released:
            made = Made.on(node, self._round(changes, released))
        return made._replace(
            released=[full_name_of(each.released) for each in changes if each.released is not None],
            objects=[obj for each in changes for obj in each.objects],
            is_manifest=all(each.released is None and (each.cluster is None or each.objects) for each in changes),
            is_release=len(changes) == 1 and changes[0].released is not None,
        )

    def _round(self, changes: Sequence[Change], released: ExitStack) -> Round:
        """Return a check of nodes with changes made; claims are released until the end of a block."""
        cluster, needs = self._cluster, self._needs
        for change in changes:
            needs, cluster = change.edit(needs), change.cluster or cluster
            if change.released is not None:
                released.enter_context(self._cluster.without(change.released))
        return Round(cluster, needs)


def _smallest(changes: Iterable[Change]) -> list[Change]:
    """Return the changes that are tried, the smallest first."""
    return sorted(changes, key=lambda each: each.size)[:_TRIED_MAX]


def _concerned(changes: Sequence[Change], nodes: Iterable[int]) -> list[int]:
    """Return the nodes that all of some changes concern."""
    return [node for node in nodes if all(each.nodes is None or node in each.nodes for each in changes)]
