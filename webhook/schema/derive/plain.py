"""Detects quickly that a value fits its shape, as nearly all do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final

from webhook.schema.derive.shape import (
    ATOMIC,
    BOOLEAN,
    BYTES,
    INTEGER,
    MERGED,
    STRING,
    TIMESTAMP,
    ListOf,
    MapOf,
    Scalar,
    Shape,
    Structure,
)

Check = Callable[[Any], bool]

_TYPES: Final[Mapping[str, type]] = {STRING: str, TIMESTAMP: str, BYTES: str, INTEGER: int, BOOLEAN: bool}


@cache
def plain(structure: Structure) -> Check:
    """Return a function that tells whether a value certainly fits.

    Such a value has only declared fields of the right types, whole numbers in fields for them, no duplicate keys in
    lists, and null at most in values of any shape.
    """
    fields = dict(structure.fields())
    types = {name: _TYPES.get(shape.kind) for name, shape in fields.items() if isinstance(shape, Scalar)}
    checks = {name: _check(shape) for name, shape in fields.items()}

    def is_plain(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name, each in value.items():
            if type(each) is not types.get(name) and not checks.get(name, _never)(each):
                return False
        return True

    return is_plain


def _is_plain(structure: Structure, value: Any) -> bool:
    """Check a nested value; its check is made only now, as structures may contain themselves."""
    return plain(structure)(value)


def _never(_: Any) -> bool:
    return False


def _check(shape: Shape) -> Check:
    if isinstance(shape, Structure):
        return partial(_is_plain, shape)
    if isinstance(shape, ListOf):
        return _list_check(shape)
    if isinstance(shape, MapOf):
        fits = _check(shape.item)
        return lambda value: type(value) is dict and all(map(fits, value.values()))
    if isinstance(shape, Scalar):
        types = frozenset({_TYPES[shape.kind]} if shape.kind in _TYPES else {str, int})
        return lambda value: type(value) in types
    return lambda value: value is not None


def _list_check(shape: ListOf) -> Check:
    fits = _check(shape.item)
    if shape.merging == ATOMIC:
        return lambda value: type(value) is list and all(map(fits, value))
    if shape.merging == MERGED:
        keys = shape.keys

        def is_plain(value: Any) -> bool:
            if type(value) is not list or not all(map(fits, value)):
                return False
            return len({tuple([each.get(*key) for key in keys]) for each in value}) == len(value)

        return is_plain
    # A set: of strings, wherever Kubernetes has one.
    return lambda value: type(value) is list and {*map(type, value)} <= {str} and len({*value}) == len(value)
