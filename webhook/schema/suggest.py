"""Suggests a field for an unknown one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from webhook.problem import Advice, Fix, Path, value_at
from webhook.schema.declarations import Field
from webhook.schema.decoding import holds_one
from webhook.schema.fields import CompiledField, CompiledStruct, Many, Map, Nested, Scalar
from webhook.schema.target import STATUS
from webhook.spelling import near, nearest

MAX_LISTS = 1
"""Through how many lists to search for a field in another place."""
_LISTED = 20
"""The most fields of a struct that are named for an unknown one."""
_METADATA = "metadata"

_SET_BY_SERVER = "leave it out: the API server sets the status of an object"


class _Struct(NamedTuple):
    """A struct on the path to a field, and its path."""

    path: Path
    struct: CompiledStruct


_Distance = tuple[int, int, str]
"""The place of a field: how many lists lead to it, its distance in steps, and its path."""


def suggestion(root: CompiledStruct, path: Path, obj: object) -> Advice:
    """Suggest a field for an unknown one; empty if none is near.

    Args:
        root: The type of the whole object.
        path: Where the field was submitted.
        obj: The whole object; without the field itself, its value fits any.
    """
    name, around = str(path[-1]), _around(root, path)
    struct, history = around[-1].struct, _history(around[-1].struct, name)
    if hint := instead(root, path):
        return Advice(f"{history.hint}; {hint}" if history.hint else hint)
    # In Go, the fields of an attribute are called IntValue, BoolValue and so on.
    alike = [meant] if (meant := struct.type.instead.get(name)) else near(name, _names(struct))
    if alike := alike or [each for each in struct.fields if name.lower() == f"{each}value"]:
        return _renamed(struct, alike, name, value_at(obj, path[:-1]))
    if history.hint:
        within = _nearest(around[-1:], name)
        hint = f"{history.hint}; {_did_you_mean(within)}" if within else history.hint
        return Advice(hint, _nested(around[-1], within, name) or history.fix)
    if name == STATUS:
        return Advice(_SET_BY_SERVER)
    if name and name == struct.type.unboxed:
        return Advice(f"in this version, {struct.type.moved}", Fix("unwrap"))
    elsewhere = _elsewhere(around, path, obj)
    # draguard does not know the unions of fields that it does not judge: a moved field could be a second member.
    return Advice(elsewhere.hint) if opaque_part(root, path) else elsewhere


def instead(root: CompiledStruct, path: Path) -> str:
    """Return the declared advice about an unknown field; empty without any, or if it is a field by another name."""
    struct, name = _around(root, path)[-1].struct, str(path[-1])
    advice = str(struct.type.instead.get(name, ""))
    return "" if name in struct.fields or advice in struct.fields else advice


def misspelt(root: CompiledStruct, path: Path) -> str:
    """Return the field of the same struct that an unknown one misspells; empty if none is near enough."""
    return nearest(str(path[-1]), _names(_around(root, path)[-1].struct))


def opaque_part(root: CompiledStruct, path: Path) -> Path | None:
    """Return the field on the path to a place that is known but not judged; None if there is none."""
    parts = (at for at, struct, _ in _fields(root, path) if struct and path[at] in struct.opaque)
    return next((Path(path[: at + 1]) for at in parts), None)


def has(root: CompiledStruct, path: Path) -> bool:
    """Tell whether a field exists, ignoring list indices and keys of maps."""
    return all(field is not None for _, _, field in _fields(root, path))


def _fields(root: CompiledStruct, path: Path) -> Iterator[tuple[int, CompiledStruct | None, CompiledField | None]]:
    """Yield the place of each field on a path, the struct that should have it, and the field; None for unknown ones."""
    struct: CompiledStruct | None = root
    for at, step in enumerate(path):
        if type(step) is str:
            field = _field(struct, step) if struct else None
            yield at, struct, field
            struct = field.struct if field else None


def _field(struct: CompiledStruct, name: str) -> CompiledField | None:
    """Return a field, also one that is known but not judged; None if there is none."""
    opaque = None if name in struct.fields else struct.opaque.get(name)
    compiled: CompiledField | None = opaque.compile(struct.target, *struct.names) if opaque else struct.fields.get(name)
    return compiled


def _around(root: CompiledStruct, path: Path) -> list[_Struct]:
    """List the structs on the path to a field, from the whole object on."""
    around, steps = [_Struct(Path(), root)], Path(path[:-1])
    for at, _, field in _fields(root, steps):
        if field and field.struct:
            # List indices and keys of maps belong to the field.
            end = next((after for after in range(at + 1, len(steps)) if type(steps[after]) is str), len(steps))
            around.append(_Struct(Path(steps[:end]), field.struct))
    return around


def _names(struct: CompiledStruct) -> tuple[str, ...]:
    return (*struct.fields, *struct.opaque)


def _did_you_mean(*names: str) -> str:
    quoted = " or ".join(f'"{name}"' for name in names)
    return f"did you mean {quoted}?"


def _renamed(struct: CompiledStruct, alike: Sequence[str], wrong: str, beside: object) -> Advice:
    """Suggest a field of a similar name, with a fix unless it is there, or cannot hold what was submitted."""
    name, fields = alike[0], beside if isinstance(beside, dict) else {}
    if name in fields:
        return Advice(f"{name} is there already: remove one of the two")
    value = fields.get(wrong)
    is_several = isinstance(value, dict | list) and not holds_one(value, name)
    if is_several and isinstance(_declared(struct, name), Scalar):
        what = "map" if isinstance(value, dict) else "list"
        return Advice(f"{_did_you_mean(name)} It takes one value, not a {what}")
    return Advice(_did_you_mean(name), Fix("rename", name, safe=len(alike) == 1))


def _elsewhere(around: Sequence[_Struct], path: Path, obj: object) -> Advice:
    """Suggest the place of a field of this name; the fields of the struct if there is none."""
    name, struct = str(path[-1]), around[-1].struct
    joined, found = _joined(struct, name), _nearest(around, name)
    if not (place := joined or found or _entry(struct, name)):
        known = _names(struct)
        return Advice(f"fields here: {', '.join(known)}" if path[:-1] and len(known) <= _LISTED else "")
    if struct.type.unboxed and (excluded := _excluded(around, path, place)):
        return Advice(excluded)
    if other := _submitted(around[-1], place, name, value_at(obj, path[:-1])):
        return Advice(other)
    if any(place == f"{each.path}.{name}" and value_at(obj, (*each.path, name)) is not None for each in around):
        return Advice(f"leave it out: {place} is set")
    places = (joined, found) if joined and found else (place,)
    return Advice(_did_you_mean(*places), _nested(around[-1], place, name))


def _excluded(around: Sequence[_Struct], path: Path, place: str) -> str:
    """Explain why a field cannot stand beside its submitted parent; empty if it can."""
    box, name = around[-1].struct.type.unboxed, path[-1]
    beside = next(step for step in reversed(path[:-1]) if isinstance(step, str))
    if f".{box}." in place:
        return f"only `{box}` has {name}, and cannot stand beside `{beside}`"
    is_in_its_place = around[-2].struct.type.unboxed == box and place == f"{around[-2].path}.{name}"
    return f"only a request without `{beside}` has {name}" if is_in_its_place else ""


def _submitted(around: _Struct, place: str, name: str, beside: Any) -> str:
    """Suggest the submitted one of the fields that exclude each other, where the place is in another; else empty."""
    meant, either = place.removeprefix(f"{around.path}.").partition(".")[0], around.struct.type.either
    submitted = next((each for each in either if each in beside), meant)
    if meant not in either or meant in beside or meant == submitted:
        return ""
    field = around.struct.fields[submitted]
    if field.struct and name in field.struct.fields:
        mark = "[]" if isinstance(_declared(around.struct, submitted), Many) else ""
        return _did_you_mean(f"{around.path}.{submitted}{mark}.{name}")
    return f"only `{meant}` has {name}, and cannot stand beside `{submitted}`"


def _joined(struct: CompiledStruct, name: str) -> str:
    """Return the place of a field whose name was joined with its parent's; empty if there is none."""
    places = (
        f"{part}.{inner}"
        for part, field in struct.fields.items()
        if field.struct and not isinstance(_declared(struct, part), Many)
        for inner in field.struct.fields
        if name == f"{part.removesuffix('s')}{inner[0].upper()}{inner[1:]}"
    )
    return next(places, "")


