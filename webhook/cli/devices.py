"""``draguard devices``: the devices of a cluster, and who holds them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from time import sleep
from typing import TYPE_CHECKING, Any, Final

from webhook.budget import limited
from webhook.check.cluster import not_found
from webhook.cli.console.lines import colored, show_lines
from webhook.cli.console.output import show_refusals, show_structured, wants_colors
from webhook.cli.options.stored import stored_cluster, tell_missing, work_of_selectors
from webhook.devices import FREE, HELD, STRANDED, Row, Table, grouped, summed
from webhook.deviceselectors.fleet import EVERYWHERE
from webhook.documents import STDIN
from webhook.objects import name_of
from webhook.report.excerpt import columns_of, printable
from webhook.report.model import Report
from webhook.spelling import did_you_mean
from webhook.usage import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from webhook.scan.stored import Cluster

_EVERY: Final = 3.0
"""Seconds between two drawings."""
_CLEAR: Final = "\x1b[H\x1b[2J"
"""Clears a terminal."""
_LISTED: Final = 3
_HEADER: Final = ("node", "driver", "pool", "device", "what", "classes", "state", "held by", "left", "taints", "health")
_COLORS: Final = {HELD: "33", FREE: "32", STRANDED: "1;31"}


def run(arguments: Namespace) -> int:
    """Print the devices, or how many there are; again and again with --watch."""
    if not arguments.watch:
        return _show(arguments)
    if STDIN in arguments.cluster:
        raise UsageError("--watch: standard input (-) is read once: give a file")
    while True:
        if sys.stdout.isatty():
            print(_CLEAR, end="")
        _show(arguments)
        sys.stdout.flush()
        sleep(_EVERY)


def _show(arguments: Namespace) -> int:
    report = Report()
    cluster, settings = stored_cluster(arguments, report)
    with limited(work_of_selectors()):
        for _ in cluster.judge(settings):
            pass  # draguard scan tells what the API server would refuse today
        if code := show_refusals(report):
            return code
        if not cluster.all("ResourceSlice"):
            raise UsageError(not_found("ResourceSlices", arguments.cluster))
        tell_missing(cluster, ("ResourceClaim",), "all devices look free", arguments)
        tell_missing(cluster, ("DeviceClass",), "all devices look stranded", arguments)
        every = list(Table(cluster).rows())
        _check(every, cluster, arguments)
        rows = [row for row in every if _is_wanted(row, arguments)]
    if arguments.output == "json":
        found: dict[str, Any] = {"kubernetes": str(cluster.settings), "sums": summed(rows)._asdict()}
        if arguments.by:
            groups = grouped(rows, arguments.by).items()
            found["groups"] = [{arguments.by: name, **sums._asdict()} for name, sums in groups]
        else:
            found["devices"] = [row.as_json() for row in rows]
        show_structured(found, "json")
        return 0
    color = wants_colors(arguments)
    if arguments.by:
        header = [arguments.by, "total", HELD, FREE, STRANDED]
        lines = [[name or "<none>", *map(str, sums)] for name, sums in grouped(rows, arguments.by).items()]
        show_lines(_table(header, lines, color=False))
    else:
        header, lines = _columns(rows, is_wide=arguments.output == "wide")
        show_lines(_table(header, lines, color=color))
    if not arguments.quiet:
        sums = summed(rows)
        stranded = f", {sums.stranded} of them stranded" if sums.stranded else ""
        show_lines([f"{sums.total} devices: {sums.held} held, {sums.free} free{stranded}"], sys.stderr)
    return 0


def _check(rows: Sequence[Row], cluster: Cluster, arguments: Namespace) -> None:
    """Check that what devices are chosen by is there.

    Raises:
        UsageError: It is not.
    """
    known: dict[str, tuple[str | None, set[str]]] = {
        "--class": (arguments.device_class, set(map(name_of, cluster.all("DeviceClass")))),
        "--node": (arguments.node, {*map(name_of, cluster.all("Node")), *(row.node for row in rows)} - {EVERYWHERE}),
        "--driver": (arguments.driver, {row.driver for row in rows}),
    }
    for option, (wanted, names) in known.items():
        if wanted and names and wanted not in names:
            there = f"there is {_listed(sorted(names))}"
            raise UsageError(printable(f"{option} {wanted}: no such name; {did_you_mean(wanted, names, there)}"))


def _is_wanted(row: Row, arguments: Namespace) -> bool:
    return (
        (not arguments.free or row.state == FREE)
        and (not arguments.device_class or arguments.device_class in row.classes)
        and (not arguments.node or row.node in {arguments.node, EVERYWHERE})
        and (not arguments.driver or row.driver == arguments.driver)
    )


def _columns(rows: Sequence[Row], *, is_wide: bool) -> tuple[list[str], list[list[str]]]:
    """Return the header and the cells; columns that are empty everywhere are left out."""
    header = list(_HEADER)
    apart = _apart(rows) if is_wide else []
    lines = [
        [
            "<several>" if row.node == EVERYWHERE else row.node,
            row.driver,
            row.pool if row.pool != row.node else "",
            row.device,
            _what(row),
            _listed(row.classes),
            f"{row.state}: {row.why}" if row.why else row.state,
            _holders(row),
            _left(row),
            _listed(row.taints),
            row.health,
            *(str(row.attributes.get(name, "")) for name in apart),
        ]
        for row in rows
    ]
    used = [place for place in range(len(header) + len(apart)) if place == 0 or any(line[place] for line in lines)]
    titles = [*header, *apart]
    return [titles[place] for place in used], [[line[place] for place in used] for line in lines]


def _apart(rows: Sequence[Row]) -> list[str]:
    """Return the attributes of which some devices have other values than others."""
    names = dict.fromkeys(name for row in rows for name in row.attributes)
    return [name for name in names if len({str(row.attributes.get(name)) for row in rows}) > 1]


def _what(row: Row) -> str:
    """Say what a device is: its model, profile and memory."""
    profile = next((str(value) for name, value in row.attributes.items() if name.rpartition("/")[2] == "profile"), "")
    memory = next((total for name, (_, total) in row.capacity.items() if name.rpartition("/")[2] == "memory"), "")
    model = "" if row.model == row.driver else row.model
    return " ".join(dict.fromkeys(filter(None, (model, profile, memory))))


def _holders(row: Row) -> str:
    """Name the claims that hold a device, and their pods."""
    pods = f" (pod {_listed([each.rpartition('/')[2] for each in row.pods])})" if row.pods else ""
    return f"{_listed(row.claims)}{pods}" if row.claims else ""


def _left(row: Row) -> str:
    """Write what is left of a device that is shared, or of the counters that it consumes."""
    parts = [f"{name} {left}/{total}" for name, (left, total) in row.capacity.items() if left != total]
    shares = [f"{row.shares} shares"] if row.shares else []
    counters = [
        f"{counter} {left}" for of_set in row.counters.values() for counter, left in of_set.items() if row.state != HELD
    ]
    return _listed([*shares, *parts, *counters])


def _listed(names: Sequence[str]) -> str:
    more = f" +{len(names) - _LISTED}" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _table(header: Sequence[str], lines: Sequence[Sequence[str]], *, color: bool) -> Iterator[str]:
    """Write a table as kubectl does; nothing of the cluster's text reaches the terminal unescaped."""
    titles = [each if each not in _HEADER and "state" in header else each.upper() for each in header]
    cells = [[printable(each) for each in line] for line in (titles, *lines)]
    widths = [max(map(columns_of, column)) for column in zip(*cells, strict=True)]
    state = header.index("state") if "state" in header else -1
    for line in cells:
        padded = [cell + " " * (width - columns_of(cell)) for cell, width in zip(line, widths, strict=True)]
        if color and line is not cells[0] and state >= 0:
            padded[state] = colored(padded[state], _COLORS[line[state].partition(":")[0]])
        yield "   ".join(padded).rstrip()
