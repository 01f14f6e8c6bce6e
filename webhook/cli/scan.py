"""``draguard scan``: finds what is stored in a cluster and wrong."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from webhook.api.versions import DEFAULT
from webhook.budget import DOCUMENT, Budget, limited
from webhook.check.cluster import DETAILS, malformed, not_found
from webhook.check.progress import with_progress
from webhook.check.suppressing import suppress, suppressions
from webhook.check.target import feature_gates, kubernetes
from webhook.cli.console.output import check_outputs, show
from webhook.documents import Selection, Unreadable, read
from webhook.documents.files import with_manifests
from webhook.drivers.files import option_profiles
from webhook.findings import Finding, unread
from webhook.inventory import MalformedError
from webhook.optional import install
from webhook.report.model import Report
from webhook.scan.rules import findings
from webhook.scan.stored import KINDS_READ, Cluster
from webhook.simulation import Settings
from webhook.usage import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

_WORK = 8 * DOCUMENT
"""The work that all selectors of a cluster may take."""


def run(arguments: Namespace) -> int:
    """Print the findings and a summary."""
    check_outputs(arguments)
    if not arguments.cluster:
        raise UsageError(not_found("objects", ()))
    install("objects")
    suppressed = suppressions(arguments, arguments.cluster)
    stated = kubernetes(arguments)
    report = Report()
    report.has_fixes = False
    cluster = Cluster(option_profiles(arguments.driver_profile))
    unreadable = _read(arguments, cluster, report)
    release = stated or cluster.release or f"1.{DEFAULT}"
    try:
        settings = Settings.of(release, feature_gates(arguments, release))
    except ValueError as error:
        if stated:
            raise UsageError(f"--kubernetes-version: {error}") from error
        settings = Settings.of()
    with limited(Budget(_WORK, is_offline=True)):
        report.findings = [*unreadable, *cluster.judge(settings), *findings(cluster)]
    report.releases = [str(settings)]
    suppress(report, suppressed, arguments)
    return show(report, arguments)


def _read(arguments: Namespace, cluster: Cluster, report: Report) -> list[Finding]:
    """Read the objects; return what cannot be read."""
    found: list[Finding] = []
    # Snapshots are large, and seldom committed.
    selection = Selection(allow_empty=True, some_files=True, git=False, kinds=KINDS_READ)
    documents = with_manifests(read(arguments.cluster, selection=selection), arguments.cluster)
    for document in documents if arguments.quiet else with_progress(documents, sys.stderr):
        report.files.setdefault(document.source)
        if isinstance(document, Unreadable):
            found.append(unread(document))
            continue
        report.documents += 1
        if not isinstance(document.data, dict) or document.data.get("kind") not in KINDS_READ:
            continue
        try:
            cluster.add(document)
        except MalformedError as error:
            found.append(malformed(error, document, DETAILS))
    return found
