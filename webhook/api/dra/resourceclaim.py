"""ResourceClaim and ResourceClaimTemplate: requests for devices, constraints, configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from webhook import formats
from webhook.api.core.meta import Object, TemplateMetadata
from webhook.api.dra.claimstatus import ALLOCATED_BY_SCHEDULER, CHECKED_ONCE_SINCE, ResourceClaimStatus
from webhook.api.dra.devicerequest import DeviceRequest
from webhook.api.dra.names import TAGGED, attribute_of_a_domain, driver_name, fully_qualified_name
from webhook.api.dra.opaque import DeviceConfiguration
from webhook.api.dra.selectors import EXPRESSION_MAX_BYTES
from webhook.budget import BudgetExceededError, current
from webhook.problem import WARNING, Path, Problem, Verbatim, forbidden, invalid, malformed, required, shown
from webhook.release import Release, picked
from webhook.schema.declarations import IN_PLACE, NEW, Struct, check, transition
from webhook.schema.fields import SIZE_ENDS_LIST_SINCE, Array, Nested, Text, View
from webhook.schema.target import CREATE, MAIN, OLDEST, STATUS, UPDATE_STATUS, Target
from webhook.spelling import nearest

REQUESTS_MAX_ITEMS = 32
CONSTRAINTS_MAX_ITEMS = 32
CONFIG_MAX_ITEMS = 32

_DISTINCT_TAGGED_SINCE = 37


class OfRequests(Struct):
    """The requests that a constraint or a configuration is for."""

    requests = Array(
        Text(), "The names of the requests; all if empty.", max_items=REQUESTS_MAX_ITEMS, unique="", declared=TAGGED
    )


class DeviceConstraint(OfRequests):
    """The attributes that devices of several requests must share, or that must differ."""

    matchAttribute = Text(
        "An attribute for which all devices must have the same value.",
        checked_by=fully_qualified_name,
        go="FullyQualifiedName",
        pointer=True,
        declared={35: {"checked_by": attribute_of_a_domain}},
    )
    distinctAttribute = Text(
        "An attribute for which all devices must have different values.",
        go="FullyQualifiedName",
        pointer=True,
        since=34,
        gate={OLDEST: "", 35: "DRAConsumableCapacity"},  # 1.34 drops it from a copy
        declared={_DISTINCT_TAGGED_SINCE: {"checked_by": attribute_of_a_domain}},
    )


class DeviceClaimConfiguration(DeviceConfiguration, OfRequests):
    """Configuration for the devices of some requests."""


class DeviceClaim(Struct):
    """The requested devices."""

    requests = Array(
        Nested(DeviceRequest),
        "Requests for distinct devices, all of which must be satisfied.",
        max_items=REQUESTS_MAX_ITEMS,
        unique="name",
        declared=TAGGED,
        written=True,
    )
    constraints = Array(
        Nested(DeviceConstraint),
        "Constraints that the set of allocated devices must satisfy.",
        max_items=CONSTRAINTS_MAX_ITEMS,
        declared=TAGGED,
    )
    config = Array(
        Nested(DeviceClaimConfiguration), "Configuration for drivers.", max_items=CONFIG_MAX_ITEMS, declared=TAGGED
    )


class ResourceClaimSpec(Struct):
    """The requested devices and their configuration."""

    instead: ClassVar = {
        "resourceClassName": "name a DeviceClass in devices.requests[].exactly.deviceClassName",
        "parametersRef": "write the parameters themselves into devices.config[].opaque",
        "spec": "a claim has one spec: leave one out, or write kind: ResourceClaimTemplate, which has two",
        "controller": ALLOCATED_BY_SCHEDULER,
        "allocationMode": "Immediate and WaitForFirstConsumer said when to allocate, now always when a pod needs the"
        " devices: leave the field out; All and ExactCount are values of devices.requests[].exactly.allocationMode",
    }

    devices = Nested(DeviceClaim)
    controller = driver_name(
        "The driver whose own controller allocates the claim.", until=31, gate="DRAControlPlaneController"
    )


class ResourceClaim(Object):
    """A request for devices, and their allocation."""

    checks_prefix: ClassVar = {OLDEST: True}
    tagged_since = 35

    spec = Nested(ResourceClaimSpec, immutable=True, rechecked={35: NEW}, subresource=MAIN, declared=TAGGED)
    status = Nested(ResourceClaimStatus, subresource=STATUS)

    @classmethod
    def prepare(cls, obj: dict[str, Any], old: dict[str, Any], target: Target) -> dict[str, Any]:
        """Drop the status of devices that a status update deallocates (dropDeallocatedStatusDevices)."""
        status, before = obj.get("status") or {}, old.get("status") or {}
        gone = _results(before) - _results(status)
        devices = status.get("devices") or []
        if target.operation != UPDATE_STATUS or not gone or not devices:
            return obj
        kept = [each for each in devices if _identity(each or {}) not in gone]
        return obj if len(kept) == len(devices) else obj | {"status": status | {"devices": kept}}


def _results(status: dict[str, Any]) -> set[tuple[str, ...]]:
    allocated = (status.get("allocation") or {}).get("devices") or {}
    return {_identity(result or {}) for result in allocated.get("results") or ()}


def _identity(device: dict[str, Any]) -> tuple[str, ...]:
    return tuple(device.get(name) or "" for name in ("driver", "pool", "device"))


class ResourceClaimTemplateSpec(Struct):
    """The metadata and the spec of claims made from the template."""

    metadata = Nested(TemplateMetadata, "Labels and annotations for the claims.")
    spec = Nested(ResourceClaimSpec, "The spec of the claims.")


class ResourceClaimTemplate(Object):
    """A template from which every pod gets its own claim."""

    checks_prefix: ClassVar = {OLDEST: True}
    tagged_since = 37

    spec = Nested(ResourceClaimTemplateSpec, immutable=True)


@check(DeviceConstraint)
def an_attribute_to_compare(constraint: View) -> Iterator[Problem]:
    """A constraint compares an attribute; upstream accepts both fields, and then uses only `matchAttribute`."""
    if "matchAttribute" in constraint:
        return
    if "distinctAttribute" in constraint:
        if constraint.target.declarative and constraint.release >= _DISTINCT_TAGGED_SINCE:
            return
        for problem in fully_qualified_name(constraint.distinctAttribute, constraint.target):
            yield problem.under("distinctAttribute")
    elif constraint.enabled("DRAConsumableCapacity"):
        # The text is upstream's, though no field is set.
        detail = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        yield required(constraint.path, detail)._replace(hint="set matchAttribute or distinctAttribute")
    else:
        yield required(constraint / "matchAttribute")


# References to requests

_SUBREQUESTS_SINCE = 33
_NO_REQUEST = "must be the name of a request in the claim"
_NO_SUBREQUEST = f"{_NO_REQUEST} or the name of a request and a subrequest separated by '/'"


@check(DeviceClaim, given=["constraints", "config"], before=IN_PLACE)
def requests_that_exist(devices: View) -> Iterator[Problem]:
    """Constraints and configuration refer to requests of the claim or their alternatives: `request/alternative`."""
    if "constraints" not in devices and "config" not in devices:
        return
    known = _known_requests(devices)
    for field, limit in (("constraints", CONSTRAINTS_MAX_ITEMS), ("config", CONFIG_MAX_ITEMS)):
        for each in _checked_items(getattr(devices, field), limit, devices.release):
            yield from _references(each, known)


@check(DeviceClaim, since=37, given=["requests"])
def derived_attributes_that_are_compared(devices: View) -> Iterator[Problem]:
    """Attributes are derived for constraints, and all together do not cost too much."""
    if not (derived := list(_derived(devices))):
        return
    compared = [
        (each.get("matchAttribute") or each.get("distinctAttribute") or "", frozenset(each.get("requests") or ()))
        for each in devices.contents("constraints")
    ]
    for attribute, names in derived:
        name = attribute.name
        if name and not any(name == known and (not of or not names.isdisjoint(of)) for known, of in compared):
            yield invalid(attribute / "name", name, _NOT_COMPARED)
    if _cost_too_much([attribute.expression for attribute, _ in derived], devices.target):
        text = "too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit"
        yield forbidden(devices.path, text)


_NOT_COMPARED = (
    "must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request"
)


def _derived(devices: View) -> Iterator[tuple[View, set[str]]]:
    """Yield the derived attributes, each with the names by which constraints refer to its request."""
    for request in devices.requests:
        for attribute in request.exactly.derivedAttributes:
            yield attribute, {request.name}
        for alternative in request.firstAvailable or ():
            for attribute in alternative.derivedAttributes:
                yield attribute, {request.name, f"{request.name}/{alternative.name}"}


def _cost_too_much(expressions: Iterable[str], target: Target) -> bool:
    from webhook.cel.kubernetes.devices import MAX_COST, cost_of  # few objects derive attributes

    try:
        costs = [
            cost_of(each, target.release, target.gates, stored=target.stored, is_derived=True)
            for each in expressions
            if each and not formats.exceeds(each, EXPRESSION_MAX_BYTES)
        ]
    except BudgetExceededError:
        if not current().is_offline:
            raise
        return False  # reported at the expression that exceeds the limit
    return sum(cost for cost in costs if isinstance(cost, int)) > MAX_COST


@transition(ResourceClaim, on=[UPDATE_STATUS], before=IN_PLACE)
def allocated_requests_that_exist(claim: View, old: View) -> Iterator[Problem]:
    """Each allocated device belongs to a request of the claim."""
    allocation, release = claim.status.allocation, claim.release
    if not allocation or (old.status.allocation and release >= CHECKED_ONCE_SINCE):
        return
    known = _known_requests(claim.spec.devices)
    for result in _checked_items(allocation.devices.results, REQUESTS_MAX_ITEMS, release):
        yield from _reference(result / "request", result.request, known, release)
    for config in _checked_items(allocation.devices.config, 2 * CONFIG_MAX_ITEMS, release):
        yield from _references(config, known)


def _known_requests(devices: View) -> Mapping[str, frozenset[str]]:
    return {request.name: frozenset(each.name for each in request.firstAvailable or ()) for request in devices.requests}


def _checked_items(items: list[Any], limit: int, release: Release) -> list[Any]:
    """Leave out the items of a list of which only the size is reported."""
    return [] if len(items) > limit and release >= SIZE_ENDS_LIST_SINCE else items


def _references(each: View, known: Mapping[str, frozenset[str]]) -> Iterator[Problem]:
    for index, name in enumerate(_checked_items(each.requests, REQUESTS_MAX_ITEMS, each.release)):
        yield from _reference(each / "requests" / index, name or "", known, each.release)


def _reference(path: Path, name: str, known: Mapping[str, frozenset[str]], release: Release) -> Iterator[Problem]:
    request, slash, alternative = name.partition("/")
    if release < _SUBREQUESTS_SINCE:
        yield from malformed(path, name, formats.dns_label(name, release))
        if name not in known:
            yield invalid(path, name, _NO_REQUEST)
        return
    if "/" in alternative:
        yield invalid(path, name, _NO_SUBREQUEST)
        return
    for segment in (request, alternative) if slash else (request,):
        yield from malformed(path, segment, formats.dns_label(segment, release))
    if request not in known or (slash and alternative not in known[request]):
        yield invalid(path, name, _NO_SUBREQUEST)


@transition(ResourceClaim, on=[UPDATE_STATUS])
def reserved_while_going(claim: View, old: View) -> Iterator[Problem]:
    """A claim that is being deleted takes no new reservations."""
    status, before = claim.status, old.status.reservedFor
    going = claim.metadata.deletionTimestamp or status.deallocationRequested
    if going and status.allocation and any(consumer not in before for consumer in status.reservedFor):
        detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        yield forbidden(status / "reservedFor", detail)


# Administration

_ADMIN_LABEL = {33: "resource.k8s.io/admin-access", 34: "resource.kubernetes.io/admin-access"}
ADMIN_SINCE = 33


def admin_label(release: Release) -> str:
    """Return the label that a namespace must have for admin access."""
    return picked(_ADMIN_LABEL, release) or ""


def admin_refusal(release: Release) -> str:
    """Return the API server's message about admin access in a namespace without that label."""
    return f"admin access to devices requires the `{admin_label(release)}: true` label on the containing namespace"


