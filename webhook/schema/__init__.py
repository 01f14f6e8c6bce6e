"""Describe API types as classes; compile them to closures that judge a document as it was submitted.

Knows nothing of DRA. A type is a :class:`Struct` with fields; a version is a substitution of types; a release is a
number. What concerns one field is declared on it; what concerns several is a function under :func:`check` or, for an
update, :func:`transition`.
"""

from webhook.schema.collections import Array, Map
from webhook.schema.decoding import UNKNOWN_FIELD, WRONG_TYPE
from webhook.schema.fields import IMMUTABLE, Field
from webhook.schema.scalars import Anything, Bool, Int, Parsed, Text
from webhook.schema.struct import CompiledStruct, Nested, Struct, View, check, compile_struct, transition
from webhook.schema.target import CREATE, MAIN, OLDEST, STATUS, UPDATE, UPDATE_STATUS, Target

__all__ = [
    "CREATE",
    "IMMUTABLE",
    "MAIN",
    "OLDEST",
    "STATUS",
    "UNKNOWN_FIELD",
    "UPDATE",
    "UPDATE_STATUS",
    "WRONG_TYPE",
    "Anything",
    "Array",
    "Bool",
    "CompiledStruct",
    "Field",
    "Int",
    "Map",
    "Nested",
    "Parsed",
    "Struct",
    "Target",
    "Text",
    "View",
    "check",
    "compile_struct",
    "transition",
]
