"""How types are declared compactly that draguard does not judge, but merges, completes and types in policies."""

from __future__ import annotations

from typing import Any, Final

from webhook.api.values import Quantity, Time
from webhook.schema import Array, Bool, Field, Int, Map, Nested, Struct, Text

STRING: Final = Text()
WRITTEN: Final = Text(written=True)
OPTIONAL_STRING: Final = Text(pointer=True)
INT32: Final = Int(go="int32")
OPTIONAL_INT32: Final = Int(go="int32", pointer=True)
INT64: Final = Int()
OPTIONAL_INT64: Final = Int(pointer=True)
BOOL: Final = Bool()
OPTIONAL_BOOL: Final = Bool(pointer=True)
STRINGS: Final = Array(STRING)
STRING_MAP: Final = Map(STRING)
QUANTITIES: Final = Map(Quantity())
TIME: Final = Time()


def struct(name: str, /, **fields: Field) -> type[Struct]:
    """Declare a type by its name and fields."""
    return type(name, (Struct,), {"package": "v1", **fields})


def atomic(name: str, /, **fields: Field) -> type[Struct]:
    """Declare a type that server-side apply replaces as a whole."""
    return type(name, (Struct,), {"package": "v1", "atomic": True, **fields})


def one(type_: type[Struct], **common: Any) -> Nested:
    """Declare a field that may hold a struct."""
    return Nested(type_, pointer=True, **common)


def many(type_: type[Struct], *keys: str) -> Array:
    """Declare a list of structs, merged by keys if there are any."""
    return Array(Nested(type_), list_map_keys=keys)
