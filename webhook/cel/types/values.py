"""CEL's values, as Python objects.

Plain JSON values stand for themselves: None, bool, int, float, str, list, dict. The rest of CEL's values are here.
A type of a library is a class of its own with a class or instance attribute `cel_type`; it may define `__eq__` (else
values are equal when identical), `cel_select(field)` and `cel_has(field)`, and its costs: `cel_size()` is the size that
costs depend on, `cel_equality_cost` the cost of `==` if that does not depend on the size.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from webhook.cel.errors import EvaluationError
from webhook.cel.types import base as types
from webhook.cel.types.base import Type
from webhook.records import Record

Value: TypeAlias = Any
"""A value of CEL."""

_Class = TypeVar("_Class", bound=type[Any])

ABSENT: Final = object()
"""The value of a field that an object does not have."""
INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1
NANOS: Final = 1_000_000_000
TIMESTAMP_MIN: Final = -62_135_596_800 * NANOS
_TIMESTAMP_MAX: Final = 253_402_300_799 * NANOS + NANOS - 1


class UInt(int):
    """An unsigned integer of 64 bits; a plain int is signed."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The number as CEL writes it."""
        return f"{int(self)}u"


def within(value: float, least: int, most: int) -> Any:  # a value of the same class
    """The number itself, if it is within bounds.

    Raises:
        EvaluationError: It is not; the message is that of unsigned numbers if the least is 0.
    """
    if least <= value <= most:
        return value
    raise EvaluationError("integer overflow" if least else "unsigned integer overflow")


int64: Final = partial(within, least=INT_MIN, most=INT_MAX)
"""The number itself, if it fits 64 bits with a sign."""


def uint64(value: float) -> UInt:
    """A number without sign and fraction.

    Raises:
        EvaluationError: It does not fit 64 bits.
    """
    return UInt(within(value, 0, UINT_MAX))


class _Nanos:
    """A number of nanoseconds."""

    __slots__ = ("nanos",)

    nanos: int

    def __eq__(self, other: object) -> bool:
        """Tell whether both are of one class, and equal."""
        return type(other) is type(self) and self.nanos == other.nanos

    def __hash__(self) -> int:
        """Equal times hash alike, and so do equal spans."""
        return hash((type(self), self.nanos))


class Timestamp(_Nanos):
    """A point in time, in nanoseconds since 1970-01-01T00:00:00Z, from year 1 to year 9999.

    Args:
        offset: The zone in which it was written and is printed, in seconds east of UTC.

    Raises:
        EvaluationError: The time is outside of these years.
    """

    __slots__ = ("offset",)

    def __init__(self, nanos: int, offset: int = 0) -> None:
        if not TIMESTAMP_MIN <= nanos <= _TIMESTAMP_MAX:
            raise EvaluationError("timestamp overflow")
        self.nanos = nanos
        self.offset = offset


class Duration(_Nanos):
    """A span of time in nanoseconds, within 64 bits: about 292 years.

    Raises:
        EvaluationError: The span is longer.
    """

    __slots__ = ()

    def __init__(self, nanos: int) -> None:
        if not INT_MIN <= nanos <= INT_MAX:
            raise EvaluationError("duration overflow")
        self.nanos = nanos


class Optional(Record):
    """A value that may be absent; `NONE` is the absent one."""

    value: Value = None
    present: bool = True

    def __repr__(self) -> str:
        """Return the value as errors show it (cel-go common/types/optional.go)."""
        return f"optional({self.value})" if self.present else "optional.none()"


NONE: Final = Optional(present=False)


class Struct(dict[str, "Value"]):
    """A value of a declared struct type: the fields that are set, by name."""

    __slots__ = ("cel_type",)

    def __init__(self, type_: Type, fields: dict[str, Value]) -> None:
        super().__init__(fields)
        self.cel_type = type_


class BoolKey(Record):
    """A key `true` or `false` of a map; distinct from 1 and 0, which are the same keys to Python."""

    value: bool


TRUE_KEY: Final = BoolKey(True)  # noqa: FBT003 - the value itself
FALSE_KEY: Final = BoolKey(False)  # noqa: FBT003 - the value itself


def to_key(value: Value) -> Value:
    """The Python key under which a map holds an entry with this CEL key.

    Raises:
        EvaluationError: No map can have such a key.
    """
    cls = type(value)
    if cls is str or cls is int or cls is UInt or cls is float:
        return value
    if cls is bool:
        return TRUE_KEY if value else FALSE_KEY
    raise EvaluationError(f"unsupported key type: {type_of(value).name}")


