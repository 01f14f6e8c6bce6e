"""``draguard devices``: the devices of a cluster, and who holds them."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from time import sleep
from typing import Final, NoReturn

from webhook.budget import limited
from webhook.check.cluster import not_found
from webhook.check.stored import stored_cluster, work_of_selectors
from webhook.cli.console import show_escaped, show_lines, show_refusals, show_structured, tell, wants_colors
from webhook.devices import FREE, HEADER, HELD, STRANDED, Row, Table, columns, grouped, listed, summary, summed
from webhook.deviceselectors.fleet import EVERYWHERE
from webhook.documents import STDIN
from webhook.escapes import printable
from webhook.objects import name_of
from webhook.report.model import Report
from webhook.report.text import colored, columns_of
from webhook.scan.stored import Stored
from webhook.spelling import did_you_mean
from webhook.usage import UsageError

_EVERY: Final = 3.0
"""Seconds between two drawings."""
_ROLES: Final = {HELD: "taken", FREE: "fits", STRANDED: "error"}


def run(arguments: Namespace) -> int:
    """Print the devices, or how many there are; again and again with --watch."""
    if arguments.output == "html" and (arguments.by or arguments.watch):
        raise UsageError("--output html: a page has all sums, and is drawn once: leave out --by and --watch")
    if not arguments.watch:
        return _show(arguments, tell)
    if STDIN in arguments.cluster:
        raise UsageError("standard input (-) is read once: give a file", "--watch")
    return _watch(arguments)


def _watch(arguments: Namespace) -> NoReturn:
    is_shown, said = False, list[str]()
    while True:
        told: list[str] = []
        try:
            _show(arguments, told.append)
            is_shown, said = True, []
        except UsageError as error:
            told.append(f"error: {error}; the table is that of before, until it can be read again")
            if not is_shown:
                tell(*told[:-1])
                raise
        sys.stdout.flush()
        tell(*(told if told != said else ()))
        said = told
        for each in arguments.cluster:
            if not isinstance(each, str):
                each.is_strict = True  # if a kind cannot be read any more, the old table stays
        sleep(_EVERY)


def _show(arguments: Namespace, tell: Callable[[str], None]) -> int:
    report = Report()
    cluster, settings = stored_cluster(arguments, report, tell)
    with limited(work_of_selectors()):
        for _ in cluster.judge(settings):
            pass  # draguard scan tells what the API server would refuse today
        if code := show_refusals(report):
            return code
        notes = [f"note: not read: {why}" for why in cluster.inventory.unread.values()]
        for note in notes:
            tell(note)
        if not cluster.all("ResourceSlice"):
            raise UsageError(not_found("ResourceSlices", arguments.cluster))
        tell_missing(cluster, ("ResourceClaim",), "all devices look free", arguments)
        tell_missing(cluster, ("DeviceClass",), "all devices look stranded", arguments)
        every = list(Table(cluster).rows())
        _check(every, cluster, arguments)
        rows = [
            row
            for row in every
            if (not arguments.free or row.state == FREE)
            and (not arguments.device_class or arguments.device_class in row.classes)
            and (not arguments.node or row.node in {arguments.node, EVERYWHERE})
            and (not arguments.driver or row.driver == arguments.driver)
        ]
    if arguments.output == "html":
        from webhook.report.html import pictured  # few lists are pages
        from webhook.report.picture import Picture

        told = [f"as Kubernetes {cluster.settings}", *notes]
        show_escaped(pictured(Picture(rows, cluster), summary(rows), "warning" if notes else "fine", told))
        return 0
    if arguments.output == "json":
        by, sums = arguments.by, {"kubernetes": str(cluster.settings), "sums": summed(rows)._asdict()}
        groups = [{by: name, **each._asdict()} for name, each in grouped(rows, by).items()] if by else []
        listed_rows = {"groups": groups} if by else {"devices": [row.as_json() for row in rows]}
        show_structured({**sums, **listed_rows}, "json")
        return 0
    if arguments.watch and sys.stdout.isatty():
        print("\x1b[H\x1b[2J", end="")
    if rows:
        show_lines(_lines(rows, arguments), color=wants_colors(arguments))
    if not arguments.quiet:
        show_lines([summary(rows)], sys.stderr)
    return 0


def _lines(rows: Sequence[Row], arguments: Namespace) -> Iterator[str]:
    if not arguments.by:
        header, lines = columns(rows, is_wide=arguments.output == "wide")
        return _table(header, lines)
    header = [arguments.by, "total", HELD, FREE, STRANDED]
    lines = [[name or "<none>", *map(str, sums)] for name, sums in grouped(rows, arguments.by).items()]
    return _table(header, lines)


def _check(rows: Sequence[Row], cluster: Stored, arguments: Namespace) -> None:
    """Check that what devices are chosen by is there."""
    known: dict[str, tuple[str | None, set[str]]] = {
        "--class": (arguments.device_class, set(map(name_of, cluster.all("DeviceClass")))),
        "--node": (arguments.node, {*map(name_of, cluster.all("Node")), *(row.node for row in rows)} - {EVERYWHERE}),
        "--driver": (arguments.driver, {row.driver for row in rows}),
    }
    for option, (wanted, names) in known.items():
        if wanted and names and wanted not in names:
            there = f"there is {listed(sorted(names))}"
            raise UsageError(
                printable(f"no such name; {did_you_mean(wanted, names, there)}"), option, printable(wanted)
            )


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """Write a table as kubectl does; nothing of the cluster's text reaches the terminal unescaped."""
    titles = [each if each not in HEADER and "state" in header else each.upper() for each in header]
    cells = [[printable(each) for each in line] for line in (titles, *lines)]
    widths = [max(map(columns_of, column)) for column in zip(*cells, strict=True)]
    state = header.index("state") if "state" in header else -1
    for line in cells:
        shown = [*line]
        if line is not cells[0] and state >= 0:
            shown[state] = colored(_ROLES[line[state].partition(":")[0]], line[state])
        spaces = (" " * (width - columns_of(cell)) for cell, width in zip(line, widths, strict=True))
        yield "   ".join(map("".join, zip(shown, spaces, strict=True))).rstrip()


def tell_missing(cluster: Stored, kinds: Iterable[str], result: str, arguments: Namespace) -> None:
    """Warn, unless quiet, of kinds that files have no object of: they were probably not collected.

    Args:
        kinds: The kinds that the command needs.
        result: A clause about the consequence.
    """
    absent = (kind for kind in kinds if not (cluster.all(kind) or cluster.inventory.has_unread(kind)))
    missing = [f"{kind}es" if kind.endswith("s") else f"{kind}s" for kind in absent]
    if missing and not arguments.quiet and all(isinstance(each, str) for each in arguments.cluster):
        tell(f"warning: --cluster has no {', '.join(missing)}: {result}; `draguard snapshot` collects them")
