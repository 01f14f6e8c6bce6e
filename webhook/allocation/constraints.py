"""Constraints between the devices of a claim: ``matchAttribute`` and ``distinctAttribute``, upstream's quirks included.

Follows ``allocator_incubating.go`` (matchAttributeConstraint) and ``constraint.go`` (distinctAttributeConstraint); with
list attributes, ``allocator_experimental.go``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Final

from webhook.allocation.devices import Content

_SCALARS: Final = ("string", "int", "bool", "version")
_LISTS: Final = (("ints", "int"), ("bools", "bool"), ("strings", "string"), ("versions", "version"))
UNKNOWN: Final = ("unknown", None)
"""The value of an attribute whose type is not known to the implementation."""

Value = tuple[str, Any] | frozenset[tuple[str, Any]]


class Attribute:
    """An attribute that a constraint reads, with its values so far, by the index of their content.

    Args:
        name: Its name, with the domain.
        with_lists: Whether lists are supported; then every value is a set.
    """

    def __init__(self, name: str, *, with_lists: bool) -> None:
        self.name, self._with_lists = name, with_lists
        self.known: dict[int, Value | None] = {}

    def of(self, content: Content) -> Value | None:
        """Return the value that a device has, None if it has none."""
        if content.index in self.known:
            return self.known[content.index]
        attribute = content.attribute(self.name)
        found = self.known[content.index] = None if attribute is None else self.read(attribute)
        return found

    def read(self, attribute: Mapping[str, Any]) -> Value:
        """Return the value of an attribute, as in the API."""
        if self._with_lists:
            for kind, scalar in _LISTS:
                if attribute.get(kind):
                    return frozenset((scalar, each) for each in attribute[kind])
        for kind in _SCALARS:
            value = attribute.get(kind)
            if value is not None:
                found = (kind, value)
                return frozenset({found}) if self._with_lists else found
        return UNKNOWN


class Match:
    """All devices have the same value."""

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        self.number = 0
        self.value: Value | None = None

    def add(self, _request: str, value: Value | None, _device: int) -> bool:
        """Add a device, if its value satisfies the constraint."""
        if value is None:
            return False
        if self.number == 0:
            self.value = value
        elif value == UNKNOWN or value != self.value:
            return False
        self.number += 1
        return True

    def remove(self, _request: str) -> None:
        """Remove a device."""
        self.number -= 1

    @property
    def state(self) -> Hashable:
        """The values that later devices are compared with."""
        return self.value if self.number else None

    def save(self) -> object:
        """Return the state, for `restore`."""
        return self.number, self.value

    def restore(self, saved: Any) -> None:
        """Go back to a saved state."""
        self.number, self.value = saved


class MatchLists(Match):
    """All devices have a value in common.

    Removing a device does not widen the common values, unless it is the last one.
    """

    def add(self, _request: str, value: Value | None, _device: int) -> bool:
        """Add a device, if its value satisfies the constraint."""
        if value is None or not isinstance(value, frozenset):
            return False
        if self.number == 0:
            self.value = value
        else:
            common = value & self.value if isinstance(self.value, frozenset) else frozenset()
            if not common:
                return False
            self.value = common
        self.number += 1
        return True


class Distinct:
    """No two devices have the same value; of each request only the last device is remembered."""

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        self.number = 0
        self.values: dict[str, Value] = {}

    def add(self, request: str, value: Value | None, device: int) -> bool:
        """Add a device, if its value satisfies the constraint."""
        if value is None:
            return False
        value = self._comparable(value, device)
        if self.number and not self._is_distinct(value):
            return False
        self.values[request] = value
        self.number += 1
        return True

    def _comparable(self, value: Value, _device: int) -> Value:
        """Return the key that tells values apart."""
        return value

    def _is_distinct(self, value: Value) -> bool:
        return not self.values or (value != UNKNOWN and value not in self.values.values())

    def remove(self, request: str) -> None:
        """Remove a device; the request is forgotten even if it has other devices."""
        self.values.pop(request, None)
        self.number -= 1

    @property
    def state(self) -> Hashable:
        """The values that later devices are compared with."""
        return self.number > 0, frozenset(self.values.values())

    def save(self) -> object:
        """Return the state, for `restore`."""
        return self.number, frozenset(self.values.items())

    def restore(self, saved: Any) -> None:
        """Go back to a saved state."""
        self.number, self.values = saved[0], dict(saved[1])


class DistinctDevices(Distinct):
    """No two devices are the same, whatever their values: until 1.34 pointers to values were compared."""

    def _comparable(self, value: Value, device: int) -> Value:
        return value if value == UNKNOWN else ("device", device)


class DistinctLists(Distinct):
    """No two devices have a value in common."""

    def _is_distinct(self, value: Value) -> bool:
        if not isinstance(value, frozenset):
            return False
        return not any(isinstance(each, frozenset) and each & value for each in self.values.values())


Constraint = Match | Distinct
