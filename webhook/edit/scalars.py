"""Replaces a scalar by another value, in the same style."""

from __future__ import annotations

import json
from typing import Any

from webhook.documents.compose import compose
from webhook.documents.nodes import BLOCK_STYLES, Node, visible
from webhook.documents.source import ContentError
from webhook.edit.tree import Edit
from webhook.spelling import beginning


def rewritten(text: str, node: Node, value: str | int | bool, *, in_braces: bool) -> list[Edit]:  # noqa: FBT001 - JSON
    """Return the edit that writes another value; none if it would change anything else.

    Args:
        node: The scalar to replace.
        in_braces: Whether it is in a map or list in braces, and where all is JSON.
    """
    if node.entries is not None or node.items is not None or not node.is_whole:
        return []
    if isinstance(value, str) and (part := _changed_part(text, node, value)):
        written = text[node.start : part.start] + part.text + text[part.end : node.end]
        if node.style or _read(written, in_braces=in_braces) == value:
            return [part]
    if node.style in BLOCK_STYLES:
        return []
    return [Edit(node.start, node.end, spelled(value, node.style, in_braces=in_braces))]


def quoted(text: str, node: Node) -> list[Edit]:
    """Return the edit that quotes a scalar; none if it has quotes."""
    written = text[node.start : node.end]
    is_plain = written and node.is_whole and not (node.style or '"' in written or "\\" in written)
    return [Edit(node.start, node.end, f'"{written}"')] if is_plain else []


def wrapped(text: str, node: Node, field: str, *, is_json: bool) -> list[Edit]:
    """Return the edit that puts a value into a map or a list in braces; none if it spans several lines.

    Args:
        field: The map's field, or the path to it through new maps; empty for a list.
        is_json: Whether the text is JSON.
    """
    is_block = not node.style and (node.entries is not None or node.items is not None)
    if is_block or node.style in BLOCK_STYLES or not node.is_whole:
        return []
    inner = text[node.start : node.end]
    if not (node.style or is_json or _read(inner, in_braces=True) == _read(inner, in_braces=False)):
        inner = spelled(node.value, "'", in_braces=True)
    for name in reversed(field.split(".")) if field else ():
        inner = f"{{{json.dumps(name) if is_json else name}: {inner}}}"
    return [Edit(node.start, node.end, inner if field else f"[{inner}]")]


def key(node: Node, name: str) -> Edit:
    """Return the edit that writes another key, in quotes if this one is."""
    return Edit(node.start, node.end, f"{node.style}{name}{node.style}")


def spelled(value: object, style: str, *, in_braces: bool) -> str:
    """Write a scalar, in the quotes of the one before if it has some."""
    if isinstance(value, str) and style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, str) and not style and _read(value, in_braces=in_braces) == value:
        return value
    return json.dumps(value, ensure_ascii=False)


def _read(written: str, *, in_braces: bool) -> Any:
    """Return the value of a text without quotes in YAML, or an error."""
    try:
        value = compose(f"a: [{written}]" if in_braces else f"a: {written}").value["a"]
    except (ContentError, LookupError, TypeError) as error:
        return error
    return value[0] if in_braces and len(value) == 1 else value


def _changed_part(text: str, node: Node, value: str) -> Edit | None:
    """Return the edit of only the characters that differ; None if they cannot be located in the text.

    YAML's text differs from the value by indentation, folded lines and escapes. So characters other than white space
    are counted, which are the same in both, in the same order.
    """
    old = node.value
    head = len(beginning((old, value)))
    tail = len(beginning((old[head:][::-1], value[head:][::-1])))
    # White space is not counted, so the part begins and ends with other characters.
    while head and old[head : head + 1].isspace() and head < len(old) - tail:
        head -= 1
    while tail and old[len(old) - tail - 1].isspace() and head < len(old) - tail:
        tail -= 1
    gone, new = old[head : len(old) - tail], value[head : len(value) - tail]
    spans = [each.span() for each in visible(text, node)]
    if "\n" in gone or "\n" in new or not spans or len(spans) != count(old):
        return None
    first, last = count(old[:head]), count(old[: len(old) - tail])
    if not gone:
        if head and not old[head - 1].isspace():
            start = end = spans[first - 1][1]
        elif first < len(spans):
            start = end = spans[first][0]
        else:
            return None
    elif gone[0].isspace() or gone[-1].isspace():
        return None
    else:
        start, end = spans[first][0], spans[last - 1][1]
    if node.style == '"':
        new = json.dumps(new, ensure_ascii=False)[1:-1]
    elif node.style == "'":
        new = new.replace("'", "''")
    return Edit(start, end, new)


def count(text: str) -> int:
    """Count the characters of a text that are not white space."""
    return len("".join(text.split()))
