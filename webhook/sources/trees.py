"""Renders the charts and kustomizations below directories, and reads the files beside them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from time import monotonic
from typing import BinaryIO, Final

from webhook.documents import Document, Piece, Selection, Unreadable
from webhook.documents.files import read_found
from webhook.documents.search import HELM, FoundFile, bare, find_files
from webhook.documents.source import MAX_BYTES, STDIN, decoded
from webhook.problem import cut
from webhook.regular import read_up_to
from webhook.sources.bases import Inputs, inputs_of
from webhook.sources.options import CHART, NoRendererError, RenderOptions, is_chart
from webhook.sources.rendering import render
from webhook.sources.running import SECONDS
from webhook.spelling import some_of

_SHOWN: Final = 8
"""How many of the sources that are not rendered are named for each reason."""
_LONGEST: Final = 300
"""The most characters of a reason."""
_DEFAULT_NAMESPACE: Final = RenderOptions().namespace
_OF_CHARTS: Final = (CHART, "requirements.yaml", "values")
"""The beginnings of the names of files that a chart is rendered from, besides templates and subcharts."""


def read_trees(
    named: Sequence[str], rendered: Sequence[str], stdin: BinaryIO | None, selection: Selection, options: RenderOptions
) -> Iterator[Piece]:
    """Read every document, the rendered ones last.

    What cannot be rendered below a directory is read as files, and named in a remark; so is the directory itself if no
    program is there to render it with, unless it is a chart that is named.

    Args:
        rendered: The sources that are rendered themselves.
        stdin: The content of ``-``.
        selection: The files of directories to leave out.

    Raises:
        SourceError: The program for rendering a named path is missing, or the options do not fit.
    """
    found = find_files(named, selection)
    trees = _Trees(selection, options)
    streams = []
    for path in dict.fromkeys(rendered):
        try:
            streams.append(render(path, options, selection))
        except NoRendererError as error:
            if is_chart(path) and os.path.normpath(path) != ".":  # nothing of it would be judged
                raise
            trees.leave_out(path, error.reason)
        else:
            trees.cover(path)
    below = list(trees.render(options.concerns or bool))
    files = [each for each in found if not (isinstance(each, FoundFile) and trees.has(each))]
    return chain(*(read_found(each, stdin, selection) for each in files), *streams, below)


class _Trees:
    """The charts and kustomizations below directories.

    Args:
        options: The options of rendering; values are for named charts only.
    """

    def __init__(self, selection: Selection, options: RenderOptions) -> None:
        self._selection, self._options = selection, options._replace(values=(), sets=())
        self._files: set[str] = set()
        self._directories: set[str] = set()
        self._charts: list[str] = []
        self._unrendered: dict[str, list[str]] = {}
        self._end = monotonic() + SECONDS

    def has(self, found: FoundFile) -> bool:
        """Tell whether a file below a directory is rendered, not read."""
        if found.is_named or found.path == STDIN:
            return False
        real = os.path.realpath(found.path)
        if real in self._files:
            return True
        insides = (real.removeprefix(f"{top}/") for top in self._charts if real.startswith(f"{top}/"))
        return any(inside.startswith(("charts/", *_OF_CHARTS)) for inside in insides)

    def leave_out(self, path: str, reason: str, *, is_tried: bool = True) -> None:
        """Note why a chart or kustomization is not rendered.

        Args:
            is_tried: Whether rendering failed, so that naming the directory does not help.
        """
        self._unrendered.setdefault(cut(reason, _LONGEST), []).append(bare(path))
        self._directories.add(os.path.realpath(path))
        if is_tried:
            self._selection.unrenderable.add(os.path.realpath(path))

    def cover(self, directory: str, inputs: Inputs | None = None) -> None:
        """Leave out the files that a chart or kustomization is rendered from."""
        top = os.path.realpath(directory)
        if top in self._charts:  # it is named twice
            return
        self._directories.add(top)
        if is_chart(directory):
            self._charts.append(top)
            for chart, templates in self._selection.charts.items():
                real = os.path.realpath(chart)
                if real == top or real.startswith(f"{top}/charts/"):
                    self._directories.add(real)
                    self._selection.left_out[HELM] -= templates
                    self._selection.unread.remove((os.path.join(chart, "templates"), HELM))
            self._selection.left_out += {}  # without those that are zero
            return
        inputs = inputs or inputs_of(directory)
        self._files |= inputs.files
        self._directories.update(inputs.directories)

    def render(self, concerns: Callable[[str], bool]) -> Iterator[Piece]:
        """Render the charts and kustomizations that are not rendered yet.

        Args:
            concerns: Tells by the text of a file whether what has it is rendered.
        """
        for chart in self._selection.charts:
            below = (f"{top}/{name}" for top, _, names in os.walk(chart) for name in names if not name.endswith(".md"))
            if not self._is_done(chart) and any(map(concerns, _texts(below))):
                yield from self._rendered(chart, None)
        pending = {
            directory: inputs
            for file in self._selection.kustomizations
            if not self._is_done(directory := os.path.dirname(file))
            and not (inputs := inputs_of(directory)).is_component
            and any(map(concerns, _texts(inputs.files)))
        }
        while pending:
            bases = {base for each in pending.values() for base in each.directories}
            tops = [each for each in pending if os.path.realpath(each) not in bases] or list(pending)
            for directory in tops:
                yield from self._rendered(directory, pending.pop(directory))
            pending = {each: inputs for each, inputs in pending.items() if not self._is_done(each)}
        for reason, sources in self._unrendered.items():
            named = ", ".join(some_of(sources, _SHOWN, "and {} more"))
            self._options.note(f"note: not rendered: {named}: {reason}")

    def _is_done(self, directory: str) -> bool:
        return os.path.realpath(directory) in self._directories

    def _rendered(self, directory: str, inputs: Inputs | None) -> Sequence[Piece]:
        """Render a chart or kustomization; nothing if that is not possible."""
        reason, documents, is_tried = "", list[Piece](), False
        if inputs and inputs.has_remote:
            reason = "it has resources that are on other machines, or missing"
        elif monotonic() > self._end:
            reason = f"rendering all of them takes more than {SECONDS:g} seconds"
        else:
            is_tried = True
            documents, reason = _tried(directory, self._options)
            if reason and inputs is None and self._options.namespace == _DEFAULT_NAMESPACE:
                # Many charts of drivers refuse it, as they need a namespace of their own.
                own = os.path.basename(os.path.realpath(directory))
                documents, reason = _tried(directory, self._options._replace(namespace=own))
        if not reason:
            self.cover(directory, inputs)
            return documents
        self.leave_out(directory, reason, is_tried=is_tried)
        return ()


def _tried(directory: str, options: RenderOptions) -> tuple[list[Piece], str]:
    """Render a chart or kustomization; the text is the reason why that is not possible."""
    try:
        documents = list(render(directory, options))
    except NoRendererError as error:
        return [], error.reason
    failed = documents and not any(isinstance(each, Document) for each in documents)
    return documents, documents[0].message if failed and isinstance(documents[0], Unreadable) else ""


def _texts(files: Iterable[str]) -> Iterator[str]:
    for file in files:
        try:
            yield decoded(read_up_to(file, MAX_BYTES), "replace")
        except (OSError, ValueError):  # reported when it is read
            continue
