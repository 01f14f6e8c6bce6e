"""Charts and kustomizations as they are rendered from a revision of git."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from posixpath import isabs, join, normpath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from webhook.documents import Document, Unreadable
from webhook.documents.search import bare
from webhook.documents.selection import KUSTOMIZATIONS
from webhook.engine.manifests import NOT_COMPARED
from webhook.findings import Finding
from webhook.problem import WARNING, Path, Problem
from webhook.sources.bases import named_in
from webhook.sources.options import CHART, RenderOptions, SourceError, kustomization_of, prefix_of
from webhook.sources.rendering import render
from webhook.suppression.revision import Revision, RevisionError

if TYPE_CHECKING:
    from webhook.report.model import Report

_MOST: Final = 200
"""The most kustomizations that are followed."""
_HINT: Final = "objects that are not rendered there are judged as new"


def rendered_at(
    revision: Revision, path: str, options: RenderOptions, report: Report
) -> Sequence[Document | Unreadable] | None:
    """Render a chart or kustomization as it is at a revision, in a temporary directory.

    Args:
        path: The directory, as it is now.
        options: How it is rendered now. Files of values are those of the revision, if it has them.
        report: Receives a warning if it cannot be rendered.

    Returns:
        The documents, named like those of the present directory; None if the revision has no chart or kustomization
        there.
    """
    inside = revision.directory_of(path)
    if inside is None or not _is_source(revision, inside):
        return None
    with TemporaryDirectory() as top:
        try:
            values = _export(revision, inside, options.values, top)
            found = list(render(join(top, inside), options.for_earlier(values)))
        except (RevisionError, SourceError, OSError) as error:
            found = [Unreadable("", 1, 1, str(error))]
    if failed := next((each for each in found if isinstance(each, Unreadable)), None):
        message = f"not compared with {revision.revision}: {failed.message.replace(f'{top}/', '')}"
        problem = Problem(WARNING, NOT_COMPARED, "NotCompared", Path(), message, _HINT)
        file = bare(kustomization_of(path) or f"{path.rstrip('/')}/{CHART}")
        report.findings.append(Finding(problem, file, 1, 1, ""))
    return list(_renamed(found, f"{normpath(join(top, inside))}/", prefix_of(path)))


def _is_source(revision: Revision, inside: str) -> bool:
    return any(revision.has(join(inside, name)) for name in (CHART, *KUSTOMIZATIONS))


def _export(revision: Revision, inside: str, values: Sequence[str], top: str) -> tuple[str, ...]:
    """Write the files that rendering needs, and return the files of values."""
    paths = [revision.path_of(file) for file in values]
    kept = [path if path and revision.has(path) else None for path in paths]
    revision.export([*_directories(revision, inside), *filter(None, kept)], top)
    return tuple(join(top, path) if path else file for path, file in zip(kept, values, strict=True))


def _directories(revision: Revision, inside: str) -> Iterator[str]:
    """Yield a directory, and those of the bases of a kustomization.

    Raises:
        RevisionError: A base is outside the repository.
    """
    seen, pending = {inside}, [inside]
    while pending and len(seen) < _MOST:
        directory = pending.pop()
        yield directory
        files = {path: path for name in KUSTOMIZATIONS if revision.has(path := join(directory, name))}
        for _, document in revision.documents(files):
            for base in named_in(document):
                path = normpath(join(directory, base))
                if isabs(base) or path.startswith(".."):
                    raise RevisionError(f"{directory or '.'} has a base outside the repository: {base}")
                if path not in seen and not revision.has(path):
                    seen.add(path)
                    pending.append(path)


def _renamed(documents: Sequence[Document | Unreadable], was: str, name: str) -> Iterator[Document | Unreadable]:
    """Name the sources of documents like those of another directory."""
    for each in documents:
        source = f"{name}{each.source.removeprefix(was)}"
        if isinstance(each, Document):
            each.origin.source.name = source
            yield each
        else:
            yield each._replace(source=source)
