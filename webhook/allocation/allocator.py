"""The allocator: which devices a scheduler would give to claims on a node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from webhook.allocation.demand import Ask, ClaimDemand, Complaint, Demand, Stop
from webhook.allocation.devices import Catalog
from webhook.allocation.explain import Exclusion, Funnel
from webhook.allocation.features import RECORDED, RECORDED_PATCH, Features, implementation
from webhook.allocation.pools import Available, NodeView, Usage, available, full_name, unusable_elsewhere
from webhook.allocation.search import Outcome, Pick, Search, leaves_traces, snapshot
from webhook.allocation.selecting import Fault, SelectorFault, Selectors
from webhook.arguments import check_mapping, check_objects
from webhook.objects import JSONObject
from webhook.release import Release

_DEMANDS: Final = 64
"""How many different demands are remembered."""
_OUTCOMES: Final = 100_000
"""How many searches are remembered of each."""
_encode: Final = msgspec.json.Encoder().encode


class Allocator:
    """The scheduler's allocator, for one state of a cluster.

    Objects are plain dicts of ``resource.k8s.io/v1`` and ``v1``.

    Args:
        slices: ResourceSlices, in any order; an iterator may yield them one by one, they are not kept. Or a catalog of
            them, with the taints of rules.
        allocated: ResourceClaims; those with an allocation use devices, others are ignored.
        taint_rules: DeviceTaintRules; their taints are added to the devices that they select.
        features: The features that are on; `Features.of` derives them from feature gates.
        implementations: The implementations to choose from; empty for all.
        with_lists: Whether expressions see attributes that are lists; by default, if the allocator does. The scheduler
            of 1.36 shows them to expressions if DRAListTypeAttributes is on, but never to its allocator.

    Raises:
        ValueError: No implementation supports the features, or an object is malformed.
    """

    def __init__(
        self,
        classes: Iterable[JSONObject],
        slices: Iterable[JSONObject] | Catalog,
        allocated: Iterable[JSONObject] = (),
        taint_rules: Iterable[JSONObject] = (),
        *,
        features: Features,
        release: Release = RECORDED,
        patch: int = 0,
        implementations: Collection[str] = (),
        with_lists: bool | None = None,
    ) -> None:
        self.features = features
        self.variant = implementation(features, release, implementations, patch)
        """The implementation that the release picks."""
        self._classes = {each["metadata"]["name"]: each for each in classes}
        self.catalog = slices if isinstance(slices, Catalog) else Catalog(slices, taint_rules)
        """The slices, with the taints of rules."""
        self.selectors = Selectors.of(self.catalog, self.variant, with_lists=with_lists)
        """The selectors of classes and requests."""
        self.usage = Usage(allocated, with_shares=features.ConsumableCapacity)
        """The devices that are in use, for attempts made from now on."""
        self._demands: dict[bytes, tuple[Demand, dict[Hashable, Outcome]]] = {}
        self._views: dict[str, NodeView] = {}
        self._elsewhere = unusable_elsewhere(self.catalog, self.variant)

    def attempt(self, claims: Sequence[JSONObject]) -> Attempt:
        """Prepare an attempt to allocate claims together, on one node after the other.

        Args:
            claims: ResourceClaims that are not allocated, in the order in which the pod names them.

        Raises:
            ValueError: A claim is malformed.
        """
        specs = [(claim.get("spec") or {}).get("devices") or {} for claim in claims]
        key = _encode(specs)
        known = self._demands.get(key)
        if known is None:
            demand = Demand(specs, self._classes, self.selectors, self.variant)
            if len(self._demands) >= _DEMANDS:
                del self._demands[next(iter(self._demands))]
            known = self._demands[key] = demand, {}
        return Attempt(self, [full_name(claim) for claim in claims], *known)

    def view(self, node: JSONObject) -> NodeView:
        """Return the devices that a node can use."""
        metadata = node["metadata"]
        name, labels = metadata["name"], metadata.get("labels") or {}
        view = self._views.get(name)
        if view is None or not (self.catalog.is_local or view.labels == labels):
            view = self._views[name] = NodeView(
                name, labels, catalog=self.catalog, usage=self.usage, variant=self.variant, elsewhere=self._elsewhere
            )
        return view


class Attempt:
    """An attempt to allocate claims, on one node after the other.

    Args:
        names: The claims, as namespace/name.
        outcomes: The outcomes of searches for it so far.
    """

    def __init__(
        self, allocator: Allocator, names: Sequence[str], demand: Demand, outcomes: dict[Hashable, Outcome]
    ) -> None:
        self.allocator, self.names, self.demand, self._outcomes = allocator, names, demand, outcomes
        self._counters: dict[str, Available] = {}
        self._exclusions: dict[Hashable, list[Exclusion]] = {}
        self._funnels: dict[str, list[Funnel]] = {}

    def on(self, node: JSONObject) -> Answer:
        """Allocate the claims on a node, without changing the state."""
        view = self.allocator.view(node)
        return Answer(self, view, self._outcome(view))

    def _outcome(self, view: NodeView) -> Outcome:
        """Return the outcome on a node; a known one if the search went before on a node like it."""
        outcomes, key = self._outcomes, view.key()
        if not view.is_like_others:
            return self._search(view)
        found = outcomes.get(key)
        if found is None:
            alike = view.shape, view.used, self.demand.behaviours(view.devices)
            found = outcomes.get(alike)
            if found is None:
                found = outcomes[alike] = self._search(view)
            if len(outcomes) > _OUTCOMES:
                outcomes.clear()
            outcomes[key] = found
        return found

    def _search(self, view: NodeView) -> Outcome:
        """Look for devices on a node."""
        if view.error:
            return Outcome(complaint=Complaint(None, view.error))
        found = Search(self.demand, view, self._left(view)).run()
        if found.complaint:
            return found
        if found.picks is None and view.invalid and view.variant.sees_whole_pools:
            return found._replace(complaint=Complaint(None, "invalid resource pools were encountered", is_of_node=True))
        for claim, picks in enumerate(found.picks or ()):
            try:
                node_selector(picks, view)
            except Stop as stop:
                return found._replace(complaint=stop.complaint._replace(item=claim))
        return found

    def _left(self, view: NodeView) -> Callable[[int], Available]:
        """Return a function that computes what is left of the counters of a node's pool, by its place."""
        counters = self._counters  # by the pools' names: as upstream keeps them, whatever the driver

        def left(pool: int) -> Available:
            name = view.pools[pool].scope
            if name not in counters:
                with_shares = view.variant.draws_for_shares
                counters[name] = available(view.pools[pool], view.usages[pool], with_shares=with_shares)
            return counters[name]

        return left

    def explain(self, node: JSONObject) -> list[Funnel]:
        """Count the devices of a node that are left for each request, stage by stage.

        Returns:
            A funnel for each request, and for each alternative of ``firstAvailable``; none if the claims are in error.
        """
        view = self.allocator.view(node)
        if view.node not in self._funnels:
            left, known = self._left(view), self._exclusions
            key = view.key(), "" if view.is_like_others else view.node
            asks = self.demand.asks
            self._funnels[view.node] = [Funnel(self.names, ask, view, left=left, known=known, key=key) for ask in asks]
        return self._funnels[view.node]

    def kind(self, node: JSONObject) -> Hashable:
        """Return a key that is the same for nodes whose funnels differ only in the names of devices."""
        view = self.allocator.view(node)
        key = view.key()
        if view.consumes or view.unused:
            return key, view.node
        return view.shape, view.used, self.demand.steps(view.devices)


