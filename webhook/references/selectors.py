"""Rules about device selectors by themselves, and about their reads from devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Final

from webhook import formats
from webhook.api.dra.names import STANDARD_DOMAIN
from webhook.budget import current
from webhook.cel.errors import CelError, EvaluationError
from webhook.cel.kubernetes import semver
from webhook.cel.kubernetes.devices import LIST_ATTRIBUTES
from webhook.cel.syntax.ast import Call, Expression, Literal, Select, within
from webhook.deviceselectors.parts import TURNED, Parts, Read, compared, parts_of, read_of, source_of, start_of
from webhook.deviceselectors.reads import constants, depends_on_device, guarded, tested_origins, with_constant
from webhook.deviceselectors.witnesses import Conflict, always_holds, conflict_of
from webhook.drivers import Devices
from webhook.formats.identifiers import near_semver
from webhook.formats.quantities import near_quantity
from webhook.hints.names import ask_first, in_expression
from webhook.objects import JSONObject, text
from webhook.patterns import Pattern
from webhook.problem import NOTE, Advice, Fix, Problem
from webhook.records import NamedTuple
from webhook.references.attributes import Around, is_published, unmatched_selectors
from webhook.references.rules import Context, drivers_of, finding, rule
from webhook.references.selecting import SELECTING, WRITTEN_TYPES, failures, reads_of, selectors_of, text_comparisons
from webhook.spelling import nearest


class _ExpressionFinding(NamedTuple):
    """The errors of an expression, independent of its place."""

    message: str
    hint: str | Advice
    reason: str
    character: int | None = None


Check = Callable[[Parts, Context], Iterator[_ExpressionFinding]]


def _rule_of_expressions(name: str) -> Callable[[Check], Check]:
    """Declare a rule about expressions by themselves; each is checked once, even if it occurs often."""

    def declare(check: Check) -> Check:
        @rule(name, *SELECTING, of_field=True)
        @wraps(check)
        def checked(obj: JSONObject, context: Context) -> Iterator[Problem]:
            for each in selectors_of(obj, context):
                for found in each.parts.once(name, lambda parts: list(check(parts, context))):
                    yield finding(each.path, *found)

        return check

    return declare


@_rule_of_expressions("selector-constant")
def selector_constant(parts: Parts, _: Context) -> Iterator[_ExpressionFinding]:
    """A selector, or a part of it, does not depend on the device: it is true or false for all devices.

    A selector that is never true keeps pods pending, on every node; one that is always true can be left out.
    """
    for part in parts.all:
        if depends_on_device(part):
            continue
        try:
            value = parts.evaluate(part, {})
        except CelError as error:
            is_known = current().left >= 0  # else there was no work left to find out
            if is_known and not list(constants(within(part))):  # a separate rule reports those
                message = f"the selector fails for every device: {error}"
                yield _ExpressionFinding(message, "", "NeverHolds", start_of(part))
            return
        whole = len(parts.all) == 1
        subject = "the selector" if whole else "a part of the selector"
        if value is False:
            message = f"{subject} is false for every device: it selects nothing"
            hint = "compare what a device has, such as device.driver"
            yield _ExpressionFinding(message, hint, "NeverHolds", start_of(part))
            return
        if whole and value is True:
            break
    else:
        if not always_holds(parts):
            return
    yield _ExpressionFinding("the selector is true for every device", "leave it out", "AlwaysHolds")


@rule("selector-contradiction", *SELECTING)
def selector_contradiction(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """Conditions contradict each other, in one selector or in several that must all hold: no device meets them.

    The selectors of the class and of the request must all hold, and so must conditions joined by &&. To allow several
    values, join them with || or write ``in ["a", "b"]``.
    """
    for each in selectors_of(obj, context):
        before = [text(one, "cel", "expression") for one in (*each.around, *each.own[: each.place])]
        key = "\0".join(("conflict", *before))

        def conflicting(parts: Parts, before: Iterable[str] = before) -> Conflict | None:
            known = (parts_of(one, context.release, context.gates) for one in before)
            return conflict_of([*filter(None, known), parts])

        conflict = each.parts.once(key, conflicting)
        if conflict and conflict.is_of_last:
            message, hint = _contradiction(conflict)
            yield finding(each.path, message, hint, "NeverHolds", start_of(conflict.conditions[-1].part))


def _contradiction(conflict: Conflict) -> tuple[str, str]:
    """Describe a contradiction: the values wanted by two comparisons, or else the conditions as written."""
    conditions = [each.part for each in conflict.conditions]
    sides = list(map(compared, conditions))
    never, hint = "the selector is never true", "use || or `in` to allow several values"
    if len({each.selector for each in conflict.conditions}) > 1:
        never, hint = "the selectors, which must all hold, are never true together", ""
    if len(sides) == 1:
        return f"{source_of(conditions[0])} is false for every device: {never}", ""
    subjects = {source_of(subject) if subject else "" for subject, _ in sides}
    if len(subjects) == 1 and "" not in subjects:
        wishes = [wish.removeprefix("== ") for _, wish in sides]
        return f"{subjects.pop()} cannot be {' and '.join(wishes)}: {never}", hint
    written = " and ".join(f"`{source_of(each)}`" for each in conditions)
    return f"{written} cannot hold together: {never}", ""


_TEXT_OR_COMMENT: Final = Pattern(
    r"""\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(//.*)""", re.DOTALL
)
"""A text in quotes, in which // begins no comment, or a comment."""


