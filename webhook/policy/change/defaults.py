"""Defaults that the API server sets before policies see an object.

Defaults are declared with the types. New pods also get the additions of the admission plugins that every cluster has:
ServiceAccount, Priority, DefaultTolerationSeconds. The volume with the service account's token is left out: its name
is random.
"""

from __future__ import annotations

from webhook.api import conversion
from webhook.api.versions import DEFAULT
from webhook.objects import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

    from webhook.objects import JSONObject
    from webhook.policy.evaluation.request import Request
    from webhook.release import Release

_EVICTED_AFTER: Final = 300
_NEW: Final[Mapping[str, Any]] = {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
"""The fields of a new pod that admission plugins set, and keep in updates."""


def with_defaults(obj: JSONObject, release: Release = DEFAULT, stored: JSONObject | None = None) -> JSONObject:
    """Return an object as the API server shows it to policies; the object itself is not changed.

    Args:
        obj: The object as submitted.
        release: The Kubernetes release, as the minor of 1.x.
        stored: The object that it updates, as policies see it; None for a new one.
    """
    defaulted = conversion.with_defaults(obj, release)
    spec = defaulted.get("spec")
    if (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Pod") and isinstance(spec, dict):
        old = _NEW if stored is None else stored.get("spec")
        return defaulted | {"spec": _admitted(spec, old if isinstance(old, dict) else {})}
    return defaulted


def completed(request: Request, release: Release = DEFAULT) -> Request:
    """Return a request as the API server shows it to policies: with defaults.

    Args:
        request: A request made of manifests.
        release: The Kubernetes release, as the minor of 1.x.
    """
    obj, old = request.object, request.old_object
    if request.subresource:
        return request
    old = None if old is None else with_defaults(old, release)
    return request._replace(object=None if obj is None else with_defaults(obj, release, old), old_object=old)


def defaulted(request: Request, release: Release) -> Request:
    """Return a request whose object has the defaults of its type again, after policies have changed it.

    Args:
        request: A completed request.
        release: The Kubernetes release, as the minor of 1.x.
    """
    if request.subresource or request.object is None:
        return request
    return request.with_object(conversion.with_defaults(request.object, release))


def _admitted(spec: JSONObject, old: Mapping[str, Any]) -> JSONObject:
    """Complete a pod's spec as admission plugins do; what an update does not state stays.

    Args:
        spec: The spec.
        old: The stored spec, or what a new pod gets.
    """
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or old.get("serviceAccountName", "default")
    tolerations = spec.get("tolerations")
    tolerations = tolerations if isinstance(tolerations, list) else []
    tolerated = {
        each.get("key") for each in tolerations if isinstance(each, dict) and isinstance(each.get("key"), str | None)
    }
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _EVICTED_AFTER}
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        if key not in tolerated
    ]
    return (
        {name: old[name] for name in _NEW if name in old}
        | spec
        | {
            "serviceAccountName": account,
            "serviceAccount": account,
            "tolerations": [*tolerations, *added],
        }
    )


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
