"""The results of mutations, as plain JSON, and as Go prints them in structured-merge-diff's errors about wrong types.

Follows apiserver ``pkg/cel/mutation/dynamic/objects.go`` and ``policy/mutating/patch/json_patch.go``, and
``typed/validate.go``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from webhook.budget import work
from webhook.cel.ext.standard import json_of
from webhook.cel.runtime.conversions import double_to_string, format_timestamp
from webhook.cel.types.base import Type
from webhook.cel.types.values import BoolKey, Duration, Optional, Struct, Timestamp, UInt, from_key
from webhook.policy.change.decoding import DecodingError, MutationError
from webhook.problem import Verbatim, quoted, shown
from webhook.records import Record


class Foreign(Record):
    """A CEL value in an ApplyConfiguration, of a type that no object can have."""

    value: Any


class _GoType(NamedTuple):
    """The name of a type in Go, as ``%T`` has it, and how ``%v`` and ``%#v`` write its values."""

    name: str
    plain: Callable[[Any], str]
    sharp: Callable[[Any], str]


def _bool(value: Any) -> str:
    return str(from_key(value)).lower()


_GO_TYPES: Final[Mapping[type, _GoType]] = {
    **dict.fromkeys((bool, BoolKey), _GoType("bool", _bool, _bool)),
    str: _GoType("string", str, quoted),
    int: _GoType("int64", str, str),
    UInt: _GoType("uint64", lambda number: str(int(number)), hex),
    float: _GoType("float64", double_to_string, double_to_string),
    bytes: _GoType(
        "[]uint8", lambda data: f"[{' '.join(map(str, data))}]", lambda data: f"[]uint8{{{', '.join(map(hex, data))}}}"
    ),
    Duration: _GoType("time.Duration", lambda span: f"{span.nanos}ns", lambda span: str(span.nanos)),
    Timestamp: _GoType(
        "time.Time",
        lambda moment: f"{format_timestamp(moment).rstrip('Z').replace('T', ' ')} +0000 UTC",
        lambda _: "time.Time",
    ),
    type(None): _GoType("structpb.NullValue", lambda _: "NULL_VALUE", lambda _: "0"),
}


def _go_type_of(value: Any) -> _GoType:
    cls = type(value)
    return _GO_TYPES.get(cls) or _GoType(cls.__name__, lambda _: cls.__name__, lambda _: cls.__name__)


def go_type(value: Any) -> str:
    """Name a value's type as ``%T`` does."""
    inner = value.value if isinstance(value, Foreign) else value
    key, part = ("string", "interface {}") if inner is value else ("ref.Val", "ref.Val")
    if isinstance(inner, list):
        return f"[]{part}"
    return f"map[{key}]{part}" if isinstance(inner, dict) else _go_type_of(inner).name


def plain(value: Any) -> str:
    """Show a value of structured-merge-diff as ``%v`` does."""
    return f"&{{{shown(Verbatim(_written(value, is_sharp=False)))}}}"


def sharp(value: Any) -> str:
    """Show a value of structured-merge-diff as ``%#v`` does."""
    return f"&value.valueUnstructured{{Value:{shown(Verbatim(_written(value, is_sharp=True)))}}}"


def _written(value: Any, *, is_sharp: bool) -> str:
    inner = value.value if isinstance(value, Foreign) else value
    write = partial(_written, is_sharp=is_sharp)
    if isinstance(inner, list | dict):
        work(1 + len(inner))
        start, parts = "", [*map(write, inner)]
        if isinstance(inner, dict):
            start, parts = "map", sorted(f"{write(key)}:{write(each)}" for key, each in inner.items())
        return f"{go_type(value)}{{{', '.join(parts)}}}" if is_sharp else f"{start}[{' '.join(parts)}]"
    if value is None:
        return "interface {}(nil)" if is_sharp else "<nil>"
    known = _go_type_of(inner)
    return known.sharp(inner) if is_sharp else known.plain(inner)


def check_names(value: Any) -> None:
    """Make sure that each object stands where its type belongs: ``Object.spec{…}`` in ``spec``.

    Raises:
        MutationError: Some do not; the message has a line for each.
    """
    if isinstance(value, Struct) and (found := list(_mismatches(value, value.cel_type.name))):
        raise MutationError("type mismatch: " + "\n".join(found))


def _mismatches(value: Any, expected: str) -> Iterator[str]:
    if not isinstance(value, list | dict):
        return
    work(1 + len(value))
    own = value.cel_type.name if isinstance(value, Struct) else ""
    if own not in {"", expected}:
        yield (
            f'unexpected type name "{own}", expected "{expected}", which matches field name path from root Object type'
        )
    for name, each in value.items() if isinstance(value, dict) else enumerate(value):
        if type(each) is not str:
            yield from _mismatches(each, f"{expected}.{name}" if own else expected)


class Natives:
    """Tells lists and maps of the objects that expressions read from those that expressions make."""

    def __init__(self, objects: Iterable[Any]) -> None:
        self._objects = objects
        self._known: set[int] = set()

    def __contains__(self, value: object) -> bool:
        """Tell whether a list or map is in one of the objects."""
        if not self._known:
            left = [each for each in self._objects if isinstance(each, list | dict)]
            while left:
                each = left.pop()
                work(1 + len(each))
                self._known.add(id(each))
                left += [one for one in (each if isinstance(each, list) else each.values()) if type(one) in _CONTAINERS]
        return id(value) in self._known


