"""Observes reviews for the log and metrics."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from webhook.admission import Record
    from webhook.server.monitoring.logs import DecisionLog
    from webhook.server.monitoring.metrics import Metrics


class Monitoring:
    """Logs decisions.

    Args:
        log: The log.
    """

    def __init__(self, log: DecisionLog) -> None:
        self._log = log

    def reviewed(self, record: Record, seconds: float) -> None:
        """Report an answered review.

        Args:
            record: Its record.
            seconds: How long it took, including waiting.
        """
        self._log.reviewed(record, seconds)

    def refused(self, status: int) -> None:
        """Report a request that is refused before it is reviewed.

        Args:
            status: The response's HTTP status.
        """

    def tick(self, connections: int) -> None:
        """Report that a second has passed.

        Args:
            connections: The number of open connections.
        """


class Metered(Monitoring):
    """Updates metrics, too.

    Args:
        log: The log.
        metrics: The metrics.
    """

    def __init__(self, log: DecisionLog, metrics: Metrics) -> None:
        super().__init__(log)
        self._metrics = metrics

    def reviewed(self, record: Record, seconds: float) -> None:  # noqa: D102 - see the base class
        self._log.reviewed(record, seconds)
        self._metrics.reviewed(record, seconds)

    def refused(self, status: int) -> None:  # noqa: D102 - see the base class
        self._metrics.refused(status)

    def tick(self, connections: int) -> None:  # noqa: D102 - see the base class
        self._metrics.tick(connections)

    def exposition(self, media_type: str) -> tuple[bytes, str]:
        """Write the metrics.

        Args:
            media_type: The media type of OpenMetrics, or any other.

        Returns:
            The text, and its content type.
        """
        return self._metrics.exposition(media_type)
