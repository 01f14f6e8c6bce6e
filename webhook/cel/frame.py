"""The working memory of one evaluation.

A frame is a list: the cost that may still be spent, the bindings, then a slot for every variable that the expression
uses. Closures that take a frame are what an expression is compiled to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Frame = list[Any]
Closure = Callable[[Frame], Any]

BUDGET: Final = 0
BINDINGS: Final = 1
FIRST_SLOT: Final = 2


class _Unset:
    """The content of a slot whose variable was not bound."""


UNSET: Final = _Unset()
