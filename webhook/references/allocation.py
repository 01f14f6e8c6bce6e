"""Whether a claim, or all claims of a pod, could ever be allocated: the scheduler's allocator on free devices."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, Final

from webhook.allocation import Result
from webhook.allocation.devices import amount
from webhook.budget import current
from webhook.deviceselectors.fleet import EVERYWHERE
from webhook.deviceselectors.groups import Group
from webhook.formats.quantities import parse_quantity
from webhook.hints.names import listed
from webhook.inventory import CLAIMS, Inventory, MalformedError, devices_path
from webhook.inventory.claims import Request, allocation_of, source
from webhook.inventory.resources import amounts, container_requests, path_of
from webhook.objects import JSONObject, at, items, mapping, namespace_of, text
from webhook.problem import NOTE, Problem, Remark, value_at
from webhook.records import NamedTuple
from webhook.references.rules import (
    Context,
    contents_of_class,
    field_of,
    finding,
    rule,
    sorted_out,
)

_NODES_MOST: Final = 2_000
"""How many nodes are tried for one claim."""
_NODE: Final = 50
"""The work of trying a node."""


@rule("never-allocated", *CLAIMS, beside_devices=True)
def never_allocated(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """No node can give a claim all its devices together, even if all of them are free.

    Each request alone could be met, but not all of them at once, or not with the constraints, the capacity or the
    taints of the devices. The scheduler's allocation is tried for every node, as if no device were in use.
    """
    if allocation_of(claim):
        return
    path = devices_path(claim)
    devices = mapping(claim, *path)
    nodes = _nodes_for_each(claim, context) if items(devices, "requests") else None
    if nodes is None or _fits([devices], context, nodes) is not False:
        return
    for each in _without(claim, context):
        if _fits([each.devices], context, nodes):
            yield _never((*path, *each.path), each.message, context, each.hint)
            return
    requests = items(devices, "requests")
    whose = "all requests together" if len(requests) > 1 else f'request "{text(requests[0], "name")}"'
    message = f"no node has the devices of {whose}, even if all of them are free"
    hint = _too_many(claim, context) or _unusable(claim, context) or _drawn(devices, context, nodes)
    yield _never((*path, "requests"), message, context, hint)


def _never(path: tuple[str | int, ...], message: str, context: Context, hint: str = "") -> Problem:
    """Make a finding of the allocator, which names its release: `draguard simulate` may take another one."""
    release = Remark(f"judged as Kubernetes 1.{context.release}")
    return finding(path, message, f"{hint}; {release}" if hint else release, "NeverAllocated")


def _too_many(claim: JSONObject, context: Context) -> str:
    """Say how many devices the requests want together, if no node has so many; empty if one has, or if unclear."""
    total, found = 0, dict[int, Group]()
    for request in context.requests(claim):
        wanted: Any = request.content.get("count", 1)
        is_counted = isinstance(wanted, int) and not request.is_for_all
        is_special = "/" in request.name or "adminAccess" in request.content
        answer = None if is_special or not is_counted else sorted_out(request, context)
        if answer is None:
            return ""
        total += wanted
        found |= {each.index: Group(each, (each,), 1) for group in answer.taken for each in group.contents}
    if context.fleet is None or any(each.content.is_shared for each in found.values()):
        return ""
    most, _ = context.fleet.most_on_a_node(list(found.values()))
    return f"{total} devices are wanted, and a node has at most {most}" if total > most else ""


def _drawn(devices: JSONObject, context: Context, nodes: Sequence[JSONObject]) -> str:
    """Say for how many devices of a request the counters of a node suffice; empty if counters are not the reason."""
    if context.free is None:
        return ""
    attempt = context.free.allocator.attempt([Inventory().take(_claim(devices)) or {}])
    found = []
    for node in nodes[:_NODES_MOST]:
        current().spend(_NODE)
        funnels = attempt.explain(node)
        if all(each.is_met for each in funnels):
            return ""
        found += [(each.together, each.request) for each in funnels if each.together]
    if not found:
        return ""
    most, request = max(found)
    return f'at most {most.devices} together for request "{request}": {most.text}'


def _unusable(claim: JSONObject, context: Context) -> str:
    """Say why the scheduler does not use some pools of the nodes that have enough devices for a claim."""
    if context.free is None:
        return ""
    allocator, has_enough = context.free.allocator, _enough(claim, context)
    nodes = [each.node for each in context.free.nodes[:_NODES_MOST] if has_enough(each.name)]
    wrong = {f"pool {each.pool} is {each.why}" for node in nodes for each in allocator.unused(allocator.view(node))}
    return listed(sorted(wrong))


def _enough(claim: JSONObject, context: Context) -> Callable[[str], bool]:
    """Return a function that tells whether a node has enough devices for each request, usable or not."""
    numbers: dict[str, list[tuple[int, Counter[str]]]] = {}
    for request in context.requests(claim):
        answer = sorted_out(request, context)
        if context.fleet is None or answer is None:
            continue
        by_node: Counter[str] = Counter()
        for each in context.fleet.places(answer.taken):
            by_node[each.node] += each.devices
        wanted: Any = request.content.get("count")
        wanted = wanted if isinstance(wanted, int) else 1
        numbers.setdefault(request.name.partition("/")[0], []).append((wanted, by_node))

    def has_enough(node: str) -> bool:
        return all(
            any(wanted <= by_node[node] + by_node[EVERYWHERE] for wanted, by_node in alternatives)
            for alternatives in numbers.values()
        )

    return has_enough


@rule("whole-device", *CLAIMS, level=NOTE, beside_devices=True)
def whole_device(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for a part of a device's capacity, but no device of its class can be shared.

    It gets a device with at least that capacity, and all of it: only devices with ``allowMultipleAllocations`` are
    shared.
    """
    for request, message in without_sharing(claim, context):
        yield finding((*request.path, "capacity"), message, reason="WholeDevice")


