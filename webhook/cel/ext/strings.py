"""Functions on strings (cel-go ext/strings.go)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from webhook.budget import READ, work
from webhook.cel.checker.declarations import Function, Library, member
from webhook.cel.costs import MOST, Bounds, by_argument, of_argument
from webhook.cel.errors import EvaluationError
from webhook.cel.ext.formatting import PLAIN, WITH_LOCALE, format_validator
from webhook.cel.overloads import Overload
from webhook.cel.runtime.operators import must_fit
from webhook.cel.types.base import DYN, INT, STRING, Type, list_of
from webhook.cel.types.values import Value
from webhook.escapes import GO_ESCAPES, GO_SPACE
from webhook.patterns import Pattern

if TYPE_CHECKING:
    from webhook.cel.overloads import Implementation

_UPPER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_LOWER: Final = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_STRINGS: Final = list_of(STRING)
_SURROGATES: Final = Pattern("[\ud800-\udfff]")
_PLAIN_FORMAT_SINCE: Final = 4
_REVERSE_SINCE: Final = 3
_JOINED: Final = 32
"""The number of texts joined for a unit of work."""


def _out_of_range(position: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {position}")


def _char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise _out_of_range(position)
    return text[position : position + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if offset is None:
        return text.rfind(part)
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return -1 if offset >= len(text) else text.rfind(part, 0, offset + len(part))


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    work(len(text) // READ)
    replaced = text.count(old) if count < 0 else min(count, text.count(old))
    must_fit(len(text) + replaced * (len(new) - len(old)))
    return text.replace(old, new, count if count >= 0 else -1)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    work(len(text) // READ)
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is None:
        if not 0 <= start <= len(text):
            raise _out_of_range(start)
        return text[start:]
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for position in (start, end):
        if not 0 <= position <= len(text):
            raise _out_of_range(position)
    return text[start:end]


def _join(parts: list[Value], separator: str = "") -> str:
    work(1 + len(parts) // _JOINED)
    for part in parts:
        if type(part) is not str:
            raise EvaluationError(f"join: invalid input: {part}")
    must_fit(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


def _quote(text: str) -> str:
    return f'"{_SURROGATES.sub("�", text).translate(GO_ESCAPES)}"'


def _quoted(size: Bounds) -> Bounds:
    """At most two characters for each, and two quotes; without a bound cel-go's sum overflows."""
    return Bounds(size.low + 2, (size.high * 2 + 2) & MOST)


def _longer(name: str, id_: str, longer: str, result: Type, implementation: Implementation, *types: Type) -> Function:
    """A function whose last argument may be left out."""
    short = Overload(id_, types[:-1], result, implementation, member=True)
    return Function(name, short, Overload(f"{id_}{longer}", types, result, implementation, member=True))


_FUNCTIONS: Final = (
    member("charAt", "string_char_at_int", (STRING, INT), STRING, _char_at),
    _longer("indexOf", "string_index_of_string", "_int", INT, _index_of, STRING, STRING, INT),
    _longer("lastIndexOf", "string_last_index_of_string", "_int", INT, _last_index_of, STRING, STRING, INT),
    member("lowerAscii", "string_lower_ascii", (STRING,), STRING, lambda text: text.translate(_UPPER)),
    _longer("replace", "string_replace_string_string", "_int", STRING, _replace, STRING, STRING, STRING, INT),
    _longer("split", "string_split_string", "_int", _STRINGS, _split, STRING, STRING, INT),
    _longer("substring", "string_substring_int", "_int", STRING, _substring, STRING, INT, INT),
    member("trim", "string_trim", (STRING,), STRING, lambda text: text.strip(GO_SPACE)),
    member("upperAscii", "string_upper_ascii", (STRING,), STRING, lambda text: text.translate(_LOWER)),
    _longer("join", "list_join", "_string", STRING, _join, _STRINGS, STRING),
)


@lru_cache(maxsize=8)
def strings(version: int) -> Library:
    """One version of the library, with the costs of all: 1 brought `format` and `strings.quote`, 3 `reverse`.

    Version 4 formats without a locale.
    """
    if version == 0:
        return Library("strings", functions=_FUNCTIONS)
    formatter = PLAIN if version >= _PLAIN_FORMAT_SINCE else WITH_LOCALE
    functions = [
        *_FUNCTIONS,
        member(
            "format",
            "string_format",
            (STRING, list_of(DYN)),
            STRING,
            formatter.format,
            cost=of_argument(0),
            estimate=by_argument(0),
            stops_early=True,
        ),
        Function(
            "strings.quote",
            Overload(
                "strings_quote", (STRING,), STRING, _quote, cost=of_argument(0), estimate=by_argument(0, result=_quoted)
            ),
        ),
    ]
    if version >= _REVERSE_SINCE:
        functions.append(member("reverse", "string_reverse", (STRING,), STRING, lambda text: text[::-1]))
    return Library("strings", functions=tuple(functions), validators=(format_validator(formatter),))
