"""Options of fields have the types that the fields' classes declare: mypy does not check them where they are stated."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import webhook.api
from tests.rows import each_row
from webhook.later import cached_property
from webhook.schema.declarations import Field, Struct
from webhook.schema.fields import Anything, Array, Int, Map, Nested, Text

CHECKED = dict.fromkeys(("_type", "doc", "formats", "item", "parse"), object)
"""What constructors set themselves: mypy checks their parameters."""


def fits(value: Any, type_: Any) -> bool:
    """Tell whether a value is of a type, as mypy would."""
    origin, arguments = get_origin(type_) or type_, get_args(type_)
    if type_ is Any or origin is UnionType:
        return type_ is Any or any(fits(value, each) for each in arguments)
    is_right = isinstance(value, origin) and not (type_ is int and isinstance(value, bool))
    if not is_right or origin is Callable or not arguments:
        return is_right
    if origin is tuple:
        return len(value) == len(arguments) and all(map(fits, value, arguments))
    if issubclass(origin, Mapping):
        return all(fits(key, arguments[0]) and fits(each, arguments[1]) for key, each in value.items())
    return not isinstance(value, str) and all(fits(each, arguments[0]) for each in value)


def misfits(field: Field) -> list[str]:
    """Name the options of a field that its class does not declare, or not of this type."""
    type_, rules = type(field), (field.declared or {}).values()
    types = CHECKED | get_type_hints(type_)
    own = [each for each in vars(field).items() if not isinstance(getattr(type_, each[0], None), cached_property)]
    stated = [*own, *(option for each in rules for option in each.items())]
    return [name for name, value in stated if name not in types or not fits(value, types[name])]


def within(field: Field) -> Iterator[Field]:
    """Yield a field, and those that it is made of."""
    yield field
    for name in ("item", "key", "shape"):
        if isinstance(part := getattr(field, name, None), Field):
            yield from within(part)


def structs(base: type[Struct] = Struct) -> Iterator[type[Struct]]:
    """Yield the classes of the API."""
    for each in base.__subclasses__():
        yield each
        yield from structs(each)


@pytest.mark.no_cover
def test_options_have_the_types_that_are_declared() -> None:
    for module in pkgutil.walk_packages(webhook.api.__path__, "webhook.api."):
        importlib.import_module(module.name)
    fields = [
        (f"{struct.__name__}.{name}", part)
        for struct in structs()
        for name, field in {**struct.opaque, **struct.fields}.items()
        for part in within(field)
    ]
    assert [(name, found) for name, field in fields if (found := misfits(field))] == []
    assert {Text, Int, Array, Map, Nested, Anything} <= {type(field) for _, field in fields}


@each_row(
    ("field", "expected"),
    (Text(max_length="63"), ["max_length"]),
    (Text(gate=["DRASomething"], since=37, max_length={37: 63}), []),
    (Text(gates="DRASomething"), ["gates"]),
    (Int(minimum=0), ["minimum"]),
    (Int(minimum=(0, "must not be negative")), []),
    (Array(Text(), list_map_keys="name"), ["list_map_keys"]),
    (Text(declared={35: {"always": "yes"}}), ["always"]),
)
def test_a_wrong_type_is_found(field: Field, expected: list[str]) -> None:
    assert misfits(field) == expected