def _entry(struct: CompiledStruct, name: str) -> str:
    """Return the place of an entry in the only map of a struct; empty if it has more fields."""
    first, *others = struct.fields or ("",)
    return f"{first}.{name}" if not others and isinstance(_declared(struct, first), Map) else ""


def _nested(around: _Struct, place: str, name: str) -> Fix | None:
    """Return how to move a field into a map beside it; None if its place is elsewhere."""
    steps = place.removeprefix(f"{around.path}.").removesuffix(f".{name}")
    return Fix("nest", steps) if steps in around.struct.fields and place.endswith(f".{steps}.{name}") else None


def _declared(struct: CompiledStruct, name: str) -> Field | None:
    """Find a field of a struct in any release."""
    return struct.type.fields.get(name) or struct.type.opaque.get(name)


def _history(struct: CompiledStruct, name: str) -> Advice:
    """Name the releases that have a field missing in this one; empty if there are none."""
    field, release = _declared(struct, name), struct.target.release
    if field and field.since > release:
        return Advice(f"a field since 1.{field.since}, not yet in 1.{release}")
    if field and field.until is not None and field.until < release:
        removed = f"removed after Kubernetes 1.{field.until}"
        if isinstance(field, Nested) and field.type.fields.keys() <= struct.fields.keys():
            return Advice(f"{removed}: move its fields up one level", Fix("unwrap"))
        return Advice(removed)
    return Advice()


def _nearest(around: Sequence[_Struct], name: str) -> str:
    """Find the nearest place of a field by name; empty if several are equally near."""
    is_in_list = any(type(step) is int for step in around[-1].path)
    places = [
        (lists, up + steps, path)
        for up, (where, struct) in enumerate(reversed(around))
        for lists, steps, path in _below(struct, name, str(where), 0, 1)
        if not (is_in_list and _METADATA in path.split("."))  # labels of an item are not those of the object
    ]
    first = min(places, default=None)
    if first is None or [each[:2] for each in places].count(first[:2]) > 1:
        return ""
    return first[2]


def _below(struct: CompiledStruct, name: str, path: str, lists: int, steps: int) -> Iterator[_Distance]:
    """Search for a field in a struct and its parts; except in a status, which is not written by hand."""
    dot = f"{path}." if path else ""
    if name in struct.fields:
        yield lists, steps, f"{dot}{name}"
    for part, field in struct.fields.items():
        declared = _declared(struct, part)
        within = lists + isinstance(declared, Many)
        if field.struct and declared and within <= MAX_LISTS and declared.subresource != STATUS:
            mark = "[]" if within > lists else ""
            yield from _below(field.struct, name, f"{dot}{part}{mark}", within, steps + 1)
