"""Reads simple manifests in a fraction of libyaml's time: block mappings and lists, and scalars in brackets or braces.

Only unambiguous text is read here; libyaml reads the rest, and all positions. Tests compare both on changed manifests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from sys import intern
from typing import Any, Final

from webhook.documents.document import First
from webhook.documents.scalars import KEY_STARTS, WORDS, plain
from webhook.documents.source import ContentError
from webhook.patterns import Pattern

_LONGEST: Final = 1 << 20
"""The most characters of a text to read here: its lines take many times the memory."""
_DEEPEST: Final = 64

_QUOTES: Final = frozenset("\"'")
_OPENING: Final = frozenset("{[")
_SPECIAL: Final = KEY_STARTS | _QUOTES | _OPENING
"""First characters of values that may not be plain strings."""

# Groups are atomic, not possessive: of those, Python 3.11.2 goes on behind what it has read of one that fails half-way.
_KEY: Final = "[A-Za-z][A-Za-z0-9_./-]{0,200}+"
_PLAIN: Final = r"(?:[A-Za-z0-9/._]|-(?=[!-~]))(?>(?:[!-\"$-9;-~]++|:(?=[!-~])|(?<! )#| ++(?=[!-\"$-~]))*)"
_QUOTED: Final = r"\"[ !#-\[\]-~]*+\"|'[ -&(-~]*+'"
_WORD: Final = r"[A-Za-z0-9/._][A-Za-z0-9/._-]*+"
_ITEM: Final = rf"(?:{_QUOTED}|{_WORD})"
_LIST: Final = rf"\[ *+(?>(?:{_ITEM}(?: *+, *+|(?= *+\])))*) *+\]"
_MAP: Final = rf"\{{ *+(?>(?:{_KEY}: ++{_ITEM}(?: *+, *+|(?= *+\}})))*) *+\}}"
_LINE: Final = rf"( *+)(?>(- )?)(?>(?:({_KEY}):(?: ++|\Z))?)(?>(%s)?) *+(?>(?:(?<![^ ])#[ -~]*+)?)"
_match_line: Final = re.compile(_LINE % f"{_PLAIN}|{_QUOTED}").fullmatch
"""Splits a line into indentation, dash, key and value."""
_FLOW_LINE: Final = Pattern(_LINE % f"{_LIST}|{_MAP}")
"""Splits a line with a list in brackets or a map in braces; many manifests have none."""
_ENTRIES: Final = Pattern(rf"(?>(?:({_KEY}): ++)?)({_ITEM})")
"""Finds the items of such a list, or the keys and values of such a map."""
_REMEMBERED: Final = 4096
"""How many lines are cached: the manifests of a repository share most lines."""
_REMEMBERED_LENGTH: Final = 200

_SCALAR, _FRESH, _PENDING = range(3)
"""The values of lines: a scalar, a function for a list or map, as each object needs its own, and none."""
_Form = tuple[int, int, str, bool, int] | None
"""A line without its value: its column, the column after its dash, its key, whether it is an item of a list, and which
value it has; None if it is empty.
"""
_Line = tuple[_Form, "Any"]
"""A line and its value."""
_BLANK: Final[_Line] = None, None


def install() -> None:
    """Read simple documents first."""
    First.read, First.offset_of = read_blocks, offset_of


class _NotSimpleError(Exception):
    """A line is ambiguous."""


def read_blocks(text: str) -> dict[str, Any] | None:
    """Read a text that is a single block mapping; None if libyaml has to read it.

    Args:
        text: A YAML document.
    """
    if len(text) > _LONGEST:
        return None
    try:
        lines = [_known(line) if len(line) < _REMEMBERED_LENGTH else _read(line) for line in text.split("\n")]
    except (ContentError, _NotSimpleError):
        return None
    return _mapping(lines)


def offset_of(text: str, path: Sequence[str | int]) -> int | None:
    """Return where a field's key or a list's item begins; None for what stands in brackets, and for what is not there.

    Args:
        text: A YAML document that :func:`read_blocks` has read.
        path: The field.
    """
    wanted, at = list(path), 0
    levels: list[tuple[int, str | int]] = []
    """The mappings and lists that are open: where their keys or dashes are, and the current key or item."""
    for line in text.split("\n"):
        form, _ = _known(line) if len(line) < _REMEMBERED_LENGTH else _read(line)
        if form:
            start, inside, key, is_item, _ = form
            while levels and (
                levels[-1][0] > start or (levels[-1][0] == start and not is_item and _is_list(levels[-1]))
            ):
                levels.pop()
            if is_item:
                item = levels.pop()[1] if levels and levels[-1][0] == start and _is_list(levels[-1]) else -1
                levels.append((start, int(item) + 1))
                if [step for _, step in levels] == wanted:
                    return at + inside
            if key:
                if levels and levels[-1][0] == inside and not _is_list(levels[-1]):
                    levels.pop()
                levels.append((inside, key))
                if [step for _, step in levels] == wanted:
                    return at + inside
        at += len(line) + 1
    return None


def _is_list(level: tuple[int, str | int]) -> bool:
    return isinstance(level[1], int)


def _read(line: str) -> _Line:
    """Read a line; `_BLANK` if it is empty.

    Raises:
        ContentError: Its value is not plain.
        _NotSimpleError: It looks different.
    """
    found = _match_line(line) or _FLOW_LINE.fullmatch(line)
    if found is None:
        raise _NotSimpleError
    indentation, dash, key, text = found.groups("")
    if not (dash or key or text):
        return _BLANK
    if key in WORDS if key else not (dash and text):
        raise _NotSimpleError
    start = len(indentation)
    read = None if not text else text if text[0] not in _SPECIAL else _value(text)
    which = _PENDING if not text else _FRESH if type(read) is partial else _SCALAR
    return (start, start + len(dash), intern(key), bool(dash), which), read


_known: Final = lru_cache(_REMEMBERED)(_read)


def _mapping(lines: Iterable[_Line]) -> dict[str, Any] | None:  # noqa: C901 - as it says
    """Build a mapping from lines; a hot loop, which therefore calls no functions."""
    root: dict[str, Any] = {}
    within: Any = root
    around: list[tuple[int, Any]] = []
    column, pending = 0, None
    for form, read in lines:
        if form is None:
            continue
        start, inside, key, is_item, which = form
        value = read() if which == _FRESH else read
        if pending is not None:  # the key on the previous line has no value yet
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
        if not key:
            within.append(value)
            continue
        if is_item:
            inner = {}
            within.append(inner)
            around.append((column, within))
            column, within = inside, inner
        if key in within:
            return None
        if which == _PENDING:
            within[key], pending = None, key
        else:
            within[key] = value
    return root or None


def _value(text: str) -> Any:
    if text[0] not in _OPENING:
        return _scalar(text)
    entries = _ENTRIES.findall(text)
    if text[0] == "[":
        return partial(list, [_scalar(item) for _, item in entries])
    pairs = {key: _scalar(item) for key, item in entries}
    if len(pairs) < len(entries) or not WORDS.keys().isdisjoint(pairs):
        raise _NotSimpleError
    return partial(dict, pairs)


def _scalar(text: str) -> Any:
    return text[1:-1] if text[0] in _QUOTES else plain(text)