@_rule_of_expressions("selector-comment")
def selector_comment(parts: Parts, _: Context) -> Iterator[_ExpressionFinding]:
    """A selector of one line ends with a comment that holds conditions, which do not count.

    YAML joins the lines of a text after ``>``, so a comment at the end of one line includes all following lines.
    """
    if "//" not in parts.text or "\n" in parts.text.strip():
        return
    for each in _TEXT_OR_COMMENT.finditer(parts.text):
        if each[1] and ("&&" in each[1] or "||" in each[1]):
            hint = "in YAML > joins lines: write | in its place, or leave the comment out"
            message = "the conditions behind // are a comment and do not count"
            yield _ExpressionFinding(message, hint, "Comment", each.start())


@_rule_of_expressions("impossible-name")
def impossible_name(parts: Parts, context: Context) -> Iterator[_ExpressionFinding]:
    """A selector reads an attribute or capacity by a name that is not valid.

    A domain is a DNS subdomain of 63 characters at most, such as gpu.example.com; the name in it is a C identifier of
    32 characters at most. Drivers cannot publish others, so the read is an error or finds nothing.
    """
    for read in reads_of(parts):
        if faults := formats.dns_subdomain(read.domain, context.release):
            message = f'no driver can publish the domain "{read.domain}": {faults[0]}'
            yield _ExpressionFinding(message, _domain(read, parts.text), "Impossible", read.domain_offset)
        elif faults := formats.c_identifier(read.name, context.release):
            message = f'no driver can publish the name "{read.name}": {faults[0]}'
            yield _ExpressionFinding(message, "", "Impossible", read.offset)


def _domain(read: Read, expression: str) -> Advice:
    """Suggest the form of a domain; domain and name may be joined."""
    domain, slash, name = read.domain.partition("/")
    if not slash or not name:
        return Advice("the domain is usually the driver's name, such as gpu.example.com")
    written = rf"""device\.{read.holder}\[["']{re.escape(read.domain)}["']\](?!\.)"""
    meant = f'device.{read.holder}["{domain}"].{name}'
    corrected = re.sub(written, lambda _: meant, expression)
    fix = Fix("replace", corrected) if corrected != expression else None
    return Advice(f"domain and name are two steps: {meant}", fix)


