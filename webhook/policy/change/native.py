"""The results of mutations, as plain JSON, and as Go prints them in structured-merge-diff's errors about wrong types.

Follows apiserver ``pkg/cel/mutation/dynamic/objects.go`` and ``policy/mutating/patch/json_patch.go``, and
``typed/validate.go``.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator
from typing import Any, Final

from webhook.budget import work
from webhook.cel.errors import EvaluationError
from webhook.cel.runtime.conversions import double_to_string, format_duration, format_timestamp
from webhook.cel.types.base import Type
from webhook.cel.types.values import BoolKey, Duration, Optional, Struct, Timestamp, UInt
from webhook.policy.change.decoding import DecodingError
from webhook.problem import Verbatim, quoted, shown
from webhook.records import Record

_TYPES: Final = {bool: "bool", str: "string", int: "int64", float: "float64"}
_FOREIGN_TYPES: Final = {
    type(None): "structpb.NullValue",
    UInt: "uint64",
    bytes: "[]uint8",
    Duration: "time.Duration",
    Timestamp: "time.Time",
}


class Foreign(Record):
    """A CEL value in an ApplyConfiguration, of a type that no object can have."""

    value: Any


def go_type(value: Any) -> str:
    """Name a value's type as ``%T`` does."""
    if isinstance(value, Foreign):
        inner = value.value
        if isinstance(inner, list):
            return "[]ref.Val"
        if isinstance(inner, dict):
            return "map[ref.Val]ref.Val"
        return _FOREIGN_TYPES.get(type(inner), type(inner).__name__)
    if isinstance(value, list):
        return "[]interface {}"
    if isinstance(value, dict):
        return "map[string]interface {}"
    return _TYPES.get(type(value), type(value).__name__)


def plain(value: Any) -> str:
    """Show a value of structured-merge-diff as ``%v`` does."""
    return f"&{{{shown(Verbatim(_plain(value)))}}}"


def sharp(value: Any) -> str:
    """Show a value of structured-merge-diff as ``%#v`` does."""
    return f"&value.valueUnstructured{{Value:{shown(Verbatim(_sharp(value)))}}}"


def _plain(value: Any) -> str:
    if isinstance(value, Foreign):
        return "NULL_VALUE" if value.value is None else _plain(value.value)
    if isinstance(value, list):
        work(1 + len(value))
        return f"[{' '.join(map(_plain, value))}]"
    if isinstance(value, dict):
        work(1 + len(value))
        return f"map[{' '.join(sorted(f'{_plain(key)}:{_plain(each)}' for key, each in value.items()))}]"
    if isinstance(value, Timestamp):
        return f"{format_timestamp(value).rstrip('Z').replace('T', ' ')} +0000 UTC"
    if isinstance(value, Duration):
        return f"{value.nanos}ns"
    return _scalar(value) if value is not None else "<nil>"


def _sharp(value: Any) -> str:  # noqa: PLR0911 - a return for each type
    inner = value.value if isinstance(value, Foreign) else value
    if isinstance(inner, list):
        work(1 + len(inner))
        return f"{go_type(value)}{{{', '.join(map(_sharp, inner))}}}"
    if isinstance(inner, dict):
        work(1 + len(inner))
        entries = sorted(f"{_sharp(key)}:{_sharp(each)}" for key, each in inner.items())
        return f"{go_type(value)}{{{', '.join(entries)}}}"
    if inner is None:
        return "0" if inner is not value else "interface {}(nil)"
    if isinstance(inner, str):
        return quoted(inner)
    if isinstance(inner, bytes):
        return f"[]uint8{{{', '.join(map(hex, inner))}}}"
    if isinstance(inner, UInt):
        return hex(inner)
    if isinstance(inner, Duration):
        return str(inner.nanos)
    return go_type(value) if isinstance(inner, Timestamp) else _scalar(inner)


def _scalar(value: Any) -> str:
    if isinstance(value, bool | BoolKey):
        return str(bool(value) if isinstance(value, bool) else value.value).lower()
    if isinstance(value, bytes):
        return f"[{' '.join(map(str, value))}]"
    if isinstance(value, float):
        return double_to_string(value)
    if isinstance(value, int | str):
        return str(value) if isinstance(value, str) else str(int(value))
    return type(value).__name__


_MAX_EXACT: Final = 2**53
"""Larger whole numbers are strings in JSON, as protobuf writes them."""
_PLAIN: Final = 1e21
"""Go writes smaller whole doubles without a point or an exponent."""


