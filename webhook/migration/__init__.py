"""Moves manifests to another version of their API; the text keeps its comments, its order and its layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from webhook.api.versions import GROUP
from webhook.documents import Document
from webhook.edit.rewrite import with_objects
from webhook.findings import Finding, found, guarded
from webhook.migration.classic import Parameters
from webhook.migration.objects import Converted, Wanted, converted
from webhook.records import NamedTuple


class Migrated(NamedTuple):
    """A file, and the result of its migration.

    Args:
        name: Its name as given, ``<stdin>`` for standard input.
        after: Its converted text; the same if there is nothing to convert.
        older: Findings about converted parts.
        lost: Findings about parts that cannot be converted.
    """

    name: str
    before: str
    after: str
    older: list[Finding]
    lost: list[Finding]


def migrate(documents: Iterable[Document], wanted: Wanted) -> Iterator[Migrated]:
    """Convert the objects of files.

    Args:
        documents: The objects, file by file.
        wanted: The versions to convert to.
    """
    every = list(documents)
    parameters = Parameters(each.data for each in every)
    for name, of_file in groupby(every, key=lambda document: document.source):
        together = list(of_file)
        older, lost, objects = list[Finding](), list[Finding](), list[Any]()
        for document in together:
            result = Converted(document.data, [], [])
            with guarded(document, lost):
                result = converted(document.data, wanted, parameters)
            older += (found(problem, document) for problem in result.older)
            lost += (found(problem, document) for problem in result.lost)
            objects.append(result.object)
        after = with_objects(together, objects, _with_version)
        yield Migrated(name, together[0].file.text, after, older, lost)


def _with_version(whole: Any, items: Sequence[Any]) -> None:
    """Give a list of one of the group's kinds the version of its items."""
    versions = {each.get("apiVersion") for each in items if isinstance(each, dict)}
    if str(whole.get("apiVersion")).startswith(f"{GROUP}/") and len(versions) == 1:
        whole["apiVersion"] = versions.pop()


__all__ = ["Migrated", "Wanted", "migrate"]
