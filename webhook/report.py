"""Reports findings, as text or JSON.

The JSON object has ``files``, the names of the inputs; ``findings``, each with ``file``, ``document`` (counted from 1),
``line``, ``column``, ``level``, ``rule``, ``reason``, ``field``, ``message``, ``hint``, ``apiVersion``, ``kind``,
``namespace``, ``name``, ``kubernetes`` (the release that was asked) and ``policy``; and ``summary``: ``files``,
``documents``, ``judged``, ``errors``, ``warnings``, ``notes``, ``skipped`` (a list of ``apiVersion``, ``kind``,
``documents``), ``withoutClaims`` (pods and workloads that were not judged), ``notRead`` (a list of ``reason``,
``count``). ``policy`` is null, or says whose finding it is: ``kind``, ``name``, ``binding``, ``params``, ``field``
(of the expression), ``file``, ``line``, ``column``. What is not known is an empty text, or 0. Keys may be added, none
is taken away.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from webhook.documents.selection import BROKEN_LINK, HELM, IGNORED, NO_OBJECT, PATCH, TEMPLATE, VENDORED
from webhook.problem import BAD_REQUEST, ERROR, Path, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from webhook.documents import Document, Unreadable

UNREADABLE = "unreadable"
"""The rule that is broken by what cannot be read as Kubernetes reads it."""

MAX_MESSAGE = 1000
"""Text shows this many characters of a message; an immutable spec would fill the screen."""
MAX_LINE = 120
"""Text shows this many characters of a line, around the finding."""
MAX_KINDS = 8
"""Text names this many of the kinds that were skipped."""

_UNDERLINED = r'"[^"]*"|\'[^\']*\'|[\w./-]+|.'
"""What is underlined from a column on: a text in quotes, a word, else one character."""
_COLORS = {"error": "1;31", "warning": "1;33", "place": "1", "gutter": "1;34", "help": "1;36", "note": "1;36"}

NOTE = "note"
"""The level of what neither stops nor warns anybody, such as what goes to the audit log."""


class Identity(NamedTuple):
    """Which object something is about; what is missing is empty."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


def identity(obj: object) -> Identity:
    """Read which object a JSON value is."""
    if not isinstance(obj, dict):
        return Identity()
    metadata = obj.get("metadata")
    return Identity(_text(obj, "apiVersion"), _text(obj, "kind"), _text(metadata, "namespace"), _text(metadata, "name"))


def _text(holder: object, name: str) -> str:
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, str) else ""


class Origin(NamedTuple):
    """The expression of a policy that a finding comes from.

    Args:
        kind: The policy's kind.
        name: The policy's name.
        binding: The binding's name; empty if the policy itself is at fault.
        params: The parameters that it was asked with, such as ``default/limits``; empty if there are none.
        field: The expression, such as ``spec.validations[0].expression``; empty for the policy as a whole.
        file: The policy's file.
        line: The line, from 1; 0 if it is not known.
        column: The column, in characters from 1.
        text: The line itself.
    """

    kind: str
    name: str
    binding: str = ""
    params: str = ""
    field: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    text: str = ""


class Suppression(NamedTuple):
    """Why a finding is not reported.

    Args:
        kind: ``inline`` (a comment in the file), ``annotation`` (of the object), ``path`` (of the configuration file),
            ``option`` (a rule's level is off, or it is not selected), ``baseline``, or ``revision`` (the finding was
            there before, see ``--new-only``).
        reason: Why, in the words of who suppressed it; empty if they gave none.
    """

    kind: str
    reason: str = ""


class Fingerprint(NamedTuple):
    """What makes a finding the same one in another run: no lines, for these change with every edit.

    Args:
        rule: The rule; of a policy, ``policy/NAME``.
        kind: The object's kind.
        namespace: The object's namespace.
        name: The object's name.
        file: The file, only of objects without a name.
        path: The field in the manifest, such as ``spec.devices.requests[0].name``.
    """

    rule: str
    kind: str
    namespace: str
    name: str
    file: str
    path: str


