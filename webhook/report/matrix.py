"""Merges the findings of several releases: each finding with its releases, and a table of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from webhook.api.versions import release_of
from webhook.findings import Finding
from webhook.problem import Remark
from webhook.report.excerpt import place_of
from webhook.report.model import Report

_NOT_SAID: Final = "-"
_PRODUCT: Final = "Kubernetes"
_CLAUSE: Final = "; "
"""What separates the clauses of a hint."""


def merged(reports: Sequence[Report], versions: Sequence[str | None]) -> Report:
    """Merge the reports of several releases into the first one.

    Args:
        reports: A report for each release.
        versions: The releases, as given; may be empty for one report.
    """
    first = reports[0]
    if len(reports) == 1:
        return first
    columns = [f"1.{release_of(each)}" for each in versions if each]
    rows: dict[Finding, dict[str, Finding]] = {}
    for report, column in zip(reports, columns, strict=True):
        for finding in report.findings:
            # Hints may differ between releases.
            key = finding._replace(kubernetes="", problem=finding.problem._replace(hint="", fix=None, issues=()))
            rows.setdefault(key, {}).setdefault(column, finding)
        first.files |= report.files
    first.sort(map(_of_releases, rows.values()))
    first.remarks = list(dict.fromkeys(line for report in reports for line in report.remarks))
    return first


def _of_releases(row: Mapping[str, Finding]) -> Finding:
    """Make one finding of those of several releases, with what helps in each; a fix for some of them is left out."""
    finding, *others = row.values()
    problem, releases = finding.problem, tuple(row)
    if any(each.problem.hint != problem.hint for each in others):
        hints = {by: each.problem.hint for by, each in row.items()}
        said = _together(hints)
        problem = problem._replace(hint=Remark(said) if isinstance(problem.hint, Remark) else said)
    if any(each.problem.fix != problem.fix for each in others):
        problem = problem._replace(fix=None)
    return finding._replace(kubernetes=releases[0], releases=releases, problem=problem)


def _together(hints: Mapping[str, str]) -> str:
    """Join the clauses of hints by release; clauses that not all of them have name their releases."""
    by: dict[tuple[str, str], list[str]] = {}
    for clauses in zip_longest(*(hint.split(_CLAUSE) for hint in hints.values()), fillvalue=""):
        for release, clause in zip(hints, clauses, strict=True):
            by.setdefault(_split(clause, release), []).append(release)
    return _CLAUSE.join(_clause(head, rest, some, len(some) == len(hints)) for (head, rest), some in by.items() if rest)


def _clause(head: str, rest: str, releases: Sequence[str], is_of_all: bool) -> str:  # noqa: FBT001 - as it is derived
    """Write a clause of the hints of some releases."""
    if not head:
        return rest if is_of_all else f"{rest} ({', '.join(releases)})"
    if not releases[1:]:
        return f"{head} {releases[0]} {rest}"
    return f"each of {head} {', '.join(releases[:-1])} and {releases[-1]} {rest}"


def _split(clause: str, release: str) -> tuple[str, str]:
    """Split off the release that a clause begins with, as in ``Kubernetes 1.36 serves …``: the rest may be shared."""
    head = f"{_PRODUCT} {release} "
    return (_PRODUCT, clause.removeprefix(head)) if clause.startswith(head) else ("", clause)


def cells(finding: Finding, columns: Sequence[str]) -> list[str]:
    """Return the level of a finding in each release, ``-`` where it is not found."""
    by = finding.releases or columns  # a finding without releases, such as an unused suppression, holds for all
    return [finding.problem.level if column in by else _NOT_SAID for column in columns]


def table(findings: Sequence[Finding], columns: Sequence[str]) -> Iterator[str]:
    """Return a table of findings by release, if there are several.

    Args:
        findings: The findings of all of them.
    """
    if not (findings and columns[1:]):
        return
    heads = [f"{place_of(each)} {each.problem.rule}" for each in findings]
    margin = max(map(len, heads))
    width = max(len(each.problem.level) for each in findings)
    yield "  ".join(["".ljust(margin), *(column.ljust(width) for column in columns)]).rstrip()
    for head, each in zip(heads, findings, strict=True):
        yield "  ".join([head.ljust(margin), *(cell.ljust(width) for cell in cells(each, columns))]).rstrip()
    yield ""
