"""What slices of a cluster share, kept once: names, attributes and capacities take most of its memory."""

from __future__ import annotations

import marshal
from sys import intern

from webhook.objects import items, mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from webhook.objects import JSONObject

_MOST: Final = 1 << 12
"""The number of different values that are known: of a serial number, each device has another."""
_PLAIN: Final = 2
"""The format of marshal in which equal values have equal bytes: later ones contain back references."""


class Repeated:
    """Replaces equal values by one."""

    def __init__(self) -> None:
        self._known: dict[bytes, Any] = {}

    def share(self, resource_slice: JSONObject) -> None:
        """Let a slice share its names, and the attributes and capacities of its devices, with earlier slices.

        Args:
            resource_slice: A ResourceSlice of v1, which nothing changes from now on.
        """
        spec, pool = resource_slice["spec"], mapping(resource_slice, "spec", "pool")
        for holder, field in ((spec, "driver"), (spec, "nodeName"), (pool, "name")):
            if field in holder:
                holder[field] = intern(holder[field])
        for device in items(resource_slice, "spec", "devices"):
            attributes = mapping(device, "attributes")
            for name in attributes:
                attributes[name] = self._one(attributes[name])
            if "capacity" in device:
                device["capacity"] = self._one(device["capacity"])

    def _one(self, value: Any) -> Any:
        """Return the first of all values that equal one."""
        try:
            key = marshal.dumps(value, _PLAIN)
        except ValueError:  # nested too deeply
            return value
        if (known := self._known.get(key)) is None and len(self._known) < _MOST:
            self._known[key] = value
        return value if known is None else known
