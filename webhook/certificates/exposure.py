"""Finds out who else can read or replace a private file, by its mode and directories."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_WRITE = stat.S_IWGRP | stat.S_IWOTH


def exposures(path: Path, *, secret: bool) -> Iterator[str]:
    """List the ways in which users other than the owner can read or replace a file.

    A group may read a key: kubelet gives those of mounted Secrets to the pod's ``fsGroup``.

    Args:
        path: The file; links are followed.
        secret: Whether only its owner may read it.

    Yields:
        The rights of other users and how to remove them; nothing for directories that cannot be inspected.
    """
    real = os.path.realpath(path)
    mode = _mode(real)
    if mode is None:
        return
    if secret and mode & stat.S_IROTH:
        yield f"every user of this machine can read {path} (mode {mode:04o}): chmod o-rwx {path}"
    if mode & _WRITE:
        yield f"others than its owner can change {path} (mode {mode:04o}): chmod go-w {path}"
    directory = os.path.dirname(real)  # of what the link leads to
    above = _mode(directory)
    # In a directory such as /tmp, where the sticky bit is set, users can replace only their own files.
    if above is not None and above & _WRITE and not above & stat.S_ISVTX:
        yield f"others than its owner can replace files in {directory} (mode {above:04o}): chmod go-w {directory}"


def _mode(path: str) -> int | None:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return None
