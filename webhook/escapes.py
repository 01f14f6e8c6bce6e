"""Go's strconv: string literals, booleans, integers; its white space; and escapes of unprintable characters."""

from __future__ import annotations

from typing import Final

GO_ESCAPES: Final = str.maketrans(
    {
        '"': '\\"',
        "\\": "\\\\",
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
    }
)
"""The escapes of characters that have one, for :meth:`str.translate`."""
GO_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
"""The texts that ``strconv.ParseBool`` accepts."""
_MOST_DIGITS: Final = 20
"""The most digits of 64 bits."""
_TWO_DIGITS: Final = 0x80
_FOUR_DIGITS: Final = 0x10000


class _Escapes(dict[int, str]):
    """The escapes of characters, made anew each time: of long texts, :meth:`str.translate` keeps the result only."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char.isprintable():
            return char
        if code < _TWO_DIGITS:
            return f"\\x{code:02x}"
        return f"\\u{code:04x}" if code < _FOUR_DIGITS else f"\\U{code:08x}"


def go_integer(text: str, least: int = -(2**63), most: int = 2**63 - 1) -> int:
    """Read an integer as ``strconv.ParseInt`` does, or ``ParseUint`` where the least is 0.

    Raises:
        ValueError: The text is none; the error has Go's reason.
    """
    sign = text[:1] if least and text[:1] in {"+", "-"} else ""
    digits = text[len(sign) :]
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError("invalid syntax")
    number = int(f"{sign}0{digits.lstrip('0')[: _MOST_DIGITS + 1]}")
    if not least <= number <= most:
        raise ValueError("value out of range")
    return number


def printable(text: str) -> str:
    r"""Escape unprintable characters, such as ``\x1b``: they could end a line, or rewrite the terminal."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


GO_QUOTED: Final = _Escapes(GO_ESCAPES)
"""The escapes of ``%q``: also those of all characters that are not printable."""
GO_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""The white space of Go's ``strings.TrimSpace``; Python also counts U+001C to U+001F."""
