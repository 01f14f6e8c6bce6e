"""Moves, removes and unwraps parts of maps and lists; their comments and layout go with them."""

from __future__ import annotations

import re

from webhook.documents.edits import Edit
from webhook.documents.scalars import NULLS
from webhook.fixing.lines import STEP, dedented, indented, line_break, line_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Final

    from webhook.documents.nodes import Entry, Node
    from webhook.fixing.nodes import PlacedNode

_DASH: Final = re.compile(r"-[ \t]+\Z")


def removed(text: str, found: PlacedNode) -> list[Edit] | None:
    """Return the edits that remove the item of a list; None if it is not an item, or the only one."""
    around = found.around
    if around is None or around.items is None or len(around.items) < 2:  # noqa: PLR2004 - something must stay
        return None
    if around.style:
        return [_without(text, around.items, found.place)]
    start = line_start(text, found.node.start)
    if _DASH.fullmatch(text[start : found.node.start].lstrip()) is None:
        return None  # it begins on the line of its container, or after a comment
    return [Edit(start, _next_line(text, found.node.end), "")]


def _without(text: str, nodes: Sequence[Node], place: int) -> Edit:
    """Remove one of several nodes in braces, and the comma before or after it."""
    del text
    if place:
        return Edit(nodes[place - 1].end, nodes[place].end, "")
    return Edit(nodes[0].start, nodes[1].start, "")


def nested(text: str, around: Node, names: Sequence[str], within: str) -> list[Edit] | None:
    """Return the edits that move fields into a map beside them, which is created if missing.

    Args:
        text: The file's text.
        around: The map that has the fields.
        names: The fields.
        within: The field that holds the map.
    """
    entries = around.entries or []
    moved = [each for each in entries if each.name in names]
    target = around.entry(within)
    if not moved or len(moved) != len(set(names)) or any(not each.name for each in entries):
        return None
    if around.style:
        return _nested_in_braces(text, entries, moved, target, within)
    if target is not None:
        return _joined(text, entries, moved, target)
    first = _row(entries, moved)
    column = moved[0].key.start - line_start(text, moved[0].key.start)
    indent = " " * column + STEP
    edits = [Edit(moved[0].key.start, moved[0].key.start, f"{within}:{line_break(text)}{indent}")]
    row_end = _next_line(text, moved[first - 1].value.end)
    edits += indented(text, moved[0].key.start, row_end)
    for each in moved[first:]:
        start, end = _lines_of(text, entries, each)
        edits += [Edit(start, end, ""), Edit(row_end, row_end, _shifted(text[start:end], len(STEP)))]
    return edits


def _row(entries: Sequence[Entry], moved: Sequence[Entry]) -> int:
    """Return how many of the moved entries follow one another from the first one on."""
    start = entries.index(moved[0])
    return next((count for count, each in enumerate(moved) if entries[start + count] is not each), len(moved))


def _joined(text: str, entries: Sequence[Entry], moved: Sequence[Entry], target: Entry) -> list[Edit] | None:
    """Move entries to the end of an existing map, or below a field without a value."""
    inner = target.value
    is_scalar = inner.entries is None and inner.items is None and not inner.style
    is_absent = is_scalar and text[inner.start : inner.end] in NULLS
    if not inner.is_whole or inner.style or not (inner.entries or is_absent):
        return None
    first = inner.entries[0].key.start if inner.entries else target.key.start
    column = first - line_start(text, first) + (len(STEP) if is_absent else 0)
    here = _next_line(text, target.key.end if is_absent else inner.end)
    edits = [Edit(text.index(":", target.key.end) + 1, inner.end, "")] if is_absent and inner.end > inner.start else []
    for each in moved:
        start, end = _lines_of(text, entries, each)
        lines = text[start:end]
        own = each.key.start - line_start(text, each.key.start)
        if text[line_start(text, each.key.start) : each.key.start].strip():  # the first one, after a dash
            if len(entries) == 1 or entries[0] is not each or entries[1] in moved:
                return None
            lines = " " * own + text[each.key.start : end]
            start, end = each.key.start, entries[1].key.start
        lines = lines if lines.endswith("\n") else lines + line_break(text)
        edits += [Edit(start, end, ""), Edit(here, here, _shifted(lines, column - own))]
    return edits


