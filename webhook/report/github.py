"""GitHub workflow commands, which become annotations of a pull request's lines.

The syntax and its escapes are those of the runner (actions/toolkit ``packages/core/src/command.ts``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.findings import Finding
from webhook.report import Style
from webhook.report.model import Report
from webhook.report.text import end_column, full_text, line_of, noted, printable_lines, relative, summary, uncommanded

_COMMANDS: Final = {"error": "error", "warning": "warning", "note": "notice"}
_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
"""The log interprets escape sequences; those of manifests are escaped."""
_DATA: Final = {ord("%"): "%25", ord("\n"): "%0A"}
_PROPERTY: Final = _CONTROLS | _DATA | {ord("\r"): "%0D", ord(":"): "%3A", ord(","): "%2C"}


def lines(report: Report, style: Style) -> Iterator[str]:
    """Write a workflow command for each finding, and a summary."""
    yield from map(_command, report.findings)
    yield from (f"::notice::{_data(line)}" for line in noted(report))
    if not style.quiet:
        yield uncommanded(summary(report))


def _command(finding: Finding) -> str:
    place: dict[str, object] = {"file": relative(finding.file)}
    if line := line_of(finding):
        place |= {"line": line, "col": finding.column, "endColumn": end_column(finding)}
    place["title"] = f"draguard: {finding.problem.rule}"
    properties = ",".join(f"{name}={str(value).translate(_PROPERTY)}" for name, value in place.items())
    return f"::{_COMMANDS[finding.problem.level]} {properties}::{_data(full_text(finding))}"


def _data(text: str) -> str:
    return printable_lines(text).translate(_DATA)
