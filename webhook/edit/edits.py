"""Edits of a text, which leave the rest unchanged."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.records import NamedTuple


class Edit(NamedTuple):
    """A part of a text, and its replacement.

    Args:
        start: Offset of the part's first character.
        end: Offset after its last character; ``start`` to insert.
    """

    start: int
    end: int
    text: str


class OverlapError(ValueError):
    """Two edits change the same part of a text."""


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Apply edits to a text; insertions at the same place keep their order.

    Args:
        edits: The edits, in any order; an edit given twice is made once.

    Raises:
        OverlapError: Two of them change the same part.
    """
    pieces: list[str] = []
    end = 0
    for edit in sorted(dict.fromkeys(edits), key=lambda each: (each.start, each.end)):
        if edit.start < end:
            raise OverlapError(f"two edits change what is at offset {edit.start}")
        pieces += text[end : edit.start], edit.text
        end = edit.end
    return "".join((*pieces, text[end:]))
