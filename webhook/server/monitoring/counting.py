"""Counts reviews in plain numbers, which become metrics when they are requested.

Every label has a bounded set of values, whatever a client sends: kinds that draguard does not know are ``other``.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import get_args

from webhook.admission.record import Endpoint
from webhook.api.versions import VERSIONS
from webhook.server.monitoring.exposition import Family, Sample, counter, total

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Final

    from webhook.admission import Record

OTHER: Final = "other"
"""The label of kinds for which draguard has no rules."""

_KINDS: Mapping[tuple[str, str], str] = {
    (kind, group): f"{kind}.{group}" if group else kind  # as GroupKind.String() of apimachinery writes it
    for group, kinds in ((name.rpartition("/")[0], version.kinds) for name, version in VERSIONS.items())
    for kind in kinds
}
_BUCKETS: Final = (1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_BOUNDS: Final = (*map(str, map(float, _BUCKETS)), "+Inf")


def label_of(kind: str, group: str) -> str:
    """Return the label of an object's kind."""
    return _KINDS.get((kind, group), OTHER)


class _Durations:
    """The durations of an endpoint's reviews: how many are in each bucket, and their sum."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * len(_BOUNDS)
        self.seconds = 0.0


class _Series:
    """The number of reviews that have the same labels, and the durations of all at their endpoint."""

    __slots__ = ("count", "took")

    def __init__(self, took: _Durations) -> None:
        self.count = 0
        self.took = took


class Reviews:
    """Counts reviews and measures how long they take."""

    def __init__(self) -> None:
        self._took = {endpoint: _Durations() for endpoint in get_args(Endpoint)}
        self._series: dict[tuple[str, ...], _Series] = {}
        self._cost = 0

    def add(self, record: Record, seconds: float) -> None:
        """Count an answered review.

        Args:
            record: Its record.
            seconds: How long it took.
        """
        kind, group, _ = record.kind
        labels = record.endpoint, kind, group, record.operation, record.decision
        series = self._series.get(labels) or self._begin(labels)
        series.count += 1
        took = series.took
        took.buckets[bisect_left(_BUCKETS, seconds)] += 1
        took.seconds += seconds
        self._cost += record.cost

    def _begin(self, labels: tuple[str, ...]) -> _Series:
        """Return the series of labels without one, which is that of other kinds if the kind is not known."""
        endpoint, kind, group, *more = labels
        if (kind, group) not in _KINDS:
            labels = endpoint, OTHER, "", *more
        return self._series.setdefault(labels, _Series(self._took[endpoint]))

    def families(self) -> Iterator[Family]:
        """Return the metrics."""
        counts = {
            (endpoint, label_of(kind, group), *more): series.count
            for (endpoint, kind, group, *more), series in self._series.items()
        }
        labels = ("endpoint", "kind", "operation", "decision")
        yield counter("draguard_reviews", "AdmissionReviews answered.", labels, counts)
        text = "Time from a review's last byte to its answer."
        yield Family("draguard_review_duration_seconds", "histogram", text, self._durations())
        yield total("draguard_cel_cost", "What evaluating policies has cost, in CEL's units.", self._cost)

    def _durations(self) -> Iterator[Sample]:
        for endpoint, took in self._took.items():
            label = {"endpoint": endpoint}
            for bound, count in zip(_BOUNDS, accumulate(took.buckets), strict=True):
                yield Sample("_bucket", label | {"le": bound}, count)
            yield Sample("_count", label, sum(took.buckets))
            yield Sample("_sum", label, took.seconds)
