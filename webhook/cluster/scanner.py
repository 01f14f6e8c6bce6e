"""Scans a cluster again and again: writes reports, and serves metrics that nothing else has."""

from __future__ import annotations

import gc
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from threading import Event, Thread
from typing import Any, NamedTuple, NoReturn

from prometheus_client.core import GaugeMetricFamily, Metric

from webhook.admission import Answer
from webhook.cluster.api import TIMEOUT
from webhook.cluster.election import Election
from webhook.cluster.reports import ReportWriter
from webhook.cluster.tasks import Task
from webhook.devices import REASONS, Table
from webhook.findings import Finding
from webhook.problem import ERROR, WARNING
from webhook.report.openreports import reports
from webhook.report.text import counted
from webhook.scan.stored import Stored
from webhook.server.app import Pages, probes
from webhook.server.messages import HTTPRequest
from webhook.server.metrics import Exported
from webhook.why import Scene, pending_by_sort

_RETRY_SECONDS = 5.0
"""The first pause after a scan that has failed."""
_EXPLAINING_SECONDS = 30.0
"""How long the causes of pending pods are looked for in each scan."""
_LONGEST_SCAN = 900.0
"""The seconds of a scan after which the process counts as stuck."""
_log = logging.getLogger(__name__)


class Numbers(NamedTuple):
    """The metrics of a cluster.

    Args:
        pending: The pending pods that want devices, by the sort of their cause.
        stranded: The free devices that no claim can get, by driver, class and reason.
        incomplete: The pools that lack slices, by driver.
    """

    pending: Mapping[str, int]
    stranded: Mapping[tuple[str, str, str], int]
    incomplete: Mapping[str, int]

    @classmethod
    def of(cls, cluster: Stored) -> Numbers:
        """Count what a cluster has; the simulation of pending pods changes it."""
        stranded = Counter[tuple[str, str, str]]()
        for row in Table(cluster).rows():
            for name, reason in product(row.classes or ("",), REASONS):
                stranded[row.driver, name, reason] += row.reason == reason
        incomplete = Counter({driver: 0 for driver, _ in cluster.catalog.current})
        incomplete.update(driver for driver, _ in cluster.incomplete)
        scene = Scene(cluster.inventory, str(cluster.settings), dict(cluster.settings.stated))
        return cls(pending_by_sort(scene, _EXPLAINING_SECONDS), stranded, incomplete)


class Scanner(Exported):
    """A scan that is repeated.

    Args:
        look: Reads and judges the cluster; returns the findings, and the numbers.
        every: The seconds between two scans.
        writer: Writes reports; None if there are to be none.
        election: Decides which replica scans; None if there is only one.
    """

    def __init__(
        self,
        look: Callable[[], tuple[Sequence[Finding], Numbers]],
        every: float,
        writer: ReportWriter | None = None,
        election: Election | None = None,
    ) -> None:
        super().__init__()
        self._look, self._writer, self._election = look, writer, election
        self._scanning = Task(self._scan, every, _RETRY_SECONDS, every)
        self._ended = Event()
        self._began = self._took = self._finished = 0.0
        self._successful: bool | None = None
        self._numbers: Numbers | None = None

    def run(self) -> NoReturn:
        """Scan until an exception ends it, such as that of a signal; then let another replica lead."""
        thread = Thread(target=self._campaign, name="lease", daemon=True)
        if self._election:
            thread.start()
        try:
            while True:
                if self._election and not self._election.leading:
                    self._numbers = self._successful = None
                    self._scanning.due = 0
                elif self._scanning.due <= time.monotonic():
                    self._began = time.monotonic()
                    self._successful = self._scanning.run(time.monotonic)
                    self._began = 0.0
                    gc.collect()  # which is else put off, as for commands that end
                time.sleep(min(1.0, max(0.1, self._scanning.due - time.monotonic())))
        finally:
            self._ended.set()
            if self._election:
                thread.join(2 * TIMEOUT)
                self._election.release()

    def _campaign(self) -> None:
        while self._election and not self._ended.is_set():
            self._election.task.run(time.monotonic)
            self._ended.wait(max(0.0, self._election.task.due - time.monotonic()))

    def _scan(self) -> None:
        findings, self._numbers = self._look()
        written = self._writer.write(reports(findings)) if self._writer else "no reports"
        self._finished, self._took = time.time(), time.monotonic() - self._began
        levels = Counter(each.problem.level for each in findings)
        found = f"{counted(levels[ERROR], 'error')}, {counted(levels[WARNING], 'warning')}"
        _log.info("%s in %.1f s; %s", found, self._took, written)

    def pages(self) -> Pages:
        """Return the pages of metrics and probes."""
        return Pages({"/metrics": self.page, **probes(self.unready), "/healthz": self._healthz})

    def unready(self) -> Iterator[str]:
        """Yield why the last scan has no result; nothing for a replica that waits for the lead."""
        if self._election and not self._election.leading:
            yield from filter(None, [self._election.task.error])
        elif not self._successful:
            yield self._scanning.error or "the first scan has not ended yet"

    def _healthz(self, _request: HTTPRequest) -> Answer:
        if (began := self._began) and time.monotonic() - began > _LONGEST_SCAN:
            return Answer(503, f"a scan takes more than {_LONGEST_SCAN:g} seconds\n".encode())
        return Answer(200, b"ok\n")

    def collect(self) -> Iterator[Metric]:
        """Return all metrics: those of the cluster once it was scanned, and only while this replica scans."""
        if numbers := self._numbers:
            yield _gauges(
                "pending_pods",
                "Pods that want devices and wait for a node, or do not start on theirs.",
                ["cause"],
                {(cause,): count for cause, count in numbers.pending.items()},
            )
            about = "Free devices that no claim can get."
            yield _gauges("stranded_devices", about, ["driver", "class", "reason"], numbers.stranded)
            counts = {(driver,): count for driver, count in numbers.incomplete.items()}
            yield _gauges("incomplete_pools", "Pools of devices that lack ResourceSlices.", ["driver"], counts)
        if self._successful is not None:
            yield GaugeMetricFamily("draguard_scan_successful", "Whether the last scan succeeded.", self._successful)
        if self._finished and numbers:
            about = "When the last successful scan ended, in Unix time."
            yield GaugeMetricFamily("draguard_scan_timestamp_seconds", about, self._finished)
            yield GaugeMetricFamily("draguard_scan_duration_seconds", "How long that scan took.", self._took)
        yield from self.process.collect()


def _gauges(name: str, about: str, labels: Sequence[str], counts: Mapping[Any, int]) -> Metric:
    family = GaugeMetricFamily(f"draguard_{name}", about, labels=labels)
    for values, count in counts.items():
        family.add_metric(values, count)
    return family
