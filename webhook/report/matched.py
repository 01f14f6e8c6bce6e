"""The devices that selectors match, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from webhook.allocation.selecting import Fault
from webhook.deviceselectors.fleet import ERROR, TRUE, DeviceGroup, Fleet, Query, shortened
from webhook.deviceselectors.parts import parts_of, presence_test
from webhook.objects import JSONObject, text
from webhook.references.devices import unpublished
from webhook.references.lookup import told
from webhook.report.text import colored

_REASON_MAX = 160
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


def results_as_text(results: Sequence[tuple[Question, list[DeviceGroup]]], fleet: Fleet) -> Iterator[str]:
    """Return the lines of results: how many devices match, and why the others do not."""
    for query, found in results:
        total = sum(row.devices for row in found)
        matching = sum(row.devices for row in filter(_is_usable, found))
        unused = sum(row.devices for row in found if row.outcome == TRUE) - matching
        more = f", {unused} more {'is' if unused == 1 else 'are'} not used" if unused else ""
        head = f"{title(query.about)}: {matching} of {total} devices match{more}"
        if query.absent:
            yield f"{head}: {query.absent}"
            continue
        yield head
        width = max((len(row.model) for row in found), default=0)
        digits = len(str(total))
        for row in found[:_ROWS_MAX]:
            outcome = colored({TRUE: "fits", ERROR: "error"}.get(row.outcome, "taken"), f"{row.outcome:5}")
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
    for each in (*query.of_class, *query.own) if missing else ():
        parts = parts_of(text(each, "cel", "expression"), fleet.release, fleet.gates)
        for read in parts.reads if parts else ():
            if parts and read.name == missing and not read.is_guarded:
                if found := unpublished(read, parts, fleet):
                    return f" ({told(found)})"
                test = presence_test(parts.root, read[:3])
                return f" (this device has no {missing}; check first{test and f': {test}…'})"
    return ""


def title(about: JSONObject) -> str:
    """Name what a query is about."""
    if not about["kind"]:
        return str(about["name"])
    name = f"{about['namespace']}/{about['name']}" if about["namespace"] else about["name"]
    request = f", request {about['request']} (class {about['deviceClass']})" if about["request"] else ""
    return f"{about['kind']} {name}{request}"
