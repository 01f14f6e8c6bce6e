"""Leaves out files that are not the user's manifests: Helm templates, patches, vendored and ignored files.

A path named on the command line is always read; only files found below it are left out.
"""

from __future__ import annotations

import os
from codecs import utf_8_encode, utf_16_be_encode, utf_16_le_encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Final, TypeVar

from webhook.documents.document import Document
from webhook.documents.limits import MAX_BYTES
from webhook.documents.source import Unreadable
from webhook.documents.stream import Skips, parse

if TYPE_CHECKING:
    from webhook.documents.ignored import Ignored
    from webhook.documents.stored import Wanted

    _T = TypeVar("_T")

SUFFIXES: Final = (".json", ".yaml", ".yml")
"""The suffixes of manifests in a directory (cli-runtime ``FileExtensions``)."""

CONFIGURATION_FILES: Final = (".draguard.yaml", ".draguard.yml")
"""The names of draguard's own configuration files, which are not manifests."""

HELM: Final = "helm-template"
TEMPLATE: Final = "template"
PATCH: Final = "kustomize-patch"
IGNORED: Final = "ignored-by-git"
VENDORED: Final = "vendored"
NO_OBJECT: Final = "no-api-version"
BROKEN_LINK: Final = "broken-link"
EMPTY: Final = "empty"
EXCLUDED: Final = "excluded"

_VENDORED: Final = frozenset(
    {
        *("node_modules", "vendor"),
        *(".cache", ".direnv", ".eggs", ".mypy_cache", ".nox", ".pytest_cache", ".ruff_cache", ".terraform"),
        *(".terragrunt-cache", ".tox", ".venv"),
    }
)
"""Directories that package managers and other programs fill."""
KUSTOMIZATIONS: Final = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
"""File names that kustomize knows (api/konfig ``RecognizedKustomizationFileNames``)."""
_PATCHES: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")
_MARK: Final = "apiVersion"
_MARKS: Final = tuple(encode(_MARK)[0] for encode in (utf_8_encode, utf_16_le_encode, utf_16_be_encode))

Entry = tuple[str, bool]
"""The path of an entry of a directory, and whether it is a directory itself."""


def _no_others(_data: Any) -> bool:
    return False


