"""Prints lines that may hold texts of manifests, so that none of them commands the terminal or GitHub's runner."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TextIO

from webhook.report.excerpt import printable, uncommanded

if TYPE_CHECKING:
    from collections.abc import Iterable

_COLORS: Final = re.compile(r"(\x1b\[(?:[01]|(?:1;)?3[0-7])m)")
"""The sequences that reports use: they change the colour of text, and nothing else."""


def show_lines(lines: Iterable[str], stream: TextIO | None = None, *, color: bool = False) -> None:
    """Print texts, each on a line of its own, with unprintable characters and workflow commands escaped.

    Args:
        lines: The texts.
        stream: Where to print them; None for standard output.
        color: Whether sequences that colour text stay.
    """
    for line in lines:
        texts = _COLORS.split(line) if color else [line]
        texts[::2] = map(printable, texts[::2])
        print(uncommanded("".join(texts)), file=stream)
