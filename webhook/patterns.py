"""Regular expressions compiled on first use: compiling all of them takes longer than judging a manifest."""

from __future__ import annotations

import re
from typing import Any


class Pattern:
    """A regular expression with the methods of a compiled one.

    Args:
        flags: Flags of :mod:`re`.
    """

    def __init__(self, text: str | bytes, flags: int = 0) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        """Compile the expression, and keep the requested method."""
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)
        return found
