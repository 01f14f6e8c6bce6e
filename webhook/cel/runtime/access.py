"""Reads of fields, entries and elements: `a.b`, `a[b]`, `a[?b]`, `has(a.b)`."""

from __future__ import annotations

import math
from typing import Final

from webhook.cel.errors import NO_SUCH_KEY, EvaluationError
from webhook.cel.runtime.conversions import double_to_string
from webhook.cel.types.values import ABSENT, INT_MAX, INT_MIN, Optional, Struct, UInt, Value, to_key, type_of

_NUMBERS: Final = frozenset({int, UInt, float})


def _shown(key: Value) -> str:
    if type(key) is bool:
        return "true" if key else "false"
    if type(key) is UInt:
        return str(int(key))
    if type(key) is float:
        return double_to_string(key)
    return str(key)


def no_such_key(key: Value) -> EvaluationError:
    """The error of a map without the key."""
    return EvaluationError(NO_SUCH_KEY, _shown(key))


def index(container: Value, key: Value) -> Value:
    """`container[key]`."""
    found = find(container, key)
    if found is not ABSENT:
        return found
    if type(container) is list:
        raise EvaluationError(f"index out of bounds: {_shown(key)}")
    raise no_such_key(key)


def has(container: Value, field: str, *, strict: bool = False) -> bool:
    """`has(container.field)`; strictly, an error where the container has no fields at all."""
    if type(container) is Optional:
        return container.present and has(container.value, field, strict=strict)
    tester = getattr(container, "cel_has", None)
    if tester is not None:
        return bool(tester(field))
    if isinstance(container, dict):
        return field in container
    return find_present(container, field, strict=strict) is not ABSENT


def find_present(container: Value, key: Value, *, strict: bool) -> Value:
    """The value under a key or index, for `container[?key]`; strict as in `has`."""
    tester = getattr(container, "cel_has", None)
    if tester is not None and not tester(key):
        return ABSENT
    if strict and not isinstance(container, (dict, list)) and not hasattr(container, "cel_select"):
        raise no_such_key(key)
    return find(container, key)


def find(container: Value, key: Value) -> Value:
    """The value under a key or index; `ABSENT` if there is none."""
    cls = type(container)
    if cls is dict:
        kind = type(key)
        if kind is bool:
            key = to_key(key)
        elif kind is not str and kind not in _NUMBERS:
            return ABSENT
        return container.get(key, ABSENT)
    if cls is list:
        position = _position(key)
        return container[position] if 0 <= position < len(container) else ABSENT
    if cls is Struct:
        return container.get(key, ABSENT) if type(key) is str else ABSENT
    select = getattr(container, "cel_select", None)
    return ABSENT if select is None else select(key)


def _position(key: Value) -> int:
    cls = type(key)
    if cls is int:
        return int(key)
    if cls is UInt or cls is float:
        if math.isfinite(key) and int(key) == key and INT_MIN <= key <= INT_MAX:
            return int(key)
        raise EvaluationError(f"unsupported index value {_shown(key)} in list")
    raise EvaluationError(f"unsupported index type '{type_of(key).name}' in list")
