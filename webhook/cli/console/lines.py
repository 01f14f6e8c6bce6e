"""Prints lines that may hold texts of manifests, so that none of them commands the terminal or GitHub's runner."""

from __future__ import annotations

import os
import re

from webhook.report.excerpt import printable, uncommanded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final, TextIO

_MARK: Final = os.urandom(8).hex()
"""What tells the sequences of :func:`colored` from those in texts of manifests, which cannot know it."""
_COLORS: Final = re.compile(rf"\x1b{_MARK}(\[[0-9;]+m)")


def colored(text: str, color: str) -> str:
    """Return a text that :func:`show_lines` prints in a colour.

    Args:
        text: The text.
        color: The numbers of the sequence, such as ``1;31``.
    """
    return f"\x1b{_MARK}[{color}m{text}\x1b{_MARK}[0m"


def show_lines(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Print texts, each on a line of its own, with unprintable characters and workflow commands escaped.

    Args:
        lines: The texts; colours are those of :func:`colored`.
        stream: Where to print them; None for standard output.
    """
    for line in lines:
        texts = _COLORS.split(line)
        texts[::2] = map(printable, texts[::2])
        texts[1::2] = (f"\x1b{each}" for each in texts[1::2])
        print(uncommanded("".join(texts)), file=stream)
