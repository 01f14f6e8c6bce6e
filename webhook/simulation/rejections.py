"""Explains why nodes reject a pod, device by device; and in one sentence why it stays pending."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

from webhook.allocation import Attempt
from webhook.allocation.devices import Content, Taint
from webhook.allocation.explain import STEPS, Conflict, Funnel, Reason, conflict, constraint, spread
from webhook.cel.errors import EvaluationError
from webhook.deviceselectors.fleet import padded, shortened
from webhook.deviceselectors.parts import Blame, Parts, parts_of
from webhook.engine.prescheduled import REQUIRED
from webhook.formats.quantities import readable_quantity
from webhook.grouping import by_key
from webhook.inventory import has_ended
from webhook.inventory.affinity import nodes_named, requirement, selects, unmatched
from webhook.inventory.claims import POD, Consumer, DeviceID, device_of, reserved_for, results_of
from webhook.inventory.resources import NATIVE, PODS, resource_of
from webhook.objects import JSONObject, full_name_of, items, mapping, namespace_of, text
from webhook.simulation.binding import awaited, serves
from webhook.simulation.cluster import (
    AFFINITY,
    RESOURCES,
    TAINTS,
    TOO_MANY,
    UNAVAILABLE,
    UNNAMED,
    Cluster,
    Demand,
    Message,
    Needs,
    NodeState,
    NodeVerdict,
    Round,
    amount_text,
    state_of,
    untolerated,
)
from webhook.simulation.nodeallocatable import total
from webhook.spelling import did_you_mean, either, some_of

# -- who holds devices

TERMINATING: Final = "terminating"
COPY: Final = "counted here"
"""The state of pods that exist only to count how many fit."""


def holder(cluster: Cluster, name: str, devices: int) -> JSONObject:
    """Describe a claim that has devices which a pod wants.

    Args:
        name: The claim, as namespace/name.
        devices: The number of such devices.
    """
    claim = cluster.claim(name)
    users = reserved_for(claim)
    pods = [each.name for each in users if each.resource == POD]
    others = [str(each) for each in users if each.resource != POD]
    state = "" if claim is None else _state(cluster, claim, users)
    return {"claim": name, "pods": pods, "others": others, "state": state, "devices": devices}


def used_by(held: JSONObject) -> str:
    """Write who uses a claim, such as ``(pod train-0, finished)``; empty if that is unknown.

    Args:
        held: The claim, as :func:`holder` describes it.
    """
    pods, others, state = _listed(held["pods"]), _listed(held["others"]), held["state"]
    said = ", ".join(filter(None, (pods and f"pod {pods}", state, others)))
    return f" ({said})" if said else ""


def _listed(names: list[str]) -> str:
    return ", ".join(some_of(names, 2, "…")) if names else ""


def _state(cluster: Cluster, claim: JSONObject, users: Sequence[Consumer]) -> str:
    """Return why a claim may soon be released, or never is: the state of its pods, with names where these differ."""
    if not users:
        return TERMINATING if claim["metadata"].get("deletionTimestamp") else "used by no pod"
    namespace = namespace_of(claim)
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, uid in [(each.name, each.uid) for each in users if each.resource == POD]:
        pod, state = cluster.inventory.referred("Pod", name, uid, namespace), ""
        if f"{namespace}/{name}" in cluster.copies:
            state = COPY
        elif pod is None and cluster.inventory.find("Pod", name, namespace):
            state = "an earlier one of this name"
        elif pod is None:
            state = "not found" if namespace in cluster.namespaces_of_pods else ""
        elif has_ended(pod):
            state = "finished"
        elif pod["metadata"].get("deletionTimestamp"):
            state = TERMINATING
        found[state].append(name)
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{_listed(names)} {state}" for state, names in found.items() if state)


def elsewhere(cluster: Cluster, claim: JSONObject) -> str:
    """Explain why the devices of an allocated claim cannot be used on a node."""
    name = f"claim {full_name_of(claim)}"
    devices = awaited(claim, cluster.now) if cluster.waits else []
    if troubled := [each.text for each in devices if each.is_unavailable]:
        return f"{name}: {'; '.join(troubled)}"
    homes = [each.name for each in cluster.nodes if serves(claim, each.node)]
    held = used_by(holder(cluster, full_name_of(claim), 0))
    return f"{name}{held} has its devices on {shortened(homes) or 'no known node'}"


# -- nodes that refuse a pod for the same reasons, and the devices that they have left

_WISH_MAX: Final = 80
"""A longer description of a request's selection is left out."""
_LOOKED_AT_MAX: Final = 64
"""The number of nodes of a group whose obstacles are examined."""
_BLAMED_MAX: Final = 64
"""The number of contents of devices of which is remembered why selectors exclude them."""
_VALUES_MAX: Final = 4
"""The number of values of devices that a reason names."""
NAMED_MAX: Final = 32
"""The number of nodes that are named, of those that suit a pod, or refuse it for the same reasons."""
_NO_DEVICES: Final = "no ResourceSlice has devices for the node"
_WEIGHTS: Final = {"enough": 1_000_000, "selected": 1_000, "seen": 1}