class Answer:
    """The allocator's answer for a node: devices for all claims, or why there are none."""

    def __init__(self, attempt: Attempt, view: NodeView, outcome: Outcome) -> None:
        self._attempt, self._view, self._outcome = attempt, view, outcome
        complaint = outcome.complaint
        self._picks = None if complaint else outcome.picks
        self.is_found = self._picks is not None
        """Whether there are devices for all claims."""
        asks = dict.fromkeys(pick.ask for picks in self._picks or () for pick in picks)
        self.alternatives = [ask.alternative for ask in asks if ask.parent is not None]
        """The places of the alternatives that have devices, one of each request that has alternatives."""
        self.error = _fault(complaint, attempt.names, view) if complaint else None
        """The allocator's error; None if there is none: the claims may just not fit."""
        self.scope = ("node" if complaint.is_of_node else "abort") if complaint else None
        """``node`` if only this node is ruled out, ``abort`` if the scheduler gives up on the pod; None if no error."""
        self.steps = outcome.steps
        """The number of steps that upstream's search takes; 0 if the attempt ends before it."""
        self.timed_out = outcome.timed_out
        """Whether upstream would search longer than ten seconds, and give up on the pod; true if draguard gave up."""
        self.depends_on_order = depends_on_order(
            attempt.demand, view, attempt.allocator.catalog, has_devices=outcome.picks is not None
        )
        """Whether another order of slices, of claims, or of Go's maps, could change the result."""

    @property
    def mixed_up(self) -> Mapping[str, Collection[str]]:
        """The pools whose counters upstream mixes up, as drivers share their names; with the drivers."""
        return mixed_up(self._attempt.demand, self._view, self._attempt.allocator.catalog)

    @property
    def allocations(self) -> list[JSONObject]:
        """One AllocationResult a claim, as in the API; share IDs are numbered."""
        chosen = self._outcome.chosen
        made: list[JSONObject] = []
        shares = position = 0
        for claim, picks in zip(self._attempt.demand.claims, self._picks or (), strict=False):
            asks = [request.asks[chosen.get(position + place, 0)] for place, request in enumerate(claim.requests)]
            position += len(asks) + 1
            made.append(allocation(claim, asks, picks, self._view, shares=shares))
            shares += sum(pick.take is not None for pick in picks)
        return made

    @property
    def devices(self) -> list[list[tuple[str, str, str, str]]]:
        """Request, driver, pool and name of each device, by claim."""
        every = self._view.devices
        return [[(pick.ask.full_name, *every[pick.device].id) for pick in picks] for picks in self._picks or ()]


