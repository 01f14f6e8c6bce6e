"""Prints lines that may hold texts of manifests, so that none of them commands the terminal or GitHub's runner."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Final, TextIO

from webhook.patterns import Pattern
from webhook.report import excerpt

_MARK: Final = os.urandom(8).hex()
"""What tells the sequences of :func:`colored` from those in texts of manifests, which cannot know it."""
_COLORS: Final = Pattern(rf"\x1b{_MARK}(\[[0-9;]+m)")

_NARROWEST: Final = 40
"""The least columns of a terminal: text is not folded any narrower."""
_INDENT: Final = 4
"""How far the further lines of a folded one are indented below it."""


def columns(stream: TextIO) -> int:
    """Return the width of a terminal; 0 if a stream goes elsewhere, where each text stays on one line."""
    if not stream.isatty():
        return 0
    from shutil import get_terminal_size  # needed only for terminals

    return max(get_terminal_size().columns, _NARROWEST)


def colored(text: str, color: str) -> str:
    """Return a text that :func:`show_lines` prints in a colour.

    Args:
        color: The numbers of the sequence, such as ``1;31``.
    """
    return f"\x1b{_MARK}[{color}m{text}\x1b{_MARK}[0m"


def show_lines(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Print texts, each on a line of its own, with unprintable characters and workflow commands escaped.

    A terminal gets long lines folded between words.

    Args:
        lines: The texts; colours are those of :func:`colored`.
        stream: Where to print them; None for standard output.
    """
    width = columns(stream or sys.stdout)
    for line in lines:
        texts = _COLORS.split(line)
        texts[::2] = map(excerpt.printable, texts[::2])
        texts[1::2] = (f"\x1b{_MARK}{each}" for each in texts[1::2])
        for each in _folded("".join(texts), width):
            print(excerpt.uncommanded(_COLORS.sub("\x1b\\1", each)), file=stream)


def print_error(line: str) -> None:
    """Print a line of a report, which is safe, on standard error."""
    print(line, file=sys.stderr)


def _folded(line: str, width: int) -> Iterator[str]:
    """Fold a line to some columns, none for no limit; the sequences of colours take none."""
    if not width or _columns_of(line) <= width:
        yield line
        return
    indent = " " * (len(line) - len(line.lstrip(" ")) + _INDENT)
    start, taken, margin = 0, 0, ""
    for word in re.finditer(r"( *)[^ ]+", line):
        needed = _columns_of(word[0])
        if taken + needed > width and start < word.start():
            yield margin + line[start : word.start()]
            start, margin, taken = word.end(1), indent, len(indent) - len(word[1])
        taken += needed
    yield margin + line[start:]


def _columns_of(text: str) -> int:
    columns: int = excerpt.columns_of(_COLORS.sub("", text))
    return columns
