"""The mistakes of profiles: of form, by their JSON schema; of names; and of parts that do not fit together."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final

from webhook import formats
from webhook.api.dra.names import DRIVER_NAME_MAX_BYTES, ID_MAX_BYTES
from webhook.api.versions import NEWEST
from webhook.cel.errors import CelError
from webhook.cel.regex.re2 import check_pattern
from webhook.drivers.profile import Profile, schemas_of, valid_profile
from webhook.drivers.rules import VARIABLES, ParameterSchema, ProfileRule
from webhook.problem import Path, Steps
from webhook.release import Release
from webhook.spelling import did_you_mean, nearest
from webhook.structural.keywords import OPEN, PARTS, SEVERAL, Fault, Walk, own_schema
from webhook.structural.rules import rule_errors

_Format = Callable[[str, Release], formats.Messages]

_ROOT: Final = Path()
_ATTRIBUTES: Final = "attributes", "optional"
_PARAMETERS: Final = Path(("parameters",))
_LISTS: Final = frozenset({"configs", "requests", "users"})
"""The variables to which no ``fieldPath`` points."""
_MOST_VALUES: Final = 50_000
"""The most values of a profile: those of draguard have 200, large CustomResourceDefinitions 10,000."""
_INSTEAD: Final = {
    "$ref": "write the schema in its place",
    "patternProperties": "use additionalProperties",
    **dict.fromkeys(("notWith", "onlyWith"), "state a rule in x-kubernetes-validations"),
}
"""Keywords of schemas that are not supported, and what to do instead."""


class ProfileError(ValueError):
    """A profile cannot be used; each argument is a :class:`Fault`, whose message begins with its place."""


def read_profile(value: Any) -> Profile:
    """Read a profile.

    Args:
        value: The content of its file.

    Raises:
        ProfileError: It is malformed.
    """
    if not _is_small(value):
        text = f"it has more than {_MOST_VALUES:,} values: leave out what the driver does not check"
        raise ProfileError(Fault(_ROOT, text))
    mistakes = [*_in_form(value)]
    if isinstance(value, dict):
        malformed = {each.path[0] for each in mistakes if each.path}
        sound = {key: each for key, each in value.items() if key not in malformed}
        mistakes += [*_incoherences(sound), *_in_sections(sound)]
    if mistakes:
        raise ProfileError(*mistakes)
    return valid_profile(value)


def _mistake(where: Path, text: str, *keys: object) -> Fault:
    """Return a mistake at a place, or further down.

    Args:
        where: The place that the text names.
        keys: The keys to it, if it is further down; the text names them.
    """
    steps, named = iter(where), list[str | int]()
    for step in steps:  # places are named without the key of schemas that holds all fields
        named.append(next(steps, step) if step == "properties" else step)
    return Fault((*where, *map(str, keys)), f"{Path(named) or 'the profile'}: {text}")


def _meant(name: Any, known: Collection[str], what: str) -> str:
    return did_you_mean(str(name), known, f"{what} are {', '.join(sorted(known))}")


def _is_small(value: Any) -> bool:
    """Tell whether a profile has no more values than it may, with those of its aliases."""
    left, pending = _MOST_VALUES, [value]
    while pending and left >= 0:
        each = pending.pop()
        inner = list(each.values()) if isinstance(each, dict) else each if isinstance(each, list) else []
        left -= len(inner)
        pending += inner[: left + 1] if left >= 0 else []
    return left >= 0


# -- Form


def _in_form(value: Any) -> Iterator[Fault]:
    schema = own_schema(os.path.join(os.path.dirname(__file__), "profile.schema.json"))
    below = dict.fromkeys(schema["$defs"]["devices"]["properties"], "it stands below devices.KIND")
    for path, message, hint, *_ in Walk({}, is_own=True).check(schema, value, ()):
        instead = below if len(path) == 1 else _INSTEAD
        hint_of_key = instead.get(str(path[-1]), hint) if path else hint
        yield _mistake(Path(path), "; ".join(filter(None, (message, hint_of_key))))


# -- Names, and parts that do not fit together


def _incoherences(value: Mapping[str, Any]) -> Iterator[Fault]:
    """List the names that Kubernetes' API does not take, those that are listed twice, and the kinds that do not fit.

    Args:
        value: The well-formed keys of a profile, and their values.
    """
    if "driver" in value:
        yield from _misnamed(_ROOT / "driver", value["driver"], formats.driver_name, DRIVER_NAME_MAX_BYTES)
    for name in value.get("classes") or {}:
        yield from _misnamed(_ROOT / "classes" / name, str(name), formats.dns_subdomain)
    for index, name in enumerate(value.get("pluginResources") or ()):
        where = _ROOT / "pluginResources" / index
        written = f"{name[:-1]}a" if str(name).endswith("*") else str(name)
        yield from _misnamed(where, written, formats.extended_resource_name)
    kinds = value.get("devices") or {}
    published = {name for each in kinds.values() for key in _ATTRIBUTES for name in each.get(key) or {}}
    for name in value.get("removed") or {}:
        yield from _misnamed_in_domain(_ROOT / "removed" / name, str(name))
        if name in published:
            yield _mistake(_ROOT / "removed", f"{name} is an attribute of a device: leave it out here or there", name)
    for kind, devices in kinds.items():
        yield from _in_devices(_ROOT / "devices" / kind, devices)
    if kinds:
        yield from _in_kinds(value, kinds)


def _in_sections(value: Mapping[str, Any]) -> Iterator[Fault]:
    """List the mistakes of gates, rules and parameters."""
    gates = value.get("gates") or {}
    for gate in gates:
        if not gate[:1].isalpha():
            yield _mistake(_ROOT / "gates", f"{gate} is not a name of a feature gate", gate)
    for index, rule in enumerate(value.get("rules") or ()):
        yield from _in_rule(_ROOT / "rules" / index, rule)
    if isinstance(parameters := value.get("parameters"), dict):
        yield from _in_parameters(parameters, gates)


def _in_kinds(value: Mapping[str, Any], kinds: Mapping[str, Any]) -> Iterator[Fault]:
    for name, kind in (value.get("classes") or {}).items():
        if kind not in kinds:
            text = f"{kind} is not among the devices; {_meant(kind, [*map(str, kinds)], 'kinds')}"
            yield _mistake(_ROOT / "classes" / name, text)
    attribute, where = value.get("kindAttribute"), _ROOT / "kindAttribute"
    known = {str(name) for devices in kinds.values() for key in _ATTRIBUTES for name in devices.get(key) or {}}
    if attribute and attribute not in known and not value.get("isOpen"):
        advice = f"; {_meant(attribute, known, 'attributes')}" if known else ""
        yield _mistake(where, f"no device has the attribute {attribute}{advice}")
    elif not attribute and len(kinds) > 1:
        yield _mistake(where, f"name the attribute that tells {', '.join(map(str, kinds))} apart")


def _in_devices(where: Path, devices: Mapping[str, Any]) -> Iterator[Fault]:
    for key in _ATTRIBUTES:
        for name in devices.get(key) or {}:
            yield from _misnamed_in_domain(where / key / name, name)
            if key == "optional" and name in (devices.get("attributes") or {}):
                text = f"attribute {name} is in attributes and in optional: list it in one of them"
                yield _mistake(where, text, key, name)
    seen = set[str]()
    for key in ("capacity", "optionalCapacity"):
        for index, name in enumerate(map(str, devices.get(key) or ())):
            place = where / key / index
            if name in seen:
                yield _mistake(place, f"{name} is listed twice")
            elif key == "capacity" or name != "*":
                yield from _misnamed_in_domain(place, name if key == "capacity" else name.removesuffix("*"))
            seen.add(name)


def _misnamed_in_domain(where: Path, text: str) -> Iterator[Fault]:
    """Check the name of an attribute or a capacity, with its domain if it has one."""
    domain, slash, name = text.rpartition("/")
    if slash:
        yield from _misnamed(where, domain, formats.driver_name, DRIVER_NAME_MAX_BYTES)
    yield from _misnamed(where, name, formats.c_identifier, ID_MAX_BYTES)


def _misnamed(where: Path, name: str, form: _Format, limit: int | None = None) -> Iterator[Fault]:
    for message in form(name, NEWEST):
        yield _mistake(where, message)
    if limit is not None and len(name.encode(errors="surrogatepass")) > limit:
        yield _mistake(where, f"must be no more than {limit} bytes")


def _in_rule(where: Path, value: dict[str, Any]) -> Iterator[Fault]:
    """List the mistakes of a rule in CEL."""
    rule = ProfileRule(value)
    known = f"variables are {', '.join(VARIABLES)}"
    if rule.compiled.error:
        yield _mistake(where / "rule", f"{rule.compiled.error}\n{known}")
    elif rule.compiled.message_error:
        yield _mistake(where / "messageExpression", f"{rule.compiled.message_error}\n{known}")
    elif value.get("fieldPath") and not (rule.reads - _LISTS).intersection(rule.compiled.path[:1]):
        text = "must begin with a variable that the rule reads, as .request.count or .parameters.size"
        yield _mistake(where / "fieldPath", text)


def _in_parameters(value: dict[str, Any], gates: Collection[str]) -> Iterator[Fault]:
    """List the mistakes of a section about parameters; those of rules in CEL only if its schemas have no others.

    Args:
        gates: The feature gates of the driver.
    """
    if value.get("kinds") and "apiVersion" not in value:
        yield _mistake(_PARAMETERS, "kinds need an apiVersion")
    roots = {kind: _PARAMETERS / "kinds" / kind if kind else _PARAMETERS / "schema" for kind in schemas_of(value)}
    stated = schemas_of(value).items()
    is_lenient = value.get("isLenient", False)
    found = [each for kind, schema in stated for each in _in_schema(roots[kind], schema, gates, is_lenient=is_lenient)]
    yield from found
    for kind, schema in () if found else stated:
        for path, error in rule_errors(ParameterSchema(schema), NEWEST):
            yield _mistake(Path((*roots[kind], *path)), error)


def _in_schema(where: Path, value: dict[str, Any], gates: Collection[str], *, is_lenient: bool) -> Iterator[Fault]:
    """List the mistakes of a schema and those in it.

    Args:
        gates: The feature gates of the driver.
        is_lenient: Whether fields that the schema does not list are allowed.
    """
    properties = value.get("properties") or {}
    is_closed = properties and not (is_lenient or value.get("additionalProperties") or value.get(OPEN))
    for index, name in enumerate(value.get("required") or ()):
        if is_closed and name not in properties:  # no value fits that
            text = f"{name} is required, but not among the properties; {_meant(name, properties, 'properties')}"
            yield _mistake(where / "required" / index, text)
    if pattern := value.get("pattern"):
        try:
            check_pattern(pattern)
        except CelError as error:
            yield _mistake(where / "pattern", str(error))
    named = {**dict.fromkeys(value.get("gates", {}).values(), "gates"), value.get("gate"): "gate"}
    for gate, key in named.items():
        if gate and gate not in gates:
            near = nearest(gate, gates)
            advice = f"did you mean {near}?" if near else f"write gates: {{{gate}: false}} if it is off by default"
            yield _mistake(where, f"{gate} is not among the gates; {advice}", key)
    for steps, inner in _schemas(value):
        is_part = is_lenient or steps[0] in PARTS
        yield from _in_schema(Path((*where, *steps)), inner, gates, is_lenient=is_part)


def _schemas(value: dict[str, Any]) -> Iterator[tuple[Steps, Any]]:
    """Yield the schemas in a schema, after the steps to them."""
    for name, each in (value.get("properties") or {}).items():
        yield ("properties", name), each
    for key in ("items", "additionalProperties", "not"):
        if isinstance(value.get(key), dict):
            yield (key,), value[key]
    for key in SEVERAL:
        for index, each in enumerate(value.get(key, ())):
            yield (key, index), each
