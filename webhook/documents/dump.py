"""Dumps JSON values as YAML that every parser reads alike."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

from webhook.documents.scalars import WORDS, spelled
from webhook.documents.source import MAX_SIMPLE_KEY
from webhook.patterns import Pattern

_NOT_PLAIN: Final = Pattern(r"\A[^A-Za-z0-9_/(]|: | #|[ :]\Z")
_NOT_BLOCK: Final = Pattern(r"\A[ \t\n]|[ \t](?:\n|\Z)")
_BLOCK_LAYOUT: Final = str.maketrans("", "", "\t\n")
_AMBIGUOUS: Final = Pattern(r"[0-9][0-9a-fA-FoOxX_:.+ tTzZ-]*")
"""Texts that some YAML reader takes for numbers, times or dates."""
_CHOMPING: Final = ("|-", "|", "|+")


def dump(documents: Iterable[Any]) -> str:
    """Write JSON values as YAML documents, in block style, with keys in the order given and without aliases.

    Args:
        documents: JSON values; floats are finite.

    Raises:
        ValueError: A float is infinite or not a number.
    """
    return "---\n".join("\n".join(_put([], "", 0, value)) + "\n" for value in documents)


def _put(lines: list[str], lead: str, column: int, value: Any) -> list[str]:
    """Write a value, and return the lines.

    Args:
        lines: The lines written so far.
        lead: The text before the value: empty, or ending in ``:`` or ``-``.
        column: Where a map inside the value starts.
    """
    before = f"{lead} " if lead else ""
    if isinstance(value, str) and "\n" in value and _is_block(value):
        text, margin = value.rstrip("\n"), " " * (column or 2)
        breaks = len(value) - len(text)
        block = (margin + line if line else "" for line in text.split("\n"))
        lines += (before + _CHOMPING[min(breaks, 2)], *block, *[""] * (breaks - 1))
        return lines
    if not isinstance(value, dict | list) or not value:
        lines.append(before + _flat(value))
        return lines
    if lead.endswith(":"):
        lines.append(lead)
        before, column = "", column - 2 if isinstance(value, list) else column
    margin = " " * column
    before = before or margin
    if isinstance(value, list):
        for item in value:
            _put(lines, f"{before}-", column + 2, item)
            before = margin
        return lines
    for name, inner in value.items():
        key = _string(name)
        if len(key) > MAX_SIMPLE_KEY:
            lines.append(f"{before}? {key}")
            before, key = margin, ""
        _put(lines, f"{before}{key}:", column + 2, inner)
        before = margin
    return lines


def _is_block(text: str) -> bool:
    return _NOT_BLOCK.search(text) is None and text.translate(_BLOCK_LAYOUT).isprintable()


def _flat(value: Any) -> str:
    """Write a scalar or an empty map or list on one line."""
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"JSON has no number {value}")
        text = spelled(value)
        # To YAML readers other than Go's, 1e+21 is a string.
        return text.replace("e", ".0e") if "." not in text else text
    import json  # few write YAML

    return json.dumps(value)


def _string(text: str) -> str:
    if text.isprintable() and text not in WORDS and not _NOT_PLAIN.search(text) and not _AMBIGUOUS.fullmatch(text):
        return text
    import json

    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isprintable() else "".join(map(_escaped, quoted))


def _escaped(char: str) -> str:
    """Escape unprintable characters; a lone surrogate becomes U+FFFD, as in Go."""
    if char.isprintable():
        return char
    return "\\ufffd" if "\ud800" <= char <= "\udfff" else f"\\U{ord(char):08x}"
