"""Text for people: each finding with its line, a caret and what helps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.report.excerpt import columns_of, excerpt, object_of, place_of, printable, shortened
from webhook.report.summary import summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webhook.findings import Finding, Origin
    from webhook.report import Style
    from webhook.report.model import Report

_COLORS = {"error": "1;31", "warning": "1;33", "place": "1", "gutter": "1;34", "help": "1;36", "note": "1;36"}


class Text:
    """Findings with their lines, and a summary.

    Args:
        style: Whether it is coloured, how wide it is, and whether there is a summary.
    """

    def __init__(self, style: Style) -> None:
        self._style = style

    def lines(self, report: Report) -> Iterator[str]:
        """Return the findings, some lines each, and what is to be said besides."""
        columns = self._style.width
        yield from as_text(report.findings, color=self._style.color, width=columns)
        for line in report.remarks:
            yield folded(line, columns)
        if not self._style.quiet:
            yield from (folded(line, columns) for line in summary(report).splitlines())


def as_text(findings: Iterable[Finding], *, color: bool = False, width: int = 0) -> Iterator[str]:
    """Show findings for people, each as some lines and an empty one: place, rule, what is wrong, the line with a caret.

    Args:
        findings: What was found.
        color: Whether to colour it by ANSI escape sequences.
        width: How many columns there are, to which long texts are folded; 0 for no limit.
    """
    paint = _painted if color else _plain
    for finding in findings:
        problem, origin = finding.problem, finding.origin
        place, level = place_of(finding), problem.level
        text = f"{problem.field}: {finding.brief or problem.message}".removeprefix(": ")
        plain, painted = (
            f"{place} {level} {problem.rule}:",
            f"{paint('place', place)} {paint(level, level)} {problem.rule}:",
        )
        yield painted + folded(printable(shortened(text)), width, plain)
        if finding.rendered and (about := object_of(finding)):
            template = f", rendered from {printable(finding.template)}" if finding.template else ""
            yield f"{paint('help', 'object:')} {about}{template}"
        if origin:
            yield f"{paint('help', 'policy:')} {paint('place', place_of(origin))} {printable(_described(origin))}"
        # A policy tells of the object as a whole; what can be shown is the expression.
        shown = origin or finding
        if shown.text.strip():
            before, marked, after = excerpt(shown.text, shown.column - 1)
            gutter = f"{shown.line} |"
            yield f"{paint('gutter', gutter)} {before}{marked}{after}"
            caret = paint(problem.level, "^" * (columns_of(marked) or 1))
            yield f"{paint('gutter', '|'.rjust(len(gutter)))} {' ' * columns_of(before)}{caret}"
        if problem.hint:
            yield paint("help", "help:") + folded(printable(problem.hint), width, "help:")
        yield ""


def folded(text: str, width: int, head: str = "") -> str:
    """Fold a text to a number of columns; its further lines are indented.

    Args:
        text: The text, on one line.
        width: The columns; 0 for no limit.
        head: What stands before the text, which is not part of the result; a space parts them.
    """
    whole = f" {text}" if head else text
    if not width or len(head) + len(whole) <= width:
        return whole
    from textwrap import wrap  # noqa: PLC0415 - only who reads findings on a terminal pays for it

    lines = wrap(f"{head}{whole}", width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)[len(head) :]


def _described(origin: Origin) -> str:
    text = f"{origin.field} of {origin.kind} {origin.name}" if origin.field else f"{origin.kind} {origin.name}"
    return f"{text}, with {origin.params}" if origin.params else text


def _plain(_role: str, text: str) -> str:
    return text


def _painted(role: str, text: str) -> str:
    return f"\x1b[{_COLORS[role]}m{text}\x1b[0m"
