"""A driver's profile: read from a file, and checked as a whole, so that other code need not check it."""

from __future__ import annotations

from webhook.api.dra.names import ONE_VALUE
from webhook.drivers.errors import (
    BOOLEAN,
    MAP,
    TEXT,
    Form,
    Mistake,
    ProfileError,
    ProfilePlace,
    malformed,
    malformed_items,
    meant,
    optional,
    unknown_keys,
)
from webhook.drivers.schema import mistakes_in_section
from webhook.later import Module
from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Final

_coherence: Final = Module("webhook.drivers.coherence")
TYPES: Final = frozenset(ONE_VALUE)
"""The types of attributes, as ResourceSlices have them."""

_FORMS: Final = {
    **dict.fromkeys(("about", "kindAttribute", "source"), optional(TEXT)),
    **dict.fromkeys(("isExample", "isOpen"), optional(BOOLEAN)),
    **dict.fromkeys(("classes", "devices", "gates", "removed"), optional(MAP)),
}
"""The keys of a profile, and their values; those of other keys are checked apart."""
_KEYS: Final = frozenset({"driver", "parameters", *_FORMS})
_NAMED: Final = {"classes": TEXT, "gates": BOOLEAN, "removed": TEXT}
"""The values of keys that are maps from names."""
_MOST_VALUES: Final = 50_000
"""The most values of a profile: those of draguard have 200, large CustomResourceDefinitions 10,000."""
_ATTRIBUTES: Final = ("attributes", "optional")
_DEVICE_FORMS: Final = {
    **dict.fromkeys(_ATTRIBUTES, optional(MAP)),
    **dict.fromkeys(("capacity", "optionalCapacity"), optional(Form("a list of names", (list,)))),
}


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
    if not _is_small(value):
        text = f"it has more than {_MOST_VALUES:,} values: leave out what the driver does not check"
        raise ProfileError(Mistake((), text))
    mistakes = [*_mistakes(value)]
    if isinstance(value, dict):
        malformed_keys = {each.path[0] for each in mistakes if each.path}
        mistakes += _coherence.mistakes({key: each for key, each in value.items() if key not in malformed_keys})
    if mistakes:
        raise ProfileError(*mistakes)
    return valid_profile(value)


def valid_profile(value: Any) -> Profile:
    """Read a profile that has no mistakes, as draguard's own.

    Args:
        value: The content of its file.
    """
    parameters = value.get("parameters")
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
        parameters={"schema": {"maxProperties": 0}} if parameters == "none" else parameters,
    )


def _is_small(value: Any) -> bool:
    """Tell whether a profile has no more values than it may, with those of its aliases."""
    left, pending = _MOST_VALUES, [value]
    while pending and left >= 0:
        each = pending.pop()
        inner = list(each.values()) if isinstance(each, dict) else each if isinstance(each, list) else []
        left -= len(inner)
        pending += inner[: left + 1] if left >= 0 else []
    return left >= 0


def _mistakes(value: Any) -> Iterator[Mistake]:
    root = ProfilePlace()
    yield from unknown_keys(root, value, _KEYS, dict.fromkeys(_DEVICE_FORMS, "devices.KIND"))
    if not isinstance(value, dict):
        return
    if not isinstance(value.get("driver"), str) or not value["driver"]:
        yield (root / "driver").mistake("name the driver, such as gpu.example.com")
    wrong = dict(malformed(root, value, _FORMS))
    yield from wrong.values()
    for key in (each for each in _NAMED if each not in wrong):
        yield from malformed_items(root / key, value.get(key) or {}, _NAMED[key])
    gates = {} if "gates" in wrong else value.get("gates") or {}
    for gate in gates:
        if not str(gate)[:1].isalpha():
            yield (root / "gates").mistake(f"{gate} is not a name of a feature gate", gate)
    parameters = value.get("parameters")
    if isinstance(parameters, dict):
        yield from mistakes_in_section(parameters, gates)
    elif parameters not in (None, "none"):
        yield (root / "parameters").mistake('must be a map, or "none" if the driver takes none')
    for kind, each in ({} if "devices" in wrong else value.get("devices") or {}).items():
        yield from _mistakes_of_devices(root / "devices" / kind, each)


def _mistakes_of_devices(where: ProfilePlace, value: Any) -> Iterator[Mistake]:
    yield from unknown_keys(where, value, _DEVICE_FORMS)
    if not isinstance(value, dict):
        return
    wrong = dict(malformed(where, value, _DEVICE_FORMS))
    yield from wrong.values()
    seen = set[str]()
    for key in (each for each in _ATTRIBUTES if each not in wrong):
        for name, type_ in _texts(value, key).items():
            if type_ not in TYPES:
                yield where.mistake(f'attribute {name} is of type "{type_}"; {meant(type_, TYPES, "types")}', key, name)
            if name in seen:
                text = f"attribute {name} is in attributes and in optional: list it in one of them"
                yield where.mistake(text, key, name)
            seen.add(name)


def _devices(value: dict[str, Any]) -> Devices:
    attributes, optional = _texts(value, "attributes"), _texts(value, "optional")
    return Devices(attributes, optional, _names(value, "capacity"), _names(value, "optionalCapacity"))


def _texts(value: dict[str, Any], key: str) -> dict[str, str]:
    return {str(name): str(text) for name, text in (value.get(key) or {}).items()}


def _names(value: dict[str, Any], key: str) -> frozenset[str]:
    return frozenset(map(str, value.get(key) or ()))
