"""Checks the arguments of public functions; errors name the argument and the type it should have."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, TypeGuard

from webhook.objects import plain
from webhook.problem import Path

_INSTEAD: Final = {
    "bytes": "a str",
    "date": 'a str, such as "2026-01-31"',
    "datetime": 'a str, such as "2026-01-31T12:00:00Z"',
    "Decimal": "a str or an int",
    "frozenset": "a list",
    "generator": "a list",
    "set": "a list",
    "tuple": "a list",
}
"""The JSON counterpart of a Python type."""
_SCALARS: Final = (str, int, float, type(None))
_UNLIMITED: Final = frozenset({str, int, bool, type(None)})


def check_string(name: str, value: Any) -> None:
    """Check that an argument is a string, or None.

    Raises:
        ValueError: It has another type.
    """
    if value is not None and not isinstance(value, str):
        raise ValueError(_wrong(name, "a string", value))


def check_mapping(name: str, value: Any, of: type) -> None:
    """Check that an argument is a mapping from strings, or None.

    Args:
        of: The type of its values.

    Raises:
        ValueError: It has another type.
    """
    if value is None:
        return
    what = f"a mapping from str to {of.__name__}"
    if not _is_mapping(value):
        raise ValueError(_wrong(name, what, value))
    for key, each in value.items():
        if not isinstance(key, str) or not isinstance(each, of):
            raise ValueError(f"{name} must be {what}: {key!r}: {each!r} is not")


def several(name: str, value: Any, what: str, *of: type) -> list[Any]:
    """Return an argument that may be one value or several as a list.

    Args:
        what: The meaning of each value, in words.
        of: The types of which each value may be.

    Raises:
        ValueError: It has another type.
    """
    if isinstance(value, of):
        return [value]
    check_iterable(name, value, f"{what}, or a list of such")
    values = list(value)
    for index, each in enumerate(values):
        if not isinstance(each, of):
            raise ValueError(_wrong(f"{name}[{index}]", what, each))
    return values


def check_object(name: str, value: Any) -> None:
    """Check that an argument is an object.

    Raises:
        ValueError: It has another type.
    """
    if not isinstance(value, dict):
        raise ValueError(_wrong(name, "an object", value))


def check_iterable(name: str, value: Any, what: str = "a list of objects") -> None:
    """Check that an argument can be a list.

    Args:
        what: The meaning of the argument, in words.

    Raises:
        ValueError: It has another type.
    """
    if isinstance(value, (str, bytes)) or _is_mapping(value) or not hasattr(value, "__iter__"):
        raise ValueError(_wrong(name, what, value))


def check_objects(name: str, value: Any, *required: str) -> None:
    """Check that an argument is a list of objects.

    Args:
        required: The fields that each must have, with objects as values.

    Raises:
        ValueError: It has another type.
    """
    check_iterable(name, value)
    for index, each in enumerate(value):
        check_object(f"{name}[{index}]", each)
        for field in required:
            if not isinstance(each.get(field), dict):
                raise ValueError(_wrong(f"{name}[{index}].{field}", "an object", each.get(field)))


def as_json(name: str, obj: Any) -> Any:
    """Return an argument that consists of dicts, lists, strings, numbers, booleans and None.

    Values of subclasses, such as OrderedDict and StrEnum, are taken as what JSON has.

    Raises:
        TypeError: A value or key has another type, or a number is not finite; the message says where, and what to pass
            instead.
    """
    left: list[tuple[Any, Any]] = [((), obj)]  # the steps are linked: paths of deep values would take quadratic time
    while left:
        path, value = left.pop()
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, str):
                    place = _place(name, _path(path))
                    raise TypeError(f"{place} has the key {key!r}, but keys of JSON are strings: put it in quotes")
            left += (((path, key), inner) for key, inner in value.items() if type(inner) not in _UNLIMITED)
        elif isinstance(value, list):
            left += (((path, index), inner) for index, inner in enumerate(value) if type(inner) not in _UNLIMITED)
        elif isinstance(value, float) and not isfinite(value):
            raise TypeError(f"{_place(name, _path(path))} is {value}, which JSON does not have: give a finite number")
        elif not isinstance(value, _SCALARS):
            found = type(value).__name__
            instead = _INSTEAD.get(found, "a dict, list, str, number, bool or None")
            raise TypeError(f"{_place(name, _path(path))} is of type {found}, which JSON does not have: give {instead}")
    try:
        return plain(obj)
    except RecursionError:  # nothing judges what is nested so deeply
        return obj


def _path(linked: Any) -> Path:
    steps = []
    while linked:
        linked, step = linked
        steps.append(step)
    return Path(reversed(steps))


def _place(name: str, path: Path) -> str:
    return f"{name}: {path}" if path else name


def _is_mapping(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    return hasattr(value, "items") and hasattr(value, "keys")


def _wrong(name: str, what: str, value: Any) -> str:
    return f"{name} must be {what}, not {type(value).__name__}"
