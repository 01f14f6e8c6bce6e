"""Asks git which files below a directory it ignores."""

from __future__ import annotations

import os
from typing import Final

from webhook.documents.git import SECONDS, command, environment, repository

_ARGUMENTS: Final = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z", "--", ".")


class Ignored:
    """The files and directories that git ignores; none where there is no repository or no git.

    Tracked files are not ignored, even if ``.gitignore`` lists them.

    Args:
        top: The directory to search. If git ignores it as a whole, nothing in it is left out.
    """

    def __init__(self, top: str) -> None:
        self._prefix = len(top.rstrip("/")) + 1
        self._names = frozenset(_ask(top)) if repository(os.path.realpath(top)) else frozenset()

    def has(self, path: str, *, is_directory: bool) -> bool:
        """Tell whether git ignores a path below the directory."""
        if not self._names:
            return False
        name = path[self._prefix :]
        return (f"{name}/" if is_directory else name) in self._names


def _ask(top: str) -> list[str]:
    """List the paths that git ignores."""
    import subprocess  # only directories in repositories pay for it

    try:
        done = subprocess.run(  # noqa: S603 - the directory is one argument
            command(top, *_ARGUMENTS),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    names = os.fsdecode(done.stdout).split("\0") if not done.returncode else []
    return [] if "./" in names else names
