"""``--cluster``: the objects of a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from webhook.check.progress import with_progress
from webhook.documents import Document, Selection, Unreadable, read
from webhook.documents.files import with_manifests
from webhook.findings import UNREADABLE, Finding, found, unread
from webhook.inventory import KINDS, Inventory, MalformedError
from webhook.objects import DEFINITION, is_definition
from webhook.optional import install
from webhook.problem import ERROR, Path, Problem

if TYPE_CHECKING:
    from webhook.report.model import Report

DETAILS: Final = "`draguard validate` has the details"
"""The hint for a manifest that cannot be decoded."""


def read_cluster(
    paths: Sequence[str],
    report: Report,
    kinds: Sequence[str] = (*KINDS,),
    *,
    quiet: bool = True,
    definitions: bool = False,
    tell: Callable[[str], None] | None = None,
) -> Inventory:
    """Read the objects of a cluster; report those that cannot be read or decoded.

    Args:
        paths: Files, directories, globs or ``-``: output of ``kubectl get -o yaml``, lists, must-gather trees.
        kinds: The kinds that the command needs; objects of others are ignored.
        quiet: Whether to show no progress on a terminal.
        definitions: Whether CustomResourceDefinitions are needed, too, which are large.
        tell: Receives a line about files that were not read.
    """
    install("objects")
    inventory = Inventory()
    # Snapshots are large, and seldom committed.
    wanted = (*kinds, DEFINITION) if definitions else kinds
    selection = Selection(allow_empty=True, some_files=True, git=False, stored=wanted)
    documents = with_manifests(read(paths, selection=selection), paths)
    for document in documents if quiet else with_progress(documents, sys.stderr):
        if isinstance(document, Unreadable):
            report.findings.append(unread(document))
            continue
        obj = document.data if isinstance(document.data, dict) else {}
        if definitions and is_definition(obj):
            inventory.definitions.append(obj)
        if obj.get("kind") not in kinds:
            continue
        try:
            inventory.add(obj)
        except MalformedError as error:
            report.findings.append(malformed(error, document, "give what the cluster stores, as kubectl prints it"))
    if selection.left_out and tell:
        from webhook.report.summary import not_read  # seldom needed

        tell(not_read(selection.left_out, selection.unread, renders=False))
    return inventory


def served_by(inventory: Inventory) -> list[str]:
    """Return which API versions a cluster serves, as ``--runtime-config`` takes them; empty if it does not list all.

    Args:
        inventory: The objects of the cluster; its APIServices are named ``VERSION.GROUP``.
    """
    names = {name for _, name in inventory.names("APIService")}
    if _CORE not in names:
        return []
    from webhook.policy.manifest.kinds import Kinds, versions_of  # few snapshots have APIServices

    versions = ((group, version) for group in Kinds().groups if group for version in versions_of(group))
    return [f"{group}/{version}={str(f'{version}.{group}' in names).lower()}" for group, version in versions]


_CORE: Final = "v1."
"""The APIService of the core group, which every cluster has."""


def not_found(what: str, paths: Sequence[str]) -> str:
    """Return the complaint that the cluster lacks objects that a command needs.

    Args:
        paths: The paths of ``--cluster``.
    """
    how = "--cluster has none: collect them, too" if paths else "give the objects of the cluster with --cluster"
    return f"no {what} found: {how}; `draguard snapshot` prints the command"


def malformed(error: MalformedError, document: Document, hint: str) -> Finding:
    """Return the finding that an object cannot be decoded, located at its document."""
    return found(Problem(ERROR, UNREADABLE, "BadRequest", Path(), str(error), hint), document)
