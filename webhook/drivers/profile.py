"""A driver's profile: read from a file, and checked as a whole, so that other code need not check it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from webhook.api.dra.device import ONE_VALUE
from webhook.drivers.errors import ProfileError, check_keys
from webhook.drivers.schema import check_section
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TYPES: Final = frozenset(ONE_VALUE)
"""The types of attributes, as ResourceSlices have them."""

_KEYS: Final = frozenset(
    {
        "driver",
        "about",
        "source",
        "isExample",
        "isOpen",
        "classes",
        "kindAttribute",
        "devices",
        "removed",
        "gates",
        "parameters",
    }
)
_DEVICE_KEYS: Final = frozenset({"attributes", "optional", "capacity", "optionalCapacity"})


class Devices(NamedTuple):
    """The devices of one kind.

    Args:
        attributes: The attributes that each has: their types by name, with a domain if it is not the driver's.
        optional: The attributes that some of them have.
        capacity: The capacities that each has.
        optional_capacity: Those that some have; ``*`` at the end stands for any number.
    """

    attributes: Mapping[str, str]
    optional: Mapping[str, str]
    capacity: frozenset[str]
    optional_capacity: frozenset[str]

    def type_of(self, name: str) -> str | None:
        """Return the type of an attribute, None if no device of the kind has it."""
        return self.attributes.get(name) or self.optional.get(name)

    def has_capacity(self, name: str) -> bool:
        """Tell whether some device of the kind has a capacity."""
        return name in self.capacity or any(
            name == each or (each.endswith("*") and name.startswith(each[:-1])) for each in self.optional_capacity
        )


class Profile(NamedTuple):
    """The attributes, capacities and parameters of a driver.

    Args:
        driver: Its name.
        about: Its purpose, in a sentence.
        source: The source of the profile, and its date.
        is_open: Whether its devices may have other attributes, too.
        is_example: Whether its name is a placeholder in examples, so that its devices may be any.
        classes: The kinds of devices of the device classes that come with it, by class.
        kind_attribute: The attribute that tells the kinds apart; empty if there is only one.
        devices: The devices, by kind.
        removed: The replacements of attributes that it no longer publishes, by name.
        gates: Its feature gates, and whether they are on by default.
        parameters: The schemas of its opaque parameters, see :mod:`webhook.drivers.parameters`; None if unknown.
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
    parameters: Mapping[str, Any] | None

    def name_in(self, domain: str, name: str) -> str:
        """Return the profile's name of an attribute or capacity in a domain."""
        return name if domain == self.driver else f"{domain}/{name}"

    def has_domain(self, domain: str) -> bool:
        """Tell whether devices have attributes in a domain."""
        names = (name for each in self.devices.values() for name in (*each.attributes, *each.optional))
        return any(name.startswith(f"{domain}/") for name in names)


def read_profile(value: Any) -> Profile:
    """Read a profile.

    Args:
        value: The content of its file.

    Raises:
        ProfileError: It is malformed.
    """
    check_keys("the profile", value, _KEYS)
    devices = _mapping(value, "devices")
    if not isinstance(value.get("driver"), str) or not value["driver"]:
        raise ProfileError("driver: name the driver, such as gpu.example.com")
    parameters = value.get("parameters")
    if parameters is not None and parameters != "none" and not isinstance(parameters, dict):
        raise ProfileError('parameters: give an object, or "none" if the driver takes none')
    gates = {str(gate): bool(on) for gate, on in _mapping(value, "gates").items()}
    mistakes: list[str] = []
    if isinstance(parameters, dict):
        _collect(mistakes, check_section, parameters, gates)
    described = {kind: _collect(mistakes, _devices, kind, each) for kind, each in devices.items()}
    if mistakes:
        raise ProfileError(*mistakes)
    return Profile(
        driver=value["driver"],
        about=str(value.get("about", "")),
        source=str(value.get("source", "")),
        is_open=bool(value.get("isOpen")),
        is_example=bool(value.get("isExample")),
        classes=_texts(value, "classes"),
        kind_attribute=str(value.get("kindAttribute", "")),
        devices={kind: each for kind, each in described.items() if each is not None},
        removed=_texts(value, "removed"),
        gates=gates,
        parameters={"schema": {"maxProperties": 0}} if parameters == "none" else parameters,
    )


_T = TypeVar("_T")


def _collect(mistakes: list[str], read: Callable[..., _T], *arguments: Any) -> _T | None:
    """Read a part of a profile; collect its mistakes."""
    try:
        return read(*arguments)
    except ProfileError as error:
        mistakes.extend(error.args)
        return None


def _devices(kind: str, value: Any) -> Devices:
    where = f"devices.{kind}"
    check_keys(where, value, _DEVICE_KEYS)
    attributes, optional = _texts(value, "attributes", where), _texts(value, "optional", where)
    types = ", ".join(sorted(TYPES))
    wrong = {name: type_ for name, type_ in {**attributes, **optional}.items() if type_ not in TYPES}
    if wrong:
        mistakes = (f'attribute {name} is of type "{each}"; types are {types}' for name, each in wrong.items())
        raise ProfileError(*(f"{where}: {each}" for each in mistakes))
    capacity, more = (_names(value, key, where) for key in ("capacity", "optionalCapacity"))
    return Devices(attributes, optional, capacity, more)


def _mapping(value: dict[str, Any], key: str, where: str = "") -> dict[str, Any]:
    found = {} if value.get(key) is None else value[key]
    if not isinstance(found, dict):
        raise ProfileError(f"{where}{'.' if where else ''}{key}: give an object")
    return found


def _texts(value: dict[str, Any], key: str, where: str = "") -> dict[str, str]:
    return {str(name): str(text) for name, text in _mapping(value, key, where).items()}


def _names(value: dict[str, Any], key: str, where: str) -> frozenset[str]:
    found = [] if value.get(key) is None else value[key]
    if not isinstance(found, list):
        raise ProfileError(f"{where}.{key}: give a list of names")
    return frozenset(map(str, found))
