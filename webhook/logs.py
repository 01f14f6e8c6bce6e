"""The log of commands that serve: JSON lines, or text on a terminal; and the log of reviews.

No input of a client can forge a line, or make one longer than a pipe takes as a whole. The log of reviews tells what
was decided, why, and how long it took. A slow review is explained by ``durationMs``, which includes waiting, and by
``cost``, what policies did; the bounds of both are those of ``server/app.py`` and ``budget.py``.
"""

from __future__ import annotations

import json
import logging
import os
import select
import sys
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from logging.handlers import QueueHandler
from queue import SimpleQueue
from typing import Any, Literal

from webhook.admission import Record
from webhook.admission.enforcement import DENY
from webhook.admission.record import ALLOWED, DENIED, EXEMPT, FAILED, MALFORMED, RecordedFinding
from webhook.escapes import printable

Format = Literal["auto", "json", "text"]
LONGEST = select.PIPE_BUF
"""The maximum bytes of a line that a pipe takes as a whole, even if other processes write to it at the same time."""
_WAITING = 2000
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
        self._file, self._limit = file, waiting
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
            thread.join(1.0)
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
        self._log, self._clock, self._allowed = log, clock, _AT_ONCE
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
            shown = shortened(fields, bound)
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
        text = str(shortened(decided, _BOUNDS[0])) if decided else f"{record.name}: {record.getMessage()}"
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        lines = [f"{clock} {self._colour(head)} {shortened(printable(text), LONGEST // 5)}"]
        if record.exc_info:
            lines += [f"  {printable(line)}" for line in self.formatException(record.exc_info).splitlines()]
        return "\n".join(lines)

    def _colour(self, head: str) -> str:
        padded = f"{head.lower():<9}"
        colour = _COLOURS.get(head) if self._coloured else None
        return f"\x1b[{colour}m{padded}\x1b[0m" if colour else padded


def shortened(value: Any, bound: int) -> Any:
    """Shorten the texts in a value."""
    if isinstance(value, str):
        return value if len(value) <= bound else f"{value[: bound - 1]}\u2026"
    if isinstance(value, dict):
        return type(value)((name, shortened(each, bound)) for name, each in value.items())
    return [shortened(each, bound) for each in value] if isinstance(value, list) else value


SHARE = 0.01
"""The share of plainly allowed reviews that is logged as samples; metrics count all of them."""
_FOUND = 20


class DecisionLog:
    """Logs decisions: all unusual ones, and a share of the plainly allowed ones.

    Args:
        share: The share of plainly allowed and ignored reviews that is logged: 1 for all, 0 for none. Their uid alone
            decides which ones.
    """

    def __init__(self, share: float = SHARE) -> None:
        self._bound = round(share * (1 << 32))
        self._log = logging.getLogger("webhook.decisions")
        self._malformed = BoundedLog(self._log)

    def reviewed(self, record: Record, seconds: float) -> None:
        """Log an answered review, if it is selected.

        Args:
            seconds: How long it took.
        """
        if record.decision == MALFORMED:  # any client can send any number of these, and they hold no object
            self._malformed.warning(
                "invalid AdmissionReview on /%s: %s", record.endpoint, record.message or "malformed"
            )
            return
        plain = record.decision in {ALLOWED, EXEMPT} and not (record.found or record.patched or record.warnings)
        if plain and zlib.crc32(record.uid.encode("utf-8", "replace")) >= self._bound:
            return
        level = logging.ERROR if record.decision == FAILED else logging.INFO
        if self._log.isEnabledFor(level):
            said = record.message or record.decision
            self._log.log(level, "%s", said, extra={"decided": DecisionRecord.of(record, seconds)})


class DecisionRecord(dict[str, Any]):
    """The log record of a review: the user, the request, the decision and its reasons, without empty fields."""

    @classmethod
    def of(cls, record: Record, seconds: float) -> DecisionRecord:
        """Describe a review.

        Args:
            seconds: How long it took.
        """
        kind, group, version = record.kind
        found = list(dict.fromkeys(record.found))
        fields = {
            "decision": record.decision,
            "endpoint": record.endpoint,
            "uid": record.uid,
            "operation": record.operation,
            "apiVersion": f"{group}/{version}" if group else version,
            "kind": kind,
            "resource": record.resource,
            "namespace": record.namespace,
            "name": record.name,
            "user": record.user,
            "dryRun": record.dry_run,
            "found": [_as_record(each) for each in found[:_FOUND]],
            "foundMore": len(found[_FOUND:]),
            "patched": record.patched,
            "warnings": record.warnings,
            "cost": record.cost,
            "message": record.message,
        }
        return cls({name: value for name, value in fields.items() if value}, durationMs=round(seconds * 1000, 3))

    def __str__(self) -> str:
        """Write it as a line for people."""
        where = "/".join(_word(self[part]) for part in ("namespace", "name") if part in self)
        what = [
            self["endpoint"].ljust(8),
            *(_word(self[part]) for part in ("operation", "kind") if part in self),
            where,
        ]
        by = f"by {_word(self['user'])}" if "user" in self else ""
        remarks = [f"{self['durationMs']:.1f} ms"]
        remarks += [word for name, word in (("dryRun", "dry run"), ("patched", "patched")) if name in self]
        why = [", ".join(map(_reason, self.get("found", ()))), self.get("message", "")]
        return ": ".join(filter(None, [" ".join(filter(None, [*what, by, f"({', '.join(remarks)})"])), *why]))


def _as_record(found: RecordedFinding) -> dict[str, Any]:
    name = {"policy": found.policy} if found.policy else {"rule": found.rule}
    return {**name, "mode": found.mode} | ({"error": True} if found.is_error else {})


def _reason(found: Mapping[str, Any]) -> str:
    name = found.get("rule") or f"policy {found['policy']}"
    led_to = "" if found["mode"] == DENY else f" ({found['mode']})"
    return name + (" failed" if "error" in found else "") + led_to


def _word(text: str) -> str:
    """Write a client's text as one word, so that it cannot be taken for another part of the line."""
    return text if text.isprintable() and not set(text) & set(' "\\') else json.dumps(text)
