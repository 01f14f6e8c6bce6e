"""The manifests that ``draguard validate`` reads."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import BinaryIO, Final

from webhook.api.claimed import is_about_devices, may_concern
from webhook.api.versions import DEFAULT, find, release_of
from webhook.check.progress import counting, with_progress
from webhook.check.suppressing import exclusions, own_files
from webhook.check.target import runtime_config
from webhook.documents import STDIN, Document, Selection, Unreadable, parse
from webhook.documents.selection import SUFFIXES
from webhook.documents.source import MARKDOWN
from webhook.documents.stream import identity_of
from webhook.inventory.objects import is_held
from webhook.objects import DEFINITION
from webhook.report.model import Report
from webhook.sources import RenderOptions, SourceError, is_rendered, read
from webhook.usage import UsageError

_LARGE: Final = 1 << 16
"""The least characters of a document that is parsed only if it may concern devices; smaller ones cost little."""


def _unneeded(text: str) -> tuple[str, str, str] | None:
    """Return the apiVersion, kind and name of a document into which no rule looks, so that it need not be parsed."""
    if len(text) < _LARGE and DEFINITION not in text:  # as for most documents
        return None
    if (about := identity_of(text)) is None or about[1] == DEFINITION:  # often megabytes; only policies need schemas
        return about
    api_version, kind, _ = about
    is_needed = kind.endswith("List") or find(api_version, kind) or is_held(api_version, kind)
    return None if len(text) < _LARGE or is_needed or may_concern(text) else about


class Manifests:
    """The manifests of a command, read again for each release only if they are rendered for it.

    Raises:
        UsageError: The options do not fit together.
    """

    def __init__(self, arguments: Namespace) -> None:
        name = arguments.stdin_filename
        if name and arguments.paths and STDIN not in arguments.paths:
            raise UsageError("--stdin-filename: standard input is not read: leave out the paths, or give -")
        self.paths: list[str] = arguments.paths or [STDIN if name else "."]
        """The paths that are read."""
        self._arguments = arguments
        self._selection = Selection(
            allow_empty=arguments.allow_empty,
            stdin_name=name or "",
            excluded=exclusions(arguments),
            own=own_files(arguments),
            blocks=True,
            suffixes=(*SUFFIXES, MARKDOWN) if arguments.markdown else SUFFIXES,
            skips=None if arguments.policies else _unneeded,
        )
        self._rendered = bool(self.rendered)
        check_charts(arguments, [*self.paths, *arguments.old])
        self._read: list[Document | Unreadable] | None = None
        self._texts: dict[str, list[str]] = {}
        self.notes: dict[str, None] = {}
        """Remarks on what was rendered."""
        self.stdin: BinaryIO | None = None
        """The stream to read instead of the process's standard input."""

    @property
    def rendered(self) -> Sequence[str]:
        """The paths that are rendered, not read."""
        return [path for path in self.paths if is_rendered(path)]

    @property
    def left_out(self) -> Mapping[str, int]:
        """The files in directories that were not read, counted by reason."""
        return self._selection.left_out

    @property
    def unread(self) -> Sequence[tuple[str, str]]:
        """These files, each with the reason."""
        return self._selection.unread

    def _progress(self) -> AbstractContextManager[Callable[[int], None]]:
        return counting("seconds of rendering", sys.stderr, quiet=self._arguments.quiet)

    def place(self, report: Report) -> None:
        """Locate findings of rendered objects in templates and resource files."""
        if self._texts:
            from webhook.check.places import Places  # most manifests are files

            Places(self._texts).place(report)

    def documents(self, kubernetes: str | None, *, again: bool = False) -> Iterable[Document | Unreadable]:
        """Read the manifests.

        Args:
            kubernetes: The release for which charts are rendered; None for the newest.
            again: Whether they will be read for another release, too.

        Raises:
            UsageError: No renderer is available, or an option does not fit.
        """
        if self._read is not None:
            return self._read
        options = self.options(kubernetes)
        self._selection.restart()
        try:
            documents: Iterable[Document | Unreadable] = read(self.paths, self.stdin, self._selection, options)
        except SourceError as error:
            raise UsageError(str(error)) from error
        if sys.stderr.isatty() and not self._arguments.quiet:
            documents = with_progress(documents, sys.stderr)
        if again and not self._rendered:
            documents = self._read = list(documents)
        return documents

    def options(self, kubernetes: str | None) -> RenderOptions:
        """Return how charts and kustomizations are rendered.

        Args:
            kubernetes: The release; None for the newest.
        """
        return RenderOptions(
            tuple(self._arguments.helm_values),
            tuple(self._arguments.helm_set),
            self._arguments.namespace,
            release_of(kubernetes) if kubernetes else DEFAULT,
            runtime_config(self._arguments),
            self._progress,
            self._texts,
            lambda remark: self.notes.update({remark: None}),
            self._concerns,
        )

    def _concerns(self, text: str) -> bool:
        """Tell whether the chart or kustomization of a file is rendered if it is found below a directory.

        Files are fixed, not what is rendered of them; and a revision's are rendered only if they are named.
        """
        given = self._arguments
        if given.fix or given.diff or given.unsafe_fixes or given.against:
            return False
        return bool(given.policies or given.all_pods) or is_about_devices(text)

    @property
    def kept(self) -> Sequence[Document | Unreadable]:
        """The documents that were kept for another release."""
        return self._read or ()

    def replace(self, files: Mapping[str, str]) -> None:
        """Replace the texts of files that were read.

        Args:
            files: The texts, by the files' names.
        """
        seen: set[str] = set()
        documents: list[Document | Unreadable] = []
        for each in self._read or ():
            if each.source not in files:
                documents.append(each)
            elif each.source not in seen:
                seen.add(each.source)
                documents += parse(files[each.source], each.source)
        self._read = documents


def piped_twice(inputs: Mapping[str, Sequence[str]]) -> str:
    """Return the complaint that standard input is given as two inputs; empty if it is not.

    Args:
        inputs: The paths of each input, by its name.
    """
    first, second, *_ = *(name for name, paths in inputs.items() if STDIN in paths), "", ""
    return f"standard input (-) cannot be both {first} and {second}: give one of them as files" if second else ""


def check_charts(arguments: Namespace, paths: Iterable[str]) -> None:
    """Check that there is a chart if there are values for charts.

    Raises:
        UsageError: No path is the directory of a chart.
    """
    if (arguments.helm_values or arguments.helm_set) and not any(map(is_rendered, paths)):
        raise UsageError("--helm-values and --helm-set: no path is the directory of a Helm chart")
