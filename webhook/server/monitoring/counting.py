"""Counts reviews in plain numbers, which become Prometheus' metrics when they are requested."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, Final, get_args

from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from webhook.admission.record import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

_BUCKETS: Final = (1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_BOUNDS: Final = (*map(str, map(float, _BUCKETS)), "+Inf")


class Reviews(Collector):
    """Counts reviews and measures how long they take.

    prometheus_client's own counters take a lock for each number, and go through all buckets of a histogram.
    """

    def __init__(self) -> None:
        self._answered = Counter[tuple[str, str, str, str]]()
        self._in_bucket = {endpoint: [0] * len(_BOUNDS) for endpoint in get_args(Endpoint)}
        self._seconds = dict.fromkeys(self._in_bucket, 0.0)
        self._cost = 0

    def add(self, labels: tuple[Endpoint, str, str, str], seconds: float, cost: int) -> None:
        """Count an answered review.

        Args:
            labels: The endpoint, the object's kind, the operation and the decision.
            seconds: How long it took.
            cost: The cost of evaluating policies.
        """
        endpoint = labels[0]
        self._answered[labels] += 1
        self._in_bucket[endpoint][bisect_left(_BUCKETS, seconds)] += 1
        self._seconds[endpoint] += seconds
        self._cost += cost

    def collect(self) -> Iterator[Metric]:
        """Return the metrics."""
        answered = CounterMetricFamily(
            "draguard_reviews",
            "AdmissionReviews answered.",
            labels=["endpoint", "kind", "operation", "decision"],
        )
        for labels, count in self._answered.items():
            answered.add_metric(labels, count)
        yield answered
        took = HistogramMetricFamily(
            "draguard_review_duration_seconds", "Time from a review's last byte to its answer.", labels=["endpoint"]
        )
        for endpoint, counts in self._in_bucket.items():
            took.add_metric([endpoint], list(zip(_BOUNDS, accumulate(counts), strict=True)), self._seconds[endpoint])
        yield took
        yield CounterMetricFamily(
            "draguard_cel_cost", "What evaluating policies has cost, in CEL's units.", value=self._cost
        )