def _fault(complaint: Complaint, names: Sequence[str], view: NodeView) -> Fault:
    """Complete an error with the names of claims, and of the devices and pools of a node."""
    claim = "" if complaint.claim is None else names[complaint.claim]
    items: dict[str, Sequence[object]] = {"pool": view.pools, "device": view.devices, "node": [view.node]}
    items["claim"] = [name.rpartition("/")[2] for name in names]
    item = items[complaint.kind][complaint.item] if complaint.kind else ""
    words = f"{complaint.before}{item}{complaint.after}"
    subject = "" if complaint.claim is None or complaint.of_class else f"claim {claim}"
    advice = _ADVICE if complaint.missing and view.variant.names_devices else ""
    return Fault(
        f"{subject}{words}{advice}",
        missing=complaint.missing,
        claim=claim,
        of_class=complaint.of_class,
        words=words.lstrip(":, "),
        is_crash=complaint.is_crash,
    )


_ADVICE: Final = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional"
    " fields"
)
"""The hint that upstream's ``cel/errors.go`` adds, from 1.37 on."""


# -- what another order could change


def depends_on_order(demand: Demand, view: NodeView, catalog: Catalog, *, has_devices: bool) -> bool:
    """Tell whether another order could change the result on a node.

    Args:
        has_devices: Whether the search found devices; one that found none has tried all, in whatever order.
    """
    if view.is_ambiguous or (len(demand.claims) > 1 and _depends_on_claims(demand, view)):
        return True
    if mixed_up(demand, view, catalog):
        return True
    if view.variant.is_sorted:
        return False
    asks = [check for check in demand.checks if isinstance(check, Ask)]
    if every := [ask for ask in asks if ask.is_all]:
        unusable = sum(pool.is_incomplete or bool(pool.reason) for pool in view.pools)
        if unusable:
            choices = (ask.chooser.choose(device.content) for ask in every for device in view.devices)
            return unusable > 1 or any(isinstance(choice, SelectorFault) for choice in choices)
    if view.broken and len({(pool.driver, pool.name) for pool in view.pools}) > 1:
        return True
    may_fail = several = False
    for ask in demand.asks:  # the devices of each slice are tried in their order
        slices = set()
        for device in view.devices:
            if choice := ask.chooser.choose(device.content):
                slices.add(id(device.slice))
                may_fail = may_fail or isinstance(choice, SelectorFault)
        several = several or len(slices) > 1
    return several and (has_devices or may_fail or leaves_traces(demand, view))


def _depends_on_claims(demand: Demand, view: NodeView) -> bool:
    """Tell whether the order of the claims could matter.

    The traces of a refused device matter to later claims only; a device that an administrator's claim got is in use
    for others, but not the other way round; a selector with an error may not be reached.
    """
    if leaves_traces(demand, view):
        return True
    asks = demand.asks
    some_are_admin = any(ask.is_admin for ask in asks)
    for content in {device.content.index: device.content for device in view.devices}.values():
        choices = [(ask, ask.chooser.choose(content)) for ask in asks]
        if any(isinstance(choice, SelectorFault) for _, choice in choices):
            return True
        if some_are_admin and len({ask.is_admin for ask, choice in choices if choice}) > 1:
            return True
    return False


