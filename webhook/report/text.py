"""Text for people: each finding with its line, a caret and a hint."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from shlex import quote
from typing import Final

from webhook.documents.search import (
    BROKEN_LINK,
    EMPTY,
    EXCLUDED,
    HELM,
    IGNORED,
    NO_OBJECT,
    PATCH,
    TEMPLATE,
    VENDORED,
    spelled,
)
from webhook.findings import Finding
from webhook.problem import ERROR, WARNING, Path
from webhook.report import Format
from webhook.report.excerpt import (
    MAX_LINE,
    caret,
    counted,
    described,
    fix_of,
    label_of,
    object_of,
    place_of,
    printable,
    rendered_as,
    stated,
    uncommanded,
)
from webhook.report.model import Report, Tested

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
        first = list(first_ones(report.findings))
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


class Concise(Format):
    """Findings as ``FILE:LINE:COLUMN: LEVEL RULE: FIELD: MESSAGE``, a line each, as compilers print them.

    For rendered objects, the object follows in brackets, as the file has no such line; so do the releases of a finding
    that not all have.
    """

    def lines(self, report: Report) -> Iterator[str]:
        """Return the findings, a line each."""
        for finding in report.findings:
            problem = finding.problem
            text = f"{place_of(finding)} {problem.level} {problem.rule}: {printable(stated(finding))}"
            text = f"{text} ({printable(problem.hint)})" if problem.hint else text
            if finding.rendered:
                text = f"{text} [{printable(object_of(finding))}]"
            if len(finding.releases) < len(report.releases):
                text = f"{text} [{', '.join(finding.releases)}]" if finding.releases else text
            yield uncommanded(text)


_FIRST = (ERROR, WARNING)


class Statistics(Format):
    """A line for each rule: its number of findings, their level, the rule; errors and frequent rules first."""

    def lines(self, report: Report) -> Iterator[str]:
        """Return the rules with their numbers of findings, and the summary."""
        counts = Counter((each.problem.level, each.fingerprint.rule) for each in report.findings)
        fixable = Counter((each.problem.level, each.fingerprint.rule) for each in report.findings if fix_of(each))
        ordered = sorted(
            counts, key=lambda each: (_FIRST.index(each[0]) if each[0] in _FIRST else len(_FIRST), -counts[each], each)
        )
        width = max((len(str(count)) for count in counts.values()), default=0)
        for level, rule in ordered:
            fixes = f" ({fixable[level, rule]} fixable)" if fixable[level, rule] else ""
            yield uncommanded(f"{counts[level, rule]:>{width}} {level:<7} {printable(rule)}{fixes}")
        if not self.style.quiet:
            yield from ([""] if counts else [])
            yield from map(uncommanded, closing(report, report.findings))


_NOTE = "note: "
_DIRECTORIES = 3
"""How many directories with errors are named."""
_TEMPLATES = 3
"""How many of the templates that are not read are named."""
MAX_KINDS = 8
"""How many of the skipped kinds are named."""


def closing(report: Report, shown: Sequence[Finding]) -> list[str]:
    """Return the lines that end a report: remarks, findings by release, and the summary.

    Args:
        shown: The findings that the table of releases lists.
    """
    table = map(printable, by_release(report, shown))
    remarks, asides = map(printable, report.remarks), map(printable, report.asides)
    return [*_files(report), *remarks, *table, *asides, *summary(report).splitlines()]


def _files(report: Report) -> Iterable[str]:
    """List what was read and what was not, if that is requested."""
    if not report.lists_files:
        return []
    texts = _LEFT_OUT if report.renders else {**_LEFT_OUT, HELM: _NEVER_RENDERED}
    reasons = {reason: text[0].format(1).removeprefix("1 ") for reason, text in texts.items()}
    unread = (f"not read: {spelled(path)}: {reasons[reason]}" for path, reason in report.unread)
    return map(printable, (*(f"read: {file}" for file in report.files), *unread))


def by_release(report: Report, shown: Sequence[Finding]) -> Iterable[str]:
    """Return a table of findings by release, nothing for one release; the arguments are those of :func:`closing`."""
    if not report.releases[1:]:
        return ()
    from webhook.report.matrix import table  # few runs judge by several releases

    return table(shown, report.releases)


def noted(report: Report) -> list[str]:
    """Return the remarks on a run besides its findings, such as objects judged by an earlier release."""
    return [line.removeprefix(_NOTE) for line in (*report.remarks, *report.asides) if line.startswith(_NOTE)]


def summary(report: Report) -> str:
    """Summarize in a line the objects read, found and left out, or the results of tests."""
    suppressed = f"; {len(report.suppressed)} suppressed ({_suppressed(report)})" if report.suppressed else ""
    left_out = f"\n{not_read(report.left_out, report.unread, renders=report.renders)}" if report.left_out else ""
    if report.tested:
        return _tested(report.tested) + suppressed + left_out
    levels = ((report.errors, "error"), (report.warnings, "warning"), (report.notes, "note"))
    found = [counted(number, noun) for number, noun in levels if number]
    text = f"{counted(report.documents, 'document')} in {counted(len(report.files), 'file')}: "
    text += (", ".join(found) or "no problems") + _judged_by(report.releases) + suppressed
    if report.skipped:
        shown = Counter[str]()
        for kind, documents in by_number(report):
            shown[printable(_kind(*kind))] += documents
        kinds = shown.most_common()
        names = [f"{documents} {kind}" for kind, documents in kinds[:MAX_KINDS]]
        names += ["…"] if len(kinds) > MAX_KINDS else []
        text += f"; {sum(report.skipped.values())} skipped (of other kinds: {', '.join(names)})"
    if report.without_claims:
        text += f"; {report.without_claims} without claims "
        text += "(of pods and workloads only extended resources are looked up; --all-pods judges them)"
    if report.has_fixes and not report.is_fixed and (fixable := _fixable(report)):
        text += f"\n{fixable}"
    return text + left_out


def directories(report: Report) -> str:
    """Name the directories of a tree that errors are in, and how to leave them out; empty if all files are in one."""
    errors = [each.file for each in report.findings if each.problem.level == ERROR]
    every = {os.path.dirname(os.path.abspath(file)) for file in report.files}
    if not errors or not every or len(every) == 1:
        return ""
    top = os.path.commonpath(every)
    below = [os.path.relpath(os.path.dirname(os.path.abspath(file)), top).split("/") for file in errors]
    depth = max(map(len, below))
    while len(found := Counter("/".join(each[:depth]) for each in below)) > _DIRECTORIES and depth > 1:
        depth -= 1
    named = {os.path.relpath(f"{top}/{each}"): count for each, count in found.most_common(_DIRECTORIES)}
    asked = [f"{os.path.relpath(each)}/" for each in (top, *report.paths)]
    beside = {each for each in named if not any(path.startswith(f"{each}/") for path in asked)}
    more = f" and {len(found) - _DIRECTORIES} more" if len(found) > _DIRECTORIES else ""
    text = f"errors in: {', '.join(f'{printable(each)} ({count})' for each, count in named.items())}{more}"
    example = next((each for each in named if each in beside and each.partition("/")[0] not in {".", ".."}), "")
    how = f"; --exclude {quote(printable(example))} or exclude: in .draguard.yaml leaves a directory out"
    return text + how if example else text


def _fixable(report: Report) -> str:
    """Count the findings that --fix fixes, and those that only --unsafe-fixes does; empty if none."""
    fixes = [fix for each in report.findings if (fix := fix_of(each))]
    safe = sum(fix.safe for fix in fixes)
    unsafe = "with --fix --unsafe-fixes"
    counts = ((safe, "with --fix"), (len(fixes) - safe, f"more {unsafe}" if safe else unsafe))
    found = ", ".join(f"{count} {option}" for count, option in counts if count)
    return f"fixable: {found}" if found else ""


def not_read(left_out: Mapping[str, int], unread: Iterable[tuple[str, str]], *, renders: bool) -> str:
    """Count the files of directories that were not read, by reason, and name the first templates.

    Args:
        left_out: Their number, by reason.
        unread: Their paths, each with the reason.
        renders: Whether named charts are rendered.
    """
    texts = _LEFT_OUT if renders else {**_LEFT_OUT, HELM: _NEVER_RENDERED}
    reasons = {reason: texts[reason][count > 1].format(count) for reason, count in left_out.items()}
    if TEMPLATE in reasons:
        names = [printable(each) for each in dict.fromkeys(spelled(path) for path, why in unread if why == TEMPLATE)]
        reasons[TEMPLATE] += f" ({', '.join([*names[:_TEMPLATES], *['…'] * (len(names) > _TEMPLATES)])})"
    return f"not read: {', '.join(reasons.values())}"


def _suppressed(report: Report) -> str:
    kinds = Counter(each.suppression.kind for each in report.suppressed if each.suppression)
    return ", ".join(f"{kinds[kind]} {said}" for kind, said in _SUPPRESSED.items() if kinds[kind])


_SUPPRESSED = {
    "inline": "by comments",
    "annotation": "by annotations",
    "path": "by their path",
    "option": "by the level of their rule",
    "baseline": "in the baseline",
    "revision": "not new",
}
"""The names of the kinds of suppressions in reports."""


def _judged_by(releases: Sequence[str]) -> str:
    return f" (Kubernetes {', '.join(releases)})" if releases else ""


def _tested(tested: Tested) -> str:
    text = f"{counted(tested.cases, 'case')} in {counted(len(tested.runs), 'suite')}: "
    text += f"{tested.cases - tested.failed} passed"
    text += f", {tested.failed} failed" if tested.failed else ""
    text += _judged_by(tested.releases)
    return f"{text}; {tested.covered} of {counted(len(tested.coverage), 'expression')} covered"


_LEFT_OUT = {
    HELM: ("{} Helm template (name its chart to render it)", "{} Helm templates (name their charts to render them)"),
    TEMPLATE: ("{} template that is not filled in yet", "{} templates that are not filled in yet"),
    PATCH: ("{} patch of a kustomization", "{} patches of kustomizations"),
    IGNORED: ("{} path that git ignores", "{} paths that git ignores"),
    VENDORED: ("{} vendored directory", "{} vendored directories"),
    EXCLUDED: ("{} path that is excluded", "{} paths that are excluded"),
    BROKEN_LINK: ("{} symbolic link that leads nowhere", "{} symbolic links that lead nowhere"),
    EMPTY: ("{} file without a manifest", "{} files without a manifest"),
    NO_OBJECT: ("{} file that is not YAML and has no apiVersion", "{} files that are not YAML and have no apiVersion"),
}
"""The names of files that were not read, by reason: singular and plural."""
_NEVER_RENDERED = (
    "{} Helm template (charts are not rendered here)",
    "{} Helm templates (charts are not rendered here)",
)


def by_number(report: Report) -> list[tuple[tuple[str, str], int]]:
    """List the skipped kinds with their numbers of documents, the most frequent first."""
    return sorted(report.skipped.items(), key=lambda item: (-item[1], item[0]))


def _kind(api_version: str, kind: str) -> str:
    if not kind:
        return "without kind" if api_version else "plain data"
    if not api_version:
        return f"{kind} without apiVersion"
    return kind if api_version == "v1" else f"{kind} of {api_version}"
