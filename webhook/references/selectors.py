"""Rules about device selectors: by themselves, and about their reads from devices, by the profiles of drivers.

Where slices are known, these tell more than profiles. What fails on every device, others report before what fails on
some: only an expression that can work is worth a guard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import wraps
from typing import Any, Final, NamedTuple

from webhook import formats
from webhook.api.dra.names import STANDARD_ATTRIBUTES, STANDARD_DOMAIN
from webhook.budget import current
from webhook.cel.errors import CelError, EvaluationError
from webhook.cel.kubernetes import semver
from webhook.cel.kubernetes.devices import LIST_ATTRIBUTES
from webhook.cel.syntax.ast import Call, Expression, Literal, Select, within
from webhook.deviceselectors.parts import (
    TURNED,
    Parts,
    Read,
    compared,
    depends_on_device,
    holder_of,
    is_made,
    is_textual,
    parts_of,
    read_of,
    tested_origins,
)
from webhook.deviceselectors.witnesses import Condition, always_holds, conflict_of
from webhook.drivers import Devices, Profile
from webhook.formats import near_semver
from webhook.formats.quantities import near_quantity, quantity
from webhook.hints.names import ask_first, in_expression, listed
from webhook.hints.selectors import ABSENT, AS_TEXT, FOR_PATTERNS, compared_texts, patterns_in
from webhook.objects import JSONObject, text
from webhook.problem import NOTE, Advice, Fix, Problem
from webhook.references.rules import Context, drivers_of, finding, rule
from webhook.references.selecting import (
    A_VERSION,
    OTHER_HOLDER,
    WRITTEN_TYPES,
    Selector,
    comparisons,
    failures,
    meant_read,
    rule_of_selectors,
    selectors_of,
    text_comparisons,
)
from webhook.spelling import certain, nearest


class _Known(NamedTuple):
    """Facts about the devices that a selector is evaluated for.

    Args:
        name: The profile's name of the attribute or capacity that is read.
        devices: The kinds of devices that the class and the other conditions allow.
        is_certain: Whether the selector is only evaluated for devices of that driver.
    """

    profile: Profile
    name: str
    devices: Sequence[Devices]
    is_certain: bool

    def has(self, holder: str) -> bool:
        """Tell whether some of the devices have what is read as an attribute, or as a capacity."""
        return any(each.has(holder, self.name) for each in self.devices)


class _Around:
    """The context of a selector, computed once for all its reads.

    Args:
        context: The context of the rule.
    """

    def __init__(self, selector: Selector, context: Context) -> None:
        self._context = context
        self._class_name = "" if selector.around else selector.request.class_name
        self._selectors = [*selector.around, *selector.own]
        self._drivers = drivers_of(self._selectors, context)
        if not self._drivers and (driver := context.driver_of_class(self._class_name)):
            self._drivers = {driver}
        self._left: dict[str, Sequence[Devices]] = {}
        self.kind = ""
        """The kind of devices of the class, if the class comes with the driver of the last known read."""

    def known(self, read: Read) -> _Known | None:
        """Find the profile that decides what can be read; None if there is none, or others may publish it, too."""
        profile = self._context.profile_of_one(self._drivers or {read.domain})
        if profile is None:
            return None
        is_own = read.domain == profile.driver or profile.has_domain(read.domain)
        if not is_own and nearest(read.domain, [profile.driver]):
            return None  # another rule finds the misspelt domain
        name = read.name if read.domain == profile.driver else f"{read.domain}/{read.name}"
        names = {each.lower() for devices in profile.devices.values() for each in devices.names("attributes")}
        is_its_own = name.lower() in names or any(each.has(read.holder, name) for each in profile.devices.values())
        is_foreign = name not in profile.removed and not is_its_own
        is_of_other = read.domain != profile.driver and self._context.profile(read.domain) is not None
        if profile.is_open and is_foreign and not is_of_other:
            return None
        self.kind = profile.classes.get(self._class_name, "")
        if profile.driver not in self._left:
            self._left[profile.driver] = self._devices(profile)
        return _Known(profile, name, self._left[profile.driver], is_certain=bool(self._drivers or self.kind))

    def types_of(self, read: Read) -> set[str]:
        """Return the types that an attribute may have; none if they are not known."""
        known = self.known(read)
        return {type_ for each in known.devices if (type_ := each.type_of(known.name))} if known else set()

    def _devices(self, profile: Profile) -> Sequence[Devices]:
        """Return the kinds of devices that conditions on the kind allow."""
        if self.kind not in profile.devices:
            conditions = " && ".join(text(each, "cel", "expression") for each in self._selectors)
            wanted = [name for name in profile.devices if f'"{name}"' in conditions or f"'{name}'" in conditions]
            if profile.kind_attribute and profile.kind_attribute in conditions and wanted:
                return [profile.devices[name] for name in wanted]
        return profile.devices_of(self._class_name)


@rule_of_selectors(without_devices=True, of_reads=True, of_field=True)
def attribute_not_of_driver(selector: Selector, context: Context) -> Iterator[Problem]:
    """A selector reads an attribute or capacity that its driver does not publish.

    Without a guard the read is a run-time error, which ends the scheduling of the pod for all nodes. Drivers rename
    attributes from release to release; `draguard driver show NAME` prints the known attributes of a driver, and their
    source. If your version of the driver publishes others, pass its profile with --driver-profile. Misspelt names of
    Kubernetes' own attributes, such as resource.kubernetes.io/pcieroot, are found whatever the driver is.
    """
    around = _Around(selector, context)
    for read in {read[:3]: read for read in selector.parts.reads}.values():
        known = around.known(read)
        if known and not known.has(read.holder):
            message, hint = _unpublished(known, read, selector)
            yield finding((), message, hint, character=read.offset)
        meant = certain(read.name, STANDARD_ATTRIBUTES) if read.domain == STANDARD_DOMAIN and not known else ""
        if meant not in {"", read.name} and read.holder == "attributes":
            message = f'Kubernetes defines no attribute "{read.domain}/{read.name}"'
            hint = in_expression(selector.parts.text, read.name, [meant], "")
            yield finding((), message, hint, "Misspelt", read.offset)


@rule_of_selectors(without_devices=True, of_reads=True, of_field=True)
def attribute_type(selector: Selector, context: Context) -> Iterator[Problem]:
    """A selector uses an attribute as a value of another type than its driver publishes.

    A comparison is a run-time error, or never true; a method of another type is an error. Versions are compared with
    semver("1.2.3").
    """
    around = _Around(selector, context)
    of_versions = {each.read.offset: each.of_versions for each in text_comparisons(selector.parts)}
    for read, _, value, _ in comparisons(selector.parts):
        is_typed = read.holder == "attributes" and type(value) in _TYPES
        types = around.types_of(read) if is_typed else set[str]()
        if types and _TYPES[type(value)] not in types:
            wanted = min(types)
            literal = _literal(wanted, value)
            hint = literal and f"compare it with {literal}"
            if wanted == "version":
                hint = f"compare it as in {of_versions.get(read.offset, A_VERSION)}"
            message = f'attribute "{read.domain}/{read.name}" is of type {wanted}, not {_TYPES[type(value)]}'
            yield finding((), message, hint, "WrongType", read.offset)
    for read, taken, what in _misused(selector.parts.nodes):
        types = around.types_of(read)
        if types and types.isdisjoint(taken):
            message = f'attribute "{read.domain}/{read.name}" is of type {min(types)}, {what}'
            yield finding((), message, _COMPARED[min(types)], "WrongType", read.offset)


@rule_of_selectors(without_devices=True, of_reads=True, of_field=True)
def kind_not_of_driver(selector: Selector, context: Context) -> Iterator[Problem]:
    """A selector compares the kind of a device with one that its driver or class does not have, so it never holds.

    Values are compared with regard to case. `draguard driver show NAME` prints the kinds of a driver's devices; if your
    version of the driver has others, pass its profile with --driver-profile.
    """
    around = _Around(selector, context)
    for each in text_comparisons(selector.parts):
        read = each.read
        known = around.known(read) if each.operator == "==" and read.holder == "attributes" else None
        if known is None or known.name != known.profile.kind_attribute:
            continue
        kinds = known.profile.devices
        if each.value not in kinds:
            message = f'devices of driver "{known.profile.driver}" have no {read.name} "{each.value}"'
            hint = in_expression(selector.parts.text, each.value, sorted(kinds), "kinds")
            yield finding((), message, hint, "NeverHolds", read.offset)
        elif around.kind not in {"", each.value}:
            of_class = selector.request.class_name
            message = f'devices of class "{of_class}" are of {read.name} "{around.kind}", not "{each.value}"'
            fitting = sorted(name for name, kind in known.profile.classes.items() if kind == each.value)
            advice = f"devices of that {read.name} are in class {listed(fitting)}" if fitting else ""
            yield finding((), message, advice, "NeverHolds", read.offset)


def _unpublished(known: _Known, read: Read, selector: Selector) -> tuple[str, str | Advice]:
    profile, name = known.profile, known.name
    what = read.holder.removesuffix("s")
    message = f'devices of driver "{profile.driver}" have no {what} "{name}"'
    if name in profile.removed:
        return message, profile.removed[name]
    kinds = [kind for kind, each in profile.devices.items() if each.has(read.holder, name)]
    names, is_other = profile.names(known.devices, read.holder), known.has(OTHER_HOLDER[read.holder])
    if kinds and not is_other:
        return f"{message} unless their kind is {listed(sorted(kinds))}", ""
    return message, meant_read(read, selector.parts, names, is_other=is_other)


def _literal(wanted: str, value: Any) -> str:
    """Write a value as a constant of a type; empty if it is none."""
    text_of = str(value).lower() if isinstance(value, bool) else str(value)
    if wanted == "string":
        return f'"{text_of}"'
    is_literal = text_of in {"true", "false"} if wanted == "bool" else text_of.lstrip("-").isdecimal()
    return text_of if is_literal else ""


_TYPES: Final[dict[type, str]] = {str: "string", bool: "bool", int: "int", float: "double"}


_OF_VERSION: Final = frozenset({"isGreaterThan", "isLessThan", "compareTo", "major", "minor", "patch"})
_OF_TEXT: Final = frozenset({"startsWith", "endsWith", "contains", "matches", "lowerAscii", "upperAscii"})
_METHODS: Final = dict.fromkeys(_OF_VERSION, "version") | dict.fromkeys(_OF_TEXT, "string")
"""Methods of one type only, with that type."""
_COMPARED: Final = {
    "version": f"a version is compared as in {A_VERSION}",
    "string": "a string is compared as in .startsWith() or .contains()",
    "int": "a number is compared by ==, < or >",
    "bool": "true and false are conditions themselves",
}
"""How attributes of each type are compared."""


_TAKEN: Final[Mapping[str, AbstractSet[str]]] = {
    function: frozenset(types.split())
    for types, functions in {
        "string": "semver isSemver quantity isQuantity size duration timestamp ip isIP cidr isCIDR url isURL "
        "startsWith endsWith contains matches",
        "version": "isGreaterThan isLessThan compareTo",
        "int string": "int uint double",
        "bool string": "bool",
        "bool int string": "string",
    }.items()
    for function in functions.split()
}
"""The types of attributes that functions and methods take as an argument."""


def _misused(nodes: Iterable[Expression]) -> Iterator[tuple[Read, AbstractSet[str], str]]:
    """Find methods that are called on attributes, and functions to which they are passed.

    Returns:
        The attribute, the types that may be there, and what is wrong with others.
    """
    calls = [each for each in nodes if isinstance(each, Call)]
    for each in calls:
        if each.function in _METHODS and each.target and (read := read_of(each.target)) and read.holder == "attributes":
            yield read, {_METHODS[each.function]}, f"which has no .{each.function}()"
    for each in calls:
        for read in map(read_of, each.arguments if each.function in _TAKEN else ()):
            if read and read.holder == "attributes":
                yield read, _TAKEN[each.function], f"which {each.function}() does not take"


Check = Callable[[Parts, Context], Iterator[Problem]]


def _rule_of_expressions(check: Check) -> Check:
    """Declare a rule about expressions by themselves; each is checked once, even if it occurs often."""

    @rule_of_selectors(of_field=True)
    @wraps(check)
    def checked(selector: Selector, context: Context) -> Iterator[Problem]:
        yield from selector.parts.once(check.__name__, lambda parts: list(check(parts, context)))

    return check


@_rule_of_expressions
def selector_constant(parts: Parts, _: Context) -> Iterator[Problem]:
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
            if is_known and not any(map(is_made, within(part))):  # a separate rule reports those
                message = f"the selector fails for every device: {error}"
                yield finding((), message, "", "NeverHolds", parts.places[part][0])
            return
        whole = len(parts.all) == 1
        subject = "the selector" if whole else "a part of the selector"
        if value is False:
            message = f"{subject} is false for every device: it selects nothing"
            hint = "compare what a device has, such as device.driver"
            yield finding((), message, hint, "NeverHolds", parts.places[part][0])
            return
        if whole and value is True:
            break
    else:
        if not always_holds(parts):
            return
    yield finding((), "the selector is true for every device", "leave it out", "AlwaysHolds")


@rule_of_selectors()
def selector_contradiction(selector: Selector, context: Context) -> Iterator[Problem]:
    """Conditions contradict each other, in one selector or in several that must all hold: no device meets them.

    The selectors of the class and of the request must all hold, and so must conditions joined by &&. To allow several
    values, join them with || or write ``in ["a", "b"]``.
    """
    before = [text(one, "cel", "expression") for one in (*selector.around, *selector.own[: selector.place])]
    key = "\0".join(("conflict", *before))

    def conflicting(parts: Parts) -> tuple[Condition, ...]:
        known = (parts_of(one, context.release, context.gates) for one in before)
        return conflict_of([*filter(None, known), parts])

    conflict = selector.parts.once(key, conflicting)
    if conflict:
        message, hint = _contradiction(conflict)
        yield finding((), message, hint, "NeverHolds", selector.parts.places[conflict[-1].part][0])


def _contradiction(conflict: Sequence[Condition]) -> tuple[str, str]:
    """Describe a contradiction: the values wanted by two comparisons, or else the conditions as written."""
    conditions = [each.part for each in conflict]
    sides = list(map(compared, conditions))
    is_of_values = all(isinstance(each, Call) and each.function in {"_==_", "@in"} for each in conditions)
    never, hint = "the selector is never true", "use || or `in` to allow several values" if is_of_values else ""
    if len({each.selector for each in conflict}) > 1:
        never, hint = "the selectors, which must all hold, are never true together", ""
    if len(sides) == 1:
        is_null = any(isinstance(each, Literal) and each.value is None for each in within(conditions[0]))
        hint = ABSENT if is_null else ""
        return f"{conflict[0].selector.source(conditions[0])} is false for every device: {never}", hint
    subjects = {_subject(each.selector, subject) for each, (subject, _) in zip(conflict, sides, strict=True)}
    if len(subjects) == 1 and "" not in subjects and not any(map(is_textual, conditions)):
        wishes = [wish.removeprefix("== ") for _, wish in sides]
        return f"{subjects.pop()} cannot be {' and '.join(wishes)}: {never}", hint
    written = " and ".join(f"`{each.selector.source(each.part)}`" for each in conflict)
    return f"{written} cannot hold together: {never}", ""


def _subject(parts: Parts, subject: Expression | None) -> str:
    """Write what a comparison is about, an attribute always in the same way; empty without a comparison."""
    read = read_of(subject) if subject else None
    return f'device.{read.holder}["{read.domain}"].{read.name}' if read else parts.source(subject) if subject else ""


@_rule_of_expressions
def selector_comment(parts: Parts, _: Context) -> Iterator[Problem]:
    """A selector of one line ends with a comment that holds conditions, which do not count.

    YAML joins the lines of a text after ``>``, so a comment at the end of one line includes all following lines.
    """
    if "//" not in parts.text or "\n" in parts.text.strip():
        return
    from webhook.hints.selectors import comments_in  # few selectors have comments

    for start in comments_in(parts.text):
        message = "the conditions behind // are a comment and do not count"
        hint = "in YAML > joins lines: write | in its place, or leave the comment out"
        yield finding((), message, hint, "Comment", start)


@_rule_of_expressions
def impossible_name(parts: Parts, context: Context) -> Iterator[Problem]:
    """A selector reads an attribute or capacity by a name that is not valid.

    A domain is a DNS subdomain of 63 characters at most, in upper or lower case, such as gpu.example.com; the name in
    it is a C identifier of 32 characters at most. Drivers cannot publish others, so the read is an error or finds
    nothing. The API server does not check names with two slashes. The keys of device.attributes itself are domains,
    not names.
    """
    for read in parts.reads:
        if "/" in read.name and "/" not in read.domain:  # a driver can publish it: see qualified_name
            if (own := read.name.removeprefix(f"{read.domain}/")) != read.name:
                hint = f'write device.{read.holder}["{read.domain}"].{own}'
                yield finding((), f'"{read.name}" repeats the domain', hint, "Repeated", read.offset)
        elif faults := formats.driver_name(read.domain, context.release):
            message = f'no driver can publish the domain "{read.domain}": {faults[0]}'
            yield finding((), message, _domain(read, parts.text), "Impossible", read.domain_offset)
        elif faults := formats.c_identifier(read.name, context.release):
            message = f'no driver can publish the name "{read.name}": {faults[0]}'
            yield finding((), message, "", "Impossible", read.offset)
    known = {*parts.drivers, *(read.domain for read in parts.reads)}
    for call in parts.nodes:
        if not isinstance(call, Call) or call.function != "@in" or not (holder := holder_of(call.arguments[1])):
            continue
        key = _text(call.arguments[0])
        domain, _, name = key.rpartition("/")
        if name and (domain or ("." not in name and name not in known)):
            message = f'the keys of device.{holder} are domains: "{key}" is never among them'
            of_domain = domain or (next(iter(known)) if len(known) == 1 else "DRIVER")
            meant = f'"{name}" in device.{holder}["{of_domain}"]'
            fix = parts.rewritten(call, meant) if of_domain != "DRIVER" else None
            advice = Advice(f"ask for the name in its domain: {meant}", fix)
            yield finding((), message, advice, "Impossible", call.arguments[0].offset)


def _text(node: Expression) -> str:
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else ""


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


@_rule_of_expressions
def impossible_constant(parts: Parts, context: Context) -> Iterator[Problem]:
    """A selector contains a malformed quantity or version: it fails for every device; so does a policy's expression.

    Quantities are written as 40Gi or 40G, without B; versions have three numbers, as 1.0.0. The failure is a run-time
    error, which ends the scheduling of the pod for all nodes.
    """
    for call in filter(is_made, parts.nodes):
        literal = call.arguments[0]
        if len(call.arguments) != 1 or not isinstance(literal, Literal) or not isinstance(literal.value, str):
            continue
        value, is_quantity = literal.value, call.function == "quantity"
        fault = next(iter(quantity(value, context.release)), "") if is_quantity else _not_a_version(value)
        if not fault:
            continue
        near, is_certain = near_quantity(value) if is_quantity else (near_semver(value), True)
        advice = Advice()
        if near and (is_quantity or not _not_a_version(near)):
            fix = parts.rewritten(literal, f'"{near}"', safe=is_certain)
            advice = Advice(f'did you mean {call.function}("{near}")?', fix)
        message = f'{call.function}("{value}") is an error: {fault}'
        yield finding((), message, advice, "Impossible", literal.offset)


def _not_a_version(value: str) -> str:
    try:
        semver.parse(value)
    except EvaluationError as error:
        return str(error)
    return ""


_CASES: Final = {"lowerAscii": bytes.lower, "upperAscii": bytes.upper}  # these change ASCII only


@_rule_of_expressions
def impossible_case(parts: Parts, _: Context) -> Iterator[Problem]:
    """A selector looks for upper case in a text of lower case, or the other way round, and never finds it.

    lowerAscii() and upperAscii() change all letters of an attribute, so the other side must be written likewise.
    """
    for side, literal in (each for call in parts.nodes if isinstance(call, Call) for each in compared_texts(call)):
        if not isinstance(side, Call) or side.function not in _CASES:
            continue
        if (meant := _CASES[side.function](literal.value.encode()).decode()) != literal.value:
            message = f'"{literal.value}" is never found in the result of {side.function}()'
            advice = Advice(f'write "{meant}"', in_expression(parts.text, literal.value, [meant], "").fix)
            yield finding((), message, advice, "NeverHolds", literal.offset)


@_rule_of_expressions
def pattern_as_text(parts: Parts, _: Context) -> Iterator[Problem]:
    """A selector or policy compares a value with a pattern, such as "A100*", which is compared letter by letter.

    Only matches() takes patterns: regular expressions in RE2's syntax, which are found anywhere in a text unless they
    begin with ^ and end with $. For the beginning of a text there is startsWith(). In policies, names, users, groups
    and images are looked at.
    """
    for side, literal in (each for call in parts.nodes if isinstance(call, Call) for each in patterns_in(call)):
        if depends_on_device(side):
            yield finding((), AS_TEXT.format(f'"{literal.value}"'), FOR_PATTERNS, "NeverHolds", literal.offset)


@_rule_of_expressions
def impossible_read(parts: Parts, context: Context) -> Iterator[Problem]:
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
        if LIST_ATTRIBUTES not in context.gates and (found_in := _in_value(node, parts)):
            yield found_in
        if (own := read_of(node)) and own.name in WRITTEN_TYPES and "." not in own.domain:
            yield _without_domain(own)
            continue
        read = read_of(node.operand) if isinstance(node, Select) else None
        if read and isinstance(node, Select):
            message = f'the attribute "{read.domain}/{read.name}" is a value and has no field {node.field}'
            if node.field in {"major", "minor", "patch"} and read.holder == "attributes":
                hint = f"the parts of a version are methods: .{node.field}()"
                yield finding((), message, hint, "Impossible", node.offset)
            elif node.field in WRITTEN_TYPES and not own:
                corrected = f"{parts.text[: node.offset]}{parts.text[node.offset + 1 + len(node.field) :]}"
                is_plain = parts.text[node.offset :].startswith(f".{node.field}")
                hint = f"an attribute is read without its type: leave out .{node.field}"
                advice = Advice(hint, Fix("replace", corrected) if is_plain else None)
                yield finding((), message, advice, "Impossible", node.offset)
        read = _as_quantity(node)
        if read and read.holder == "attributes":
            message = f'the attribute "{read.domain}/{read.name}" is compared with a quantity, and no attribute is one'
            hint = f'quantities are capacities: device.capacity["{read.domain}"].{read.name}'
            yield finding((), message, hint, "Impossible", read.offset)


def _in_value(node: Expression, parts: Parts) -> Problem | None:
    """Report an attribute in the place of the list of ``in``; None for other calls."""
    if not isinstance(node, Call) or node.function != "@in":
        return None
    value, of = node.arguments
    read = read_of(of)
    if read is None or read.holder != "attributes":
        return None
    item, written = parts.source(value), parts.source(of)
    message = f'the attribute "{read.domain}/{read.name}" is one value, and `in` takes a list'
    hint = f"compare the whole value, as in {written} == {item}, or a part of a string: {written}.contains({item})"
    return finding((), message, hint, "Impossible", read.offset)


def _without_domain(read: Read) -> Problem:
    """Report the name of an attribute in place of its domain, and the key of its type in place of its name."""
    from webhook.hints.selectors import DRIVER, NAME_DOMAIN  # few selectors leave out the domain

    message = f'device.{read.holder}["{read.domain}"] takes the domain of attributes, not the name of one'
    hint = f'{NAME_DOMAIN}: device.{read.holder}["{DRIVER}"].{read.domain}'
    return finding((), message, hint, "Impossible", read.offset)


def _dotted(node: Expression, text: str) -> tuple[Read, Problem] | None:
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
    return read, finding((), message, Advice(hint, fix), "Impossible", start)


def _as_quantity(node: Expression) -> Read | None:
    """Return the read that is compared with a quantity."""
    if not isinstance(node, Call):
        return None
    terms = [*([node.target] if node.target else ()), *node.arguments]
    is_compared = any(isinstance(each, Call) and each.function == "quantity" for each in terms)
    return next(filter(None, map(read_of, terms)), None) if is_compared else None


@rule_of_selectors(of_field=True)
def order_of_texts(selector: Selector, context: Context) -> Iterator[Problem]:
    """A selector or policy compares the order of a value and a number or version that is written as text.

    Texts are ordered by their letters, so that "1000" is less than "550". If the attribute is a version or a number, as
    drivers publish it, the comparison is a run-time error, which ends the scheduling of the pod for all nodes.
    """
    if context.fleet is not None and failures(selector, context.fleet):
        return  # the error on published devices tells more
    for one in text_comparisons(selector.parts):
        if one.operator in TURNED and one.is_number:  # an ordering
            message = f'"{one.value}" is text, and texts are ordered by their letters: "1000" is less than "550"'
            hint = f"compare a version as in {one.of_versions}, a number without quotes"
            yield finding((), message, hint, "WrongType", one.offset)


@rule_of_selectors(without_devices=True, of_field=True)
def misspelt_domain(selector: Selector, context: Context) -> Iterator[Problem]:
    """A selector reads attributes of a domain that is nearly the driver's name.

    Attributes without a domain of their own are in the domain of their driver. A domain that no device has is empty:
    reading from it is a run-time error, which ends the scheduling of the pod for all nodes.
    """
    known, of_class = drivers_of(selector.own, context), drivers_of(selector.around, context)
    if not of_class and (profile := context.profile(context.driver_of_class(selector.request.class_name))):
        of_class = set() if known and profile.is_example else {profile.driver}
    if of_class:  # what contradicts the class is itself misspelt, unless a driver has this name
        known = of_class.union(filter(context.knows_driver, known))
    profiles = [*filter(None, map(context.profile, known))]
    for read in {(read.holder, read.domain): read for read in selector.parts.reads}.values():
        if read.domain in known or any(each.has_domain(read.domain) for each in profiles):
            continue
        if near := nearest(read.domain, known):
            is_of_vendor = near.endswith(f".{read.domain}")  # which unknown drivers may publish attributes in
            if (is_of_vendor or context.knows_driver(read.domain)) and not context.knows_driver(near):
                continue  # or the class is misspelt
            message = f'the selected devices are of driver "{near}", which has no domain "{read.domain}"'
            advice = in_expression(selector.parts.text, read.domain, [near], "")
            yield finding((), message, advice, "Misspelt", read.domain_offset)


@rule_of_selectors(without_devices=True, of_reads=True, of_field=True)
def attribute_optional(selector: Selector, context: Context) -> Iterator[Problem]:
    """A selector reads an attribute that not every device of its driver has, without checking for it first.

    On a device that lacks it the read is a run-time error, which ends the scheduling of the pod for all nodes.
    """
    around = _Around(selector, context)
    optional: dict[tuple[str, str, str], tuple[Read, str]] = {}
    for read in selector.parts.reads:
        known = None if read.is_guarded or read.is_of_tested_domain else around.known(read)
        if not known or not known.is_certain:
            continue
        always = (each.capacity if read.holder == "capacity" else each.attributes for each in known.devices)
        if known.has(read.holder) and not all(known.name in each for each in always):
            optional.setdefault(read[:3], (read, known.profile.driver))
    if not optional:
        return
    advice = ask_first(selector.parts.guarded(optional))
    for read, driver in optional.values():
        message = f'not every device of driver "{driver}" has "{read.name}": '
        message += "the error on a device without it ends scheduling for all nodes"
        yield finding((), message, advice, "Fails", read.offset)


@rule("DeviceClass", level=NOTE, without_devices=True)
def driver_not_tested(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A class reads attributes or capacities, and does not test the driver: other drivers' devices lack them.

    Its selectors are evaluated for the devices of all drivers. On a device of another driver the read is an error,
    which ends the scheduling of the pod for all nodes. That works as long as a cluster has one driver.
    """
    tested: set[str] = set()
    for selector in selectors_of(obj, context):
        for read in selector.parts.reads:
            is_tested = read.is_of_tested_driver or read.is_of_tested_domain or tested & {"", read.domain}
            if not read.is_guarded and not is_tested:
                what = f"{read.domain}/{read.name}"
                message = f'no selector tests the driver, and devices of other drivers have no "{what}"'
                driver = "DRIVER" if read.domain == STANDARD_DOMAIN else read.domain
                hint = f'test it first: device.driver == "{driver}" && …'
                yield finding(selector.path, message, hint, "Fails", read.offset)
                return
        tested |= tested_origins(selector.parts.root)
