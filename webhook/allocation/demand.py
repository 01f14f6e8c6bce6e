"""The demand of claims, read once for all nodes: requests, and constraints between their devices.

Follows upstream's ``Allocate`` and ``validateDeviceRequest``: the checks of claims that need no device, in upstream's
order and words. Constraints follow ``allocator_incubating.go`` (matchAttributeConstraint) and ``constraint.go``
(distinctAttributeConstraint), upstream's quirks included; with list attributes, ``allocator_experimental.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from webhook.allocation.capacity import Take, as_published, take
from webhook.allocation.devices import LISTS, SCALARS, Content, Taint, Tolerations, named, terms
from webhook.allocation.features import Implementation
from webhook.allocation.selecting import (
    RUNTIME,
    Chooser,
    DeviceValues,
    Selectors,
    by_content,
    of_devices,
)
from webhook.cel.environment import Program, Refusal
from webhook.cel.errors import CelError
from webhook.cel.kubernetes.devices import MAX_COST
from webhook.cel.kubernetes.semver import Semver
from webhook.cel.runtime.meter import Meter
from webhook.cel.types.values import type_of
from webhook.objects import JSONObject

Value = frozenset[tuple[str, Any]]
"""The values of an attribute, with their types: one, unless it is a list."""
UNKNOWN: Final[Value] = frozenset()
"""The value of an attribute whose type is not known to the implementation."""


def value_of(attribute: Mapping[str, Any] | None, *, with_lists: bool) -> Value | None:
    """Return the value of an attribute as the API has it, or None for an attribute that the device lacks."""
    if attribute is None:
        return None
    for kind, scalar in LISTS.items() if with_lists else ():
        if attribute.get(kind):
            return frozenset((scalar, each) for each in attribute[kind])
    value = next(((kind, attribute[kind]) for kind in SCALARS if attribute.get(kind) is not None), None)
    return UNKNOWN if value is None else frozenset({value})


class _Comparison:
    """Compares an attribute of the devices that requests of a claim get.

    The methods of its kinds take the state that the devices before have left, and return the next one.

    Args:
        name: The attribute, with its domain.
        requests: The names of the requests; empty for all.
        with_lists: Whether lists are supported.
    """

    start: Any = ()

    def __init__(self, name: str, requests: Collection[str], *, with_lists: bool) -> None:
        self.name, self.with_lists, self._requests = name, with_lists, requests
        self.of = by_content(
            lambda content: value_of(named(content.attributes, content.driver, name), with_lists=with_lists)
        )
        """Returns the value that a device has, None if it has none."""

    def is_about(self, ask: Ask) -> bool:
        """Tell whether it is about a request, or an alternative."""
        return not self._requests or ask.base in self._requests or ask.full_name in self._requests


class Match(_Comparison):
    """All devices have a value in common.

    The state is the number of devices, and the values that they have in common. Removing a device does not widen those
    of lists, unless it is the last one.
    """

    start = 0, None

    def add(self, state: Any, _request: str, value: Value | None, _device: int) -> Any:
        """Return the state with one more device; None if its value does not satisfy the constraint."""
        number, common = state
        if value is None or (self.with_lists and value == UNKNOWN):
            return None
        if number and common is not None:
            value &= common
            if not value:
                return None
        return number + 1, value

    def remove(self, state: Any, _request: str) -> Any:
        """Return the state without a device."""
        return state[0] - 1, state[1]

    def compared(self, state: Any) -> Hashable:
        """Return the values that later devices are compared with."""
        return state[1] if state[0] else None


class Distinct(_Comparison):
    """No two devices have a value in common; the state is their values."""

    def add(self, state: Any, _request: str, value: Value | None, _device: int) -> Any:
        """Return the state with one more device; None if its value does not satisfy the constraint."""
        if value is None or (self.with_lists and value == UNKNOWN):
            return None
        is_distinct = not state or (value and all(value.isdisjoint(each) for each in state))
        return (*state, value) if is_distinct else None

    def remove(self, state: Any, _request: str) -> Any:
        """Return the state without the last device."""
        return state[:-1]

    def compared(self, state: Any) -> Hashable:
        """Return the values that later devices are compared with."""
        return frozenset(state)


class DistinctRequests(_Comparison):
    """No two devices of different requests have a value in common, nor do two of a request, one after the other.

    Until 1.36: the state is the number of devices, and the value of the last device of each request, with the request.
    """

    start = 0, frozenset[tuple[str, Value]]()
    compares_devices = False
    """Whether devices are compared, whatever their values: until 1.34 pointers to these were."""

    def add(self, state: Any, request: str, value: Value | None, device: int) -> Any:
        """Return the state with one more device; None if its value does not satisfy the constraint."""
        number, values = state
        if value is None:
            return None
        if self.compares_devices and value:
            value = frozenset({("device", device)})
        is_comparable = value or not (self.with_lists or values)
        if number and not (is_comparable and all(value.isdisjoint(each) for _, each in values)):
            return None
        return number + 1, frozenset((*(each for each in values if each[0] != request), (request, value)))

    def remove(self, state: Any, request: str) -> Any:
        """Return the state without a device; the request is forgotten even if it has other devices."""
        return state[0] - 1, frozenset(each for each in state[1] if each[0] != request)

    def compared(self, state: Any) -> Hashable:
        """Return the values that later devices are compared with."""
        return state[0] > 0, frozenset(value for _, value in state[1])


Constraint = Match | Distinct | DistinctRequests


LIMIT: Final = 32
"""How many devices a claim may get (AllocationResultsMaxSize)."""
EXACT: Final = "ExactCount"
ALL: Final = "All"


class Complaint(NamedTuple):
    """An error of upstream's, completed later with the names of a node's devices and pools, and of the claims.

    Args:
        claim: The claim whose name it starts with; None for none.
        before: The text up to the item, or the whole text.
        kind: The kind of the item: ``pool``, ``device``, ``claim`` or ``node``; empty without an item.
        item: Its place among the node's items or among the claims.
        after: The text after it.
        is_of_node: Whether only this node is ruled out; else the scheduler gives up on the pod.
        missing: The key that a selector did not find in a device; empty for other errors.
        of_class: The class whose selector fails: the text does not name the claim, then.
        is_crash: Whether the scheduler crashes; it says nothing, then.
    """

    claim: int | None
    before: str
    kind: str = ""
    item: int = 0
    after: str = ""
    is_of_node: bool = False
    missing: str = ""
    of_class: str = ""
    is_crash: bool = False


class Stop(Exception):  # noqa: N818 - it ends an attempt, rightly
    """Ends an attempt with an error of upstream's."""

    def __init__(self, complaint: Complaint) -> None:
        super().__init__(complaint.before)
        self.complaint = complaint


