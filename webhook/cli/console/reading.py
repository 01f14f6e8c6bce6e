"""The input of a command: the paths on the command line, or else standard input."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

from webhook.api.versions import NEWEST, release_of
from webhook.cli.arguments import UsageError
from webhook.documents import STDIN
from webhook.sources import RenderOptions, SourceError, is_rendered, read

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence

    from webhook.documents import Document, Unreadable


def paths_of(arguments: Namespace) -> list[str]:
    """Return the named paths; without paths, standard input if it is a pipe or a file."""
    paths: list[str] = arguments.paths
    return paths or ([STDIN] if _is_given() else [])


def some_paths(arguments: Namespace) -> list[str]:
    """Return the named paths, or standard input.

    Raises:
        UsageError: There is nothing to read.
    """
    if paths := paths_of(arguments):
        return paths
    raise UsageError("there is nothing to read: name files or directories, or pipe them in")


def read_sources(
    arguments: Namespace, paths: Sequence[str], kubernetes: str | None, namespace: str = "default"
) -> Iterable[Document | Unreadable]:
    """Read manifests; Helm charts and kustomizations among the paths are rendered.

    Args:
        arguments: The command's arguments, with options for rendering charts.
        paths: The paths; nothing is read if there are none.
        kubernetes: The release for which charts are rendered; None for the newest.
        namespace: The namespace for which they are rendered.

    Raises:
        UsageError: No renderer is available, or an option does not fit.
    """
    check_charts(arguments, paths)
    if not paths:
        return ()
    release = release_of(kubernetes) if kubernetes else NEWEST
    values, sets = tuple(arguments.helm_values), tuple(arguments.helm_set)
    options = RenderOptions(values, sets, namespace, release, note=_note)
    try:
        return read(paths, options=options)
    except SourceError as error:
        raise UsageError(str(error)) from error


def _note(remark: str) -> None:
    from webhook.cli.console.lines import show_lines  # noqa: PLC0415 - few commands render

    show_lines([remark], sys.stderr)


def check_charts(arguments: Namespace, paths: Iterable[str]) -> None:
    """Check that there is a chart if there are values for charts.

    Raises:
        UsageError: There is no chart.
    """
    if (arguments.helm_values or arguments.helm_set) and not any(map(is_rendered, paths)):
        raise UsageError("--helm-values and --helm-set: no path is the directory of a Helm chart")


def _is_given() -> bool:
    """Tell whether standard input is a pipe or a file; a socket may stay open forever."""
    if os.environ.get("PRE_COMMIT"):  # its hooks get a pipe without a writer
        return False
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)
