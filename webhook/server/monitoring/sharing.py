"""Where worker processes keep their metrics together, so that each of them can tell those of all."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from webhook.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Iterator

_IN_MEMORY = "/dev/shm"  # noqa: S108 - only a private directory is made there
_PREFIX = "draguard-metrics-"
_FRESH_SECONDS = 60.0
"""For how long a directory may be there before it is locked."""


class Shared(NamedTuple):
    """Where worker processes keep their metrics together.

    Args:
        directory: What :func:`shared_directory` has made.
        worker: The worker's number, from 0; a worker in place of one that has ended has the same and counts on.
    """

    directory: Path
    worker: int


@contextmanager
def shared_directory() -> Iterator[Path]:
    """Make the directory in which worker processes keep their metrics together; it goes when the block ends.

    It is in memory if possible, since each review writes to it, and elsewhere if TMPDIR says so.

    Raises:
        ServerError: There is no place for it.
    """
    in_memory = not os.environ.get("TMPDIR") and os.access(_IN_MEMORY, os.W_OK | os.X_OK)
    try:
        parent = _IN_MEMORY if in_memory else tempfile.gettempdir()
        _sweep(Path(parent))
        directory = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent)
    except OSError as error:
        message = (
            f"there is no place for the metrics of several workers ({error.strerror}): mount a volume at /tmp, such as "
            "an emptyDir with medium Memory, or at what TMPDIR names; or give --workers 1"
        )
        raise ServerError(message) from error
    with directory as path, _locked(path):
        yield Path(path)


@contextmanager
def _locked(path: str | Path) -> Iterator[None]:
    """Hold what a process and its children have as long as one of them lives, however they end."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(file)


def _sweep(parent: Path) -> None:
    """Remove what processes have left that were killed: memory lasts as long as a pod, not as its containers."""
    for path in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else's, or in use
            if path.stat().st_mtime < time.time() - _FRESH_SECONDS:
                with _locked(path):
                    shutil.rmtree(path)


def worker_ended(shared: Shared) -> None:
    """Forget what only a living worker has, such as its open connections; what it has counted is kept.

    Args:
        shared: The worker that has ended.
    """
    for file in shared.directory.glob(f"gauge_live*_{shared.worker}.db"):
        file.unlink(missing_ok=True)
