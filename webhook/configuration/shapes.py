"""Shapes of values, which check them and describe them as JSON schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from webhook.problem import Steps
from webhook.records import NamedTuple
from webhook.spelling import did_you_mean

OFF: Final = "off"
MAX_ITEMS: Final = 1000
"""The most items of a list, and keys of a map."""
_NOUNS: Final = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "a map"}


class ShapeFault(NamedTuple):
    """A value that does not have the shape that it should have.

    Args:
        hint: How to fix it; empty if unclear.
        names_key: Whether the message names the last key of the path.
    """

    path: Steps
    message: str
    hint: str = ""
    names_key: bool = False


class Shape(NamedTuple):
    """The shape of a value.

    Args:
        schema: The shape as JSON schema.
        faults: Yields the faults of a value at a path.
    """

    schema: dict[str, Any]
    faults: Callable[[Any, Steps], Iterator[ShapeFault]]


class Key(NamedTuple):
    """A key of a record.

    Args:
        shape: The shape of its value.
        required: For a required key, an example of its value as YAML writes it; empty for others.
    """

    shape: Shape
    doc: str
    required: str = ""


def _other(path: Steps, value: Any, wanted: str, hint: str = "") -> ShapeFault:
    found = "nothing" if value is None else _NOUNS.get(type(value), "something else")
    return ShapeFault(path, f"must be {wanted}, not {found}", hint)


def text(pattern: str = "", example: str = "") -> Shape:
    """Return the shape of a text.

    Args:
        pattern: The pattern of the whole text; empty for any but the empty text.
    """
    such = f", such as {example}" if example else ""

    def faults(value: Any, path: Steps) -> Iterator[ShapeFault]:
        if isinstance(value, int | float):
            quoted = f', such as "{example}"' if example else ""
            hint = f"YAML takes it for {_NOUNS[type(value)]}: write it in quotes{quoted}"
            yield _other(path, value, "a string", hint)
        elif not isinstance(value, str):
            yield _other(path, value, f"a string{such}")
        elif not value.strip() or (pattern and not re.fullmatch(pattern, value)):
            yield ShapeFault(path, f"{value!r} is not allowed here{such and f': give a string{such}'}")

    return Shape({"type": "string"} | ({"pattern": f"^{pattern}$"} if pattern else {"minLength": 1}), faults)


def _faults_of_label(value: Any, path: Steps) -> Iterator[ShapeFault]:
    if value:
        yield from text().faults(value, path)
    elif not isinstance(value, str):
        yield _other(path, value, "a string", 'quote it, or give "" for the empty one')


LABEL: Final = Shape({"type": "string"}, _faults_of_label)
"""The value of a label, which may be empty."""


def _faults_of_flag(value: Any, path: Steps) -> Iterator[ShapeFault]:
    if not isinstance(value, bool):
        yield _other(path, value, "true or false")


FLAG: Final = Shape({"type": "boolean"}, _faults_of_flag)


def word(*words: str) -> Shape:
    """Return the shape of a word, which is one of these; YAML reads ``off`` as false, so false means ``off``."""

    def faults(value: Any, path: Steps) -> Iterator[ShapeFault]:
        if value not in words and not (value is False and OFF in words):
            hint = did_you_mean(value, words) if isinstance(value, str) else ""
            import json  # needed for mistakes only

            yield ShapeFault(path, f"{json.dumps(value)} is not one of {', '.join(words)}", hint)

    return Shape({"enum": [*words, *([False] if OFF in words else [])]}, faults)


def list_of(item: Shape, least: int = 0) -> Shape:
    """Return the shape of a list of such items."""

    def faults(value: Any, path: Steps) -> Iterator[ShapeFault]:
        if not isinstance(value, list):
            yield _other(path, value, "a list", "write each item on a line of its own after -")
        elif not least <= len(value) <= MAX_ITEMS:
            yield ShapeFault(path, f"must have at most {MAX_ITEMS} items" if value else "must not be empty")
        else:
            for index, each in enumerate(value):
                yield from item.faults(each, (*path, index))

    return Shape({"type": "array", "items": item.schema, "minItems": least, "maxItems": MAX_ITEMS}, faults)


def map_of(shape: Shape, what: str) -> Shape:
    """Return the shape of a map with any keys.

    Args:
        shape: The shape of its values.
        what: A description of its keys.
    """

    def faults(value: Any, path: Steps) -> Iterator[ShapeFault]:
        if not isinstance(value, dict):
            yield _other(path, value, f"a map of {what}")
        elif len(value) > MAX_ITEMS:
            yield ShapeFault(path, f"must have at most {MAX_ITEMS} keys")
        else:
            for key, each in value.items():
                yield from shape.faults(each, (*path, key))

    return Shape({"type": "object", "additionalProperties": shape.schema, "maxProperties": MAX_ITEMS}, faults)


def record(keys: Mapping[str, Key]) -> Shape:
    """Return the shape of a map with certain keys."""
    named = ", ".join(keys)

    def faults(value: Any, path: Steps) -> Iterator[ShapeFault]:
        if not isinstance(value, dict):
            yield _other(path, value, f"a map with {named}")
            return
        for name, each in value.items():
            if name in keys:
                yield from keys[name].shape.faults(each, (*path, name))
            else:
                hint = did_you_mean(name, keys, f"the keys are {named}")
                yield ShapeFault((*path, name), f"unknown key {name!r}", hint, names_key=True)
        for name, key in keys.items():
            if key.required and name not in value:
                what = f"{key.doc[0].lower()}{key.doc[1:].removesuffix('.')}"
                yield ShapeFault(path, f"{name} is missing: {what}", f"add it, such as `{name}: {key.required}`")

    properties = {name: {"description": key.doc} | key.shape.schema for name, key in keys.items()}
    required = [name for name, key in keys.items() if key.required]
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return Shape(schema | ({"required": required} if required else {}), faults)
