"""``--cluster``: the objects of a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from webhook.check.progress import counting, with_progress
from webhook.documents import Document, Piece, Selection, read
from webhook.documents.document import Origin
from webhook.documents.files import with_manifests
from webhook.documents.source import Source
from webhook.findings import UNREADABLE, Finding, found, guarded, readable
from webhook.inventory import KINDS, Inventory, MalformedError
from webhook.objects import DEFINITION
from webhook.problem import ERROR, Path, Problem
from webhook.report.model import Report

if TYPE_CHECKING:
    from webhook.check.judge import Refusals
    from webhook.cluster.live import Server
    from webhook.documents.stored import ObjectFilter

_STORED: Final = "give what the cluster stores, as kubectl prints it"
"""The hint for an object of the cluster that cannot be decoded."""
_DETAILS: Final = "`draguard validate` has the details"
"""The hint for such a manifest."""


def read_cluster(
    sources: Sequence[str | Server],
    report: Report,
    kinds: Sequence[str] = (*KINDS,),
    *,
    is_whole: bool = False,
    **how: Any,
) -> Inventory:
    """Read the objects of a cluster into an inventory; the arguments are those of :func:`cluster_documents`.

    Of a claim that cannot be decoded, only the devices that it holds are known.
    """
    inventory = Inventory()
    inventory.context = context_of(sources)
    for document in cluster_documents(sources, report, kinds, is_whole=is_whole, **how):
        if document.data["kind"] == DEFINITION:
            inventory.definitions.append(document.data)
            continue
        try:
            inventory.take(document.data, has_nulls=is_whole)
        except MalformedError as error:
            inventory.leave_out(document.data, error)
            report.findings.append(malformed(error, document))
    return inventory


def context_of(sources: Sequence[str | Server]) -> str:
    """Return the context that a command of kubectl needs to reach what was read; a placeholder if there are several.

    Args:
        sources: The values of ``--cluster``.
    """
    contexts = {each.context for each in sources if not isinstance(each, str)}
    return "CONTEXT" if len(contexts) > 1 else next(iter(contexts), "")


def cluster_documents(
    sources: Sequence[str | Server],
    report: Report,
    kinds: Collection[str],
    *,
    namespace: str = "",
    quiet: bool = True,
    is_whole: bool = False,
    tell: Callable[[str], None] | None = None,
) -> Iterator[Document]:
    """Read the objects of a cluster, from files or from itself.

    Args:
        sources: Running clusters; files, directories, globs or ``-``: output of ``kubectl get -o yaml``, lists,
            must-gather trees.
        report: Receives what cannot be read.
        kinds: The kinds that the command needs; others are not read, or left out.
        namespace: Where to read the objects of a running cluster that may not be read in all namespaces.
        quiet: Whether to show no progress on a terminal.
        is_whole: Whether all fields are needed, also those that no command looks at, and null values.
        tell: Receives lines about what was not read.

    Yields:
        Documents whose data are objects of these kinds.

    Raises:
        ClusterError: Nothing can be read of a running cluster.
    """
    if not sources:
        return
    from webhook.documents.stored import ObjectFilter  # few commands look at clusters
    from webhook.inventory.snapshots import reader

    paths = [each for each in sources if isinstance(each, str)]
    # Snapshots are large, and seldom committed.
    wanted = ObjectFilter(kinds, None if is_whole else reader())
    selection = Selection(allow_empty=True, some_files=True, git=False, stored=wanted)
    documents = with_manifests(read(paths, selection=selection), paths)
    for document in readable(with_progress(documents, sys.stderr, quiet=quiet), report.findings):
        if isinstance(document.data, dict) and document.data.get("kind") in kinds:
            yield document
    if selection.left_out and tell:
        from webhook.report.text import not_read  # seldom needed

        tell(not_read(selection, renders=False))
    for each in sources:
        if not isinstance(each, str):
            yield from _running(each, wanted, namespace, quiet=quiet, tell=tell)


def _running(
    server: Server, wanted: ObjectFilter, namespace: str, *, quiet: bool, tell: Callable[[str], None] | None
) -> Iterator[Document]:
    from webhook.cluster.live import Where  # most clusters are in files
    from webhook.inventory.snapshots import OF_SNAPSHOT

    kinds = [kind for kind in OF_SNAPSHOT if kind in wanted.kinds]
    with counting(f"objects of {server.name}", sys.stderr, quiet=quiet) as watch:
        for part in server.parts(kinds, Where(namespace), watch, wanted.reader):
            if part.note and tell:
                tell(f"warning: {part.note}")
            origin = Origin(Source(f"{part.kind} of {server.name}", ""), 0, 0, is_json=True)
            for each in part.objects:
                yield Document(each, 0, origin, ())


def served_by(inventory: Inventory) -> list[str]:
    """Return which API versions a cluster serves, as ``--runtime-config`` takes them; empty if it does not list all.

    Args:
        inventory: The objects of the cluster; its APIServices are named ``VERSION.GROUP``.
    """
    names = {name for _, name in inventory.names("APIService")}
    if "v1." not in names:  # that of the core group, which every cluster has
        return []
    from webhook.policy.manifest.kinds import Kinds, versions_of  # few snapshots have APIServices

    versions = ((group, version) for group in Kinds().groups if group for version in versions_of(group))
    return [f"{group}/{version}={str(f'{version}.{group}' in names).lower()}" for group, version in versions]


def not_found(what: str, sources: Sequence[str | Server]) -> str:
    """Return the complaint that the cluster lacks objects that a command needs.

    Args:
        sources: The values of ``--cluster``.
    """
    if running := [each.name for each in sources if not isinstance(each, str)]:
        return f"no {what} found in {running[0]}"
    how = "--cluster has none: collect them, too" if sources else "give the objects of the cluster with --cluster"
    return f"no {what} found: {how}; `draguard snapshot` prints the command"


def take_each(
    documents: Iterable[Piece],
    refusals: Refusals,
    take: Callable[[Document], object],
    report: Report,
) -> None:
    """Take the manifests that the API server accepts; report the others, which can never exist.

    Args:
        refusals: Finds why the API server refuses one, and which fields it drops from one that it accepts.
        take: Takes one; raises MalformedError if it cannot be decoded.
    """
    for document in readable(documents, report.findings):
        with guarded(document, report.findings):
            findings = refusals(document)
            report.findings += findings
            if any(each.problem.level == ERROR for each in findings):
                continue
            try:
                take(document)
            except MalformedError as error:
                report.findings.append(malformed(error, document, _DETAILS))


def malformed(error: MalformedError, document: Document, hint: str = _STORED) -> Finding:
    """Return the finding that an object cannot be decoded, located at its document."""
    return found(Problem(ERROR, UNREADABLE, "BadRequest", Path(), str(error), hint), document)
