"""Defaults that the API server sets before policies see an object; they are declared with the types."""

from __future__ import annotations

from webhook.objects import text
from webhook.policy.evaluation.decoding import decoded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from webhook.policy.evaluation.request import Request
    from webhook.policy.manifest.kinds import Kinds


def completed(request: Request, kinds: Kinds) -> Request:
    """Return a request as the API server shows it to policies: with defaults.

    Args:
        request: A request made of manifests.
        kinds: The known kinds, and the release.
    """
    obj, old = request.object, request.old_object
    if request.subresource and kinds.custom(request.kind) is None:
        return request
    return request._replace(
        object=None if obj is None else decoded(obj, kinds),
        old_object=None if old is None else decoded(old, kinds),
    )


def defaulted(request: Request, kinds: Kinds) -> Request:
    """Return a request whose object has the defaults of its type again, after policies have changed it.

    Args:
        request: A completed request.
        kinds: The known kinds, and the release.
    """
    if request.object is None or (request.subresource and kinds.custom(request.kind) is None):
        return request
    return request.with_object(decoded(request.object, kinds))


def without_defaults(value: Any, defaulted: Any, submitted: Any) -> Any:
    """Return a value without the defaults that were added to it and have not been changed since.

    Args:
        value: The value after admission.
        defaulted: The value with its defaults.
        submitted: The value as submitted.
    """
    if value == defaulted:
        return submitted
    if isinstance(value, dict) and isinstance(defaulted, dict):
        given = submitted if isinstance(submitted, dict) else {}
        kept = {
            key: without_defaults(each, defaulted[key], given.get(key)) if key in defaulted else each
            for key, each in value.items()
            if key in given or key not in defaulted or defaulted[key] != each
        }
        left_out = {key: each for key, each in given.items() if key not in defaulted and key not in value}
        return left_out | {key: each for key, each in kept.items() if each or key in given or not defaulted.get(key)}
    if isinstance(value, list) and isinstance(defaulted, list):
        given_items = submitted if isinstance(submitted, list) else []
        places = _Places(defaulted)
        return [
            each if index is None else without_defaults(each, defaulted[index], given_items[index])
            for each in value
            if (index := places.of(each)) is None or index < len(given_items)
        ]
    return value


class _Places:
    """Finds items of a list, which may be long, without a search through all of it.

    Args:
        items: The list.
    """

    def __init__(self, items: list[Any]) -> None:
        self._items = items
        self._alike: dict[int, list[int]] = {}
        self._named: dict[str, int] = {}
        for index, item in enumerate(items):
            self._alike.setdefault(_hash(item), []).append(index)
            if name := _name(item):
                self._named.setdefault(name, index)

    def of(self, item: Any) -> int | None:
        """Return the index of the first equal item, or of one of the same name."""
        equal = (index for index in self._alike.get(_hash(item), ()) if self._items[index] == item)
        return next(equal, self._named.get(_name(item)))


def _name(item: Any) -> str:
    return text(item, "name")


def _hash(value: Any) -> int:
    """Hash a JSON value; equal ones alike."""
    if isinstance(value, dict):
        return hash(frozenset((key, _hash(each)) for key, each in value.items()))
    return hash(tuple(map(_hash, value)) if isinstance(value, list) else value)
