"""What git ignores below a directory, as git itself says."""

from __future__ import annotations

import os
from typing import Final

_SECONDS: Final = 10
_ARGUMENTS: Final = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z", "--", ".")
_QUIET: Final = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}


class Ignored:
    """The files and directories that git ignores; none where there is no repository or no git.

    What is tracked is not ignored, whatever ``.gitignore`` says of it.

    Args:
        top: The directory that is looked through. Nothing in it is left out if git ignores it as a whole.
    """

    def __init__(self, top: str) -> None:
        self._prefix = len(top.rstrip("/")) + 1
        self._names = frozenset(_ask(top)) if _in_repository(top) else frozenset()

    def has(self, path: str, *, is_directory: bool) -> bool:
        """Tell whether git ignores something that was found below the directory."""
        if not self._names:
            return False
        name = path[self._prefix :]
        return (f"{name}/" if is_directory else name) in self._names


def _in_repository(top: str) -> bool:
    directory = os.path.realpath(top)
    while not os.path.lexists(f"{directory}/.git"):
        if directory == (parent := os.path.dirname(directory)):  # noqa: PTH120 - pathlib takes longer to import
            return False
        directory = parent
    return True


def _ask(top: str) -> list[str]:
    """List what git ignores; configuration of the repository must not make it run other programs.

    Nor does it see what a hook that runs draguard was told of another directory (``GIT_DIR``).
    """
    import subprocess  # noqa: PLC0415 - only directories in repositories pay for it

    command = ["git", "-C", top, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *_ARGUMENTS]
    try:
        done = subprocess.run(  # noqa: S603 - the directory is one argument
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _QUIET,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    names = os.fsdecode(done.stdout).split("\0") if not done.returncode else []
    return [] if "./" in names else names
