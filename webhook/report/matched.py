"""The devices that selectors match, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from webhook.allocation.selecting import Fault
from webhook.deviceselectors.fleet import ERROR, TRUE, DeviceGroup, Fleet, Query, shortened
from webhook.deviceselectors.parts import parts_of, presence_test, reads
from webhook.hints.names import instead
from webhook.objects import JSONObject, text
from webhook.problem import Meant
from webhook.records import NamedTuple
from webhook.report.text import colored

_REASON_MAX = 160
_HOLDERS: Final = {"attributes": "an attribute", "capacity": "a capacity"}
_SEVERAL: Final = {"attributes": "attributes of devices", "capacity": "capacities of devices"}
_ROWS_MAX: Final = 20
"""The maximum number of groups of equal devices that are shown for a request."""


class Question(NamedTuple):
    """A query to match against devices.

    Args:
        about: Their origin: file, kind, namespace, name, request, deviceClass.
        query: The selectors of the class and the request, and the capacity that it wants; a class that is matched by
            itself has own selectors only.
        absent: Why no device can match; empty if selectors decide.
    """

    about: JSONObject
    query: Query
    absent: str = ""


def is_fine(found: Sequence[DeviceGroup]) -> bool:
    """Tell whether some devices match and can be used, and no selector fails."""
    return any(map(_is_usable, found)) and not any(row.outcome == ERROR for row in found)


def _is_usable(row: DeviceGroup) -> bool:
    return row.outcome == TRUE and not row.unused


def as_json(query: Question, found: Sequence[DeviceGroup]) -> JSONObject:
    """Return the result of a query."""
    return {
        **query.about,
        "devices": sum(row.devices for row in found),
        "matching": sum(row.devices for row in filter(_is_usable, found)),
        "rows": [{**row._asdict(), "nodes": list(row.nodes)} for row in found],
    }


def results_as_text(
    results: Sequence[tuple[Question, list[DeviceGroup]]], fleet: Fleet, *, color: bool
) -> Iterator[str]:
    """Return the lines of results: how many devices match, and why the others do not."""
    for query, found in results:
        total = sum(row.devices for row in found)
        matching = sum(row.devices for row in filter(_is_usable, found))
        head = f"{title(query.about)}: {matching} of {total} devices match"
        if query.absent:
            yield f"{head}: {query.absent}"
            continue
        yield head
        width = max((len(row.model) for row in found), default=0)
        digits = len(str(total))
        for row in found[:_ROWS_MAX]:
            outcome = f"{row.outcome:5}"
            if color:
                code = {TRUE: "32", ERROR: "1;31"}.get(row.outcome, "33")
                outcome = colored(outcome, code)
            reason = row.reason if len(row.reason) <= _REASON_MAX else f"{row.reason[:_REASON_MAX]}…"
            reason += advice(row.outcome, row.reason, query.query, fleet)
            because = f": {reason}" if reason else ""
            if row.outcome == TRUE and row.unused:
                because = f": not used, as the pool is {row.unused}"
            elif row.outcome == ERROR and row.unused:
                because += f"; not used, as the pool is {row.unused}"
            yield f"  {outcome} {row.devices:{digits}} {row.model:{width}}  {shortened(row.nodes)}{because}"
        if rest := found[_ROWS_MAX:]:
            count = sum(row.devices for row in rest)
            yield f"  and {count} more devices, {rest[0].outcome} for other reasons (--output json has all)"


def advice(outcome: str, reason: str, query: Query, fleet: Fleet) -> str:
    """Suggest, in parentheses, what to change in a selector that fails; empty if nothing is known."""
    missing = reason.missing if outcome == ERROR and isinstance(reason, Fault) else ""
    return f" ({_lacking(missing, query, fleet)})" if missing else ""


def _lacking(name: str, query: Query, fleet: Fleet) -> str:
    """Suggest another name or domain for one that no device has, and a guard for one that other devices have."""
    published = {holder: fleet.published((), holder) for holder in _HOLDERS}
    pairs = [pair for each in published.values() for pair in each]
    if not pairs:
        return "no device has attributes or capacities"
    domains, names = (list(dict.fromkeys(pair[part] for pair in pairs)) for part in (0, 1))
    written = (text(each, "cel", "expression") for each in (*query.of_class, *query.own))
    parts = [parts for each in written if (parts := parts_of(each, fleet.release, fleet.gates))]
    found = [read for each in parts for read in reads(each.root) if read.name == name and not read.is_guarded]
    if unknown := next((read.domain for read in found if read.domain not in domains), ""):
        return f'no device has the domain "{unknown}": {instead(unknown, domains, "devices have")}'
    if name not in {*names, *domains}:
        meant = instead(name, [*names, *domains], "")
        if isinstance(meant, Meant):
            return meant
        holders = dict.fromkeys(read.holder for read in found) or _HOLDERS
        of_holder = {each: dict.fromkeys(pair[1] for pair in published[each]) for each in holders}
        return "; ".join(instead(name, known, _SEVERAL[each]) for each, known in of_holder.items())
    for read in found:
        other = next(holder for holder in _HOLDERS if holder != read.holder)
        pair = read.domain, name
        if pair in published[other] and pair not in published[read.holder]:
            return f'{name} is {_HOLDERS[other]}: device.{other}["{read.domain}"].{name}'
    tests = (presence_test(each.root, read[:3]) for each in parts for read in found)
    asked = next((f": {test}…" for test in tests if test), "")
    return f"this device has no {name}; check first{asked}"


def title(about: JSONObject) -> str:
    """Name what a query is about."""
    if not about["kind"]:
        return str(about["name"])
    name = f"{about['namespace']}/{about['name']}" if about["namespace"] else about["name"]
    request = f", request {about['request']} (class {about['deviceClass']})" if about["request"] else ""
    return f"{about['kind']} {name}{request}"
