"""Rules that check claims and classes against the devices of a cluster; whether these could ever be allocated."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Final

from webhook.allocation.devices import Content, amount, named
from webhook.budget import current
from webhook.cel.syntax.ast import Expression, Literal
from webhook.cel.types.values import type_of
from webhook.deviceselectors.fleet import EVERYWHERE, Fleet, lacking
from webhook.deviceselectors.parts import (
    Blame,
    Parts,
    Read,
    comparison,
    equals,
    is_made,
    parts_of,
    read_of,
    reads,
)
from webhook.formats.quantities import parse_quantity
from webhook.hints.names import ask_first, instead, listed
from webhook.inventory import CLAIMS, MalformedError, devices_path, misfit
from webhook.inventory.claims import POD, ClaimRequest, Consumer, Use, allocation_of
from webhook.inventory.resources import path_of, requests
from webhook.objects import JSONObject, free_of_nulls, items, mapping, namespace_of, text
from webhook.problem import NOTE, Advice, Problem, Remark, Steps, value_at
from webhook.references.capacities import more_than_enough, with_unit
from webhook.references.claims import contradicting_constraints
from webhook.references.rules import (
    SELECTING,
    Context,
    claim_or_template,
    contents_of_class,
    field_of,
    finding,
    rule,
    sorted_out,
)
from webhook.references.selecting import (
    A_VERSION,
    OTHER_HOLDER,
    WRITTEN_TYPES,
    Selector,
    failures,
    meant_read,
    rule_of_selectors,
    text_comparisons,
)
from webhook.spelling import nearest

if TYPE_CHECKING:
    from webhook.simulation.cluster import NodeVerdict
    from webhook.simulation.rejections import NodeGroup


@rule_of_selectors(beside_devices=True)
def not_published(selector: Selector, context: Context) -> Iterator[Problem]:
    """A selector reads a domain, attribute or capacity that no device of the class has.

    Drivers rename attributes from release to release. Without a guard the read is a run-time error, which ends the
    scheduling of the pod for all nodes. `draguard match` shows the attributes of devices.
    """
    fleet = context.fleet
    if fleet is None:
        return
    domains: set[tuple[str, str]] = set()
    for read in {read[:3]: read for read in selector.parts.reads}.values():
        around = selector.around
        has_devices = fleet.published(around, read.holder) or fleet.of_class(around)
        if not has_devices or (read.holder, read.domain) in domains:
            continue
        if found := unpublished(read, selector.parts, fleet, around):
            if found.character == read.domain_offset:  # one finding covers all reads from a domain
                domains.add((read.holder, read.domain))
            yield found


def unpublished(read: Read, parts: Parts, fleet: Fleet, around: Sequence[JSONObject] = ()) -> Problem | None:
    """Report that no device publishes what a selector reads; None if one does.

    Args:
        parts: The selector.
        around: The selectors of its class, which devices must meet.
    """
    known, which = fleet.published(around, read.holder), "no device of the class" if around else "no known device"
    domains = {domain for domain, _ in known}
    if (read.domain, read.name) in known:
        return None
    if read.domain in domains:
        message = f'{which} has the {read.holder.removesuffix("s")} "{read.domain}/{read.name}"'
    else:
        what = f'the domain "{read.domain}" in its {read.holder}' if domains else f"any {read.holder}"
        message = f"{which} has {what}"
    is_other = (read.domain, read.name) in fleet.published(around, OTHER_HOLDER[read.holder])
    advice = meant_read(read, parts, known, is_other=is_other)
    return finding((), message, advice, character=read.offset if read.domain in domains else read.domain_offset)


@rule_of_selectors(beside_devices=True)
def selector_fails(selector: Selector, context: Context) -> Iterator[Problem]:
    """A selector fails on some device of the class: that ends the scheduling of the pod for all nodes.

    A read of an attribute that a device lacks is a run-time error, and so is a comparison of values of different
    types. The scheduler then rejects the pod, even if another device or node would do; whether it tries that device
    depends on which devices are free. Check first: ``has(device.attributes["d"].x) && …``, or ``.?x.orValue(…)``;
    ``!has(…) || …`` before ``!=`` keeps the devices without the attribute. If the scheduler uses none of these devices,
    such as those of an incomplete pool, the message says so.
    """
    fleet = context.fleet
    if fleet is None or not (failing := failures(selector, fleet)):
        return
    groups, of_class = [group for group, _ in failing], fleet.sorted_out(selector.around, ()).taken
    used = fleet.used(groups)
    places = used or [*fleet.places(groups)]
    first, fault = next(pair for pair in failing if places[0].content in pair[0].contents)
    every = fleet.used(of_class) if used else fleet.places(of_class)
    count, all_ = (sum(one.devices for one in each) for each in (places, every))
    ends = "ends" if used else "would end"
    message = f"an error on {count} of {all_} devices {ends} scheduling for all nodes: {fault.detail}"
    if not used:
        message += f"; not used, as pool {places[0].pool} is {fleet.unused[places[0].slice.order]}"
    advice = Advice()
    missing = fault.detail.missing
    if missing in WRITTEN_TYPES:
        advice = Advice(f"an attribute is read without its type: leave out .{missing}")
    elif missing:
        lacks = lacking(selector.parts.reads, [each.content for each in groups])
        advice = ask_first(selector.parts.guarded(lacks))
    elif not fault.detail.has_overload:
        advice = Advice(_of_types(fleet, first.content, selector.parts))
    part = fleet.first_false_part(selector.parts, first.content)
    start = selector.parts.places[part][0] if part else None
    character = next((each.offset for each in reads(part) if each.name == missing), start) if part else None
    yield finding((), message, advice, "Fails", character)


def _of_types(fleet: Fleet, content: Content, parts: Parts) -> str:
    """Name the types of attributes that a selector misuses; of a version, how it is compared, as it is written."""
    bindings = fleet.bindings(content)
    if bindings is None:
        return ""
    known = bindings["device"]["attributes"]
    of_versions = {each.read.offset: each.of_versions for each in reversed(text_comparisons(parts))}
    found = []
    for read in parts.reads:
        if read.holder == "attributes" and read.name in known[read.domain]:
            type_ = type_of(known[read.domain][read.name]).name
            if type_ == "kubernetes.Semver":
                type_ = f"version: compare it as in {of_versions.get(read.offset, A_VERSION)}"
            found.append(f"{read.name} is of type {type_}")
    return listed(found)


@rule_of_selectors(beside_devices=True)
def quantity_without_unit(selector: Selector, context: Context) -> Iterator[Problem]:
    """A selector compares a capacity with a plain number, where a unit such as Gi is probably missing.

    Each device of the class has more than a million times as much.
    """
    contents, parts = context.fleet.of_class(selector.around) if context.fleet else (), selector.parts
    for each in filter(None, map(comparison, parts.nodes)):
        read, literal = read_of(each.subject), each.wanted.arguments[0] if is_made(each.wanted) else None
        if read and read.holder == "capacity" and isinstance(literal, Literal):
            current().spend(len(contents))
            name, written = f"{read.domain}/{read.name}", str(literal.value)
            published = [*filter(None, (named(one.capacity, one.driver, name) for one in contents))]
            if published and (meant := with_unit(written, published)):
                message = f"{read.name} is compared with {written}{more_than_enough(published)}"
                advice = Advice(f'did you mean quantity("{meant}")?', parts.rewritten(literal, f'"{meant}"'))
                yield finding((), message, advice, "NoUnit", literal.offset)


@rule(*SELECTING, beside_devices=True)
def selects_nothing(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """No device of the cluster meets the selectors of a request, or of a class.

    Pods with such a claim stay pending. The reason shown is that of most devices; `draguard match` shows all. There is
    no finding if it depends on values that were taken out of the slices, and replaced by `redacted` or the like.
    """
    for request in context.requests(obj):
        if context.fleet and context.fleet.contents and request.own and (request.is_class or request.device_class):
            yield from _nothing(request, context.fleet)


def _nothing(request: ClaimRequest, fleet: Fleet) -> Iterator[Problem]:
    around, own, who = request.of_class, request.own, "the class" if request.is_class else f'request "{request.name}"'
    answer = fleet.sorted_out(around, own)
    if answer.taken or answer.failing:
        return
    reasons: Counter[tuple[int, Blame]] = Counter()
    examples: dict[tuple[int, Blame], Content] = {}
    for group in answer.refused[:_BLAMED_MOST]:
        choice = fleet.choose(around, own, group.content)
        if not choice.of_class:
            reasons[choice.place, choice.blame] += group.devices
            examples.setdefault((choice.place, choice.blame), group.content)
    if any(_TAKEN_OUT.fullmatch(each.met) for _, blame in reasons for each in blame.each):
        return
    ((index, blame), count) = max(reasons.items(), key=lambda pair: pair[1], default=((0, Blame("")), 0))
    reason, first = blame.text, blame.each[0]
    met = (each.met for place, why in reasons if place == index for each in why.each[:1] if each.name == first.name)
    message = f"no device meets the selectors of {who}"
    if count and reason:
        all_ = sum(reasons.values())
        some = f"all {all_} devices" if count == all_ else f"{count} of {all_} devices"
        message += f": {reason} ({'the only device' if all_ == 1 else some})"
    parts = parts_of(text(own[index], "cel", "expression"), fleet.release, fleet.gates)
    part = fleet.first_false_part(parts, examples[index, blame]) if parts and examples else None
    advice = _mistyped(first, list(dict.fromkeys(met)), parts, part) if parts and part else Advice()
    character = parts.places[part][0] if parts and part else None
    path = (*request.path, "selectors", index, "cel", "expression")
    yield finding(path, message, advice, "SelectsNothing", character)


_BLAMED_MOST: Final = 200
"""For how many different devices, the most frequent first, the reason of their rejection is determined."""
_TAKEN_OUT: Final = re.compile(
    r'"[\[<({]?(?:redacted|removed|masked|anonymi[sz]ed|hidden|x{3,}|\*{3,})[\])>}]?"', re.IGNORECASE
)
"""A placeholder for a value that was removed from a slice before it was shared: ``<redacted>``."""
_NO_LETTER: Final = re.compile(r"[\W_]")


def _mistyped(blame: Blame, values: Sequence[str], parts: Parts, part: Expression) -> Advice:
    """Explain that a value is compared with one of another type or spelling; otherwise list the existing values.

    Args:
        blame: Why the selector is false.
        values: The devices' values of what it compares.
        part: The part of the selector that is false.
    """
    name, is_text, texts = blame.name, blame.met.startswith('"'), [each[1:-1] for each in values]
    for literal in equals(part):
        written, is_written_as_text = literal.value, isinstance(literal.value, str)
        hint, meant = "", ""
        if is_text and not is_written_as_text:
            meant = f'"{parts.source(literal)}"'
            hint = f"{name} is a string: put what it is compared with in quotes"
        elif not is_text and is_written_as_text and " " not in blame.met:
            meant, hint = written, f"{name} is not a string: compare it with a value without quotes"
        elif is_text and name == "driver" and (near := nearest(written, texts)):
            meant, hint = f'"{near}"', f'one of the two is misspelt: the devices have driver "{near}"'
        elif is_text and (alike := next((each for each in texts if _letters(each) == _letters(written)), "")):
            meant, hint = f'"{alike}"', f'did you mean "{alike}"?'
        if hint:
            return Advice(hint, parts.rewritten(literal, meant) if meant in values else None)
    return Advice(f"{name} of the devices: {listed(values)}" if values[1:] else "")


def _letters(value: str) -> str:
    return _NO_LETTER.sub("", value).lower()


@rule(*CLAIMS, beside_devices=True)
def capacity_not_published(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for a capacity that no device of the class has under that name.

    The name must be the device's: with the same domain, or without one if the device's has none (up to Kubernetes
    1.37). A device without it is skipped, so the pod stays pending.
    """
    for request in context.requests(claim):
        contents = contents_of_class(request, context) if request.capacity else ()
        known = sorted({name for each in contents for name in each.capacity})
        for name in request.capacity if contents else ():
            if name not in known:
                message = f'no device of the class has the capacity "{name}"'
                bare = name.rpartition("/")[2]
                hint = f'did you mean "{bare}"?' if bare in known else instead(name, known, "capacities")
                yield finding((*request.path, "capacity", "requests", name), message, hint)


