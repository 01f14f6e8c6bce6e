"""Rules about device selectors by themselves, and about their reads from devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from webhook import formats
from webhook.budget import current
from webhook.cel.errors import CelError, EvaluationError
from webhook.cel.kubernetes import semver
from webhook.cel.kubernetes.devices import LIST_ATTRIBUTES
from webhook.cel.syntax.ast import Call, Expression, Literal, Select, within
from webhook.deviceselectors.parts import Parts, Read, parts_of, read_of, start_of
from webhook.deviceselectors.reads import constants, depends_on_device, with_constant
from webhook.deviceselectors.witnesses import Conflict, always_holds, conflict_of
from webhook.formats.identifiers import near_semver
from webhook.formats.quantities import near_quantity
from webhook.hints.names import in_expression
from webhook.objects import JSONObject, text
from webhook.patterns import Pattern
from webhook.problem import Advice, Fix, Problem
from webhook.records import NamedTuple
from webhook.references.rules import Context, drivers_of, finding, rule
from webhook.references.selecting import SELECTING, WRITTEN_TYPES, failures, reads_of, selectors_of, text_comparisons
from webhook.spelling import nearest


class _ExpressionFinding(NamedTuple):
    """The errors of an expression, independent of its place."""

    message: str
    hint: str | Advice
    reason: str
    character: int | None = None


def _of_expressions(
    obj: JSONObject, context: Context, name: str, check: Callable[[Parts, Context], Iterator[_ExpressionFinding]]
) -> Iterator[Problem]:
    """Check expressions by themselves; each is checked once, even if it occurs often."""
    for each in selectors_of(obj, context):
        memo = each.parts.memo
        if name not in memo:
            memo[name] = list(check(each.parts, context))
        for found in memo[name]:
            yield finding(each.path, *found)


@rule("selector-constant", *SELECTING, of_field=True)
def selector_constant(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector, or a part of it, does not depend on the device: it is true or false for all devices.

    A selector that is never true keeps pods pending, on every node; one that is always true can be left out.
    """
    yield from _of_expressions(obj, context, "selector-constant", _constant)


def _constant(parts: Parts, _: Context) -> Iterator[_ExpressionFinding]:
    for part in parts.all:
        if depends_on_device(part):
            continue
        try:
            value = parts.evaluate(part, {})
        except CelError as error:
            is_known = current().left >= 0  # else there was no work left to find out
            if is_known and not list(constants(within(part))):  # a separate rule reports those
                yield _ExpressionFinding(
                    f"the selector fails for every device: {error}", "", "NeverHolds", start_of(part)
                )
            return
        whole = len(parts.all) == 1
        subject = "the selector" if whole else "a part of the selector"
        if value is False:
            message = f"{subject} is false for every device: it selects nothing"
            yield _ExpressionFinding(
                message, "compare what a device has, such as device.driver", "NeverHolds", start_of(part)
            )
            return
        if whole and value is True:
            yield _ExpressionFinding("the selector is true for every device", "leave it out", "AlwaysHolds")
            return
    if always_holds(parts):
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
        if key not in each.parts.memo:
            known = [parts for one in before if (parts := parts_of(one, context.release, context.gates))]
            each.parts.memo[key] = conflict_of([*known, each.parts])
        conflict = each.parts.memo[key]
        if conflict and conflict.is_of_last:
            message, hint = _contradiction(each.parts, conflict)
            yield finding(each.path, message, hint, "NeverHolds", start_of(conflict.conditions[-1].part))


def _contradiction(parts: Parts, conflict: Conflict) -> tuple[str, str]:
    """Describe a contradiction: the values wanted by two comparisons, or else the conditions as written."""
    compared = [parts.comparison(each.part) for each in conflict.conditions]
    subjects = {subject for subject, _ in compared}
    never, hint = "the selector is never true", "use || or `in` to allow several values"
    if len({each.selector for each in conflict.conditions}) > 1:
        never, hint = "the selectors, which must all hold, are never true together", ""
    if len(compared) == 1:
        return f"{parts.written(conflict.conditions[0].part)} is false for every device: {never}", ""
    if len(subjects) == 1 and "" not in subjects:
        wishes = [wish.removeprefix("== ") for _, wish in compared]
        return f"{subjects.pop()} cannot be {' and '.join(wishes)}: {never}", hint
    written = " and ".join(f"`{parts.written(each.part)}`" for each in conflict.conditions)
    return f"{written} cannot hold together: {never}", ""


