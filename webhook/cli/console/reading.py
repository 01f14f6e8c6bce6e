"""The input of a command: the paths on the command line, or else standard input."""

from __future__ import annotations

import os
import stat
import sys

from webhook.api.runtimeconfig import parse
from webhook.api.versions import DEFAULT, release_of
from webhook.cli.arguments import UsageError
from webhook.documents import STDIN, STDIN_NAME, Selection, Unreadable
from webhook.documents.files import is_manifest, without_manifest
from webhook.documents.selection import EMPTY
from webhook.objects import is_object
from webhook.sources import RenderOptions, SourceError, is_rendered, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Final

    from webhook.documents import Document

_NO_OBJECT: Final = "no manifest: no document in it has an apiVersion or a kind"


def piped_twice(inputs: Mapping[str, Sequence[str]]) -> str:
    """Return the complaint that standard input is given as two inputs; empty if it is not.

    Args:
        inputs: The paths of each input, by its name.
    """
    first, second, *_ = *(name for name, paths in inputs.items() if STDIN in paths), "", ""
    return f"standard input (-) cannot be both {first} and {second}: give one of them as files" if second else ""


def paths_of(arguments: Namespace) -> list[str]:
    """Return the named paths; without paths, standard input if it is a pipe or a file."""
    paths: list[str] = arguments.paths
    return paths or ([STDIN] if _is_given() else [])


def some_paths(arguments: Namespace, missing: str = "name files or directories, or pipe manifests in") -> list[str]:
    """Return the named paths, or standard input.

    Args:
        arguments: The command's arguments.
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
    return RenderOptions(values, sets, namespace, release, stated, note=_note)


def runtime_config(arguments: Namespace) -> dict[str, bool] | None:
    """Read ``--runtime-config``, None if it was not given.

    Raises:
        UsageError: A key or value is malformed, or names an API group or version that Kubernetes does not have.
    """
    if not arguments.runtime_config:
        return None
    from webhook.policy.manifest.kinds import versions_of  # few clusters differ from the defaults

    try:
        stated = {key: on for text in arguments.runtime_config for key, on in parse(text).items()}
    except ValueError as error:
        raise UsageError(f"--runtime-config: {error}") from error
    for key in stated:
        group, version = key.split("/")[:2]
        if group == "api":
            continue
        if not (versions := versions_of(group)):
            raise UsageError(f"--runtime-config: unknown API group {group}")
        if version not in versions:
            known = ", ".join(versions)
            raise UsageError(f"--runtime-config: group version {group}/{version} is unknown; {group} has {known}")
    return stated


def only_manifests(
    documents: Iterable[Document | Unreadable], paths: Iterable[str], selection: Selection
) -> list[Document | Unreadable]:
    """Leave out files of directories that hold no object, such as a chart's values, and count them.

    Args:
        documents: The content of all files.
        paths: The input paths.
        selection: Receives the number.
    """
    every = list(documents)
    kept = {STDIN_NAME if path == STDIN else path for path in paths}
    kept.update(each.source for each in every if isinstance(each, Unreadable) or is_object(each.data))
    for other in sorted({each.source for each in every} - kept):
        selection.leave_out(EMPTY, other)
    return [each for each in every if each.source in kept]


def with_manifests(documents: Iterable[Document | Unreadable], paths: Iterable[str]) -> Iterator[Document | Unreadable]:
    """Yield documents, and an error for each input that has some, but no object: it is probably a table of kubectl.

    Args:
        documents: The content of all files.
        paths: The input paths; other files, which are below directories, may hold anything, unless no input has an
            object.
    """
    left = {STDIN_NAME if path == STDIN else path: None for path in paths}
    others: dict[str, str] = {}
    is_found = False
    for document in documents:
        source = document.source
        if isinstance(document, Unreadable) or is_manifest(document.data, source) or document.within:
            left.pop(source, None)
            is_found = True
        else:
            others.setdefault(source, document.whole_text if source in left else "")
        yield document
    yield from (without_manifest(source, text, "") for source, text in others.items() if source in left)
    if not is_found and not others.keys() <= left.keys():
        yield from (Unreadable(path, 0, 0, _NO_OBJECT) for path in left if path not in others)


def note_left_out(selection: Selection, *, quiet: bool, renders: bool = True, option: str = "") -> None:
    """Count the files that were not read on standard error.

    Args:
        selection: What has left them out.
        quiet: Whether nothing is to be printed.
        renders: Whether the command renders charts that are named.
        option: The option that names the files; empty for the paths of the command.
    """
    if selection.left_out and not quiet:
        from webhook.report.summary import not_read  # seldom needed

        about = f"{option}: " if option else ""
        print(f"{about}{not_read(selection.left_out, renders=renders)}", file=sys.stderr)


def _note(remark: str) -> None:
    from webhook.cli.console.lines import show_lines  # few commands render

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
