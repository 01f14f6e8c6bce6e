"""The input of a command: the paths on the command line, or else standard input."""

from __future__ import annotations

import os
import stat
import sys
from argparse import Namespace
from collections.abc import Sequence

from webhook.api.versions import DEFAULT, release_of
from webhook.check.manifests import check_charts
from webhook.check.target import runtime_config
from webhook.documents import STDIN, Document, Selection, Unreadable
from webhook.documents.files import only_manifests
from webhook.sources import RenderOptions, SourceError, read
from webhook.usage import UsageError


def paths_of(arguments: Namespace) -> list[str]:
    """Return the named paths; without paths, standard input if it is a pipe or a file."""
    paths: list[str] = arguments.paths
    return paths or ([STDIN] if _is_given() else [])


def some_paths(arguments: Namespace, missing: str = "name files or directories, or pipe manifests in") -> list[str]:
    """Return the named paths, or standard input.

    Args:
        missing: How to give the input.

    Raises:
        UsageError: No input is given.
    """
    if paths := paths_of(arguments):
        return paths
    raise UsageError(f"no input: {missing}")


def read_sources(
    arguments: Namespace,
    paths: Sequence[str],
    kubernetes: str | None,
    namespace: str = "default",
    texts: dict[str, list[str]] | None = None,
) -> list[Document | Unreadable]:
    """Read manifests; Helm charts and kustomizations among the paths are rendered.

    Files of directories that are not manifests are left out, as in ``draguard validate``, and counted on stderr.

    Args:
        arguments: The command's arguments, with options for rendering charts.
        paths: The paths; nothing is read if there are none.
        kubernetes: The release for which charts are rendered; None for the newest.
        namespace: The namespace for which they are rendered.
        texts: Receives the rendered texts, by the file of the template or the kustomization.

    Raises:
        UsageError: No renderer is available, or an option does not fit.
    """
    check_charts(arguments, paths)
    if not paths:
        return []
    options = render_options(arguments, kubernetes, namespace)._replace(texts=texts)
    selection = Selection(allow_empty=arguments.allow_empty)
    try:
        documents = only_manifests(read(paths, selection=selection, options=options), paths, selection)
    except SourceError as error:
        raise UsageError(str(error)) from error
    note_left_out(selection, quiet=getattr(arguments, "quiet", False))
    return documents


def render_options(arguments: Namespace, kubernetes: str | None, namespace: str) -> RenderOptions:
    """Return how to render Helm charts and kustomizations.

    Args:
        arguments: The command's arguments, with options for rendering charts.
        kubernetes: The release for which charts are rendered; None for the newest.
        namespace: The namespace for which they are rendered.
    """
    release = release_of(kubernetes) if kubernetes else DEFAULT
    values, sets, stated = tuple(arguments.helm_values), tuple(arguments.helm_set), runtime_config(arguments)
    return RenderOptions(values, sets, namespace, release, stated, note=tell)


def note_left_out(selection: Selection, *, quiet: bool, renders: bool = True) -> None:
    """Say on standard error which files were not read.

    Args:
        selection: What has left them out.
        quiet: Whether nothing is to be printed.
        renders: Whether the command renders charts that are named.
    """
    if selection.left_out and not quiet:
        from webhook.report.summary import not_read  # seldom needed

        tell(not_read(selection.left_out, selection.unread, renders=renders))


def tell(line: str) -> None:
    """Print a line on standard error."""
    from webhook.cli.console.lines import show_lines  # few commands have something to tell

    show_lines([line], sys.stderr)


def _is_given() -> bool:
    """Tell whether standard input is a pipe or a file; a socket may stay open forever."""
    if os.environ.get("PRE_COMMIT"):  # its hooks get a pipe without a writer
        return False
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
