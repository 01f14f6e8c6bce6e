"""The bounds that cel-go puts on the text of an expression (cel-go parser/parser.go, NewParser)."""

from __future__ import annotations

import sys
from typing import Final

MAX_CODE_POINTS: Final = 100_000
MAX_DEPTH: Final = 250
MAX_ERRORS: Final = 100
MAX_RECOVERIES: Final = 30
MAX_COPIED_NODES: Final = 100_000
"""Macros such as `optMap` use an argument twice; nested, that would grow without end. This bound is our own."""
MAX_ELEMENTS: Final = 10_000_000
"""The longest list or text that an expression may build; cel-go has no such bound, but joins lists without copying."""
RECURSION_LIMIT: Final = 5_000
"""Python frames that the deepest expression may need: about a dozen for each of 250 levels, and those of the caller."""


def ensure_recursion() -> None:
    """Lets Python recurse deep enough for every expression within `MAX_DEPTH`; pure Python calls need no C stack."""
    if sys.getrecursionlimit() < RECURSION_LIMIT:
        sys.setrecursionlimit(RECURSION_LIMIT)
