"""Rewrites a text to hold another value, and takes maps apart."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from itertools import groupby, pairwise
from typing import Any, Final

from webhook.documents.compose import compose
from webhook.documents.document import Document
from webhook.documents.dump import dump
from webhook.documents.jsontext import decoded
from webhook.documents.nodes import Entry, Node
from webhook.documents.source import ContentError
from webhook.edit.scalars import spelled
from webhook.edit.tree import Edit, OverlapError, PlacedNode, Tree, UnableError, apply, shifted, tree_of
from webhook.objects import JSONObject
from webhook.problem import value_at

_MOST_ROUNDS: Final = 12
"""Each round makes edits that do not overlap; moved parts are edited in the next."""
_TYPE: Final = ("apiVersion", "kind")


def with_objects(
    documents: Sequence[Document],
    objects: Sequence[Any],
    adapt: Callable[[Any, Sequence[Any]], None] = lambda _whole, _items: None,
) -> str:
    """Return the text of a file with other objects; comments, layout and all other objects stay.

    Args:
        documents: All objects of the file, in their order.
        objects: The objects to put in their places: the same one where nothing changes.
        adapt: Adapts a list whose items change: called with the whole document and its new items.
    """
    text, pieces, end = "", list[str](), 0
    pairs = zip(documents, objects, strict=True)
    for (start, stop), group in groupby(pairs, key=lambda pair: pair[0].extent):
        together = list(group)
        text = together[0][0].file.text
        pieces += text[end:start], _document(text[start:stop], together, adapt)
        end = stop
    return "".join((*pieces, text[end:]))


def _document(text: str, pairs: Sequence[tuple[Document, Any]], adapt: Callable[[Any, Sequence[Any]], None]) -> str:
    """Return the text of one document, whose items are replaced if it is a list."""
    changed = [(document, obj) for document, obj in pairs if not same(document.data, obj)]
    if not changed:
        return text
    is_json, whole = changed[0][0].is_json, changed[-1][1]
    if changed[0][0].within:
        whole = deepcopy(read_value(text, is_json=is_json))
        for document, obj in changed:
            *around, step = document.within
            written = value_at(whole, document.within)  # an item of a typed list gets no apiVersion and kind
            kept = {name: each for name, each in obj.items() if name in written or name not in _TYPE}
            value_at(whole, around)[step] = kept
        adapt(whole, [obj for _, obj in pairs])
    return rewritten(text, whole, is_json=is_json)


def rewritten(text: str, wanted: Any, *, is_json: bool) -> str:
    """Edit a text to hold a value, changing as little as possible.

    Args:
        text: One document that can be read.
        is_json: Whether the text is read as JSON.
    """
    start = len(text) - len(text.lstrip()) if is_json else 0
    lead, text = text[:start], text[start:]
    for careful in (True, False):
        changed = _edited(text, wanted, is_json=is_json, careful=careful)
        if changed is not None:
            return lead + changed
    tree = tree_of(text, is_json=is_json)
    if is_json:
        (edit,) = flow_edits(tree, tree.root, wanted)
        return lead + edit.text
    (edit,) = block_edits(tree, tree.root.start, len(text.rstrip()), wanted)
    return text[: edit.start] + edit.text + tree.newline


def read_value(text: str, *, is_json: bool) -> Any:
    """Return the value of a document; None if a map in it has a key twice.

    Args:
        is_json: Whether it is read as JSON.

    Raises:
        ContentError: It cannot be read.
    """
    if not is_json:
        composed = compose(text)
        return None if composed.repeated else composed.value
    return next(decoded(text)).value


def same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are equal; in Python, ``1 == True``."""
    return one is other or (one == other and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True))


def _edited(text: str, wanted: Any, *, is_json: bool, careful: bool) -> str | None:
    """Edit a text until it holds a value; None if that fails.

    Args:
        is_json: As for :func:`rewritten`.
        careful: Whether to move parts where possible; otherwise they are rewritten.
    """
    try:
        for _ in range(_MOST_ROUNDS):
            value = read_value(text, is_json=is_json)
            if same(value, wanted):
                return text
            tree = tree_of(text, is_json=is_json)
            edits = _Round(tree, careful=careful).edits(tree.root, value, wanted)
            if not edits:
                return None
            text = apply(text, edits)
    except (ContentError, UnableError, OverlapError):
        pass
    return None