class MismatchError(Exception):
    """An ``Object.a.b{…}`` stands where it does not belong."""


def check_names(value: Any) -> None:
    """Make sure that each object stands where its type belongs: ``Object.spec{…}`` in ``spec``.

    Raises:
        MismatchError: Some do not; the message has a line for each.
    """
    if isinstance(value, Struct):
        found = list(_mismatches(value, value.cel_type.name))
        if found:
            raise MismatchError("\n".join(found))


def _mismatches(value: Any, expected: str) -> Iterator[str]:
    if isinstance(value, list | dict):
        work(1 + len(value))
    if isinstance(value, Struct):
        if value.cel_type.name != expected:
            yield (
                f'unexpected type name "{value.cel_type.name}", expected "{expected}", which matches field name path '
                "from root Object type"
            )
        for name, each in value.items():
            if type(each) is not str:
                yield from _mismatches(each, f"{expected}.{name}")
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            if type(each) is not str:
                yield from _mismatches(each, expected)


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
        value = value.value
        if value is None:
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
    cls = type(value)
    if cls is Struct:
        return configuration_of(value, natives)
    if cls in _PLAIN_TYPES or (cls in _CONTAINERS and value in natives):
        return value
    return value.name if cls is Type else Foreign(value)


def to_json(value: Any, natives: Natives, *, panics: bool = False) -> Any:
    """Return the value of a JSON Patch's operation as plain JSON.

    Args:
        panics: Whether the API server panics at an object in a list or map.

    Raises:
        EvaluationError: The value has no form in JSON.
        DecodingError: An object stands in a list or map, and the API server panics.
    """
    if panics:
        _expect_no_nested(value)
    try:
        return _json(value, natives)
    except EvaluationError as error:
        raise EvaluationError(
            f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {error}"
        ) from None


def _json(value: Any, natives: Natives) -> Any:  # noqa: PLR0911 - a return for each type
    cls = type(value)
    if cls is str or cls is bool or value is None:
        return value
    if cls is Struct:
        return _proto(configuration_of(value, natives))
    if cls is list or cls is dict:
        return _container(value, natives)
    if isinstance(value, float):
        number = _finite(value, "Value")
        return int(number) if number.is_integer() and abs(number) < _PLAIN else number
    if isinstance(value, int):
        return int(value) if abs(value) <= _MAX_EXACT else str(int(value))
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if isinstance(value, Duration):
        return format_duration(value)
    if isinstance(value, Optional) and value.present:
        return _json(value.value, natives)
    raise EvaluationError(_unconvertible(value))


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
        return base64.b64encode(value.value).decode()
    if isinstance(value.value, UInt):
        return int(value.value)
    raise EvaluationError(f"proto: invalid type: {go_type(value)}")


def _finite(value: float, message: str) -> float:
    if math.isfinite(value):
        return value
    raise EvaluationError(
        f"json: error calling MarshalJSON for type *structpb.{message}: proto: google.protobuf.Value.number_value: "
        f"invalid {double_to_string(value)} value"
    )


def _container(value: list[Any] | dict[Any, Any], natives: Natives) -> Any:
    work(1 + len(value))  # repeatedly doubled values would become JSON without end
    if isinstance(value, list):
        return [_json(each, natives) for each in value]
    return {_json_key(key): _json(each, natives) for key, each in value.items()}


def _expect_no_nested(value: Any, *, is_nested: bool = False) -> None:
    while isinstance(value, Optional) and value.present:
        value = value.value
    if is_nested and type(value) is Struct:
        raise DecodingError(_PANIC)
    if type(value) in _CONTAINERS:
        work(1 + len(value))
        for each in value if isinstance(value, list) else value.values():
            _expect_no_nested(each, is_nested=True)


_PANIC: Final = (
    "the API server panics at an Object in a list or map of a JSON Patch's value (fixed in 1.37, and in later patch "
    "releases before): use maps, with dyn(…) around values of different types, or patchType: ApplyConfiguration"
)


def _json_key(key: Any) -> str:
    if isinstance(key, str):
        return key
    raise EvaluationError(_KEY_ERRORS.get(type(key), _KEY_ERRORS[float]))


_KEY_ERRORS: Final = {
    BoolKey: "type conversion error from bool to 'string'",
    UInt: "unsupported type conversion from 'uint' to string",
    int: "unsupported type conversion from 'int' to string",
    float: "type conversion error from Double to 'string'",
}
