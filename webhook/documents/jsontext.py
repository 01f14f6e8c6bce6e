"""Parses JSON as Go's ``encoding/json`` and sigs.k8s.io/json do."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from webhook.documents.nodes import Entry, Node
from webhook.documents.scalars import integer
from webhook.documents.source import MAX_DEPTH, MAX_VALUES, Content, ContentError, too_deep, too_many_values

_NUMBER: Final = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
TOKEN: Final = re.compile(rf'[{{}}\[\]:,]|"[^"\\]*+(?:(?=\\.)\\.[^"\\]*+)*+"?|{_NUMBER}|[^\s{{}}\[\]:,"]+', re.DOTALL)
"""A token of valid JSON; a string without end is one, so that it is looked at once."""

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
_LEVELS: Final = {"{": 1, "[": 1, "}": -1, "]": -1}
_STRING: Final = re.compile(r'"[^"\\]*+(?:(?=\\.)\\.[^"\\]*+)*+"?', re.DOTALL)
_CONTENT: Final = re.compile(r"\S")
_INFINITE: Final = (math.inf, -math.inf)
_is_number: Final = re.compile(_NUMBER).fullmatch
_MAX_SHOWN: Final = 40


class _ConstantError(Exception):
    """``NaN`` or ``Infinity``, which only Python accepts as JSON."""


def decoded(text: str) -> Iterator[Content]:
    """Read the values of a text, one after the other.

    Raises:
        ContentError: What comes next is not JSON.
    """
    text = paired(text)
    is_repeated = is_too_large = False

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal is_repeated
        value = dict(pairs)
        is_repeated |= len(value) != len(pairs)
        return value

    def number(read: Callable[[str], int | float], digits: str) -> int | float:
        nonlocal is_too_large
        value = read(digits)
        is_too_large |= value in _INFINITE
        return value

    def refuse(constant: str) -> None:
        raise _ConstantError(constant)

    decoder = json.JSONDecoder(
        object_pairs_hook=mapping,
        parse_float=partial(number, float),
        parse_int=partial(number, integer),
        parse_constant=refuse,
    )
    has_too_many = _count(text) > MAX_VALUES and _count(_STRING.sub("", text)) > MAX_VALUES
    at = 0
    while content := _CONTENT.search(text, at):
        start = content.start()
        if has_too_many:  # for the available memory
            found = Content(None, error=too_many_values(start), start=start, end=len(text))
        else:
            is_repeated = is_too_large = False
            try:
                value, end = decoder.raw_decode(text, start)
            except json.JSONDecodeError as error:
                raise ContentError(f"json: {error.msg[:1].lower()}{error.msg[1:]}", error.pos) from None
            except _ConstantError as error:
                raise ContentError(f"json: {error} is not a value", start) from None
            except RecursionError:
                found = _unusable(text, start)
            else:
                is_usable = not (is_too_large or is_deep(value))
                found = Content(value, is_repeated, start=start, end=end) if is_usable else _unusable(text, start)
        yield found
        at = found.end


def _unusable(text: str, start: int) -> Content:
    """Find a value's end and its error."""
    depth, error = 0, None
    for match in TOKEN.finditer(text, start):
        depth += _LEVELS.get(match[0], 0)
        if error is None and depth > MAX_DEPTH:
            error = too_deep(match.start())
        elif error is None and _is_number(match[0]) and math.isinf(float(match[0])):
            message = f"json: cannot unmarshal number {match[0][:_MAX_SHOWN]} into Go value of type float64"
            error = ContentError(message, match.start(), "no float64 is that large")
        if depth == 0:
            return Content(None, error=error or too_deep(start), start=start, end=match.end())
    return Content(None, error=error or too_deep(start), start=start, end=len(text))


def _count(text: str) -> int:
    """Count keys and values, by the characters before them."""
    return sum(map(text.count, "{[,:")) - text.count("{}") - text.count("[]")


def paired(text: str) -> str:
    r"""Replace lone surrogates (``\ud800``) by U+FFFD, as Go does; the length stays the same."""
    if _SURROGATE.search(text) is None:
        return text
    return _ESCAPE.sub(lambda match: "\\ufffd" if match[1] else match[0], text)


def read_nodes(text: str, offset: int = 0) -> Node:
    """Locate everything in a JSON value; the argument is as for YAML (:mod:`webhook.documents.compose`)."""
    tokens = TOKEN.finditer(paired(text))
    return _node(next(tokens), tokens, offset)


def _node(token: re.Match[str], tokens: Iterator[re.Match[str]], offset: int) -> Node:
    """Locate the value that begins with a token.

    Not a closure: it would refer to itself, and keep the text until garbage is collected.
    """
    text = token[0]
    node = Node(token.start() + offset, 0, text if text in {"{", "["} else "", text)
    if text == "{":
        node.entries = []
        while (token := next(tokens))[0] != "}":
            if token[0] != ",":
                key = _node(token, tokens, offset)
                next(tokens)  # the colon
                node.entries.append(Entry(key.value, key, _node(next(tokens), tokens, offset)))
    elif text == "[":
        node.items = []
        while (token := next(tokens))[0] != "]":
            if token[0] != ",":
                node.items.append(_node(token, tokens, offset))
    elif text[0] == '"':
        node.style, node.value = '"', json.loads(text)
    node.end = token.end() + offset
    return node


def is_deep(value: Any) -> bool:
    """Tell whether maps and lists nest deeper than :data:`MAX_DEPTH`; iteratively, to spare Python's stack."""
    level: list[Any] = [[value]]
    for _ in range(MAX_DEPTH + 1):
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
