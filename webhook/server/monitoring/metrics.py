"""Prometheus metrics.

Every label has a bounded set of values, whatever a client sends: kinds that draguard does not know are ``other``, and
policies are those of the configuration.
"""

from __future__ import annotations

import platform
from functools import cache
from math import nan
from typing import TYPE_CHECKING, Final, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import choose_encoder

from webhook.admission.record import FAILED, Endpoint
from webhook.api.versions import NEWEST, VERSIONS
from webhook.server.monitoring.counting import Reviews

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from webhook.admission import Record, ReviewOptions
    from webhook.server.process.reloading import Reloaded
    from webhook.server.tls.certificate import Certificate

REFUSALS: Final = (400, 403, 405, 408, 413, 415, 417, 431, 503, 505)
"""The statuses of requests that are refused before they are reviewed."""
OTHER: Final = "other"
"""The label of kinds for which draguard has no rules."""

_KINDS: Mapping[tuple[str, str], str] = {
    (kind, group): f"{kind}.{group}" if group else kind  # as GroupKind.String() of apimachinery writes it
    for group, kinds in ((name.rpartition("/")[0], version.kinds) for name, version in VERSIONS.items())
    for kind in kinds
}


_EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "review_failures_total": ("Reviews that the failure policy had to answer.", "endpoint"),
    "findings_total": ("Findings of rules.", "rule", "mode"),
    "policy_findings_total": ("Findings of policies.", "policy", "mode"),
    "policy_errors_total": ("Policies that could not be evaluated.", "policy"),
    "patched_total": ("Reviews whose answer changes the object.", "kind"),
    "http_requests_refused_total": ("Requests refused before they were reviewed.", "status"),
}
"""Counters of events as they occur: their texts and labels."""
_TOTALS: Final = {
    "certificate_reload_failures_total": "New certificates or authorities of clients that were refused.",
    "tls_handshake_failures_total": "TLS handshakes that failed.",
    "policy_reload_failures_total": "New sets of policies that were refused.",
    "heavy_processes_ended_total": "Processes for heavy reviews that were ended at a deadline.",
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
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series for each
        self._exposed = registry = CollectorRegistry()
        self._reviews = Reviews()
        registry.register(self._reviews)
        # Finding a child by its labels takes longer than counting; the number of children is bounded.
        self._events = {
            name: cache(Counter(f"draguard_{name}", text, labels, registry=registry).labels)
            for name, (text, *labels) in _EVENTS.items()
        }
        self._states = {name: Gauge(f"draguard_{name}", text, registry=registry) for name, text in _STATES.items()}
        self._totals = {name: Counter(f"draguard_{name}", text, registry=registry) for name, text in _TOTALS.items()}
        self._counted: dict[str, int] = {}
        ProcessCollector(registry=registry)
        build = {
            "version": version,
            "python": platform.python_version(),
            "kubernetes": kubernetes or f"up to 1.{NEWEST}",
        }
        Gauge("draguard_build_info", "1, and what this is.", build, registry=registry).labels(**build).set(1)

        # rate() and increase() miss the first event of a series that begins with it.
        for endpoint in get_args(Endpoint):
            self._events["review_failures_total"](endpoint)
        for status in REFUSALS:
            self._events["http_requests_refused_total"](status)
        self.tick(0)

    def reviewed(self, record: Record, seconds: float) -> None:
        """Count an answered review.

        Args:
            record: Its record.
            seconds: How long it took.
        """
        name, group, _ = record.kind
        kind = _KINDS.get((name, group), OTHER)
        self._reviews.add((record.endpoint, kind, record.operation, record.decision), seconds, record.cost)
        if record.patched:
            self._events["patched_total"](kind).inc()
        if record.decision == FAILED:
            self._events["review_failures_total"](record.endpoint).inc()
        for found in record.found:
            if found.is_error:
                self._events["policy_errors_total"](found.policy).inc()
            if found.policy:
                self._events["policy_findings_total"](found.policy, found.mode).inc()
            else:
                self._events["findings_total"](found.rule, found.mode).inc()

    def refused(self, status: int) -> None:
        """Count a request that is refused before it is reviewed."""
        self._events["http_requests_refused_total"](status).inc()

    def tick(self, connections: int) -> None:
        """Update gauges that change without an event, each second.

        Args:
            connections: The number of open connections.
        """
        certificate, answering = self._certificate, self._answering
        end = certificate.not_after
        policies = answering.value.policies
        names = {hook.policy.name for hook in (*policies.validating, *policies.mutating)} if policies else ()
        for name in names:
            self._events["policy_errors_total"](name)
        states = {
            "certificate_expiration_timestamp_seconds": end.timestamp() if end else nan,
            "certificate_last_reload_successful": not certificate.fault,
            "policies": len(names),
            "policy_set_generation": answering.generation,
            "policies_last_reload_successful": not answering.fault,
            "open_connections": connections,
        }
        for name, state in states.items():
            self._states[name].set(state)
        totals = {
            "certificate_reload_failures_total": certificate.refusals,
            "tls_handshake_failures_total": certificate.failed_handshakes,
            "policy_reload_failures_total": answering.failures,
            "heavy_processes_ended_total": self._ended(),
        }
        for name, total in totals.items():
            self._totals[name].inc(total - self._counted.get(name, total))
        self._counted = totals

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Write all metrics in Prometheus' text format, or in OpenMetrics if the client accepts it.

        Args:
            accept: The request's header ``Accept``.

        Returns:
            The text, and its content type.
        """
        encode, content_type = choose_encoder(accept)
        return encode(self._exposed), content_type
