"""Text for people: each finding with its line, a caret and a hint."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from shlex import quote
from typing import Final, NamedTuple

from webhook.api.versions import release_of
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
    Selection,
    is_kustomization,
    spelled,
)
from webhook.documents.source import MARKDOWN, STDIN_NAME
from webhook.escapes import printable
from webhook.findings import Finding, Origin
from webhook.patterns import Pattern
from webhook.problem import ERROR, NOTE, ONCE_DECODED, WARNING, Fix, Path, Remark
from webhook.report import Style
from webhook.report.model import Report, Tested
from webhook.spelling import some_of

LEVELS: Final = (ERROR, WARNING, NOTE)
"""The levels of findings, the worst first."""
MARK: Final = os.urandom(8).hex()
"""What tells the sequences of :func:`colored` from those in texts of manifests, which cannot know it."""
COLORS: Final = Pattern(rf"\x1b{MARK}(\[[0-9;]+m)")
_SEQUENCE: Final = Pattern(r"\x1b\[[0-9;]+m")

MAX_MESSAGE = 1000
"""How many characters of a message are shown where space is scarce."""
MAX_LINE = 120
"""How many characters of a line are shown around the finding."""

_REMEMBERED = 64
"""How many lines are cached: a rule about all objects finds the same text in each."""

_UNDERLINED = r'"[^"]*"|\'[^\']*\'|[\w./-]+|.'
"""The text to underline from a column on: a quoted text, a word, or else one character."""


def place_of(where: Finding | Origin) -> str:
    """Spell a place as compilers do, with a colon at its end."""
    return printable(f"{where.file}:{where.line}:{where.column}:" if where.line else f"{where.file}:")


def stated(finding: Finding) -> str:
    """Return the field and the message of a finding; long messages are shortened."""
    problem = finding.problem
    return shortened(f"{problem.field}: {finding.brief or problem.message}".removeprefix(": "))


def fix_of(finding: Finding) -> Fix | None:
    """Return the fix that ``--fix``, perhaps with ``--unsafe-fixes``, applies; None if there is none."""
    is_of_file = finding.file == STDIN_NAME or not (finding.rendered or finding.file.endswith(MARKDOWN))
    return finding.problem.fix if is_of_file and not finding.origin else None


def help_of(finding: Finding) -> str:
    """Return the hint, and whether ``--fix`` applies it; empty if unknown."""
    if fix := fix_of(finding):
        options = "--fix" if fix.safe else "--fix --unsafe-fixes"
        return f"{finding.problem.hint} (draguard validate {options} does it)".lstrip()
    return finding.problem.hint


def helps_of(finding: Finding, hint: str) -> Iterator[tuple[str, str]]:
    """Yield what is said beside a finding, each with its label: its hint, and notes, which do not say what to do."""
    is_note = isinstance(finding.problem.hint, Remark)
    if finding.problem.is_later and not is_note:
        yield "note", ONCE_DECODED
    if hint:
        yield "note" if is_note else "help", hint


def full_text(finding: Finding) -> str:
    """Return the message and, on separate lines, the rendered object, the policy, the releases and the hint.

    The releases are named if several were judged by.
    """
    more = {
        "object": rendered_as(finding),
        "policy": policy_of(finding),
        "releases": ", ".join(finding.releases),
        **dict(helps_of(finding, help_of(finding))),
    }
    return "\n".join([stated(finding), *(f"{name}: {text}" for name, text in more.items() if text)])


class Excerpt(NamedTuple):
    """The line of a finding, with carets below its text; what is printed before both lines has the same width."""

    gutter: str
    before: str
    text: str
    after: str
    below: str
    carets: str


def excerpt(finding: Finding, width: int = 0) -> Excerpt | None:
    """Return the line of a finding; that of the expression if a policy found it, which is about the whole object.

    Args:
        width: The columns that there are, into which the line is cut to fit; 0 for no limit.
    """
    where = finding.origin or finding
    if not where.text.strip():
        return None
    gutter = f"{where.line} |"
    # A line that is cut has an ellipsis at either end.
    most = min(MAX_LINE, max(width - len(gutter) - 3, _NARROWEST)) if width else MAX_LINE
    before, text, after, carets = _caret(where.text, where.column - 1, most)
    return Excerpt(gutter, before, text, after, "|".rjust(len(gutter)), carets)


@lru_cache(_REMEMBERED)
def _caret(line: str, at: int, most: int) -> tuple[str, str, str, str]:
    match = re.match(_UNDERLINED, line[at:])  # compiled only once something is found
    end = at + match.end() if match else at
    start, stop = 0, len(line)
    if len(line) > most:
        start = max(0, at - most // 3)
        stop = start + most
        end = min(end, stop)
    parts = ("…" if start else "") + line[start:at], line[at:end], line[end:stop] + ("…" if stop < len(line) else "")
    before, marked, after = (printable(each.replace("\t", " ")) for each in parts)  # so that a tab has one column
    return before, marked, after, " " * columns_of(before) + "^" * (columns_of(marked) or 1)


def policy_of(finding: Finding) -> str:
    """Name the expression of a policy that a finding comes from, with its place; empty if it comes from none."""
    origin = finding.origin
    return f"{place_of(origin)} {_described(origin)}" if origin else ""


def _described(origin: Origin) -> str:
    text = f"{origin.field} of {origin.kind} {origin.name}" if origin.field else f"{origin.kind} {origin.name}"
    return f"{text}, with {origin.params}" if origin.params else text


def object_of(finding: Finding) -> str:
    """Name the object of a finding; empty if unknown."""
    about = finding.identity
    return f"{about.kind} {'/'.join(filter(None, (about.namespace, about.name)))}".strip()


def rendered_as(finding: Finding) -> str:
    """Name a rendered object, its template, and the written text where it is not in the file."""
    if not finding.rendered:
        return ""
    template = f", rendered from {finding.template}" if finding.template else ""
    written = f"{'' if template else ', rendered'} as `{shortened(finding.written)}`" if finding.written else ""
    if not finding.placed and is_kustomization(finding.file):
        written = f", line {finding.line} of the build output"
    return f"{object_of(finding)}{template}{written}"


def line_of(where: Finding | Origin) -> int:
    """Return the line in the file; 0 if unknown, or if it is one of rendered output."""
    is_elsewhere = getattr(where, "rendered", False) and not getattr(where, "placed", False)
    return 0 if is_elsewhere else where.line


def relative(file: str) -> str:
    """Name a file as tools for whole repositories do: relative to the current directory if it is below it."""
    here = os.getcwd()
    return os.path.normpath(os.path.relpath(file) if file.startswith(f"{here}/") else file)


def end_column(where: Finding | Origin) -> int:
    """Return the column after the text of a finding."""
    at = where.column - 1
    match = re.match(_UNDERLINED, where.text[at : at + MAX_LINE])
    return at + 1 + (match.end() if match else 0)


def shortened(text: str) -> str:
    """Cut a long message in its first part, which dumps the value; its end describes the error."""
    if len(text) <= MAX_MESSAGE:
        return text
    head = MAX_MESSAGE // 4
    return f"{text[:head]} […] {text[head + 5 - MAX_MESSAGE :]}"


def printable_lines(text: str) -> str:
    """Escape unprintable characters but line ends."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def uncommanded(text: str) -> str:
    """Escape what the runners of CI systems take for a command.

    GitHub's takes a line that begins with ``::``, and ``##[`` anywhere; that of Azure Pipelines ``##vso[``.
    """
    if "##" in text:
        text = re.sub(r"##(?=\w*\[)", "## ", text)
    return re.sub(r"^([^\S\n]*)::", r"\1\\x3a:", text, flags=re.MULTILINE) if "::" in text else text


