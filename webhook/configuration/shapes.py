"""JSON schemas of values, by which they are described and checked (:mod:`webhook.structural.keywords`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

OFF: Final = "off"
MAX_ITEMS: Final = 1000
"""The most items of a list, and keys of a map."""
Shape = dict[str, Any]

LABEL: Final[Shape] = {"type": "string", "pattern": r"^$|\S"}
"""The value of a label, which may be empty."""
FLAG: Final[Shape] = {"type": "boolean"}


def text(pattern: str = "", example: str = "") -> Shape:
    """Return the shape of a text.

    Args:
        pattern: The pattern of the whole text; empty for any but an empty one.
    """
    shape = {"type": "string", "pattern": f"^{pattern}$" if pattern else r"\S"}
    return shape | ({"examples": [example]} if example else {})


def word(*words: str) -> Shape:
    """Return the shape of a word, which is one of these; YAML reads ``off`` as false, so false means ``off``."""
    return {"enum": [*words, *([False] if OFF in words else [])]}


def list_of(item: Shape, least: int = 0) -> Shape:
    """Return the shape of a list of such items."""
    shape = {"type": "array", "items": item, "minItems": least, "maxItems": MAX_ITEMS}
    return shape | ({"examples": [item["examples"]]} if "examples" in item else {})


def map_of(shape: Shape) -> Shape:
    """Return the shape of a map with any keys, and such values."""
    return {"type": "object", "additionalProperties": shape, "maxProperties": MAX_ITEMS}


def record(keys: Mapping[str, tuple[Shape, str]], *required: str) -> Shape:
    """Return the shape of a map with certain keys, each with its description."""
    properties = {name: {"description": doc} | shape for name, (shape, doc) in keys.items()}
    shape = {"type": "object", "properties": properties, "additionalProperties": False}
    return shape | ({"required": [*required]} if required else {})
