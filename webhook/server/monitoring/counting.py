"""Counts reviews in plain numbers, which become metrics when they are requested."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, Final, get_args

from webhook.admission.record import Endpoint
from webhook.server.monitoring.exposition import Family, Sample, counter, total

if TYPE_CHECKING:
    from collections.abc import Iterator

_BUCKETS: Final = (1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_BOUNDS: Final = (*map(str, map(float, _BUCKETS)), "+Inf")


class Reviews:
    """Counts reviews and measures how long they take."""

    def __init__(self) -> None:
        self._answered = Counter[tuple[str, ...]]()
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

    def families(self) -> Iterator[Family]:
        """Return the metrics."""
        labels = ("endpoint", "kind", "operation", "decision")
        yield counter("draguard_reviews", "AdmissionReviews answered.", labels, self._answered)
        text = "Time from a review's last byte to its answer."
        yield Family("draguard_review_duration_seconds", "histogram", text, self._took())
        yield total("draguard_cel_cost", "What evaluating policies has cost, in CEL's units.", self._cost)

    def _took(self) -> Iterator[Sample]:
        for endpoint, counts in self._in_bucket.items():
            label = {"endpoint": endpoint}
            for bound, count in zip(_BOUNDS, accumulate(counts), strict=True):
                yield Sample("_bucket", label | {"le": bound}, count)
            yield Sample("_count", label, sum(counts))
            yield Sample("_sum", label, self._seconds[endpoint])
