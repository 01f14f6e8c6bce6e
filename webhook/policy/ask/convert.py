"""Converts objects to the API version that a policy matches.

Those of DRA are converted by :mod:`webhook.api.conversion`; Events follow ``pkg/apis/events/v1/conversion.go``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.api import conversion
from webhook.policy.ask.params import ConfigurationError
from webhook.policy.manifest.kinds import Kind, kind_of
from webhook.policy.manifest.objects import text_of

if TYPE_CHECKING:
    from webhook.policy.manifest.objects import JSONObject

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
    if own.kind == "Event" and own.api_version in _EVENTS and kind.api_version in _EVENTS:
        names = _EVENTS[kind.api_version]
        return {names.get(name, name): value for name, value in obj.items()} | {"apiVersion": kind.api_version}
    try:
        return conversion.convert(obj, kind.api_version)
    except conversion.ConversionError:
        msg = f"draguard cannot convert {own} to {kind.api_version}"
        raise ConfigurationError(msg) from None
