"""Merges the findings of several releases: each finding with its releases, and a table of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.api.versions import release_of
from webhook.report.excerpt import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webhook.findings import Finding
    from webhook.report.model import Report

_NOT_SAID: Final = "-"


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
    rows: dict[Finding, tuple[Finding, list[str]]] = {}
    for report, column in zip(reports, columns, strict=True):
        for finding in report.findings:
            # Hints may differ between releases.
            key = finding._replace(kubernetes="", problem=finding.problem._replace(hint="", fix=None))
            rows.setdefault(key, (finding, []))[1].append(column)
        first.files |= report.files
    first.sort(each._replace(kubernetes=by[0], releases=tuple(by)) for each, by in rows.values())
    first.remarks = list(dict.fromkeys(line for report in reports for line in report.remarks))
    return first


def cells(finding: Finding, columns: Sequence[str]) -> list[str]:
    """Return the level of a finding in each release, ``-`` where it is not found.

    Args:
        finding: The finding.
        columns: The releases.
    """
    by = finding.releases or columns  # a finding without releases, such as an unused suppression, holds for all
    return [finding.problem.level if column in by else _NOT_SAID for column in columns]


def table(findings: Sequence[Finding], columns: Sequence[str]) -> Iterator[str]:
    """Return a table of findings by release, if there are several.

    Args:
        findings: The findings of all of them.
        columns: The releases.
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
