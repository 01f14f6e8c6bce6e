"""The common shape of selectors that differ only in plain constants.

Generated manifests request one model or size after the other: each of their selectors has another constant. If the API
server accepts one, it accepts all: for a constant alone on the right of a comparison, checks look only at its type and
length, and ``quantity`` and ``semver`` read theirs only when called.
"""

from __future__ import annotations

import re
from functools import lru_cache
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
_CONSTANTS: Final = (
    *(rf"{sign}\s*{quote}([ !#-&(-~]*){quote}{_ALONE}" for sign in ("==", "!=") for quote in _QUOTES),
    *(rf"{sign}\s*([0-9]{{1,9}}){_ALONE}" for sign in ("==", "!=", "<=", ">=", "<", ">")),
    *(rf"{name}\(\s*{quote}({text}){quote}\s*\)" for name, text in _CALLS.items() for quote in _QUOTES),
)
_KEPT: Final = (rf"\.driver\s*[=!]=\s*{quote}[^{quote}]*{quote}" for quote in _QUOTES)
"""Drivers are known by name, and findings about a selector depend on them."""
_STRINGS: Final = (f"{quote}[^{quote}]*{quote}" for quote in _QUOTES)
_blanks: Final = re.compile("|".join((*_KEPT, *_CONSTANTS, *_STRINGS)))
"""Finds constants, and skips strings.

Each alternative begins with a character, not a set, so that `re` skips all others.
"""
_is_odd: Final = re.compile("""[\\\\`\0]|//|\"{3}|'{3}""").search
"""Finds text that makes it unclear where strings end."""


_LONGEST: Final = 256
_REMEMBERED: Final = 1 << 14


def shape_of(expression: str) -> str | None:
    """Return the shape of all selectors that differ from one in plain constants only; None if it has no shape.

    Args:
        expression: The selector.
    """
    return _shape(expression) if len(expression) <= _LONGEST else None


@lru_cache(_REMEMBERED)
def _shape(expression: str) -> str | None:
    if not expression.isascii() or _is_odd(expression):
        return None
    shape = _blanks.sub(_blank, expression)
    return shape if shape != expression else None


def _blank(found: re.Match[str]) -> str:
    """Replace a constant by its type and length."""
    kind = found.lastindex
    if kind is None:
        return found[0]
    before, (start, end) = found.start(), found.span(kind)
    return f"{found[0][: start - before]}\0{kind} {end - start}\0{found[0][end - before :]}"
