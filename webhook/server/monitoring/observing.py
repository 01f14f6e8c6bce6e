"""Observes reviews for the log and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from webhook.admission import Record, ReviewOptions
    from webhook.server.monitoring.logs import DecisionLog
    from webhook.server.process.reloading import Reloaded
    from webhook.server.tls.certificate import Certificate


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
        certificate: The serving certificate.
        answering: The options for answering reviews, including policies.
        kubernetes: The release whose rules apply; None for the newest that knows an object's fields.
        ended: Returns the number of processes for heavy reviews that were killed at a deadline.
        version: The version of draguard.
    """

    def __init__(
        self,
        log: DecisionLog,
        certificate: Certificate,
        answering: Reloaded[ReviewOptions],
        kubernetes: str | None = None,
        ended: Callable[[], int] = int,
        *,
        version: str = "",
    ) -> None:
        super().__init__(log)
        from webhook.server.monitoring.metrics import Metrics  # noqa: PLC0415 - needed only when metered

        self._metrics = Metrics(certificate, answering, kubernetes, ended, version=version)

    def reviewed(self, record: Record, seconds: float) -> None:  # noqa: D102
        super().reviewed(record, seconds)
        self._metrics.reviewed(record, seconds)

    def refused(self, status: int) -> None:  # noqa: D102
        self._metrics.refused(status)

    def tick(self, connections: int) -> None:  # noqa: D102
        self._metrics.tick(connections)

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Write the metrics in the format that the client accepts.

        Args:
            accept: The request's header ``Accept``.

        Returns:
            The text, and its content type.
        """
        return self._metrics.exposition(accept)