def as_json(value: object, *, indent: int | None = None, separators: tuple[str, str] | None = None) -> str:
    """Write JSON in ASCII that commands no runner; the arguments are those of ``json.dumps``."""
    import json  # few reports are JSON

    # A file name or a text may hold lone surrogates, which UTF-8 cannot encode.
    return json.dumps(value, indent=indent, separators=separators).replace("##", "#\\u0023")


def as_markup(text: str) -> str:
    """Escape a text for HTML and XML, so that it commands no runner either."""
    from html import escape  # few reports are HTML or XML

    return escape(text).replace("##", "#&#35;")


def escaped(text: str) -> str:
    """Escape a text on one line for HTML, as :func:`as_markup` does, and its unprintable characters."""
    return as_markup(printable(text))


def harmless(text: str) -> str:
    """Escape characters of a multi-line text that could rewrite the terminal, or command GitHub's runner."""
    return uncommanded(printable_lines(text))


def columns_of(text: str) -> int:
    """Count a text's columns on a terminal, where some characters take two and some none, as sequences of colours."""
    text = _SEQUENCE.sub("", text) if "\x1b" in text else text
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # few lines need it

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def counted(number: int, noun: str) -> str:
    """Write a number and a noun, in the plural unless the number is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_COLORS = {"error": "1;31", "warning": "1;33", "place": "1", "gutter": "1;34", "help": "1;36", "note": "1;36"}
_COLORS |= {"good": "1;32", "fits": "32", "taken": "33"}
"""The colours of texts, by what they are."""
_INDENT: Final = 4
"""How far the further lines of a folded one are indented below it."""
_NARROWEST = 20
"""How many characters of a line are shown at least, even on a narrow terminal."""
_LONG = 120
"""Hints with more characters are shown once."""


def lines(report: Report, style: Style) -> list[str]:
    """Write findings with their lines, further remarks, and a summary."""
    first = list(first_ones(report.findings))
    shown = [finding for finding, _ in first]
    if style.quiet:
        last = [*map(printable, (*report.remarks, *table(shown, report.releases)))]
    else:
        last = [*closing(report, shown), *(filter(None, [directories(report)]) if report.has_fixes else ())]
    return [*_lines(first, style), *(uncommanded(folded(line, style.width)) for line in last)]


_PLAIN: Final = Style()


def as_text(findings: Iterable[Finding], style: Style = _PLAIN) -> Iterator[str]:
    """Show findings for people, each as some lines and an empty one: place, rule, message, the line with a caret."""
    return _lines(((each, 0) for each in findings), style)


def _lines(findings: Iterable[tuple[Finding, int]], style: Style) -> Iterator[str]:
    """Show findings, each with how many more like it there are; a long hint is shown at the first that has it."""
    first: dict[str, Finding] = {}
    for finding, more in findings:
        hint = finding.problem.hint
        if len(hint) > _LONG and (other := first.setdefault(hint, finding)) is not finding:
            hint = f"as at {place_of(other).removesuffix(':')}"
        yield from map(uncommanded, _of_finding(finding, hint, style))
        yield ""
        if more:
            yield _labelled("note", f"{counted(more, 'more finding')} like this; --output concise lists all", style)
            yield ""


def _of_finding(finding: Finding, hint: str, style: Style) -> Iterator[str]:
    level, origin = finding.problem.level, finding.origin
    place = f"{_painted('place', place_of(finding), style)} {_painted(level, level, style)}"
    yield folded(f"{place} {finding.problem.rule}: {printable(stated(finding))}", style.width)
    if about := rendered_as(finding):
        yield _labelled("object", about, style)
    if origin:
        place = f"{_painted('help', 'policy:', style)} {_painted('place', place_of(origin), style)}"
        yield folded(f"{place} {printable(_described(origin))}", style.width)
    if shown := excerpt(finding, style.width):
        yield f"{_painted('gutter', shown.gutter, style)} {shown.before}{shown.text}{shown.after}"
        indent, carets = shown.carets[: shown.carets.index("^")], shown.carets.lstrip()
        yield f"{_painted('gutter', shown.below, style)} {indent}{_painted(level, carets, style)}"
    for label, text in helps_of(finding, hint):
        yield _labelled(label, text, style)


def _labelled(label: str, text: str, style: Style) -> str:
    return folded(f"{_painted('help', f'{label}:', style)} {printable(text)}", style.width)


def _painted(role: str, text: str, style: Style) -> str:
    return f"\x1b[{_COLORS[role]}m{text}\x1b[0m" if style.color else text


def folded(line: str, width: int) -> str:
    """Fold a line between words; the sequences of colours take no columns.

    Args:
        width: The columns; 0 for no limit. Further lines are indented below the first one.
    """
    if not width or columns_of(line) <= width:
        return line
    own = len(line) - len(line.lstrip(" "))
    indent = " " * ((own if own < width // 2 else 0) + _INDENT)
    parts, taken = list[str](), 0
    for word in re.findall(" *[^ ]+", line.rstrip(" ")):
        part = word
        if parts and taken + columns_of(word) > width:
            part, taken = indent + word.lstrip(" "), 0
            parts.append("\n")
        parts.append(part)
        taken += columns_of(part)
    return "".join(parts)


MAX_ALIKE: Final = 10
"""The most findings to show of those that say the same."""


def first_ones(findings: Sequence[Finding]) -> Iterator[tuple[Finding, int]]:
    """Yield the findings to show, and after the last one of those that say the same how many more there are.

    Args:
        findings: The findings, in their order.
    """
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


def concise(report: Report, _style: Style) -> Iterator[str]:
    """Write findings as ``FILE:LINE:COLUMN: LEVEL RULE: FIELD: MESSAGE``, a line each, as compilers print them.

    For rendered objects, the object follows in brackets, as the file has no such line; so do the releases of a finding
    that not all have.
    """
    for finding in report.findings:
        problem = finding.problem
        text = f"{place_of(finding)} {problem.level} {problem.rule}: {printable(stated(finding))}"
        text = f"{text} ({printable(problem.hint)})" if problem.hint else text
        if finding.rendered:
            text = f"{text} [{printable(object_of(finding))}]"
        if len(finding.releases) < len(report.releases):
            text = f"{text} [{', '.join(finding.releases)}]" if finding.releases else text
        yield uncommanded(text)


def statistics(report: Report, style: Style) -> Iterator[str]:
    """Write a line for each rule: its number of findings, their level, the rule; errors and frequent rules first."""
    counts = Counter((each.problem.level, each.fingerprint.rule) for each in report.findings)
    fixable = Counter((each.problem.level, each.fingerprint.rule) for each in report.findings if fix_of(each))
    width = max((len(str(count)) for count in counts.values()), default=0)
    for level, rule in sorted(counts, key=lambda each: (LEVELS.index(each[0]), -counts[each], each)):
        fixes = f" ({fixable[level, rule]} fixable)" if fixable[level, rule] else ""
        yield uncommanded(f"{counts[level, rule]:>{width}} {level:<7} {printable(rule)}{fixes}")
    if not style.quiet:
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
    by_release = map(printable, table(shown, report.releases))
    remarks, asides = map(printable, report.remarks), map(printable, report.asides)
    return [*_files(report), *remarks, *by_release, *asides, *summary(report).splitlines()]


def _files(report: Report) -> Iterable[str]:
    """List what was read and what was not, if that is requested."""
    if not report.lists_files:
        return []
    reasons = ((path, _left_out(reason, 1, renders=report.renders)) for path, reason in report.selection.unread)
    unread = (f"not read: {spelled(path)}: {said.removeprefix('1 ')}" for path, said in reasons)
    return map(printable, (*(f"read: {file}" for file in report.files), *unread))


def by_level(findings: Iterable[Finding]) -> str:
    """Write how many findings there are of each level; ``no problems`` without any."""
    counts = Counter([each.problem.level for each in findings])
    return ", ".join(counted(counts[each], each) for each in LEVELS if counts[each]) or "no problems"


def noted(report: Report) -> list[str]:
    """Return the remarks on a run besides its findings, such as objects judged by an earlier release."""
    return [line.removeprefix(_NOTE) for line in (*report.remarks, *report.asides) if line.startswith(_NOTE)]


def summary(report: Report) -> str:
    """Summarize in a line the objects read, found and left out, or the results of tests."""
    kinds = Counter(each.suppression.kind for each in report.suppressed if each.suppression)
    how = ", ".join(f"{kinds[kind]} {said}" for kind, said in _SUPPRESSED.items() if kinds[kind])
    suppressed = f"; {len(report.suppressed)} suppressed ({how})" if report.suppressed else ""
    left_out = f"\n{not_read(report.selection, renders=report.renders)}" if report.selection.left_out else ""
    if report.tested:
        return _tested(report.tested) + suppressed + left_out
    found = by_level(report.findings)
    if report.files:
        text = f"{counted(report.documents, 'document')} in {counted(len(report.files), 'file')}: "
        text += found + _judged_by(report.releases) + suppressed
    else:
        text = (f"nothing was read: {found}" if report.findings else "nothing was read") + suppressed
    if report.skipped:
        shown = Counter[str]()
        for kind, documents in by_number(report):
            shown[printable(_kind(*kind))] += documents
        names = some_of([f"{documents} {kind}" for kind, documents in shown.most_common()], MAX_KINDS, "…")
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
    named = {os.path.relpath(f"{top}/{each}"): count for each, count in found.most_common()}
    asked = [f"{os.path.relpath(each)}/" for each in (top, *report.paths)]
    beside = (each for each in named if not any(path.startswith(f"{each}/") for path in asked))
    counts = [f"{printable(each)} ({count})" for each, count in named.items()]
    text = f"errors in: {', '.join(some_of(counts, _DIRECTORIES, 'and {} more'))}"
    whole = [f"{os.path.relpath(each)}/" for each in every if each != top]
    partial = (each for each in beside if not all(path.startswith(f"{each}/") for path in whole))
    example = next((each for each in partial if each.partition("/")[0] not in {".", ".."}), "")
    what = "a directory" if named.keys() - {example} else "it"
    how = f"; --exclude {quote(printable(example))} or exclude: in .draguard.yaml leaves {what} out"
    return text + how if example else text


def _fixable(report: Report) -> str:
    """Count the findings that --fix fixes, and those that only --unsafe-fixes does; empty if none."""
    fixes = [fix for each in report.findings if (fix := fix_of(each))]
    safe = sum(fix.safe for fix in fixes)
    unsafe = "with --fix --unsafe-fixes"
    counts = ((safe, "with --fix"), (len(fixes) - safe, f"more {unsafe}" if safe else unsafe))
    found = ", ".join(f"{count} {option}" for count, option in counts if count)
    return f"fixable: {found}" if found else ""


def not_read(selection: Selection, *, renders: bool) -> str:
    """Count the files of directories that were not read, by reason, and name the first templates.

    Args:
        renders: Whether named charts are rendered.
    """
    reasons = {reason: _left_out(reason, count, renders=renders) for reason, count in selection.left_out.items()}
    if TEMPLATE in reasons:
        names = dict.fromkeys(printable(spelled(path)) for path, why in selection.unread if why == TEMPLATE)
        reasons[TEMPLATE] += f" ({', '.join(some_of([*names], _TEMPLATES, '…'))})"
    return f"not read: {', '.join(reasons.values())}"


_SUPPRESSED = {
    "inline": "by comments",
    "annotation": "by annotations",
    "path": "by their path",
    "option": "by rule level",
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
    if not tested.coverage:  # there are no expressions, or not all cases were run
        return text
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


def _left_out(reason: str, count: int, *, renders: bool) -> str:
    texts = _NEVER_RENDERED if reason == HELM and not renders else _LEFT_OUT[reason]
    return texts[count > 1].format(count)


def by_number(report: Report) -> list[tuple[tuple[str, str], int]]:
    """List the skipped kinds with their numbers of documents, the most frequent first."""
    return sorted(report.skipped.items(), key=lambda item: (-item[1], item[0]))


def _kind(api_version: str, kind: str) -> str:
    if not kind:
        return "without kind" if api_version else "plain data"
    if not api_version:
        return f"{kind} without apiVersion"
    return kind if api_version == "v1" else f"{kind} of {api_version}"


_PRODUCT: Final = "Kubernetes"
_CLAUSE: Final = "; "
"""The separator between the clauses of a hint."""


def merged(reports: Sequence[Report], versions: Sequence[str | None]) -> Report:
    """Merge the reports of several releases into the first one.

    Args:
        reports: A report for each release.
        versions: The releases, as given.
    """
    first, columns = reports[0], [f"1.{release_of(each)}" for each in versions if each]
    rows: dict[Finding, dict[str, Finding]] = {}
    for report, column in zip(reports, columns, strict=True):
        for finding in report.findings:
            # Hints may differ between releases.
            problem = finding.problem._replace(hint="", fix=None, issues=(), is_later=False)
            rows.setdefault(finding._replace(kubernetes="", problem=problem), {}).setdefault(column, finding)
        first.files |= report.files
    first.sort(map(_of_releases, rows.values()))
    first.remarks = list(dict.fromkeys(line for report in reports for line in report.remarks))
    return first


def _of_releases(row: Mapping[str, Finding]) -> Finding:
    """Make one finding of those of several releases, with what helps in each; a fix for some of them is left out."""
    finding, *others = row.values()
    is_later, releases = all(each.problem.is_later for each in row.values()), tuple(row)
    problem = finding.problem._replace(is_later=is_later)
    if any(each.problem.hint != problem.hint for each in others):
        said = _together({by: each.problem.hint for by, each in row.items()})
        problem = problem._replace(hint=Remark(said) if isinstance(problem.hint, Remark) else said)
    if any(each.problem.fix != problem.fix for each in others):
        problem = problem._replace(fix=None)
    return finding._replace(kubernetes=releases[0], releases=releases, problem=problem)


def _together(hints: Mapping[str, str]) -> str:
    """Join the clauses of hints by release; clauses that not all of them have name their releases."""
    by: dict[tuple[str, str], list[str]] = {}
    for clauses in zip_longest(*(hint.split(_CLAUSE) for hint in hints.values()), fillvalue=""):
        for release, clause in zip(hints, clauses, strict=True):
            # As in "Kubernetes 1.36 serves …": the rest may be shared.
            rest = clause.removeprefix(f"{_PRODUCT} {release} ")
            by.setdefault((_PRODUCT if rest != clause else "", rest), []).append(release)
    return _CLAUSE.join(_clause(head, rest, some, len(some) == len(hints)) for (head, rest), some in by.items() if rest)


def _clause(head: str, rest: str, releases: Sequence[str], is_of_all: bool) -> str:  # noqa: FBT001 - as it is derived
    """Write a clause of the hints of some releases."""
    if not head:
        return rest if is_of_all else f"{rest} ({', '.join(releases)})"
    if not releases[1:]:
        return f"{head} {releases[0]} {rest}"
    return f"each of {head} {', '.join(releases[:-1])} and {releases[-1]} {rest}"


def cells(finding: Finding, columns: Sequence[str]) -> list[str]:
    """Return the level of a finding in each release, ``-`` where it is not found."""
    by = finding.releases or columns  # a finding without releases, such as an unused suppression, holds for all
    return [finding.problem.level if column in by else "-" for column in columns]


def table(findings: Sequence[Finding], columns: Sequence[str]) -> Iterator[str]:
    """Return a table of findings by release, if there are several.

    Args:
        findings: The findings of all of them.
    """
    if not (findings and columns[1:]):
        return
    rows = [("", columns), *((f"{place_of(each)} {each.problem.rule}", cells(each, columns)) for each in findings)]
    margin, width = max(len(head) for head, _ in rows), max(len(each.problem.level) for each in findings)
    for head, levels in rows:
        yield "  ".join([head.ljust(margin), *(level.ljust(width) for level in levels)]).rstrip()
    yield ""


def colored(role: str, text: str) -> str:
    """Return a text that :func:`webhook.cli.console.show_lines` prints in a colour, if it prints any."""
    return f"\x1b{MARK}[{_COLORS[role]}m{text}\x1b{MARK}[0m"


def uncolored(line: str) -> str:
    """Return a line without the colours of :func:`colored`."""
    return "".join(COLORS.split(line)[::2])
