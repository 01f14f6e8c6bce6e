"""The log of reviews: what was decided, why, and how long it took, which tells why a review was slow.

A slow review is explained by ``durationMs``, which includes waiting, and by ``cost``, what policies did; the bounds of
both are those of ``server/app.py`` and ``budget.py``.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Mapping
from typing import Any

from webhook.admission import Record
from webhook.admission.enforcement import DENY
from webhook.admission.record import ALLOWED, EXEMPT, FAILED, MALFORMED, RecordedFinding
from webhook.logs import BoundedLog

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
            record: Its record.
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
            self._log.log(level, "%s", said, extra={"decided": Decision.of(record, seconds)})


class Decision(dict[str, Any]):
    """The log record of a review: the user, the request, the decision and its reasons, without empty fields."""

    @classmethod
    def of(cls, record: Record, seconds: float) -> Decision:
        """Describe a review.

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
