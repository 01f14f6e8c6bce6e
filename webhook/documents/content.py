"""The content of a text, or the reason why it cannot be read."""

from __future__ import annotations

from typing import Any

from webhook.records import NamedTuple


class ContentError(Exception):
    """A reason why a document cannot be read.

    Args:
        message: The error, in the words of Kubernetes' reader if it has any.
        offset: The place in the document's text, in characters from its start.
        hint: How to fix it, where that is known.
    """

    def __init__(self, message: str, offset: int, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


class Composed(NamedTuple):
    """The content of a text.

    Args:
        value: The JSON value of its first document, ``None`` also if it has none.
        repeated: Whether a map has a key twice; the last one is in the value.
        ignored: The offset of text that Kubernetes' reader ignores; ``None`` if there is none.
    """

    value: Any
    repeated: bool = False
    ignored: int | None = None
