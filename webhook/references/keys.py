"""Keys of claims: those with an equal key may share their findings.

Most claims of a repository differ by their names, and some by a constant in a selector, or by a name that it reads.
"""

from __future__ import annotations

import re

import msgspec

from webhook.cel.kubernetes.shapes import shape_of
from webhook.inventory import devices_path
from webhook.objects import at, name_of
from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from webhook.objects import JSONObject

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(str).decode
_split: Final = re.compile(r'"expression":("[^"\\]*(?:\\.[^"\\]*)*")').split
"""Splits JSON at expressions: within a string, quotes have a backslash before them."""


class Keys(NamedTuple):
    """The keys of a claim.

    Args:
        any_names: The same for claims whose selectors have the same shapes, whatever they read, if equal names are in
            the same places; without such selectors, the same for claims that rules cannot distinguish.
        names: These names.
        has_shapes: Whether a selector has a shape.
    """

    any_names: str
    names: tuple[str, ...] = ()
    has_shapes: bool = False

    @property
    def same_names(self) -> tuple[str, ...]:
        """The same for claims whose selectors have the same shapes and read the same names."""
        return self.any_names, *self.names


def whole_of(obj: JSONObject) -> str:
    """Return the same key for claims that rules cannot distinguish; an empty one for deeply nested claims."""
    try:
        return _encode({**obj, "metadata": bool(name_of(obj))}).decode()
    except (RecursionError, ValueError):
        return ""


def keys_of(obj: JSONObject) -> Keys | None:
    """Return the keys of a claim or template, in any version; None for deeply nested ones."""
    whole = requests = whole_of(obj)
    if not whole:
        return None
    before = after = ""
    if '"config":' in whole or '"status":' in whole:  # they hold no selectors, but may hold fields of any name
        requests = _encode(at(obj, *devices_path(obj), "requests")).decode()
        before, _, after = whole.partition(requests)
    parts = _split(requests)
    names: list[str] = []
    has_shapes = False
    for place in range(1, len(parts), 2):
        if shape := shape_of(_decode(parts[place])):
            parts[place] = f"\0{shape.text}\0"  # no JSON has these marks
            names += shape.names
            has_shapes = True
    if not has_shapes:
        return Keys(whole)
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(name, len(numbers)) for name in names]
    return Keys(f"{before}{''.join(parts)}{after}{places}", tuple(names), has_shapes)
