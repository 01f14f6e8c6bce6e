"""Judges files, charts and kustomizations: those of `draguard validate` and of :func:`webhook.check_files`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence

from webhook.api.versions import DEFAULT, release_of
from webhook.check.cluster import read_cluster, served_by
from webhook.check.inorder import judge_all
from webhook.check.manifests import Manifests, piped_twice
from webhook.check.oldstate import AtRevision, Deployed, OldState
from webhook.check.references import Unlooked
from webhook.check.suppressing import suppress, suppressions
from webhook.check.target import kubernetes_versions
from webhook.documents import STDIN, Document, Unreadable
from webhook.findings import Finding
from webhook.inventory import Inventory
from webhook.optional import install
from webhook.report.model import Report
from webhook.sources import SourceError
from webhook.usage import UsageError


def judged(
    arguments: Namespace, manifests: Manifests | None = None, tell: Callable[[str], None] | None = None
) -> Report:
    """Judge the named manifests, and return findings and counts.

    Args:
        manifests: The manifests; None for those that the arguments name.
        tell: Receives lines about files that were not read beside the manifests.

    Raises:
        UsageError: Options do not fit together, or do not fit the manifests.
    """
    install("documents")
    install("objects")
    manifests, versions = manifests or Manifests(arguments), kubernetes_versions(arguments)
    _check_together(arguments, manifests.paths, versions)
    suppressed = suppressions(arguments, manifests.paths)
    first = Report()
    with_policies = bool(arguments.policies)  # they may read any field
    cluster = read_cluster(
        arguments.cluster,
        first,
        quiet=arguments.quiet,
        definitions=with_policies,
        is_whole=with_policies,
        tell=tell,
    )
    if served := served_by(cluster):  # what is stated has precedence
        arguments.runtime_config = [*served, *(each for each in arguments.runtime_config if each not in served)]
    old = _old_state(arguments, manifests, versions[0], first, tell)
    states: list[list[Document | Unreadable]] = []
    unlooked = Unlooked()
    reports: list[Report] = []
    from copy import deepcopy  # slow to import

    for stated in versions:
        # Manifests are added to the objects of the cluster.
        known = deepcopy(cluster) if versions[1:] or arguments.new_only else cluster
        reports.append(Report() if reports else first)
        if isinstance(old, AtRevision):
            old.render(manifests.options(stated), reports[-1])
        again = len(versions) > 1 or arguments.fix or arguments.diff
        documents: Iterable[Document | Unreadable] = suppressed.noting(manifests.documents(stated, again=again))
        if arguments.new_only and isinstance(old, AtRevision):
            documents = list(documents)
            states.append(old.before(documents))
        unlooked.join(judge_all(documents, old, known, arguments, stated=stated, report=reports[-1]))
    report = _merged(reports, versions)
    if isinstance(old, AtRevision) and arguments.new_only:
        configuration = arguments.settings.configuration
        suppressed.leave_out(
            _found_before(arguments, versions, states, cluster),
            (each for documents in states for each in documents),
            f"found at {arguments.against}, too",
            has_settings=bool(configuration) and old.has(configuration.file),
        )
    report.paths, report.left_out = manifests.paths, manifests.left_out
    report.unread, report.lists_files = manifests.unread, arguments.show_files
    report.remarks += [*unlooked.lines(), *manifests.notes]
    report.asides += unlooked.asides()
    suppress(report, suppressed, arguments)
    manifests.place(report)
    if arguments.policies:
        from webhook.check.policies import each_once  # needed only with policies

        report.findings = each_once(report.findings)
    report.releases = [f"1.{release_of(each) if each else DEFAULT}" for each in versions]
    return report


def _merged(reports: Sequence[Report], versions: Sequence[str | None]) -> Report:
    """Merge the findings for several releases."""
    if not reports[1:]:
        return reports[0]
    from webhook.report.matrix import merged

    return merged(reports, versions)


def _found_before(
    arguments: Namespace,
    versions: Sequence[str | None],
    states: Iterable[Sequence[Document | Unreadable]],
    cluster: Inventory,
) -> list[Finding]:
    """Judge an earlier revision, without problems of policies, which are not compared.

    Args:
        states: The documents of the revision, for each release.
        cluster: The objects of the cluster.
    """
    from copy import deepcopy  # slow to import

    reports = [Report() for _ in versions]
    for state, stated, report in zip(states, versions, reports, strict=True):
        judge_all(state, Deployed((), report), deepcopy(cluster), arguments, stated=stated, report=report)
    return [each for each in _merged(reports, versions).findings if each.file in reports[0].files]


def _old_state(
    arguments: Namespace, manifests: Manifests, stated: str | None, report: Report, tell: Callable[[str], None] | None
) -> OldState:
    """Read the earlier state of objects.

    Args:
        stated: The release for which earlier charts are rendered; None for the newest.
        report: Receives problems of the earlier state.
        tell: Receives a line about files that were not read.

    Raises:
        UsageError: The revision is unknown to git, or an earlier chart cannot be rendered.
    """
    if not arguments.against:
        try:
            options = manifests.options(stated)
            return Deployed(arguments.old, report, options.for_earlier(options.values), tell)
        except SourceError as error:
            raise UsageError(f"--old: {error}") from error
    from webhook.suppression.revision import Revision, RevisionError  # needed only to compare

    paths = manifests.paths
    try:
        revision = Revision(arguments.against, next((each for each in paths if each != STDIN), "."))
        return AtRevision(revision, paths, arguments.stdin_filename or "")
    except RevisionError as error:
        raise UsageError(f"--against: {error}") from error


def _check_together(arguments: Namespace, paths: Sequence[str], versions: Sequence[str | None]) -> None:
    """Refuse options that do not go together.

    Raises:
        UsageError: Two options exclude each other, or one needs another.
    """
    message = ""
    inputs = {"the manifests": paths, "their --old state": arguments.old, "the objects of --cluster": arguments.cluster}
    if arguments.subresource and not (arguments.old or arguments.against):
        message = f"--subresource {arguments.subresource} judges updates: give the earlier state with --old"
    elif arguments.old and arguments.against:
        message = "--old and --against are two earlier states: give one of them"
    elif arguments.new_only and not arguments.against:
        message = "--new-only leaves out what an earlier state has: give its revision with --against"
    elif complaint := piped_twice(inputs):
        message = complaint
    elif versions[1:] and STDIN in arguments.policies:
        message = "--policies: standard input (-) is read once, and policies for each release: give them as files"
    if message:
        raise UsageError(message)