class NodeGroup(NamedTuple):
    """Nodes that refuse a pod for the same reasons.

    Args:
        reasons: The scheduler's messages for each.
        requests: The devices left for each request, as `_request` describes them.
        resolvable: Whether the nodes would accept the pod if other pods were gone, its devices aside.
        details: Details of the reasons: where else a claim has its devices, why requests cannot be met together.
        by_devices: Whether devices are the reason; if not, but there are requests, their devices are missing, too.
        conflict: Why requests cannot be met together, without the devices of each; empty if that is not known.
        taken: The amounts that the pod's devices would take of each node, by resource, if there is too little for them.
    """

    nodes: tuple[str, ...]
    reasons: tuple[str, ...]
    requests: tuple[JSONObject, ...]
    resolvable: bool = False
    details: tuple[str, ...] = ()
    by_devices: bool = False
    conflict: str = ""
    taken: Mapping[str, int] = {}

    @property
    def closeness(self) -> int:
        """How close the nodes come: the devices that are left, else those that are selected, else all."""
        counts = ((sum(each[step] for each in self.requests), weight) for step, weight in _WEIGHTS.items())
        return next((count * weight for count, weight in counts if count), 0)

    def as_json(self) -> JSONObject:
        """Return it as JSON; of many nodes, with the names of the first ones and the last one."""
        nodes = list(self.nodes)
        if len(nodes) > NAMED_MAX:
            ordered = sorted(nodes, key=padded)
            nodes = [*ordered[: NAMED_MAX - 1], ordered[-1]]
        return {
            "nodes": nodes,
            "count": len(self.nodes),
            "reasons": list(self.reasons),
            "byDevices": self.by_devices,
            "details": list(self.details),
            "requests": list(self.requests),
        }


