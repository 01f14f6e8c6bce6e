"""The results of mutations, as plain JSON.

Follows apiserver ``pkg/cel/mutation/dynamic/objects.go`` and ``policy/mutating/patch/json_patch.go``.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

from webhook.budget import work
from webhook.cel import EvaluationError
from webhook.cel.runtime.temporal import format_duration, format_timestamp
from webhook.cel.types.values import BoolKey, Duration, Optional, Struct, Timestamp

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_EXACT: Final = 2**53
"""Whole numbers beyond this are texts in JSON, as protobuf writes them."""
_PLAIN: Final = 1e21
"""Go writes a double below this without a point or an exponent if it is whole."""


class MismatchError(Exception):
    """An ``Object.a.b{…}`` stands where it does not belong."""


def check_names(value: Any) -> None:
    """Make sure that each object stands where its type's name says: ``Object.spec{…}`` in ``spec``.

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


def to_json(value: Any, *, exact: bool = False) -> Any:  # noqa: PLR0911 - a return for each type
    """Return a CEL value as plain JSON.

    Args:
        value: The value.
        exact: Whether big whole numbers stay numbers, as in an ApplyConfiguration.

    Raises:
        EvaluationError: There is no such JSON.
    """
    cls = type(value)
    if cls is str or cls is bool or value is None:
        return value
    if cls is list or isinstance(value, dict):
        return _container(value, exact=exact)
    if isinstance(value, float):
        return int(value) if not exact and value.is_integer() and abs(value) < _PLAIN else value
    if isinstance(value, int):
        return int(value) if exact or abs(value) <= _MAX_EXACT else str(int(value))
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if isinstance(value, Duration):
        return format_duration(value)
    if isinstance(value, Optional) and value.present:
        return to_json(value.value, exact=exact)
    msg = f"unsupported conversion to JSON: {type(value).__name__}"
    raise EvaluationError(msg)


def _container(value: list[Any] | dict[Any, Any], *, exact: bool) -> Any:
    work(1 + len(value))  # a value that holds others twice, again and again, would come to JSON without end
    if isinstance(value, list):
        return [to_json(each, exact=exact) for each in value]
    return {_key(key): to_json(each, exact=exact) for key, each in value.items()}


def _key(key: Any) -> str:
    return str(key.value).lower() if isinstance(key, BoolKey) else str(key)
