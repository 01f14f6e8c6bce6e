"""The value of a text, and its reader's remarks."""

from __future__ import annotations

from typing import Any, NamedTuple


class Composed(NamedTuple):
    """The content of a text.

    Args:
        value: The JSON value of its first document, ``None`` also if it has none.
        repeated: Whether a map has a key twice; the last one is in the value.
        ignored: The offset of text that Kubernetes' reader ignores; ``None`` if there is none.
        is_simple: Whether each line that is not indented begins with a key of the map.
    """

    value: Any
    repeated: bool = False
    ignored: int | None = None
    is_simple: bool = False
