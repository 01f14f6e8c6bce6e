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


def command(directory: str, *arguments: str) -> list[str]:
    """Return a command that runs no other programs, whatever the repository's configuration says."""
    return ["git", *_SAFE, "-C", directory, *arguments]


def environment() -> dict[str, str]:
    """Return the environment of that command, in which git does not fetch, prompt or write.

    It also ignores another repository (``GIT_DIR``) that a hook passes to draguard.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _QUIET


class Ignored:
    """The files and directories that git ignores; none without a repository or without git.

    Tracked files are not ignored, even if ``.gitignore`` lists them.

    Args:
        top: The directory to search. If git ignores it as a whole, nothing in it is left out.
    """

    def __init__(self, top: str) -> None:
        self._prefix = len(top.rstrip("/")) + 1
        self._names: frozenset[str] = frozenset()
        import subprocess  # only directories in repositories pay for it

        try:
            done = subprocess.run(  # noqa: S603 - the directory is one argument
                command(top, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z", "--", "."),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(),
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return
        names = os.fsdecode(done.stdout).split("\0")
        if not done.returncode and "./" not in names:
            self._names = frozenset(names)

    def has(self, path: str, *, is_directory: bool) -> bool:
        """Tell whether git ignores a path below the directory."""
        if not self._names:
            return False
        name = path[self._prefix :]
        return (f"{name}/" if is_directory else name) in self._names
