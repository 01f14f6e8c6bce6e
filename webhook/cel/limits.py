"""The bounds that cel-go puts on the text of an expression (cel-go parser/parser.go, NewParser)."""

from __future__ import annotations

import sys
from typing import Final

MAX_CODE_POINTS: Final = 100_000
MAX_DEPTH: Final = 250
MAX_RECOVERIES: Final = 30
MAX_ELEMENTS: Final = 1 << 22
"""The longest list or text that an expression may build; cel-go has no such bound, but joins lists without copying."""
MAX_BYTES: Final = 64 << 20
"""How many bytes of texts, lists and maps all evaluations that share a meter may build; cel-go has no such bound."""
MAX_RANGE: Final = 1_000_000
"""The longest `lists.range`, whose numbers take ten times the memory; in Kubernetes it costs more than is allowed."""
RECURSION_LIMIT: Final = 5_000
"""Python frames that the deepest expression may need: about a dozen for each of 250 levels, and those of the caller."""


def ensure_recursion() -> None:
    """Lets Python recurse deep enough for every expression within `MAX_DEPTH`; pure Python calls need no C stack.

    The limit is the process's own, for all of its threads: an application that makes an `Environment` can recurse as
    deep itself. A lower limit only means that deep expressions are refused, with an error that says so.
    """
    if sys.getrecursionlimit() < RECURSION_LIMIT:
        sys.setrecursionlimit(RECURSION_LIMIT)