class _Round:
    """One round of edits.

    Args:
        careful: Whether to move parts where possible.
    """

    def __init__(self, tree: Tree, *, careful: bool) -> None:
        self._tree = tree
        self._careful = careful

    def edits(self, node: Node, old: Any, new: Any) -> list[Edit]:
        """Return edits that bring a value closer to another one.

        Raises:
            UnableError: The value's parent must be rewritten.
        """
        if same(old, new):
            return []
        if (
            isinstance(old, dict)
            and isinstance(new, dict)
            and node.entries
            and old.keys() == {each.name for each in node.entries}
        ):
            return self._map(node, old, new)
        if isinstance(old, list) and isinstance(new, list) and node.items and len(old) == len(new) == len(node.items):
            return self._list(node, old, new)
        if self._careful and self._tree.text[node.start : node.start + 1] == "*":
            return []  # the anchored value is edited, and read again with the alias
        if isinstance(old, dict | list) or isinstance(new, dict | list) or node.start == node.end:
            raise UnableError
        return [Edit(node.start, node.end, self._scalar(node, new))]

    def _map(self, node: Node, old: JSONObject, new: JSONObject) -> list[Edit]:
        layout = FlowMap(self._tree, node) if node.style else BlockMap(self._tree, node)
        if old.keys() != new.keys():
            if not self._careful:
                raise UnableError
            return self._rearranged(layout, node, old, new)
        found: list[Edit] = []
        for entry in node.entries or ():
            value, wanted = old[entry.name], new[entry.name]
            try:
                if self._careful and _is_in(wanted, value):
                    found += layout.wrap(entry.name, *wanted)
                elif self._careful and _is_in(value, wanted) and (edits := alone(self._tree, entry)):
                    found += edits
                else:
                    found += self.edits(entry.value, value, wanted)
            except UnableError:
                found += layout.exchange(entry.name, {entry.name: wanted})
        return found

    def _rearranged(self, layout: BlockMap | FlowMap, node: Node, old: JSONObject, new: JSONObject) -> list[Edit]:
        """Return the edits of one change to a map's entries: moved in or out of a box, exchanged, removed or added."""
        added, removed = new.keys() - old.keys(), old.keys() - new.keys()
        for name in (name for name in new if name in added):
            if isinstance(new[name], dict) and (moved := new[name].keys() & removed):
                return layout.gather(name, moved)
        for name in (name for name in old if name in removed):
            if isinstance(old[name], dict) and old[name].keys() & added:
                entry = node.entry(name)
                if edits := entry and unwrapped(self._tree, PlacedNode(entry.value, node, entry)):
                    return edits
                raise UnableError
        values = {name: value for name, value in new.items() if name in added}
        if values and len(removed) == 1:
            return layout.exchange(removed.pop(), values)
        if removed:
            return layout.remove(next(name for name in old if name in removed))
        return layout.add(values)

    def _list(self, node: Node, old: list[Any], new: list[Any]) -> list[Edit]:
        found: list[Edit] = []
        for item, value, wanted in zip(node.items or (), old, new, strict=True):
            try:
                found += self.edits(item, value, wanted)
            except UnableError:
                if node.style:
                    found += flow_edits(self._tree, item, wanted)
                elif item.start == item.end:
                    raise
                else:
                    found += block_edits(self._tree, item.start, item.end, wanted)
        return found

    def _scalar(self, node: Node, value: Any) -> str:
        """Write a single value, in the quotes of the one before."""
        before, style = self._tree.text[node.start : node.end], '"' if self._tree.is_json else node.style
        needs_lines = style != '"' and isinstance(value, str) and "\n" in value
        if "\n" in before or before[0] in "|>&!*" or needs_lines:
            raise UnableError
        return spelled(value, style, in_braces=True)


def _is_in(outer: Any, inner: Any) -> bool:
    """Tell whether a map has only a single value."""
    return (
        isinstance(outer, dict)
        and len(outer) == 1
        and not isinstance(inner, dict | list | None)
        and same(next(iter(outer.values())), inner)
    )


