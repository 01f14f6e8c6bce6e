"""The value of a text, and what its reader noticed."""

from __future__ import annotations

from typing import Any, NamedTuple


class Composed(NamedTuple):
    """What a text holds.

    Args:
        value: The JSON value of its first document, ``None`` also if it has none.
        repeated: Whether a map has a key twice; the last one is in the value.
        ignored: Where text follows that Kubernetes' reader never looks at; ``None`` if there is none.
        is_simple: Whether each line that is not indented begins with a key of the map.
    """

    value: Any
    repeated: bool = False
    ignored: int | None = None
    is_simple: bool = False
