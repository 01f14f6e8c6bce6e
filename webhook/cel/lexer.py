"""Text into tokens (cel-go parser/gen/CEL.g4), with the errors that cel-go's lexer gives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from webhook.cel.errors import Issues

_ESCAPE: Final = r"\\(?:[abfnrtv\"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"
_STRING: Final = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""'
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
    r"""|[rR](?:\"{3}(?:.|\n)*?\"{3}|'{3}(?:.|\n)*?'{3}|"[^"\n\r]*"|'[^'\n\r]*')"""
)
_TOKEN: Final = re.compile(
    r"(?P<SPACE>(?:[\t \r\n\f]+|//[^\n]*)+)"
    rf"|(?P<STRING>{_STRING})"
    rf"|(?P<BYTES>[bB](?:{_STRING}))"
    r"|(?P<NUM_FLOAT>[0-9]+(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])"
    r"|(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<MARK>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])",
)
_KEYWORDS: Final = frozenset({"true", "false", "null", "in"})
# How far the lexer reads before it sees that no token can come of it: an unfinished string, half an escape.
_HALF_ESCAPE: Final = r"(?:\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?)?"
_DEAD_END: Final = re.compile(
    rf'(?:"(?:{_ESCAPE}|[^\\"\n\r])*{_HALF_ESCAPE}|\'(?:{_ESCAPE}|[^\\\'\n\r])*{_HALF_ESCAPE}'
    r"|`[A-Za-z0-9_.\-/ ]*|&|\||=)?(?:.|\n)?",
)

END: Final = "<EOF>"


class Tokens(NamedTuple):
    """The tokens of a text: for each its kind (a mark or keyword is its own kind), its text and where it starts.

    Three lists and not a list of tokens, for the sake of speed. The last token is of kind `END`.
    """

    kinds: list[str]
    texts: list[str]
    offsets: list[int]


def tokenize(text: str, issues: Issues) -> Tokens:
    """Splits a text into tokens; what is no token is reported and left out.

    Args:
        text: The expression.
        issues: Takes the errors.
    """
    tokens = Tokens([], [], [])
    add_kind, add_text, add_offset = tokens.kinds.append, tokens.texts.append, tokens.offsets.append
    match = _TOKEN.match
    offset, end = 0, len(text)
    while offset < end:
        found = match(text, offset)
        if found is None:
            dead_end = _DEAD_END.match(text, offset)
            wrong = dead_end[0] if dead_end else text[offset]
            issues.report(offset, f"Syntax error: token recognition error at: '{escape(wrong)}'")
            offset += len(wrong)
            continue
        kind = found.lastgroup
        if kind != "SPACE":
            word = found[0]
            add_kind(word if kind == "MARK" or word in _KEYWORDS else kind or "")
            add_text(word)
            add_offset(offset)
        offset = found.end()
    add_kind(END)
    add_text(END)
    add_offset(end)
    return tokens


def escape(text: str) -> str:
    """A text as cel-go shows it in an error, without line breaks."""
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
