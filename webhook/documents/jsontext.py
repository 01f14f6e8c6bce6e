"""Parses JSON as Go's ``encoding/json`` and sigs.k8s.io/json do."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from webhook.documents.scalars import integer
from webhook.documents.source import MAX_DEPTH, MAX_VALUES, ContentError, too_deep, too_many_values
from webhook.records import NamedTuple

_NUMBER: Final = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
TOKEN: Final = re.compile(rf'[{{}}\[\]:,]|"[^"\\]*+(?:(?=\\.)\\.[^"\\]*+)*+"?|{_NUMBER}|[^\s{{}}\[\]:,"]+', re.DOTALL)
"""A token of valid JSON; a string without end is one, so that it is looked at once."""

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
_LEVELS: Final = {"{": 1, "[": 1, "}": -1, "]": -1}
_STRING: Final = re.compile(r'"[^"\\]*+(?:(?=\\.)\\.[^"\\]*+)*+"?', re.DOTALL)
_INFINITE: Final = (math.inf, -math.inf)
_is_number: Final = re.compile(_NUMBER).fullmatch
_MAX_SHOWN: Final = 40


class Decoded(NamedTuple):
    """One JSON value of a text.

    Args:
        value: The value; ``None`` if there is an error.
        end: The offset of the text after it.
        repeated: Whether an object has a key twice; the last one is in the value.
        error: Why the value cannot be used although it is JSON.
    """

    value: Any
    end: int
    repeated: bool = False
    error: ContentError | None = None


class _ConstantError(Exception):
    """``NaN`` or ``Infinity``, which only Python accepts as JSON."""


class _Hooks:
    """Makes the objects and numbers of a value; a class of its own, so that no circle keeps a decoder's text."""

    def __init__(self) -> None:
        self.repeated = self.too_large = False
        """Whether an object has a key twice, and whether a number is too large."""

    def mapping(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            self.repeated = True
        return value

    def fraction(self, text: str) -> float:
        value = float(text)
        if math.isinf(value):
            self.too_large = True
        return value

    def integer(self, text: str) -> int | float:
        value = integer(text)
        if value in _INFINITE:
            self.too_large = True
        return value


class Decoder:
    """Reads the values of one text, one after the other.

    Args:
        text: Any number of JSON values.
    """

    def __init__(self, text: str) -> None:
        self._text = paired(text)
        self._hooks = _Hooks()
        self._has_too_many = _count(self._text) > MAX_VALUES and _count(_STRING.sub("", self._text)) > MAX_VALUES
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._hooks.mapping,
            parse_float=self._hooks.fraction,
            parse_int=self._hooks.integer,
            parse_constant=_refuse_constant,
        )

    def decode(self, start: int) -> Decoded:
        """Read the value that starts at an offset.

        Raises:
            ContentError: It is not JSON.
        """
        self._hooks.repeated = self._hooks.too_large = False
        if self._has_too_many:  # for the available memory
            return Decoded(None, len(self._text), error=too_many_values(start))
        try:
            value, end = self._decoder.raw_decode(self._text, start)
        except json.JSONDecodeError as error:
            raise ContentError(f"json: {error.msg[:1].lower()}{error.msg[1:]}", error.pos) from None
        except _ConstantError as error:
            raise ContentError(f"json: {error} is not a value", start) from None
        except RecursionError:
            return self._unusable(start)
        if self._hooks.too_large or is_deep(value, MAX_DEPTH):
            return self._unusable(start)
        return Decoded(value, end, self._hooks.repeated)

    def _unusable(self, start: int) -> Decoded:
        """Find the value's end and its error."""
        depth, error = 0, None
        for match in TOKEN.finditer(self._text, start):
            depth += _LEVELS.get(match[0], 0)
            if error is None and depth > MAX_DEPTH:
                error = too_deep(match.start())
            elif error is None and _is_too_large(match[0]):
                message = f"json: cannot unmarshal number {match[0][:_MAX_SHOWN]} into Go value of type float64"
                error = ContentError(message, match.start(), "no float64 is that large")
            if depth == 0:
                return Decoded(None, match.end(), error=error or too_deep(start))
        return Decoded(None, len(self._text), error=error or too_deep(start))


def _count(text: str) -> int:
    """Count keys and values, by the characters before them."""
    return sum(map(text.count, "{[,:")) - text.count("{}") - text.count("[]")


def paired(text: str) -> str:
    r"""Replace lone surrogates (``\ud800``) by U+FFFD, as Go does; the length stays the same."""
    if _SURROGATE.search(text) is None:
        return text
    return _ESCAPE.sub(lambda match: "\\ufffd" if match[1] else match[0], text)


def _is_too_large(token: str) -> bool:
    return _is_number(token) is not None and math.isinf(float(token))


def is_deep(value: Any, most: int) -> bool:
    """Tell whether maps and lists nest deeper than a limit; iteratively, to spare Python's stack.

    Args:
        most: The limit.
    """
    level: list[Any] = [[value]]
    for _ in range(most + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def pruned(text: str) -> str:
    """Replace values that are nested deeper than :data:`MAX_DEPTH` in valid JSON by null."""
    parts: list[str] = []
    depth = 0
    for token in TOKEN.findall(text):
        change = _LEVELS.get(token, 0)
        depth += change
        if depth <= MAX_DEPTH and (change >= 0 or depth < MAX_DEPTH):
            parts.append(token)
        elif depth == MAX_DEPTH:
            parts.append("null")
    return "".join(parts)


def _refuse_constant(text: str) -> None:
    raise _ConstantError(text)
