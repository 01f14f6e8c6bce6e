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

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"draguard_{name}", text, labels, registry=registry)

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(name, text, registry=registry)

        self._reviews = Reviews()
        registry.register(self._reviews)
        # Finding a child by its labels takes longer than counting; the number of children is bounded.
        self._failures = cache(
            counter("review_failures_total", "Reviews that the failure policy had to answer.", "endpoint").labels
        )
        self._findings = cache(counter("findings_total", "Findings of rules.", "rule", "mode").labels)
        self._policy_findings = cache(
            counter("policy_findings_total", "Findings of policies.", "policy", "mode").labels
        )
        self._policy_errors = cache(
            counter("policy_errors_total", "Policies that could not be evaluated.", "policy").labels
        )
        self._patched = cache(counter("patched_total", "Reviews whose answer changes the object.", "kind").labels)
        self._refused = cache(
            counter("http_requests_refused_total", "Requests refused before they were reviewed.", "status").labels
        )
        self._expiration = gauge(
            "draguard_certificate_expiration_timestamp_seconds", "When the serving certificate expires, in Unix time."
        )
        self._certificate_good = gauge(
            "draguard_certificate_last_reload_successful", "Whether the newest files for TLS are in use."
        )
        self._policies_served = gauge("draguard_policies", "Policies that are evaluated.")
        self._generation = gauge("draguard_policy_set_generation", "How many times policies were loaded.")
        self._policies_good = gauge(
            "draguard_policies_last_reload_successful", "Whether the policies in the files are those in use."
        )
        self._counters = (
            counter(
                "certificate_reload_failures_total", "New certificates or authorities of clients that were refused."
            ),
            counter("tls_handshake_failures_total", "TLS handshakes that failed."),
            counter("policy_reload_failures_total", "New sets of policies that were refused."),
            counter("heavy_processes_ended_total", "Processes for heavy reviews that were ended at a deadline."),
        )
        self._counted = self._counts()
        self._connections = gauge("draguard_open_connections", "Open connections for reviews.")
        ProcessCollector(registry=registry)
        build = {"version": version, "python": platform.python_version()}
        Gauge(
            "draguard_build_info",
            "1, and what this is.",
            [*build, "kubernetes"],
            registry=registry,
        ).labels(**build, kubernetes=kubernetes or f"up to 1.{NEWEST}").set(1)

        # rate() and increase() miss the first event of a series that begins with it.
        for endpoint in get_args(Endpoint):
            self._failures(endpoint)
        for status in REFUSALS:
            self._refused(status)
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
            self._patched(kind).inc()
        if record.decision == FAILED:
            self._failures(record.endpoint).inc()
        for found in record.found:
            if found.is_error:
                self._policy_errors(found.policy).inc()
            if found.policy:
                self._policy_findings(found.policy, found.mode).inc()
            else:
                self._findings(found.rule, found.mode).inc()

    def refused(self, status: int) -> None:
        """Count a request that is refused before it is reviewed."""
        self._refused(status).inc()

    def tick(self, connections: int) -> None:
        """Update gauges that change without an event, each second.

        Args:
            connections: The number of open connections.
        """
        self._connections.set(connections)
        end = self._certificate.not_after
        self._expiration.set(end.timestamp() if end else nan)
        self._certificate_good.set(not self._certificate.fault)
        policies = self._answering.value.policies
        hooks = (*policies.validating, *policies.mutating) if policies else ()
        for hook in hooks:
            self._policy_errors(hook.policy.name)
        self._policies_served.set(len({hook.policy.name for hook in hooks}))
        self._generation.set(self._answering.generation)
        self._policies_good.set(not self._answering.fault)
        before, self._counted = self._counted, self._counts()
        for counter, then, now in zip(self._counters, before, self._counted, strict=True):
            counter.inc(now - then)

    def _counts(self) -> tuple[int, ...]:
        certificate = self._certificate
        return certificate.refusals, certificate.failed_handshakes, self._answering.failures, self._ended()

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Write all metrics in Prometheus' text format, or in OpenMetrics if the client accepts it.

        Args:
            accept: The request's header ``Accept``.

        Returns:
            The text, and its content type.
        """
        encode, content_type = choose_encoder(accept)
        return encode(self._exposed), content_type
