"""Where worker processes keep their metrics together, so that each of them can tell those of all."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from webhook.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Iterator

_IN_MEMORY = "/dev/shm"  # noqa: S108 - only a private directory is made there


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
        directory = tempfile.TemporaryDirectory(prefix="draguard-", dir=_IN_MEMORY if in_memory else None)
    except OSError as error:
        message = (
            f"there is no place for the metrics of several workers ({error.strerror}): mount a volume at /tmp, such as "
            "an emptyDir with medium Memory, or at what TMPDIR names; or give --workers 1"
        )
        raise ServerError(message) from error
    with directory as path:
        yield Path(path)


def worker_ended(shared: Shared) -> None:
    """Forget what only a living worker has, such as its open connections; what it has counted is kept.

    Args:
        shared: The worker that has ended.
    """
    for file in shared.directory.glob(f"gauge_live*_{shared.worker}.db"):
        file.unlink(missing_ok=True)