@_rule_of_expressions("impossible-constant")
def impossible_constant(parts: Parts, context: Context) -> Iterator[_ExpressionFinding]:
    """A selector contains a malformed quantity or version: it fails for every device.

    Quantities are written as 40Gi or 40G, without B; versions have three numbers, as 1.0.0. The failure is a run-time
    error, which ends the scheduling of the pod for all nodes.
    """
    for call in constants(parts.nodes):
        literal = call.arguments[0]
        if len(call.arguments) != 1 or not isinstance(literal, Literal) or not isinstance(literal.value, str):
            continue
        value = literal.value
        if call.function == "quantity" and (faults := formats.quantity(value, context.release)):
            near, is_certain = near_quantity(value)
            advice, message = with_constant(parts.text, call, near, safe=is_certain), f'quantity("{value}") is an error'
            yield _ExpressionFinding(f"{message}: {faults[0]}", advice, "Impossible", literal.offset)
        elif call.function == "semver" and (fault := _not_a_version(value)):
            advice = with_constant(parts.text, call, "" if _not_a_version(near := near_semver(value)) else near)
            yield _ExpressionFinding(f'semver("{value}") is an error: {fault}', advice, "Impossible", literal.offset)


def _not_a_version(value: str) -> str:
    try:
        semver.parse(value)
    except EvaluationError as error:
        return str(error)
    return ""


_CASES: Final = {"lowerAscii": bytes.lower, "upperAscii": bytes.upper}  # these change ASCII only


@_rule_of_expressions("impossible-case")
def impossible_case(parts: Parts, _: Context) -> Iterator[_ExpressionFinding]:
    """A selector looks for upper case in a text of lower case, or the other way round, and never finds it.

    lowerAscii() and upperAscii() change all letters of an attribute, so the other side must be written likewise.
    """
    for node in parts.nodes:
        if not isinstance(node, Call) or node.function not in {"contains", "startsWith", "endsWith", "_==_"}:
            continue
        sides = [*([node.target] if node.target else []), *node.arguments]
        recased = next((each for each in sides if isinstance(each, Call) and each.function in _CASES), None)
        literal = next((each for each in sides if isinstance(each, Literal) and isinstance(each.value, str)), None)
        if recased is None or literal is None or (node.target and node.target is not recased):
            continue
        value = str(literal.value)
        if (meant := _CASES[recased.function](value.encode()).decode()) != value:
            message = f'"{value}" is never found in the result of {recased.function}()'
            advice = Advice(f'write "{meant}"', in_expression(parts.text, value, [meant], "").fix)
            yield _ExpressionFinding(message, advice, "NeverHolds", literal.offset)


@_rule_of_expressions("impossible-read")
def impossible_read(parts: Parts, context: Context) -> Iterator[_ExpressionFinding]:
    """A selector reads an attribute as what it cannot be: a map (``.string``, ``.int``), a list or a quantity.

    In CEL an attribute is its plain value, without the type key of manifests: a string, number, boolean or version; a
    list only with the feature gate DRAListTypeAttributes. The read is a run-time error, which ends the scheduling of
    the pod for all nodes. Quantities are in device.capacity.
    """
    dotted: set[int] = set()
    for node in parts.nodes:
        if (found := _dotted(node, parts.text)) and found[0].domain_offset not in dotted:
            dotted.add(found[0].domain_offset)
            yield found[1]
            continue
        if LIST_ATTRIBUTES not in context.gates and (found_in := _in_value(node)):
            yield found_in
        if (own := read_of(node)) and own.name in WRITTEN_TYPES and "." not in own.domain:
            yield _without_domain(own)
            continue
        read = read_of(node.operand) if isinstance(node, Select) else None
        if read and isinstance(node, Select):
            message = f'the attribute "{read.domain}/{read.name}" is a value and has no field {node.field}'
            if node.field in _METHODS and read.holder == "attributes":
                hint = f"the parts of a version are methods: .{node.field}()"
                yield _ExpressionFinding(message, hint, "Impossible", node.offset)
            elif node.field in WRITTEN_TYPES and not own:
                corrected = f"{parts.text[: node.offset]}{parts.text[node.offset + 1 + len(node.field) :]}"
                is_plain = parts.text[node.offset :].startswith(f".{node.field}")
                hint = f"an attribute is read without its type: leave out .{node.field}"
                advice = Advice(hint, Fix("replace", corrected) if is_plain else None)
                yield _ExpressionFinding(message, advice, "Impossible", node.offset)
        read = _as_quantity(node)
        if read and read.holder == "attributes":
            message = f'the attribute "{read.domain}/{read.name}" is compared with a quantity, and no attribute is one'
            hint = f'quantities are capacities: device.capacity["{read.domain}"].{read.name}'
            yield _ExpressionFinding(message, hint, "Impossible", read.offset)


