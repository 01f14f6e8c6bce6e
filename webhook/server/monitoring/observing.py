"""Tells what happens in a running server: the log, and metrics if somebody is to fetch them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from webhook.server.monitoring.sharing import Shared, shared_directory, worker_ended

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from webhook.admission import Options, Record
    from webhook.server.monitoring.logs import DecisionLog
    from webhook.server.monitoring.metrics import Metrics
    from webhook.server.process.reloading import Reloaded
    from webhook.server.tls.certificate import Certificate


class Monitoring:
    """Tells the log what is decided, and nobody anything else.

    Args:
        log: The log.
    """

    def __init__(self, log: DecisionLog) -> None:
        self._log = log

    def began(self, number: int) -> None:
        """Begin in a process that is to answer.

        Args:
            number: Its number among the workers.
        """

    def lost(self, number: int) -> None:
        """Forget a worker.

        Args:
            number: Its number.
        """

    def reviewed(self, record: Record, seconds: float) -> None:
        """Tell of an answered review.

        Args:
            record: What is told of it.
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
    """Tells metrics, too, in each process that answers.

    Args:
        log: The log.
        certificate: What is served with.
        answering: The options that reviews are answered by, policies included.
        kubernetes: The release whose rules hold; None for the newest that knows an object's fields.
        directory: Where several processes keep their metrics; None if there is but this one.
    """

    def __init__(
        self,
        log: DecisionLog,
        certificate: Certificate,
        answering: Reloaded[Options],
        kubernetes: str | None = None,
        directory: Path | None = None,
    ) -> None:
        super().__init__(log)
        # Only who is metered pays for it; and before workers are forked, so that they share the code.
        from webhook.server.monitoring.metrics import Metrics  # noqa: PLC0415

        self._make = Metrics
        self._made_of = certificate, answering, kubernetes
        self._directory = directory
        self._metrics: Metrics

    @classmethod
    @contextmanager
    def among(
        cls,
        workers: int,
        log: DecisionLog,
        certificate: Certificate,
        answering: Reloaded[Options],
        kubernetes: str | None = None,
    ) -> Iterator[Metered]:
        """Meter a number of processes, with a directory for their metrics that goes when the block ends.

        Args:
            workers: How many.
            log: As for the class.
            certificate: As for the class.
            answering: As for the class.
            kubernetes: As for the class.

        Raises:
            ServerError: There is no place for the directory.
        """
        if workers == 1:
            yield cls(log, certificate, answering, kubernetes)
            return
        with shared_directory() as directory:
            yield cls(log, certificate, answering, kubernetes, directory)

    def began(self, number: int) -> None:  # noqa: D102
        self._metrics = self._make(*self._made_of, self._shared(number))

    def lost(self, number: int) -> None:  # noqa: D102
        if shared := self._shared(number):
            worker_ended(shared)

    def reviewed(self, record: Record, seconds: float) -> None:  # noqa: D102
        super().reviewed(record, seconds)
        self._metrics.reviewed(record, seconds)

    def refused(self, status: int) -> None:  # noqa: D102
        self._metrics.refused(status)

    def tick(self, connections: int) -> None:  # noqa: D102
        self._metrics.tick(connections)

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """Write the metrics of all processes, in the format that is asked for.

        Args:
            accept: The request's header ``Accept``.

        Returns:
            The text, and its content type.
        """
        return self._metrics.exposition(accept)

    def _shared(self, number: int) -> Shared | None:
        return Shared(self._directory, number) if self._directory else None
