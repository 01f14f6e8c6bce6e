"""The types and values of CEL for structural schemas.

Follows apiserver ``pkg/cel/common`` (schemas.go, valuesunstructured.go) and ``pkg/cel/escaping.go``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from webhook.budget import work
from webhook.cel.checker.declarations import StructType
from webhook.cel.runtime.temporal import parse_timestamp
from webhook.cel.types import base as types
from webhook.cel.types.base import Type
from webhook.objects import text
from webhook.patterns import Pattern
from webhook.structural.formats import read_duration

if TYPE_CHECKING:
    from webhook.structural.schema import Structural

_RESERVED: Final = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    }
)
_PLAIN: Final = Pattern("[a-zA-Z_][a-zA-Z0-9_]*")
_ESCAPABLE: Final = Pattern("[a-zA-Z_./-][a-zA-Z0-9_./-]*")
_ESCAPED: Final = Pattern("__|[-./]")
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_SCALARS: Final[Mapping[str, Type]] = {
    "boolean": types.BOOL,
    "number": types.DOUBLE,
    "integer": types.INT,
    "string": types.STRING,
}
_TEXTS: Final[Mapping[str, Type]] = {
    "byte": types.BYTES,
    "duration": types.DURATION,
    "date": types.TIMESTAMP,
    "date-time": types.TIMESTAMP,
}


def escaped(name: str) -> str:
    """Return the name of a field in expressions; empty if they cannot read it."""
    if name in _RESERVED:
        return f"__{name}__"
    if "__" not in name and _PLAIN.fullmatch(name):
        return name
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], name) if _ESCAPABLE.fullmatch(name) else ""


def type_of(schema: Structural, name: str, declared: dict[str, StructType]) -> Type | None:
    """Return the type of a schema's values in expressions; None if they cannot read them.

    Args:
        schema: The schema; of an object with metadata, that which rules see.
        name: The name of its type, if it has fields.
        declared: Receives the types with fields.
    """
    if schema.is_int_or_string:
        return types.DYN
    if schema.is_embedded:
        schema = schema.of_resource
    if schema.type == "array":
        item = None if schema.items is None else type_of(schema.items, f"{name}.@idx", declared)
        return None if item is None else types.list_of(item)
    if schema.type == "object":
        if schema.values is not None:
            value = type_of(schema.values, f"{name}.@elem", declared)
            return None if value is None else types.map_of(types.STRING, value)
        work(1 + len(schema.properties))
        fields = {
            escaped(field): type_of(each, f"{name}.{escaped(field)}", declared)
            for field, each in schema.properties.items()
        }
        type_ = types.struct(name)
        declared[name] = StructType(type_, {field: each for field, each in fields.items() if field and each})
        return type_
    if schema.type == "string":
        return _TEXTS.get(text(schema.stated, "format"), types.STRING)
    return _SCALARS.get(schema.type)


def value_of(value: Any, schema: Structural) -> Any:
    """Return a value as expressions see it: fields by their names there, texts with a format by their meaning.

    Args:
        value: The value, which fits the schema.
        schema: The schema; of an object with metadata, that which rules see.
    """
    if value is None or schema.is_int_or_string:
        return value
    if schema.is_embedded:
        schema = schema.of_resource
    if isinstance(value, dict) and schema.type == "object":
        work(1 + len(value))
        if schema.values is not None and not schema.properties:
            return {key: value_of(each, schema.values) for key, each in value.items()}
        return {
            escaped(name): value_of(each, schema.properties[name])
            for name, each in value.items()
            if each is not None and name in schema.properties
        }
    if isinstance(value, list) and schema.items is not None:
        work(1 + len(value))
        return [value_of(each, schema.items) for each in value]
    return _scalar(value, schema)


def _scalar(value: Any, schema: Structural) -> Any:
    if isinstance(value, str) and schema.type == "string":
        read = _READ.get(text(schema.stated, "format"))
        return value if read is None else read(value)
    if schema.type == "number" and isinstance(value, int | float):
        return float(value)
    return int(value) if isinstance(value, float) and schema.type == "integer" else value


def _bytes(encoded: str) -> Any:
    try:
        return base64.b64decode(encoded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return encoded


_READ: Final[Mapping[str, Callable[[str], Any]]] = {
    "byte": _bytes,
    "duration": read_duration,
    "date": lambda date: parse_timestamp(f"{date}T00:00:00Z"),
    "date-time": lambda time: parse_timestamp(time) or parse_timestamp(f"{time}Z"),
}