def _in_value(node: Expression) -> _ExpressionFinding | None:
    """Report an attribute in the place of the list of ``in``; None for other calls."""
    if not isinstance(node, Call) or node.function != "@in":
        return None
    value, of = node.arguments
    read = read_of(of)
    if read is None or read.holder != "attributes":
        return None
    item, written = source_of(value), source_of(of)
    message = f'the attribute "{read.domain}/{read.name}" is one value, and `in` takes a list'
    hint = f"compare the whole value, as in {written} == {item}, or a part of a text: {written}.contains({item})"
    return _ExpressionFinding(message, hint, "Impossible", read.offset)


_METHODS: Final = frozenset({"major", "minor", "patch"})


def _without_domain(read: Read) -> _ExpressionFinding:
    """Report the name of an attribute in place of its domain, and the key of its type in place of its name."""
    from webhook.hints.selectors import DRIVER, NAME_DOMAIN  # few selectors leave out the domain

    message = f'device.{read.holder}["{read.domain}"] takes the domain of attributes, not the name of one'
    hint = f'{NAME_DOMAIN}: device.{read.holder}["{DRIVER}"].{read.domain}'
    return _ExpressionFinding(message, hint, "Impossible", read.offset)


def _dotted(node: Expression, text: str) -> tuple[Read, _ExpressionFinding] | None:
    """Report a domain with dots that is read field by field; None for other reads."""
    names, inner, read = list[str](), node, None
    while isinstance(inner, Select) and (read := read_of(inner)) is None:
        names.append(inner.field)
        inner = inner.operand
    if read is None or not names or (len(names) == 1 and names[0] in WRITTEN_TYPES):
        return None
    start = read.domain_offset - 1
    domain, name = ".".join((read.domain, read.name, *names[:0:-1])), names[0]
    stop = start + len(f".{domain}.{name}")
    if text[start:stop] != f".{domain}.{name}":
        return None
    meant = f'["{domain}"].{name}'
    message = f'device.{read.holder} is read by the parts of "{domain}" one by one, but a domain is one name'
    fix = Fix("replace", f"{text[:start]}{meant}{text[stop:]}", safe=False)
    hint = f"put the domain in brackets and quotes: device.{read.holder}{meant}"
    return read, _ExpressionFinding(message, Advice(hint, fix), "Impossible", start)


def _as_quantity(node: Expression) -> Read | None:
    """Return the read that is compared with a quantity."""
    if not isinstance(node, Call):
        return None
    terms = [*([node.target] if node.target else ()), *node.arguments]
    is_compared = any(isinstance(each, Call) and each.function == "quantity" for each in terms)
    return next(filter(None, map(read_of, terms)), None) if is_compared else None