def unwrapped(tree: Tree, found: PlacedNode) -> list[Edit]:
    """Return the edits that replace a map by its fields; none if that would lose text.

    For example, without ``exactly``::

        - name: gpu                          - name: gpu
          exactly:                      ->     deviceClassName: gpu.example.com
            deviceClassName: gpu.example.com
    """
    inner, around, entry = found.node, found.around, found.entry
    if around is None or entry is None or not inner.entries or not inner.is_whole:
        return []
    if any(not each.name or around.entry(each.name) for each in inner.entries):
        return []
    start, first = entry.start, inner.entries[0].start
    remarks = any(tree.comments(entry.key.end, first))
    if not inner.style:
        by = tree.column(first) - tree.column(start)
        kept = tree.text.index("#", entry.key.end) if remarks else first
        end = tree.below(tree.line_end(inner.end), tree.column(start) + 1)
        return [Edit(start, kept, ""), *lines_moved(tree, kept, end, -by)] if by > 0 else []
    ends = [max(each.key.end, each.value.end) for each in inner.entries]
    if remarks or any(tree.comments(ends[-1] if around.style else first, inner.end)):
        return []
    if around.style:
        deeper = len(tree.indentation(first)) - len(tree.indentation(start)) if tree.is_first(first) else 0
        inside = lines_moved(tree, first, ends[-1], -deeper) if deeper else ()
        return [Edit(start, first, ""), *inside, Edit(ends[-1], inner.end, "")]
    line, behind = tree.newline + " " * tree.column(start), _BEHIND.match(tree.text, inner.end)
    lead, end = (behind[0].lstrip() + line, behind.end()) if behind and ends[1:] else ("", inner.end)
    lines = (Edit(end, each.start, line) for end, each in zip(ends, inner.entries[1:], strict=False))
    return [Edit(start, first, lead), *lines, Edit(ends[-1], end, "")]


def alone(tree: Tree, entry: Entry) -> list[Edit]:
    """Replace a map or list by its only value: ``count: {value: 2}`` becomes ``count: 2``.

    There are no edits if that would lose a comment, or the value is not on the rest of a line.
    """
    text, outer = tree.text, entry.value
    if not outer.is_whole or len(outer.inner) != 1:
        return []
    (inner,) = outer.inner
    start = outer.start if outer.style else text.index(":", entry.key.end) + 1
    is_plain = inner.is_whole and not inner.inner and inner.style not in ("|", ">", "{", "[")
    if not is_plain or "#" in text[start : inner.start] or "#" in text[inner.end : outer.end]:
        return []
    return [Edit(start, outer.end, f"{'' if outer.style else ' '}{text[inner.start : inner.end]}")]


def lines_moved(tree: Tree, start: int, end: int, by: int) -> Iterator[Edit]:
    """Move the lines of a part to the right, or to the left, but for its first one and empty ones."""
    for each in _LINE.finditer(tree.text, start, end):
        at = each.end()
        left = len(tree.text[at : at - by]) - len(tree.text[at : at - by].lstrip(" \t")) if by < 0 else 0
        if at < end and (by > 0 or left):
            yield Edit(at, at + left, " " * by)


_LINE: Final = re.compile(r"\n(?=[^\r\n])")
_BEHIND = re.compile(r"[ \t]+#[^\r\n]*")
_BELOW = re.compile(r"(?:[ \t]*\r?\n)+(?P<indentation> *)#[^\r\n]*")


