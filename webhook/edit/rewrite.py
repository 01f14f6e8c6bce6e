"""Rewrites a text to hold another value."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import groupby
from typing import Any, Final

from webhook.documents.compose import compose
from webhook.documents.content import ContentError
from webhook.documents.document import Document
from webhook.documents.jsontext import Decoder
from webhook.edit import block, flow
from webhook.edit.block import BlockMap
from webhook.edit.edits import Edit, OverlapError, apply
from webhook.edit.flow import FlowMap
from webhook.edit.nodes import Node
from webhook.edit.tree import Tree, UnableError, tree_of
from webhook.objects import JSONObject
from webhook.problem import value_at

_MOST_ROUNDS: Final = 12
"""Each round makes edits that do not overlap; moved parts are edited in the next."""
_TYPE: Final = ("apiVersion", "kind")
_SPECIAL_IN_FLOW: Final = frozenset(",[]{}?:#")


def _unchanged(_whole: Any, _objects: Sequence[Any]) -> None:
    """Leave a list as it is."""


def with_objects(
    documents: Sequence[Document], objects: Sequence[Any], adapt: Callable[[Any, Sequence[Any]], None] = _unchanged
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
        text = together[0][0].whole_text
        pieces += text[end:start], _document(text[start:stop], together, adapt)
        end = stop
    return "".join((*pieces, text[end:]))


def _document(text: str, pairs: Sequence[tuple[Document, Any]], adapt: Callable[[Any, Sequence[Any]], None]) -> str:
    """Return the text of one document, whose items are replaced if it is a list."""
    changed = [(document, obj) for document, obj in pairs if not same(document.data, obj)]
    if not changed:
        return text
    is_json = changed[0][0].is_json
    whole = deepcopy(read_value(text, is_json=is_json))
    for document, obj in changed:
        whole = _with(whole, document.within, obj)
    if changed[0][0].within:
        adapt(whole, [obj for _, obj in pairs])
    return rewritten(text, whole, is_json=is_json)


def _with(whole: Any, within: tuple[str | int, ...], value: dict[str, Any]) -> Any:
    """Put an object in its place; a list that gives it its type gets the same type."""
    if not within:
        return value
    written = value_at(whole, within)
    value_at(whole, within[:-1])[within[-1]] = {
        name: each for name, each in value.items() if name in written or name not in _TYPE
    }
    return whole


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
        return lead + flow.written(tree, wanted, tree.root)
    (edit,) = block.replaced(tree, tree.root.start, len(text.rstrip()), wanted)
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
    return Decoder(text).decode(len(text) - len(text.lstrip())).value


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
        if isinstance(old, dict) and isinstance(new, dict) and node.entries and old.keys() == _names(node):
            return self._map(node, old, new)
        if isinstance(old, list) and isinstance(new, list) and node.items and len(old) == len(new) == len(node.items):
            return self._list(node, old, new)
        if self._careful and self._tree.text[node.start : node.start + 1] == "*":
            return []  # the anchored value is edited, and read again with the alias
        if isinstance(old, dict | list) or isinstance(new, dict | list) or node.start == node.end:
            raise UnableError
        return [Edit(node.start, node.end, self._scalar(node, new))]

    def _map(self, node: Node, old: JSONObject, new: JSONObject) -> list[Edit]:
        layout = FlowMap(self._tree, node) if node.in_flow else BlockMap(self._tree, node)
        if old.keys() != new.keys():
            if not self._careful:
                raise UnableError
            return _rearranged(layout, old, new)
        found: list[Edit] = []
        for entry in node.entries or ():
            value, wanted = old[entry.name], new[entry.name]
            try:
                if self._careful and _is_in(wanted, value):
                    found += layout.wrap(entry.name, *wanted)
                elif self._careful and _is_in(value, wanted) and len(entry.value.entries or ()) == 1:
                    found += layout.unwrap(entry.name)
                else:
                    found += self.edits(entry.value, value, wanted)
            except UnableError:
                found += layout.replace(entry.name, wanted)
        return found

    def _list(self, node: Node, old: list[Any], new: list[Any]) -> list[Edit]:
        found: list[Edit] = []
        for item, value, wanted in zip(node.items or (), old, new, strict=True):
            try:
                found += self.edits(item, value, wanted)
            except UnableError:
                if node.in_flow:
                    found += flow.replaced(self._tree, item, wanted)
                elif item.start == item.end:
                    raise
                else:
                    found += block.replaced(self._tree, item.start, item.end, wanted)
        return found

    def _scalar(self, node: Node, value: Any) -> str:
        """Write a single value, in the quotes of the one before."""
        tree = self._tree
        before = tree.text[node.start : node.end]
        if "\n" in before or before[0] in "|>&!*":
            raise UnableError
        if isinstance(value, str) and before[0] == "'" and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
        if tree.is_json or (isinstance(value, str) and (before[0] == '"' or _SPECIAL_IN_FLOW & set(value))):
            return json.dumps(value, ensure_ascii=False)
        text = block.written(tree, value, 0)
        if "\n" in text:
            raise UnableError
        return text


def _rearranged(layout: BlockMap | FlowMap, old: JSONObject, new: JSONObject) -> list[Edit]:
    """Return the edits of one change to a map's entries: moved in or out of a box, exchanged, removed or added."""
    added, removed = new.keys() - old.keys(), old.keys() - new.keys()
    for name in (name for name in new if name in added):
        if isinstance(new[name], dict) and (moved := new[name].keys() & removed):
            return layout.box(name, moved)
    for name in (name for name in old if name in removed):
        if isinstance(old[name], dict) and (not old[name] or old[name].keys() & added):
            if old[name].keys() & (old.keys() - {name}):
                raise UnableError
            return layout.unbox(name)
    values = {name: value for name, value in new.items() if name in added}
    if values and len(removed) == 1:
        return layout.exchange(removed.pop(), values)
    if removed:
        return layout.remove(next(name for name in old if name in removed))
    return layout.add(values)


def _is_in(outer: Any, inner: Any) -> bool:
    """Tell whether a map has only a single value."""
    return (
        isinstance(outer, dict)
        and len(outer) == 1
        and not isinstance(inner, dict | list | None)
        and same(next(iter(outer.values())), inner)
    )


def _names(node: Node) -> set[str]:
    return {entry.name for entry in node.entries or ()}
