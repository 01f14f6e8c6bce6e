"""Writes log lines without blocking."""

from __future__ import annotations

import logging
import os
import select
import threading
from queue import SimpleQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


STANDARD_ERROR: Final = 2
LONGEST: Final = select.PIPE_BUF
"""The maximum bytes of a line that a pipe takes as a whole, even if other processes write to it at the same time."""

_WAITING = 2000
_PARTING_SECONDS = 1.0


class Lines(logging.Handler):
    """Writes lines from a thread of its own, since a pipe that is not read blocks its writer.

    If too many lines wait, further ones are dropped; a later line states their number.

    Args:
        file: The descriptor of the file to write to.
        waiting: How many lines may wait.
    """

    def __init__(self, file: int = STANDARD_ERROR, waiting: int = _WAITING) -> None:
        super().__init__()
        self._file = file
        self._limit = waiting
        self._dropped = 0
        self._begin()

    def _begin(self) -> None:
        # Its put() may be interrupted by a signal handler that logs, too.
        self._queue: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line."""
        try:
            if self._process != os.getpid():  # forked: the parent's threads and their lines are not inherited
                self._begin()
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
                self._thread.start()
            if self._queue.qsize() >= self._limit:
                self._dropped += 1
                return
            self._queue.put(self._line(record))
        except Exception:  # noqa: BLE001 - like every handler
            self.handleError(record)

    def close(self) -> None:
        """Write the waiting lines, unless nothing reads them."""
        if self._thread is not None and self._process == os.getpid():
            self._queue.put(None)
            self._thread.join(_PARTING_SECONDS)
            self._thread = None
        super().close()

    def _line(self, record: logging.LogRecord) -> bytes:
        return self.format(record).encode(errors="backslashreplace") + b"\n"

    def _write_all(self) -> None:
        while (line := self._queue.get()) is not None:
            self._write(line)
            if self._dropped:
                with self.lock:  # type: ignore[union-attr]  # every handler makes one
                    dropped, self._dropped = self._dropped, 0
                text = "%d lines were dropped: standard error was not read in time"
                record = logging.LogRecord(__name__, logging.WARNING, __file__, 0, text, (dropped,), None)
                self._write(self._line(record))

    def _write(self, line: bytes) -> None:
        while line:
            try:
                line = line[os.write(self._file, line) :]
            except BlockingIOError:  # another process that shares the file made it so
                select.select((), (self._file,), ())
            except OSError:  # its reader is gone
                return