class _Obstacles:
    """The reasons why a request excludes the devices of some nodes."""

    def __init__(self) -> None:
        self.blames: Counter[Blame] = Counter()
        self.whys: Counter[str] = Counter()
        """How many devices each sort of reason rules out."""
        self.tainted: Counter[frozenset[Taint]] = Counter()
        self.unused: dict[tuple[str, str], JSONObject] = {}
        self.elsewhere = 0
        self.held: defaultdict[str, tuple[set[DeviceID], dict[str, None]]] = defaultdict(lambda: (set(), {}))
        """The devices that claims have, and the nodes that could use them."""
        self.counters: defaultdict[tuple[str, str], tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
        """The remaining amounts of short counters, and those that devices consume, by counter set and counter."""
        self._by_node: set[frozenset[tuple[str, str]]] = set()
        """The counters that nodes lack, each combination once."""

    def add(self, funnel: Funnel, reasons: Sequence[Reason]) -> None:
        """Add the devices of a node, and why each is ruled out."""
        whys = Counter([each.why for each in reasons])
        self.whys += whys
        self.elsewhere = max(self.elsewhere, whys["elsewhere"])
        self.tainted.update([frozenset(each.taints) for each in reasons if each.taints])
        self.unused |= {
            (each.pool, each.why): {"pool": each.pool, "devices": each.devices, "why": each.why}
            for each in funnel.unused
        }
        counters = [lack for each in reasons for lack in each.lacks if lack.counter_set]
        for each in counters:
            left, wanted = self.counters[each.counter_set, each.name]
            left.add(each.left)
            wanted.add(each.wanted)
        self._by_node.add(frozenset((each.counter_set, each.name) for each in counters))

    @property
    def lacking(self) -> str:
        """The counters that are short, in one line; empty if there are none."""
        by_set: dict[str, dict[tuple[str, str], list[str]]] = {}
        for (counter_set, name), (left, consumed) in self.counters.items():
            by_set.setdefault(counter_set, {}).setdefault((_range(left), _range(consumed)), []).append(name)
        lacks = "lacks" if len(self._by_node) == 1 else "lacks, depending on the node,"
        said = []
        for counter_set, alike in by_set.items():
            texts = [_amounts(names, *each) for each, names in alike.items()]
            *first, last = some_of(texts, _COUNTERS_MAX)
            said.append(f"{counter_set} {lacks} {', '.join(first)}{' and ' if first else ''}{last}")
        return "; ".join(some_of(said, 3, "and {} more sets"))


_Failed = tuple[int, Attempt | None]
"""A node, with the failed attempt to allocate devices; None if they are not the reason, nor missing besides."""
_Look = tuple[int, Sequence[Funnel]]
"""A node, with the devices left for each request."""


def unnamed(cluster: Cluster, needs: Needs) -> NodeGroup:
    """Return all nodes as a group, as the pod's node affinity names others, which do not exist."""
    names = [*(nodes_named(needs.demand.spec) or ())]
    missing = f"its node affinity requires nodes {shortened(names)}, which do not exist"
    if len(names) == 1:
        hint = did_you_mean(names[0], cluster.index)
        missing = f"its node affinity requires node {names[0]}, which does not exist{hint and f': {hint}'}"
    return NodeGroup(tuple(cluster.names), (UNNAMED,), (), details=(missing,))


def node_groups(by_node: Mapping[int, NodeVerdict], round_: Round) -> list[NodeGroup]:
    """Group the nodes that refuse a pod, the closest first."""
    alike: dict[Hashable, tuple[NodeVerdict, Conflict, list[_Failed]]] = {}
    kinds: dict[Hashable, tuple[Hashable, Conflict]] = {}  # the key and the conflict of nodes of each kind
    needs = round_.needs
    for node, verdict in by_node.items():
        if verdict.reasons:
            state, attempt = round_.cluster.nodes[node], _attempt(node, verdict, round_)
            if attempt is None:
                taken = tuple((request, *each.items()) for request, each in verdict.taken.items())
                key: Hashable = verdict.unavailable, taints(verdict, state, needs.demand), taken
                conflict = Conflict()
            else:
                kind = attempt, attempt.kind(state.node)
                if kind not in kinds:
                    funnels = attempt.explain(state.node)
                    conflict = _conflict(funnels, needs)
                    kinds[kind] = (*(each.key for each in funnels), conflict), conflict
                key, conflict = kinds[kind]
            alike.setdefault((verdict.reasons, key), (verdict, conflict, []))[2].append((node, attempt))
    found = [_group(round_, *each) for each in alike.values()]
    return sorted(found, key=lambda each: (not each.closeness, bool(each.requests), -each.closeness, -len(each.nodes)))


def depths(by_node: Mapping[int, NodeVerdict], round_: Round) -> Mapping[tuple[str, str], Mapping[DeviceID, int]]:
    """Return how many steps devices pass, by claim and request; those of other nodes are left out.

    Other nodes refuse the pod before their devices are looked at.
    """
    found: defaultdict[tuple[str, str], dict[DeviceID, int]] = defaultdict(dict)
    for node, verdict in by_node.items():
        attempt = _attempt(node, verdict, round_)
        for funnel in attempt.explain(round_.cluster.nodes[node].node) if attempt else ():
            known = found[funnel.claim, funnel.request]
            for device, depth in funnel.depths():
                known[device.id] = max(depth, known.get(device.id, 0))
    return found


def _attempt(node: int, verdict: NodeVerdict, round_: Round) -> Attempt | None:
    """Return the failed attempt to allocate devices of a node; None if they are not the reason, nor missing besides."""
    if verdict.plugin == RESOURCES:
        verdict = round_.filter_devices(node)
    return round_.on(node).attempt if verdict.by_devices and not verdict.error else None


def _group(round_: Round, verdict: NodeVerdict, conflict: Conflict, failed: Sequence[_Failed]) -> NodeGroup:
    cluster, needs = round_.cluster, round_.needs
    nodes = [each for each, _ in failed]
    names = tuple(map(cluster.names.__getitem__, nodes))
    reasons, resolvable = verdict.reasons, verdict.resolvable
    if verdict.taken:  # the node has what the devices take of it, but for other pods
        wanted = needs.demand.with_more(total(verdict.taken)).requests
        allocatable = cluster.nodes[nodes[0]].allocatable
        resolvable = resolvable or all(amount <= allocatable.get(name, 0) for name, amount in wanted.items())
    said = [*details(cluster, nodes, verdict, needs)]
    some = failed[:_LOOKED_AT_MAX]
    looks = [(node, attempt.explain(cluster.nodes[node].node)) for node, attempt in some if attempt]
    if not looks:
        return NodeGroup(names, reasons, (), resolvable, tuple(said), taken=total(verdict.taken))
    requests = tuple(_request(round_, each, looks, is_all=len(looks) == len(nodes)) for each in looks[0][1])
    said += filter(None, [": ".join(filter(None, conflict))])
    return NodeGroup(names, reasons, requests, resolvable, tuple(said), verdict.by_devices, conflict.why)


def details(cluster: Cluster, nodes: Sequence[int], verdict: NodeVerdict, needs: Needs) -> Iterator[str]:
    """Describe what is behind reasons that are not about devices."""
    yield from (elsewhere(cluster, needs.claims[each]) for each in verdict.unavailable)
    if not verdict.by_devices:
        states = [cluster.nodes[each] for each in nodes]
        yield from taints(verdict, states[0], needs.demand)
        yield from labels(verdict, states, needs.demand)
        demand = needs.demand.with_more(total(verdict.taken)) if verdict.taken else needs.demand
        shares = {_subject(*key, needs): each for key, each in verdict.taken.items()}
        yield from shortages(verdict, states, demand, shares)
        if shares and len(nodes) == 1:
            yield from cluster.users(nodes[0], verdict.missing)


def _request(round_: Round, funnel: Funnel, looks: Sequence[_Look], *, is_all: bool) -> JSONObject:
    """Describe the devices left for a request on the first of some nodes, and the obstacles on all of them.

    Args:
        funnel: The devices of the first node that are left for the request.
        is_all: Whether these are all nodes of the group.
    """
    cluster, compete = round_.cluster, _compete(looks[0][1])
    found, blamed = _Obstacles(), lru_cache(_BLAMED_MAX)(partial(_blamed, cluster, funnel.claim))
    for node, funnels in looks:
        for each in funnels:
            if each.ask is funnel.ask:
                reasons = each.reasons()
                found.add(each, reasons)
                for blame, counts in _obstacles(blamed, funnel, reasons):
                    found.blames[blame] += counts
                rivals = each.rivals() if compete or each.together is not None else ()
                for reason, name in ((one, name) for one in (*reasons, *rivals) for name in one.holders):
                    devices, on = found.held[name]
                    on[cluster.names[node]] = None
                    if reason.why != "counters":
                        devices.add(reason.device.id)
                    else:  # those that draw on the same counters
                        of_claim = map(device_of, results_of(cluster.claim(name)))
                        devices |= {one for one in of_claim if one[:2] == reason.device.slice.id}
    blame, values = _most_common(found.blames)
    constrained, together = funnel.constrained, funnel.together
    because = {"counters": found.lacking, "taint": untolerated(found.tainted)}.get(blame.text, blame.text)
    if not funnel.counts["seen"]:
        others = (each for each in funnel.view.unused if each not in funnel.unused)
        texts = (f"pool {each.pool} is {each.why}, and has no device of the class" for each in others)
        because = "; ".join(filter(None, (next(texts, _NO_DEVICES), cluster.of_other_nodes)))
    if found.elsewhere:
        because = "; ".join(filter(None, (because, f"{found.elsewhere} more in these pools for other nodes")))
    wishes = []
    for expression in (text(each, "cel", "expression") for each in items(funnel.ask.raw, "selectors")):
        parts = _parts(cluster, expression)
        wishes.append(parts.wanted if parts else expression)
    wish = " and ".join(wishes)
    return {
        "claim": funnel.claim,
        "request": funnel.request,
        "for": _subject(funnel.claim, funnel.request, round_.needs),
        "wanted": funnel.wanted,
        **funnel.counts,
        "constrained": constrained,
        "constraint": constraint(funnel),
        "together": together and together.devices,
        "selecting": wish if len(wish) <= _WISH_MAX else "",
        "because": because,
        "short": max(("capacity", "counters"), key=found.whys.__getitem__),
        "counters": [
            {"counterSet": counter_set, "counter": name, "left": _sorted(left), "consumed": _sorted(consumed)}
            for (counter_set, name), (left, consumed) in found.counters.items()
        ],
        "taints": [
            {"taints": [each._asdict() for each in sorted(several)], "devices": devices}
            for several, devices in found.tainted.items()
        ],
        "lacking": {"name": blame.name, "values": values} if blame.name else None,
        "unused": list(found.unused.values()),
        "allExamined": is_all,
        "heldBy": [
            {**holder(cluster, name, len(devices)), "nodes": [] if len(on) == len(looks) else list(on)}
            for name, (devices, on) in sorted(found.held.items(), key=lambda each: -len(each[1][0]))
        ],
    }


def _obstacles(blamed: Blamed, funnel: Funnel, reasons: Sequence[Reason]) -> Iterator[tuple[Blame, bool]]:
    """Describe the obstacles at the first step that leaves too few devices, and tell which count.

    Devices without a capacity of some name do not, as they would hide what the others lack.
    """
    wanted = funnel.least
    for step, left in funnel.counts.items():
        if left >= wanted or step == "seen":
            continue
        others = set() if step == "enough" else {"node"}
        found = [each for each in reasons if (each.step == step and each.why != "in use") or each.why in others]
        # Where some devices are left, those of other drivers were not meant.
        meant = {device.content.driver for device, depth in funnel.depths() if depth > STEPS.index(step)}
        for each in found:
            if not meant or each.device.content.driver in meant:
                yield _first_false(blamed, each), each.why != "capacity" or bool(each.lacks[0].name)
        return
    constrained = funnel.constrained
    if constrained is not None and constrained < wanted:
        without = [(Blame(reason.text), True) for reason in reasons if reason.why == "constraint"]
        yield from without or [(Blame(spread(funnel)), True)]
    elif funnel.together is not None:
        yield Blame(funnel.together.text), True


def _first_false(blamed: Blamed, reason: Reason) -> Blame:
    """Describe the obstacle to the use of a device; the allocator's own words if it is unknown."""
    if reason.why == "taint":
        return Blame("taint")  # one for all taints
    if reason.lacks:
        lack = reason.lacks[0]
        # One for all counters that are short, whichever devices consume them.
        return Blame("counters") if lack.counter_set else Blame(reason.text, lack.name, lack.left)
    return (reason.selector and blamed(reason.selector, reason.device.content)) or Blame(reason.text)


Blamed = Callable[[str, Content], Blame | None]
"""Returns the part of a selector that excludes devices of a content; None if it is not known."""


def _blamed(cluster: Cluster, claim: str, selector: str, content: Content) -> Blame | None:
    if cluster.claim(claim):  # not that for extended resources
        with suppress(EvaluationError):  # an attribute of a type that the release does not know
            device = cluster.allocator.selectors.values.of(content)
            if (parts := _parts(cluster, selector)) and (found := parts.blame(device)).text:
                return found
    return None


def _parts(cluster: Cluster, selector: str) -> Parts | None:
    return parts_of(selector, cluster.settings.release, cluster.settings.gates)


def stages_of(request: JSONObject) -> Iterator[tuple[str, str]]:
    """Return the steps of a request of a group, with what is said of the devices that pass them."""
    selecting = f"with {request['selecting']}" if request["selecting"] else "selected"
    labels = ("", "of the class", selecting, "free", "tolerated", f"with enough {request['short']}")
    return zip(STEPS, labels, strict=False)


def _most_common(blames: Counter[Blame]) -> tuple[Blame, list[str]]:
    """Return the most common obstacle, with the values found; values of the same comparison count together."""
    alike: defaultdict[tuple[str, ...], Counter[Blame]] = defaultdict(Counter)
    for blame, devices in blames.items():
        alike[(blame.name, blame.wanted) if blame.name else (blame.text,)][blame] += devices
    if not alike:
        return Blame(""), []
    same = max(alike.values(), key=Counter.total)
    ((first, _),) = same.most_common(1)

    def in_order(value: str) -> tuple[bool, Any, str]:
        number = readable_quantity(value)
        return number is None, value if number is None else number, value

    values = sorted({each.met for each in same}, key=in_order)
    if not first.wanted or len(values) == 1:
        return first, values
    short = f"{values[0]} … {values[-1]} ({len(values)} values)" if len(values) > _VALUES_MAX else either(values)
    return Blame.of(first.name, short, first.wanted), values


def _compete(funnels: Sequence[Funnel]) -> bool:
    """Tell whether each request, or one of its alternatives, could be met alone."""
    met = {(each.ask.claim, each.ask.place) for each in funnels if each.is_met}
    return all((each.ask.claim, each.ask.place) in met for each in funnels)


def _conflict(funnels: Sequence[Funnel], needs: Needs) -> Conflict:
    """Return why requests that could each be met alone cannot be met together; nothing if one cannot be met."""
    if not _compete(funnels):
        return Conflict()
    names = Counter(each.request for each in funnels)

    def title(funnel: Funnel) -> str:
        subject = _subject(funnel.claim, funnel.request, needs)
        return f"{subject} of claim {funnel.claim}" if names[funnel.request] > 1 else subject

    return conflict(funnels, title)


def _subject(claim: str, request: str, needs: Needs) -> str:
    """Name a request; an extended resource that devices provide has no request that its user wrote."""
    if claim in {full_name_of(each) for each in needs.claims}:
        return f"request {request}"
    container, resource = resource_of(needs.pod, request)
    return f"extended resource {resource} of container {container}"


_COUNTERS_MAX: Final = 3
"""The number of amounts of a set that are named, and of counters with the same amounts."""


def _amounts(names: list[str], left: str, consumed: str) -> str:
    each = " each" if len(names) > 1 else ""
    amounts = f"{left} left, {consumed} wanted{each}"
    names = sorted(names, key=padded)
    if len(names) <= _COUNTERS_MAX:
        return f"{', '.join(names)} ({amounts})"
    return f"{names[0]} … {names[-1]} ({len(names)} counters: {amounts})"


def _range(amounts: Iterable[str]) -> str:
    ordered = _sorted(amounts)
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


def _sorted(amounts: Iterable[str]) -> list[str]:
    return sorted(amounts, key=lambda each: readable_quantity(each) or 0)


# -- reasons that are not about devices


def taints(verdict: NodeVerdict, node: NodeState, demand: Demand) -> tuple[str, ...]:
    """Describe the taints that make a node refuse a pod; nothing if it refuses the pod for another reason."""
    if verdict.plugin != TAINTS:
        return ()
    return tuple(f"{taint}{state_of(taint.key)}" for taint in node.untolerated(demand.tolerations))


def labels(verdict: NodeVerdict, nodes: Sequence[NodeState], demand: Demand) -> Iterator[str]:
    """Name the labels of nodes that a pod's nodeSelector, or the only term of its node affinity, does not select."""
    if verdict.plugin != AFFINITY:
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


def _unselected(term: JSONObject, key: str, wanted: str, nodes: Sequence[NodeState]) -> Iterator[str]:
    """Describe a label that keeps a term from selecting any node; nothing if it selects one."""
    if any(selects({"nodeSelectorTerms": [term]}, each.node) for each in nodes):
        return
    values = [mapping(each.node, "metadata", "labels").get(key) for each in nodes]
    known = sorted({str(each) for each in values if each is not None})
    missing = " or not set" if None in values else ""
    if known:
        listed = ", ".join(some_of(known, 4, f"… ({len(known)} values)"))
        yield f"{wanted}, and the label is {listed}{missing}"
        return
    hint = did_you_mean(key, sorted({name for each in nodes for name in mapping(each.node, "metadata", "labels")}))
    yield f"{wanted}, and the label is not set{hint and f': {hint}'}"


def shortages(
    verdict: NodeVerdict, nodes: Sequence[NodeState], demand: Demand, shares: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    """Describe the amounts that are wanted, and free on the node that has the most.

    Args:
        demand: The demands of the pod, those of its devices included.
        shares: The part of them that the devices of each request take, by resource.
    """
    unstated = "status.allocatable states no {}, which counts as 0"
    if TOO_MANY in verdict.reasons and not any(PODS in node.allocatable for node in nodes):
        yield unstated.format(PODS)
    for name, wanted in demand.requests.items():
        if name in verdict.missing:
            free = [(max(0, node.left(name) or 0), node.allocatable.get(name, 0)) for node in nodes]
            most, whole = max(free)
            if name in NATIVE and not any(name in node.allocatable for node in nodes):
                yield unstated.format(name)
                continue
            at_most = "at most " if len(set(free)) > 1 else ""
            amounts = [amount_text(name, each) for each in (wanted, most, whole)]
            taken = {request: amount_text(name, each[name]) for request, each in shares.items() if each.get(name)}
            parts = " and ".join(f"{amount} of them by {request}" for request, amount in taken.items())
            of_devices = f" ({parts})" if parts else ""
            yield f"{name} {amounts[0]} wanted{of_devices}, {at_most}{amounts[1]} of {amounts[2]} free"


# -- why no node takes a pod, in one sentence

RequestKey = tuple[str, str]
"""A claim, and one of its requests or alternatives."""

_PHRASES_MAX: Final = 3
LACK: Final = ("lack", "lacks")
"""The verbs for several nodes and for a single one."""
UNSEEN: Final = frozenset({"seen", "ofClass"})
"""The steps at which devices of pools that are not used are missing."""
_HOLDERS_MAX: Final = 3
"""The number of claims that a sentence names."""
_TOO_MANY: Final = "each device is available, but not so many together"
_UNEXPLAINED: Final = "the scheduler refuses the devices left for a reason that is not known here"


class Shortfall(NamedTuple):
    """A step that leaves too few devices for a request."""

    step: int
    left: int
    wanted: int

    @property
    def closeness(self) -> tuple[int, int]:
        """How close a node comes: without an attribute that a constraint compares, no device ever meets it."""
        is_unpublished = STEPS[self.step] == "constrained" and not self.left
        return STEPS.index("selected") if is_unpublished else self.step, self.step


def wanted_of(request: JSONObject) -> int:
    """Return the number of devices that a request wants; in mode All, how many it selects, and at least one."""
    return int(max(1, request["selected"]) if request["wanted"] is None else request["wanted"])


def shortfall_of(request: JSONObject) -> Shortfall | None:
    """Return the first step that leaves too few devices; None if the request by itself can be met."""
    wanted = wanted_of(request)
    for step, name in enumerate(STEPS):
        left = request[name]
        if name == "together" and left is not None:  # stated only where it is too few
            return Shortfall(step, left, wanted)
        if left is not None and left < wanted and (name != "seen" or not left):
            return Shortfall(step, left, wanted)
    return None


def unmet(requests: Iterable[JSONObject]) -> dict[RequestKey, Shortfall]:
    """Return the shortfall of each request; none for one that can be met by itself, as can one of its alternatives."""
    found = {key_of(each): shortfall_of(each) for each in requests}
    met = {whole(key) for key, short in found.items() if short is None}
    return {key: short for key, short in found.items() if short is not None and whole(key) not in met}


def combined(requests: Sequence[JSONObject]) -> str:
    """State why the only request cannot be met although each device fits by itself; empty for several requests."""
    if len({whole(key_of(each)) for each in requests}) > 1:
        return ""
    return _TOO_MANY if min(map(wanted_of, requests)) > 1 else _UNEXPLAINED


def taints_of(requests: Iterable[JSONObject]) -> Counter[frozenset[Taint]]:
    """Count the devices that sets of taints keep from requests."""
    found: Counter[frozenset[Taint]] = Counter()
    for each in (one for request in requests for one in request["taints"]):
        found[frozenset(Taint(**taint) for taint in each["taints"])] += each["devices"]
    return found


def cause(groups: Sequence[NodeGroup]) -> str:
    """State why no node takes a pod.

    Args:
        groups: The nodes that refuse it, those with the same reasons together, the closest first.
    """
    by_devices = [each for each in groups if each.by_devices]
    said = by_key((each.reasons, each.details) for each in groups if not each.by_devices)
    are_many = sum(len({*details}) for details in said.values()) > _PHRASES_MAX
    merged: dict[Hashable, NodeGroup] = {}
    for each in groups:
        if not each.by_devices:  # whatever devices they lack besides
            details = () if are_many and len({*said[each.reasons]}) > 1 else each.details
            key = each.reasons, details, bool(each.requests)
            nodes = merged[key].nodes if key in merged else ()
            merged[key] = each._replace(nodes=(*nodes, *each.nodes), details=details)
    others = [_of_nodes(each, is_all=len(merged) == 1 and not by_devices) for each in merged.values()]
    phrases = [*_of_devices(by_devices, is_all=not others), *others]
    return "; ".join(some_of(phrases, _PHRASES_MAX, "other nodes have other reasons"))


def _of_nodes(group: NodeGroup, *, is_all: bool) -> str:
    """State why nodes refuse a pod, its devices aside."""
    count = len(group.nodes)
    nodes = f"all {_counted(count)}" if is_all and count > 1 else _counted(count)
    if group.reasons == (UNAVAILABLE,) and group.details:
        return "; ".join(group.details)
    texts = [each.about(nodes, count) if isinstance(each, Message) else f"{nodes}: {each}" for each in group.reasons]
    details = f": {'; '.join(group.details)}" if group.details else ""
    return f"{', '.join(texts)}{details}{', and too few devices' if group.requests else ''}"


def _of_devices(groups: Sequence[NodeGroup], *, is_all: bool) -> list[str]:
    """State the devices that nodes lack: for a request that no node can meet, otherwise for each group of nodes."""
    if not groups:
        return []
    if found := nowhere(groups):
        alternatives = [each for key, each in found.items() if whole(key) == whole(next(iter(found)))]
        texts = [lacking(each) for each in alternatives[:_PHRASES_MAX]]
        if is_all:
            return [f"no node has {', nor '.join(texts)}"]
        count = sum(len(each.nodes) for each in groups)
        return [f"{_counted(count)} {LACK[count == 1]} {', and '.join(texts)}"]
    counts: Counter[tuple[tuple[str, str], str]] = Counter()
    for group in groups:
        alone, short = combined(group.requests), unmet(group.requests)
        alike = f"{group.requests[0]['for']}: {alone}" if alone else "all requests together"
        said = ("cannot", "cannot"), ": ".join(filter(None, [f"meet {alike}", group.conflict]))
        missing = (_lacking(each, short[key]) for each in group.requests if (key := key_of(each)) in short)
        counts[next(((LACK, what) for what in missing), said)] += len(group.nodes)
    return [f"{_counted(count)} {verbs[count == 1]} {what}" for (verbs, what), count in counts.items()]


def nowhere(groups: Sequence[NodeGroup]) -> dict[RequestKey, list[tuple[NodeGroup, JSONObject]]]:
    """Return the requests that no node can meet, nor an alternative, with the nodes and the request as it is there."""
    common = set.intersection(*(set(unmet(group.requests)) for group in groups)) if groups else set()
    asked = by_key((key_of(each), (group, each)) for group in groups for each in group.requests)
    return {key: several for key, several in asked.items() if key in common}


def closest(asked: Iterable[tuple[NodeGroup, JSONObject]]) -> tuple[Shortfall, JSONObject]:
    """Return a request that nodes cannot meet, as it is on those that come closest, and its shortfall there.

    It has the claims and taints that keep devices from it on all nodes where the same step leaves too few.
    """
    found = [(short, request) for _, request in asked if (short := shortfall_of(request))]
    short, request = max(found, key=lambda each: (each[0].closeness, each[0].left, bool(each[1]["lacking"])))
    alike = [each for one, each in found if one.step == short.step]
    held = {each["claim"]: each for one in alike for each in one["heldBy"]}
    taints = [each for one in alike for each in one["taints"]]
    is_all = all(each["allExamined"] for each in alike)
    return short, {**request, "heldBy": [*held.values()], "taints": taints, "allExamined": is_all}


def lacking(asked: Sequence[tuple[NodeGroup, JSONObject]], who: str = "", of_class: str = "") -> str:
    """State what the nodes that come closest lack for a request, and how many of all nodes lack the same.

    Args:
        asked: All nodes, with the request as it is on each.
        who: The request as its user knows it; empty for its name alone.
        of_class: Its device class; empty to leave it out.
    """
    short, request = closest(asked)
    count = sum(len(group.nodes) for group, _ in asked)
    alike = sum(len(group.nodes) for group, each in asked if each["because"] == request["because"])
    where = f" on {alike} of {_counted(count)}" if alike < count else ""
    # Where too little of the class is seen, pools that are not used may have what other nodes lack.
    unseen = (each for _, each in asked if (one := shortfall_of(each)) and STEPS[one.step] in UNSEEN)
    unused = (one for each in unseen for one in each["unused"])
    pools = dict.fromkeys(_pool(each) for each in unused if each not in request["unused"])
    return "; ".join(some_of([_lacking(request, short, where, who, of_class), *pools], _PHRASES_MAX, "…"))


def key_of(request: JSONObject) -> RequestKey:
    """Return what identifies a request of a group of nodes."""
    return request["claim"], request["request"]


def whole(key: RequestKey) -> RequestKey:
    """Return the key of the request that an alternative belongs to."""
    return key[0], key[1].partition("/")[0]


def _lacking(request: JSONObject, short: Shortfall, where: str = "", who: str = "", of_class: str = "") -> str:
    """Describe the devices that a request lacks, and those that there are.

    Args:
        where: The nodes for which the cause holds, unless it names a claim or a pool; empty if it holds for all.
    """
    step, noun = STEPS[short.step], "device" if short.wanted == 1 else "devices"
    article = ("an " if step == "tolerated" else "a ") if short.wanted == 1 else f"{short.wanted} "
    of = f" of class {of_class}" if of_class else " of the class" * (step == "ofClass")
    with_ = f" with {request['selecting']}" if request["selecting"] else ""
    scarce = (request["lacking"] or {}).get("name", request["short"])
    what = {
        **dict.fromkeys(("seen", "ofClass"), f"{noun}{of}"),
        "selected": f"{noun}{of}{with_}" if with_ else f"suitable {noun}{of}",
        "free": f"free {noun}{of}{with_}",
        "tolerated": f"untainted {noun}{of}{with_}",
        "enough": f"{noun}{of}{with_} with enough {scarce}{' left' * bool(request['heldBy'])}",
        "constrained": f"{noun}{of}{with_} with {request['constraint']}",
        "together": f"{noun}{of}{with_} that are available together",
    }[step]
    why = request["because"] and request["because"] + where
    if request["heldBy"] and step == "free":
        why = f"{'and the others are ' * bool(short.left)}held by {_holders(request)}"
    if step in UNSEEN and request["unused"]:  # these pools have devices of the class
        why = _pool(request["unused"][0])
    most = f"at most {short.left}" if short.left else ""
    details = ", ".join(filter(None, (most, why)))
    return f"{article}{what} for {who or request['for']}" + (f": {details}" if details else "")


def _pool(unused: JSONObject) -> str:
    count = unused["devices"]
    return f"pool {unused['pool']} with {count} device{'s' * (count != 1)} is {unused['why']}"


def _holders(request: JSONObject) -> str:
    """Name the claims that hold devices which a request could use, with their pods."""
    held, least = request["heldBy"], "" if request["allExamined"] else "at least "
    names = [f"{each['claim']}{used_by(each)}" for each in held[:_HOLDERS_MAX]]
    names += [f"{least}{len(held) - _HOLDERS_MAX} more"] if held[_HOLDERS_MAX:] else []
    *first, last = names
    return f"claim{'s' * (len(held) > 1)} {', '.join(first)}{' and ' * bool(first)}{last}"


def _counted(count: int) -> str:
    return f"{count} node{'s' * (count != 1)}"
