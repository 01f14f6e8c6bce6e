"""A document to edit: its nodes, its layout, its comments, and edits of its text."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from webhook.documents.comments import outside
from webhook.documents.document import read_nodes
from webhook.documents.nodes import Entry, Node
from webhook.later import cached_property


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


_COMMENT: Final = re.compile(r"(?:(?<=\s)|(?<![\s\S]))#[^\r\n]*")
_INDENTATION: Final = re.compile(r"[ \t]*")


class UnableError(Exception):
    """A value cannot be edited in place: its parent must be rewritten."""


class PlacedNode(NamedTuple):
    """A value, and where it stands: of ``count`` in ``exactly: {count: 2}``, ``around`` is the node ``{count: 2}``.

    Args:
        around: The map or list that it is in; None for the whole document.
        entry: Its entry, if the container is a map.
        place: Its index, if the container is a list.
    """

    node: Node
    around: Node | None = None
    entry: Entry | None = None
    place: int = 0

    @property
    def in_braces(self) -> bool:
        """Whether its container is in braces or brackets."""
        return bool(self.around and self.around.style)


class Tree:
    """A document.

    Args:
        text: The text that it is in.
        texts: The spans of scalars, where ``#`` begins no comment.
        is_json: Whether it was read as JSON.
    """

    def __init__(self, text: str, root: Node, texts: list[tuple[int, int]], *, is_json: bool) -> None:
        self.text, self.root, self.texts, self.is_json = text, root, texts, is_json

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
                    column = len(here) if node.style else self.column(entry.start)
                    if deeper[column:]:
                        return deeper[column:]
            pending += node.inner
        return "  "

    def find(self, path: Sequence[str | int]) -> PlacedNode | None:
        """Return the value at a path; None if it is missing, or written elsewhere (by an alias or a merge)."""
        found = PlacedNode(self.root)
        for step in path:
            node = found.node
            if not node.is_whole:
                return None
            if isinstance(step, int) and node.items is not None and step < len(node.items):
                found = PlacedNode(node.items[step], node, place=step)
            elif (entry := node.entry(step)) is not None:
                found = PlacedNode(entry.value, node, entry)
            else:
                return None
        return found

    def line_start(self, offset: int) -> int:
        """Return the start of an offset's line."""
        return self.text.rfind("\n", 0, offset) + 1

    def line_end(self, offset: int) -> int:
        """Return the start of the line after an offset's line; the end of the text if there is none."""
        return self.text.find("\n", offset) + 1 or len(self.text)

    def column(self, offset: int) -> int:
        """Return how many characters stand before an offset on its line."""
        return offset - self.line_start(offset)

    def indentation(self, offset: int) -> str:
        """Return the indentation of the line at an offset."""
        found = _INDENTATION.match(self.text, self.line_start(offset))
        return found[0] if found else ""

    def is_first(self, offset: int) -> bool:
        """Tell whether nothing but white space stands before an offset on its line."""
        return not self.text[self.line_start(offset) : offset].strip()

    def below(self, offset: int, column: int) -> int:
        """Return where the comments end that are on the lines from an offset on, at a column or right of it."""
        while (end := self.line_end(offset)) > offset:
            content = self.text[offset:end].lstrip(" ")
            if not content.startswith("#") or end - offset - len(content) < column:
                break
            offset = end
        return offset

    def comments(self, start: int, end: int) -> Iterator[str]:
        """Return the comments in a part of the text."""
        for part in () if self.is_json else outside(self.texts, start, end):
            yield from _COMMENT.findall(self.text, *part)


def tree_of(text: str, *, is_json: bool, extent: tuple[int, int] | None = None) -> Tree:
    """Locate everything in a readable document.

    Args:
        text: The text that it is in.
        is_json: Whether it is read as JSON.
        extent: Where it begins and ends there; None if it is the whole text.
    """
    return Tree(text, *read_nodes(text, extent or (0, len(text)), is_json=is_json), is_json=is_json)


def shifted(text: str, step: str) -> str:
    """Indent every line that is not empty."""
    lines = text.splitlines(keepends=True)
    return "".join(step + line if line.strip("\r\n") else line for line in lines)
