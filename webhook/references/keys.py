"""Keys of claims: those with an equal key may share their findings.

Most claims of a repository differ by their names, and some by a constant in a selector, or by a name that it reads.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from webhook.cel.kubernetes.shapes import shape_of
from webhook.inventory import devices_path
from webhook.objects import at, name_of
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.objects import JSONObject

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(str).decode
_expressions: Final = re.compile(r'"expression":("[^"\\]*(?:\\.[^"\\]*)*")')
"""Finds expressions in JSON: within a string, quotes have a backslash before them."""
_OPAQUE: Final = ('"config":', '"status":')
"""Fields that hold no selectors, but may hold fields of any name."""


class Keys(NamedTuple):
    """The keys of a claim.

    Args:
        whole: The same for claims that rules cannot distinguish.
        any_names: The same for claims whose selectors have the same shapes, whatever they read, if equal names are in
            the same places; empty if no selector has a shape.
        names: These names.
    """

    whole: str
    any_names: str = ""
    names: tuple[str, ...] = ()

    @property
    def same_names(self) -> tuple[str, ...]:
        """The same for claims whose selectors have the same shapes and read the same names."""
        return self.any_names, *self.names


def keys_of(obj: JSONObject) -> Keys | None:
    """Return the keys of a claim or template, in any version; None for deeply nested ones."""
    try:
        whole = _encode({**obj, "metadata": bool(name_of(obj))}).decode()
        is_apart = any(field in whole for field in _OPAQUE)
        requests = _encode(at(obj, *devices_path(obj), "requests")).decode() if is_apart else whole
    except (RecursionError, ValueError):
        return None
    names: list[str] = []
    shapes = _expressions.sub(partial(_shape, names), requests)
    if shapes == requests:
        return Keys(whole)
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(name, len(numbers)) for name in names]
    before, _, after = whole.partition(requests)
    return Keys(whole, f"{before}{shapes}{after}{places}", tuple(names))


def _shape(names: list[str], found: re.Match[str]) -> str:
    """Return the shape of an expression, with marks that no JSON has; note the names that it reads."""
    shape = shape_of(_decode(found[1]))
    if shape is None:
        return found[0]
    names += shape.names
    return f"\0{shape.text}\0"
