"""A short cut through YAML's plainest part, in which almost every manifest is written.

That is: keys, values and dashes in block style, one to a line, with simple scalars, ``[]`` and ``{}`` on one line, and
texts after ``|`` or ``>``. At anything else :func:`read_blocks` gives up, and
:func:`~webhook.documents.compose.compose` reads the document instead; so it refuses nothing, and what it reads is what
``compose`` would read. It is about four times as quick, because manifests repeat their lines, and because what a line
of this kind says does not depend on where it stands, it is worked out once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.documents.compose import compose, copied
from webhook.documents.fault import Fault
from webhook.documents.scalars import ScalarError, plain, plain_key

if TYPE_CHECKING:
    from collections.abc import Iterator

GIVEN_UP: Final = object()

_ODD: Final = "[\x80-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
"""Characters beyond ASCII that are line breaks, byte order marks or forbidden."""

# In these patterns [^\x00-\x1f\x7f] is any character of a line, [^\x00-\x20\x7f] any but a space.
_LINE: Final = re.compile(r"( *)((?:- ){0,9})(?:([A-Za-z_][A-Za-z0-9_./-]*):(?= |$))?([^\x00-\x1f\x7f]*)")
_BARE: Final = r"(?:[^\x00-\x20\x7f:]|:(?=[^\x00-\x20\x7f])| +(?=[^\x00-\x20\x7f#]))*"
"""Goes on with a plain scalar, which ends before a comment and is none if it holds a colon and a space."""
_VALUE: Final = re.compile(
    rf" *(?:((?:[A-Za-z0-9_/.+~=<(]|[^\x00-\x7f]|-(?=[0-9])){_BARE})"
    r"|(\"[^\"\\]*(?:\\.[^\"\\]*)*\")|'([^']*(?:''[^']*)*)'|([\[{].*[\]}])|([|>]-?))?(?: *|( +#.*))"
)
_MORE_OF_IT: Final = re.compile(rf"[^\x00-\x20\x7f:#]{_BARE}")
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")

_MAX_LEVELS: Final = 50
_MAX_BRACKETS: Final = 50
_MAX_REMEMBERED: Final = 20_000
"""Lines of which it is known what they say."""
_MAX_LENGTH: Final = 200
"""Characters of a key, and of a line that is remembered."""
_MAX_LENGTH_OF_MANY: Final = 20_000
"""Characters of a string that is put together from many lines, one after the other."""

_BLANK, _NOTHING, _SCALAR, _PLAIN, _MORE, _FLOW, _BLOCK = range(7)
"""Sorts of value: ``_PLAIN`` is a string that the next line, ``_MORE``, may go on with."""


class _Line(NamedTuple):
    """What a line says: where it starts, after how many dashes, with which key, and what sort of value."""

    column: int
    dashes: int
    key: str | None
    sort: int
    value: Any


_BLANK_LINE: Final = _Line(0, 0, None, _BLANK, None)


class _GiveUpError(Exception):
    """The text is not of the plainest kind."""


def read_blocks(text: str) -> Any:
    """Return the JSON value of a YAML document, ``None`` if it has none, or :data:`GIVEN_UP`."""
    if not text.isascii() and re.search(_ODD, text):
        return GIVEN_UP
    try:
        return _build(_lines(text))
    except _GiveUpError:
        return GIVEN_UP


def _build(lines: Iterator[_Line]) -> Any:
    whole: dict[str, Any] = {"": None}
    columns, around = [-1], list[Any]([whole])  # of the maps and lists that are not closed yet
    open_key: str | None = ""  # the key of the innermost map that may get its value from the next line
    into: Any = None  # what the last line put something into, and where
    last: Any = None
    for column, dashes, key, sort, value in lines:
        if sort == _MORE:
            into[last] = _longer(into[last], value, is_inside=column > columns[-1])
            continue
        if len(columns) > _MAX_LEVELS:
            raise _GiveUpError
        if column > columns[-1] or (open_key is not None and dashes and column == columns[-1]):
            if open_key is None:
                raise _GiveUpError
            into = [] if dashes else {}
            around[-1][open_key] = into
            columns.append(column)
            around.append(into)
        else:
            into = _closed(columns, around, column, is_list=dashes > 0)
        open_key = None
        for left in range(dashes, 0, -1):
            if left == 1 and key is None:
                into.append(copied(value) if sort == _FLOW else value)
                last = -1
                break
            inner: Any = {} if left == 1 else []
            into.append(inner)
            into = inner
            columns.append(columns[-1] + 2)
            around.append(into)
        else:
            if key in into:
                raise _GiveUpError
            into[key] = copied(value) if sort == _FLOW else value
            last = key
            if sort == _NOTHING:
                open_key = key
    return whole[""]


def _longer(text: str, more: str, *, is_inside: bool) -> str:
    if not is_inside or len(text) > _MAX_LENGTH_OF_MANY:
        raise _GiveUpError
    return f"{text} {more}"


def _closed(columns: list[int], around: list[Any], column: int, *, is_list: bool) -> Any:
    """Close what the line at a column is not in, and return the map or list that it is in."""
    while columns[-1] > column:
        columns.pop()
        around.pop()
    if not is_list and type(around[-1]) is list:  # a list may stand in the column of the key that it belongs to
        columns.pop()
        around.pop()
    if columns[-1] != column or (type(around[-1]) is list) is not is_list:
        raise _GiveUpError
    return around[-1]


_remembered: dict[str, _Line] = {}


def _lines(text: str) -> Iterator[_Line]:
    rest = iter(text.split("\n"))
    line = _BLANK_LINE
    for text_line in rest:
        before = line.sort
        line = _remembered.get(text_line) or _read_line(text_line)
        if line.sort == _MORE and before not in (_PLAIN, _MORE):
            raise _GiveUpError
        while line.sort == _BLOCK:
            value, following = _read_block(line, rest)
            yield line._replace(sort=_SCALAR, value=value)
            line = _BLANK_LINE if following is None else _read_line(following)
            if line.sort == _MORE:
                raise _GiveUpError
        if line.sort != _BLANK:
            yield line


def _read_line(text: str) -> _Line:
    match = _LINE.fullmatch(text)
    if match is None:
        raise _GiveUpError
    spaces, dashes, key, rest = match.groups()
    if key is not None:
        line = _Line(len(spaces), len(dashes) // 2, _key(key), *_value(rest))
    elif dashes:
        line = _Line(len(spaces), len(dashes) // 2, None, *_value(rest))
        if line.sort in (_NOTHING, _BLOCK):
            raise _GiveUpError
    elif not rest or rest[0] == "#":
        line = _BLANK_LINE
    elif _MORE_OF_IT.fullmatch(rest):
        line = _Line(len(spaces), 0, None, _MORE, rest)
    else:
        raise _GiveUpError
    if len(text) <= _MAX_LENGTH:
        if len(_remembered) >= _MAX_REMEMBERED:
            _remembered.clear()
        _remembered[text] = line
    return line


def _key(text: str) -> str | None:
    if len(text) > _MAX_LENGTH:
        raise _GiveUpError
    try:
        return plain_key(text)
    except ScalarError:
        raise _GiveUpError from None


def _value(text: str) -> tuple[int, Any]:
    match = _VALUE.fullmatch(text)
    if match is None:
        raise _GiveUpError
    bare, double, single, flow, block, comment = match.groups()
    if bare is not None:
        return _bare(bare, is_last=comment is not None)
    if double is not None:
        return _SCALAR, _apart(double) if "\\" in double else double[1:-1]
    if single is not None:
        return _SCALAR, single.replace("''", "'")
    if flow is not None:
        return _FLOW, _apart(flow)
    return (_NOTHING, None) if block is None else (_BLOCK, block)


def _bare(text: str, *, is_last: bool) -> tuple[int, Any]:
    try:
        value = plain(text)
    except ScalarError:
        raise _GiveUpError from None
    return (_PLAIN if isinstance(value, str) and not is_last else _SCALAR), value


def _apart(text: str) -> Any:
    """Read a value that is the same when it stands alone."""
    if "&" in text or text.count("[") + text.count("{") > _MAX_BRACKETS:
        raise _GiveUpError
    try:
        composed = compose(text)
    except Fault:
        raise _GiveUpError from None
    if composed.repeated or composed.ignored is not None:
        raise _GiveUpError
    return composed.value


def _read_block(header: _Line, rest: Iterator[str]) -> tuple[str, str | None]:
    """Read the text after ``|`` or ``>``; also return the line after it."""
    outside = header.column + 2 * header.dashes
    margin = 0
    lines: list[str] = []
    following = None
    for line in rest:
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        if bare and indent <= outside:
            following = line
            break
        if bare and not margin:
            margin = indent
        if indent < margin if bare else indent > margin:
            raise _GiveUpError
        lines.append(line[margin:])
    text = "\n".join(lines)
    content = text.rstrip("\n")
    if not content or (following is None and text == content) or _CONTROL.search(content):
        raise _GiveUpError
    if header.value[0] == ">":
        if "\n\n" in content or "\n " in content or content[0] == "\n":
            raise _GiveUpError
        content = content.replace("\n", " ")
    return content if header.value.endswith("-") else content + "\n", following
