"""Edits of maps in flow style, as JSON has them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from webhook.edit.edits import Edit
from webhook.edit.nodes import Entry, Node
from webhook.edit.tree import Tree, UnableError, dedented, shifted


def written(tree: Tree, value: Any, instead: Node) -> str:
    """Write a value in flow style, on several lines if the value it replaces is."""
    if "\n" not in tree.text[instead.start : instead.end]:
        return json.dumps(value, ensure_ascii=False)
    return _indented(tree, value, instead.start)


def _indented(tree: Tree, value: Any, start: int) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=tree.step)
    return text.replace("\n", tree.newline + tree.indentation(start))


class FlowMap:
    """A map in flow style.

    Args:
        node: The map; it has entries.
    """

    def __init__(self, tree: Tree, node: Node) -> None:
        self._tree = tree
        self._node = node
        self._entries = node.entries or []
        first = self._entries[0]
        quote = tree.text[first.start]
        self._quote = quote if quote in "\"'" else ""
        self._is_alone = tree.is_first(first.start)
        self._colon = tree.text[first.key_end : first.value.start]
        if self._colon.strip() != ":" or "\n" in self._colon:
            self._colon = ": "
        pad = tree.text[node.start + 1 : first.start]
        self._pad = "" if pad.strip(" ") else pad

    def box(self, name: str, moved: Collection[str]) -> list[Edit]:
        """Put entries into a map under a new key, which stands where the first of them stood."""
        tree, entries = self._tree, self._entries
        chosen = [index for index, entry in enumerate(entries) if entry.name in moved]
        among = entries[chosen[0] : chosen[-1] + 1]
        start, end = among[0].start, among[-1].end
        others = [entry for entry in among if entry.name not in moved]
        if not others:
            return [Edit(start, end, self._boxed(name, tree.text[start:end]))]
        comma = tree.text[entries[0].end : entries[1].start]
        if any(tree.comments(entries[0].end, entries[1].start)):
            comma = ", "
        body = comma.join(tree.text[each.start : each.end] for each in among if each.name in moved)
        rest = (tree.text[each.start : each.end] for each in others)
        remarks = _remarks(tree, start, end, [(each.start, each.end) for each in among])
        return [Edit(start, end, remarks + comma.join((self._boxed(name, body), *rest)))]

    def unbox(self, name: str) -> list[Edit]:
        """Put the entries of a map in its place."""
        tree, entry = self._tree, self._named(name)
        if not entry.value.entries:
            return self.remove(name)
        first, last = entry.value.entries[0], entry.value.entries[-1]
        remarks = _remarks(tree, entry.start, entry.end, [(first.start, last.end)])
        body = tree.text[first.start : last.end]
        if tree.is_first(first.start):
            deeper, here = len(tree.indentation(first.start)), len(tree.indentation(entry.start))
            body = dedented(tree.indentation(first.start) + body, deeper, here).lstrip(" \t")
        return [Edit(entry.start, entry.end, remarks + body)]

    def remove(self, name: str) -> list[Edit]:
        """Remove an entry."""
        entry = self._named(name)
        index = self._entries.index(entry)
        if len(self._entries) == 1:
            raise UnableError
        if index + 1 < len(self._entries):
            start, end = entry.start, self._entries[index + 1].start
        else:
            start, end = self._entries[index - 1].end, entry.end
        return [Edit(start, end, _remarks(self._tree, start, end))]

    def add(self, values: Mapping[str, Any]) -> list[Edit]:
        """Add entries after the others."""
        end = self._entries[-1].end
        return [Edit(end, end, self._comma + self._spelled(values))]

    def exchange(self, name: str, values: Mapping[str, Any]) -> list[Edit]:
        """Put entries in the place of another one; the comments in it go before them."""
        entry = self._named(name)
        remarks = _remarks(self._tree, entry.start, entry.end)
        return [Edit(entry.start, entry.end, remarks + self._spelled(values))]

    def wrap(self, name: str, field: str) -> list[Edit]:
        """Put a single value into a new map."""
        tree, entry = self._tree, self._named(name)
        text = f"{self._key(field)}{self._colon}{tree.text[entry.value.start : entry.value.end]}"
        return [Edit(entry.value.start, entry.value.end, self._in_braces(text))]

    def unwrap(self, name: str) -> list[Edit]:
        """Put the only value of a map in the map's place."""
        value = self._named(name).value
        inner = value.inner[0]
        remarks = _remarks(self._tree, value.start, value.end)
        return [Edit(value.start, value.end, remarks + self._tree.text[inner.start : inner.end])]

    def replace(self, name: str, value: Any) -> list[Edit]:
        """Rewrite a value."""
        entry = self._named(name)
        return replaced(self._tree, entry.value, value)

    def _boxed(self, name: str, body: str) -> str:
        return f"{self._key(name)}{self._colon}{self._in_braces(body)}"

    @property
    def _comma(self) -> str:
        tree = self._tree
        return f",{tree.newline}{tree.indentation(self._entries[0].start)}" if self._is_alone else ", "

    def _spelled(self, values: Mapping[str, Any]) -> str:
        first = self._entries[0].start
        texts = (
            _indented(self._tree, each, first) if self._is_alone else json.dumps(each, ensure_ascii=False)
            for each in values.values()
        )
        return self._comma.join(f"{self._key(name)}: {text}" for name, text in zip(values, texts, strict=True))

    def _in_braces(self, body: str) -> str:
        tree = self._tree
        if not self._is_alone:
            return f"{{{self._pad}{body}{self._pad}}}"
        margin = tree.indentation(self._entries[0].start)
        return f"{{{tree.newline}{margin}{shifted(body, tree.step)}{tree.newline}{margin}}}"

    def _key(self, name: str) -> str:
        return f"{self._quote}{name}{self._quote}"

    def _named(self, name: str) -> Entry:
        return next(entry for entry in self._entries if entry.name == name)


def _remarks(tree: Tree, start: int, end: int, kept: Iterable[tuple[int, int]] = ()) -> str:
    """Return the comments in a part of the text, except those in its kept parts, each on its own line."""
    found: list[str] = []
    for begin, stop in [*sorted(kept), (end, end)]:
        found += tree.comments(start, begin)
        start = stop
    margin = tree.newline + tree.indentation(end)
    return "".join(margin + remark for remark in found) + (margin if found else "")


def replaced(tree: Tree, node: Node, value: Any) -> list[Edit]:
    """Rewrite a value in flow style; the comments in it go before it."""
    lead = "" if tree.text[node.start - 1 : node.start].isspace() or node.end > node.start else " "
    remarks = _remarks(tree, node.start, node.end)
    return [Edit(node.start, node.end, lead + remarks + written(tree, value, node))]
