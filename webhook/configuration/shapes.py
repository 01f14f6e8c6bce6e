"""Shapes of values, which check them and describe them as JSON schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from webhook.records import NamedTuple
from webhook.spelling import did_you_mean


class Shape(Protocol):
    """A shape."""

    def check(self, value: Any, path: tuple[str | int, ...]) -> Iterator[ShapeFault]:
        """Yield the faults of a value."""

    def schema(self) -> dict[str, Any]:
        """Return the shape as JSON schema."""


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

    path: tuple[str | int, ...]
    message: str
    hint: str = ""
    names_key: bool = False


def _other(path: tuple[str | int, ...], value: Any, wanted: str, hint: str = "") -> ShapeFault:
    found = "nothing" if value is None else _NOUNS.get(type(value), "something else")
    return ShapeFault(path, f"must be {wanted}, not {found}", hint)


class Text(NamedTuple):
    """A text.

    Args:
        pattern: The pattern of the whole text; empty for any but the empty text.
    """

    pattern: str = ""
    example: str = ""

    def check(self, value: Any, path: tuple[str | int, ...]) -> Iterator[ShapeFault]:
        """Check that it is a text that matches."""
        example = f", such as {self.example}" if self.example else ""
        if isinstance(value, (int, float, bool)):
            quoted = f', such as "{self.example}"' if self.example else ""
            hint = f"YAML takes it for {_NOUNS[type(value)]}: write it in quotes{quoted}"
            yield _other(path, value, "a string", hint)
        elif not isinstance(value, str):
            yield _other(path, value, f"a string{example}")
        elif not value.strip() or (self.pattern and not re.fullmatch(self.pattern, value)):
            yield ShapeFault(path, f"{value!r} is not allowed here{example and f': give a string{example}'}")

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        return {"type": "string"} | ({"pattern": f"^{self.pattern}$"} if self.pattern else {"minLength": 1})


class Word(NamedTuple):
    """One of some words.

    Args:
        words: The words. YAML reads ``off`` as false, so false means ``off``.
    """

    words: tuple[str, ...]

    def check(self, value: Any, path: tuple[str | int, ...]) -> Iterator[ShapeFault]:
        """Check that it is one of the words."""
        if value in self.words or (value is False and OFF in self.words):
            return
        hint = did_you_mean(value, self.words) if isinstance(value, str) else ""
        import json  # needed for mistakes only

        yield ShapeFault(path, f"{json.dumps(value)} is not one of {', '.join(self.words)}", hint)

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        return {"enum": [*self.words, *([False] if OFF in self.words else [])]}


class Label(NamedTuple):
    """The value of a label, which may be empty."""

    def check(self, value: Any, path: tuple[str | int, ...]) -> Iterator[ShapeFault]:
        """Check that it is a text."""
        if value:
            yield from Text().check(value, path)
        elif not isinstance(value, str):
            yield _other(path, value, "a string", 'quote it, or give "" for the empty one')

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        return {"type": "string"}


class Flag(NamedTuple):
    """True or false."""

    def check(self, value: Any, path: tuple[str | int, ...]) -> Iterator[ShapeFault]:
        """Check that it is a boolean."""
        if not isinstance(value, bool):
            yield _other(path, value, "true or false")

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        return {"type": "boolean"}


class ListOf(NamedTuple):
    """A list.

    Args:
        item: The shape of its items.
    """

    item: Shape
    least: int = 0

    def check(self, value: Any, path: tuple[str | int, ...]) -> Iterator[ShapeFault]:
        """Check that it is a list of such items."""
        if not isinstance(value, list):
            yield _other(path, value, "a list", "write each item on a line of its own after -")
        elif not self.least <= len(value) <= MAX_ITEMS:
            yield ShapeFault(path, f"must have at most {MAX_ITEMS} items" if value else "must not be empty")
        else:
            for index, item in enumerate(value):
                yield from self.item.check(item, (*path, index))

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        return {"type": "array", "items": self.item.schema(), "minItems": self.least, "maxItems": MAX_ITEMS}


class MapOf(NamedTuple):
    """A map with any keys.

    Args:
        value: The shape of its values.
        what: A description of its keys.
    """

    value: Shape
    what: str

    def check(self, value: Any, path: tuple[str | int, ...]) -> Iterator[ShapeFault]:
        """Check that it is a map of such values."""
        if not isinstance(value, dict):
            yield _other(path, value, f"a map of {self.what}")
        elif len(value) > MAX_ITEMS:
            yield ShapeFault(path, f"must have at most {MAX_ITEMS} keys")
        else:
            for key, inner in value.items():
                yield from self.value.check(inner, (*path, key))

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        return {"type": "object", "additionalProperties": self.value.schema(), "maxProperties": MAX_ITEMS}


class Key(NamedTuple):
    """A key of a record.

    Args:
        shape: The shape of its value.
        required: For a required key, an example of its value as YAML writes it; empty for others.
    """

    shape: Shape
    doc: str
    required: str = ""


class Record(NamedTuple):
    """A map with certain keys."""

    keys: Mapping[str, Key]

    def check(self, value: Any, path: tuple[str | int, ...]) -> Iterator[ShapeFault]:
        """Check that it is a map with these keys only."""
        if not isinstance(value, dict):
            yield _other(path, value, f"a map with {', '.join(self.keys)}")
            return
        for name, inner in value.items():
            if name in self.keys:
                yield from self.keys[name].shape.check(inner, (*path, name))
            else:
                hint = did_you_mean(name, self.keys, f"the keys are {', '.join(self.keys)}")
                yield ShapeFault((*path, name), f"unknown key {name!r}", hint, names_key=True)
        for name, key in self.keys.items():
            if key.required and name not in value:
                what = f"{key.doc[0].lower()}{key.doc[1:].removesuffix('.')}"
                yield ShapeFault(path, f"{name} is missing: {what}", f"add it, such as `{name}: {key.required}`")

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        properties = {name: {"description": key.doc} | key.shape.schema() for name, key in self.keys.items()}
        required = [name for name, key in self.keys.items() if key.required]
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        return schema | ({"required": required} if required else {})
