"""The types of kinds, and of parts of pods, that draguard hardly judges: mostly policies read them.

Their fields, in the words of Go, are in ``kinds.txt``, which ``upstream/generate.py`` writes from upstream's types. A
type is made when an object first needs it. A line is a struct; ``*`` marks a kind, ``!`` one that server-side apply
replaces as a whole, ``+`` an embedded struct. A field has ``?`` for a pointer, ``!`` if Go writes it even if it is
empty, ``:TYPE`` if it is not a string, ``@28-33`` for the releases that have it, ``=`` for its default. ``[name]`` is a
list that is merged by a key, ``~Phase`` a string with a type of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from webhook import formats
from webhook.api.core import completing
from webhook.api.core.values import Bytes, IntOrString, MicroTime, Quantity, Time
from webhook.problem import Path, Problem, required
from webhook.schema import Anything, Array, Bool, Default, Field, Int, Map, Nested, Struct, Text

if TYPE_CHECKING:
    from webhook.api.core.meta import Object
    from webhook.schema.target import Target

META: Final = "meta/v1"
WRITTEN: Final[Mapping[str, str]] = {
    f"{META}.ObjectMeta": "meta:ObjectMeta",
    f"{META}.Condition": "conditions:Condition",
    f"{META}.LabelSelector": "labelselector:LabelSelector",
    "v1.EnvVar": "container:EnvVar",
    "v1.EnvFromSource": "container:EnvFromSource",
    "v1.PodTemplateSpec": "workloads:PodTemplateSpec",
    "v1.Toleration": "placement:Toleration",
    "v1.NodeSelector": "nodeselector:NodeSelector",
}
"""The types that are declared in Python, as they are judged elsewhere."""


def _topology_key(key: str, _target: Target) -> Iterator[Problem]:
    """A constraint names a label of nodes."""
    if not key:
        yield required(Path(), "can not be empty")


_REQUIRED: Final = {"required": True}
_JUDGED: Final[Mapping[str, Mapping[str, Any]]] = {
    "v1.PodReadinessGate.conditionType": {"always": True, "format": formats.label_key},
    "v1.Sysctl.name": _REQUIRED,
    "v1.TopologySpreadConstraint.maxSkew": {"minimum": (1, "must be greater than zero")},
    "v1.TopologySpreadConstraint.topologyKey": {"always": True, "checked_by": _topology_key},
    "v1.TopologySpreadConstraint.whenUnsatisfiable": {"always": True, "one_of": ("DoNotSchedule", "ScheduleAnyway")},
    "v1.Volume.name": {"required": True, "format": formats.dns_label},
    "v1.VolumeDevice.devicePath": _REQUIRED,
    "v1.VolumeDevice.name": _REQUIRED,
    "v1.VolumeMount.mountPath": _REQUIRED,
    "v1.VolumeMount.name": _REQUIRED,
}
"""What the items of lists in pods need, which null does not have: Go decodes it as an item without fields."""
_FIELD: Final = re.compile(r"(\w+)([?!]?)(?::([^@=\s]+))?(?:@([0-9]*)-?([0-9]*))?(?:=(\S+))?")
_SCALARS: Final[Mapping[str, Callable[..., Field]]] = {
    "bool": Bool,
    "int32": lambda **common: Int(go="int32", **common),
    "int64": Int,
    "string": Text,
    "Time": Time,
    "MicroTime": MicroTime,
    "Quantity": Quantity,
    "IntOrString": IntOrString,
    "bytes": Bytes,
    "any": Anything,
}

_PARSED: Final = frozenset({"Time", "MicroTime", "Quantity", "IntOrString", "bytes", "any"})
"""Scalars that are written only if they are set."""


def kind(api_version: str, name: str) -> type[Object] | None:
    """Return the type of a kind; None if it is not known."""
    line = _lines(api_version).get(name, "")
    found: Any = type_of(api_version, name) if line.startswith("*") else None
    return found  # type: ignore[no-any-return]


@cache
def type_of(api_version: str, name: str) -> type[Struct]:
    """Return a type by its name in an API version."""
    if place := WRITTEN.get(f"{api_version}.{name}"):
        module, _, declared = place.partition(":")
        found: type[Struct] = getattr(import_module(f"webhook.api.core.{module}"), declared)
        return found
    head, *tokens = _lines(api_version)[name].split(" ")
    fields: dict[str, Field] = {}
    embedded: dict[str, str] = {}
    for token in tokens:
        if token.startswith("+"):
            version, _, part = token[1:].rpartition(".")
            inner = type_of(version or api_version, part)
            fields |= inner.fields
            embedded |= {each: ".".join(filter(None, (part, inner.embedded.get(each)))) for each in inner.fields}
        else:
            field, declared_field = _field(token, api_version, name)
            fields[field] = declared_field
    bases: tuple[type[Struct], ...] = (Struct,)
    if head.startswith("*"):
        from webhook.api.core.meta import Object  # parts of pods need no kinds

        bases = (Object,)
    attributes: dict[str, Any] = {
        "package": api_version.rpartition("/")[2],
        "go_name": name,
        "atomic": head.endswith("!"),
        "embedded": embedded,
        "__module__": __name__,
        # A field must not shadow an attribute of the class.
        **{f"{field}_": each for field, each in fields.items()},
    }
    if complete := completing.FUNCTIONS.get(f"{api_version}.{name}"):
        attributes["complete"] = staticmethod(complete)
    return type(name, bases, attributes)


def __getattr__(place: str) -> type[Struct]:
    """Return a type by its place, such as ``v1.Volume``: fields name the types of structs so."""
    api_version, _, name = place.rpartition(".")
    if not api_version:
        raise AttributeError(place)
    return type_of(api_version, name)


@cache
def _sections() -> Mapping[str, str]:
    text = files(__package__).joinpath("kinds.txt").read_text(encoding="utf-8")
    sections = (section.partition("\n") for section in text.removeprefix("# ").split("\n# "))
    return {api_version: lines for api_version, _, lines in sections}


@cache
def _lines(api_version: str) -> Mapping[str, str]:
    """Return the lines of the structs of an API version, by their names."""
    lines = _sections().get(api_version, "").splitlines()
    return {line.partition(" ")[0].strip("*!"): line for line in lines}


def _field(token: str, api_version: str, owner: str) -> tuple[str, Field]:
    match = _FIELD.fullmatch(token)
    assert match is not None, token  # noqa: S101 - the file is our own
    name, flag, type_, since, until, default = match.groups()
    common: dict[str, Any] = {"pointer": flag == "?", "written": flag == "!"}
    common |= _JUDGED.get(f"{api_version}.{owner}.{name}", {})
    common |= {"since": int(since)} if since else {}
    common |= {"until": int(until)} if until else {}
    if default:
        common["default"] = _default(json.loads(default))
    return name, _typed(type_ or "string", api_version, common)


def _default(value: Any) -> Any:
    """Return a default: a map with ``when`` depends on other fields, one without is of a struct."""
    if isinstance(value, dict):
        return Default(value.get("value", {}), value.get("when", {}))
    return value


def _typed(type_: str, api_version: str, common: dict[str, Any]) -> Field:
    if type_.startswith("["):
        merging, _, item = type_[1:].partition("]")
        how = {"list_type": "set"} if merging == "set" else {"list_map_keys": merging.split(",")} if merging else {}
        return Array(_typed(item, api_version, {}), **how, **common)
    if type_.startswith("{"):
        flag, _, item = type_[1:].partition("}")
        return Map(_typed(item, api_version, {}), is_atomic=bool(flag), **common)
    if type_.startswith("~"):
        return Text(go=type_[1:], **common)
    if make := _SCALARS.get(type_):
        return make(**common | ({"written": False} if type_ in _PARSED else {}))
    place = type_ if "." in type_ else f"{api_version}.{type_}"
    return Nested(f"{__name__}:{place}", **common)
