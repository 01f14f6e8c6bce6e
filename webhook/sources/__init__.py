"""Reads the inputs of the command line: files, directories and globs as they are, charts and kustomizations rendered.

:func:`read` renders a directory with a ``Chart.yaml`` or a kustomization if the directory itself is named, and those
below a directory if that is wanted (``RenderOptions.concerns``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO

from webhook.documents import Piece, Selection
from webhook.documents import read as read_files
from webhook.sources.options import RenderOptions, SourceError, is_chart, kustomization_of

__all__ = ["RenderOptions", "SourceError", "is_rendered", "read"]


def is_rendered(path: str) -> bool:
    """Tell whether a path is rendered rather than read."""
    return os.path.isdir(path) and (is_chart(path) or bool(kustomization_of(path)))


def read(
    paths: Iterable[str],
    stdin: BinaryIO | None = None,
    selection: Selection | None = None,
    options: RenderOptions | None = None,
) -> Iterator[Piece]:
    """Read every document, the rendered ones last.

    Args:
        paths: As for :func:`webhook.documents.read`; a directory may also be a Helm chart or a kustomization.
        stdin: The content of ``-``; by default the process's standard input.
        selection: The files of directories to leave out; none by default.
        options: The options of rendering charts.

    Returns:
        The documents, and an error in the place of each input that cannot be read or rendered.

    Raises:
        SourceError: The program for rendering is missing, or the options do not fit.
    """
    named = list(paths)
    rendered = [path for path in named if is_rendered(path)]
    if options and options.concerns and any(map(os.path.isdir, named)):
        from webhook.sources.trees import read_trees  # many name files

        return read_trees(named, rendered, stdin, selection or Selection(git=False), options)
    if not rendered:
        return read_files(named, stdin, selection)
    from webhook.sources.rendering import render  # most manifests are files

    files = [path for path in named if path not in rendered]
    streams = [render(path, options or RenderOptions(), selection) for path in dict.fromkeys(rendered)]
    return chain(read_files(files, stdin, selection), *streams)
