"""The common shape of selectors that differ only in plain constants and in the names that they read.

Generated manifests request one model or size after the other: each of their selectors has another constant. If the API
server accepts one, it accepts all: for a constant alone on the right of a comparison, checks look only at its type and
length. So they do for those in a list after ``in``, and for what ``startsWith``, ``endsWith`` and ``contains`` take.
``quantity`` and ``semver`` read theirs only when called. Attributes and capacities of any names have the same types.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial

from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


_QUOTES: Final = "\"'"
_ALONE: Final = r"(?=\s*(?:&&|\|\||\)|\Z))"
"""The text that follows a constant that is the whole right side of a comparison."""
_NUMBER: Final = "(?:0|[1-9][0-9]{0,3})"
_CALLS: Final = {
    "quantity": "[1-9][0-9]{0,5}(?:[KMGTPE]i|[kMGTPE])?",
    "semver": rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}",
}
"""Constants that these functions accept, so that they are not errors."""
_TEXT: Final = "\"[ !#-&(-~]*\"|'[ !#-&(-~]*'"
_INTEGER: Final = "[0-9]{1,9}"
_ELEMENT: Final = rf"(?:{_TEXT}|{_INTEGER})"
_LIST: Final = rf"\[\s*{_ELEMENT}(?:\s*,\s*{_ELEMENT})*\s*\]"
_WORD: Final = r"(?!(?:true|false|null|in)\b)([A-Za-z_]\w*+)(?!\s*[({])"
_READ: Final = rf"device(?<![\w.]device)\.(?:attributes|capacity)\[(?:{_TEXT})\]\.\??{_WORD}"
_NAME: Final = 1
"""The group of the name in a read."""
_CONSTANTS: Final = (
    *(rf"{sign}\s*({_TEXT}){_ALONE}" for sign in ("==", "!=")),
    *(rf"{sign}\s*({_INTEGER}){_ALONE}" for sign in ("==", "!=", "<=", ">=", "<", ">")),
    *(rf"{name}\(\s*{quote}({text}){quote}\s*\)" for name, text in _CALLS.items() for quote in _QUOTES),
    rf"\.(?:startsWith|endsWith|contains)\(\s*({_TEXT})\s*\)",
    rf"in(?<![\w.]in)\s*({_LIST}){_ALONE}",
)
_STRINGS: Final = tuple(f"{quote}[^{quote}]*{quote}" for quote in _QUOTES)
_KEPT: Final = rf"\.driver\b(?:[^&|\"']|{'|'.join(_STRINGS)})*"
"""Drivers are known by name, and findings about a selector depend on them."""
_blanks: Final = re.compile("|".join((_KEPT, _READ, *_CONSTANTS, *_STRINGS)))
"""Finds names and constants, and skips strings.

Each alternative begins with a character, not a set, so that `re` skips all others.
"""
_elements: Final = re.compile(f"({_TEXT})|{_INTEGER}")
_ODD: Final = ("\\", "`", "\0", "//", '"""', "'''")
"""Text that makes it unclear where strings end."""


_LONGEST: Final = 256
_REMEMBERED: Final = 1 << 14


class Shape(NamedTuple):
    """The shape of a selector.

    Args:
        text: The selector without its plain constants, and without the names that it reads.
        names: These names, in order.
    """

    text: str
    names: tuple[str, ...]


def shape_of(expression: str) -> Shape | None:
    """Return the shape of a selector; None if it has neither plain constants nor names.

    Args:
        expression: The selector.
    """
    return _shape(expression) if len(expression) <= _LONGEST else None


@lru_cache(_REMEMBERED)
def _shape(expression: str) -> Shape | None:
    if not expression.isascii():
        return None
    for odd in _ODD:
        if odd in expression:
            return None
    names: list[str] = []
    text = _blanks.sub(partial(_blank, names), expression)
    return Shape(text, tuple(names)) if text != expression else None


def _blank(names: list[str], found: re.Match[str]) -> str:
    """Replace a constant by its type and length; in a list, each. Names are replaced by their lengths, and noted."""
    kind = found.lastindex
    if kind is None:
        return found[0]
    whole, blanked = found.group(0, kind)
    if kind == _NAME:
        names.append(blanked)
    shape = _elements.sub(_length, blanked) if blanked[0] == "[" else len(blanked)
    before, _, after = whole.rpartition(blanked)  # at most a quote and a parenthesis follow it
    return f"{before}\0{kind} {shape}\0{after}"


def _length(element: re.Match[str]) -> str:
    return f"{element.lastindex} {len(element[0])}"
