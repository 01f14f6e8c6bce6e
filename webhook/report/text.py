"""Text for people: each finding with its line, a caret and a hint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Final

from webhook.findings import Finding
from webhook.problem import Path
from webhook.report import Format
from webhook.report.excerpt import (
    MAX_LINE,
    caret,
    counted,
    described,
    label_of,
    place_of,
    printable,
    rendered_as,
    stated,
    uncommanded,
)
from webhook.report.model import Report
from webhook.report.summary import by_release, closing, directories

_COLORS = {"error": "1;31", "warning": "1;33", "place": "1", "gutter": "1;34", "help": "1;36", "note": "1;36"}
_NARROWEST = 20
"""How many characters of a line are shown at least, even on a narrow terminal."""
_LONG = 120
"""Hints with more characters are shown once."""


class Text(Format):
    """Findings with their lines, and a summary."""

    def lines(self, report: Report) -> Iterator[str]:
        """Return the findings, some lines each, and further remarks."""
        columns = self.style.width
        first = list(_first_ones(report.findings))
        yield from _lines(first, _painted if self.style.color else _plain, columns)
        shown = [finding for finding, _ in first]
        remarks = (*report.remarks, *by_release(report, shown))
        last = map(printable, remarks) if self.style.quiet else closing(report, shown)
        where = "" if self.style.quiet or not report.has_fixes else directories(report)
        yield from (uncommanded(folded(line, columns)) for line in (*last, *filter(None, (where,))))


def as_text(findings: Iterable[Finding], *, color: bool = False, width: int = 0) -> Iterator[str]:
    """Show findings for people, each as some lines and an empty one: place, rule, message, the line with a caret.

    Args:
        color: Whether to colour them by ANSI escape sequences.
        width: The columns to which long texts are folded; 0 for no limit.
    """
    return _lines(((each, 0) for each in findings), _painted if color else _plain, width)


def _lines(findings: Iterable[tuple[Finding, int]], paint: Callable[[str, str], str], width: int) -> Iterator[str]:
    """Show findings, each with how many more like it there are; a long hint is shown at the first that has it."""
    first: dict[str, Finding] = {}
    for finding, more in findings:
        hint = finding.problem.hint
        if len(hint) > _LONG and (other := first.setdefault(hint, finding)) is not finding:
            hint = f"as at {place_of(other).removesuffix(':')}"
        yield from map(uncommanded, _of_finding(finding, hint, paint, width))
        if more:
            note = f"{counted(more, 'more finding')} like this; --output concise lists all"
            yield paint("note", "note:") + folded(note, width, "note:")
            yield ""


def _of_finding(finding: Finding, hint: str, paint: Callable[[str, str], str], width: int) -> Iterator[str]:
    problem, origin = finding.problem, finding.origin
    place, level = place_of(finding), problem.level
    plain, painted = (
        f"{place} {level} {problem.rule}:",
        f"{paint('place', place)} {paint(level, level)} {problem.rule}:",
    )
    yield painted + folded(printable(stated(finding)), width, plain)
    if about := rendered_as(finding):
        yield paint("help", "object:") + folded(printable(about), width, "object:")
    if origin:
        where = f"policy: {place_of(origin)}"
        painted = f"{paint('help', 'policy:')} {paint('place', place_of(origin))}"
        yield painted + folded(printable(described(origin)), width, where)
    # A policy's finding is about the whole object, so its expression is shown.
    shown = origin or finding
    if shown.text.strip():
        gutter = f"{shown.line} |"
        # A line that is cut has an ellipsis at either end.
        most = min(MAX_LINE, max(width - len(gutter) - 3, _NARROWEST)) if width else MAX_LINE
        before, marked, after, carets = caret(shown, most)
        yield f"{paint('gutter', gutter)} {before}{marked}{after}"
        below = carets[: carets.index("^")] + paint(problem.level, carets.lstrip())
        yield f"{paint('gutter', '|'.rjust(len(gutter)))} {below}"
    if hint:
        label = f"{label_of(finding)}:"
        yield paint("help", label) + folded(printable(hint), width, label)
    yield ""


def _first_ones(findings: Sequence[Finding]) -> Iterable[tuple[Finding, int]]:
    """Return the findings to show, each with how many more like it there are."""
    if not findings:
        return ()

    return first_ones(findings)


def folded(text: str, width: int, head: str = "") -> str:
    """Fold a text to a number of columns; its further lines are indented.

    Args:
        text: The text, on one line.
        width: The columns; 0 for no limit.
        head: The text before it, which is not part of the result, followed by a space.
    """
    whole = f" {text}" if head else text
    if not width or len(head) + len(whole) <= width:
        return whole
    from textwrap import wrap  # needed only to read findings on a terminal

    lines = wrap(f"{head}{whole}", width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)[len(head) :]


def _plain(_role: str, text: str) -> str:
    return text


def _painted(role: str, text: str) -> str:
    return f"\x1b[{_COLORS[role]}m{text}\x1b[0m"


MAX_ALIKE: Final = 10
"""The most findings to show of those that say the same."""


def first_ones(findings: Sequence[Finding]) -> Iterator[tuple[Finding, int]]:
    """Yield the findings to show, and after the last one of those that say the same how many more there are.

    Args:
        findings: The findings, in their order.
    """
    if len(findings) <= MAX_ALIKE:
        yield from ((each, 0) for each in findings)
        return
    keys = list(map(_said, findings))
    times = Counter(keys)
    shown: Counter[Hashable] = Counter()
    for finding, key in zip(findings, keys, strict=True):
        shown[key] += 1
        if shown[key] <= MAX_ALIKE:
            yield finding, times[key] - MAX_ALIKE if shown[key] == MAX_ALIKE else 0


def _said(finding: Finding) -> Hashable:
    """Return the file of a finding and what it says, whichever object and item of a list it is about."""
    problem, about = finding.problem, finding.identity
    field = Path(each for each in problem.path if not isinstance(each, int))
    message = problem.message.replace(f"{about.kind} {about.name}: ", "", 1)
    of = finding.file, about.kind, field, finding.origin, finding.releases
    return of, problem.level, problem.rule, message, problem.hint
