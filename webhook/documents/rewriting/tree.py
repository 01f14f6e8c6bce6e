"""A document to rewrite: its nodes, its layout and its comments."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field

from webhook.documents.nodes import Node, read_nodes
from webhook.later import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

_COMMENT: Final = re.compile(r"(?:(?<=\s)|(?<![\s\S]))#[^\r\n]*")
_INDENTATION: Final = re.compile(r"[ \t]*")


@dataclass
class Tree:
    """A document.

    Args:
        text: Its text.
        root: Its value.
        is_json: Whether it was read as JSON.
    """

    text: str
    root: Node
    is_json: bool
    texts: list[tuple[int, int]] = field(default_factory=list)
    """The spans of scalars, where ``#`` begins no comment."""

    @cached_property
    def newline(self) -> str:
        """The line break."""
        return "\r\n" if "\r\n" in self.text else "\n"

    @cached_property
    def step(self) -> str:
        """The indentation of the first nested map."""
        pending = deque([self.root])
        while pending:
            node = pending.popleft()
            for entry in node.entries or ():
                inner = entry.value.entries
                if inner and self.is_first(inner[0].start):
                    deeper, here = self.indentation(inner[0].start), self.indentation(entry.start)
                    column = len(here) if node.in_flow else self.column(entry.start)
                    if deeper[column:]:
                        return deeper[column:]
            pending += node.inner
        return "  "

    def indentation(self, offset: int) -> str:
        """Return the indentation of the line at an offset."""
        start = offset - self.column(offset)
        found = _INDENTATION.match(self.text, start)
        return found[0] if found else ""

    def line_end(self, offset: int) -> int:
        """Return the start of the line after an offset's line."""
        return self.text.find("\n", offset) + 1 or len(self.text)

    def column(self, offset: int) -> int:
        """Return how many characters stand before an offset on its line."""
        return offset - self.text.rfind("\n", 0, offset) - 1

    def is_first(self, offset: int) -> bool:
        """Tell whether nothing but white space stands before an offset on its line."""
        return not self.text[offset - self.column(offset) : offset].strip()

    def comments(self, start: int, end: int) -> Iterator[str]:
        """Return the comments in a part of the text."""
        if self.is_json:
            return
        at = start
        for index in range(max(bisect_right(self.texts, (start,)) - 1, 0), len(self.texts)):
            begin, stop = self.texts[index]
            if begin >= end:
                break
            yield from self._between(at, begin)
            at = max(at, stop)
        yield from self._between(at, end)

    def _between(self, start: int, end: int) -> Iterator[str]:
        if start < end:
            yield from (found[0] for found in _COMMENT.finditer(self.text, start, end))


def tree_of(text: str, *, is_json: bool) -> Tree:
    """Locate everything in a readable text.

    Args:
        text: One document.
        is_json: Whether it is read as JSON.
    """
    root, texts = read_nodes(text, is_json=is_json)
    return Tree(text, root, is_json, texts)