class Finding(NamedTuple):
    """A problem, and where it was found.

    Args:
        problem: What is wrong.
        file: The file's name as it was given, ``<stdin>`` for standard input.
        line: The line, from 1; 0 if the file as a whole could not be read.
        column: The column, in characters from 1.
        text: The line itself.
        document: Which document of the file, from 1; 0 if it could not be read.
        identity: The object.
        kubernetes: The release that was asked, such as ``1.30``.
        origin: Which policy says so; None if it is a rule of the API server.
        brief: What text shows in the place of the message, where that is long.
        suppression: Why it is not reported; None if it is.
    """

    problem: Problem
    file: str
    line: int
    column: int
    text: str
    document: int = 0
    identity: Identity = Identity()
    kubernetes: str = ""
    origin: Origin | None = None
    brief: str = ""
    suppression: Suppression | None = None

    @property
    def fingerprint(self) -> Fingerprint:
        """What makes this the same finding in another run."""
        problem, about, origin = self.problem, self.identity, self.origin
        rule = f"{problem.rule}/{origin.name}" if origin else problem.rule
        file = "" if about.name else self.file
        return Fingerprint(rule, about.kind, about.namespace, about.name, file, str(problem.path))


def found(problem: Problem, document: Document, kubernetes: str = "") -> Finding:
    """Say where in its file a problem of a document is."""
    place = document.position(problem.path)
    about = identity(document.data)
    text = document.line(place.line)
    return Finding(problem, document.source, place.line, place.column, text, document.index + 1, about, kubernetes)


def unread(what: Unreadable) -> Finding:
    """Turn what could not be read into a finding; its line is 0 if that is a whole file."""
    problem = Problem(ERROR, UNREADABLE, BAD_REQUEST, Path(), what.message, what.hint)
    return Finding(problem, what.source, what.line, what.column, what.excerpt)


class Report:
    """What was read and what was found."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.documents = 0
        self.skipped: Counter[tuple[str, str]] = Counter()
        self.without_claims = 0
        """How many pods and workloads were not judged, as they have no claims."""
        self.left_out: Mapping[str, int] = {}
        """What of directories was not read, by reason; see :mod:`webhook.documents.selection`."""
        self.findings: list[Finding] = []
        """What is reported."""
        self.suppressed: list[Finding] = []
        """What is not reported; each says why."""

    @property
    def errors(self) -> int:
        """How many findings are errors."""
        return sum(finding.problem.level == ERROR for finding in self.findings)

    @property
    def warnings(self) -> int:
        """How many findings are warnings."""
        return len(self.findings) - self.errors - self.notes

    @property
    def notes(self) -> int:
        """How many findings are notes."""
        return sum(finding.problem.level == NOTE for finding in self.findings)


def as_json(report: Report) -> str:
    """Show a report as one JSON object; see the module."""
    skipped = [
        {"apiVersion": api_version, "kind": kind, "documents": documents}
        for (api_version, kind), documents in _by_number(report)
    ]
    summary = {
        "files": len(report.files),
        "documents": report.documents,
        "judged": report.documents - sum(report.skipped.values()) - report.without_claims,
        "errors": report.errors,
        "warnings": report.warnings,
        "notes": report.notes,
        "skipped": skipped,
        "withoutClaims": report.without_claims,
        "notRead": [{"reason": reason, "count": count} for reason, count in report.left_out.items()],
    }
    findings = [json_of(finding) for finding in report.findings]
    # ASCII: a file name or a text may hold what is no Unicode character.
    return json.dumps({"files": list(report.files), "findings": findings, "summary": summary}, indent=2)


def json_of(finding: Finding) -> dict[str, Any]:
    """Turn a finding into what JSON shows of it; see the module."""
    problem, about, origin = finding.problem, finding.identity, finding.origin
    return {
        "file": finding.file,
        "document": finding.document,
        "line": finding.line,
        "column": finding.column,
        "level": problem.level,
        "rule": problem.rule,
        "reason": problem.reason,
        "field": problem.field,
        "message": problem.message,
        "hint": problem.hint,
        "apiVersion": about.api_version,
        "kind": about.kind,
        "namespace": about.namespace,
        "name": about.name,
        "kubernetes": finding.kubernetes,
        "policy": origin and {name: value for name, value in origin._asdict().items() if name != "text"},
    }


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
        place, level = _place(finding), problem.level
        text = f"{problem.field}: {finding.brief or problem.message}".removeprefix(": ")
        plain, painted = (
            f"{place} {level} {problem.rule}:",
            f"{paint('place', place)} {paint(level, level)} {problem.rule}:",
        )
        yield painted + folded(_printable(_shortened(text)), width, plain)
        if origin:
            yield f"{paint('help', 'policy:')} {paint('place', _place(origin))} {_printable(_described(origin))}"
        # A policy tells of the object as a whole; what can be shown is the expression.
        shown = origin or finding
        if shown.text.strip():
            before, marked, after = _excerpt(shown.text, shown.column - 1)
            gutter = f"{shown.line} |"
            yield f"{paint('gutter', gutter)} {before}{marked}{after}"
            caret = paint(problem.level, "^" * (_width(marked) or 1))
            yield f"{paint('gutter', '|'.rjust(len(gutter)))} {' ' * _width(before)}{caret}"
        if problem.hint:
            yield paint("help", "help:") + folded(_printable(problem.hint), width, "help:")
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


def _place(where: Finding | Origin) -> str:
    return _printable(f"{where.file}:{where.line}:{where.column}:" if where.line else f"{where.file}:")


def _described(origin: Origin) -> str:
    text = f"{origin.field} of {origin.kind} {origin.name}" if origin.field else f"{origin.kind} {origin.name}"
    return f"{text}, with {origin.params}" if origin.params else text


def summary(report: Report) -> str:
    """Say in a line what was read, found and left out."""
    levels = ((report.errors, "error"), (report.warnings, "warning"), (report.notes, "note"))
    found = [counted(number, noun) for number, noun in levels if number]
    text = f"{counted(report.documents, 'document')} in {counted(len(report.files), 'file')}: "
    text += ", ".join(found) or "no problems"
    if report.skipped:
        shown = Counter[str]()
        for kind, documents in _by_number(report):
            shown[_printable(_kind(*kind))] += documents
        kinds = shown.most_common()
        names = [f"{documents} {kind}" for kind, documents in kinds[:MAX_KINDS]]
        names += ["…"] if len(kinds) > MAX_KINDS else []
        text += f"; {sum(report.skipped.values())} skipped (kinds not judged: {', '.join(names)})"
    if report.without_claims:
        text += f"; {report.without_claims} not judged (pods and workloads without claims; --all-pods judges them)"
    if report.left_out:
        reasons = (_LEFT_OUT[reason][count > 1].format(count) for reason, count in report.left_out.items())
        text += f"\nnot read: {', '.join(reasons)}"
    return text


_LEFT_OUT = {
    HELM: ("{} Helm template (render it with helm template)", "{} Helm templates (render them with helm template)"),
    TEMPLATE: ("{} template that is not YAML yet", "{} templates that are not YAML yet"),
    PATCH: ("{} patch of a kustomization", "{} patches of kustomizations"),
    IGNORED: ("{} path that git ignores", "{} paths that git ignores"),
    VENDORED: ("{} vendored directory", "{} vendored directories"),
    BROKEN_LINK: ("{} symbolic link that leads nowhere", "{} symbolic links that lead nowhere"),
    NO_OBJECT: ("{} file that is not YAML and has no apiVersion", "{} files that are not YAML and have no apiVersion"),
}
"""How a reason for which something was not read is told: of one, and of several."""


def _by_number(report: Report) -> list[tuple[tuple[str, str], int]]:
    return sorted(report.skipped.items(), key=lambda item: (-item[1], item[0]))


def _kind(api_version: str, kind: str) -> str:
    if not kind:
        return "without kind"
    if not api_version:
        return f"{kind} without apiVersion"
    return kind if api_version == "v1" else f"{kind} of {api_version}"


def counted(number: int, noun: str) -> str:
    """Put a noun behind a number, in the plural if that is not one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _plain(_role: str, text: str) -> str:
    return text


