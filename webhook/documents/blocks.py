"""Reads simple manifests, block mappings and lists of short scalars, in a fraction of libyaml's time.

Only what can be read in one way is read here; libyaml reads all else, and knows where everything is. Tests hold both
equal on changed manifests.
"""

from __future__ import annotations

import re
from typing import Any, Final

from webhook.documents.scalars import KEY_STARTS, WORDS, ScalarError, plain

_LONGEST: Final = 1 << 20
"""The most characters of a text: its lines take many times the memory."""
_DEEPEST: Final = 64

_QUOTES: Final = frozenset("\"'")
_EMPTY: Final[dict[str, type[dict[str, Any] | list[Any]]]] = {"{}": dict, "[]": list}
_SPECIAL: Final = KEY_STARTS | _QUOTES | {"{", "["}
"""First characters of values that may mean something else than the string they spell."""

_KEY: Final = "[A-Za-z][A-Za-z0-9_./-]{0,200}+"
_PLAIN: Final = r"(?:[A-Za-z0-9/._]|-(?=[!-~]))(?:[!-\"$-9;-~]++|:(?=[!-~])|(?<! )#| ++(?=[!-\"$-~]))*+"
_QUOTED: Final = r"\"[ !#-\[\]-~]*+\"|'[ -&(-~]*+'"
_VALUE: Final = rf"({_PLAIN}|{_QUOTED}|\[\]|\{{\}})"
_ENTRY: Final = rf"( *+)(?:(- )?+({_KEY}):(?: ++{_VALUE})?+|- {_VALUE})(?: ++#[ -~]*+)?+"
_lines: Final = re.compile(rf"(?m)^(?:{_ENTRY}| *+(?:#[ -~]*+)?+) *+(?:\n|\Z)").findall
"""Finds the lines of a text as indentation, dash, key and value, or as indentation and item; or blank."""


def read_blocks(text: str) -> dict[str, Any] | None:
    """Read a text that is one block mapping; None if libyaml has to read it.

    Args:
        text: A YAML document.
    """
    if len(text) > _LONGEST:
        return None
    lines = _lines(text)
    if len(lines) <= text.count("\n"):  # one of them looks different
        return None
    try:
        return _mapping(lines)
    except ScalarError:
        return None


def _mapping(lines: list[tuple[str, str, str, str, str]]) -> dict[str, Any] | None:  # noqa: C901 - as it says
    """Put lines together; most of the time is spent here, so that nothing is called."""
    root: dict[str, Any] = {}
    within: Any = root
    column, around, pending = 0, list[tuple[int, Any]](), None
    for indentation, dash, key, value, item in lines:
        if not key and not item:
            continue
        start, is_item = len(indentation), bool(dash or item)
        if pending is not None:  # the key of the line before has no value so far
            if start > column or (is_item and start == column):
                inner: Any = [] if is_item else {}
                within[pending] = inner
                around.append((column, within))
                column, within = start, inner
            pending = None
        while start < column or (start == column and not is_item and type(within) is list):
            if not around:
                return None
            column, within = around.pop()
        if start != column or is_item is not (type(within) is list) or len(around) > _DEEPEST:
            return None
        if item:
            within.append(item if item[0] not in _SPECIAL else _scalar(item))
            continue
        if dash:
            inner = {}
            within.append(inner)
            around.append((column, within))
            column, within = column + len(dash), inner
        if key in within or key in WORDS:
            return None
        if value:
            within[key] = value if value[0] not in _SPECIAL else _scalar(value)
        else:
            within[key], pending = None, key
    return root or None


def _scalar(text: str) -> Any:
    if text[0] in _QUOTES:
        return text[1:-1]
    if text in _EMPTY:
        return _EMPTY[text]()
    return plain(text)
