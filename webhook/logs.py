"""The log of commands that serve: JSON lines, or text on a terminal.

No input of a client can forge a line, or make one longer than a pipe takes as a whole.
"""

from __future__ import annotations

import json
import logging
import os
import select
import sys
import threading
import time
from collections.abc import Callable, Mapping
from logging.handlers import QueueHandler
from queue import SimpleQueue
from typing import Any, Literal

from webhook.admission.record import ALLOWED, DENIED, EXEMPT, FAILED

Format = Literal["auto", "json", "text"]
LONGEST = select.PIPE_BUF
"""The maximum bytes of a line that a pipe takes as a whole, even if other processes write to it at the same time."""
_WAITING = 2000
_PARTING_SECONDS = 1.0
_AT_ONCE = 10.0
_COLOURS: Mapping[str, str] = {
    ALLOWED: "32",
    DENIED: "31",
    EXEMPT: "36",
    FAILED: "1;31",
    "WARNING": "33",
    "ERROR": "1;31",
    "CRITICAL": "1;31",
}
_BOUNDS = (1000, 250, 60, 20)
"""The maximum characters of a text. If a line is too long for a pipe with the first, the next is tried, and so on."""


def configure(style: Format, level: str = "info") -> None:
    """Log to standard error from now on.

    Args:
        style: The format of lines; ``auto`` is text if standard error is a terminal, else JSON.
        level: The lowest level that is written, such as ``"info"``.
    """
    terminal = sys.stderr.isatty()
    lines = Lines()
    if style == "json" or (style == "auto" and not terminal):
        lines.setFormatter(JsonFormatter())
    else:
        lines.setFormatter(TextFormatter(coloured=terminal and not os.environ.get("NO_COLOR")))
    logging.basicConfig(level=level.upper(), handlers=[lines])
    os.register_at_fork(after_in_child=lines.begin)


class Lines(QueueHandler):
    """Writes lines from a thread of its own, since a pipe that is not read blocks its writer.

    If too many lines wait, further ones are dropped; a later line states their number.

    Args:
        file: The descriptor of the file to write to.
        waiting: How many lines may wait.
    """

    def __init__(self, file: int = 2, waiting: int = _WAITING) -> None:
        super().__init__(SimpleQueue())  # whose put() a signal handler may interrupt that logs, too
        self._file = file
        self._limit = waiting
        self.begin()

    def begin(self) -> None:
        """Begin without lines and a thread: a forked process does not inherit its parent's."""
        self.queue: SimpleQueue[Any] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._dropped = 0

    def prepare(self, record: logging.LogRecord) -> Any:
        """Write the line here, as what it shows may change."""
        return self.format(record).encode(errors="backslashreplace") + b"\n"

    def enqueue(self, record: Any) -> None:
        """Queue a line, or drop it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
            self._thread.start()
        if self.queue.qsize() >= self._limit:
            self._dropped += 1
        else:
            self.queue.put_nowait(record)

    def close(self) -> None:
        """Write the waiting lines, unless nothing reads them."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self.queue.put_nowait(None)
            thread.join(_PARTING_SECONDS)
        super().close()

    def _write_all(self) -> None:
        while (line := self.queue.get()) is not None:
            self._write(line)
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                text = "%d lines were dropped: standard error was not read in time"
                self._write(self.prepare(logging.LogRecord(__name__, logging.WARNING, "", 0, text, (dropped,), None)))

    def _write(self, line: bytes) -> None:
        while line:
            try:
                line = line[os.write(self._file, line) :]
            except BlockingIOError:  # another process that shares the file made it so
                select.select((), (self._file,), ())
            except OSError:  # its reader is gone
                return


class BoundedLog:
    """Writes up to ten warnings at once, then one a second, with the number of warnings dropped before it.

    Args:
        log: The logger.
        clock: Returns the time in seconds, from any moment on.
    """

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._allowed = _AT_ONCE
        self._checked_at = clock()
        self._left_out = 0

    def warning(self, message: str, *arguments: object) -> None:
        """Log a warning unless there were too many."""
        now = self._clock()
        self._allowed = min(_AT_ONCE, self._allowed + now - self._checked_at)
        self._checked_at = now
        if self._allowed < 1:
            self._left_out += 1
            return
        self._allowed -= 1
        if self._left_out:
            message = f"{message} ({self._left_out} such lines before it were left out)"
            self._left_out = 0
        self._log.warning(message, *arguments)


class JsonFormatter(logging.Formatter):
    """Writes lines of JSON in ASCII, which cannot end a line early or move a terminal's cursor."""

    def format(self, record: logging.LogRecord) -> str:
        """Write a line."""
        fields = {
            "time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            **(getattr(record, "decided", None) or {"message": record.getMessage()}),
        }
        trace = self.formatException(record.exc_info) if record.exc_info else ""
        for bound in _BOUNDS:
            shown = _cut(fields, bound)
            if trace:
                shown["exception"] = trace[-3 * bound :]  # its end names the error
            line = json.dumps(shown, separators=(",", ":"))
            if len(line) < LONGEST:
                break
        return line


class TextFormatter(logging.Formatter):
    """Writes lines for people to read.

    Args:
        coloured: Whether decisions and levels have colours.
    """

    def __init__(self, *, coloured: bool = False) -> None:
        super().__init__()
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        """Write a line, and further ones, indented, for an exception."""
        decided = getattr(record, "decided", None)
        head = decided["decision"] if decided else record.levelname
        text = str(_cut(decided, _BOUNDS[0])) if decided else f"{record.name}: {record.getMessage()}"
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        lines = [f"{clock} {self._colour(head)} {_cut(_visible(text), LONGEST // 5)}"]
        if record.exc_info:
            lines += [f"  {_visible(line)}" for line in self.formatException(record.exc_info).splitlines()]
        return "\n".join(lines)

    def _colour(self, head: str) -> str:
        padded = f"{head.lower():<9}"
        colour = _COLOURS.get(head) if self._coloured else None
        return f"\x1b[{colour}m{padded}\x1b[0m" if colour else padded


def _visible(text: str) -> str:
    """Escape characters that would end the line or move a terminal's cursor."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _cut(value: Any, bound: int) -> Any:
    """Shorten the texts in a value."""
    if isinstance(value, str):
        return value if len(value) <= bound else f"{value[: bound - 1]}\u2026"
    if isinstance(value, dict):
        return type(value)((name, _cut(each, bound)) for name, each in value.items())
    return [_cut(each, bound) for each in value] if isinstance(value, list) else value
