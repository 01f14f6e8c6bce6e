"""``--driver-profile``: files with profiles of drivers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from webhook import formats
from webhook.api.dra.names import DRIVER_NAME_MAX_BYTES, ID_MAX_BYTES, ONE_VALUE
from webhook.api.versions import NEWEST
from webhook.documents import Document, Unreadable, read
from webhook.drivers.errors import (
    BOOLEAN,
    LIST,
    MAP,
    TEXT,
    Form,
    Mistake,
    ProfileError,
    apart,
    checked,
    meant,
    mistake,
    optional,
    unknown_keys,
)
from webhook.drivers.profile import Profile, texts, valid_profile
from webhook.drivers.rules import VARIABLES, ProfileRule
from webhook.problem import Path, Steps
from webhook.records import NamedTuple
from webhook.release import Release
from webhook.usage import UsageError

_Format = Callable[[str, Release], formats.Messages]

_ROOT: Final = Path()
_ATTRIBUTES: Final = "attributes", "optional"


def _incoherences(value: Mapping[str, Any]) -> Iterator[Mistake]:
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
    for name in value.get("removed") or {}:
        yield from _misnamed_in_domain(_ROOT / "removed" / name, str(name))
    kinds = value.get("devices") or {}
    for kind, devices in kinds.items():
        yield from _in_devices(_ROOT / "devices" / kind, devices)
    if kinds:
        yield from _in_kinds(value, kinds)


def _in_kinds(value: Mapping[str, Any], kinds: Mapping[str, Any]) -> Iterator[Mistake]:
    for name, kind in (value.get("classes") or {}).items():
        if kind not in kinds:
            text = f"{kind} is not among the devices; {meant(kind, [*map(str, kinds)], 'kinds')}"
            yield mistake(_ROOT / "classes" / name, text)
    attribute, where = value.get("kindAttribute"), _ROOT / "kindAttribute"
    known = {str(name) for devices in kinds.values() for key in _ATTRIBUTES for name in devices.get(key) or {}}
    if attribute and attribute not in known and not value.get("isOpen"):
        advice = f"; {meant(attribute, known, 'attributes')}" if known else ""
        yield mistake(where, f"no device has the attribute {attribute}{advice}")
    elif not attribute and len(kinds) > 1:
        yield mistake(where, f"name the attribute that tells {', '.join(map(str, kinds))} apart")


def _in_devices(where: Path, devices: Mapping[str, Any]) -> Iterator[Mistake]:
    for key in _ATTRIBUTES:
        for name in devices.get(key) or {}:
            yield from _misnamed_in_domain(where / key / name, str(name))
    seen = set[str]()
    for key in ("capacity", "optionalCapacity"):
        for index, name in enumerate(map(str, devices.get(key) or ())):
            place = where / key / index
            if name in seen:
                yield mistake(place, f"{name} is listed twice")
            elif key == "capacity" or name != "*":
                yield from _misnamed_in_domain(place, name if key == "capacity" else name.removesuffix("*"))
            seen.add(name)


def _misnamed_in_domain(where: Path, text: str) -> Iterator[Mistake]:
    """Check the name of an attribute or a capacity, with its domain if it has one."""
    domain, slash, name = text.rpartition("/")
    if slash:
        yield from _misnamed(where, domain, formats.driver_name, DRIVER_NAME_MAX_BYTES)
    yield from _misnamed(where, name, formats.c_identifier, ID_MAX_BYTES)


def _misnamed(where: Path, name: str, form: _Format, limit: int | None = None) -> Iterator[Mistake]:
    for message in form(name, NEWEST):
        yield mistake(where, message)
    if limit is not None and len(name.encode(errors="surrogatepass")) > limit:
        yield mistake(where, f"must be no more than {limit} bytes")


_FORMS: Final = {
    **dict.fromkeys(("about", "kindAttribute", "source"), optional(TEXT)),
    **dict.fromkeys(("isExample", "isOpen"), optional(BOOLEAN)),
    **dict.fromkeys(("classes", "devices", "gates", "removed"), optional(MAP)),
    "pluginResources": optional(LIST),
    "rules": optional(LIST),
}
"""The keys of a profile, and their values; those of other keys are checked apart."""
KEYS: Final = frozenset({"driver", "parameters", *_FORMS})
"""The keys of a profile."""
_NAMED: Final = {"classes": TEXT, "gates": BOOLEAN, "removed": TEXT}
"""The values of keys that are maps from names."""
_LISTS: Final = frozenset({"configs", "requests", "users"})
"""The variables to which no ``fieldPath`` points."""
_MOST_VALUES: Final = 50_000
"""The most values of a profile: those of draguard have 200, large CustomResourceDefinitions 10,000."""
DEVICE_FORMS: Final = {
    **dict.fromkeys(_ATTRIBUTES, optional(MAP)),
    **dict.fromkeys(("capacity", "optionalCapacity"), optional(Form("a list of names", (list,)))),
    "shared": optional(BOOLEAN),
}
"""The keys of a kind of devices, and their values."""


def read_profile(value: Any) -> Profile:
    """Read a profile.

    Args:
        value: The content of its file.

    Raises:
        ProfileError: It is malformed.
    """
    if not _is_small(value):
        text = f"it has more than {_MOST_VALUES:,} values: leave out what the driver does not check"
        raise ProfileError(Mistake(Path(), text))
    mistakes = [*_mistakes(value)]
    if isinstance(value, dict):
        malformed_keys = {each.path[0] for each in mistakes if each.path}
        mistakes += _incoherences({key: each for key, each in value.items() if key not in malformed_keys})
    if mistakes:
        raise ProfileError(*mistakes)
    return valid_profile(value)


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
    yield from unknown_keys(_ROOT, value, KEYS, dict.fromkeys(DEVICE_FORMS, "devices.KIND"))
    if not isinstance(value, dict):
        return
    if not isinstance(value.get("driver"), str) or not value["driver"]:
        yield mistake(_ROOT / "driver", "name the driver, such as gpu.example.com")
    well_formed, found = apart(_ROOT, value, _FORMS)
    yield from found
    for key, form in _NAMED.items():
        named = well_formed.get(key) or {}
        yield from apart(_ROOT / key, named, dict.fromkeys(named, form))[1]
    gates = well_formed.get("gates") or {}
    for gate in gates:
        if not str(gate)[:1].isalpha():
            yield mistake(_ROOT / "gates", f"{gate} is not a name of a feature gate", gate)
    for index, rule in enumerate(well_formed.get("rules") or []):
        yield from _mistakes_of_rule(_ROOT / "rules" / index, rule)
    parameters = value.get("parameters")
    if isinstance(parameters, dict):
        from webhook.drivers.schema import mistakes_in_rules, mistakes_in_section  # most commands have no profile

        malformed_schemas = [*mistakes_in_section(parameters, gates)]
        yield from malformed_schemas or mistakes_in_rules(parameters)
    elif parameters not in (None, "none"):
        yield mistake(_ROOT / "parameters", 'must be a map, or "none" if the driver takes none')
    for kind, each in (well_formed.get("devices") or {}).items():
        yield from _mistakes_of_devices(_ROOT / "devices" / kind, each)


def _mistakes_of_rule(where: Path, value: Any) -> Iterator[Mistake]:
    """List the mistakes of a rule in CEL."""
    from webhook.drivers.schema import PROFILE_RULE, mistakes_in_rule

    if found := [*mistakes_in_rule(where, value, PROFILE_RULE)]:
        yield from found
        return
    rule = ProfileRule(value)
    known = f"variables are {', '.join(VARIABLES)}"
    if rule.compiled.error:
        yield mistake(where / "rule", f"{rule.compiled.error}\n{known}")
    elif rule.compiled.message_error:
        yield mistake(where / "messageExpression", f"{rule.compiled.message_error}\n{known}")
    elif value.get("fieldPath") and not (rule.reads - _LISTS).intersection(rule.compiled.path[:1]):
        text = "must begin with a variable that the rule reads, as .request.count or .parameters.size"
        yield mistake(where / "fieldPath", text)


def _mistakes_of_devices(where: Path, value: Any) -> Iterator[Mistake]:
    devices, found = checked(where, value, DEVICE_FORMS)
    yield from found
    seen = set[str]()
    for key in _ATTRIBUTES:
        for name, type_ in texts(devices, key).items():
            if type_ not in ONE_VALUE:
                hint = meant(type_, ONE_VALUE, "types")
                yield mistake(where, f'attribute {name} is of type "{type_}"; {hint}', key, name)
            if name in seen:
                text = f"attribute {name} is in attributes and in optional: list it in one of them"
                yield mistake(where, text, key, name)
            seen.add(name)


_CRD: Final = "CustomResourceDefinition"
_KINDS: Final = ("parameters", "kinds")
_NO_PROFILE: Final = (
    "a Kubernetes object is not a profile; `draguard driver from-cluster` makes profiles from ResourceSlices"
)


class UnusableProfilesError(Exception):
    """Files with profiles that cannot be used.

    Args:
        mistakes: The mistakes, each with its file, line and column.
        is_unread: Whether a file is missing or cannot be opened.
    """

    def __init__(self, mistakes: Sequence[str], *, is_unread: bool) -> None:
        super().__init__(mistakes)
        self.mistakes, self.is_unread = mistakes, is_unread


class _Schema(NamedTuple):
    """The schema of a kind in a CustomResourceDefinition.

    Args:
        path: The schema's path in it.
        api_version: The version that it describes, with its group.
    """

    definition: Document
    path: Steps
    api_version: str
    content: Any


class _DefinitionError(ValueError):
    """The CustomResourceDefinitions beside a profile do not describe its parameters."""


def option_profiles(files: Sequence[str]) -> dict[str, Profile] | None:
    """Read the profiles of ``--driver-profile``; None if there are no files.

    Raises:
        UsageError: A file cannot be read, or profiles are malformed.
    """
    if not files:
        return None
    try:
        return read_profiles(files)
    except UnusableProfilesError as error:
        raise UsageError("\n--driver-profile: ".join(error.mistakes), "--driver-profile") from error


def read_profiles(files: Sequence[str]) -> dict[str, Profile]:
    """Read profiles, and the CustomResourceDefinitions of parameters beside them.

    Args:
        files: The files; one that is named twice is read once.

    Raises:
        UnusableProfilesError: A file cannot be read, or profiles are malformed.
    """
    reader = _Reader()
    for file in files:
        reader.read(file)
    if reader.mistakes:
        raise UnusableProfilesError([*reader.mistakes], is_unread=reader.is_unread)
    return reader.found


class _Reader:
    """Reads profiles, and collects their mistakes."""

    def __init__(self) -> None:
        self.found: dict[str, Profile] = {}
        self.mistakes: dict[str, None] = {}
        self.is_unread = False
        self._documents: dict[str, Document] = {}
        """The first profile of each driver."""

    def read(self, path: str) -> None:
        """Read the profiles of a file or directory."""
        definitions, others, is_empty = list[Document](), list[Document](), True
        for each in read([path]):
            if isinstance(each, Unreadable):
                at = f"{each.source}:{each.line}:{each.column}" if each.line else each.source
                self.mistakes[f"{at}: {each.message}"] = None
                self.is_unread |= not each.line
                is_empty = False
            elif _kind(each) == _CRD:
                definitions.append(each)
            else:
                others.append(each)
        if is_empty and not others:
            self.mistakes[f"{path}: no profile found"] = None
        for document in others:
            self._take(document, definitions)

    def _take(self, document: Document, definitions: Sequence[Document]) -> None:
        if _kind(document) and "apiVersion" in document.data:
            self.mistakes[f"{document.source}: {_NO_PROFILE}"] = None  # once for a file with many
            return
        value, schemas = document.data, dict[str | int, _Schema]()
        try:
            if isinstance(value, dict) and value.get("parameters") == "crd":
                schemas = _schemas(value.get("driver"), definitions)
                *_, last = schemas.values()  # all kinds have its version
                kinds = {kind: each.content for kind, each in schemas.items()}
                value = {**value, "parameters": {"apiVersion": last.api_version, "kinds": kinds}}
            profile = read_profile(value)
        except _DefinitionError as error:
            self.mistakes[f"{_place(document, ('parameters',))}: {error}"] = None
            return
        except ProfileError as error:
            found = ((_place(*_source(each.path, document, schemas)), each) for each in error.args)
            self.mistakes |= dict.fromkeys(f"{place}: {each}" for place, each in found)
            return
        first = self._documents.setdefault(profile.driver, document)
        if _identity(first) != _identity(document):
            other = f"{first.source}:{first.position().line}"
            what = f"{profile.driver} has another profile in {other}; keep one of them"
            self.mistakes[f"{_place(document)}: {what}"] = None
        self.found[profile.driver] = profile


def _identity(document: Document) -> tuple[str, int]:
    return os.path.realpath(document.source), document.index


def _place(document: Document, path: Sequence[str | int] = ()) -> str:
    """Write where a field, or else the nearest one that holds it, is in its file."""
    line, column = document.position(path)
    return f"{document.source}:{line}:{column}"


def _source(path: Steps, document: Document, schemas: Mapping[str | int, _Schema]) -> tuple[Document, Steps]:
    """Find where a value of a profile comes from: the schema of a kind may be that of a CustomResourceDefinition."""
    depth = len(_KINDS)
    if path[:depth] != _KINDS or len(path) == depth or (schema := schemas.get(path[depth])) is None:
        return document, path
    return schema.definition, (*schema.path, *path[depth + 1 :])


def _kind(document: Document) -> Any:
    return document.data.get("kind") if isinstance(document.data, dict) else None


def _schemas(driver: Any, definitions: Sequence[Document]) -> dict[str | int, _Schema]:
    """Return the schemas in CustomResourceDefinitions by kind.

    Raises:
        _DefinitionError: A definition is missing or malformed.
    """
    found: dict[str | int, _Schema] = {}
    try:
        for each in definitions:
            spec = each.data.get("spec") or {}
            for index, version in enumerate(spec.get("versions") or ()):
                path = ("spec", "versions", index, "schema", "openAPIV3Schema")
                content = (version.get("schema") or {}).get("openAPIV3Schema") or {}
                kind = str((spec.get("names") or {}).get("kind"))
                found[kind] = _Schema(each, path, f"{spec.get('group')}/{version.get('name')}", content)
    except (AttributeError, TypeError) as error:
        raise _DefinitionError(f"{driver}: parameters: crd: a {_CRD} beside the profile is malformed") from error
    if not found:
        raise _DefinitionError(f"{driver}: parameters: crd: no {_CRD} stands beside the profile")
    return found