@dataclass(eq=False)
class Ask:
    """A request, or a subrequest of ``firstAvailable``.

    Args:
        raw: The request: ``exactly``, or the subrequest.
        parent: The name of the request that it is an alternative of.
        derived: Functions that return the attributes that it derives of a device, as in the API, or the error.
    """

    raw: JSONObject
    claim: int
    place: int
    parent: str | None
    alternative: int
    class_: JSONObject
    chooser: Chooser
    derived: Mapping[str, Callable[[Content], JSONObject | str]]
    variant: Implementation

    def __post_init__(self) -> None:
        """Read the request."""
        self.constraints: Sequence[Constraint] = ()
        """The constraints of the claim that are about it."""
        raw, name = self.raw, self.raw.get("name", "")
        self.name: str = name
        self.base: str = self.parent or name
        """The name of the request; for an alternative, that of its parent."""
        self.full_name: str = f"{self.parent}/{name}" if self.parent else name
        """The name that allocations and configuration refer to."""
        self.is_all = raw.get("allocationMode", EXACT) == ALL
        self.count: int = raw.get("count", 1)
        self.is_admin = self.parent is None and raw.get("adminAccess") is True
        self.tolerations: Sequence[JSONObject] = raw.get("tolerations") or ()
        self.requests: Mapping[str, Any] | None = (raw.get("capacity") or {}).get("requests")
        self.qualifies_capacity = bool(self.requests) and self.variant.qualifies_capacity
        """Whether it wants capacity, and the driver's domain counts for a name without a domain."""
        self._takes: dict[tuple[int, str], Take | None] = {}
        self._covering = covering = Tolerations(self.tolerations)
        self._tolerates = by_content(lambda content: all(map(covering.cover, content.taints)))

    def value(self, constraint: Constraint, content: Content) -> Value | None:
        """Return the value that a constraint compares of a device that it gets, None if the device has none.

        Raises:
            Stop: The attribute is derived, and the expression fails.
        """
        derived = self.derived.get(constraint.name) if self.derived else None
        if derived is None:
            return constraint.of(content)
        found = derived(content)
        if isinstance(found, str):
            text = f", request {self.full_name}, derived attribute {constraint.name}: {found}"
            raise Stop(Complaint(self.claim, text))
        return value_of(found, with_lists=constraint.with_lists)

    def takes(self, content: Content) -> Take | None:
        """Return the capacity that it takes of a device, None if it wants a capacity that the device does not have.

        Raises:
            Stop: It wants a capacity by two names.
        """
        key = content.capacity_index, content.driver if self.qualifies_capacity else ""
        if key not in self._takes:
            fractions = self.variant.features.FractionalCapacityRange
            self._takes[key] = take(content.capacity, self.wanted_of(content), fractions=fractions)
        return self._takes[key]

    def wanted_of(self, content: Content) -> Mapping[str, Any] | None:
        """Return the amounts that it wants of a device, by capacity as the device publishes it.

        Raises:
            Stop: It wants a capacity by two names.
        """
        if self.requests is None or not self.qualifies_capacity:
            return self.requests
        try:
            return as_published(self.requests, content.capacity, content.driver)
        except ValueError as error:
            raise Stop(Complaint(self.claim, f", request {self.full_name}: {error}")) from None

    def tolerates(self, content: Content) -> bool:
        """Tell whether it tolerates the taints of a device."""
        return not content.taints or self._tolerates(content)

    def untolerated(self, content: Content) -> list[Taint]:
        """Return the taints of a device that it does not tolerate."""
        return [each for each in content.taints if not self._covering.cover(each)]


