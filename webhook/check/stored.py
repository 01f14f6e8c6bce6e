"""A cluster whose stored objects are looked at: its devices, and what is wrong with them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Final

from webhook.budget import DOCUMENT, Budget
from webhook.check.cluster import cluster_documents, context_of, malformed, not_found
from webhook.check.target import kubernetes, settings_of
from webhook.drivers.files import option_profiles
from webhook.inventory import MalformedError
from webhook.report.model import Report
from webhook.scan.stored import KINDS_READ, Stored
from webhook.simulation import Settings
from webhook.usage import UsageError

_WORK: Final = 8 * DOCUMENT


def stored_cluster(arguments: Namespace, report: Report, tell: Callable[[str], None]) -> tuple[Stored, Settings]:
    """Read a cluster, and its release and gates; `Stored.judge` adds the objects that drivers and controllers write.

    Args:
        arguments: The command's arguments.
        report: Receives the files, and what cannot be read.
        tell: Receives lines about what was not read.

    Raises:
        UsageError: No cluster is given, or the release is not known.
    """
    if not arguments.cluster:
        raise UsageError(not_found("objects", ()))
    stated = kubernetes(arguments)  # before the cluster is read, which takes long
    cluster = Stored(option_profiles(getattr(arguments, "driver_profile", ())))
    cluster.inventory.context = context_of(arguments.cluster)
    for document in cluster_documents(arguments.cluster, report, KINDS_READ, quiet=arguments.quiet, tell=tell):
        report.files.setdefault(document.source)
        report.documents += 1
        try:
            cluster.add(document)
        except MalformedError as error:
            report.findings.append(malformed(error, document))
    return cluster, settings_of(stated, arguments, cluster.inventory)


def work_of_selectors() -> Budget:
    """Return the work that all selectors of a cluster may take."""
    return Budget(_WORK, is_offline=True)
