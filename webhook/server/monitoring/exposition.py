"""Writes metrics in Prometheus' text format, or in OpenMetrics.

prometheus_client would also load the standard library's HTTP servers and clients: 4 MB in each serving process.
"""

from __future__ import annotations

from webhook.records import NamedTuple
from webhook.server.http.probes import OPEN_METRICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Final, Literal

_PLAIN: Final = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPED: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class Sample(NamedTuple):
    """A value of a metric.

    Args:
        suffix: What follows the metric's name, such as ``_total``.
        labels: The labels, by name.
        value: The value.
    """

    suffix: str
    labels: Mapping[str, str]
    value: float


class Family(NamedTuple):
    """A metric.

    Args:
        name: Its name; a counter's is without ``_total``.
        kind: Its type.
        text: Its description.
        samples: Its values.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    text: str
    samples: Iterable[Sample]


def counter(name: str, text: str, labels: Sequence[str], counts: Mapping[tuple[str, ...], float]) -> Family:
    """Make a counter.

    Args:
        name: Its name, without ``_total``.
        text: Its description.
        labels: The names of its labels.
        counts: The counts, by the values of the labels.
    """
    samples = [Sample("_total", dict(zip(labels, values, strict=True)), count) for values, count in counts.items()]
    return Family(name, "counter", text, samples)


def total(name: str, text: str, value: float) -> Family:
    """Make a counter without labels.

    Args:
        name: Its name, without ``_total``.
        text: Its description.
        value: The count.
    """
    return Family(name, "counter", text, [Sample("_total", {}, value)])


def gauge(name: str, text: str, value: float, labels: Mapping[str, str] | None = None) -> Family:
    """Make a gauge.

    Args:
        name: Its name.
        text: Its description.
        value: Its value.
        labels: The labels, by name.
    """
    return Family(name, "gauge", text, [Sample("", labels or {}, value)])


def write(families: Iterable[Family], media_type: str) -> tuple[bytes, str]:
    """Write metrics in Prometheus' text format, or in OpenMetrics.

    Args:
        families: The metrics.
        media_type: The media type of OpenMetrics, or any other.

    Returns:
        The text, and its content type.
    """
    if media_type == OPEN_METRICS:
        lines = [line for family in families for line in _lines(family, family.name)]
        return "".join([*lines, "# EOF\n"]).encode(), f"{OPEN_METRICS}; version=1.0.0; charset=utf-8"
    named = ((family, family.name + ("_total" if family.kind == "counter" else "")) for family in families)
    return "".join(line for family, head in named for line in _lines(family, head)).encode(), _PLAIN


def _lines(family: Family, head: str) -> Iterator[str]:
    """Write a metric, whose head has another name than its samples in some formats."""
    name, kind, text, samples = family
    yield f"# HELP {head} {text}\n"
    yield f"# TYPE {head} {kind}\n"
    for suffix, labels, value in samples:
        written = ",".join(f'{label}="{of.translate(_ESCAPED)}"' for label, of in sorted(labels.items()))
        yield f"{name}{suffix}{f'{{{written}}}' if written else ''} {float(value)}\n"
