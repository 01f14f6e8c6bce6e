"""Rules about the reads of selectors, by the profiles of drivers; used where slices are unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from webhook.cel.syntax.ast import Call, Expression, Literal
from webhook.deviceselectors.parts import Read, read_of
from webhook.drivers import Devices, Profile
from webhook.hints.names import in_expression, listed
from webhook.objects import JSONObject, text
from webhook.problem import Advice, Fix, Meant, Problem
from webhook.records import NamedTuple
from webhook.references.rules import Context, drivers_of, finding, rule
from webhook.references.selecting import (
    OTHER_HOLDER,
    SELECTING,
    WRITTEN_TYPES,
    Selector,
    reads_of,
    selectors_of,
    text_comparisons,
    wrong_holder_hint,
)
from webhook.spelling import nearest


class _Known(NamedTuple):
    """Facts about the devices that a selector is evaluated for.

    Args:
        devices: The kinds of devices that the class and the other conditions allow.
        is_certain: Whether the selector is only evaluated for devices of that driver.
    """

    profile: Profile
    devices: list[Devices]
    is_certain: bool


class Around:
    """The context of a selector, computed once for all its reads.

    Args:
        context: The context of the rule.
    """

    def __init__(self, selector: Selector, context: Context) -> None:
        self._context = context
        self._class_name = "" if selector.around else selector.class_name
        self._selectors = [*selector.around, *selector.own]
        self._drivers = drivers_of(self._selectors, context)
        if not self._drivers and (driver := context.driver_of_class(self._class_name)):
            self._drivers = {driver}
        self._left: dict[str, list[Devices]] = {}
        self.kind = ""
        """The kind of devices of the class, if the class comes with the driver of the last known read."""

    def known(self, read: Read) -> _Known | None:
        """Find the profile that decides what can be read; None if there is none, or others may publish it, too."""
        if len(self._drivers) > 1:
            return None
        profile = self._context.profile(min(self._drivers, default=read.domain))
        if profile is None or profile.is_example:
            return None
        is_own = read.domain == profile.driver or profile.has_domain(read.domain)
        if not is_own and nearest(read.domain, [profile.driver]):
            return None  # another rule finds the misspelt domain
        name = profile.name_in(read.domain, read.name)
        published = list(profile.devices.values())
        is_its_own = is_published(published, name, read) or _is_recased(published, name)
        is_foreign = name not in profile.removed and not is_its_own
        is_of_other = read.domain != profile.driver and self._context.profile(read.domain) is not None
        if profile.is_open and is_foreign and not is_of_other:
            return None
        self.kind = profile.classes.get(self._class_name, "")
        if profile.driver not in self._left:
            self._left[profile.driver] = self._devices(profile, self.kind)
        return _Known(profile, self._left[profile.driver], is_certain=bool(self._drivers or self.kind))

    def types_of(self, read: Read) -> set[str]:
        """Return the types that an attribute may have; none if they are not known."""
        known = self.known(read)
        name = known.profile.name_in(read.domain, read.name) if known else ""
        return {type_ for each in known.devices if (type_ := each.type_of(name))} if known else set()

    def _devices(self, profile: Profile, kind: str) -> list[Devices]:
        """Return the kinds of devices that conditions on the kind allow."""
        if kind in profile.devices:
            return [profile.devices[kind]]
        conditions = " && ".join(text(each, "cel", "expression") for each in self._selectors)
        wanted = [name for name in profile.devices if f'"{name}"' in conditions or f"'{name}'" in conditions]
        if profile.kind_attribute and profile.kind_attribute in conditions and wanted:
            return [profile.devices[name] for name in wanted]
        return list(profile.devices.values())


@rule("attribute-not-of-driver", *SELECTING, of_reads=True, of_field=True)
def attribute_not_of_driver(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector reads an attribute or capacity that its driver does not publish.

    Without a guard the read is a run-time error, which ends the scheduling of the pod for all nodes. Drivers rename
    attributes from release to release; `draguard driver show NAME` prints the known attributes of a driver, and their
    source. If your version of the driver publishes others, pass its profile with --driver-profile.
    """
    for selector in unmatched_selectors(obj, context):
        around = Around(selector, context)
        for read in {read[:3]: read for read in reads_of(selector.parts)}.values():
            known = around.known(read)
            if known and not is_published(known.devices, known.profile.name_in(read.domain, read.name), read):
                message, hint = _unpublished(known, read, selector)
                yield finding(selector.path, message, hint, character=read.offset)


