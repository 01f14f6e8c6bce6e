"""What a file holds: a text, values, or a reason why they cannot be read."""

from __future__ import annotations

import codecs
from typing import Any, Final

from webhook.records import NamedTuple

_ENCODINGS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


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


def _encoding_of(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark of a file, empty if it has none, and its encoding."""
    return next(((bom, name) for bom, name in _ENCODINGS if data.startswith(bom)), (b"", "utf-8"))


def decoded(data: bytes, errors: str = "strict") -> str:
    """Decode a file's text.

    Args:
        errors: As for :meth:`bytes.decode`.

    Raises:
        UnicodeDecodeError: It is not text; the error holds the bytes after the byte order mark.
    """
    bom, encoding = _encoding_of(data)
    return data[len(bom) :].decode(encoding, errors)


def encoded(text: str, data: bytes) -> bytes:
    """Encode a text as a file is encoded."""
    bom, encoding = _encoding_of(data)
    return bom + text.encode(encoding, "surrogatepass")