def block_text(tree: Tree, value: Any, column: int) -> str:
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

    def gather(self, name: str, moved: Collection[str]) -> list[Edit]:
        """Put entries at the end of the map of another one, or into a new map where the first of them stood.

        A key without a value gets a map of them.
        """
        tree, step, names = self._tree, self._tree.step, {name, *moved}
        chosen = {each.name: index for index, each in enumerate(self._entries) if each.name in names}
        first, last = min(chosen.values()), max(chosen.values())
        parts = self._parts(first, last)
        if (target := chosen.pop(name, -1)) < 0:
            parts = {target: f"{self._indentation}{name}:{tree.newline}", **parts}
        elif (inner := self._entries[target].value).entries:
            step = " " * (tree.column(inner.entries[0].start) - self._column)
        else:  # null may be written, or {}
            behind = self._whole(tree.text[inner.end : self._ends[target]])
            parts[target] = parts[target].removesuffix(behind).rpartition(":")[0] + ":" + behind
        parts[target] += shifted("".join(map(parts.pop, chosen.values())), step)
        return [self._put(self._begin(first), self._ends[last], "".join(parts.values()))]

    def remove(self, name: str) -> list[Edit]:
        """Remove an entry; its comments stay."""
        tree = self._tree
        index = self._index(name)
        entry, end = self._entries[index], self._ends[index]
        if len(self._entries) == 1:
            raise UnableError
        if tree.is_first(entry.start):
            remarks = (self._indentation + remark + tree.newline for remark in tree.comments(entry.start, end))
            return [Edit(self._start(entry), end, "".join(remarks))]
        following = self._entries[index + 1].start
        remarks = (remark + tree.newline + self._indentation for remark in tree.comments(entry.start, following))
        return [Edit(entry.start, following, "".join(remarks))]

    def add(self, values: Mapping[str, Any]) -> list[Edit]:
        """Add entries after the others."""
        tree, end = self._tree, self._ends[-1]
        text = self._indentation + block_text(tree, values, self._column)
        if tree.text[end - 1 : end] == "\n":
            return [Edit(end, end, text + tree.newline)]
        return [Edit(end, end, tree.newline + text)]

    def wrap(self, name: str, field: str) -> list[Edit]:
        """Put a single value into a new map."""
        tree, entry = self._tree, self._entries[self._index(name)]
        before, text = tree.text[entry.key.end : entry.value.start], tree.text[entry.value.start : entry.value.end]
        if before.strip() != ":" or not text or "\n" in text or text[0] in "|>":
            raise UnableError
        return [Edit(entry.key.end, entry.value.start, f":{tree.newline}{self._indentation}{tree.step}{field}: ")]

    def exchange(self, name: str, values: Mapping[str, Any]) -> list[Edit]:
        """Put entries in the place of another one; the comments in it go above them."""
        entry = self._entries[self._index(name)]
        return block_edits(self._tree, entry.start, entry.end, values)

    def _index(self, name: str) -> int:
        return next(index for index, entry in enumerate(self._entries) if entry.name == name)

    def _start(self, entry: Entry) -> int:
        """Return where an entry begins: its line, unless a dash stands before it."""
        return entry.start - self._column if self._tree.is_first(entry.start) else entry.start

    def _begin(self, index: int) -> int:
        """Return where an entry begins, with the comments above it."""
        if index == 0:
            return self._start(self._entries[0])
        at = self._ends[index - 1]
        while not self._tree.text[at : self._tree.line_end(at)].strip():
            at = self._tree.line_end(at)
        return at

    def _parts(self, first: int, last: int) -> dict[int, str]:
        """Return the whole lines of entries, each with what is above it."""
        bounds = pairwise((self._begin(first), *self._ends[first : last + 1]))
        parts = {index: self._whole(self._tree.text[slice(*each)]) for index, each in enumerate(bounds, first)}
        if not self._tree.is_first(self._entries[first].start):
            parts[first] = self._indentation + parts[first]
        return parts

    def _put(self, start: int, end: int, lines: str) -> Edit:
        """Replace lines by others; the first may stand behind a dash, and the last at the end of the text."""
        text = self._whole(lines if self._tree.is_first(start) else lines.lstrip())
        return Edit(start, end, text if self._tree.text[end - 1 : end] == "\n" else text.rstrip("\r\n"))

    def _end(self, entry: Entry, is_last: bool) -> int:  # noqa: FBT001 - private
        """Return where the lines of an entry end, with the comments below that are indented more than its key."""
        tree = self._tree
        end = tree.line_end(entry.end)
        rest = tree.text[entry.end : end].strip()
        if rest and not rest.startswith("#"):
            raise UnableError
        return tree.below(end, self._column + (not is_last))

    def _whole(self, lines: str) -> str:
        return lines if lines.endswith("\n") else lines + self._tree.newline


def block_edits(tree: Tree, start: int, end: int, value: Any) -> list[Edit]:
    """Rewrite a value in block style; the comments in it, and a comment after it that loses its place, go above it."""
    column = tree.column(start)
    text = block_text(tree, value, column)
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


def flow_text(tree: Tree, value: Any, start: int, *, on_lines: bool) -> str:
    """Write a value in flow style, indented as the line of an offset is if it goes on several lines."""
    text = json.dumps(value, ensure_ascii=False, indent=tree.step if on_lines else None)
    return text.replace("\n", tree.newline + tree.indentation(start))


