"""Prometheus metrics: plain numbers, which its client library writes when they are requested.

Every label has a bounded set of values, whatever a client sends: policies are those of the configuration, and unknown
kinds are ``other``.
"""

from __future__ import annotations

import platform
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from math import nan
from typing import get_args

from prometheus_client import ProcessCollector, exposition
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from webhook.admission import Answer, Record, ReviewOptions
from webhook.admission.record import FAILED, Endpoint
from webhook.api.versions import DEFAULT, VERSIONS
from webhook.reloading import Reloaded
from webhook.server.certificate import Certificate
from webhook.server.messages import HTTPRequest

REFUSALS = (400, 403, 405, 408, 413, 415, 417, 431, 501, 503, 505)
"""The statuses of requests that are refused before they are reviewed."""
OTHER = "other"
"""The label of kinds for which draguard has no rules."""
_KINDS: Mapping[tuple[str, str], str] = {
    (kind, group): f"{kind}.{group}" if group else kind  # as GroupKind.String() of apimachinery writes it
    for group, kinds in ((name.rpartition("/")[0], version.kinds) for name, version in VERSIONS.items())
    for kind in kinds
}
_BUCKETS = (1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_EVENTS: Mapping[str, tuple[str, ...]] = {
    "reviews": ("AdmissionReviews answered.", "endpoint", "kind", "operation", "decision"),
    "review_failures": ("Reviews that the failure policy had to answer.", "endpoint"),
    "findings": ("Findings of rules.", "rule", "mode"),
    "policy_findings": ("Findings of policies.", "policy", "mode"),
    "policy_errors": ("Reviews in which a policy could not be evaluated.", "policy"),
    "patched": ("Reviews whose answer changes the object.", "kind"),
    "http_requests_refused": ("Requests refused before they were reviewed.", "status"),
}
"""Counters of events: their texts and labels."""
_TOTALS = {
    "cel_cost": "What evaluating policies has cost, in CEL's units.",
    "certificate_reload_failures": "New certificates or authorities of clients that were refused.",
    "tls_handshake_failures": "TLS handshakes that failed.",
    "policy_reload_failures": "New sets of policies that were refused.",
    "heavy_processes_ended": "Processes for heavy reviews that were ended at a deadline.",
}
"""Counters that follow the totals of other parts."""
_STATES = {
    "certificate_expiration_timestamp_seconds": "When the serving certificate expires, in Unix time.",
    "certificate_last_reload_successful": "Whether the newest files for TLS are in use.",
    "policies": "Policies that are evaluated.",
    "policy_set_generation": "How many times policies were loaded.",
    "policies_last_reload_successful": "Whether the policies in the files are those in use.",
    "open_connections": "Open connections for reviews.",
}
"""Gauges."""
_FRESH = 0.01
"""The seconds for which what was written is kept: that takes milliseconds, and many clients may ask at once."""
_OPEN_METRICS = b"application/openmetrics-text"


class Exported(Collector):
    """Metrics as a page, those of the process among them."""

    def __init__(self) -> None:
        self.process = ProcessCollector(registry=None)
        self._written: dict[bool, tuple[Answer, float]] = {}

    def page(self, request: HTTPRequest) -> Answer:
        """Make the page of all metrics, in OpenMetrics for clients that read it, else in Prometheus' text format."""
        is_open = _OPEN_METRICS in request.headers.get(b"accept", b"").lower()
        page, until = self._written.get(is_open, (None, 0.0))
        if page is None or until < time.monotonic():
            page = Answer(200, *self.exposition(is_open=is_open))
            self._written[is_open] = page, time.monotonic() + _FRESH
        return page

    def exposition(self, *, is_open: bool) -> tuple[bytes, str]:
        """Write all metrics; return their content type, too."""
        if is_open:
            return openmetrics.generate_latest(self), openmetrics.CONTENT_TYPE_LATEST  # type: ignore[no-untyped-call]
        return exposition.generate_latest(self), exposition.CONTENT_TYPE_PLAIN_0_0_4


class Metrics(Exported):
    """Counts and measures events in this process.

    Args:
        answering: The options for answering reviews, including policies.
        kubernetes: The release of the rules, such as ``"1.30"``; None for the newest that knows an object's fields.
        ended: Returns the number of processes for heavy reviews that were ended at a deadline.
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
        super().__init__()
        self._certificate, self._answering, self._ended = certificate, answering, ended
        self._events = {name: Counter[tuple[str, ...]]() for name in _EVENTS}
        self._reviews = self._events["reviews"]
        self._took = {endpoint: [0] * (len(_BUCKETS) + 1) for endpoint in get_args(Endpoint)}
        """How many reviews are in each bucket."""
        self._seconds = dict.fromkeys(self._took, 0.0)
        self._cost = 0
        self.connections: Callable[[], int] = int
        """Returns the number of open connections."""
        self._build = {
            "version": version,
            "python": platform.python_version(),
            "kubernetes": kubernetes or f"up to 1.{DEFAULT}",
        }
        # rate() and increase() miss the first event of a series that begins with it.
        self._events["review_failures"].update({(endpoint,): 0 for endpoint in self._took})
        self._events["http_requests_refused"].update({(str(status),): 0 for status in REFUSALS})

    def reviewed(self, record: Record, seconds: float) -> None:
        """Count an answered review.

        Args:
            seconds: How long it took.
        """
        kind, group, _ = record.kind
        kind, endpoint = _KINDS.get((kind, group), OTHER), record.endpoint
        self._reviews[endpoint, kind, record.operation, record.decision] += 1
        self._took[endpoint][bisect_left(_BUCKETS, seconds)] += 1
        self._seconds[endpoint] += seconds
        self._cost += record.cost
        events = self._events
        if record.patched:
            events["patched"][kind,] += 1
        if record.decision == FAILED:
            events["review_failures"][endpoint,] += 1
        if record.found:
            # A finding of a policy is there once for each action of its binding.
            events["policy_errors"].update({(found.policy,) for found in record.found if found.is_error})
            for found in record.found:
                name = found.policy or found.rule
                events["policy_findings" if found.policy else "findings"][name, found.mode] += 1

    def refused(self, status: int) -> None:
        """Count a request that is refused before it is reviewed."""
        self._events["http_requests_refused"][str(status),] += 1

    def collect(self) -> Iterator[Metric]:
        """Return all metrics."""
        certificate, answering = self._certificate, self._answering
        policies = answering.value.policies
        names = {hook.policy.name for hook in (*policies.validating, *policies.mutating)} if policies else ()
        self._events["policy_errors"].update({(name,): 0 for name in names})
        for name, (text, *labels) in _EVENTS.items():
            family = CounterMetricFamily(f"draguard_{name}", text, labels=labels)
            for values, count in self._events[name].items():
                family.add_metric(values, count)
            yield family
        yield self._durations()
        totals = self._cost, certificate.failures, certificate.failed_handshakes, answering.failures, self._ended()
        end = certificate.value.not_after
        states = (
            end.timestamp() if end else nan,
            not certificate.fault,
            len(names),
            answering.generation,
            not answering.fault,
            self.connections(),
        )
        for family_of, texts, numbers in ((CounterMetricFamily, _TOTALS, totals), (GaugeMetricFamily, _STATES, states)):
            for (name, text), number in zip(texts.items(), numbers, strict=True):
                yield family_of(f"draguard_{name}", text, number)
        build = GaugeMetricFamily("draguard_build_info", "1, and what this is.", labels=list(self._build))
        build.add_metric(list(self._build.values()), 1)
        yield build
        yield from self.process.collect()

    def _durations(self) -> Metric:
        text = "Time from a review's last byte to its answer."
        family = HistogramMetricFamily("draguard_review_duration_seconds", text, labels=["endpoint"])
        bounds = [*map(str, map(float, _BUCKETS)), "+Inf"]
        for endpoint, counts in self._took.items():
            buckets = list(zip(bounds, accumulate(counts), strict=True))
            family.add_metric([endpoint], buckets, self._seconds[endpoint])
        return family
