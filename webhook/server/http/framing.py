"""Frames for reviews and answers between processes: data, never code."""

from __future__ import annotations

import json
import struct

import msgspec

from webhook.admission import Answer, Record
from webhook.admission.record import RecordedFinding
from webhook.admission.requests import part, text_in
from webhook.problem import cut
from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

    from webhook.admission import Endpoint

LENGTHS: Final = struct.Struct("!II")
"""The start of a frame: the lengths of its head and its body."""

_LONGEST: Final = 1000
"""The maximum characters of a request's text in the log."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


class Task(NamedTuple):
    """The options for answering a review.

    Args:
        endpoint: As of :class:`webhook.admission.Call`.
        fail_open: The same.
        deadline: The same.
        end: When the process is killed unless it has answered, in seconds of ``time.monotonic()``.
    """

    endpoint: Endpoint
    fail_open: bool | None
    deadline: float
    end: float


def write_task(task: Task, body: bytes) -> bytes:
    """Write a task up to the body of the review, which follows."""
    head = _encode(task)
    return LENGTHS.pack(len(head), len(body)) + head


def read_task(head: bytes | bytearray) -> Task:
    """Read the head of a task."""
    return Task(*_decode(head))


def write_answer(answer: Answer, *, is_last: bool) -> bytes:
    """Write an answer with its record for metrics and logs, never the object.

    Args:
        answer: The answer.
        is_last: Whether the process ends now.
    """
    record = answer.record
    recorded = record and (
        record.endpoint,
        record.decision,
        _head_of(record),
        record.found,
        record.patched,
        record.warnings,
        record.cost,
        record.message,
    )
    head = json.dumps((is_last, answer.status, answer.content_type, recorded)).encode()
    return LENGTHS.pack(len(head), len(answer.body)) + head + answer.body


def read_answer(head: bytes, body: bytes) -> tuple[Answer, bool]:
    """Read an answer, and whether it is the last of its process."""
    is_last, status, content_type, recorded = json.loads(head)
    return Answer(status, body, content_type, recorded and _record(*recorded)), is_last


def _head_of(record: Record) -> dict[str, Any]:
    """Return the recorded part of a request; a client may state texts of any length."""
    request = record.request
    kind, group, version = record.kind
    texts: dict[str, Any] = {
        "uid": record.uid,
        "operation": record.operation,
        "subResource": text_in(request, "subResource"),
        "namespace": record.namespace,
        "name": record.name,
    }
    parts = {
        "kind": {"kind": kind, "group": group, "version": version},
        "resource": {name: part(request, "resource", name) for name in ("group", "resource")},
        "userInfo": {"username": record.user},
    }
    return _cut(texts | parts) | {"dryRun": record.dry_run} if request else {}


def _cut(texts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: cut(each, _LONGEST) if isinstance(each, str) else _cut(each) for name, each in texts.items()}


def _record(endpoint: Any, decision: Any, request: Any, found: Any, *more: Any) -> Record:
    return Record(endpoint, decision, request, [RecordedFinding(*each) for each in found], *more)