def mixed_up(demand: Demand, view: NodeView, catalog: Catalog) -> dict[str, Collection[str]]:
    """Return the pools whose counters upstream mixes up, with the drivers whose devices requests may get.

    Upstream keeps counters by the name of the pool, whatever the driver (``availableCounters``): it checks those of
    the driver whose device it tries first. It looks them up only for devices that consume any, and after the selectors.
    """
    if not view.consumes:
        return {}
    tried: dict[str, list[str]] = {}
    for name in dict.fromkeys(pool.name for pool in view.pools if len(catalog.drivers_of(pool.name)) > 1):
        for driver in catalog.drivers_of(name):
            devices = (device.content for each in catalog.by_pool[driver, name] for device in each.devices)
            drawing = [content for content in devices if content.consumes]
            if any(ask.chooser.choose(content) is not False for ask in demand.asks for content in drawing):
                tried.setdefault(name, []).append(driver)
    return {name: drivers for name, drivers in tried.items() if len(drivers) > 1}


# -- allocations, as in the API


def allocation(
    claim: ClaimDemand, asks: Sequence[Ask], picks: Sequence[Pick], view: NodeView, *, shares: int
) -> JSONObject:
    """Return an AllocationResult, as in the API.

    Args:
        asks: The alternative chosen for each of its requests.
        shares: The number of share IDs assigned before; upstream's are random, here they are numbered.

    Raises:
        Stop: A slice's node selector has more than one term; upstream fails then, for all nodes.
    """
    results, features = [], view.variant.features
    for pick in picks:
        ask, device = pick.ask, view.devices[pick.device]
        others = device.content.others
        result: JSONObject = {
            "request": ask.full_name,
            "driver": device.slice.driver,
            "pool": device.slice.pool,
            "device": device.name,
        }
        if ask.is_admin:
            result["adminAccess"] = True
        if ask.tolerations and view.variant.records_tolerations:
            result["tolerations"] = list(ask.tolerations)
        conditions = ("bindingConditions", "bindingFailureConditions") if features.DeviceBindingAndStatus else ()
        result |= {name: others[name] for name in conditions if others.get(name)}
        if features.CompatibilityGroups and (groups := snapshot(others)):
            result["compatibilityGroups"] = groups
        if features.OptionalNodeOperations and device.slice.skipped_operations:
            result["skipNodeOperations"] = list(device.slice.skipped_operations)
        if pick.take is not None:
            if pick.take.texts:
                result["consumedCapacity"] = dict(pick.take.texts)
            result["shareID"] = f"share-{shares}"
            shares += 1
        results.append(result)
    devices: JSONObject = {"results": results} if results else {}
    if config := _configuration(claim, asks, is_once=view.variant.configures_once):
        devices["config"] = config
    found: JSONObject = {"devices": devices}
    selector = node_selector(picks, view)
    if selector is not None:
        found["nodeSelector"] = selector
    return found


def _configuration(claim: ClaimDemand, asks: Sequence[Ask], *, is_once: bool) -> list[JSONObject]:
    """Return the configuration of classes, each once for all its requests, and that of a claim.

    Args:
        is_once: Whether one that names several requests appears once, and one for all requests names none; until 1.36,
            it appears for each.
    """
    by_class: dict[str, list[Ask]] = {}
    for ask in asks:
        by_class.setdefault(ask.class_["metadata"]["name"], []).append(ask)
    stated = [
        ("FromClass", [each.full_name for each in several], config, 1)
        for several in by_class.values()
        for config in (several[0].class_.get("spec") or {}).get("config") or ()
    ]
    for config in claim.raw.get("config") or ():
        names = config.get("requests") or []
        times = sum(ask.base in names or ask.full_name in names for ask in asks) if names else 1
        stated.append(("FromClaim", names, config, min(times, 1) if is_once else times))
    found: list[JSONObject] = []
    for source, names, config, times in stated:
        is_for_all = is_once and all(ask.base in names or ask.full_name in names for ask in asks)
        requests = {} if is_for_all or not names else {"requests": names}
        opaque = {} if config.get("opaque") is None else {"opaque": config["opaque"]}
        found += [{"source": source, **requests, **opaque}] * times
    return found