def admin_label_meant(labels: Mapping[str, Any], release: Release) -> str:
    """Return the label of a namespace that was probably meant to allow admin access: another release's, or misspelt."""
    wanted = admin_label(release)
    near = next((label for label in (wanted, *_ADMIN_LABEL.values()) if label in labels), "") or nearest(wanted, labels)
    value = labels.get(near)
    return f"{near}: {value if isinstance(value, str) else shown(value)}" if near else ""


@check(ResourceClaim, since=ADMIN_SINCE, on=[CREATE], given=["spec"])
def admin_access(claim: View) -> Iterator[Problem]:
    """Admin access is allowed only in namespaces that are labelled for it."""
    yield from _admin_requests(claim, claim.spec)


@check(ResourceClaimTemplate, since=ADMIN_SINCE, on=[CREATE], given=["spec"])
def admin_access_of_template(template: View) -> Iterator[Problem]:
    """Claims with admin access can be created only in namespaces that are labelled for it."""
    yield from _admin_requests(template, template.spec.spec)


def _admin_requests(view: View, spec: View) -> Iterator[Problem]:
    for index, request in enumerate(() if view.target.admin_namespace else spec.devices.requests):
        if request.exactly.adminAccess:
            # The API server's path is that of a claim before `exactly`, also for templates.
            spelled = Path(("spec", "devices", "requests", index, Verbatim("adminAccess")))
            yield from _unlabelled(view, request.exactly / "adminAccess", spelled)
            return


@transition(ResourceClaim, since=ADMIN_SINCE, on=[UPDATE_STATUS])
def admin_access_allocated(claim: View, old: View) -> Iterator[Problem]:
    """Admin access is allocated only in namespaces that are labelled for it."""
    before = old.status.allocation.devices.results
    if claim.target.admin_namespace or any(result.adminAccess for result in before):
        return
    for result in claim.status.allocation.devices.results:
        if result.adminAccess:
            yield from _unlabelled(claim, result / "adminAccess", None)
            return


def _unlabelled(view: View, path: Path, spelled: Path | None) -> Iterator[Problem]:
    detail = admin_refusal(view.release)
    problem = forbidden(path, detail)._replace(spelled=spelled)
    # The namespace is not part of the manifest: without it the result is unknown.
    yield problem if view.target.admin_namespace is False else problem._replace(level=WARNING)
