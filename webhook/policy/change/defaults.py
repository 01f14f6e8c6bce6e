"""Defaults that the API server sets before policies see an object; they are declared with the types."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from webhook.objects import JSONObject, text
from webhook.policy.evaluation.clusterobjects import decoded
from webhook.policy.manifest.kinds import Kinds

if TYPE_CHECKING:
    from webhook.policy.evaluation.request import Request


def completed(request: Request, kinds: Kinds) -> Request:
    """Return a request of manifests as the API server shows it to policies: with defaults."""
    obj, old = request.object, request.old_object
    if request.subresource and kinds.custom(request.kind) is None:
        return request
    return request._replace(
        object=None if obj is None else decoded(obj, kinds), old_object=None if old is None else decoded(old, kinds)
    )


def defaulted(request: Request, kinds: Kinds) -> Request:
    """Return a request whose object has the defaults of its type again, after policies have changed it."""
    return completed(request._replace(old_object=None), kinds)._replace(old_object=request.old_object)


def stated(value: Any, before: Any, submitted: Any, written: Any) -> Any:
    """Return what a client submitted, with the changes since.

    Args:
        value: The completed value after the changes.
        before: The completed value before them.
        submitted: The value as submitted, which is without most of what completes it.
        written: The value as the changes wrote it: of new values, nothing else is returned.
    """
    if value == before:
        return submitted
    if isinstance(value, dict) and isinstance(before, dict):
        given, wrote = _as_dict(submitted), _as_dict(written)
        kept = {
            key: stated(each, before.get(key), given.get(key), wrote.get(key))
            for key, each in value.items()
            if key in given or key not in before or before[key] != each
        }
        left_out = {key: each for key, each in given.items() if key not in before and key not in value}
        return left_out | {key: each for key, each in kept.items() if each or key in given or not before.get(key)}
    if isinstance(value, list) and isinstance(before, list):
        return list(_items(value, before, _as_list(submitted), _as_list(written)))
    return _as_written(value, written)


def _items(value: list[Any], before: list[Any], submitted: list[Any], written: list[Any]) -> Iterator[Any]:
    places = _Places(before)
    found = [places.of(each) for each in value]
    free = set(range(len(before))).difference(index for index in found if index is not None)
    for place, (each, known, wrote) in enumerate(zip_longest(value, found, written[: len(value)])):
        index = place if known is None and place in free else known
        if index is not None and index < len(submitted):
            yield stated(each, before[index], submitted[index], wrote)
        elif index is None or each != before[index]:
            yield _as_written(each, wrote)


def _as_written(value: Any, written: Any) -> Any:
    """Return a new value without what completes it."""
    if isinstance(value, dict) and isinstance(written, dict):
        return {key: _as_written(each, written[key]) for key, each in value.items() if key in written}
    if isinstance(value, list) and isinstance(written, list):
        return list(map(_as_written, value, written))
    return value


def _as_dict(value: Any) -> JSONObject:
    return value if isinstance(value, dict) else {}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


class _Places:
    """Finds items of a list, which may be long, without a search through all of it."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items
        self._alike: dict[int, list[int]] = {}
        self._named: dict[str, int] = {}
        for index, item in enumerate(items):
            self._alike.setdefault(_hash(item), []).append(index)
            if name := text(item, "name"):
                self._named.setdefault(name, index)

    def of(self, item: Any) -> int | None:
        """Return the index of the first equal item, or of one of the same name."""
        equal = (index for index in self._alike.get(_hash(item), ()) if self._items[index] == item)
        return next(equal, self._named.get(text(item, "name")))


def _hash(value: Any) -> int:
    """Hash a JSON value; equal ones alike."""
    if isinstance(value, dict):
        return hash(frozenset((key, _hash(each)) for key, each in value.items()))
    return hash(tuple(map(_hash, value)) if isinstance(value, list) else value)
