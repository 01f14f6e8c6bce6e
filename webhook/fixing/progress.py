"""Tells whether a fix of an expression removed the first of several errors."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from webhook.problem import Problem

_FIRST: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): .*\n \| (.*)")
"""Matches a compiler's first error: its line, its column, and the text of that line."""


def is_further(found: Problem, fixed: Problem) -> bool:
    """Tell whether the first error of an expression is behind the fixed one, so that the fix did not cause it.

    Args:
        found: The error that is left.
        fixed: The error that was fixed.
    """
    if (found.rule, found.path) != (fixed.rule, fixed.path):
        return False
    left, before = _place(found), _place(fixed)
    return left is not None and before is not None and left > before


def _place(problem: Problem) -> tuple[int, int] | None:
    """Return the line of the first error, and its place from the end of the line, as a fix changes what is before."""
    match = _FIRST.search(problem.message)
    return (int(match[1]), int(match[2]) - len(match[3])) if match else None