_NODES_MOST: Final = 2_000
"""How many nodes are tried for one claim."""
_NODE: Final = 50
"""The work of trying a node."""


@rule(*CLAIMS, beside_devices=True)
def never_allocated(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """No node can give a claim all its devices together, even if all of them are free.

    Each request alone could be met, but not all of them at once, or not with the constraints, the capacity or the
    taints of the devices; or none of the alternatives of a request could be met. The scheduler's allocation is tried
    for every node, as if no device were in use.
    """
    if allocation_of(claim) or any(contradicting_constraints(claim, context)):
        return
    path = devices_path(claim)
    devices = mapping(claim, *path)
    nodes = _nodes_for_each(claim, context) if items(devices, "requests") else None
    if nodes is None or not (groups := _refused({"claim": devices}, context, nodes)):
        return
    from webhook.simulation.rejections import cause  # few claims are never allocated

    less = (each for each in _without(claim, context) if not _refused({"claim": each[0]}, context, nodes))
    _, steps, hint = next(less, ({}, ("requests",), ""))
    yield _never((*path, *steps), cause(groups), context, hint)


def _never(path: Steps, said: str, context: Context, hint: str = "") -> Problem:
    """Make a finding of the allocator, which names its release: `draguard simulate` may take another one."""
    release = Remark(f"judged as Kubernetes 1.{context.release}")
    message = f"even if all devices are free, {said}"
    return finding(path, message, f"{hint}; {release}" if hint else release, "NeverAllocated")


def _without(claim: JSONObject, context: Context) -> Iterator[tuple[JSONObject, Steps, str]]:
    """Yield smaller claims, each without one part, with its path, and what it means if these could be allocated."""
    path = devices_path(claim)
    devices = mapping(claim, *path)
    constraints = items(devices, "constraints")
    named = [f"{field_of(each)}: {text(each, field_of(each))}" for each in constraints]
    for index, each in enumerate(constraints):
        others = [*constraints[:index], *constraints[index + 1 :]]
        hint = f"without the constraint {named[index]}, a node has the devices"
        yield {**devices, "constraints": others}, ("constraints", index, field_of(each)), hint
    if constraints[1:]:
        hint = f"without the constraints {' and '.join(named)}, a node has the devices"
        yield {**devices, "constraints": []}, ("constraints",), hint
    tolerant = deepcopy(devices)
    for request in context.requests(claim):
        here = request.path[len(path) :]
        if request.capacity:
            less = deepcopy(devices)
            del value_at(less, here)["capacity"]
            yield less, (*here, "capacity"), _lack(request, context)
        value_at(tolerant, here)["tolerations"] = [{"operator": "Exists"}]
    hint = "with all taints tolerated, a node has the devices: tolerate them in requests, or wait until they are gone"
    yield tolerant, ("requests",), f"{hint}: they are set in ResourceSlices and DeviceTaintRules"


def _lack(request: ClaimRequest, context: Context) -> str:
    """Name the capacity of which no device has enough for a request, and the most that one has."""
    contents = contents_of_class(request, context)[:_CONTENTS_MOST]
    lacks = [context.fleet.lack(request.capacity, each) for each in contents if context.fleet]
    known = {amount(parse_quantity(each.left)) if each.left else -1: each.text for each in lacks if each}
    most = f"; {known[max(known)]}" if known else ""
    return f"without the capacity that request {request.name} asks for, a node has the devices{most}"


@rule(*CLAIMS, level=NOTE, beside_devices=True)
def whole_device(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for a part of a device's capacity, but no device of its class can be shared.

    It gets a device with at least that capacity, and all of it: only devices with ``allowMultipleAllocations`` are
    shared.
    """
    for request, message in without_sharing(claim, context):
        yield finding((*request.path, "capacity"), message, reason="WholeDevice")


def without_sharing(claim: JSONObject, context: Context) -> Iterator[tuple[ClaimRequest, str]]:
    """Yield the requests for a part of a device's capacity that get a whole device, and what to say of them."""
    for request in context.requests(claim):
        contents = contents_of_class(request, context) if request.capacity else ()
        if contents and not any(each.is_shared for each in contents):
            yield request, f'request "{request.name}" gets a whole device: none of the class can be shared'


@rule(*CLAIMS, beside_devices=True)
def not_enough_devices(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for more devices than any node has.

    All devices of a claim must be usable from one node. Devices in use count here, so this holds even for an empty
    cluster.
    """
    fleet = context.fleet
    if fleet is None:
        return
    for request in context.requests(claim):
        answer, wanted = None if request.is_for_all else sorted_out(request, context), request.wanted
        if answer is None or answer.failing:
            continue
        if (answer.taken and wanted == 1) or (request.own and not answer.taken):  # another rule reports the latter
            continue
        most, node = fleet.most_on_a_node(answer.taken)
        if wanted > most:
            where = f" ({node})" if node else ""
            devices = "1 device" if wanted == 1 else f"{wanted} devices"
            available = f"more than {most}{where}" if most else "any"
            message = f'request "{request.name}" asks for {devices}, and no node has {available}'
            key = "count" if "count" in request.content else "deviceClassName"
            possible, why = _most_allocated(request, most, context)
            why = why or "all devices of a claim are used from one node"
            hint = f"ask for {possible} at most: {why}" if possible else ""
            if hint and all(content.is_shared for group in answer.taken for content in group.contents):
                hint += "; several requests may share them"
            yield finding((*request.path, key), message, hint, "NotEnough")


def _most_allocated(request: ClaimRequest, most: int, context: Context) -> tuple[int, str]:
    """Return how many devices of a request a node could allocate, and why no more; empty if it has no more.

    Args:
        request: The request, or the alternative.
        most: How many matching devices a node has at most.
    """
    from webhook.simulation.rejections import cause  # few claims ask for more than there is

    fields, name = {**request.content}, request.name.rpartition("/")[2]
    fields.pop("name", "")

    def refused(count: int) -> Sequence[NodeGroup]:
        counted = {"name": name, "exactly": {**fields, "count": count}}
        return _refused({"claim": {"requests": [counted]}}, context)

    possible = bisect_left(range(1, most + 1), x=True, key=lambda count: bool(refused(count)))
    return possible, cause(refused(possible + 1)) if possible < most else ""


@rule("Pod", beside_devices=True)
def pod_never_allocated(pod: JSONObject, context: Context) -> Iterator[Problem]:
    """No node can give a pod the devices of all its claims together, even if all of them are free.

    Extended resources that device classes provide count as a claim, too. Each claim alone could be allocated.
    """
    entries = [(each, claim_or_template(pod, each, context)) for each in items(pod, "spec", "resourceClaims")]
    if not all(claim for _, claim in entries):
        return
    wanting = ((text(each, "name"), claim) for each, claim in entries if claim and not allocation_of(claim))
    claims = {name: devices for name, claim in wanting if (devices := mapping(claim, *devices_path(claim)))}
    if len(claims) < 2 and not any(map(context.extended.has, requests(pod))):  # noqa: PLR2004 - others tell of a claim
        return
    pod = {**pod, "spec": free_of_nulls(pod["spec"])}
    if misfit({**pod, "apiVersion": "v1", "metadata": {}}):  # templates of other projects are not judged
        return
    groups = _refused(claims, context, pod=pod)
    if not groups or any(_refused({name: devices}, context) for name, devices in claims.items()):
        return
    from webhook.simulation.rejections import cause, lacking, nowhere

    unprovided = {name: asked for (_, name), asked in nowhere(groups).items()}
    for name, asked in unprovided.items():
        yield _never(path_of(pod, name), f"no node has {lacking(asked)}", context)
    if not unprovided:
        lists = {"resourceClaims" if claims else path_of(pod, each["request"])[1] for each in groups[0].requests}
        yield _never(("spec", *(lists if len(lists) == 1 else ())), cause(groups), context)


def _nodes_for_each(claim: JSONObject, context: Context) -> Sequence[int] | None:
    """Return the places of the nodes that have devices for each request; None if other rules report a request.

    Other rules report an alternative that cannot be met, too, but not that this is so of all alternatives.
    """
    fleet, free = context.fleet, context.free
    found: set[str] | None = None
    for request in context.requests(claim):
        answer = sorted_out(request, context)
        if fleet is None or answer is None or answer.failing:
            return None
        if "/" in request.name:
            continue
        if not answer.taken or (request.wanted > 1 and request.wanted > fleet.most_on_a_node(answer.taken)[0]):
            return None
        if sum(len(group.contents) for group in answer.taken) <= _CONTENTS_MOST:
            names = set(fleet.by_node(answer.taken))
            found = found if EVERYWHERE in names else names if found is None else found & names
    if free is None:
        return None
    return range(len(free.nodes)) if found is None else [free.index[each] for each in sorted(found & free.index.keys())]


_CONTENTS_MOST: Final = 100
"""For how many different devices the nodes are looked up."""


def _refused(
    claims: Mapping[str, JSONObject], context: Context, nodes: Sequence[int] = (), pod: JSONObject | None = None
) -> Sequence[NodeGroup]:
    """Explain why no node could allocate claims; nothing if one could, if that is unknown, or too much work.

    Args:
        claims: The devices that each requests, by its name in the pod.
        nodes: The places of the nodes that are tried; all if there are none.
        pod: The pod that has them, and wants extended resources; None for none.
    """
    free = context.free
    if free is None:
        return ()
    from webhook.simulation.cluster import Demand, Needs, Round
    from webhook.simulation.rejections import node_groups

    pod = pod or {}
    made = (_claim(name, namespace_of(pod), devices) for name, devices in claims.items())
    try:
        taken = [free.inventory.take(each) or {} for each in made]
    except MalformedError:
        return ()
    uses = tuple(Use("", each, Consumer(POD, "", "")) for each in taken)
    round_ = Round(free, Needs(pod, Demand.of(pod), uses))
    found: dict[int, NodeVerdict] = {}
    for node in nodes or range(len(free.nodes)):
        if len(found) == _NODES_MOST:
            return ()
        current().spend(_NODE)
        found[node] = round_.filter_devices(node)
        if not found[node].by_devices or found[node].error:
            return ()
    return node_groups(found, round_)


def _claim(name: str, namespace: str, devices: JSONObject) -> JSONObject:
    metadata, spec = {"name": name, "namespace": namespace}, {"devices": devices}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}
