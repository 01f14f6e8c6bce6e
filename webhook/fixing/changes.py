"""Turns the fix of one value into edits of a file."""

from __future__ import annotations

from webhook.fixing.lists import in_list, listed
from webhook.fixing.scalars import key, quoted, rewritten, wrapped
from webhook.fixing.structure import alone, removed, unwrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Final

    from webhook.documents import Document
    from webhook.documents.edits import Edit
    from webhook.fixing.nodes import PlacedNode
    from webhook.problem import Fix


def changed(document: Document, found: PlacedNode, fix: Fix) -> Sequence[Edit]:
    """Return the edits that change a value; none if the text cannot be changed in place.

    Args:
        document: The document.
        found: The value in its text.
        fix: The change, of this value alone.
    """
    return _BY_CHANGE[fix.change](document, found, fix) or ()


def _replaced(document: Document, found: PlacedNode, fix: Fix) -> Sequence[Edit]:
    return _one(rewritten(document.whole_text, found.node, fix.value, in_braces=found.in_braces))


def _wrapped(document: Document, found: PlacedNode, fix: Fix) -> Sequence[Edit] | None:
    if not fix.value and found.node.entries and not found.node.style:
        return in_list(document.whole_text, found.node)
    return _one(wrapped(document.whole_text, found.node, str(fix.value), is_json=document.is_json))


def _renamed(_document: Document, found: PlacedNode, fix: Fix) -> Sequence[Edit]:
    is_free = found.around and found.around.entry(fix.value) is None
    return [key(found.entry.key, str(fix.value))] if is_free and found.entry else ()


def _one(edit: Edit | None) -> Sequence[Edit]:
    return [edit] if edit else ()


_BY_CHANGE: Final[dict[str, Callable[[Document, PlacedNode, Fix], Sequence[Edit] | None]]] = {
    "replace": _replaced,
    "quote": lambda document, found, _: _one(quoted(document.whole_text, found.node)),
    "rename": _renamed,
    "remove": lambda document, found, _: removed(document.whole_text, found),
    "unwrap": lambda document, found, _: unwrapped(document.whole_text, found),
    "wrap": _wrapped,
    "alone": lambda document, found, _: alone(document.whole_text, found),
    "list": lambda document, found, fix: listed(
        document.whole_text, found.node, str(fix.value), is_json=document.is_json
    ),
}
