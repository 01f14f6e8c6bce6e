"""Rules about device selectors, alone and against the devices of a cluster."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook import formats
from webhook.cel.errors import CelError, EvaluationError
from webhook.cel.kubernetes import semver
from webhook.cel.syntax.ast import Literal, Select
from webhook.deviceselectors.parts import Parts, parts_of, read_of
from webhook.deviceselectors.reads import constants, depends_on_device, reads, with_constant
from webhook.drivers import driver_of_class
from webhook.fixes import Advice, Fix
from webhook.formats.quantities import without_byte
from webhook.inventory.reading import items, mapping, text
from webhook.references.claims import CLAIMS, devices_path, requests_of
from webhook.references.classes import drivers_of
from webhook.references.rules import finding, in_expression, instead, listed, rule
from webhook.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from webhook.deviceselectors.fleet import Fleet
    from webhook.deviceselectors.parts import Read
    from webhook.problem import Problem
    from webhook.references.rules import Context, JSONObject

SELECTING = (*CLAIMS, "DeviceClass")


class Selector(NamedTuple):
    """A selector of a class, a request or an alternative.

    Args:
        path: Where its expression is.
        expression: The expression.
        parts: Its parts.
        around: The selectors of the class that it stands beside; none for one of a class.
        own: All selectors of the request, or of the class.
        place: Its place among them.
        is_certain: Whether the class is known, so that it is only evaluated for devices of the class.
        class_name: The name of the class; empty for a selector of a class.
    """

    path: tuple[str | int, ...]
    expression: str
    parts: Parts
    around: Sequence[JSONObject]
    own: Sequence[JSONObject]
    place: int
    is_certain: bool = True
    class_name: str = ""


def selectors_of(obj: JSONObject, context: Context) -> Sequence[Selector]:
    """List the selectors of an object; rule after rule asks for those of the same one."""
    if context.looked_at[0] is not obj:
        context.looked_at = obj, list(_all_selectors(obj, context))
    found: Sequence[Selector] = context.looked_at[1]
    return found


def _all_selectors(obj: JSONObject, context: Context) -> Iterator[Selector]:
    if obj.get("kind") == "DeviceClass":
        yield from _compiled(items(obj, "spec", "selectors"), (), ("spec", "selectors"), context)
        return
    for request in requests_of(obj):
        name = text(request.asks, "deviceClassName")
        device_class = context.inventory.find("DeviceClass", name)
        around = items(device_class, "spec", "selectors")
        for each in _compiled(items(request.asks, "selectors"), around, (*request.path, "selectors"), context):
            yield each._replace(is_certain=device_class is not None, class_name=name)


def _compiled(
    own: Sequence[JSONObject], around: Sequence[JSONObject], path: tuple[str | int, ...], context: Context
) -> Iterator[Selector]:
    for index, each in enumerate(own):
        expression = text(each, "cel", "expression")
        parts = parts_of(expression, context.release, context.gates)
        if parts is not None:
            yield Selector((*path, index, "cel", "expression"), expression, parts, around, own, index)


class _Found(NamedTuple):
    """What is wrong with an expression, wherever it stands."""

    message: str
    hint: str | Advice
    reason: str


def _of_expressions(
    obj: JSONObject, context: Context, name: str, check: Callable[[Parts, Context], Iterator[_Found]]
) -> Iterator[Problem]:
    """Say what is wrong with expressions by themselves; each is looked at once, however often it stands somewhere."""
    for each in selectors_of(obj, context):
        memo = each.parts.memo
        if name not in memo:
            memo[name] = list(check(each.parts, context))
        for found in memo[name]:
            yield finding(each.path, *found)


def reads_of(parts: Parts) -> list[Read]:
    """List what a selector reads; computed once for equal ones."""
    if "reads" not in parts.memo:
        parts.memo["reads"] = reads(parts.root)
    found: list[Read] = parts.memo["reads"]
    return found


@rule("selector-constant", *SELECTING)
def selector_constant(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector, or a part of it, does not look at the device: it is true or false for all of them.

    A selector that is never true keeps pods pending, on every node; one that is always true can be left out.
    """
    yield from _of_expressions(obj, context, "selector-constant", _constant)


