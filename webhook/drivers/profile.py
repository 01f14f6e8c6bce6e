"""Profiles of drivers, as other code reads them, and those that are built in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.documents import Document, parse
from webhook.objects import items

if TYPE_CHECKING:
    from webhook.drivers.rules import ProfileRule
    from webhook.structural.schema import Structural


class Devices(NamedTuple):
    """The devices of one kind.

    Args:
        attributes: The attributes that each has: their types by name, with a domain if it is not the driver's.
        optional: The attributes that some of them have.
        capacity: The capacities that each has.
        optional_capacity: The capacities that some have; ``*`` at the end stands for any number.
        is_shared: Whether several pods are meant to use one of them.
    """

    attributes: Mapping[str, str]
    optional: Mapping[str, str]
    capacity: frozenset[str]
    optional_capacity: frozenset[str]
    is_shared: bool = False

    def type_of(self, name: str) -> str | None:
        """Return the type of an attribute, None if no device of the kind has it."""
        return self.attributes.get(name) or self.optional.get(name)

    def has(self, holder: str, name: str) -> bool:
        """Tell whether some device of the kind has an attribute or a capacity."""
        if holder == "capacity":
            return name in self.capacity or _is_among(name, self.optional_capacity)
        return self.type_of(name) is not None

    def names(self, holder: str) -> Iterable[str]:
        """Return the names of all attributes or capacities."""
        if holder == "capacity":
            return self.capacity | self.optional_capacity
        return (*self.attributes, *self.optional)


def _is_among(name: str, patterns: Iterable[str]) -> bool:
    return any(name == each or (each.endswith("*") and name.startswith(each[:-1])) for each in patterns)


class Profile(NamedTuple):
    """The attributes, capacities and parameters of a driver.

    Args:
        about: Its purpose, in a sentence.
        source: The source of the profile, and its date.
        is_open: Whether its devices may have other attributes, too.
        is_example: Whether its name is a placeholder in examples, so that its devices may be any.
        classes: The kinds of devices of the device classes that come with it, by class.
        kind_attribute: The attribute that tells the kinds apart; empty if there is only one.
        devices: The devices, by kind.
        removed: The replacements of attributes that it no longer publishes, by name.
        gates: Its feature gates, and whether they are on by default.
        plugin_resources: The extended resources of its devices where a device plugin provides them; ``*`` at the end
            stands for anything.
        parameters: The schemas of its opaque parameters, see :mod:`webhook.drivers.schema`; None if unknown.
        schemas: The schemas with rules in CEL, by kind; empty for parameters without a kind.
        rules: Rules in CEL about parameters, requests, claims and their users.
    """

    driver: str
    about: str
    source: str
    is_open: bool
    is_example: bool
    classes: Mapping[str, str]
    kind_attribute: str
    devices: Mapping[str, Devices]
    removed: Mapping[str, str]
    gates: Mapping[str, bool]
    plugin_resources: Sequence[str]
    parameters: Mapping[str, Any] | None
    schemas: Mapping[str, Structural]
    rules: Sequence[ProfileRule]

    def devices_of(self, class_name: str) -> Sequence[Devices]:
        """Return the kinds of devices that a class may select: its own, if it comes with the driver, else all."""
        own = self.devices.get(self.classes.get(class_name, ""))
        return [own] if own else [*self.devices.values()]

    def has_plugin_resource(self, name: str) -> bool:
        """Tell whether a device plugin provides the devices by an extended resource."""
        return _is_among(name, self.plugin_resources)

    def names(self, devices: Iterable[Devices], holder: str) -> set[tuple[str, str]]:
        """Return the domains and names of the attributes or the capacities that some of its devices have."""
        parts = (name.rpartition("/") for each in devices for name in each.names(holder))
        return {(domain or self.driver, name) for domain, _, name in parts}

    def has_domain(self, domain: str) -> bool:
        """Tell whether devices have attributes in a domain."""
        return any(name.startswith(f"{domain}/") for each in self.devices.values() for name in each.names("attributes"))


def valid_profile(value: Any) -> Profile:
    """Read a profile that has no mistakes, as draguard's own.

    Args:
        value: The content of its file.
    """
    from webhook.drivers.rules import ParameterSchema, ProfileRule  # most classes are of drivers without a profile

    parameters = value.get("parameters")
    stated = schemas_of(parameters if isinstance(parameters, dict) else {})
    schemas = {kind: ParameterSchema(each) for kind, each in stated.items()}
    return Profile(
        driver=value["driver"],
        about=value.get("about") or "",
        source=value.get("source") or "",
        is_open=value.get("isOpen") or False,
        is_example=value.get("isExample") or False,
        classes=value.get("classes") or {},
        kind_attribute=value.get("kindAttribute") or "",
        devices={kind: _devices(each) for kind, each in (value.get("devices") or {}).items()},
        removed=value.get("removed") or {},
        gates=value.get("gates") or {},
        plugin_resources=value.get("pluginResources") or (),
        parameters={"schema": {"maxProperties": 0}} if parameters == "none" else parameters,
        schemas={kind: each for kind, each in schemas.items() if each.has_rules},
        rules=[*map(ProfileRule, items(value, "rules"))],
    )


def schemas_of(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schemas of a profile's section about parameters by kind; by an empty text if there are no kinds."""
    return parameters.get("kinds") or {"": parameters.get("schema") or {}}


def _devices(value: dict[str, Any]) -> Devices:
    attributes, optional = texts(value, "attributes"), texts(value, "optional")
    capacity, optional_capacity = _names(value, "capacity"), _names(value, "optionalCapacity")
    return Devices(attributes, optional, capacity, optional_capacity, value.get("shared") or False)


def texts(value: dict[str, Any], key: str) -> dict[str, str]:
    """Return a map of a profile from texts to texts; an empty one if there is none."""
    return {str(name): str(text) for name, text in (value.get(key) or {}).items()}


def _names(value: dict[str, Any], key: str) -> frozenset[str]:
    return frozenset(map(str, value.get(key) or ()))


# -- The built-in profiles


_DIRECTORY: Final = os.path.join(os.path.dirname(__file__), "profiles")
_LONGEST: Final = 253
"""The most characters of the name of a class."""


@cache
def built_in() -> tuple[str, ...]:
    """Return the drivers with built-in profiles, in order."""
    return tuple(sorted(name.removesuffix(".yaml") for name in os.listdir(_DIRECTORY) if name.endswith(".yaml")))


def profile_of(driver: str) -> Profile | None:
    """Return the built-in profile of a driver, None if there is none."""
    # Objects may name any driver: only known ones are cached.
    return _read(driver) if driver in built_in() else None


def driver_of_class(name: str) -> str:
    """Return the known driver that installs a device class; empty if there is none."""
    return _driver_of_class(name) if len(name) <= _LONGEST else ""


@lru_cache(maxsize=256)
def _driver_of_class(name: str) -> str:
    # Finding the file with the name is faster than parsing all files.
    having = (driver for driver in built_in() if name and name in text_of(driver))
    return next((driver for driver in having if name in _read(driver).classes), "")


@cache
def text_of(driver: str) -> str:
    """Return the file of a driver that :func:`built_in` lists."""
    with open(os.path.join(_DIRECTORY, f"{driver}.yaml"), encoding="utf-8") as file:
        return file.read()


@cache
def _read(driver: str) -> Profile:
    return valid_profile(next(each.data for each in parse(text_of(driver)) if isinstance(each, Document)))
