"""``--watch``: runs a command again whenever files change."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from time import sleep
from typing import Final, NoReturn

from webhook.documents import STDIN, Unreadable, find

_EVERY: Final = 0.3
"""Seconds between checks of the files."""


def watch(do: Callable[[], object], paths: Iterable[str], *, quiet: bool) -> NoReturn:
    """Call a function now, and again whenever a file is changed, added or removed, until interrupted.

    Args:
        paths: The files and directories; files beside a named one are watched, too.
        quiet: Whether to print nothing while waiting.

    Raises:
        KeyboardInterrupt: The user ends it.
    """
    named = [each for each in paths if each != STDIN]
    beside = [os.path.dirname(each) or "." for each in named if os.path.isfile(each)]
    while True:
        before = _state([*named, *beside])
        do()
        if not quiet:
            print("waiting for changes; Ctrl-C ends this", file=sys.stderr)
        sys.stdout.flush()
        while _state([*named, *beside]) == before:
            sleep(_EVERY)


def _state(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the modification times and sizes of the files."""
    found = {}
    for file in find(paths):
        if isinstance(file, Unreadable):
            continue
        try:
            status = os.stat(file)
        except OSError:  # gone meanwhile
            continue
        found[file] = (status.st_mtime_ns, status.st_size)
    return found