class Selection:
    """Leaves out files that are not manifests, and counts them by reason.

    Args:
        allow_empty: Whether standard input, named files and directories may hold no manifest at all.
        some_files: Whether directories and globs must lead to a file even so.
        stdin_name: The file that standard input stands for, as an editor gives it; empty if there is none.
        excluded: The user's exclusions, each a predicate of a path.
        own: The real paths of files of draguard itself, which are not manifests.
        git: Whether to leave out what git ignores.
        also: A predicate of documents that count as manifests although they are not objects of Kubernetes.
        skips: Tells of which documents only apiVersion, kind and name are needed.
        blocks: Whether to read the YAML blocks of Markdown files.
        suffixes: The ends of the names of the files to read in directories.
        stored: What is needed of files with what a cluster stores; None for manifests.
    """

    def __init__(
        self,
        *,
        allow_empty: bool = False,
        some_files: bool = False,
        stdin_name: str = "",
        excluded: Sequence[Callable[[str], bool]] = (),
        own: Iterable[str] = (),
        git: bool = True,
        also: Callable[[Any], bool] = _no_others,
        skips: Skips | None = None,
        blocks: bool = False,
        suffixes: tuple[str, ...] = SUFFIXES,
        stored: Wanted | None = None,
    ) -> None:
        self.allow_empty = allow_empty
        self.some_files = some_files or not allow_empty
        self.stdin_name = stdin_name
        self.git, self.also, self.skips = git, also, skips
        self.blocks, self.suffixes, self.stored = blocks, suffixes, stored
        self.left_out: Counter[str] = Counter()
        self.unread: list[tuple[str, str]] = []
        """What was left out: paths, each with the reason."""
        self.kustomizations: list[str] = []
        """The files of kustomizations that were found in directories."""
        self.charts: dict[str, int] = {}
        """The directories of charts that were found, with the numbers of their templates, which are left out."""
        self._excluded = excluded
        self._own = frozenset(own)
        self._own_names = {each.rpartition("/")[2] for each in self._own}.union(CONFIGURATION_FILES)

    def leave_out(self, reason: str, path: str, count: int = 1) -> None:
        """Count and record what is left out.

        Args:
            path: The file or directory.
            count: The number of files, or documents.
        """
        self.left_out[reason] += count
        self.unread.append((path, reason))

    def restart(self) -> None:
        """Forget what was counted, as all files are read again."""
        for each in (self.left_out, self.unread, self.kustomizations, self.charts):
            each.clear()

    def excludes(self, path: str) -> bool:
        """Tell whether a path is excluded, and count it."""
        name = path.rpartition("/")[2]
        if name in self._own_names and (name in CONFIGURATION_FILES or os.path.realpath(path) in self._own):
            return True
        for excluded in self._excluded:
            if excluded(path):
                self.leave_out(EXCLUDED, path)
                return True
        return False

    def entries(
        self, directory: str, names: AbstractSet[str], entries: Iterable[Entry], ignored: Ignored | None
    ) -> list[Entry]:
        """Return the entries of a directory to read.

        Args:
            names: The names of all its entries.
            entries: The entries that may be or contain manifests.
            ignored: The paths that git ignores; None if that does not matter.
        """
        self.kustomizations += [f"{directory}/{name}" for name in names & KUSTOMIZATIONS]
        is_chart = "Chart.yaml" in names
        kept = []
        for path, is_directory in entries:
            name = path.rpartition("/")[2]
            if ignored and ignored.has(path, is_directory=is_directory):
                self.leave_out(IGNORED, path)
            elif is_directory and name in _VENDORED:
                self.leave_out(VENDORED, path)
            elif is_directory and self._excluded and self.excludes(path):
                continue
            elif not is_directory and ".tmpl." in name:  # for envsubst and the like
                self.leave_out(TEMPLATE, path)
            elif is_directory and is_chart and name == "templates":
                self.charts[directory] = _templates(path)
                self.leave_out(HELM, path, self.charts[directory])
            else:
                kept.append((path, is_directory))
        return kept

    def without_patches(self, top: str, found: Iterable[_T]) -> Iterator[_T]:
        """Yield the files found below a directory, without the patches that a kustomization names.

        Args:
            found: The names of files, or errors for missing ones.
        """
        files = list(found)  # a patch may come before the kustomization that names it
        patches = {patch for file in self.kustomizations for patch in _patches(file)}
        real, prefix = os.path.realpath(top), len(top.rstrip("/")) + 1
        for file in files:
            if patches and isinstance(file, str) and os.path.normpath(f"{real}/{file[prefix:]}") in patches:
                self.leave_out(PATCH, file)
            else:
                yield file

    def readable(self, data: bytes, documents: Iterator[Document | Unreadable]) -> Iterator[Document | Unreadable]:
        """Return the documents of a file; unreadable ones are left out if they are not manifests, or not yet."""
        reason = "" if mentions_objects(data) else NO_OBJECT
        return self._readable(documents, reason)

    def _readable(self, documents: Iterable[Document | Unreadable], reason: str) -> Iterator[Document | Unreadable]:
        """Leave out templates, and unreadable documents if there is a reason, which counts once for the file."""
        unreadable = False
        for document in documents:
            if isinstance(document, Document) or not (reason or document.is_template):
                yield document
            elif not unreadable or not reason:
                unreadable = True
                self.leave_out(reason or TEMPLATE, document.source)


def mentions_objects(data: bytes) -> bool:
    """Tell whether a file may hold a Kubernetes object, which has an ``apiVersion``."""
    return any(mark in data for mark in _MARKS)


def _templates(directory: str) -> int:
    """Count the templates of a chart."""
    return sum(name.endswith(SUFFIXES) for _, _, names in os.walk(directory) for name in names)


def _patches(file: str) -> Iterator[str]:
    """Return the real paths of the patches that a kustomization names."""
    try:
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb") as opened:
            data = opened.read(MAX_BYTES)
    except OSError:  # reported when it is read as a manifest
        return
    if b"patches" not in data:
        return
    base = os.path.realpath(file.rpartition("/")[0])
    for document in parse(data, file):
        if isinstance(document, Document) and isinstance(document.data, dict):
            for path in _named(document.data):
                yield os.path.normpath(f"{base}/{path}")


def _named(kustomization: dict[str, Any]) -> Iterator[str]:
    for field in _PATCHES:
        listed = kustomization.get(field)
        for patch in listed if isinstance(listed, list) else ():
            path = patch.get("path") if isinstance(patch, dict) else patch
            if isinstance(path, str) and "\n" not in path:  # a patch may be written in its place
                yield path
