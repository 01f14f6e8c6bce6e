"""Where documentation is on the web."""

from __future__ import annotations

from typing import Final

HOME: Final = "https://github.com/draguard/draguard"
"""Where the project is."""


def page(rule: str) -> str:
    """Return where the page of a rule is."""
    return f"{HOME}/blob/main/docs/rules/{rule}.md"
