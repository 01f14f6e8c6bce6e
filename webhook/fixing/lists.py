"""Makes lists of maps; their comments and layout stay."""

from __future__ import annotations

import json

from webhook.documents.edits import Edit
from webhook.fixing.lines import STEP, dedented, indented, line_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from webhook.documents.nodes import Entry, Node


def in_list(text: str, node: Node) -> list[Edit] | None:
    """Return the edits that make a map with lines of its own the only item of a list; None if there are none."""
    if not node.is_whole or not node.entries or text[line_start(text, node.start) : node.start].strip():
        return None
    return [Edit(node.start, node.start, "- "), *indented(text, node.start, node.end)]


def listed(text: str, node: Node, field: str, *, is_json: bool) -> list[Edit] | None:
    """Return the edits that make each entry of a map an item of a list; None if there are none.

    Args:
        text: The file's text.
        node: The map.
        field: The items' field that holds what was the key.
        is_json: Whether the text is JSON.
    """
    if not node.is_whole or not node.entries:
        return None
    in_braces = bool(node.style)
    edits = [Edit(node.start, node.start + 1, "["), Edit(node.end - 1, node.end, "]")] if in_braces else []
    for each in node.entries:
        item = _item(text, each, json.dumps(field) if is_json else field, in_braces=in_braces)
        if item is None:
            return None
        edits += item
    return edits


def _item(text: str, entry: Entry, field: str, *, in_braces: bool) -> list[Edit] | None:
    """Make an item of an entry."""
    key, value = entry.key, entry.value
    colon = text.find(":", key.end)
    own = text[line_start(text, key.start) : key.start]
    is_plain = key.is_whole and value.is_whole and not text[key.end : colon].strip()
    if not is_plain or (own.strip() and not in_braces):
        return None
    name = f"{field}: {text[key.start : key.end]}"
    if value.style == "{":
        if text[colon + 1 : value.start].strip():
            return None
        comma = ", " if value.entries else ""
        return [Edit(key.start, value.start + 1, f"{'' if in_braces else '- '}{{{name}{comma}")]
    if in_braces:
        return None
    edits = [Edit(key.start, colon + 1, f"- {name}")]
    if not value.entries:
        return edits if value.start >= value.end else None
    first = value.entries[0].key.start
    by = len(own) + len(STEP) - (first - line_start(text, first))
    if by > 0:
        edits += indented(text, colon, value.end, by)
    elif by < 0:
        edits += dedented(text, colon, value.end, -by)
    return edits
