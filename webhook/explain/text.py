"""Puts into words what the API types declare, laid out like ``kubectl explain``."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import TYPE_CHECKING, TypeVar

from webhook.api.versions import NEWEST, target
from webhook.explain.places import children, rules_at
from webhook.schema import CREATE, OLDEST, UPDATE, UPDATE_STATUS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from webhook.api.versions import Served
    from webhook.explain.places import Kind, Place, Rule
    from webhook.schema import Declared, Field, Struct

WIDTH = 100

_OPERATIONS = {CREATE: "create", UPDATE: "update", UPDATE_STATUS: "update of the status"}


def overview(among: Iterable[Kind], known: Mapping[str, Rule]) -> str:
    """List kinds by API version, and rules, on a line each."""
    lines = ["KINDS:"]
    for api_version, members in _by_version((kind, kind) for kind in among).items():
        lines.append(f"  {api_version}")
        width = max(len(kind.name) for kind in members)
        lines += [
            f"    {kind.name:{width}}  {releases(kind.served):12}  {_first_line(_doc(kind.served.type))}"
            for kind in members
        ]
    width = max(map(len, known))
    lines += ["", "RULES:", *(f"  {name:{width}}  {_first_line(rule.doc)}" for name, rule in known.items())]
    return "\n".join([*lines, "", "`draguard explain NAME` tells more of a rule, a kind, or a field such as Pod.spec."])


def of_place(place: Place, release: int | None) -> str:
    """Tell what is declared about a kind or a field."""
    field, struct = place.field, place.type
    group, _, version = place.kind.api_version.rpartition("/")
    lines = [f"GROUP:       {group}"] if group else []
    lines += [f"KIND:        {place.kind.name}", f"VERSION:     {version}"]
    if place.path:
        lines.append(f"FIELD:       {'.'.join(place.path)}  <{_type_name(field)}>")
    lines += [f"KUBERNETES:  {_existence(place)}", "", "DESCRIPTION:"]
    for doc in dict.fromkeys((field.doc, _doc(struct) if struct else "")):
        lines += _wrapped(doc, 4)
    if limits := [*field.limits(), *_gates(place, release)]:
        lines += ["", "LIMITS:", *(f"    {limit}" for limit in limits)]
    if parts := list(children(place, release)):
        lines += ["", "FIELDS:", *(line for part in parts for line in _of_part(part, release))]
    if struct and struct.opaque:
        lines += ["", "NOT JUDGED HERE:", *_wrapped(", ".join(sorted(struct.opaque)), 4)]
    if stated := list(rules_at(place, release)):
        lines += ["", "RULES:"]
        for rule in stated:
            lines += [f"  {rule.name}{_when(rule.declared)}", *_wrapped(_first_line(rule.doc), 4)]
    return "\n".join(lines)


def of_rule(name: str, rule: Rule) -> str:
    """Tell what a rule says and where it applies."""
    lines = [f"RULE:        {name}", "", "DESCRIPTION:"]
    for paragraph in rule.doc.split("\n\n"):
        lines += _wrapped(paragraph, 4)
    places = ((place.kind, f"    {place}{_when(stated.declared)}") for place, stated in rule.places)
    if by_version := _by_version(places):
        lines += ["", "APPLIES TO:"]
        for api_version, members in by_version.items():
            lines += [f"  {api_version}", *members]
    return "\n".join(lines)


def releases(served: Served) -> str:
    """Name the first and the last release that serve a kind."""
    return _span(served.since, served.until)


_T = TypeVar("_T")


def _by_version(pairs: Iterable[tuple[Kind, _T]]) -> dict[str, list[_T]]:
    found: dict[str, list[_T]] = {}
    for kind, each in pairs:
        found.setdefault(kind.api_version, []).append(each)
    return found


def _of_part(place: Place, release: int | None) -> Iterator[str]:
    field = place.field
    facts = [*field.limits(), *_window(field, place.kind.served), *_gates(place, release)]
    yield f"  {place.path[-1]}  <{_type_name(field)}>" + (f"  {', '.join(facts)}" if facts else "")
    yield from _wrapped(field.doc, 4)


def _when(rule: Declared | None) -> str:
    """Say in which releases and for which operations a rule holds, where not in all."""
    if rule is None:
        return ""
    facts = [*_window(rule), *(_OPERATIONS[each] for each in sorted(rule.on))]
    return f"  ({', '.join(facts)})" if facts else ""


def _window(what: Field | Declared, served: Served | None = None) -> list[str]:
    """Say when something came and went, unless its kind came and went with it."""
    first, last = (served.since, served.until) if served else (OLDEST, NEWEST)
    facts = [f"since 1.{what.since}"] if what.since > first else []
    return facts + ([f"until 1.{what.until}"] if what.until is not None and what.until < last else [])


def _gates(place: Place, release: int | None) -> list[str]:
    """Say which feature gates a field needs, in the newest release unless one is given."""
    version = target(place.kind.api_version, release or place.kind.served.until, CREATE)
    return [f"dropped without feature gate {gate}" for gate in place.field.gates(version)]


def _existence(place: Place) -> str:
    field, served = place.field, place.kind.served
    return _span(max(served.since, field.since), min(served.until, field.until or served.until))


def _span(since: int, until: int) -> str:
    return f"1.{since}" if since == until else f"1.{since} to 1.{until}"


def _type_name(field: Field) -> str:
    """Name a field's type as Kubernetes' own ``explain`` does, without Go packages."""
    return re.sub(r"\b\w+\.", "", field.type_name("api"))


def _doc(struct: type[Struct]) -> str:
    return inspect.getdoc(struct) or ""


def _first_line(doc: str) -> str:
    return _unmarked(doc.partition("\n\n")[0].replace("\n", " "))


def _wrapped(text: str, indent: int) -> list[str]:
    space = " " * indent
    return textwrap.wrap(_unmarked(text), WIDTH, initial_indent=space, subsequent_indent=space, break_on_hyphens=False)


def _unmarked(doc: str) -> str:
    return doc.replace("``", "`")
