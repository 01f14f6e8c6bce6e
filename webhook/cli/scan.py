"""``draguard scan``: finds what is stored in a cluster and wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.budget import limited
from webhook.check.cluster import not_found
from webhook.check.suppressing import suppress, suppressions
from webhook.cli.console.output import check_outputs, show
from webhook.cli.options.stored import stored_cluster, tell_missing, work_of_selectors
from webhook.devices import Table
from webhook.report.html import MAX_FINDINGS
from webhook.report.model import Report
from webhook.report.picture import Picture
from webhook.scan.rules import findings
from webhook.scan.stored import JUDGED
from webhook.usage import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

_NEEDED: Final = ("Node", "Pod", "DeviceClass", "ResourceSlice", "ResourceClaim")
"""The kinds that every cluster with devices in use has."""


def run(arguments: Namespace) -> int:
    """Print the findings and a summary."""
    check_outputs(arguments)
    suppressed = suppressions(arguments, [each for each in arguments.cluster if isinstance(each, str)])
    report = Report()
    report.has_fixes = False
    cluster, settings = stored_cluster(arguments, report)
    with limited(work_of_selectors()):
        report.findings += cluster.judge(settings)
        if not report.findings and not any(map(cluster.all, JUDGED)):
            raise UsageError(not_found("ResourceSlices, ResourceClaims or pods", arguments.cluster))
        tell_missing(cluster, _NEEDED, "rules about them find nothing", arguments)
        report.findings += findings(cluster)
        rows = list(Table(cluster).rows()) if any(each.format == "html" for each in arguments.output) else []
    report.releases = [str(settings)]
    suppress(report, suppressed, arguments)
    if rows:
        report.picture = Picture(rows, cluster, findings=report.findings[:MAX_FINDINGS])
    return show(report, arguments)