class RequestDemand(NamedTuple):
    """A request of a claim: a single ask, or the alternatives of ``firstAvailable``."""

    asks: tuple[Ask, ...]
    has_alternatives: bool


class ClaimDemand(NamedTuple):
    """The demand of a claim."""

    raw: JSONObject
    requests: Sequence[RequestDemand]
    constraints: Sequence[Constraint]


Check = Complaint | Ask | int
"""A step before the search: an error, a request for all devices to be counted, or a claim whose devices are."""


class Demand:
    """The demand of some claims together.

    Raises:
        ValueError: A count is negative; upstream panics.
    """

    def __init__(
        self,
        specs: Sequence[JSONObject],
        classes: Mapping[str, JSONObject],
        selectors: Selectors,
        variant: Implementation,
    ) -> None:
        self._classes, self._selectors, self._variant = classes, selectors, variant
        self.claims: list[ClaimDemand] = []
        self.checks: list[Check] = []
        for index, spec in enumerate(specs):
            try:
                requests = [self._request(index, *each) for each in enumerate(spec.get("requests") or ())]
                self.checks.append(index)
                constraints = [self._constraint(index, *each) for each in enumerate(spec.get("constraints") or ())]
                for ask in (ask for request in requests for ask in request.asks):
                    ask.constraints = [each for each in constraints if each.is_about(ask)]
                self.claims.append(ClaimDemand(spec, requests, constraints))
            except Stop as stop:
                self.checks.append(stop.complaint)
                break
        self.order: list[RequestDemand | None] = []
        """The requests in the order in which they are satisfied; None where a claim ends."""
        for claim in self.claims:
            self.order += [*claim.requests, None]
        self.asks: Sequence[Ask] = [ask for request in self.order if request is not None for ask in request.asks]
        asks, numbers = self.asks, dict[Hashable, int]()
        every = [each for claim in self.claims for each in claim.constraints]

        def behaviour(content: Content) -> int:
            return numbers.setdefault(_behaviour(content, asks, every), len(numbers))

        def steps(content: Content) -> int:
            return numbers.setdefault((behaviour(content), *_first_false(content, asks)), len(numbers))

        self.behaviours = of_devices(behaviour)
        """Returns a number for each device, which is the same for those that no request can tell apart."""
        self.steps = of_devices(steps)
        """Returns a number for each, which is the same for devices that requests exclude at the same steps, too."""

    def _request(self, claim: int, place: int, raw: JSONObject) -> RequestDemand:
        name, alternatives = raw.get("name", ""), raw.get("firstAvailable") or ()
        features, variant = self._variant.features, self._variant
        if alternatives and not features.PrioritizedList:
            text = f", request {name}: has subrequests, but the DRAPrioritizedList feature is disabled"
            raise Stop(Complaint(claim, text))
        exactly = raw.get("exactly") or {}
        if variant.knows_capacity and not features.ConsumableCapacity:
            disabled = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
            if exactly.get("capacity") is not None:
                raise Stop(Complaint(claim, f", request {name}: {disabled}"))
            for each in alternatives:
                if each.get("capacity") is not None:
                    subject = f"subrequest {each.get('name', '')}" if variant.sees_whole_pools else f"request {name}"
                    raise Stop(Complaint(claim, f", {subject}: {disabled}"))
        asks, parent = [], name if alternatives else None
        for number, each in enumerate(alternatives or [{**exactly, "name": name}]):
            asks.append(self._ask(each, claim, place, parent, number))
            self.checks.append(asks[-1])
        return RequestDemand(tuple(asks), bool(alternatives))

    def _ask(self, raw: JSONObject, claim: int, place: int, parent: str | None, alternative: int) -> Ask:
        name, features, why = raw.get("name", ""), self._variant.features, ""
        selectors, class_name = raw.get("selectors") or (), raw.get("deviceClassName")
        mode = raw.get("allocationMode", EXACT)
        empty = next((number for number, each in enumerate(selectors) if each.get("cel") is None), None)
        class_ = self._classes.get(class_name or "")
        if empty is not None:
            why = f", selector #{empty}: CEL expression empty (unsupported selector type?)"
        elif parent is None and raw.get("adminAccess") is not None and not features.AdminAccess:
            why = ": admin access is requested, but the feature is disabled"
        elif not class_name:
            why = ": missing device class name (unsupported request type?)"
        elif class_ is None:
            missing = f'deviceclass.resource.k8s.io "{class_name}" not found'
            why = f": could not retrieve device class {class_name}: {missing}"
        elif mode not in {EXACT, ALL}:
            why = f": unsupported count mode {mode}"
        if why or class_ is None:
            raise Stop(Complaint(claim, f", request {name}{why}"))
        if mode == EXACT and raw.get("count", 1) < 0:
            raise ValueError(f"request {name}: a negative count, on which the scheduler panics")
        derived = (raw.get("derivedAttributes") or ()) if features.DerivedAttributes else ()
        derivation = self._selectors.derivation
        return Ask(
            raw,
            claim,
            place,
            parent,
            alternative,
            class_,
            self._selectors.chooser((class_.get("spec") or {}).get("selectors") or (), selectors),
            {
                each.get("name", ""): by_content(partial(_derived, *derivation(each.get("expression", ""))))
                for each in derived
            },
            self._variant,
        )

    def _constraint(self, claim: int, number: int, raw: JSONObject) -> Constraint:
        with_lists, requests = self._variant.features.ListTypeAttributes, raw.get("requests") or ()
        if (name := raw.get("matchAttribute")) is not None:
            return Match(name, requests, with_lists=with_lists)
        if (name := raw.get("distinctAttribute")) is not None and self._variant.knows_capacity:
            if self._variant.compares_all:
                return Distinct(name, requests, with_lists=with_lists)
            made = DistinctRequests(name, requests, with_lists=with_lists)
            made.compares_devices = not (with_lists or self._variant.compares_values)
            return made
        raise Stop(Complaint(claim, f", constraint #{number}: empty constraint (unsupported constraint type?)"))


