"""Rewrites the text of a file so that it holds other objects."""

from __future__ import annotations

from copy import deepcopy
from itertools import groupby

from webhook.documents.rewriting.rewrite import read_value, rewritten, same
from webhook.problem import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from webhook.documents.document import Document

_TYPE = ("apiVersion", "kind")


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
        pieces += text[end:start], _rewritten(text[start:stop], together, adapt)
        end = stop
    return "".join((*pieces, text[end:]))


def _rewritten(text: str, pairs: Sequence[tuple[Document, Any]], adapt: Callable[[Any, Sequence[Any]], None]) -> str:
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