def without_sharing(claim: JSONObject, context: Context) -> Iterator[tuple[Request, str]]:
    """Yield the requests for a part of a device's capacity that get a whole device, and what to say of them."""
    for request in context.requests(claim):
        contents = contents_of_class(request, context) if request.capacity else ()
        if contents and not any(each.is_shared for each in contents):
            yield request, f'request "{request.name}" gets a whole device: none of the class can be shared'


@rule("not-enough-devices", *CLAIMS, beside_devices=True)
def not_enough_devices(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for more devices than any node has.

    All devices of a claim must be usable from one node. Devices in use count here, so this holds even for an empty
    cluster.
    """
    fleet = context.fleet
    if fleet is None:
        return
    for request in context.requests(claim):
        wanted: Any = request.content.get("count") or 1
        if request.is_for_all or not isinstance(wanted, int):
            continue
        answer = sorted_out(request, context)
        if answer is None or answer.failing or (wanted == 1 and answer.taken) or (request.own and not answer.taken):
            continue
        most, node = fleet.most_on_a_node(answer.taken)
        if wanted > most:
            where = f" ({node})" if node else ""
            devices = "1 device" if wanted == 1 else f"{wanted} devices"
            available = f"more than {most}{where}" if most else "any"
            message = f'request "{request.name}" asks for {devices}, and no node has {available}'
            key = "count" if "count" in request.content else "deviceClassName"
            possible = _most_allocated(request.content, most, context)
            hint = f"ask for {possible} at most: all devices of a claim are used from one node" if possible else ""
            if hint and all(content.is_shared for group in answer.taken for content in group.contents):
                hint += "; several requests may share them"
            yield finding((*request.path, key), message, hint, "NotEnough")


def _most_allocated(request: JSONObject, most: int, context: Context) -> int:
    """Return how many devices of a request a node could allocate, whose devices may share counters.

    Args:
        request: The request, or the alternative.
        most: How many matching devices a node has at most.
    """
    fields = {key: value for key, value in request.items() if key != "name"}

    def fits(count: int) -> bool:
        counted = {"name": "request", "exactly": {**fields, "count": count}}
        return _fits([{"requests": [counted]}], context) is not False

    return bisect_left(range(1, most + 1), x=True, key=lambda count: not fits(count))


@rule("pod-never-allocated", "Pod", beside_devices=True)
def pod_never_allocated(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """No node can give a pod the devices of all its claims together, even if all of them are free.

    Extended resources that device classes provide count as a claim, too. Each claim alone could be allocated.
    """
    known = [_devices_of(pod, entry, context) for entry in items(pod, "spec", "resourceClaims")]
    if None in known:
        return
    claims = [each for each in known if each]
    extended = _extended(pod, context)
    if found := list(_never_provided(pod, extended, context)):
        yield from found
        return
    together = [*claims, extended] if extended else claims
    if len(together) < 2 and not extended:  # noqa: PLR2004 - a single claim is looked at by itself
        return
    if _fits(together, context) is False and all(_fits([each], context) for each in claims):
        what = "of all the pod's claims together" if claims else "for the pod's extended resources together"
        lists = {path_of(pod, text(each, "name"))[1] for each in items(extended, "requests")}
        around = "resourceClaims" if claims else lists.pop() if len(lists) == 1 else ""
        path = ("spec", around) if around else ("spec",)
        yield _never(path, f"no node has the devices {what}, even if all of them are free", context)


def _never_provided(pod: JSONObject, extended: JSONObject, context: Context) -> Iterator[Problem]:
    """Find the extended resources of containers for which alone no node has the devices."""
    for request in items(extended, "requests"):
        if _fits([{"requests": [request]}], context) is not False:
            continue
        path, wanted = path_of(pod, text(request, "name")), request["exactly"]["count"]
        devices = "a device" if wanted == 1 else f"{wanted} devices"
        most = _most_allocated(request["exactly"], wanted - 1, context)
        hint = f"ask for {most} at most: all devices of a pod are used from one node" if most else ""
        message = f'no node has {devices} for the extended resource "{path[-1]}", even if all of them are free'
        yield _never(path, message, context, hint)


def _devices_of(pod: JSONObject, entry: JSONObject, context: Context) -> JSONObject | None:
    """Return the requests of a pod's claim, none if it is already allocated; None if unknown."""
    namespace, inventory = namespace_of(pod), context.inventory
    if name := source(entry, "resourceClaimName"):
        claim = inventory.find("ResourceClaim", name, namespace)
        return None if claim is None else {} if allocation_of(claim) else mapping(claim, "spec", "devices")
    name = source(entry, "resourceClaimTemplateName")
    template = inventory.find("ResourceClaimTemplate", name, namespace)
    return None if template is None else mapping(template, "spec", "spec", "devices")


def _extended(pod: JSONObject, context: Context) -> JSONObject:
    """Return the device requests for a pod's extended resources that device classes provide."""
    if "DRAExtendedResource" not in context.gates:
        return {}
    containers = [*items(pod, "spec", "initContainers"), *items(pod, "spec", "containers")]
    wanted = {name for each in containers for name, count in amounts(container_requests(each)).items() if count}
    wanted = {name for name in wanted if context.extended.has(name) and name not in context.of_nodes}
    return mapping(context.extended.claim_for(pod, wanted), "spec", "devices") if wanted else {}


def _nodes_for_each(claim: JSONObject, context: Context) -> Sequence[JSONObject] | None:
    """Return the nodes that have devices for each request; None if a request has none, as other rules report that."""
    fleet, free = context.fleet, context.free
    found: set[str] | None = None
    for request in context.requests(claim):
        answer = sorted_out(request, context)
        wanted = request.content.get("count")
        if fleet is None or answer is None or answer.failing or not answer.taken:
            return None
        if isinstance(wanted, int) and wanted > 1 and wanted > fleet.most_on_a_node(answer.taken)[0]:
            return None
        if "/" not in request.name and sum(len(group.contents) for group in answer.taken) <= _CONTENTS_MOST:
            names = {each.node for each in fleet.places(answer.taken)}
            found = found if EVERYWHERE in names else names if found is None else found & names
    if free is None:
        return None
    tried = free.names if found is None else sorted(found & free.index.keys())
    return [free.nodes[free.index[name]].node for name in tried]


_CONTENTS_MOST: Final = 100
"""For how many different devices the nodes are looked up."""


class _Less(NamedTuple):
    """A smaller claim, and the hint if it could be allocated."""

    devices: JSONObject
    path: tuple[str | int, ...]
    message: str
    hint: str = ""


def _lack(request: Request, context: Context) -> str:
    """Name the capacity of which no device has enough for a request, and the most that one has."""
    answer = sorted_out(request, context)
    if context.fleet is None or answer is None:
        return ""
    contents = [content for group in answer.taken for content in group.contents][:_CONTENTS_MOST]
    lacks = [context.fleet.lack(request.capacity, each) for each in contents]
    known = {amount(parse_quantity(each.left)) if each.left else -1: each.text for each in lacks if each}
    return known[max(known)] if known else ""


def _without(claim: JSONObject, context: Context) -> Iterator[_Less]:
    """Yield smaller claims, each without one part."""
    path = devices_path(claim)
    devices = mapping(claim, *path)
    constraints = items(devices, "constraints")
    for index, constraint in enumerate(constraints):
        less = deepcopy(devices)
        del less["constraints"][index]
        field = field_of(constraint)
        message = f"no node has devices for all requests that meet the constraint {field}: {text(constraint, field)}"
        yield _Less(less, ("constraints", index, field), message)
    if len(constraints) > 1:
        fields = [(field_of(each), each) for each in constraints]
        named = listed(f"{field}: {text(each, field)}" for field, each in fields)
        message = f"no node has devices for all requests that meet the constraints together: {named}"
        yield _Less({**devices, "constraints": []}, ("constraints",), message)
    for request in context.requests(claim):
        if request.path[-1] == "exactly" and at(request.content, "capacity"):
            here, less = request.path[len(path) :], deepcopy(devices)
            del value_at(less, here)["capacity"]
            message = f'no device gives request "{request.name}" the capacity that it asks for'
            yield _Less(less, (*here, "capacity"), message, _lack(request, context))
    tolerant = deepcopy(devices)
    for request in context.requests(claim):
        value_at(tolerant, request.path[len(path) :])["tolerations"] = [{"operator": "Exists"}]
    message = "the devices that fit have taints that the requests do not tolerate"
    hint = "tolerate them, or wait until they are removed: they are set in ResourceSlices and DeviceTaintRules"
    yield _Less(tolerant, ("requests",), message, hint)


def _fits(claims: Sequence[JSONObject], context: Context, nodes: Sequence[JSONObject] | None = None) -> bool | None:
    """Tell whether a node could allocate claims; None if unknown, or too much work."""
    free = context.free
    if free is None or not free.nodes:
        return None
    try:
        made = [Inventory().take(_claim(devices)) or {} for devices in claims]
    except MalformedError:
        return None
    attempt = free.allocator.attempt(made)
    for asked, node in enumerate([each.node for each in free.nodes] if nodes is None else nodes):
        if asked == _NODES_MOST:
            return None
        current().spend(_NODE)
        result = attempt.on(node)
        if isinstance(result, Result):
            return None if result.timed_out else True
        if result.scope == "abort" or result.timed_out:
            return None
    return False


def _claim(devices: JSONObject) -> JSONObject:
    metadata = {"name": "claim", "namespace": "default"}
    spec = {"devices": devices}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}