def from_key(key: Value) -> Value:
    """The CEL key that a Python key of a map stands for."""
    return key.value if type(key) is BoolKey else key


_TYPES: Final[dict[type, Type]] = {
    bool: types.BOOL,
    int: types.INT,
    UInt: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    list: types.LIST,
    dict: types.MAP,
    type(None): types.NULL,
    Timestamp: types.TIMESTAMP,
    Duration: types.DURATION,
    Type: types.TYPE,
    Optional: types.OPTIONAL,
}

_GO_TYPES: Final = {
    "bool": "types.Bool",
    "bytes": "types.Bytes",
    "double": "types.Double",
    "google.protobuf.Duration": "types.Duration",
    "google.protobuf.Timestamp": "types.Timestamp",
    "int": "types.Int",
    "list": "*types.baseList",
    "map": "*types.baseMap",
    "null_type": "types.Null",
    "optional_type": "*types.Optional",
    "string": "types.String",
    "type": "*types.Type",
    "uint": "types.Uint",
}
PLAIN_CLASSES: Final = frozenset(_TYPES)
"""The classes whose values all have the same type."""


def type_of(value: Value) -> Type:
    """The type of a value at run time: `list`, not `list(int)`.

    Raises:
        EvaluationError: The value is not a CEL value; a variable was bound to something other than JSON.
    """
    found = _TYPES.get(type(value)) or getattr(value, "cel_type", None)
    if not isinstance(found, Type):
        raise EvaluationError(f"unsupported conversion to ref.Val: ({type(value).__name__}){value}")
    return found


def go_type(value: Value) -> str:
    """The name of a value's type in the few messages where cel-go names its own types."""
    return _GO_TYPES.get(type_of(value).name) or f"cel.{type(value).__name__}"


def python_type(type_: Type) -> type | None:
    """The Python class of a type's values; None if there is none, or more than one."""
    if types.is_optional(type_):
        return Optional
    return _CLASSES.get(type_.kind) or OWN_CLASSES.get(type_)


def only_class(type_: Type, **about: object) -> Callable[[_Class], _Class]:
    """Declare that all values of a library's type are of one class, which makes calls with them faster.

    `==` between them and other values is an error, unless their `cel_takes` accepts the other value.

    Args:
        about: Other attributes that describe the values.
    """

    def declare(cls: _Class) -> _Class:
        OWN_CLASSES[type_] = cls
        for name, value in {"cel_type": type_, **about}.items():
            setattr(cls, name, value)
        return cls

    return declare


OWN_CLASSES: Final[dict[Type, type]] = {}
"""The only classes of the values of libraries' types."""


def are_comparable(first: Value, second: Value) -> bool:
    """Whether `first == second` is not an error."""
    cls = type(first)
    if second is None:
        return True
    if cls is Optional:
        return type(second) is not Optional or are_comparable(first.value, second.value)
    if (takes := getattr(first, "cel_takes", None)) is not None:
        return bool(takes(second))
    return cls is type(second) or cls not in OWN_CLASSES.values()


class DefaultingMap(dict["Value", "Value"]):
    """A map in which a missing key leads to an empty map.

    The attributes of devices are such a map by domain (k8s.io/dynamic-resource-allocation `cel/compile.go`, mapper).
    """

    __slots__ = ()

    def __missing__(self, _: Value) -> Value:
        """An empty map."""
        return {}

    def cel_select(self, field: Value) -> Value:
        """The entry, or an empty map."""
        return self[field] if type(field) is str else {}

    def cel_has(self, _: Value) -> bool:
        """Whether there is a value to select: always."""
        return True

    def cel_size(self) -> int:
        """The number of entries."""
        return len(self)


_CLASSES: Final[dict[types.Kind, type]] = {
    type_.kind: cls for cls, type_ in _TYPES.items() if type_.kind is not types.Kind.OPAQUE
}
_TYPES[DefaultingMap] = types.MAP


def size_of(value: Value) -> int:
    """The size that costs depend on: code points, bytes, elements or entries; 1 for other values."""
    cls = type(value)
    if cls is str or cls is list or cls is dict or cls is bytes:
        return len(value)
    if cls is Optional:
        return size_of(value.value) if value.present else 1
    measure = getattr(cls, "cel_size", None)
    return measure(value) if measure is not None else 1
