"""What is told of a running server, whoever wants to know it.

Whoever serves tells a :class:`Monitor`, which does nothing with it; :class:`~webhook.server.metrics.Metrics` does.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from webhook.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webhook.admission import Record
    from webhook.server.tls import Certificate

_IN_MEMORY = "/dev/shm"  # noqa: S108 - only a private directory is made there


class Monitor:
    """Is told what happens, and keeps nothing of it."""

    def reviewed(self, record: Record, seconds: float) -> None:
        """A review is answered.

        Args:
            record: What is told of it.
            seconds: How long it took, waiting included.
        """

    def refused(self, status: int) -> None:
        """A request is refused before anything of it is reviewed.

        Args:
            status: The answer's HTTP status.
        """

    def policies_served(self, names: Iterable[str], generation: int) -> None:
        """Policies are asked from now on.

        Args:
            names: Their names.
            generation: How many times policies were loaded, this time included.
        """

    def policies_refused(self) -> None:
        """New policies cannot be asked; those before them still are."""

    def tick(self, connections: int, certificate: Certificate) -> None:
        """A second has passed.

        Args:
            connections: How many connections are open.
            certificate: What is served with.
        """


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
