"""``draguard scan``: finds what is stored in a cluster and wrong, once, or again and again in the cluster itself."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from copy import copy
from typing import TYPE_CHECKING, Final

from webhook.budget import limited
from webhook.check.cluster import not_found
from webhook.check.stored import stored_cluster, work_of_selectors
from webhook.check.suppressing import suppress, suppressions
from webhook.check.target import follow
from webhook.cli.console import check_outputs, show, tell
from webhook.cli.devices import tell_missing
from webhook.cli.parser import COMMAND_LINE
from webhook.configuration.options import Live
from webhook.devices import Table
from webhook.findings import Finding
from webhook.report.html import MAX_FINDINGS
from webhook.report.model import Report
from webhook.report.picture import Picture
from webhook.scan.rules import findings
from webhook.scan.stored import JUDGED, Stored
from webhook.usage import UsageError, naming

if TYPE_CHECKING:
    from webhook.cluster.scanner import Numbers
_NEEDED: Final = ("Node", "Pod", "DeviceClass", "ResourceSlice", "ResourceClaim")
"""The kinds that every cluster with devices in use has."""
_SHORTEST: Final = 10.0
_BY_HAND: Final = "`draguard scan --live --output openreports | kubectl apply --server-side -f -`"
_LEASE: Final = re.compile(r"([a-z0-9][-a-z0-9]{0,62})/([a-z0-9][-a-z0-9.]{0,252})\Z")


def run(arguments: Namespace) -> int:
    """Print the findings and a summary; with --every, write reports and serve metrics until SIGTERM."""
    _check_together(arguments)
    if arguments.every:
        return _again(arguments)
    check_outputs(arguments)
    report, _ = _scan(arguments, tell)
    if arguments.write_reports:
        from webhook.cluster.api import Api  # few scans write
        from webhook.cluster.errors import ClusterError
        from webhook.cluster.options import SERVICE_ACCOUNT
        from webhook.cluster.reports import ReportWriter
        from webhook.report.openreports import reports

        try:
            report.asides.append(ReportWriter(Api(SERVICE_ACCOUNT)).write(reports(report.findings)))
        except ClusterError as error:
            raise UsageError(f"{error}; elsewhere, {_BY_HAND}") from error
    return show(report, arguments)


def _scan(arguments: Namespace, tell: Callable[[str], None]) -> tuple[Report, Stored]:
    suppressed = suppressions(arguments, [each for each in arguments.cluster if isinstance(each, str)])
    report = Report()
    report.has_fixes = False
    cluster, settings = stored_cluster(arguments, report, tell)
    with limited(work_of_selectors()):
        report.findings += cluster.judge(settings)
        if not (arguments.every or report.findings or any(map(cluster.all, JUDGED))):
            raise UsageError(not_found("ResourceSlices, ResourceClaims or pods", arguments.cluster))
        if any(map(cluster.all, _NEEDED)):  # else nothing was read, which findings tell
            tell_missing(cluster, _NEEDED, "rules about them find nothing", arguments)
        report.findings += findings(cluster)
        rows = list(Table(cluster).rows()) if any(each.format == "html" for each in arguments.output) else []
    report.releases = [str(settings)]
    suppress(report, suppressed, arguments)
    if rows:
        report.picture = Picture(rows, cluster, findings=report.findings[:MAX_FINDINGS])
    return report, cluster


def _check_together(arguments: Namespace) -> None:
    """Refuse options that do not fit together."""
    if arguments.every:
        if arguments.every < _SHORTEST:
            message = f"{arguments.every:g} seconds are too short: give at least {_SHORTEST:g}s"
            raise UsageError(message, "--every")
        if len(arguments.cluster) != 1 or not isinstance(arguments.cluster[0], Live):
            raise UsageError("files do not change by themselves: give --live, or one --context", "--every")
        if not arguments.write_reports and arguments.monitoring_port is None:
            raise UsageError("what is found goes nowhere: give --write-reports, --monitoring-port or both", "--every")
        if arguments.write_baseline or arguments.settings.sources.get("output") == COMMAND_LINE:
            raise UsageError("--every writes no files, and prints no report: leave out --output and --write-baseline")
        if arguments.lease and not _LEASE.match(arguments.lease):
            raise UsageError(f"{arguments.lease!r}: give NAMESPACE/NAME", "--lease")
    elif arguments.lease or arguments.monitoring_port is not None:
        raise UsageError("--lease and --monitoring-port are for scans that are repeated: give --every, too")
    if arguments.write_reports and not os.environ.get("KUBERNETES_SERVICE_HOST"):
        raise UsageError(f"--write-reports needs the service account of a pod, and this is none: elsewhere, {_BY_HAND}")


def _again(arguments: Namespace) -> int:
    """Scan until SIGTERM or SIGINT."""
    from time import monotonic  # few scans are repeated

    from webhook.cluster.api import Api, lease
    from webhook.cluster.election import Election
    from webhook.cluster.options import SERVICE_ACCOUNT, identity
    from webhook.cluster.reports import ReportWriter
    from webhook.cluster.scanner import Scanner
    from webhook.logs import configure
    from webhook.memory import return_freed
    from webhook.server import ServerError, listen
    from webhook.server.serving import served_pages

    suppressions(arguments, [])
    configure(arguments.log_format, arguments.log_level)
    return_freed()
    api = Api(SERVICE_ACCOUNT)
    where = arguments.lease and lease(*arguments.lease.split("/"))
    election = Election(api, where, identity(), monotonic) if where else None
    writer = ReportWriter(api, lambda: election is None or election.leading) if arguments.write_reports else None
    scanner = Scanner(_Look(arguments), arguments.every, writer, election)
    try:
        with naming(of=ServerError), ExitStack() as stack:
            if (port := arguments.monitoring_port) is not None:
                host = arguments.monitoring_host or "0.0.0.0"  # noqa: S104 - in its pod
                stack.enter_context(served_pages(scanner.pages(), listen(host, port, "--monitoring-")))
            scanner.run()
    except KeyboardInterrupt:  # a signal
        return 0


class _Look:
    """Reads and judges a cluster anew, as it may have another release, and the service account another token."""

    def __init__(self, arguments: Namespace) -> None:
        self._arguments = arguments
        self._told: set[str] = set()

    def __call__(self) -> tuple[Sequence[Finding], Numbers]:
        """Return the findings, and the numbers for metrics."""
        import logging

        from webhook.cluster.scanner import Numbers

        told: set[str] = set()

        def tell(line: str) -> None:
            if line not in self._told | told:
                logging.getLogger(__name__).warning("%s", line.removeprefix("warning: "))
            told.add(line)

        arguments = copy(self._arguments)
        arguments.quiet = True
        follow(arguments, tell)
        arguments.cluster[0].is_strict = True
        report, cluster = _scan(arguments, tell)
        self._told = told
        with limited(work_of_selectors()):
            return report.findings, Numbers.of(cluster)
