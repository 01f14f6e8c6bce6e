"""Shortens and escapes what is shown of files and messages."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from webhook.documents.selection import KUSTOMIZATIONS

if TYPE_CHECKING:
    from webhook.findings import Finding, Origin
    from webhook.problem import Fix

MAX_MESSAGE = 1000
"""This many characters of a message are shown where space is scarce."""
MAX_LINE = 120
"""This many characters of a line are shown, around the finding."""

_UNDERLINED = r'"[^"]*"|\'[^\']*\'|[\w./-]+|.'
"""What is underlined from a column on: a text in quotes, a word, else one character."""


def place_of(where: Finding | Origin) -> str:
    """Spell a place as compilers do, with a colon at its end."""
    return printable(f"{where.file}:{where.line}:{where.column}:" if where.line else f"{where.file}:")


def stated(finding: Finding) -> str:
    """Say what is wrong, and with which field; long messages are shortened."""
    problem = finding.problem
    return shortened(f"{problem.field}: {finding.brief or problem.message}".removeprefix(": "))


def fix_of(finding: Finding) -> Fix | None:
    """Return how ``--fix`` or ``--unsafe-fixes`` mends a file; None if it does not."""
    is_of_file = not (finding.rendered or finding.origin or finding.file.startswith("<"))
    return finding.problem.fix if is_of_file else None


def help_of(finding: Finding) -> str:
    """Say how to mend it, and whether ``--fix`` does; empty if that is not known."""
    if fix := fix_of(finding):
        return (
            f"{finding.problem.hint} (draguard validate {'--fix' if fix.safe else '--unsafe-fixes'} does it)".lstrip()
        )
    return finding.problem.hint


def full_text(finding: Finding) -> str:
    """Say in one text what is wrong, and in lines of their own with which rendered object, and how to mend it."""
    more = {"object": rendered_as(finding), "help": help_of(finding)}
    return "\n".join([stated(finding), *(f"{name}: {text}" for name, text in more.items() if text)])


def caret(where: Finding | Origin, most: int = MAX_LINE) -> tuple[str, str, str, str]:
    """Return the line that something is about: what is before it, itself and what is after it; and carets for below."""
    before, marked, after = excerpt(where.text, where.column - 1, most)
    return before, marked, after, " " * columns_of(before) + "^" * (columns_of(marked) or 1)


def described(origin: Origin) -> str:
    """Name the expression of a policy that a finding comes from."""
    text = f"{origin.field} of {origin.kind} {origin.name}" if origin.field else f"{origin.kind} {origin.name}"
    return f"{text}, with {origin.params}" if origin.params else text


def object_of(finding: Finding) -> str:
    """Name the object that a finding is about; empty if that is not known."""
    about = finding.identity
    return f"{about.kind} {'/'.join(filter(None, (about.namespace, about.name)))}".strip()


def rendered_as(finding: Finding) -> str:
    """Name a rendered object, what it was rendered from, and what was written where that is not in the file."""
    if not finding.rendered:
        return ""
    template = f", rendered from {finding.template}" if finding.template else ""
    written = f"{'' if template else ', rendered'} as `{shortened(finding.written)}`" if finding.written else ""
    if not finding.placed and finding.file.rpartition("/")[2] in KUSTOMIZATIONS:
        written = f", line {finding.line} of what is built"
    return f"{object_of(finding)}{template}{written}"


def line_of(where: Finding | Origin) -> int:
    """Return the line in the file; 0 if it is not known, or is one of what a program has made of the file."""
    is_elsewhere = getattr(where, "rendered", False) and not getattr(where, "placed", False)
    return 0 if is_elsewhere else where.line


def relative(file: str) -> str:
    """Name a file as tools do that look at a whole repository: relative to the current directory if it is below it."""
    here = os.getcwd()  # noqa: PTH109 - names are text here
    return os.path.normpath(os.path.relpath(file) if file.startswith(f"{here}/") else file)


def end_column(where: Finding | Origin) -> int:
    """Return the column behind what a finding is about."""
    at = where.column - 1
    match = re.match(_UNDERLINED, where.text[at : at + MAX_LINE])
    return at + 1 + (match.end() if match else 0)


def shortened(text: str) -> str:
    """Cut a long message nearer to its beginning: that dumps the value, and the end tells what is wrong with it."""
    if len(text) <= MAX_MESSAGE:
        return text
    head = MAX_MESSAGE // 4
    return f"{text[:head]} […] {text[head + 5 - MAX_MESSAGE :]}"


def excerpt(line: str, at: int, most: int = MAX_LINE) -> tuple[str, str, str]:
    """Cut a line into what is before, at and after a finding, so that it fits into some columns."""
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
    """Make tabs one column wide, and harmless what would move the cursor."""
    return printable(text.replace("\t", " "))


def printable(text: str) -> str:
    r"""Escape characters that are not printable, such as ``\x1b``: they could rewrite the terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )


def harmless(text: str) -> str:
    r"""Spell out what in a text of several lines could rewrite the terminal, or command GitHub's runner.

    A line of a log that begins with ``::`` is a command, after spaces, too, as is ``##[`` anywhere in it.
    """
    lines = "\n".join(map(printable, text.split("\n"))).replace("##[", "## [")
    return re.sub(r"\n(?= *::)", r"\\n", lines)


def columns_of(text: str) -> int:
    """Count a text's columns on a terminal, where some characters take two and some none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - few lines need it

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)
