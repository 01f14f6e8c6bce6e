"""Prometheus metrics.

Every label has a bounded set of values, whatever a client sends: policies are those of the configuration.
"""

from __future__ import annotations

import platform
from collections import Counter
from math import nan
from typing import get_args

from webhook.admission.record import FAILED, Endpoint
from webhook.api.versions import DEFAULT
from webhook.server.monitoring.counting import Reviews, label_of
from webhook.server.monitoring.exposition import counter, gauge, total, write
from webhook.server.monitoring.usage import of_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Final

    from webhook.admission import Record, ReviewOptions
    from webhook.server.monitoring.exposition import Family
    from webhook.server.process.reloading import Reloaded
    from webhook.server.tls.certificate import Certificate

REFUSALS: Final = (400, 403, 405, 408, 413, 415, 417, 431, 501, 503, 505)
"""The statuses of requests that are refused before they are reviewed."""
_EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "review_failures": ("Reviews that the failure policy had to answer.", "endpoint"),
    "findings": ("Findings of rules.", "rule", "mode"),
    "policy_findings": ("Findings of policies.", "policy", "mode"),
    "policy_errors": ("Reviews in which a policy could not be evaluated.", "policy"),
    "patched": ("Reviews whose answer changes the object.", "kind"),
    "http_requests_refused": ("Requests refused before they were reviewed.", "status"),
}
"""Counters of events as they occur: their texts and labels."""
_TOTALS: Final = {
    "certificate_reload_failures": "New certificates or authorities of clients that were refused.",
    "tls_handshake_failures": "TLS handshakes that failed.",
    "policy_reload_failures": "New sets of policies that were refused.",
    "heavy_processes_ended": "Processes for heavy reviews that were ended at a deadline.",
}
"""Counters that follow the totals of other parts."""
_STATES: Final = {
    "certificate_expiration_timestamp_seconds": "When the serving certificate expires, in Unix time.",
    "certificate_last_reload_successful": "Whether the newest files for TLS are in use.",
    "policies": "Policies that are evaluated.",
    "policy_set_generation": "How many times policies were loaded.",
    "policies_last_reload_successful": "Whether the policies in the files are those in use.",
    "open_connections": "Open connections for reviews.",
}
"""Gauges."""


class Metrics:
    """Counts and measures events in this process.

    Args:
        certificate: The serving certificate.
        answering: The options for answering reviews, including policies.
        kubernetes: The release of the rules, such as ``"1.30"``; None for the newest that knows an object's fields.
        ended: Returns the number of processes for heavy reviews that were killed at a deadline.
        version: The version of draguard.
    """

    def __init__(
        self,
        certificate: Certificate,
        answering: Reloaded[ReviewOptions],
        kubernetes: str | None = None,
        ended: Callable[[], int] = int,
        *,
        version: str = "",
    ) -> None:
        self._certificate = certificate
        self._answering = answering
        self._ended = ended
        self._reviews = Reviews()
        self._events = {name: Counter[tuple[str, ...]]() for name in _EVENTS}
        self._connections = 0
        self._before = self._totals()
        self._build = {
            "version": version,
            "python": platform.python_version(),
            "kubernetes": kubernetes or f"up to 1.{DEFAULT}",
        }
        # rate() and increase() miss the first event of a series that begins with it.
        self._events["review_failures"].update({(endpoint,): 0 for endpoint in get_args(Endpoint)})
        self._events["http_requests_refused"].update({(str(status),): 0 for status in REFUSALS})

    def reviewed(self, record: Record, seconds: float) -> None:
        """Count an answered review.

        Args:
            record: Its record.
            seconds: How long it took.
        """
        self._reviews.add(record, seconds)
        if record.found or record.patched or record.decision == FAILED:
            self._add_events(record)

    def _add_events(self, record: Record) -> None:
        events = self._events
        if record.patched:
            kind, group, _ = record.kind
            events["patched"][label_of(kind, group),] += 1
        if record.decision == FAILED:
            events["review_failures"][record.endpoint,] += 1
        # A finding of a policy is there once for each action of its binding.
        events["policy_errors"].update({(found.policy,) for found in record.found if found.is_error})
        for found in record.found:
            if found.policy:
                events["policy_findings"][found.policy, found.mode] += 1
            else:
                events["findings"][found.rule, found.mode] += 1

    def refused(self, status: int) -> None:
        """Count a request that is refused before it is reviewed."""
        self._events["http_requests_refused"][str(status),] += 1

    def tick(self, connections: int) -> None:
        """Update what changes without an event, each second.

        Args:
            connections: The number of open connections.
        """
        self._connections = connections

    def exposition(self, media_type: str) -> tuple[bytes, str]:
        """Write all metrics in Prometheus' text format, or in OpenMetrics.

        Args:
            media_type: The media type of OpenMetrics, or any other.

        Returns:
            The text, and its content type.
        """
        return write(self._families(), media_type)

    def _families(self) -> Iterator[Family]:
        states = self._states()
        yield from self._reviews.families()
        for name, (text, *labels) in _EVENTS.items():
            yield counter(f"draguard_{name}", text, labels, self._events[name])
        for name, text in _STATES.items():
            yield gauge(f"draguard_{name}", text, states[name])
        totals = self._totals()
        for name, text in _TOTALS.items():
            yield total(f"draguard_{name}", text, totals[name] - self._before[name])
        yield from of_process()
        yield gauge("draguard_build_info", "1, and what this is.", 1, self._build)

    def _states(self) -> dict[str, float]:
        certificate, answering = self._certificate, self._answering
        end = certificate.not_after
        policies = answering.value.policies
        names = {hook.policy.name for hook in (*policies.validating, *policies.mutating)} if policies else ()
        self._events["policy_errors"].update({(name,): 0 for name in names})
        return {
            "certificate_expiration_timestamp_seconds": end.timestamp() if end else nan,
            "certificate_last_reload_successful": not certificate.fault,
            "policies": len(names),
            "policy_set_generation": answering.generation,
            "policies_last_reload_successful": not answering.fault,
            "open_connections": self._connections,
        }

    def _totals(self) -> dict[str, int]:
        return {
            "certificate_reload_failures": self._certificate.refusals,
            "tls_handshake_failures": self._certificate.failed_handshakes,
            "policy_reload_failures": self._answering.failures,
            "heavy_processes_ended": self._ended(),
        }