@rule("selector-comment", *SELECTING, of_field=True)
def selector_comment(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector of one line ends with a comment that holds conditions, which do not count.

    YAML joins the lines of a text after ``>``, so a comment at the end of one line includes all following lines.
    """
    yield from _of_expressions(obj, context, "selector-comment", _comment)


_TEXT_OR_COMMENT: Final = Pattern(
    r"""\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|(//.*)""", re.DOTALL
)
"""A text in quotes, in which // begins no comment, or a comment."""


def _comment(parts: Parts, _: Context) -> Iterator[_ExpressionFinding]:
    if "//" not in parts.text or "\n" in parts.text.strip():
        return
    for each in _TEXT_OR_COMMENT.finditer(parts.text):
        if each[1] and ("&&" in each[1] or "||" in each[1]):
            hint = "in YAML > joins lines: write | in its place, or leave the comment out"
            yield _ExpressionFinding(
                "the conditions behind // are a comment and do not count", hint, "Comment", each.start()
            )


@rule("impossible-name", *SELECTING, of_field=True)
def impossible_name(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector reads an attribute or capacity by a name that is not valid.

    A domain is a DNS subdomain of 63 characters at most, such as gpu.example.com; the name in it is a C identifier of
    32 characters at most. Drivers cannot publish others, so the read is an error or finds nothing.
    """
    yield from _of_expressions(obj, context, "impossible-name", _impossible_name)


def _impossible_name(parts: Parts, context: Context) -> Iterator[_ExpressionFinding]:
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
    return Advice(
        f"domain and name are two steps: {meant}", Fix("replace", corrected) if corrected != expression else None
    )


@rule("impossible-constant", *SELECTING, of_field=True)
def impossible_constant(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector contains a malformed quantity or version: it fails for every device.

    Quantities are written as 40Gi or 40G, without B; versions have three numbers, as 1.0.0. The failure is a run-time
    error, which ends the scheduling of the pod for all nodes.
    """
    yield from _of_expressions(obj, context, "impossible-constant", _impossible_constant)


def _impossible_constant(parts: Parts, context: Context) -> Iterator[_ExpressionFinding]:
    for call in constants(parts.nodes):
        literal = call.arguments[0]
        if len(call.arguments) != 1 or not isinstance(literal, Literal) or not isinstance(literal.value, str):
            continue
        value = literal.value
        if call.function == "quantity" and (faults := formats.quantity(value, context.release)):
            near, is_certain = near_quantity(value)
            advice = with_constant(parts.text, call, near, safe=is_certain)
            yield _ExpressionFinding(
                f'quantity("{value}") is an error: {faults[0]}', advice, "Impossible", literal.offset
            )
        elif call.function == "semver" and (fault := _not_a_version(value)):
            advice = with_constant(parts.text, call, "" if _not_a_version(near := near_semver(value)) else near)
            yield _ExpressionFinding(f'semver("{value}") is an error: {fault}', advice, "Impossible", literal.offset)


def _not_a_version(value: str) -> str:
    try:
        semver.parse(value)
    except EvaluationError as error:
        return str(error)
    return ""


@rule("impossible-case", *SELECTING, of_field=True)
def impossible_case(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector looks for upper case in a text of lower case, or the other way round, and never finds it.

    lowerAscii() and upperAscii() change all letters of an attribute, so the other side must be written likewise.
    """
    yield from _of_expressions(obj, context, "impossible-case", _impossible_case)


_CASES: Final = {"lowerAscii": bytes.lower, "upperAscii": bytes.upper}  # these change ASCII only
_SOUGHT: Final = frozenset({"contains", "startsWith", "endsWith", "_==_"})


def _impossible_case(parts: Parts, _: Context) -> Iterator[_ExpressionFinding]:
    for node in parts.nodes:
        if not isinstance(node, Call) or node.function not in _SOUGHT:
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


@rule("impossible-read", *SELECTING, of_field=True)
def impossible_read(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector reads an attribute as what it cannot be: a map (``.string``, ``.int``), a list or a quantity.

    In CEL an attribute is its plain value, without the type key of manifests: a string, number, boolean or version; a
    list only with the feature gate DRAListTypeAttributes. The read is a run-time error, which ends the scheduling of
    the pod for all nodes. Quantities are in device.capacity.
    """
    yield from _of_expressions(obj, context, "impossible-read", _impossible_read)


def _impossible_read(parts: Parts, context: Context) -> Iterator[_ExpressionFinding]:
    dotted: set[int] = set()
    for node in parts.nodes:
        if (found := _dotted(node, parts.text)) and found[0].domain_offset not in dotted:
            dotted.add(found[0].domain_offset)
            yield found[1]
            continue
        if LIST_ATTRIBUTES not in context.gates and (found_in := _in_value(node, parts)):
            yield found_in
        if (own := read_of(node)) and own.name in WRITTEN_TYPES and "." not in own.domain:
            yield _without_domain(own)
            continue
        read = read_of(node.operand) if isinstance(node, Select) else None
        if read and isinstance(node, Select) and node.field in _METHODS and read.holder == "attributes":
            message = f'the attribute "{read.domain}/{read.name}" is a value and has no field {node.field}'
            hint = f"the parts of a version are methods: .{node.field}()"
            yield _ExpressionFinding(message, hint, "Impossible", node.offset)
        elif read and isinstance(node, Select) and node.field in WRITTEN_TYPES and not own:
            message = f'the attribute "{read.domain}/{read.name}" is a value and has no field {node.field}'
            hint = f"an attribute is read without its type: leave out .{node.field}"
            corrected = f"{parts.text[: node.offset]}{parts.text[node.offset + 1 + len(node.field) :]}"
            is_plain = parts.text[node.offset :].startswith(f".{node.field}")
            yield _ExpressionFinding(
                message, Advice(hint, Fix("replace", corrected) if is_plain else None), "Impossible", node.offset
            )
        read = _as_quantity(node)
        if read and read.holder == "attributes":
            message = f'the attribute "{read.domain}/{read.name}" is compared with a quantity, and no attribute is one'
            hint = f'quantities are capacities: device.capacity["{read.domain}"].{read.name}'
            yield _ExpressionFinding(message, hint, "Impossible", read.offset)


def _in_value(node: Expression, parts: Parts) -> _ExpressionFinding | None:
    """Report an attribute in the place of the list of ``in``; None for other calls."""
    if not isinstance(node, Call) or node.function != "@in":
        return None
    value, of = node.arguments
    read = read_of(of)
    if read is None or read.holder != "attributes":
        return None
    item, written = parts.written(value), parts.written(of)
    message = f'the attribute "{read.domain}/{read.name}" is one value, and `in` takes a list'
    hint = f"compare the whole value, as in {written} == {item}, or a part of a string: {written}.contains({item})"
    return _ExpressionFinding(message, hint, "Impossible", read.offset)


_METHODS: Final = frozenset({"major", "minor", "patch"})


def _without_domain(read: Read) -> _ExpressionFinding:
    """Report the name of an attribute in place of its domain, and the key of its type in place of its name."""
    from webhook.hints.selectors import DRIVER, NAME_DOMAIN  # few selectors leave out the domain

    message = f'device.{read.holder}["{read.domain}"] takes the domain of attributes, not the name of one'
    return _ExpressionFinding(
        message, f'{NAME_DOMAIN}: device.{read.holder}["{DRIVER}"].{read.domain}', "Impossible", read.offset
    )


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
        for found in _order_of_texts(each.parts):
            yield finding(each.path, *found)


def _order_of_texts(parts: Parts) -> Iterator[_ExpressionFinding]:
    for each in text_comparisons(parts):
        if each.operator in _ORDERING and each.is_number:
            message = f'"{each.text}" is text, and texts are ordered by their letters: "1000" is less than "550"'
            hint = f"compare a version as in {each.of_versions}, a number without quotes"
            yield _ExpressionFinding(message, hint, "WrongType", each.offset)


_ORDERING: Final = frozenset({"<", "<=", ">", ">="})


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
