"""Objects in another version of their API: what policies see that were written for that version.

Those of DRA follow ``pkg/apis/resource`` (conversion.go of each version): before v1beta2 the fields of ``exactly`` are
a request's own, and those of a device are in ``basic``; in v1alpha3 a capacity is a plain quantity. Events follow
``pkg/apis/events/v1/conversion.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.policy.kinds import Kind, kind_of
from webhook.policy.params import ConfigurationError
from webhook.policy.request import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from webhook.policy.request import JSONObject

_GROUP: Final = "resource.k8s.io"
_REQUEST_FIELDS: Final = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)
_EVENT_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
"""Fields of a core Event, and what events.k8s.io calls them."""
_EVENTS: Final = {
    "v1": {new: old for old, new in _EVENT_NAMES.items()},
    "events.k8s.io/v1": _EVENT_NAMES,
}
"""What is renamed in an Event on its way to a version."""


def convert(obj: JSONObject | None, kind: Kind) -> JSONObject | None:
    """Return an object in another version of its kind.

    Args:
        obj: The object; None stays None.
        kind: The kind, in the wanted version.

    Raises:
        ConfigurationError: It is not known here how the two versions differ.
    """
    if obj is None:
        return None
    own = kind_of(text_of(obj, "apiVersion"), text_of(obj, "kind"))
    if own == kind or own.kind != kind.kind:  # a Scale, or the options of a DELETE, is of a kind of its own
        return obj
    moved = {**obj, "apiVersion": kind.api_version}
    if own.group == kind.group == _GROUP and own.version in _FORMS and kind.version in _FORMS:
        source, wanted = _FORMS[own.version], _FORMS[kind.version]
        if source is wanted:
            return moved
        newest = _changed(moved, source.request_to_newest, source.device_to_newest)
        return _changed(newest, wanted.request_from_newest, wanted.device_from_newest)
    if own.kind == "Event" and own.api_version in _EVENTS and kind.api_version in _EVENTS:
        return {_EVENTS[kind.api_version].get(name, name): value for name, value in moved.items()}
    msg = f"draguard cannot convert {own} to {kind.api_version}"
    raise ConfigurationError(msg)


def _changed(
    obj: JSONObject, request: Callable[[JSONObject], JSONObject], device: Callable[[JSONObject], JSONObject]
) -> JSONObject:
    changed = {
        "ResourceClaim": (("spec", "devices", "requests"), request),
        "ResourceClaimTemplate": (("spec", "spec", "devices", "requests"), request),
        "ResourceSlice": (("spec", "devices"), device),
    }.get(obj["kind"])
    return obj if changed is None else _replaced(obj, *changed)


def _replaced(value: Any, path: tuple[str, ...], change: Callable[[JSONObject], JSONObject]) -> Any:
    """Return a value with every item of the list at a path changed; what is malformed stays as it is."""
    if not path:
        items = value if isinstance(value, list) else None
        return value if items is None else [change(each) if isinstance(each, dict) else each for each in items]
    if not isinstance(value, dict) or path[0] not in value:
        return value
    return {**value, path[0]: _replaced(value[path[0]], path[1:], change)}


def _boxed_request(request: JSONObject) -> JSONObject:
    exactly = {name: request[name] for name in _REQUEST_FIELDS if name in request}
    others = {name: each for name, each in request.items() if name not in exactly}
    return {**others, "exactly": exactly} if exactly else others


def _unboxed_request(request: JSONObject) -> JSONObject:
    exactly = request.get("exactly")
    others = {name: each for name, each in request.items() if name != "exactly"}
    return {**others, **exactly} if isinstance(exactly, dict) else others


def _unboxed_device(device: JSONObject) -> JSONObject:
    basic = device.get("basic")
    others = {name: each for name, each in device.items() if name != "basic"}
    return {**others, **basic} if isinstance(basic, dict) else others


def _boxed_device(device: JSONObject) -> JSONObject:
    basic = {name: each for name, each in device.items() if name != "name"}
    own = {"name": device["name"]} if "name" in device else {}
    return {**own, "basic": basic}


def _same(part: JSONObject) -> JSONObject:
    return part


def _unboxed_plain_device(device: JSONObject) -> JSONObject:
    return _with_capacity(_unboxed_device(device), lambda quantity: {"value": quantity})


def _boxed_plain_device(device: JSONObject) -> JSONObject:
    plain = _with_capacity(device, lambda capacity: capacity.get("value") if isinstance(capacity, dict) else capacity)
    return _boxed_device(plain)


def _with_capacity(device: JSONObject, change: Callable[[Any], Any]) -> JSONObject:
    capacity = device.get("capacity")
    if not isinstance(capacity, dict):
        return device
    return {**device, "capacity": {name: change(each) for name, each in capacity.items()}}


class _Form(NamedTuple):
    """How a version writes requests and devices, told by what it takes to get from and to the newest version."""

    request_to_newest: Callable[[JSONObject], JSONObject] = _same
    device_to_newest: Callable[[JSONObject], JSONObject] = _same
    request_from_newest: Callable[[JSONObject], JSONObject] = _same
    device_from_newest: Callable[[JSONObject], JSONObject] = _same


_NEWEST: Final = _Form()
_FORMS: Final = {
    "v1": _NEWEST,
    "v1beta2": _NEWEST,
    "v1beta1": _Form(_boxed_request, _unboxed_device, _unboxed_request, _boxed_device),
    "v1alpha3": _Form(_boxed_request, _unboxed_plain_device, _unboxed_request, _boxed_plain_device),
}
