"""Turns the fix of one value into edits: parts move with their comments and layout, and everything else stays."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from webhook.documents.nodes import Entry, Node
from webhook.documents.scalars import NULLS
from webhook.edit.rewrite import BlockMap, FlowMap, alone, lines_moved, unwrapped, without
from webhook.edit.scalars import key, quoted, rewritten, wrapped
from webhook.edit.tree import Edit, PlacedNode, Tree, UnableError
from webhook.problem import Fix

_STEP: Final = "  "
"""The indentation of a new map."""
_DASH: Final = re.compile(r"-[ \t]+\Z")


def changed(tree: Tree, found: PlacedNode, fix: Fix) -> Sequence[Edit]:
    """Return the edits that change a value; none if the text cannot be changed in place.

    Args:
        found: The value in its text.
        fix: The change, of this value alone.
    """
    with suppress(UnableError):
        return _BY_CHANGE[fix.change](tree, found, fix)
    return ()


def _wrapped(tree: Tree, found: PlacedNode, fix: Fix) -> Sequence[Edit]:
    """Put a value into a list, or into a map as the field that the fix names.

    For example, ``capacity: {memory: 40Gi}`` becomes ``capacity: {memory: {value: 40Gi}}``, and the request in::

        requests:                 requests:
          name: gpu           ->    - name: gpu
          exactly: {count: 2}         exactly: {count: 2}
    """
    if not fix.value and found.node.entries and not found.node.style:
        if not found.node.is_whole or not tree.is_first(found.node.start):
            return ()
        return [
            Edit(found.node.start, found.node.start, "- "),
            *lines_moved(tree, found.node.start, found.node.end, len(_STEP)),
        ]
    return wrapped(tree.text, found.node, str(fix.value), is_json=tree.is_json)


def _renamed(_tree: Tree, found: PlacedNode, fix: Fix) -> Sequence[Edit]:
    """Rename the key of a value, unless the map around it has the new name already."""
    is_free = found.around and found.around.entry(fix.value) is None
    return [key(found.entry.key, str(fix.value))] if is_free and found.entry else ()


def _removed(tree: Tree, found: PlacedNode, _fix: Fix) -> Sequence[Edit]:
    """Remove the item of a list, or the field of a map, unless it is the only one."""
    around = found.around
    if around is None:
        return ()
    if found.entry:
        return (FlowMap if around.style else BlockMap)(tree, around).remove(found.entry.name)
    items = around.items or []
    if around.style:
        return without(tree, items, found.place)
    start = tree.line_start(found.node.start)
    if not items[1:] or _DASH.fullmatch(tree.text[start : found.node.start].lstrip()) is None:
        return ()  # something must stay, or it begins on the line of its container, or after a comment
    return [Edit(start, tree.line_end(found.node.end), "")]


def _unwrapped(tree: Tree, found: PlacedNode, fix: Fix) -> Sequence[Edit]:
    """Replace a map by its fields: without any, it is removed."""
    return _removed(tree, found, fix) if _is_empty(tree, found.node) else unwrapped(tree, found)


def _is_empty(tree: Tree, node: Node) -> bool:
    """Tell whether a value is null, or a map without fields."""
    written = tree.text[node.start : node.end]
    return not (node.entries or node.items) and (written == "{}" if node.style else written in NULLS)


def _map_to_list(tree: Tree, found: PlacedNode, fix: Fix) -> Sequence[Edit]:
    """Make each entry of a map an item of a list, in which a field holds what was the key.

    For example, with the field ``name``::

        requests:                     requests:
          gpu:                    ->    - name: gpu
            exactly: {count: 2}           exactly: {count: 2}
    """
    node, field = found.node, str(fix.value)
    if not node.is_whole or not node.entries:
        return ()
    in_braces = bool(node.style)
    edits = [Edit(node.start, node.start + 1, "["), Edit(node.end - 1, node.end, "]")] if in_braces else []
    for each in node.entries:
        item = _item(tree, each, json.dumps(field) if tree.is_json else field, in_braces=in_braces)
        if not item:
            return ()
        edits += item
    return edits


def _item(tree: Tree, entry: Entry, field: str, *, in_braces: bool) -> Sequence[Edit]:
    """Make an item of an entry: ``gpu: {count: 2}`` becomes ``{name: gpu, count: 2}``."""
    text, key, value = tree.text, entry.key, entry.value
    colon = text.find(":", key.end)
    is_plain = key.is_whole and value.is_whole and not text[key.end : colon].strip()
    if not is_plain or not (in_braces or tree.is_first(key.start)):
        return ()
    name = f"{field}: {text[key.start : key.end]}"
    if value.style == "{":
        if text[colon + 1 : value.start].strip():
            return ()
        comma = ", " if value.entries else ""
        return [Edit(key.start, value.start + 1, f"{'' if in_braces else '- '}{{{name}{comma}")]
    if in_braces or (not value.entries and value.start < value.end):
        return ()
    by = tree.column(key.start) + len(_STEP) - tree.column(value.entries[0].key.start) if value.entries else 0
    return [Edit(key.start, colon + 1, f"- {name}"), *lines_moved(tree, colon, value.end, by)]


def nested(tree: Tree, around: Node, names: Sequence[str], within: str) -> Sequence[Edit]:
    """Return the edits that move fields into a map beside them, which is created if missing; none if that cannot be.

    For example, ``deviceClassName`` within ``exactly``::

        - name: gpu                             - name: gpu
          deviceClassName: gpu.example.com  ->    exactly:
                                                    deviceClassName: gpu.example.com

    Args:
        around: The map that has the fields.
        within: The field that holds the map.
    """
    entries = around.entries or []
    moved = [each for each in entries if each.name in names]
    target = around.entry(within)
    if not moved or len(moved) != len(set(names)) or any(not each.name for each in entries):
        return ()
    rest = [each for each in entries if each.name not in names]
    place = entries.index(moved[0]) if target is None else rest.index(target) + 1
    if _has_early_alias([*rest[:place], *moved, *rest[place:]]):
        return ()
    with suppress(UnableError):
        if target is None:
            return (FlowMap if around.style else BlockMap)(tree, around).gather(within, names)
        inner = target.value
        if inner.is_whole and not around.style and (_is_empty(tree, inner) or (inner.entries and not inner.style)):
            return BlockMap(tree, around).gather(within, names)
    return ()


def _has_early_alias(entries: Sequence[Entry]) -> bool:
    """Tell whether an alias comes before its anchor: there it would mean an earlier anchor of that name, or none."""
    later = set[int]()
    for each in reversed(entries):
        if any(id(node.alias) in later for node in each.value.every):
            return True
        later.update(map(id, each.value.every))
    return False


_BY_CHANGE: Final[dict[str, Callable[[Tree, PlacedNode, Fix], Sequence[Edit]]]] = {
    "replace": lambda tree, found, fix: rewritten(tree.text, found.node, fix.value, in_braces=found.in_braces),
    "quote": lambda tree, found, _: quoted(tree.text, found.node),
    "rename": _renamed,
    "remove": _removed,
    "unwrap": _unwrapped,
    "wrap": _wrapped,
    "alone": lambda tree, found, _: alone(tree, found.entry) if found.entry else (),
    "list": _map_to_list,
}
