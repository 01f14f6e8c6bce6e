"""Runs git in a repository that need not be trusted."""

from __future__ import annotations

import os
from typing import Final

SECONDS: Final = 10
"""The time limit of git."""
_SAFE: Final = ("--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_QUIET: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


def repository(directory: str) -> str | None:
    """Return the top of the repository that a directory, given as its real path, is in; None if it is in none."""
    while not os.path.lexists(f"{directory}/.git"):
        if directory == (parent := os.path.dirname(directory)):
            return None
        directory = parent
    return directory


def command(directory: str, *arguments: str) -> list[str]:
    """Return a command that runs no other programs, whatever the repository's configuration says."""
    return ["git", *_SAFE, "-C", directory, *arguments]


def environment() -> dict[str, str]:
    """Return the environment of that command, in which git does not fetch, prompt or write.

    It also ignores another repository (``GIT_DIR``) that a hook passes to draguard.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _QUIET
