"""Shortens and escapes what is shown of files and messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webhook.findings import Finding, Origin

MAX_MESSAGE = 1000
"""This many characters of a message are shown where space is scarce."""
MAX_LINE = 120
"""This many characters of a line are shown, around the finding."""

_UNDERLINED = r'"[^"]*"|\'[^\']*\'|[\w./-]+|.'
"""What is underlined from a column on: a text in quotes, a word, else one character."""


def place_of(where: Finding | Origin) -> str:
    """Spell a place as compilers do, with a colon at its end."""
    return printable(f"{where.file}:{where.line}:{where.column}:" if where.line else f"{where.file}:")


def object_of(finding: Finding) -> str:
    """Name the object of a finding by its kind, namespace and name; empty if nothing is known of it."""
    about = finding.identity
    name = f"{about.namespace}/{about.name}" if about.namespace else about.name
    return printable(f"{about.kind} {name}".strip())


def shortened(text: str) -> str:
    """Cut a long message nearer to its beginning: that dumps the value, and the end tells what is wrong with it."""
    if len(text) <= MAX_MESSAGE:
        return text
    head = MAX_MESSAGE // 4
    return f"{text[:head]} […] {text[head + 5 - MAX_MESSAGE :]}"


def excerpt(line: str, at: int) -> tuple[str, str, str]:
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
    return printable(text.replace("\t", " "))


def printable(text: str) -> str:
    r"""Spell out what is no printable character, such as ``\x1b``: it could rewrite the terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )


def columns_of(text: str) -> int:
    """Count a text's columns on a terminal, where some characters take two and some none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - few lines need it

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)
