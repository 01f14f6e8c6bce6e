"""``draguard convert``: moves manifests to another version of resource.k8s.io."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence

from webhook.api.versions import GROUP, VERSIONS, release_of
from webhook.check.suppressing import exclusions
from webhook.check.target import kubernetes_versions, pod_locations
from webhook.cli.console import check_changeable, note_left_out, print_findings, put_out, some_paths
from webhook.documents import Document, Selection, parse, read
from webhook.findings import Finding, code_of, found, readable
from webhook.migration import Migrated, MigrationTarget, migrate
from webhook.report.diff import outcome
from webhook.report.text import counted
from webhook.usage import UsageError


def run(arguments: Namespace) -> int:
    """Convert the named manifests, and print or write them; return the exit code."""
    paths = some_paths(arguments)
    _check_together(arguments, paths)
    stated = [release_of(each) for each in kubernetes_versions(arguments) if each]
    wanted = MigrationTarget(arguments.to or "", stated, pod_locations(arguments))
    selection = Selection(allow_empty=arguments.allow_empty, only_objects=True, excluded=exclusions(arguments))
    faults = list[Finding]()
    files = list(migrate(readable(list(read(paths, selection=selection)), faults), wanted))
    for each in files:
        faults += _as_written(each) if arguments.write and each.after != each.before else each.lost
    if arguments.diff or not arguments.check:
        put_out(((each.name, each.before, each.after) for each in files), arguments)
    older = [finding for each in files for finding in each.older]
    if arguments.check and not arguments.diff:
        print_findings(older, sys.stdout)
    print_findings(faults, sys.stdout if arguments.check else sys.stderr)
    if not arguments.quiet:
        last = VERSIONS[f"{GROUP}/{wanted.version}"].kinds["ResourceClaim"].until if wanted.version else wanted.newest
        if last < wanted.newest:
            print(f"note: 1.{last} is the last Kubernetes that serves claims in {wanted.version}", file=sys.stderr)
        print(_summary(files, faults, arguments), file=sys.stderr)
    note_left_out(selection, quiet=arguments.quiet, renders=False)
    return code_of(faults) or (1 if arguments.check and older else 0)


def _check_together(arguments: Namespace, paths: Sequence[str]) -> None:
    """Refuse options that do not go together."""
    if arguments.write and (arguments.diff or arguments.check):
        other = "--diff" if arguments.diff else "--check"
        raise UsageError(f"--write changes files, {other} does not: give one of them")
    check_changeable(arguments, paths)


def _as_written(file: Migrated) -> list[Finding]:
    """Locate objects that cannot be converted in the new text of a file."""
    documents = {
        (document.index + 1, document.within): document
        for document in parse(file.after.encode(), file.name)
        if isinstance(document, Document)
    }
    return [
        found(each.problem, document) if (document := documents.get((each.document, each.within))) else each
        for each in file.lost
    ]


def _summary(files: Sequence[Migrated], faults: Sequence[Finding], arguments: Namespace) -> str:
    text = ""
    if count := sum(len(each.older) for each in files):
        text = f"{counted(count, 'place')} in {counted(sum(each.before != each.after for each in files), 'file')} "
        if arguments.check:
            text += f"{'is' if count == 1 else 'are'} older: convert with draguard convert --write"
        else:
            text += "would be converted" if arguments.diff else "converted"
    return outcome(text, "nothing to convert", [each.name for each in files], faults)
