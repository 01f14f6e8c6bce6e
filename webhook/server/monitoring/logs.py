"""The server's log: JSON lines, or text on a terminal.

No input of a client can forge a line, or make one longer than a pipe takes as a whole.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import zlib
from typing import Literal

from webhook.admission.enforcement import DENY
from webhook.admission.record import ALLOWED, DENIED, EXEMPT, FAILED, MALFORMED
from webhook.server.bounded import BoundedLog
from webhook.server.monitoring.lines import LONGEST, Lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

    from webhook.admission import Record
    from webhook.admission.record import Decided, RecordedFinding

Format = Literal["auto", "json", "text"]
SHARE: Final = 0.01
"""The share of plainly allowed reviews that is logged as samples; metrics count all of them."""

_LOGGER = "webhook.decisions"
_LEVELS: Mapping[Decided, int] = {
    ALLOWED: logging.INFO,
    EXEMPT: logging.INFO,
    DENIED: logging.INFO,
    FAILED: logging.ERROR,
}
_ADMITTED: Final = frozenset({ALLOWED, EXEMPT})
_COLOURS: Mapping[str, str] = {
    ALLOWED: "32",
    DENIED: "31",
    EXEMPT: "36",
    FAILED: "1;31",
    "WARNING": "33",
    "ERROR": "1;31",
    "CRITICAL": "1;31",
}
_FOUND = 20
_BOUNDS = (1000, 250, 60, 20)
"""The maximum characters of a text; smaller ones are for lines that would be too long with larger ones."""


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


class DecisionLog:
    """Logs decisions: all unusual ones, and a share of the plainly allowed ones.

    Args:
        share: The share of plainly allowed and ignored reviews that is logged: 1 for all, 0 for none. Their uid alone
            decides which ones.
    """

    def __init__(self, share: float = SHARE) -> None:
        self._bound = round(share * (1 << 32))
        self._log = logging.getLogger(_LOGGER)
        self._malformed = BoundedLog(self._log)

    def reviewed(self, record: Record, seconds: float) -> None:
        """Log an answered review, if it is selected.

        Args:
            record: Its record.
            seconds: How long it took.
        """
        if record.decision == MALFORMED:  # any client can send any number of these, and they hold no object
            self._malformed.warning(
                "what came to /%s is not a review: %s", record.endpoint, record.message or "malformed"
            )
            return
        plain = record.decision in _ADMITTED and not (record.found or record.patched or record.warnings)
        if plain and zlib.crc32(record.uid.encode("utf-8", "replace")) >= self._bound:
            return
        level = _LEVELS[record.decision]
        if self._log.isEnabledFor(level):
            self._log.log(level, "%s", record.message or record.decision, extra={"decided": fields(record, seconds)})


def fields(record: Record, seconds: float) -> dict[str, Any]:
    """Return the log record of a review: the user, the request, the decision and its reasons, without empty fields.

    Args:
        record: Its record.
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
    return {name: value for name, value in fields.items() if value} | {"durationMs": round(seconds * 1000, 3)}


def _as_record(found: RecordedFinding) -> dict[str, Any]:
    name = {"policy": found.policy} if found.policy else {"rule": found.rule}
    return {**name, "mode": found.mode} | ({"error": True} if found.is_error else {})


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
        text = _decision(_cut(decided, _BOUNDS[0])) if decided else f"{record.name}: {record.getMessage()}"
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        lines = [f"{clock} {self._colour(head)} {_cut(_visible(text), LONGEST // 5)}"]
        if record.exc_info:
            lines += [f"  {_visible(line)}" for line in self.formatException(record.exc_info).splitlines()]
        return "\n".join(lines)

    def _colour(self, head: str) -> str:
        padded = f"{head.lower():<9}"
        colour = _COLOURS.get(head) if self._coloured else None
        return f"\x1b[{colour}m{padded}\x1b[0m" if colour else padded


def _decision(fields: Mapping[str, Any]) -> str:
    where = "/".join(_word(fields[part]) for part in ("namespace", "name") if part in fields)
    what = [
        fields["endpoint"].ljust(8),
        *(_word(fields[part]) for part in ("operation", "kind") if part in fields),
        where,
    ]
    by = f"by {_word(fields['user'])}" if "user" in fields else ""
    remarks = [f"{fields['durationMs']:.1f} ms"]
    remarks += [word for name, word in (("dryRun", "dry run"), ("patched", "patched")) if name in fields]
    why = [", ".join(map(_reason, fields.get("found", ()))), fields.get("message", "")]
    return ": ".join(filter(None, [" ".join(filter(None, [*what, by, f"({', '.join(remarks)})"])), *why]))


def _reason(found: Mapping[str, Any]) -> str:
    name = found.get("rule") or f"policy {found['policy']}"
    led_to = "" if found["mode"] == DENY else f" ({found['mode']})"
    return name + (" failed" if "error" in found else "") + led_to


def _word(text: str) -> str:
    """Write a client's text as one word, so that it cannot be taken for another part of the line."""
    return text if text.isprintable() and not set(text) & set(' "\\') else json.dumps(text)


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
        return {name: _cut(each, bound) for name, each in value.items()}
    return [_cut(each, bound) for each in value] if isinstance(value, list) else value
