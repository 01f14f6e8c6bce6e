"""Tells whether a fix of an expression removed some of its errors, and made no others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webhook.problem import Problem


def is_further(found: Problem, fixed: Problem) -> bool:
    """Tell whether only errors of an expression are left that the compiler reported before, too.

    Args:
        found: The errors that are left.
        fixed: The errors, one of which was fixed.
    """
    return (found.rule, found.path) == (fixed.rule, fixed.path) and set() < _errors(found) < _errors(fixed)


def _errors(problem: Problem) -> set[tuple[int, int, str]]:
    """Return the line and the text of each error, and its place from the end: a fix changes what is before others."""
    return {(each.line, each.rest, each.message) for each in problem.issues if each.line > 0}
