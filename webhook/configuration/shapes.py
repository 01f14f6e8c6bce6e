"""Shapes of values, which check them and describe them as JSON schema."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from webhook.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

OFF: Final = "off"
MAX_ITEMS: Final = 1000
"""The most items of a list, and keys of a map."""
_NOUNS: Final = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list", dict: "a map"}


class ShapeError(ValueError):
    """A value does not have the shape that it should have.

    Args:
        path: Its path.
        message: The error.
        hint: How to fix it; empty if unclear.
    """

    def __init__(self, path: tuple[str | int, ...], message: str, hint: str = "") -> None:
        super().__init__(message)
        self.path = path
        self.hint = hint


class Shape(Protocol):
    """A shape."""

    def check(self, value: Any, path: tuple[str | int, ...]) -> None:
        """Check a value.

        Raises:
            ShapeError: It has another shape.
        """

    def schema(self) -> dict[str, Any]:
        """Return the shape as JSON schema."""


def _other(path: tuple[str | int, ...], value: Any, wanted: str, hint: str = "") -> ShapeError:
    found = "nothing" if value is None else _NOUNS.get(type(value), "something else")
    return ShapeError(path, f"must be {wanted}, not {found}", hint)


@dataclass(frozen=True)
class Text:
    """A text.

    Args:
        pattern: The pattern of the whole text; empty for any but the empty text.
        example: A valid text.
    """

    pattern: str = ""
    example: str = ""

    def check(self, value: Any, path: tuple[str | int, ...]) -> None:
        """Check that it is a text that matches."""
        example = f", such as {self.example}" if self.example else ""
        if isinstance(value, (int, float, bool)):
            quoted = f', such as "{self.example}"' if self.example else ""
            hint = f"YAML takes it for {_NOUNS[type(value)]}: write it in quotes{quoted}"
            raise _other(path, value, "a text", hint)
        if not isinstance(value, str):
            raise _other(path, value, f"a text{example}")
        if not value.strip() or (self.pattern and not re.fullmatch(self.pattern, value)):
            raise ShapeError(path, f"{value!r} is not allowed here{example and f': give a text{example}'}")

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        return {"type": "string"} | ({"pattern": f"^{self.pattern}$"} if self.pattern else {"minLength": 1})


@dataclass(frozen=True)
class Word:
    """One of some words.

    Args:
        words: The words. YAML reads ``off`` as false, so false means ``off``.
    """

    words: tuple[str, ...]

    def check(self, value: Any, path: tuple[str | int, ...]) -> None:
        """Check that it is one of the words."""
        if value in self.words or (value is False and OFF in self.words):
            return
        near = nearest(value, self.words) if isinstance(value, str) else ""
        hint = f"did you mean {near}?" if near else ""
        raise ShapeError(path, f"{json.dumps(value)} is not one of {', '.join(self.words)}", hint)

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        return {"enum": [*self.words, *([False] if OFF in self.words else [])]}


@dataclass(frozen=True)
class Label:
    """The value of a label, which may be empty."""

    def check(self, value: Any, path: tuple[str | int, ...]) -> None:
        """Check that it is a text."""
        if value:
            Text().check(value, path)
        elif not isinstance(value, str):
            raise _other(path, value, "a text", 'quote it, or give "" for the empty one')

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        return {"type": "string"}


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def check(self, value: Any, path: tuple[str | int, ...]) -> None:
        """Check that it is a boolean."""
        if not isinstance(value, bool):
            raise _other(path, value, "true or false")

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Number:
    """A whole number.

    Args:
        least: The smallest value.
        most: The largest value.
    """

    least: int
    most: int

    def check(self, value: Any, path: tuple[str | int, ...]) -> None:
        """Check that it is such a number."""
        if type(value) is not int:
            raise _other(path, value, f"a number from {self.least} to {self.most}")
        if not self.least <= value <= self.most:
            raise ShapeError(path, f"{value} is not a number from {self.least} to {self.most}")

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True)
class ListOf:
    """A list.

    Args:
        item: The shape of its items.
        least: The fewest items.
    """

    item: Shape
    least: int = 0

    def check(self, value: Any, path: tuple[str | int, ...]) -> None:
        """Check that it is a list of such items."""
        if not isinstance(value, list):
            raise _other(path, value, "a list", "write each item on a line of its own after -")
        if not self.least <= len(value) <= MAX_ITEMS:
            what = f"must have at most {MAX_ITEMS} items" if value else "must not be empty"
            raise ShapeError(path, what)
        for index, item in enumerate(value):
            self.item.check(item, (*path, index))

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        return {"type": "array", "items": self.item.schema(), "minItems": self.least, "maxItems": MAX_ITEMS}


@dataclass(frozen=True)
class MapOf:
    """A map with any keys.

    Args:
        value: The shape of its values.
        what: A description of its keys.
    """

    value: Shape
    what: str

    def check(self, value: Any, path: tuple[str | int, ...]) -> None:
        """Check that it is a map of such values."""
        if not isinstance(value, dict):
            raise _other(path, value, f"a map of {self.what}")
        if len(value) > MAX_ITEMS:
            raise ShapeError(path, f"must have at most {MAX_ITEMS} keys")
        for key, inner in value.items():
            self.value.check(inner, (*path, key))

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        return {"type": "object", "additionalProperties": self.value.schema(), "maxProperties": MAX_ITEMS}


@dataclass(frozen=True)
class Key:
    """A key of a record.

    Args:
        shape: The shape of its value.
        doc: Its description.
        is_required: Whether it is required.
    """

    shape: Shape
    doc: str
    is_required: bool = False


@dataclass(frozen=True)
class Record:
    """A map with certain keys.

    Args:
        keys: The keys.
    """

    keys: Mapping[str, Key] = field(default_factory=dict)

    def check(self, value: Any, path: tuple[str | int, ...]) -> None:
        """Check that it is a map with these keys only."""
        if not isinstance(value, dict):
            raise _other(path, value, f"a map with {', '.join(self.keys)}")
        for name, inner in value.items():
            if name not in self.keys:
                raise ShapeError((*path, name), f"unknown key {name!r}", _suggestion(name, self.keys))
            self.keys[name].shape.check(inner, (*path, name))
        for name, key in self.keys.items():
            if key.is_required and name not in value:
                raise ShapeError(path, f"{name} is missing: {key.doc}")

    def schema(self) -> dict[str, Any]:
        """Return it as JSON schema."""
        properties = {name: {"description": key.doc} | key.shape.schema() for name, key in self.keys.items()}
        required = [name for name, key in self.keys.items() if key.is_required]
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        return schema | ({"required": required} if required else {})


def _suggestion(name: str, known: Mapping[str, Key]) -> str:
    near = nearest(name, known)
    return f"did you mean {near}?" if near else f"the keys are {', '.join(known)}"
