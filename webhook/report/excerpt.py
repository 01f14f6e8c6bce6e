"""Shortens and escapes excerpts of files and messages."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from webhook.documents.search import KUSTOMIZATIONS
from webhook.documents.source import MARKDOWN, STDIN_NAME
from webhook.findings import Finding, Origin
from webhook.problem import Fix, Remark

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


def label_of(finding: Finding) -> str:
    """Return the label of a hint: a note, if it does not say what to do."""
    return "note" if isinstance(finding.problem.hint, Remark) else "help"


def full_text(finding: Finding) -> str:
    """Return the message and, on separate lines, the rendered object, the policy, the releases and the hint.

    The releases are named if several were judged by.
    """
    origin = finding.origin
    more = {
        "object": rendered_as(finding),
        "policy": f"{place_of(origin)} {described(origin)}" if origin else "",
        "releases": ", ".join(finding.releases),
        label_of(finding): help_of(finding),
    }
    return "\n".join([stated(finding), *(f"{name}: {text}" for name, text in more.items() if text)])


def caret(where: Finding | Origin, most: int = MAX_LINE) -> tuple[str, str, str, str]:
    """Split the line of a finding into the text before, at and after it, and return carets for the line below."""
    return _caret(where.text, where.column - 1, most)


@lru_cache(_REMEMBERED)
def _caret(line: str, at: int, most: int) -> tuple[str, str, str, str]:
    before, marked, after = excerpt(line, at, most)
    return before, marked, after, " " * columns_of(before) + "^" * (columns_of(marked) or 1)


def described(origin: Origin) -> str:
    """Name the expression of a policy that a finding comes from."""
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
    if not finding.placed and finding.file.rpartition("/")[2] in KUSTOMIZATIONS:
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


def excerpt(line: str, at: int, most: int) -> tuple[str, str, str]:
    """Split a line into the text before, at and after a finding, and cut it to fit into some columns."""
    match = re.match(_UNDERLINED, line[at:])  # compiled only once something is found
    end = at + match.end() if match else at
    start, stop = 0, len(line)
    if len(line) > most:
        start = max(0, at - most // 3)
        stop = start + most
        end = min(end, stop)
    before = ("…" if start else "") + line[start:at]
    after = line[end:stop] + ("…" if stop < len(line) else "")
    return _one_column(before), _one_column(line[at:end]), _one_column(after)


def _one_column(text: str) -> str:
    """Make tabs one column wide, and escape characters that would move the cursor."""
    return printable(text.replace("\t", " "))


def printable(text: str) -> str:
    r"""Escape unprintable characters, such as ``\x1b``: they could rewrite the terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )


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


def harmless(text: str) -> str:
    """Escape characters of a multi-line text that could rewrite the terminal, or command GitHub's runner."""
    return uncommanded("\n".join(map(printable, text.split("\n"))))


def columns_of(text: str) -> int:
    """Count a text's columns on a terminal, where some characters take two and some none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # few lines need it

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def counted(number: int, noun: str) -> str:
    """Write a number and a noun, in the plural unless the number is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
