"""Declares API types as classes, and compiles them to closures that validate documents.

Knows nothing of DRA. A type is a :class:`Struct` with fields; a version is a substitution of types; a release is a
number. A rule about one field is declared on it; a rule about several is a function under :func:`check` or, for an
update, :func:`transition`.
"""

from webhook.schema.declarations import (
    ANY,
    CHANGED,
    IMMUTABLE,
    IN_PLACE,
    ITSELF,
    NEW,
    STORED,
    Declared,
    Default,
    Field,
    Struct,
    check,
    declared,
    exactly_one,
    transition,
)
from webhook.schema.decoding import GATE_OFF, UNKNOWN_FIELD, WRONG_TYPE
from webhook.schema.fields import (
    Anything,
    Array,
    Bool,
    CompiledStruct,
    Inlined,
    Int,
    Many,
    Map,
    Nested,
    Parsed,
    Text,
    View,
    compile_struct,
    examined,
)
from webhook.schema.target import CREATE, MAIN, OLDEST, STATUS, UPDATE, UPDATE_STATUS, Target

__all__ = [
    "ANY",
    "CHANGED",
    "CREATE",
    "GATE_OFF",
    "IMMUTABLE",
    "IN_PLACE",
    "ITSELF",
    "MAIN",
    "NEW",
    "OLDEST",
    "STATUS",
    "STORED",
    "UNKNOWN_FIELD",
    "UPDATE",
    "UPDATE_STATUS",
    "WRONG_TYPE",
    "Anything",
    "Array",
    "Bool",
    "CompiledStruct",
    "Declared",
    "Default",
    "Field",
    "Inlined",
    "Int",
    "Many",
    "Map",
    "Nested",
    "Parsed",
    "Struct",
    "Target",
    "Text",
    "View",
    "check",
    "compile_struct",
    "declared",
    "exactly_one",
    "examined",
    "transition",
]