def _lines_of(text: str, entries: Sequence[Entry], entry: Entry) -> tuple[int, int]:
    """Return where the lines of an entry begin and end, with the comments above it."""
    place = entries.index(entry)
    above = max(entries[place - 1].key.end, entries[place - 1].value.end) if place else entry.key.start
    start = _next_line(text, above) if place else line_start(text, entry.key.start)
    return min(start, line_start(text, entry.key.start)), _next_line(text, max(entry.key.end, entry.value.end))


def _nested_in_braces(
    text: str, entries: Sequence[Entry], moved: Sequence[Entry], target: Entry | None, within: str
) -> list[Edit] | None:
    if target is not None or _row(entries, moved) != len(moved):
        return None
    quote = moved[0].key.style
    start, end = moved[0].key.start, moved[-1].value.end
    head = f"{quote}{within}{quote}: {{"
    line = text[line_start(text, start) : start]
    if "\n" not in text[start:end] or line.strip():
        return [Edit(start, start, head), Edit(end, end, "}")]
    ending = line_break(text)
    return [
        Edit(start, start, f"{head}{ending}{line}{STEP}"),
        *indented(text, start, end),
        Edit(end, end, f"{ending}{line}}}"),
    ]


def unwrapped(text: str, found: PlacedNode) -> list[Edit] | None:
    """Return the edits that replace a map by its fields; None if that would lose text."""
    around, entry, inner = found.around, found.entry, found.node
    if around is None or entry is None or not inner.entries or not inner.is_whole:
        return None
    start, first = entry.key.start, inner.entries[0].key.start
    lost = text[entry.key.end : inner.end] if inner.style and not around.style else text[entry.key.end : first]
    has_comment = "#" in lost
    if (has_comment and inner.style) or any(not each.name or around.entry(each.name) for each in inner.entries):
        return None
    if inner.style:
        return [Edit(start, first, ""), *_without_braces(text, start, inner, in_braces=bool(around.style))]
    by = (first - line_start(text, first)) - (start - line_start(text, start))
    kept = text.index("#", entry.key.end) if has_comment else first
    return [Edit(start, kept, ""), *dedented(text, kept, inner.end, by)] if by > 0 else None


def alone(text: str, found: PlacedNode) -> list[Edit] | None:
    """Return the edit that writes the only value of a map or list in its place; a map's key goes.

    None if that would lose a comment, or the value is not on the rest of a line.
    """
    entry, outer = found.entry, found.node
    if entry is None or not outer.is_whole or len(outer.inner) != 1:
        return None
    (inner,) = outer.inner
    start = outer.start if outer.style else text.index(":", entry.key.end) + 1
    is_plain = inner.is_whole and not inner.inner and inner.style not in ("|", ">", "{", "[")
    if not is_plain or "#" in text[start : inner.start] or "#" in text[inner.end : outer.end]:
        return None
    return [Edit(start, outer.end, f"{'' if outer.style else ' '}{text[inner.start : inner.end]}")]


def _without_braces(text: str, start: int, inner: Node, *, in_braces: bool) -> Iterator[Edit]:
    """Remove the closing brace of a map; unless it is in braces itself, give each field a line."""
    entries = inner.entries or []
    ends = [max(each.key.end, each.value.end) for each in entries]
    if not in_braces:
        line = line_break(text) + " " * (start - line_start(text, start))
        yield from (Edit(end, each.key.start, line) for end, each in zip(ends, entries[1:], strict=False))
    yield Edit(ends[-1], inner.end, "")


def _shifted(lines: str, by: int) -> str:
    """Indent lines by more, or by less, except empty ones."""
    if by >= 0:
        return re.sub(r"(?m)^(?=[^\r\n])", " " * by, lines)
    return re.sub(rf"(?m)^ {{0,{-by}}}", "", lines)


def _next_line(text: str, offset: int) -> int:
    """Return where the line after an offset begins; the end of the text if there is none."""
    end = text.find("\n", offset)
    return len(text) if end < 0 else end + 1