class FlowMap:
    """A map in flow style.

    Args:
        node: The map; it has entries.
    """

    def __init__(self, tree: Tree, node: Node) -> None:
        self._tree, self._entries = tree, node.entries or []
        first, *others = self._entries
        quote, pad = tree.text[first.start], tree.text[node.start + 1 : first.start]
        self._quote, self._pad = quote if quote in "\"'" else "", "" if pad.strip(" ") else pad
        self._is_alone = tree.is_first(first.start)
        self._colon = ":" if self._quote and tree.text[first.key.end : first.value.start] == ":" else ": "
        self._comma = tree.text[first.end : others[0].start] if others else ""
        if self._comma.strip() != ",":
            self._comma = f",{tree.newline}{tree.indentation(first.start)}" if self._is_alone else ", "

    def gather(self, name: str, moved: Collection[str]) -> list[Edit]:
        """Put entries into a map under a new key, which stands where the first of them stood."""
        tree = self._tree
        chosen = [index for index, each in enumerate(self._entries) if each.name in moved]
        among = {each.name: (each.start, each.end) for each in self._entries[chosen[0] : chosen[-1] + 1]}
        start, end = self._entries[chosen[0]].start, self._entries[chosen[-1]].end
        if among.keys() <= set(moved):  # the comments between them move, too
            return [Edit(start, end, self._entry(name, self._in_braces(tree.text[start:end])))]
        texts = {each: tree.text[slice(*place)] for each, place in among.items()}
        inside = self._comma.join(texts.pop(each) for each in among if each in moved)
        rest = self._comma.join((self._entry(name, self._in_braces(inside)), *texts.values()))
        return [Edit(start, end, _remarks(tree, start, end, among.values()) + rest)]

    def remove(self, name: str) -> list[Edit]:
        """Remove an entry."""
        return without(self._tree, self._entries, self._index(name))

    def add(self, values: Mapping[str, Any]) -> list[Edit]:
        """Add entries after the others."""
        end = self._entries[-1].end
        return [Edit(end, end, self._comma + self._spelled(values))]

    def exchange(self, name: str, values: Mapping[str, Any]) -> list[Edit]:
        """Put entries in the place of another one; the comments in it go before them."""
        entry = self._entries[self._index(name)]
        remarks = _remarks(self._tree, entry.start, entry.end)
        return [Edit(entry.start, entry.end, remarks + self._spelled(values))]

    def wrap(self, name: str, field: str) -> list[Edit]:
        """Put a single value into a new map."""
        value = self._entries[self._index(name)].value
        inside = self._entry(field, self._tree.text[value.start : value.end])
        return [Edit(value.start, value.end, self._in_braces(inside))]

    def _index(self, name: str) -> int:
        return next(index for index, entry in enumerate(self._entries) if entry.name == name)

    def _entry(self, name: str, text: str) -> str:
        return f"{self._quote}{name}{self._quote}{self._colon}{text}"

    def _spelled(self, values: Mapping[str, Any]) -> str:
        write = partial(flow_text, self._tree, start=self._entries[0].start, on_lines=self._is_alone)
        return self._comma.join(self._entry(name, write(each)) for name, each in values.items())

    def _in_braces(self, body: str) -> str:
        tree = self._tree
        if not self._is_alone:
            return f"{{{self._pad}{body}{self._pad}}}"
        margin = tree.indentation(self._entries[0].start)
        return f"{{{tree.newline}{margin}{shifted(body, tree.step)}{tree.newline}{margin}}}"


def without(tree: Tree, parts: Sequence[Entry] | Sequence[Node], at: int) -> list[Edit]:
    """Remove one of several entries or items in braces with its comma; the comments beside it stay.

    Raises:
        UnableError: It is the only one.
    """
    if not parts[1:]:
        raise UnableError
    is_last = at == len(parts) - 1
    start, end = (parts[at - 1].end, parts[at].end) if is_last else (parts[at].start, parts[at + 1].start)
    return [Edit(start, end, _remarks(tree, start, end))]


def _remarks(tree: Tree, start: int, end: int, kept: Iterable[tuple[int, int]] = ()) -> str:
    """Return the comments in a part of the text, except those in its kept parts, each on its own line."""
    found, is_first = list[str](), tree.is_first(start)
    for begin, stop in [*sorted(kept), (end, end)]:
        found += tree.comments(start, begin)
        start = stop
    margin = tree.newline + tree.indentation(end)
    return "".join(remark + margin for remark in found) if is_first or not found else margin.join(("", *found, ""))


def flow_edits(tree: Tree, node: Node, value: Any) -> list[Edit]:
    """Rewrite a value in flow style; the comments in it go before it."""
    written = tree.text[node.start : node.end]
    lead = "" if written or tree.text[node.start - 1 : node.start].isspace() else " "
    text = flow_text(tree, value, node.start, on_lines="\n" in written)
    return [Edit(node.start, node.end, lead + _remarks(tree, node.start, node.end) + text)]
