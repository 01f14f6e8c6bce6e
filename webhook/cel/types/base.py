"""CEL's types, and their names in messages."""

from __future__ import annotations

import enum
from _thread import allocate_lock
from collections.abc import Mapping
from typing import Any, Final, Self
from weakref import WeakValueDictionary

from webhook.budget import work


class Kind(enum.Enum):
    """The kind of a type."""

    ANY = "google.protobuf.Any"
    DYN = "dyn"
    ERROR = "error"
    BOOL = "bool"
    BYTES = "bytes"
    DOUBLE = "double"
    DURATION = "google.protobuf.Duration"
    INT = "int"
    LIST = "list"
    MAP = "map"
    NULL = "null_type"
    OPAQUE = "opaque"
    PARAMETER = "parameter"
    STRING = "string"
    STRUCT = "struct"
    TIMESTAMP = "google.protobuf.Timestamp"
    TYPE = "type"
    UINT = "uint"

    __hash__ = object.__hash__  # types are looked up all the time, and an Enum's own hash is slow


class Type:
    """One CEL type; build parametrised ones with `list_of`, `map_of`, `optional_of`, `type_of`, `opaque`, `struct`.

    Equal types are one object, so comparing and looking them up is fast, however large they are: the type of
    `{x: x}` holds that of x twice, and types written with a few hundred characters have more parts than can be counted.

    Args:
        kind: The kind of the type.
        name: Its name at run time, as `type(x)` gives it: `int`, `google.protobuf.Duration`, `kubernetes.Quantity`.
        parameters: The types of elements, keys and values, or of an opaque type's parameters.
        is_nullable: Whether it is a simple type whose values may be null, `wrapper(int)`.

    Attributes:
        free: The names of the type parameters in it.
        parts: The number of types in it, counted with repetition: `map(T, T)` has 1 + 2 x the parts of T.
    """

    __slots__ = ("__weakref__", "free", "is_nullable", "kind", "name", "parameters", "parts")

    kind: Kind
    name: str
    parameters: tuple[Type, ...]
    is_nullable: bool
    free: frozenset[str]
    parts: int

    def __new__(cls, kind: Kind, name: str, parameters: tuple[Type, ...] = (), *, is_nullable: bool = False) -> Self:
        """Return the only type with these parts."""
        key = kind, name, parameters, is_nullable
        found: Self | None = _UNIQUE.get(key)
        if found is not None:
            return found
        made = super().__new__(cls)
        made.kind, made.name, made.parameters, made.is_nullable = key
        made.free = frozenset((name,)) if kind is Kind.PARAMETER else frozenset()
        made.parts = 1
        for each in parameters:
            made.parts += each.parts
            if not each.free <= made.free:
                made.free = made.free | each.free if made.free else each.free
        with _LOCK:
            unique: Self = _UNIQUE.setdefault(key, made)
        return unique

    def __str__(self) -> str:
        """The type as cel-go's error messages show it (checker/format.go); of very large ones, only the outermost."""
        return _spelled(self, _SHOWN)

    __repr__ = __str__


_UNIQUE: Final[WeakValueDictionary[tuple[Kind, str, tuple[Type, ...], bool], Any]] = WeakValueDictionary()
"""The types by their parts."""
_LOCK: Final = allocate_lock()
_MOST_SPELLED: Final = 1 << 14
"""The most parts of a type that are written; without `cel.bind`, a selector of 10 KiB has no larger type."""
_SHOWN = {
    Kind.ANY: "any",
    Kind.DURATION: "duration",
    Kind.TIMESTAMP: "timestamp",
    Kind.NULL: "null",
    Kind.ERROR: "!error!",
}


def declared_name(type_: Type) -> str:
    """The type as cel-go names it elsewhere (common/types/types.go, String): `google.protobuf.Duration`."""
    return _spelled(type_, {})


def _spelled(type_: Type, names: Mapping[Kind, str]) -> str:
    shown = names.get(type_.kind, type_.name)
    if type_.parts > _MOST_SPELLED:  # cel-go writes them all, and runs out of memory
        work(1)
        return f"{shown}(…)"
    work(type_.parts)
    return _written(type_, names)


def _written(type_: Type, names: Mapping[Kind, str]) -> str:
    shown = names.get(type_.kind, type_.name)
    if type_.is_nullable:
        return f"wrapper({shown})"
    if type_.parameters:
        return f"{shown}({', '.join([_written(each, names) for each in type_.parameters])})"
    return shown


ANY: Final = Type(Kind.ANY, "google.protobuf.Any")
"""Any value, like `DYN`; but comprehensions do not range over it."""
BOOL: Final = Type(Kind.BOOL, "bool")
BYTES: Final = Type(Kind.BYTES, "bytes")
DOUBLE: Final = Type(Kind.DOUBLE, "double")
DURATION: Final = Type(Kind.DURATION, "google.protobuf.Duration")
DYN: Final = Type(Kind.DYN, "dyn")
ERROR: Final = Type(Kind.ERROR, "error")
INT: Final = Type(Kind.INT, "int")
NULL: Final = Type(Kind.NULL, "null_type")
STRING: Final = Type(Kind.STRING, "string")
TIMESTAMP: Final = Type(Kind.TIMESTAMP, "google.protobuf.Timestamp")
TYPE: Final = Type(Kind.TYPE, "type")
UINT: Final = Type(Kind.UINT, "uint")


def list_of(element: Type) -> Type:
    """The type of lists whose elements are of the given type."""
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """The type of maps from the given key type to the given value type."""
    return Type(Kind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    """The type of optional values of the given type."""
    return Type(Kind.OPAQUE, OPTIONAL_NAME, (value,))


def type_of(type_: Type) -> Type:
    """The type of the given type's own value, `type(int)` for `int`."""
    return Type(Kind.TYPE, "type", (type_,))


def nullable(type_: Type) -> Type:
    """A simple type whose values may be null, too."""
    return Type(type_.kind, type_.name, is_nullable=True)


def opaque(name: str, *parameters: Type) -> Type:
    """A type that only functions can look into; values of it carry the type in the attribute `cel_type`."""
    return Type(Kind.OPAQUE, name, parameters)


def struct(name: str) -> Type:
    """A type with named, typed fields; its fields are declared by a `StructType` of the environment."""
    return Type(Kind.STRUCT, name)


def parameter(name: str) -> Type:
    """A type parameter of an overload: `list(A)` is `list_of(parameter("A"))`."""
    return Type(Kind.PARAMETER, name)


OPTIONAL_NAME: Final = "optional_type"
LIST: Final = list_of(DYN)
MAP: Final = map_of(DYN, DYN)
OPTIONAL: Final = optional_of(DYN)

UNKNOWN_KINDS: Final = frozenset({Kind.ANY, Kind.DYN})
"""Types about which nothing is known before evaluation."""


def is_simple(type_: Type) -> bool:
    """Whether the type is one of CEL itself, without parameters."""
    return type_.kind in _SIMPLE_KINDS and not type_.is_nullable


_SIMPLE_KINDS: Final = frozenset(Kind) - {
    *(Kind.ERROR, Kind.LIST, Kind.MAP, Kind.OPAQUE, Kind.PARAMETER, Kind.STRUCT, Kind.TYPE)
}


def is_optional(type_: Type) -> bool:
    """Whether values of the type are optionals."""
    return type_.kind is Kind.OPAQUE and type_.name == OPTIONAL_NAME


def unwrap_optional(type_: Type) -> tuple[Type, bool]:
    """The type inside an optional and True, or the type itself and False."""
    return (type_.parameters[0], True) if is_optional(type_) else (type_, False)
