"""Tells whether a fix of an expression removed some of its errors, and made no others."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from webhook.problem import Problem

_ERROR: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)\n \| (.*)")
"""Matches an error of a compiler: its line, its column, what is wrong, and the text of that line."""


def is_further(found: Problem, fixed: Problem) -> bool:
    """Tell whether only errors of an expression are left that the compiler reported before, too.

    Args:
        found: The errors that are left.
        fixed: The errors, one of which was fixed.
    """
    return (found.rule, found.path) == (fixed.rule, fixed.path) and set() < _errors(found) < _errors(fixed)


def _errors(problem: Problem) -> set[tuple[str, int, str]]:
    """Return the line and the text of each error, and its place from the end: a fix changes what is before others."""
    found = _ERROR.findall(problem.message)
    return {(line, int(column) - len(text), what) for line, column, what, text in found}
