"""The lexer, with cel-go's errors, and the values of literals (cel-go parser/gen/CEL.g4, parser/unescape.go)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Final, NamedTuple

from webhook.cel.errors import INVALID_LITERAL, UNRECOGNIZED, Issues
from webhook.cel.types.values import INT_MAX, INT_MIN, UINT_MAX, UInt
from webhook.patterns import Pattern

RESERVED: Final = frozenset(
    {
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
        "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
CONSTANTS: Final = {"true": True, "false": False, "null": None}
KEYWORDS: Final = RESERVED | {*CONSTANTS, "in"}
"""The words that cannot be names."""


class Quoting(Enum):
    """The treatment of fields in backquotes."""

    UNKNOWN = "the grammar does not have them"
    REFUSED = "they are parsed and refused"
    ALLOWED = "they are fields"


_ESCAPE: Final = r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
_HALF_ESCAPE: Final = r"(?:\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?)?"
_LINE, _LINES, _BEGUN = (
    rf"""(?P<{name}>{marks})(?:[^"'\\{breaks}]++|{_ESCAPE}|(?!(?P={name}))["'])*"""
    for name, marks, breaks in (("one", "[\"']", r"\n\r"), ("three", "\"{3}|'{3}", ""), ("begun", "[\"']", r"\n\r"))
)
"""A string without the quotes at its end."""
_PATTERNS: Final = {
    "SPACE": r"[\t \r\n\f]+|//[^\n]*",
    "STRING": (
        rf"[bB]?(?:{_LINES}(?P=three)|{_LINE}(?P=one)"
        r"""|[rR](?:(?P<raw>\"{3}|'{3})(?:.|\n)*?(?P=raw)|"[^"\n\r]*"|'[^'\n\r]*'))"""
    ),
    "NUM_FLOAT": r"[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)|\.[0-9]+(?:[eE][+-]?[0-9]+)?",
    "NUM_UINT": r"(?:0x[0-9a-fA-F]+|[0-9]+)[uU]",
    "NUM_INT": r"0x[0-9a-fA-F]+|[0-9]+",
    "IDENTIFIER": r"[A-Za-z_][A-Za-z0-9_]*",
    "ESC_IDENTIFIER": r"`[A-Za-z0-9_.\-/ ]+`",
    "MARK": r"&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}]",
    # What the lexer reads before it gives up on a token, such as an unfinished string.
    "WRONG": rf"(?=.|\n)(?:{_BEGUN}{_HALF_ESCAPE}|[&|=]|`[A-Za-z0-9_.\-/ ]*)?(?:.|\n)?",
}
_TOKEN: Final = Pattern("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()))
_WORDS: Final = frozenset({"&&", "||", "==", "!=", "<=", ">=", *"-+*/%<>!?:.,()[]{}", "true", "false", "null", "in"})
"""The tokens that are kinds of their own."""

END: Final = "<EOF>"


class Tokens(NamedTuple):
    """The tokens of a text: for each its kind (a mark or keyword is its own kind), its text and its offset.

    Three lists and not a list of tokens, for the sake of speed. The last token is of kind `END`.
    """

    kinds: list[str]
    texts: list[str]
    offsets: list[int]
    skipped: list[tuple[int, int]]
    """The parts of the text outside of tokens: their offsets, and those after them."""


def tokenize(text: str, issues: Issues, *, knows_quotes: bool = True) -> Tokens:
    """Split a text into tokens, some in backquotes if they are known; other characters are reported and skipped.

    Raises:
        StopParsingError: There are too many errors.
    """
    tokens, offset = Tokens([], [], [], []), 0
    while offset < len(text):
        found = _TOKEN.match(text, offset)
        word, kind = found[0], found.lastgroup
        if word[0] == "`" and not knows_quotes:
            word, kind = "`", "WRONG"
        if kind == "WRONG":
            issues.report_syntax(offset, UNRECOGNIZED, word)
            tokens.skipped.append((offset, offset + len(word)))
        elif kind != "SPACE":
            is_bytes = kind == "STRING" and word[0] in "bB"
            tokens.kinds.append(word if word in _WORDS else "BYTES" if is_bytes else kind)
            tokens.texts.append(word)
            tokens.offsets.append(offset)
        offset += len(word)
    tokens.kinds.append(END)
    tokens.texts.append(END)
    tokens.offsets.append(offset)
    return tokens


def escape(text: str) -> str:
    """A text as cel-go shows it in an error, without line breaks."""
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


# -- The values of literals

_SIMPLE: Final = dict(zip("abfnrtv\\'\"`?", "\a\b\f\n\r\t\v\\'\"`?", strict=True))
_ESCAPES: Final = Pattern(r"\\(?:x(..)|X(..)|u(.{4})|U(.{8})|([0-3]..)|(.))", re.DOTALL)
_SURROGATES: Final = range(0xD800, 0xE000)
_MAX_CODE_POINT: Final = 0x10FFFF


def value_of(kind: str, text: str) -> object:
    """The value of a literal, whose text has its sign, or its quotes and prefix.

    Raises:
        ValueError: It has no value.
    """
    if kind in CONSTANTS:
        return CONSTANTS[kind]
    parse, noun = _PARSERS[kind]
    if (value := parse(text)) is None:
        raise ValueError(INVALID_LITERAL.format(noun))
    return value


def integer(text: str, least: int, most: int) -> int | None:
    """The value of a decimal or hexadecimal number, None when it is out of range."""
    digits = text.lstrip("+-")
    base = 16 if digits.startswith("0x") else 10
    significant = (digits[2:] if base > 10 else digits).lstrip("0")  # noqa: PLR2004 - ten is ten
    if len(significant) > 20:  # noqa: PLR2004 - more digits than 64 bits can have
        return None
    value = int(significant or "0", base) * (-1 if text.startswith("-") else 1)
    return value if least <= value <= most else None


def _unsigned(text: str) -> UInt | None:
    value = integer(text[:-1], 0, UINT_MAX)
    return None if value is None else UInt(value)


def _double(text: str) -> float | None:
    value = float(text)
    return None if math.isinf(value) else value


def _string(text: str) -> str:
    """The value of a string literal, quotes and prefix included.

    Raises:
        ValueError: An escape names no Unicode code point.
    """
    if text[0] in "\"'" and text[1] != text[0] and "\\" not in text and "\r" not in text:
        return text[1:-1]
    body, raw = _body(text)
    if raw or "\\" not in body:
        return body
    found: str = _ESCAPES.sub(_character, body)
    return found


def _bytes(text: str) -> bytes:
    r"""The value of a bytes literal, `b` included; `\x` and octal escapes are bytes there, not code points.

    Raises:
        ValueError: An escape is not allowed in bytes.
    """
    body, raw = _body(text[1:])
    data = body.encode("utf-8", "surrogatepass")
    if raw or "\\" not in body:
        return data

    def byte(found: re.Match[str]) -> str:
        if found[3] or found[4]:
            raise ValueError("unable to unescape string")
        return _character(found)

    read: str = _ESCAPES.sub(byte, data.decode("latin-1"))  # a character for each byte
    return read.encode("latin-1")


def _body(text: str) -> tuple[str, bool]:
    raw = text[0] in "rR"
    quoted = (text[1:] if raw else text).replace("\r\n", "\n").replace("\r", "\n")
    quotes = 3 if len(quoted) >= 6 and quoted[:3] in {'"""', "'''"} else 1  # noqa: PLR2004 - two triple quotes
    return quoted[quotes:-quotes], raw


def _character(found: re.Match[str]) -> str:
    if found[6]:
        return _SIMPLE[found[6]]
    if found[5]:
        return chr(int(found[5], 8))
    code = int(found[1] or found[2] or found[3] or found[4], 16)
    if code in _SURROGATES or code > _MAX_CODE_POINT:
        raise ValueError("invalid unicode code point")
    return chr(code)


_PARSERS: Final[Mapping[str, tuple[Callable[[str], object], str]]] = {
    "NUM_INT": (partial(integer, least=INT_MIN, most=INT_MAX), "int"),
    "NUM_UINT": (_unsigned, "uint"),
    "NUM_FLOAT": (_double, "double"),
    "STRING": (_string, "string"),
    "BYTES": (_bytes, "bytes"),
}
