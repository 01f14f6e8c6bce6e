"""Warnings about policies that the API server accepts, although they cannot work."""

from __future__ import annotations

from webhook.problem import WARNING, Path, Problem


def warning(rule: str, path: Path, message: str, hint: str = "", character: int | None = None) -> Problem:
    """Return a warning.

    Args:
        rule: The rule that finds it.
        path: The field.
        message: What is wrong.
        hint: How to fix it; empty if that is not known.
        character: Where the fault is in an expression, in code points; None for what the message locates.
    """
    return Problem(WARNING, rule, "", path, message, hint, character=character)
