"""Checks parameters by the schemas of profiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook.api.versions import NEWEST
from webhook.drivers.profile import Profile
from webhook.hints.names import renamed
from webhook.problem import Advice, Path, shown
from webhook.structural.keywords import Fault, Schema, Walk, meant, wrong_type
from webhook.structural.rules import check_rules

_TYPE_META: Final = frozenset({"apiVersion", "kind"})


def check_parameters(profile: Profile, value: Any) -> Iterator[Fault]:
    """List the errors that the driver would report in its parameters.

    Raises:
        BudgetExceededError: They take more work than may be done.
    """
    stated = profile.parameters
    if stated is None or not isinstance(value, dict):
        return
    walk = Walk(profile.gates, is_lenient=bool(stated.get("isLenient")))
    content = {name: inner for name, inner in value.items() if name not in _TYPE_META}
    if kinds := stated.get("kinds"):
        kind, faults = _kind(value, stated["apiVersion"], kinds)
        if kind and (gate := kinds[kind].get("gate")):
            faults += walk.gate(("kind",), kind, gate)
        if kind:
            faults += walk.check(kinds[kind], content, ())
    else:
        kind, expected = "", stated.get("apiVersion")
        faults = [*_is("apiVersion", value, [expected])] if expected else []
        content = content if expected else value
        hint = "leave it out: the driver takes parameters without apiVersion and kind"
        found = walk.check(stated.get("schema") or {}, content, ())
        faults += (each._replace(hint=hint) if _TYPE_META.intersection(each.path[:1]) else each for each in found)
    yield from faults
    if schema := profile.schemas.get(kind):
        misfits = [Path(each.path) for each in faults if not each.gate]
        misfits += [Path((*each.path[:-1], each.fix.value)) for each in faults if each.fix]  # also what was meant
        for problem in check_rules(content, schema, NEWEST, misfits=misfits):
            yield Fault(tuple(problem.path), problem.message)


def _kind(value: dict[str, Any], version: str, kinds: Mapping[str, Schema]) -> tuple[str, list[Fault]]:
    """Return the kind that parameters are of, also if it is misspelt, empty if unclear; and what is wrong with it."""
    if value.keys().isdisjoint(_TYPE_META):
        hint = f"write apiVersion: {version} and kind: {' or '.join(sorted(kinds))}"
        return "", [Fault((), "apiVersion and kind are missing", hint)]
    faults = [*_is("apiVersion", value, [version]), *_is("kind", value, sorted(kinds))]
    if not all(each.fix for each in faults):
        return "", faults
    meant = {each.path: each.fix.value for each in faults if each.fix}
    return str(meant.get(("kind",), value.get("kind"))), faults


def _is(field: str, value: dict[str, Any], expected: list[str]) -> Iterator[Fault]:
    if (given := value.get(field)) in expected:
        return
    if field not in value:
        yield Fault((), f"{field} is missing", f"write {field}: {' or '.join(expected)}")
    else:
        near = meant(given, expected) if isinstance(given, str) else ""
        what = f"write {' or '.join(expected)}"
        what += ": in YAML, y, n, yes, no, on and off are booleans, too" * isinstance(given, bool)
        hint, fix = renamed(near) if near else Advice(what)
        unknown = f"{field} {shown(given)} is not known to the driver"
        yield Fault((field,), wrong_type({"type": "string"}, given) or unknown, hint, fix=fix)
