"""Addresses of the documentation on the web."""

from __future__ import annotations

from typing import Final

HOME: Final = "https://github.com/draguard/draguard"
"""The address of the project."""


def page(rule: str) -> str:
    """Return the address of a rule in the index of rules, where its example is one step away."""
    return f"{HOME}/blob/main/docs/rules/README.md#{rule}"