def _constant(parts: Parts, _: Context) -> Iterator[_Found]:
    for part in parts.all:
        if depends_on_device(part):
            continue
        try:
            value = parts.evaluate(part, {})
        except CelError as error:
            if not list(constants(part)):  # a rule of its own says what is wrong with those
                yield _Found(f"the selector fails for every device: {error}", "", "NeverHolds")
            break
        whole = len(parts.all) == 1
        subject = "the selector" if whole else "a part of the selector"
        if value is False:
            yield _Found(f"{subject} is false for every device: it selects nothing", "", "NeverHolds")
            break
        if whole and value is True:
            yield _Found("the selector is true for every device", "leave it out", "AlwaysHolds")


@rule("selector-contradiction", *SELECTING)
def selector_contradiction(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """One selector wants a value to be two things at once, so it is never true.

    Conditions joined by && must all hold: to allow several values, join them with || or write ``in ["a", "b"]``.
    """
    yield from _of_expressions(obj, context, "selector-contradiction", _contradiction)


def _contradiction(parts: Parts, _: Context) -> Iterator[_Found]:
    seen: dict[str, str] = {}
    for part in parts.all:
        subject, wish = parts.comparison(part)
        if not subject or not wish.startswith("== "):
            continue
        if seen.setdefault(subject, wish) != wish:
            both = f"{seen[subject].removeprefix('== ')} and {wish.removeprefix('== ')}"
            message = f"{subject} cannot be {both}: the selector is never true"
            yield _Found(message, "use || or `in` to allow several values", "NeverHolds")
            break


@rule("impossible-name", *SELECTING)
def impossible_name(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector reads an attribute or capacity by a name that none can have.

    A domain is a DNS subdomain of 63 characters at most, such as gpu.example.com; the name in it is a C identifier of
    32 characters at most. Drivers cannot publish others, so the read is an error or comes to nothing.
    """
    yield from _of_expressions(obj, context, "impossible-name", _impossible_name)


def _impossible_name(parts: Parts, context: Context) -> Iterator[_Found]:
    for read in reads_of(parts):
        if faults := formats.dns_subdomain(read.domain, context.release):
            yield _Found(f'no driver can publish the domain "{read.domain}": {faults[0]}', "", "Impossible")
        elif faults := formats.c_identifier(read.name, context.release):
            yield _Found(f'no driver can publish the name "{read.name}": {faults[0]}', "", "Impossible")


@rule("impossible-constant", *SELECTING)
def impossible_constant(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector writes a quantity or version that cannot be read: it fails for every device.

    Quantities are written as 40Gi or 40G, without B; versions have three numbers, as 1.0.0. The failure is a run-time
    error, which ends the scheduling of the pod for all nodes.
    """
    yield from _of_expressions(obj, context, "impossible-constant", _impossible_constant)


def _impossible_constant(parts: Parts, context: Context) -> Iterator[_Found]:
    for call in constants(parts.root):
        literal = call.arguments[0]
        if len(call.arguments) != 1 or not isinstance(literal, Literal) or not isinstance(literal.value, str):
            continue
        value = literal.value
        if call.function == "quantity" and (faults := formats.quantity(value, context.release)):
            advice = with_constant(parts.text, call, without_byte(value))
            yield _Found(f'quantity("{value}") is an error: {faults[0]}', advice, "Impossible")
        elif call.function == "semver" and (fault := _not_a_version(value)):
            padded = ".".join([*value.removeprefix("v").split("."), "0", "0"][:3])
            advice = with_constant(parts.text, call, "" if _not_a_version(padded) else padded)
            yield _Found(f'semver("{value}") is an error: {fault}', advice, "Impossible")


def _not_a_version(value: str) -> str:
    try:
        semver.parse(value)
    except EvaluationError as error:
        return str(error)
    return ""


@rule("impossible-read", *SELECTING)
def impossible_read(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector reads a part of an attribute, as manifests write it: ``.string``, ``.int``, ``.bool``, ``.version``.

    In CEL an attribute is its value, without its type: the read is a run-time error, which ends the scheduling of the
    pod for all nodes.
    """
    yield from _of_expressions(obj, context, "impossible-read", _impossible_read)


def _impossible_read(parts: Parts, _: Context) -> Iterator[_Found]:
    stack = [parts.root]
    while stack:
        node = stack.pop()
        read = read_of(node.operand) if isinstance(node, Select) and node.field in _WRITTEN_TYPES else None
        if read and isinstance(node, Select) and not read_of(node):
            message = f'the attribute "{read.domain}/{read.name}" is a value and has no field {node.field}'
            yield _Found(message, f"an attribute is read without its type: leave out .{node.field}", "Impossible")
        stack.extend(node.children())


_WRITTEN_TYPES: Final = frozenset({"string", "int", "bool", "version", "value"})


@rule("misspelt-domain", *SELECTING)
def misspelt_domain(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector reads attributes of a domain that resembles the driver's name, but is another.

    Attributes without a domain of their own are in the domain of their driver. A domain that no device has is empty:
    what is read from it is a run-time error, which ends the scheduling of the pod for all nodes.
    """
    if context.fleet is not None:
        return  # what devices publish tells more
    for each in selectors_of(obj, context):
        known = drivers_of([*each.around, *each.own], context)
        if not known and (driver := driver_of_class(each.class_name)):
            known = {driver}
        for read in {(read.holder, read.domain): read for read in reads_of(each.parts)}.values():
            if read.domain in known or any(context.publishes_in(driver, read.domain) for driver in known):
                continue
            if near := nearest(read.domain, known):
                message = f'the selected devices are of driver "{near}", which has no domain "{read.domain}"'
                yield finding(each.path, message, in_expression(each.expression, read.domain, [near], ""), "Misspelt")


@rule("not-published", *SELECTING, beside_devices=True)
def not_published(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector reads a domain, attribute or capacity that no device of the class has.

    Drivers rename attributes from release to release. Without a guard the read is a run-time error, which ends the
    scheduling of the pod for all nodes. `draguard match` shows what devices have.
    """
    from webhook.deviceselectors.fleet import published  # noqa: PLC0415 - only with slices at hand

    fleet = context.fleet
    if fleet is None:
        return
    for each in selectors_of(obj, context):
        contents = fleet.of_class(each.around) if each.around else fleet.contents
        if not contents:
            continue
        known: dict[str, dict[tuple[str, str], set[str]]] = {}
        for read in {read[:3]: read for read in reads_of(each.parts)}.values():
            if read.holder not in known:
                known[read.holder] = published(contents, read.holder)
            if (read.domain, read.name) not in known[read.holder]:
                where = "class" if each.around else "cluster"
                yield finding(each.path, *_unpublished(read, known[read.holder], where, each.expression))
                break  # of an expression only the first finding is shown


def _unpublished(read: Read, known: dict[tuple[str, str], set[str]], where: str, expression: str) -> tuple[str, Advice]:
    kind = read.holder.removesuffix("s")
    domains = sorted({domain for domain, _ in known})
    if read.domain not in domains:
        advice = in_expression(expression, read.domain, domains, "domains")
        elsewhere = [domain for domain, name in known if name == read.name]
        if elsewhere and advice.fix is None:
            advice = Advice(f'"{read.name}" is in domain {listed(elsewhere)}')
        return f'no device of the {where} has the domain "{read.domain}" in its {read.holder}', advice
    names = sorted(name for domain, name in known if domain == read.domain)
    advice = in_expression(expression, read.name, names, "it has")
    return f'no device of the {where} has the {kind} "{read.domain}/{read.name}"', advice


@rule("selector-fails", *SELECTING, beside_devices=True)
def selector_fails(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector fails on some device of the class: that ends the scheduling of the pod for all nodes.

    A read of an attribute that a device lacks is a run-time error, and so is a comparison of values of different
    types. The scheduler then gives the pod up, though another device or node would do; whether it comes to that device
    depends on what is free. Ask first: ``has(device.attributes["d"].x) && …``, or ``.?x.orValue(…)``.
    """
    from webhook.deviceselectors.fleet import ERROR, guarded  # noqa: PLC0415 - only with slices at hand

    fleet = context.fleet
    if fleet is None:
        return
    for each in selectors_of(obj, context):
        if not each.is_certain:
            continue
        failing = []
        reason = ""
        for content in fleet.contents:
            choice = fleet.choose(each.around, each.own[: each.place + 1], content)
            is_this = choice.place == each.place and not choice.of_class
            if choice.outcome == ERROR and is_this:
                failing.append(content)
                reason = reason or choice.reason
        if not failing:
            continue
        count, all_ = fleet.count(failing), fleet.count(fleet.of_class(each.around))
        message = f"on {count} of {all_} devices this is an error, and ends scheduling for all nodes: {reason}"
        unguarded = (read[:3] for read in reads_of(each.parts) if not read.is_guarded)
        advice = Advice()
        if match := _TYPED.search(reason):
            advice = Advice(f"an attribute is read without its type: leave out .{match[1]}")
        elif "no such key" in reason:
            asking = guarded(each.expression, unguarded)
            advice = Advice(f"ask first: {asking}", Fix("replace", asking, safe=False))
        yield finding(each.path, message, advice, "Fails")


_TYPED: Final = re.compile(r"no such key: (string|int|bool|version|value)$")
"""What manifests write below an attribute or capacity, and selectors do not."""


def _is_class(obj: JSONObject) -> bool:
    return obj.get("kind") == "DeviceClass"


@rule("selects-nothing", *SELECTING, beside_devices=True)
def selects_nothing(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """No device of the cluster meets the selectors of a request, or of a class.

    Pods with such a claim stay pending. The reason is that of the most devices; `draguard match` shows all.
    """
    fleet = context.fleet
    if fleet is None or not fleet.contents:
        return
    if _is_class(obj):
        own = items(obj, "spec", "selectors")
        if own:
            yield from _nothing(fleet, (), own, ("spec", "selectors"), "the class")
        return
    for request in requests_of(obj):
        device_class = context.inventory.find("DeviceClass", text(request.asks, "deviceClassName"))
        own = items(request.asks, "selectors")
        if device_class is not None and own:
            around = items(device_class, "spec", "selectors")
            yield from _nothing(fleet, around, own, (*request.path, "selectors"), f'request "{request.name}"')


def _nothing(
    fleet: Fleet, around: Sequence[JSONObject], own: Sequence[JSONObject], path: tuple[str | int, ...], who: str
) -> Iterator[Problem]:
    from webhook.deviceselectors.fleet import ERROR, TRUE  # noqa: PLC0415 - only with slices at hand

    choices = [(fleet.choose(around, own, each), each) for each in fleet.contents]
    if any(choice.outcome in {TRUE, ERROR} for choice, _ in choices):
        return
    reasons: Counter[tuple[int, str]] = Counter()
    for choice, content in choices:
        if not choice.of_class:
            reasons[choice.place, choice.reason] += fleet.count([content])
    ((index, reason), count) = max(reasons.items(), key=lambda pair: pair[1], default=((0, ""), 0))
    message = f"no device meets the selectors of {who}"
    message += f": of {count}, {reason}" if count and reason else ""
    yield finding((*path, index, "cel", "expression"), message, _mistyped(reason), "SelectsNothing")


_UNQUOTED: Final = re.compile(r'(\S+) is [^"\s]\S*, wanted (?:[=!<>]+ |one of \[)?+"')
_QUOTED: Final = re.compile(r'(\S+) is ".*", wanted (?:[=!<>]+ |one of \[)?+[^"\s]')
_RESPELT: Final = re.compile(r'\S+ is "(.*)", wanted "(.*)"')
_NO_LETTER: Final = re.compile(r"[\W_]")


def _mistyped(reason: str) -> str:
    """Say that a value is compared with one of another type or spelling, which is never equal to it."""
    if match := _UNQUOTED.match(reason):
        return f"{match[1]} is not a string: compare it with a value without quotes"
    if (match := _RESPELT.match(reason)) and _letters(match[1]) == _letters(match[2]):
        return f'did you mean "{match[1]}"?'
    match = _QUOTED.match(reason)
    return f"{match[1]} is a string: put what it is compared with in quotes" if match and " to " not in reason else ""


def _letters(value: str) -> str:
    return _NO_LETTER.sub("", value).lower()


@rule("not-enough-devices", *CLAIMS, beside_devices=True)
def not_enough_devices(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for more devices than any node has.

    All devices of a claim must be usable from one node. Devices in use count here, so this is so however empty the
    cluster is.
    """
    from webhook.deviceselectors.fleet import ERROR, TRUE  # noqa: PLC0415 - only with slices at hand

    fleet = context.fleet
    if fleet is None:
        return
    for request in requests_of(claim):
        device_class = context.inventory.find("DeviceClass", text(request.asks, "deviceClassName"))
        wanted: Any = mapping(request.asks).get("count") or 1
        if device_class is None or text(request.asks, "allocationMode") == "All" or not isinstance(wanted, int):
            continue
        around, own = items(device_class, "spec", "selectors"), items(request.asks, "selectors")
        choices = {id(each): fleet.choose(around, own, each).outcome for each in fleet.contents}
        chosen = [each for each in fleet.contents if choices[id(each)] == TRUE]
        most, node = fleet.most_on_a_node(chosen)
        if wanted > most and ERROR not in choices.values() and (chosen or not own):
            where = f" ({node})" if node else ""
            message = f'request "{request.name}" asks for {wanted} devices, and no node has more than {most}{where}'
            key = "count" if "count" in request.asks else "deviceClassName"
            yield finding((*request.path, key), message, reason="NotEnough")


@rule("capacity-not-published", *CLAIMS, beside_devices=True)
def capacity_not_published(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for a capacity that no device of the class has under that name.

    The name must be written as the device has it: without domain if the device has it without, or with the same one
    (up to Kubernetes 1.37). A device without it is passed over, so the pod stays pending.
    """
    fleet = context.fleet
    if fleet is None:
        return
    for request in requests_of(claim):
        device_class = context.inventory.find("DeviceClass", text(request.asks, "deviceClassName"))
        contents = fleet.of_class(items(device_class, "spec", "selectors")) if device_class else []
        known = sorted({name for each in contents for name in each.capacity})
        for name in mapping(request.asks, "capacity", "requests"):
            if contents and name not in known:
                message = f'no device of the class has the capacity "{name}"'
                bare = name.rpartition("/")[2]
                hint = f'did you mean "{bare}"?' if bare in known else instead(name, known, "capacities")
                yield finding((*request.path, "capacity", "requests", name), message, hint)


@rule("constraint-not-published", *CLAIMS, beside_devices=True)
def constraint_not_published(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A constraint names an attribute that no device of one of its requests has, so it never holds.

    Vendors use different names for one fact: where a constraint joins devices of several drivers, all of them must
    publish the attribute, under the same name and with the same type.
    """
    fleet = context.fleet
    if fleet is None:
        return
    from webhook.deviceselectors.fleet import published  # noqa: PLC0415

    path = devices_path(claim)
    for index, constraint in enumerate(items(claim, *path, "constraints")):
        field = "matchAttribute" if "matchAttribute" in constraint else "distinctAttribute"
        name = text(constraint, field)
        among = constraint.get("requests") or []
        for request in requests_of(claim):
            if among and request.name not in among and request.name.partition("/")[0] not in among:
                continue
            device_class = context.inventory.find("DeviceClass", text(request.asks, "deviceClassName"))
            contents = fleet.of_class(items(device_class, "spec", "selectors")) if device_class else []
            domain, _, rest = name.partition("/")
            known = published(contents, "attributes")
            if contents and (domain, rest) not in known:
                message = f'no device of request "{request.name}" has the attribute "{name}", so this never holds'
                hint = _attribute(domain, rest, known)
                yield finding((*path, "constraints", index, field), message, hint)
                break


def _attribute(domain: str, name: str, known: Iterable[tuple[str, str]]) -> str:
    """Say which attribute was probably meant: a shared domain alone does not make names alike."""
    if near := nearest(name, [other for one, other in known if one == domain]):
        return f'did you mean "{domain}/{near}"?'
    if near := nearest(domain, [one for one, other in known if other == name]):
        return f'did you mean "{near}/{name}"?'
    full = sorted(f"{one}/{other}" for one, other in known)
    return f"attributes: {listed(full)}" if full else "there are no attributes"