def _painted(role: str, text: str) -> str:
    return f"\x1b[{_COLORS[role]}m{text}\x1b[0m"


def _shortened(text: str) -> str:
    """Cut a long message nearer to its beginning: that dumps the value, and the end tells what is wrong with it."""
    if len(text) <= MAX_MESSAGE:
        return text
    head = MAX_MESSAGE // 4
    return f"{text[:head]} […] {text[head + 5 - MAX_MESSAGE :]}"


def _excerpt(line: str, at: int) -> tuple[str, str, str]:
    """Cut a line into what is before, at and after a finding, so that it fits on a screen."""
    match = re.match(_UNDERLINED, line[at:])  # compiled only once something is found
    end = at + match.end() if match else at
    start, stop = 0, len(line)
    if len(line) > MAX_LINE:
        start = max(0, at - MAX_LINE // 3)
        stop = start + MAX_LINE
        end = min(end, stop)
    before = ("…" if start else "") + line[start:at]
    after = line[end:stop] + ("…" if stop < len(line) else "")
    return _one_column(before), _one_column(line[at:end]), _one_column(after)


def _one_column(text: str) -> str:
    """Make tabs one column wide, and harmless what would move the cursor."""
    return _printable(text.replace("\t", " "))


def _printable(text: str) -> str:
    r"""Spell out what is no printable character, such as ``\x1b``: it could rewrite the terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )


def _width(text: str) -> int:
    """Count a text's columns on a terminal, where some characters take two and some none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - few lines need it

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)