def node_selector(picks: Sequence[Pick], view: NodeView) -> JSONObject | None:
    """Return a selector of the nodes that can use some devices, None for all nodes (``createNodeSelector``).

    Raises:
        Stop: A slice's node selector has more than one term; upstream fails then, for all nodes.
    """
    terms: dict[str, list[JSONObject]] = {"matchFields": [], "matchExpressions": []}
    for pick in picks:
        where, others = view.devices[pick.device].where, view.devices[pick.device].content.others
        if where.get("nodeName") is not None or (others.get("bindsToNode") and view.variant.knows_capacity):
            field = {"key": "metadata.name", "operator": "In", "values": [view.node]}
            return {"nodeSelectorTerms": [{"matchFields": [field]}]}
        if (selector := where.get("nodeSelector")) is not None:
            given = selector.get("nodeSelectorTerms") or ()
            if len(given) > 1:
                many = f": unsupported ResourceSlice.NodeSelector with {len(given)} terms"
                raise Stop(Complaint(None, "create NodeSelector for claim ", "claim", after=many))
            for name, known in terms.items():
                for each in (one for term in given for one in term.get(name) or ()):
                    same = (other for other in known if all(other.get(k) == each.get(k) for k in ("key", "operator")))
                    if not any({*(other.get("values") or ())} == {*(each.get("values") or ())} for other in same):
                        known.append(each)
    term = {name: found for name, found in terms.items() if found}
    return {"nodeSelectorTerms": [term]} if term else None


# -- scenarios


def outcome(scenario: Mapping[str, Any]) -> JSONObject:
    """Return the allocator's result on each node of a scenario; see `webhook.allocate`.

    Raises:
        ValueError: The scenario is malformed.
    """
    _check(scenario)
    try:
        allocator = allocator_of(scenario)
        attempt = allocator.attempt(scenario.get("claims") or ())
        nodes = []
        for node in scenario.get("nodes") or ():
            answer = attempt.on(node)
            entry: JSONObject = {"node": node["metadata"]["name"], "result": None, "error": None}
            if answer.is_found:
                entry["result"] = answer.allocations
            elif answer.error is not None:
                entry["error"], entry["errorScope"] = answer.error, answer.scope
            if answer.timed_out:
                entry["timedOut"] = True
            if answer.depends_on_order:
                entry["dependsOnOrder"] = True
            nodes.append(entry)
    except (KeyError, TypeError, AttributeError) as error:
        detail = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"the scenario is malformed: {detail}") from error
    return {"implementation": allocator.variant.name, "nodes": nodes}


def allocator_of(scenario: Mapping[str, Any]) -> Allocator:
    """Return the allocator of a scenario.

    Raises:
        ValueError: A feature is unknown, or no implementation supports the features.
    """
    given = scenario.get("features") or {}
    if unknown := sorted(given.keys() - Features.__dataclass_fields__.keys()):
        raise ValueError(f"unknown feature {unknown[0]}: known are {', '.join(Features.__dataclass_fields__)}")
    return Allocator(
        scenario.get("classes") or (),
        scenario.get("slices") or (),
        scenario.get("allocated") or (),
        scenario.get("taintRules") or (),
        features=Features(**{name: bool(is_on) for name, is_on in given.items()}),
        release=scenario.get("release", RECORDED),
        patch=scenario.get("patch", RECORDED_PATCH),
        implementations=scenario.get("enable") or (),
    )


_REQUIRED: Final = {
    "classes": ("metadata",),
    "slices": ("metadata", "spec"),
    "claims": (),
    "allocated": (),
    "taintRules": ("spec",),
    "nodes": ("metadata",),
}
"""The lists of a scenario, and the fields that each of their objects must have."""


def _check(scenario: Mapping[str, Any]) -> None:
    """Check the top level of a scenario.

    Raises:
        ValueError: The scenario is malformed.
    """
    if not isinstance(scenario, dict):
        raise ValueError(f"a scenario must be an object, not {type(scenario).__name__}")
    for name, required in _REQUIRED.items():
        check_objects(name, scenario.get(name) or (), *required)
    check_mapping("features", scenario.get("features"), bool)
    if not isinstance(scenario.get("release", RECORDED), int):
        raise ValueError(
            f"release must be the minor of Kubernetes 1.x, such as {RECORDED}, not {scenario['release']!r}"
        )
    if not isinstance(scenario.get("patch", 0), int):
        raise ValueError(f"patch must be a number, such as 3 for Kubernetes 1.36.3, not {scenario['patch']!r}")
    names = scenario.get("enable") or ()
    if not isinstance(names, (list, tuple)) or not all(isinstance(each, str) for each in names):
        raise ValueError(f"enable must be a list of implementations, not {names!r}")
