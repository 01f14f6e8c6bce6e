"""Defaults that the API server sets before policies see an object; they are declared with the types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from webhook.objects import text
from webhook.policy.evaluation.policyset import decoded
from webhook.policy.evaluation.request import Request
from webhook.policy.manifest.kinds import Kinds


def completed(request: Request, kinds: Kinds) -> Request:
    """Return a request of manifests as the API server shows it to policies: with defaults."""
    if request.subresource and kinds.custom(request.kind) is None:
        return request
    obj, old = (each if each is None else decoded(each, kinds) for each in (request.object, request.old_object))
    return request._replace(object=obj, old_object=old)


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
        given, wrote = (each if isinstance(each, dict) else {} for each in (submitted, written))
        kept = {
            key: stated(each, before.get(key), given.get(key), wrote.get(key))
            for key, each in value.items()
            if key in given or key not in before or before[key] != each
        }
        left_out = {key: each for key, each in given.items() if key not in before and key not in value}
        return left_out | {key: each for key, each in kept.items() if each or key in given or not before.get(key)}
    if isinstance(value, list) and isinstance(before, list):
        return list(_items(value, before, *(each if isinstance(each, list) else [] for each in (submitted, written))))
    return _as_written(value, written)


def _items(value: list[Any], before: list[Any], submitted: list[Any], written: list[Any]) -> Iterator[Any]:
    alike: dict[str, int] = {}  # the list may be long, so that it is not searched for each item
    named: dict[str, int] = {}
    for position, item in enumerate(before):
        alike.setdefault(json.dumps(item, sort_keys=True), position)
        if name := text(item, "name"):
            named.setdefault(name, position)
    found = [alike.get(json.dumps(each, sort_keys=True), named.get(text(each, "name"))) for each in value]
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
