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
    """Logs decisions, and does nothing else.

    Args:
        log: The log.
    """

    def __init__(self, log: DecisionLog) -> None:
        self._log = log

    def reviewed(self, record: Record, seconds: float) -> None:
        """Tell of an answered review.

        Args:
            record: What is recorded about it.
            seconds: How long it took, waiting included.
        """
        self._log.reviewed(record, seconds)

    def refused(self, status: int) -> None:
        """Tell of a request that is refused before anything of it is reviewed.

        Args:
            status: The answer's HTTP status.
        """

    def tick(self, connections: int) -> None:
        """Tell that a second has passed.

        Args:
            connections: How many connections are open.
        """


class Metered(Monitoring):
    """Tells metrics, too.

    Args:
        log: The log.
        certificate: What is served with.
        answering: The options that reviews are answered by, policies included.
        kubernetes: The release whose rules hold; None for the newest that knows an object's fields.
        ended: Returns how many processes for heavy reviews were ended at a deadline.
        version: That of draguard.
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
