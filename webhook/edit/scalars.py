"""Replaces a scalar by another value, in the same style."""

from __future__ import annotations

import json
from typing import Final

from webhook.documents.compose import compose
from webhook.documents.nodes import Node, visible
from webhook.documents.source import ContentError
from webhook.edit.tree import Edit

_BLOCK: Final = "|>"


def rewritten(text: str, node: Node, value: str | int | bool, *, in_braces: bool) -> Edit | None:  # noqa: FBT001 - JSON
    """Return the edit that writes another value; None if it would change anything else.

    Args:
        node: The scalar to replace.
        in_braces: Whether it is in a map or list in braces, and where all is JSON.
    """
    if node.entries is not None or node.items is not None or not node.is_whole:
        return None
    if not isinstance(value, str):
        return Edit(node.start, node.end, json.dumps(value)) if node.style not in tuple(_BLOCK) else None
    if part := _changed_part(text, node, value):
        written = text[node.start : part.start] + part.text + text[part.end : node.end]
        if node.style or _reads_as(written, value, in_braces=in_braces):
            return part
    if node.style and node.style in _BLOCK:
        return None
    return Edit(node.start, node.end, _whole(value, node.style, in_braces=in_braces))


def quoted(text: str, node: Node) -> Edit | None:
    """Return the edit that quotes a scalar; None if it has quotes."""
    written = text[node.start : node.end]
    if node.style or not node.is_whole or not written or '"' in written or "\\" in written:
        return None
    return Edit(node.start, node.end, f'"{written}"')


def wrapped(text: str, node: Node, field: str, *, is_json: bool) -> Edit | None:
    """Return the edit that puts a value into a map or a list in braces; None if it spans several lines.

    Args:
        field: The map's field, or the path to it through new maps; empty for a list.
        is_json: Whether the text is JSON.
    """
    is_block = not node.style and (node.entries is not None or node.items is not None)
    if is_block or node.style in tuple(_BLOCK) or not node.is_whole:
        return None
    inner = text[node.start : node.end]
    if not node.style and not is_json and not _reads_alike(inner):
        inner = _whole(node.value, "'", in_braces=True)
    if not field:
        return Edit(node.start, node.end, f"[{inner}]")
    for name in reversed(field.split(".")):
        inner = f"{{{json.dumps(name) if is_json else name}: {inner}}}"
    return Edit(node.start, node.end, inner)


def key(node: Node, name: str) -> Edit:
    """Return the edit that writes another key, in quotes if this one is."""
    return Edit(node.start, node.end, f"{node.style}{name}{node.style}")


def _whole(value: str, style: str, *, in_braces: bool) -> str:
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    if not style and _reads_as(value, value, in_braces=in_braces):
        return value
    return json.dumps(value, ensure_ascii=False)


def _reads_as(written: str, value: str, *, in_braces: bool) -> bool:
    """Tell whether YAML reads a text without quotes as a string."""
    try:
        read = compose(f"a: [{written}]" if in_braces else f"a: {written}").value
    except ContentError:
        return False
    return bool(read == {"a": [value] if in_braces else value})


def _reads_alike(written: str) -> bool:
    """Tell whether a plain scalar has the same value inside braces as outside."""
    try:
        return bool(compose(f"a: [{written}]").value["a"] == [compose(f"a: {written}").value["a"]])
    except (ContentError, LookupError, TypeError):
        return False


def _changed_part(text: str, node: Node, value: str) -> Edit | None:
    """Return the edit of only the characters that differ; None if they cannot be located in the text.

    YAML's text differs from the value by indentation, folded lines and escapes. So characters other than white space
    are counted, which are the same in both, in the same order.
    """
    old = node.value
    head = _common(old, value)
    tail = _common(old[head:][::-1], value[head:][::-1])
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


def _common(one: str, other: str) -> int:
    """Count the common first characters of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def count(text: str) -> int:
    """Count the characters of a text that are not white space."""
    return sum(not each.isspace() for each in text)
