"""A driver's profile: read from a file, and checked as a whole, so that other code need not check it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webhook.api.dra.device import ONE_VALUE
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

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
_SCHEMA_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    **dict.fromkeys(("properties", "schema"), (dict, type(None))),
    "required": (list, type(None)),
    **dict.fromkeys(("gates", "kinds", "onlyWith"), (dict,)),
    "enum": (list,),
    **dict.fromkeys(("apiVersion", "format", "gate", "notWith", "type"), (str,)),
    **dict.fromkeys(("maximum", "minimum"), (int, float)),
    **dict.fromkeys(("maxItems", "maxLength", "maxProperties"), (int,)),
    **dict.fromkeys(("minItems", "minLength", "minProperties"), (int,)),
}
"""The types of the values of keywords in parameters and their schemas."""
_DEVICE_KEYS: Final = frozenset({"attributes", "optional", "capacity", "optionalCapacity"})


class ProfileError(ValueError):
    """A profile cannot be used; the message says where and why."""


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
    _keys("the profile", value, _KEYS)
    devices = _mapping(value, "devices")
    if not isinstance(value.get("driver"), str) or not value["driver"]:
        raise ProfileError("driver: name the driver, such as gpu.example.com")
    parameters = value.get("parameters")
    if parameters is not None and parameters != "none" and not isinstance(parameters, dict):
        raise ProfileError('parameters: give an object, or "none" if the driver takes none')
    if isinstance(parameters, dict):
        _parameters(parameters)
    return Profile(
        driver=value["driver"],
        about=str(value.get("about", "")),
        source=str(value.get("source", "")),
        is_open=bool(value.get("isOpen")),
        is_example=bool(value.get("isExample")),
        classes=_texts(value, "classes"),
        kind_attribute=str(value.get("kindAttribute", "")),
        devices={kind: _devices(kind, each) for kind, each in devices.items()},
        removed=_texts(value, "removed"),
        gates={str(gate): bool(on) for gate, on in _mapping(value, "gates").items()},
        parameters={"schema": {"maxProperties": 0}} if parameters == "none" else parameters,
    )


def _devices(kind: str, value: Any) -> Devices:
    where = f"devices.{kind}"
    _keys(where, value, _DEVICE_KEYS)
    attributes, optional = _texts(value, "attributes", where), _texts(value, "optional", where)
    for name, type_ in {**attributes, **optional}.items():
        if type_ not in TYPES:
            raise ProfileError(f'{where}: attribute {name} is of type "{type_}"; types are {", ".join(sorted(TYPES))}')
    capacity, more = (_names(value, key, where) for key in ("capacity", "optionalCapacity"))
    return Devices(attributes, optional, capacity, more)


def _parameters(value: dict[str, Any]) -> None:
    """Check the section about parameters."""
    _typed("parameters", value)
    _schema("parameters.schema", value.get("schema") or {})
    for kind, schema in value.get("kinds", {}).items():
        _schema(f"parameters.kinds.{kind}", schema)
    if value.get("kinds") and "apiVersion" not in value:
        raise ProfileError("parameters: kinds need an apiVersion")


def _schema(where: str, value: Any) -> None:
    _typed(where, value)
    if not all(isinstance(name, str) for name in value.get("required") or ()):
        raise ProfileError(f"{where}.required: give a list of names")
    if not all(isinstance(gate, str) for gate in value.get("gates", {}).values()):
        raise ProfileError(f"{where}.gates: give the names of feature gates")
    only = value.get("onlyWith")
    if only is not None and not (isinstance(only.get("field"), str) and "value" in only):
        raise ProfileError(f"{where}.onlyWith: give a field and a value")
    for name, inner in (value.get("properties") or {}).items():
        _schema(f"{where}.{name}", inner)
    for key in ("items", "additionalProperties"):
        if isinstance(value.get(key), dict):
            _schema(f"{where}.{key}", value[key])


def _typed(where: str, value: Any) -> None:
    """Check that a schema is an object, and its keywords are of their types."""
    if not isinstance(value, dict):
        raise ProfileError(f"{where}: give an object")
    for key, types in _SCHEMA_TYPES.items():
        if key in value and not isinstance(value[key], types):
            raise ProfileError(f"{where}.{key}: {type(value[key]).__name__} is not of the type that it takes")


def _keys(where: str, value: Any, known: frozenset[str]) -> None:
    if not isinstance(value, dict):
        raise ProfileError(f"{where}: give an object")
    if unknown := sorted(map(str, value.keys() - known)):
        raise ProfileError(f"{where}: unknown key {unknown[0]}; keys are {', '.join(sorted(known))}")


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