_CONTAINERS: Final = frozenset({list, dict})
_PLAIN_TYPES: Final = frozenset({bool, str, int, float})


def configuration_of(value: Struct, natives: Natives) -> dict[str, Any]:
    """Return an ``Object{…}`` as the API server hands it to the merge.

    The values of a list or map that an expression makes are converted, but neither null nor values nested deeper.
    """
    work(1 + len(value))
    return {name: each if type(each) is str else _field(each, natives) for name, each in value.items()}


def _field(value: Any, natives: Natives) -> Any:
    while isinstance(value, Optional):
        if (value := value.value) is None:
            return None
    if type(value) not in _CONTAINERS:
        return _converted(value, natives)
    work(1 + len(value))
    classes = {*map(type, value if isinstance(value, list) else value.values())}
    if Struct not in classes and not classes <= _PLAIN_TYPES and value in natives:
        return value
    if isinstance(value, list):
        return [_converted(each, natives) for each in value]
    keys = (str(key.value).lower() if isinstance(key, BoolKey) else str(key) for key in value)
    return {key: _converted(each, natives) for key, each in zip(keys, value.values(), strict=True)}


def _converted(value: Any, natives: Natives) -> Any:
    if (cls := type(value)) is Struct:
        return configuration_of(value, natives)
    if cls in _PLAIN_TYPES or (cls in _CONTAINERS and value in natives):
        return value
    return value.name if cls is Type else Foreign(value)


_NO_JSON: Final = "JSONPath valueExpression evaluated to a type that could not marshal to JSON: "
_PLAIN: Final = 1e21
"""Go writes smaller whole doubles without a point or an exponent."""


def to_json(value: Any, natives: Natives) -> Any:
    """Return the value of a JSON Patch's operation as plain JSON.

    Raises:
        MutationError: The value has no form in JSON.
    """
    if (cls := type(value)) is Struct:
        return _proto(configuration_of(value, natives))
    if cls in _CONTAINERS:
        work(1 + len(value))  # repeatedly doubled values would become JSON without end
        if cls is list:
            return [to_json(each, natives) for each in value]
        return {_json_key(key): to_json(each, natives) for key, each in value.items()}
    if isinstance(value, Optional) and value.present:
        return to_json(value.value, natives)
    made = json_of(value)
    if type(made) is float:
        number = _finite(made, "Value")
        return int(number) if number.is_integer() and abs(number) < _PLAIN else number
    if type(made) not in _PLAIN_TYPES and made is not None:
        raise MutationError(f"{_NO_JSON}{_unconvertible(value)}")
    return made


def _unconvertible(value: Any) -> str:
    if isinstance(value, Optional):
        return "optional.none() dereference"
    if isinstance(value, Type):
        return "type conversion not supported for 'type'"
    name: str = value.cel_type.name
    shown = name if name.startswith("kubernetes.authorization.") else name.rpartition(".")[2]
    return f"type conversion error from '{shown}' to '*structpb.Value'"


def _proto(value: Any) -> Any:
    """Return a value of an object as ``structpb.NewStruct`` reads it."""
    if isinstance(value, list):
        return [_proto(each) for each in value]
    if isinstance(value, dict):
        return {key: _proto(each) for key, each in value.items()}
    if isinstance(value, float):
        return _finite(value, "Struct")
    if not isinstance(value, Foreign):
        return value
    if isinstance(value.value, bytes):
        return json_of(value.value)
    if isinstance(value.value, UInt):
        return int(value.value)
    raise MutationError(f"{_NO_JSON}proto: invalid type: {go_type(value)}")


def _finite(value: float, message: str) -> float:
    if math.isfinite(value):
        return value
    raise MutationError(
        f"{_NO_JSON}json: error calling MarshalJSON for type *structpb.{message}: proto: "
        f"google.protobuf.Value.number_value: invalid {double_to_string(value)} value"
    )


def _json_key(key: Any) -> str:
    if isinstance(key, str):
        return key
    raise MutationError(_NO_JSON + _KEY_ERRORS.get(type(key), _KEY_ERRORS[float]))


_KEY_ERRORS: Final = {
    BoolKey: "type conversion error from bool to 'string'",
    UInt: "unsupported type conversion from 'uint' to string",
    int: "unsupported type conversion from 'int' to string",
    float: "type conversion error from Double to 'string'",
}


def expect_no_panic(value: Any, *, is_nested: bool = False) -> None:
    """Make sure that no object stands in a list or map of a JSON Patch's value.

    Raises:
        DecodingError: One does: the API server panics.
    """
    while isinstance(value, Optional) and value.present:
        value = value.value
    if is_nested and type(value) is Struct:
        raise DecodingError(
            "the API server panics at an Object in a list or map of a JSON Patch's value (fixed in 1.37, and in later "
            "patch releases before): use maps, with dyn(…) around values of different types, or patchType: "
            "ApplyConfiguration"
        )
    if type(value) in _CONTAINERS:
        work(1 + len(value))
        for each in value if isinstance(value, list) else value.values():
            expect_no_panic(each, is_nested=True)