@rule("order-of-texts", *SELECTING, of_field=True)
def order_of_texts(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector compares the order of an attribute and a number or version written as text.

    Texts are ordered by their letters, so that "1000" is less than "550". If the attribute is a version or a number, as
    drivers publish it, the comparison is a run-time error, which ends the scheduling of the pod for all nodes.
    """
    fleet = context.fleet
    for each in selectors_of(obj, context):
        if fleet is not None and failures(each, fleet):
            continue  # the error on published devices tells more
        for one in text_comparisons(each.parts):
            if one.operator in TURNED and one.is_number:  # an ordering
                message = f'"{one.text}" is text, and texts are ordered by their letters: "1000" is less than "550"'
                hint = f"compare a version as in {one.of_versions}, a number without quotes"
                yield finding(each.path, message, hint, "WrongType", one.offset)


@rule("misspelt-domain", *SELECTING, of_field=True)
def misspelt_domain(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector reads attributes of a domain that is nearly the driver's name.

    Attributes without a domain of their own are in the domain of their driver. A domain that no device has is empty:
    reading from it is a run-time error, which ends the scheduling of the pod for all nodes.
    """
    if context.fleet is not None:
        return  # the published devices tell more
    for each in selectors_of(obj, context):
        known = drivers_of([*each.around, *each.own], context)
        if not known and (driver := context.driver_of_class(each.class_name)):
            known = {driver}
        for read in {(read.holder, read.domain): read for read in reads_of(each.parts)}.values():
            if read.domain in known or any(context.publishes_in(driver, read.domain) for driver in known):
                continue
            if near := nearest(read.domain, known):
                if context.knows_driver(read.domain) and not context.knows_driver(near):
                    continue  # the class is misspelt
                message = f'the selected devices are of driver "{near}", which has no domain "{read.domain}"'
                advice = in_expression(each.expression, read.domain, [near], "")
                yield finding(each.path, message, advice, "Misspelt", read.domain_offset)


@rule("attribute-optional", *SELECTING, of_reads=True, of_field=True)
def attribute_optional(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector reads an attribute that not every device of its driver has, without checking for it first.

    On a device that lacks it the read is a run-time error, which ends the scheduling of the pod for all nodes.
    """
    for selector in unmatched_selectors(obj, context):
        around = Around(selector, context)
        optional: dict[tuple[str, str, str], tuple[Read, str]] = {}
        for read in reads_of(selector.parts):
            known = None if read.is_guarded or read.is_of_tested_domain else around.known(read)
            if not known or not known.is_certain:
                continue
            name = known.profile.name_in(read.domain, read.name)
            if is_published(known.devices, name, read) and not _is_always_there(known.devices, name, read):
                optional.setdefault(read[:3], (read, known.profile.driver))
        if not optional:
            continue
        safe = guarded(selector.expression, optional, context.release, context.gates)
        advice = ask_first(safe)
        for read, driver in optional.values():
            message = f'not every device of driver "{driver}" has "{read.name}": '
            message += "the error on a device without it ends scheduling for all nodes"
            yield finding(selector.path, message, advice, "Fails", read.offset)


def _is_always_there(devices: list[Devices], name: str, read: Read) -> bool:
    return all(name in (each.capacity if read.holder == "capacity" else each.attributes) for each in devices)


@rule("driver-not-tested", "DeviceClass", level=NOTE)
def driver_not_tested(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A class reads attributes or capacities, and does not test the driver: other drivers' devices lack them.

    Its selectors are evaluated for the devices of all drivers. On a device of another driver the read is an error,
    which ends the scheduling of the pod for all nodes. That works as long as a cluster has one driver.
    """
    tested: set[str] = set()
    for selector in unmatched_selectors(obj, context):
        for read in reads_of(selector.parts):
            is_tested = read.is_of_tested_driver or read.is_of_tested_domain or tested & {"", read.domain}
            if not read.is_guarded and not is_tested:
                message = (
                    f'no selector tests the driver, and devices of other drivers have no "{read.domain}/{read.name}"'
                )
                driver = "DRIVER" if read.domain == STANDARD_DOMAIN else read.domain
                hint = f'test it first: device.driver == "{driver}" && …'
                yield finding(selector.path, message, hint, "Fails", read.offset)
                return
        tested |= tested_origins(selector.parts.root)
