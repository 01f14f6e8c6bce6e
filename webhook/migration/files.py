"""Converts files, object by object."""

from __future__ import annotations

from copy import deepcopy
from itertools import groupby
from typing import TYPE_CHECKING, Any

from webhook.api.versions import GROUP
from webhook.documents.rewriting import read_value, rewritten
from webhook.findings import Finding, found
from webhook.migration.objects import converted
from webhook.migration.parameters import Parameters
from webhook.problem import at
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from webhook.documents import Document
    from webhook.migration.objects import Converted
    from webhook.migration.wanted import Wanted

_TYPE = ("apiVersion", "kind")


class Migrated(NamedTuple):
    """A file, and the result of its migration.

    Args:
        name: Its name as given, ``<stdin>`` for standard input.
        before: Its text.
        after: Its converted text; the same if there is nothing to convert.
        older: Findings about converted parts.
        lost: Findings about parts that cannot be converted.
        is_manifest: Whether it has an object of Kubernetes, unlike a chart's values.
    """

    name: str
    before: str
    after: str
    older: list[Finding]
    lost: list[Finding]
    is_manifest: bool


def migrate(documents: Iterable[Document], wanted: Wanted) -> Iterator[Migrated]:
    """Convert the objects of files.

    Args:
        documents: The objects, file by file.
        wanted: The versions to convert to.
    """
    every = list(documents)
    parameters = Parameters(each.data for each in every)
    for name, of_file in groupby(every, key=lambda document: document.source):
        text, pieces, end = "", list[str](), 0
        objects: list[object] = []
        older: list[Finding] = []
        lost: list[Finding] = []
        for (start, stop), group in groupby(of_file, key=lambda document: document.extent):
            together = list(group)
            objects += (document.data for document in together)
            text = together[0].whole_text
            results = [converted(document.data, wanted, parameters) for document in together]
            for document, result in zip(together, results, strict=True):
                older += (found(problem, document) for problem in result.older)
                lost += (found(problem, document) for problem in result.lost)
            pieces += text[end:start], _text(text[start:stop], together, results)
            end = stop
        is_manifest = any(map(_is_object, objects))
        yield Migrated(name, text, "".join((*pieces, text[end:])), older, lost, is_manifest)


def _is_object(data: object) -> bool:
    return isinstance(data, dict) and bool(data.get("apiVersion")) and bool(data.get("kind"))


def _text(text: str, documents: Sequence[Document], results: Sequence[Converted]) -> str:
    """Return the text of one document, whose items are converted if it is a list."""
    if not any(result.older for result in results):
        return text
    is_json = documents[0].is_json
    whole = deepcopy(read_value(text, is_json=is_json))
    for document, result in zip(documents, results, strict=True):
        if result.older:
            whole = _with(whole, document.within, result.object)
    versions = {result.object.get("apiVersion") for result in results if isinstance(result.object, dict)}
    if documents[0].within and str(whole.get("apiVersion")).startswith(f"{GROUP}/") and len(versions) == 1:
        whole["apiVersion"] = versions.pop()
    return rewritten(text, whole, is_json=is_json)


def _with(whole: Any, within: tuple[str | int, ...], value: dict[str, Any]) -> Any:
    """Put an object in its place; a list that gives it its type gets the same type."""
    if not within:
        return value
    written = at(whole, within)
    at(whole, within[:-1])[within[-1]] = {
        name: each for name, each in value.items() if name in written or name not in _TYPE
    }
    return whole
