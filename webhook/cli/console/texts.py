"""Prints the texts of files, one after another, as one stream of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SEPARATOR = "---"


def joined(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts with a separator between them, unless they bring their own."""
    before = ""
    for text in texts:
        if before:
            yield "" if before.endswith("\n") else "\n"
            yield "" if text.startswith(_SEPARATOR) else f"{_SEPARATOR}\n"
        yield text
        before = text or before