@rule("attribute-type", *SELECTING, of_reads=True, of_field=True)
def attribute_type(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector uses an attribute as a value of another type than its driver publishes.

    A comparison is a run-time error, or never true; a method of another type is an error. Versions are compared with
    semver("1.2.3").
    """
    for selector in unmatched_selectors(obj, context):
        around = Around(selector, context)
        of_versions = {each.read.offset: each.of_versions for each in text_comparisons(selector.parts)}
        for read, value in _compared(selector.parts.nodes):
            types = around.types_of(read)
            if types and _TYPES.get(type(value)) not in types:
                wanted = min(types)
                literal = _literal(wanted, value)
                hint = literal and f"compare it with {literal}"
                if wanted == "version":
                    hint = f"compare it as in {of_versions.get(read.offset, _A_VERSION)}"
                message = f'attribute "{read.domain}/{read.name}" is of type {wanted}, not {_TYPES[type(value)]}'
                yield finding(selector.path, message, hint, "WrongType", read.offset)
        for read, method in _called(selector.parts.nodes):
            types = around.types_of(read)
            if types and _METHODS[method] not in types:
                message = f'attribute "{read.domain}/{read.name}" is of type {min(types)}, which has no .{method}()'
                yield finding(selector.path, message, _COMPARED[min(types)], "WrongType", read.offset)
        for read, function in _passed(selector.parts.nodes):
            types = around.types_of(read)
            if types and types.isdisjoint(_TAKEN[function]):
                message = (
                    f'attribute "{read.domain}/{read.name}" is of type {min(types)}, which {function}() does not take'
                )
                yield finding(selector.path, message, _COMPARED[min(types)], "WrongType", read.offset)


@rule("kind-not-of-driver", *SELECTING, of_reads=True, of_field=True)
def kind_not_of_driver(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A selector compares the kind of a device with one that its driver or class does not have, so it never holds.

    Values are compared with regard to case. `draguard driver show NAME` prints the kinds of a driver's devices; if your
    version of the driver has others, pass its profile with --driver-profile.
    """
    for selector in unmatched_selectors(obj, context):
        around = Around(selector, context)
        for each in text_comparisons(selector.parts):
            read = each.read
            known = around.known(read) if each.operator == "==" and read.holder == "attributes" else None
            if known is None or known.profile.name_in(read.domain, read.name) != known.profile.kind_attribute:
                continue
            kinds = known.profile.devices
            if each.text not in kinds:
                message = f'devices of driver "{known.profile.driver}" have no {read.name} "{each.text}"'
                hint = in_expression(selector.expression, each.text, sorted(kinds), "kinds")
                yield finding(selector.path, message, hint, "NeverHolds", read.offset)
            elif around.kind not in {"", each.text}:
                message = (
                    f'devices of class "{selector.class_name}" are of {read.name} "{around.kind}", not "{each.text}"'
                )
                fitting = sorted(name for name, kind in known.profile.classes.items() if kind == each.text)
                advice = f"devices of that {read.name} are in class {listed(fitting)}" if fitting else ""
                yield finding(selector.path, message, advice, "NeverHolds", read.offset)


def unmatched_selectors(obj: JSONObject, context: Context) -> Iterator[Selector]:
    """Return the selectors, unless slices are known, which tell more."""
    if context.fleet is None:
        yield from selectors_of(obj, context)


def is_published(devices: list[Devices], name: str, read: Read) -> bool:
    """Tell whether some of the devices have an attribute or capacity."""
    if read.holder == "capacity":
        return any(each.has_capacity(name) for each in devices)
    return any(each.type_of(name) for each in devices)


def _is_recased(devices: list[Devices], name: str) -> bool:
    """Tell whether a name differs from that of an attribute in the case of letters only."""
    return any(name.lower() == known.lower() for each in devices for known in (*each.attributes, *each.optional))


def _unpublished(known: _Known, read: Read, selector: Selector) -> tuple[str, str | Advice]:
    profile, name = known.profile, known.profile.name_in(read.domain, read.name)
    what = read.holder.removesuffix("s")
    message = f'devices of driver "{profile.driver}" have no {what} "{name}"'
    if name in profile.removed:
        return message, profile.removed[name]
    kinds = [kind for kind, each in profile.devices.items() if is_published([each], name, read)]
    if any(is_published([each], name, read._replace(holder=OTHER_HOLDER[read.holder])) for each in known.devices):
        return message, wrong_holder_hint(read, selector.parts)
    if kinds:
        return f"{message} unless their kind is {listed(sorted(kinds))}", ""
    names = {each for devices in known.devices for each in _names(devices, read)}
    return message, _elsewhere(names, profile.driver, read, selector) or in_expression(
        selector.expression, name, sorted(names), "it has"
    )


def _elsewhere(names: set[str], driver: str, read: Read, selector: Selector) -> Advice | None:
    """Suggest the domain of what a selector reads; None if it may be right."""
    domain = read.domain
    if places := sorted(each for each in names if each.endswith(f"/{read.name}")):
        elsewhere = places[0].removesuffix(f"/{read.name}")
        written = f'device.{read.holder}["{elsewhere}"].{read.name}'
        return Advice(Meant(f"did you mean {written}?"), _in_domain(selector.expression, domain, elsewhere))
    if domain in names and read.name in WRITTEN_TYPES:
        written = f'device.{read.holder}["{driver}"].{domain}'
        return Advice(Meant(f"did you mean {written}?"), _without_value(selector.expression, read, written))
    if domain != driver and not any(each.startswith(f"{domain}/") for each in names):
        corrected = _in_domain(selector.expression, domain, driver) if read.name in names else None
        return Advice(f'its attributes are in domain "{driver}"', corrected)
    return None


def _without_value(expression: str, read: Read, written: str) -> Fix:
    corrected = re.sub(
        rf"""device\.{read.holder}\[(["']){re.escape(read.domain)}\1\]\.{read.name}\b""", lambda _: written, expression
    )
    return Fix("replace", corrected, safe=False)


def _in_domain(expression: str, domain: str, driver: str) -> Fix:
    corrected = re.sub(rf"""(["']){re.escape(domain)}\1""", f'"{driver}"', expression)
    return Fix("replace", corrected, safe=False)


def _names(devices: Devices, read: Read) -> Iterator[str]:
    if read.holder == "capacity":
        yield from devices.capacity | devices.optional_capacity
    else:
        yield from (*devices.attributes, *devices.optional)


def _literal(wanted: str, value: Any) -> str:
    """Write a value as a constant of a type; empty if it is none."""
    text_of = str(value).lower() if isinstance(value, bool) else str(value)
    if wanted == "string":
        return f'"{text_of}"'
    is_literal = text_of in {"true", "false"} if wanted == "bool" else text_of.lstrip("-").isdecimal()
    return text_of if is_literal else ""


_TYPES: Final[dict[type, str]] = {str: "string", bool: "bool", int: "int", float: "double"}
_COMPARISONS: Final = frozenset({"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"})


def _compared(nodes: Iterable[Expression]) -> Iterator[tuple[Read, Any]]:
    """Find the comparisons of an attribute with a constant."""
    for each in nodes:
        if not isinstance(each, Call) or each.function not in _COMPARISONS:
            continue
        for one, other in (each.arguments, reversed(each.arguments)):
            read = read_of(one)
            if read and read.holder == "attributes" and isinstance(other, Literal) and type(other.value) in _TYPES:
                yield read, other.value


_OF_VERSION: Final = frozenset({"isGreaterThan", "isLessThan", "compareTo", "major", "minor", "patch"})
_OF_TEXT: Final = frozenset({"startsWith", "endsWith", "contains", "matches", "lowerAscii", "upperAscii"})
_METHODS: Final = dict.fromkeys(_OF_VERSION, "version") | dict.fromkeys(_OF_TEXT, "string")
"""Methods of one type only, with that type."""
_A_VERSION: Final = '.compareTo(semver("1.2.3")) >= 0'
_COMPARED: Final = {
    "version": f"a version is compared as in {_A_VERSION}",
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


def _passed(nodes: Iterable[Expression]) -> Iterator[tuple[Read, str]]:
    """Find the functions to which attributes are passed."""
    for each in nodes:
        for argument in each.arguments if isinstance(each, Call) and each.function in _TAKEN else ():
            read = read_of(argument)
            if read and read.holder == "attributes" and isinstance(each, Call):
                yield read, each.function


def _called(nodes: Iterable[Expression]) -> Iterator[tuple[Read, str]]:
    """Find the methods that are called on attributes."""
    for each in nodes:
        read = read_of(each.target) if isinstance(each, Call) and each.target else None
        if read and read.holder == "attributes" and isinstance(each, Call) and each.function in _METHODS:
            yield read, each.function
