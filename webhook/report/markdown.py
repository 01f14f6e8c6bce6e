"""Markdown for comments on pull requests and job summaries, such as GitHub's ``$GITHUB_STEP_SUMMARY``.

Text from manifests is shown as code, so that it adds no markup and mentions no user.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from webhook.escapes import printable
from webhook.explain.names import page
from webhook.findings import Finding
from webhook.report import Style
from webhook.report.model import Report
from webhook.report.text import (
    closing,
    excerpt,
    folded,
    help_of,
    helps_of,
    object_of,
    policy_of,
    rendered_as,
    stated,
    uncommanded,
)

MAX_FINDINGS: Final = 200
"""The most findings to show: a comment may have 65,536 characters, a job summary 1 MiB."""

_WIDTH: Final = 100
_BACKTICKS: Final = re.compile("`+")


def lines(report: Report, style: Style) -> Iterator[str]:
    """Write a heading for each file, and its findings with their lines."""
    return map(uncommanded, _lines(report, style))


def _lines(report: Report, style: Style) -> Iterator[str]:
    shown = report.findings[:MAX_FINDINGS]
    yield "# draguard"
    if not style.quiet:
        yield from ("", *_fenced([folded(printable(each), _WIDTH) for each in closing(report, shown)]))
    for file, findings in groupby(shown, key=lambda each: each.file):
        yield from ("", f"## {_code(file)}")
        for finding in findings:
            yield from ("", *_finding(finding))
    if len(report.findings) > MAX_FINDINGS:
        yield from ("", f"… and {len(report.findings) - MAX_FINDINGS} more")


def _finding(finding: Finding) -> Iterator[str]:
    problem, about = finding.problem, rendered_as(finding) or object_of(finding)
    head = f"**{problem.level}** [{problem.rule}]({page(problem.rule)})"
    head += f" in line {finding.line}" if finding.line else ""
    yield f"{head}, {_code(about)}" if about else head
    yield ""
    lines = [folded(printable(stated(finding)), _WIDTH)]
    if policy := policy_of(finding):
        lines.append(f"policy: {printable(policy)}")
    if shown := excerpt(finding):
        lines += [f"{shown.gutter} {shown.before}{shown.text}{shown.after}", f"{shown.below} {shown.carets}"]
    for label, text in helps_of(finding, help_of(finding)):
        lines.append(folded(printable(f"{label}: {text}"), _WIDTH))
    yield from _fenced(lines)


def _fenced(lines: Iterable[str]) -> Iterator[str]:
    """Show lines verbatim, in a block that none of them can end."""
    content = "\n".join(lines)
    fence = "`" * max(3, _ticks(content) + 1)
    yield from (fence, content, fence)


def _code(text: str) -> str:
    """Write a text as code, even if it has backticks."""
    text = printable(text)
    ticks = "`" * (_ticks(text) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"


def _ticks(text: str) -> int:
    """Count the backticks of the longest run."""
    return max(map(len, _BACKTICKS.findall(text)), default=0)
