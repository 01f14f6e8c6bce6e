"""Edits of maps in block style: whole lines move, with the comments above and beside them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from webhook.documents.dump import dump
from webhook.edit.edits import Edit
from webhook.edit.nodes import Entry, Node
from webhook.edit.tree import Tree, UnableError, dedented, shifted

_BEHIND = re.compile(r"[ \t]+#[^\r\n]*")
_BELOW = re.compile(r"(?:[ \t]*\r?\n)+(?P<indentation> *)#[^\r\n]*")
_COLON = re.compile(r"[ \t]*:[ \t]*")


def written(tree: Tree, value: Any, column: int) -> str:
    """Write a value in block style.

    Returns:
        Its lines, the first without indentation, the last without a line break.
    """
    text = dump([value]).removesuffix("\n").replace("\n", tree.newline)
    return shifted(text, " " * column)[column:]


class BlockMap:
    """A map in block style.

    Args:
        node: The map; it has entries.

    Raises:
        UnableError: Its layout cannot be edited by lines.
    """

    def __init__(self, tree: Tree, node: Node) -> None:
        self._tree = tree
        self._entries = node.entries or []
        self._column = tree.column(self._entries[0].start)
        self._indentation = " " * self._column
        self._ends = [self._end(entry, entry is self._entries[-1]) for entry in self._entries]

    def box(self, name: str, moved: Collection[str]) -> list[Edit]:
        """Put entries into a map under a new key, which stands where the first of them stood."""
        tree, entries = self._tree, self._entries
        chosen = [index for index, entry in enumerate(entries) if entry.name in moved]
        first, last = chosen[0], chosen[-1]
        begin, at = self._begin(first), self._begin(first)
        inside: list[str] = []
        outside: list[str] = []
        for index in range(first, last + 1):
            lines = tree.text[at : self._ends[index]]
            if index == first and not tree.is_first(entries[first].start):
                lines = self._indentation + lines
            (inside if index in chosen else outside).append(self._whole(lines))
            at = self._ends[index]
        lead = self._indentation if tree.is_first(entries[first].start) else ""
        text = f"{lead}{name}:{tree.newline}{shifted(''.join(inside), tree.step)}{''.join(outside)}"
        return [Edit(begin, at, self._as_ended(text, at))]

    def unbox(self, name: str) -> list[Edit]:
        """Put the entries of a map in its place."""
        tree = self._tree
        index = self._index(name)
        entry, end = self._entries[index], self._ends[index]
        inner = entry.value
        if not inner.entries:
            return self.remove(name)
        alone = tree.is_first(entry.start)
        header = tree.line_end(entry.key_end)
        if inner.in_flow:
            remarks = list(tree.comments(entry.start, end))
            body = "".join(self._indentation + self._spelled(each) + tree.newline for each in inner.entries)
        else:
            self._colon(entry)
            if not tree.is_first(inner.entries[0].start):
                raise UnableError
            remarks = list(tree.comments(entry.key_end, header))
            body = dedented(tree.text[header:end], tree.column(inner.entries[0].start), self._column)
        body = "".join(self._indentation + remark + tree.newline for remark in remarks) + body
        if alone:
            return [Edit(entry.start - self._column, end, self._as_ended(self._whole(body), end))]
        return [Edit(entry.start, end, self._as_ended(self._whole(body.lstrip()), end))]

    def remove(self, name: str) -> list[Edit]:
        """Remove an entry; its comments stay."""
        tree = self._tree
        index = self._index(name)
        entry, end = self._entries[index], self._ends[index]
        if len(self._entries) == 1:
            raise UnableError
        if tree.is_first(entry.start):
            remarks = (self._indentation + remark + tree.newline for remark in tree.comments(entry.start, end))
            return [Edit(entry.start - self._column, end, "".join(remarks))]
        following = self._entries[index + 1].start
        remarks = (remark + tree.newline + self._indentation for remark in tree.comments(entry.start, following))
        return [Edit(entry.start, following, "".join(remarks))]

    def add(self, values: Mapping[str, Any]) -> list[Edit]:
        """Add entries after the others."""
        tree, end = self._tree, self._ends[-1]
        text = self._indentation + written(tree, values, self._column)
        if tree.text[end - 1 : end] == "\n":
            return [Edit(end, end, text + tree.newline)]
        return [Edit(end, end, tree.newline + text)]

    def wrap(self, name: str, field: str) -> list[Edit]:
        """Put a single value into a new map."""
        entry = self._entries[self._index(name)]
        before, text = self._colon(entry), self._tree.text[entry.value.start : entry.value.end]
        if not text or "\n" in text or text[0] in "|>":
            raise UnableError
        lead = f"{self._tree.newline}{self._indentation}{self._tree.step}{field}: "
        return [Edit(before, entry.value.start, lead)]

    def unwrap(self, name: str) -> list[Edit]:
        """Put the only value of a map in the map's place."""
        tree = self._tree
        entry = self._entries[self._index(name)]
        inner = entry.value.inner[0]
        before = self._colon(entry)
        if entry.value.in_flow:
            if any(tree.comments(before, entry.value.end)):
                raise UnableError
            return [Edit(entry.value.start, entry.value.end, tree.text[inner.start : inner.end])]
        if any(tree.comments(before, inner.start)):
            return [Edit(entry.value.start, inner.start, "")]
        return [Edit(before, inner.start, " ")]

    def replace(self, name: str, value: Any) -> list[Edit]:
        """Rewrite an entry; the comments in it go above it."""
        return self.exchange(name, {name: value})

    def exchange(self, name: str, values: Mapping[str, Any]) -> list[Edit]:
        """Put entries in the place of another one; the comments in it go above them."""
        entry = self._entries[self._index(name)]
        return replaced(self._tree, entry.start, entry.end, values)

    def _index(self, name: str) -> int:
        return next(index for index, entry in enumerate(self._entries) if entry.name == name)

    def _colon(self, entry: Entry) -> int:
        """Return the start of the text between a key's colon and its value, which holds only comments."""
        text = self._tree.text
        found = _COLON.match(text, entry.key_end)
        if found is None:
            raise UnableError
        rest = text[found.end() : max(self._first(entry.value), found.end())]
        if any(line.strip()[:1] not in {"", "#"} for line in rest.splitlines()):
            raise UnableError
        return found.start() + found[0].index(":") + 1

    @staticmethod
    def _first(value: Node) -> int:
        """Return where a value begins after its anchor and its tag."""
        return value.entries[0].start if value.entries and not value.in_flow else value.start

    def _spelled(self, entry: Entry) -> str:
        text = self._tree.text
        return f"{text[entry.start : entry.key_end]}: {text[entry.value.start : entry.value.end]}"

    def _begin(self, index: int) -> int:
        """Return where an entry begins, with the comments above it."""
        entry = self._entries[index]
        if index == 0:
            return entry.start - self._column if self._tree.is_first(entry.start) else entry.start
        at = self._ends[index - 1]
        while not self._tree.text[at : self._tree.line_end(at)].strip():
            at = self._tree.line_end(at)
        return at

    def _end(self, entry: Entry, is_last: bool) -> int:  # noqa: FBT001 - private
        """Return where the lines of an entry end, with the comments below that are indented more than its key."""
        tree = self._tree
        end = tree.line_end(entry.end)
        rest = tree.text[entry.end : end].strip()
        if rest and not rest.startswith("#"):
            raise UnableError
        while end < len(tree.text):
            line = tree.text[end : tree.line_end(end)]
            content = line.lstrip(" ")
            if not content.startswith("#") or len(line) - len(content) < self._column + (not is_last):
                break
            end = tree.line_end(end)
        return end

    def _whole(self, lines: str) -> str:
        return lines if lines.endswith("\n") else lines + self._tree.newline

    def _as_ended(self, text: str, end: int) -> str:
        """Drop the final line break if there was none."""
        return text if self._tree.text[end - 1 : end] == "\n" else text.rstrip("\r\n")


def replaced(tree: Tree, start: int, end: int, value: Any) -> list[Edit]:
    """Rewrite a value in block style; the comments in it, and a comment after it that loses its place, go above it."""
    column = tree.column(start)
    text = written(tree, value, column)
    if "\n" in text and (behind := _BEHIND.match(tree.text, end)):
        end = behind.end()
    if _ends_in_block_scalar(value):  # which would absorb comments below it as its own lines
        while (below := _BELOW.match(tree.text, end)) and len(below["indentation"]) > column:
            end = below.end()
    remarks = "".join(remark + tree.newline + " " * column for remark in tree.comments(start, end))
    return [Edit(start, end, remarks + text)]


def _ends_in_block_scalar(value: Any) -> bool:
    while value and isinstance(value, dict | list):
        value = list(value.values() if isinstance(value, dict) else value)[-1]
    return isinstance(value, str) and "\n" in value
