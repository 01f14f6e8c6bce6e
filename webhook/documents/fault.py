"""The error in an unreadable document."""

from __future__ import annotations


class Fault(Exception):  # noqa: N818 - what is wrong with the text, not with the program
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
