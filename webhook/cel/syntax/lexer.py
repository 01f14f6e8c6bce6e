"""The lexer, with cel-go's errors, and the values of literals (cel-go parser/gen/CEL.g4, parser/unescape.go)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from itertools import accumulate, compress
from typing import Final

from webhook.cel.errors import INVALID_LITERAL, UNRECOGNIZED, Issues
from webhook.cel.types.values import INT_MAX, INT_MIN, UINT_MAX, UInt
from webhook.patterns import Pattern
from webhook.records import NamedTuple

RESERVED: Final = frozenset(
    {
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
        "namespace", "return", "var", "void", "while",
    }
)  # fmt: skip
CONSTANTS: Final = {"true": True, "false": False, "null": None}


class Quoting(Enum):
    """The treatment of fields in backquotes."""

    UNKNOWN = "the grammar does not have them"
    REFUSED = "they are parsed and refused"
    ALLOWED = "they are fields"


_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ESCAPE: Final = r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
_STRING: Final = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""'
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
    r"""|[rR](?:\"{3}(?:.|\n)*?\"{3}|'{3}(?:.|\n)*?'{3}|"[^"\n\r]*"|'[^'\n\r]*')"""
)
_PATTERNS: Final = {
    "SPACE": r"[\t \r\n\f]+|//[^\n]*",
    "STRING": _STRING,
    "BYTES": rf"[bB](?:{_STRING})",
    "NUM_FLOAT": r"[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)|\.[0-9]+(?:[eE][+-]?[0-9]+)?",
    "NUM_UINT": r"(?:0x[0-9a-fA-F]+|[0-9]+)[uU]",
    "NUM_INT": r"0x[0-9a-fA-F]+|[0-9]+",
    "IDENTIFIER": r"[A-Za-z_][A-Za-z0-9_]*",
    "ESC_IDENTIFIER": r"`[A-Za-z0-9_.\-/ ]+`",
    "MARK": r"&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}]",
}
# The most frequent tokens come first, recognized by their first characters: names that are not string prefixes, marks.
_FREQUENT: Final = r"[AC-QS-Zac-qs-z_][A-Za-z0-9_]*|[\t \r\n\f]+|\.(?![0-9])|[()\[\]{},:?]"
_USUAL: Final = (
    r"""[bBrR](?![rR]?["'])[A-Za-z0-9_]*|"(?!"")[^"\\\n\r]*"|'(?!'')[^'\\\n\r]*'"""
    r"|[0-9]+(?![eExuU])|&&|\|\||[=!<>]=|[-+*%<>!]"
)
_REST: Final = r"[\s\S]+"
_USUAL_WORD: Final = re.compile(f"({_FREQUENT}|{_USUAL})|{_REST}")
"""A token of most expressions: strings have neither prefixes nor escapes, and numbers are decimal integers.

A text where no such token begins has an empty word. The patterns of all tokens take longer to compile than a manifest
to judge.
"""
_KINDS: Final = {
    **{word: word for word in ("&&", "||", "==", "!=", "<=", ">=", *"-+*/%<>!?:.,()[]{}")},
    **{word: word for word in ("true", "false", "null", "in")},
}
_KINDS_BY_START: Final = {
    **dict.fromkeys((*_LETTERS, "_"), "IDENTIFIER"),
    **dict.fromkeys("0123456789", "NUM_INT"),
    **dict.fromkeys("\"'", "STRING"),
    **dict.fromkeys("\t \r\n\f", "SPACE"),
}
# The text that the lexer reads before it gives up on a token: an unfinished string, half an escape.
_HALF_ESCAPE: Final = r"(?:\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?)?"
_BEGUN: Final = (rf'"(?:{_ESCAPE}|[^\\"\n\r])*{_HALF_ESCAPE}', rf"'(?:{_ESCAPE}|[^\\'\n\r])*{_HALF_ESCAPE}", r"[&|=]")
_BEGUN_QUOTE: Final = r"`[A-Za-z0-9_.\-/ ]*"

END: Final = "<EOF>"


class Tokens(NamedTuple):
    """The tokens of a text: for each its kind (a mark or keyword is its own kind), its text and its offset.

    Three lists and not a list of tokens, for the sake of speed. The last token is of kind `END`.
    """

    kinds: list[str]
    texts: list[str]
    offsets: list[int]
    skipped: Sequence[tuple[int, int]] = ()
    """The parts of the text outside of tokens: their offsets, and those after them."""


def tokenize(text: str, issues: Issues, *, knows_quotes: bool = True) -> Tokens:
    """Splits a text into tokens, some in backquotes if they are known; other characters are reported and skipped.

    Raises:
        StopParsingError: There are too many errors.
    """
    if not knows_quotes and "`" in text:
        return _tokenize_carefully(text, issues, knows_quotes=False)
    words = _USUAL_WORD.findall(text)
    if words and not words[-1]:
        return _tokenize_carefully(text, issues, knows_quotes=knows_quotes)
    kinds = [_KINDS.get(word) or _KINDS_BY_START[word[0]] for word in words]
    offsets = [0, *accumulate(map(len, words))]
    if "SPACE" in kinds:
        is_token = [kind != "SPACE" for kind in kinds]
        words = list(compress(words, is_token))
        offsets = [*compress(offsets, is_token), len(text)]
        kinds = list(compress(kinds, is_token))
    kinds.append(END)
    words.append(END)
    return Tokens(kinds, words, offsets)


@cache
def _careful_patterns(*, knows_quotes: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The patterns for tokens with their kinds, and for dead ends; slow to compile, and seldom needed."""
    token = "|".join(
        f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items() if knows_quotes or kind != "ESC_IDENTIFIER"
    )
    begun = [*_BEGUN, _BEGUN_QUOTE] if knows_quotes else _BEGUN
    return re.compile(token), re.compile(rf"(?:{'|'.join(begun)})?(?:.|\n)?")


def _tokenize_carefully(text: str, issues: Issues, *, knows_quotes: bool) -> Tokens:
    """Splits a text that has characters outside of tokens."""
    token, dead_end = _careful_patterns(knows_quotes=knows_quotes)
    skipped: list[tuple[int, int]] = []
    tokens = Tokens([], [], [], skipped)
    offset, end = 0, len(text)
    while offset < end:
        found = token.match(text, offset)
        if found is None:
            read = dead_end.match(text, offset)
            wrong = read[0] if read else text[offset]
            issues.report_syntax(offset, UNRECOGNIZED, wrong)
            skipped.append((offset, offset + len(wrong)))
            offset += len(wrong)
            continue
        word = found[0]
        kind = found.lastgroup or ""
        if kind != "SPACE":
            tokens.kinds.append(_KINDS.get(word, kind))
            tokens.texts.append(word)
            tokens.offsets.append(offset)
        offset = found.end()
    tokens.kinds.append(END)
    tokens.texts.append(END)
    tokens.offsets.append(end)
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
    value = parse(text)
    if value is None:
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