def _first_false(content: Content, asks: Sequence[Ask]) -> Iterator[bool | None]:
    """Tell of each request whether the first selector that excludes a device is one of its class; None if none does."""
    for ask in asks:
        first = ask.chooser.first_false(content)
        yield first and first.of_class


def _behaviour(content: Content, asks: Sequence[Ask], constraints: Sequence[Constraint]) -> Hashable:
    """Return all by which requests tell a device from others."""
    return (
        content.is_shared,
        content.others.get("bindsToNode"),
        content.others.get("nodeName") is not None,
        terms(content.others.get("nodeSelector")),
        content.capacity_index,
        tuple(content.consumes.items()),
        tuple([(ask.chooser.choose(content), ask.tolerates(content)) for ask in asks]),
        tuple([each.of(content) for each in constraints]),
        content.index if any(ask.derived for ask in asks) else None,
        content.driver if any(ask.qualifies_capacity for ask in asks) else None,
    )


_KINDS: Final = {"bool": "bool", "int": "int", "string": "string", "kubernetes.Semver": "version"}
"""The field of an attribute that a value belongs into, by the value's type."""
_WORDS: Final = {"kubernetes.Semver": "semver"}


def _derived(compiled: Program | Refusal, values: DeviceValues, content: Content) -> JSONObject | str:
    """Return a derived attribute of a device, as in the API, or the error.

    Args:
        compiled: Its expression, or why it cannot be compiled.
    """
    if isinstance(compiled, Refusal):
        return f"CEL compile error: {compiled.text}"
    try:
        found = _attribute(compiled.evaluate(values.of(content), meter=Meter(MAX_COST)))
    except CelError as error:
        found = str(error)
    return f"{RUNTIME}{found}" if isinstance(found, str) else found


def _attribute(result: Any) -> JSONObject | str:
    """Return a result as an attribute, or the reason why it cannot be one (``valToDeviceAttribute``)."""
    if result == []:
        return {"strings": []}
    is_list = isinstance(result, list)
    values = result if is_list else [result]
    first, *others = (type_of(each).name for each in values)
    if first not in _KINDS:
        return f"unsupported {'list element type' if is_list else 'CEL return type'}: {first}"
    for index, name in enumerate(others, 1):
        if name != first:
            return f"expected list element at index {index} to be {_WORDS.get(first, first)}, got {name}"
    plain = [str(each) if isinstance(each, Semver) else each for each in values]
    return {f"{_KINDS[first]}s": plain} if is_list else {_KINDS[first]: plain[0]}
