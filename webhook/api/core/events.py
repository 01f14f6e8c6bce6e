"""Events: names of fields in the core group and ``events.k8s.io`` (``pkg/apis/events/v1/conversion.go``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_NAMES: Final = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}

RENAMED: Final[Mapping[str, Mapping[str, str]]] = {
    "v1": {new: old for old, new in _NAMES.items()},
    "events.k8s.io/v1": _NAMES,
}
"""The new names of fields, by the version that an Event is converted to."""
