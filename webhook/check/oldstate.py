"""The earlier state of objects: from the files of ``--old``, or from git by ``--against``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from posixpath import isabs, join, normpath
from typing import TYPE_CHECKING, Any, Final, TypeVar

from webhook.documents import STDIN_NAME, Document, Piece, Selection, Unreadable, read
from webhook.documents.files import with_manifests
from webhook.documents.search import KUSTOMIZATIONS, bare
from webhook.engine.manifests import NOT_COMPARED, not_compared
from webhook.findings import Finding, Identity, identity, readable
from webhook.grouping import by_key
from webhook.later import cached_property
from webhook.problem import NOTE, WARNING, Path, Problem
from webhook.report.model import Report
from webhook.report.text import counted, not_read
from webhook.sources import RenderOptions, is_rendered
from webhook.sources import read as read_sources
from webhook.sources.options import CHART, SourceError, is_chart, kustomization_of, prefix_of

if TYPE_CHECKING:
    from webhook.suppression.revision import Revision

_Key = tuple[str, str, str]
"""An object's API group, kind and name."""
_Objects = dict[_Key, list[tuple[str, "Document"]]]
"""Documents with their files, by object."""
_NAMED: Final = 3
"""How many files are named that have an object."""

_T = TypeVar("_T")


class Deployed:
    """The objects of files.

    Args:
        paths: The files, charts and kustomizations of the old state.
        options: How charts are rendered.
        tell: Receives a line about files that were not read.

    Raises:
        SourceError: A chart or kustomization needs a program that is not installed.
    """

    is_stored = True

    def __init__(
        self, paths: Sequence[str], report: Report, options: RenderOptions, tell: Callable[[str], None] | None
    ) -> None:
        self._objects: dict[_Key, dict[str, Any]] = {}
        self._has_noted: bool | None = None
        """Whether it has one of the noted objects; None if none was noted."""
        selection = Selection(allow_empty=True, some_files=True, git=False)  # as for --cluster
        documents = with_manifests(read_sources(paths, selection=selection, options=options), paths)
        for document in readable(documents, report.findings):
            if (about := identity(document.data)).name and about.api_version:
                self._objects.setdefault(_key(about), {})[about.namespace] = document.data
        if selection.left_out and tell:
            tell(f"--old: {not_read(selection, renders=True)}")

    def of(self, document: Document) -> tuple[Any, list[Problem]]:
        """Return the old state of an object, None if there is none, and its problems."""
        about = identity(document.data)
        old = self._was(about)
        return (None, []) if old is None else _in_version_of(about, old)

    def note(self, document: Document) -> None:
        """Note an object that is judged."""
        self._has_noted = self._has_noted or self._was(identity(document.data)) is not None

    def _was(self, about: Identity) -> Any:
        return _matching(self._objects.get(_key(about), {}), about.namespace)

    def remarks(self) -> list[str]:
        """Return the remarks on a state that has none of the noted objects."""
        if self._has_noted is not False:
            return []
        return ["note: --old has none of these objects by kind, namespace and name: all are judged as new"]


class AtRevision:
    """The objects of a repository as they are at a revision.

    An object is looked up in its present file, and then in files that no longer hold it: files are moved, and objects
    between them. A file that still holds it has another object, such as that of another environment. An object of a
    chart or kustomization is looked up in what the revision's renders to. An object from standard input is looked up in
    the file that it is named after, and then in all files, and found if there is only one of its name.

    Args:
        paths: The paths that are read.
        stdin_name: The file's name of standard input; empty if it has none.

    Raises:
        RevisionError: git fails.
    """

    is_stored = False

    def __init__(self, revision: Revision, paths: Sequence[str], stdin_name: str = "") -> None:
        self._revision, self._paths = revision, paths
        self._stdin = revision.path_of(os.path.abspath(stdin_name)) if stdin_name else None
        self._spelled = {os.path.realpath(path): path for path in paths}
        changed = revision.changed | ({self._stdin} if self._stdin else set())
        found = list(revision.documents({path: self._shown(path) for path in changed}))
        self._documents, self._changed = by_key(found), _index(found)
        self._now: dict[str, set[_Key]] = {}
        self._renderings: dict[str, tuple[Sequence[Piece], _Objects]] = {}
        """The rendered documents and objects of charts and kustomizations, by the beginning of their files' names."""

    def render(self, options: RenderOptions, report: Report) -> None:
        """Render the charts and kustomizations among the paths as they are at the revision.

        Args:
            options: How they are rendered now.
            report: Receives a warning about each that cannot be rendered.
        """
        paths = dict.fromkeys(filter(is_rendered, self._paths))
        if not paths:
            return
        self._renderings = {
            prefix_of(path): (documents, _index(("", each) for each in documents))
            for path in paths
            if (documents := _rendered_at(self._revision, path, options, report)) is not None
        }

    def of(self, document: Document) -> tuple[Any, list[Problem]]:
        """Return the old state of an object, None if there is none, and its problems."""
        about = identity(document.data)
        if not (about.name and about.api_version):
            return None, []
        if was := self._of(document, about):
            return _in_version_of(about, was.data)
        is_by_name = self._is_known_by_name(document) and self._rendering(document) is None
        return None, self._ambiguous(about) if is_by_name else []

    def before(self, documents: Sequence[Piece]) -> list[Piece]:
        """Return the earlier documents: of the same files, of files that were moved, and of deleted files."""
        found: dict[int, Piece] = {}
        paths = dict.fromkeys(path for path in self._documents if self._is_gone(path))
        moved = self._moved(documents)
        for rendered, _ in self._renderings.values():
            found |= {id(each): each for each in rendered}
        for document in documents:
            if self._rendering(document) is not None:
                continue
            path = self._revision.path_of(document.source)
            if path and (path in moved or self._is_unchanged(path)):
                found[id(document)] = document
            elif path in self._documents:
                paths[path] = None
            elif isinstance(document, Document) and (was := self._of(document, identity(document.data))):
                found[id(was)] = was
        for path in paths.keys() - moved.values():
            found |= {id(each): each for each in self._documents[path]}
        return list(found.values())

    def _moved(self, documents: Iterable[Piece]) -> dict[str, str]:
        """Find the files that have moved unchanged, and where they were."""
        found: dict[str, str] = {}
        taken: set[str] = set()
        for path in dict.fromkeys(self._revision.path_of(each.source) for each in documents):
            was = next((each for each in self._revision.moved_from(path) if each not in taken), None) if path else None
            if path and was:
                found[path] = was
                taken.add(was)
        return found

    def has(self, file: str) -> bool:
        """Tell whether a file is the same in the revision."""
        path = self._revision.path_of(os.path.abspath(file))
        return path is not None and self._is_unchanged(path)

    def _of(self, document: Document, about: Identity) -> Document | None:
        """Return the earlier document of an object."""
        if (rendered := self._rendering(document)) is not None:
            known = rendered.get(_key(about), [])
        elif self._is_known_by_name(document):
            known = self._all.get(_key(about), [])
            known = [each for each in known if each[0] == self._stdin] or (known if len(known) == 1 else [])
        elif (path := self._revision.path_of(document.source)) and self._is_unchanged(path):
            return document
        else:
            known = self._changed.get(_key(about), [])
            known = [each for each in known if each[0] == path] or [each for each in known if self._has_left(each)]
        return _matching({identity(was.data).namespace: was for _, was in known}, about.namespace)

    def _rendering(self, document: Piece) -> _Objects | None:
        """Return the objects that the chart or kustomization of a document rendered to; None if it was none."""
        if isinstance(document, Document) and (document.source == STDIN_NAME or not document.file.rendered):
            return None
        renderings = self._renderings.items()
        return next((objects for prefix, (_, objects) in renderings if document.source.startswith(prefix)), None)

    def _is_known_by_name(self, document: Document) -> bool:
        """Tell whether a document is not that of a file: it is from standard input, or was rendered."""
        return document.file.rendered or not (path := self._revision.path_of(document.source)) or path == self._stdin

    def _ambiguous(self, about: Identity) -> list[Problem]:
        """Note that several objects of the revision have an object's name, so that it is not compared."""
        files = [path for path, _ in self._all.get(_key(about), [])]
        if not files[1:]:
            return []
        more = f" and {counted(len(files) - _NAMED, 'more place')}" if files[_NAMED:] else ""
        what = f'{about.kind} "{about.name}" is in {", ".join(files[:_NAMED])}{more}'
        hint = "name the directory of the chart or kustomization, or the file with --stdin-filename"
        message = f"not compared with {self._revision.revision}: {what} there"
        return [Problem(NOTE, NOT_COMPARED, "NotCompared", Path(("metadata", "name")), message, hint)]

    def _is_unchanged(self, path: str) -> bool:
        return path != self._stdin and self._revision.has(path) and path not in self._revision.changed

    def _is_gone(self, path: str) -> bool:
        """Tell whether a file was deleted from a directory that is read."""
        full = f"{self._revision.top}/{path}"
        tops = [top for top in self._spelled if full.startswith(f"{top}/")]
        return not os.path.lexists(full) and any(
            prefix_of(self._spelled[top]) not in self._renderings
            or (is_chart(top) and not full[len(top) + 1 :].startswith(("templates/", "charts/")))  # not rendered
            for top in tops
        )

    def _has_left(self, was: tuple[str, Document]) -> bool:
        """Tell whether an object is no longer in its file."""
        path, document = was
        if path not in self._now:
            file = f"{self._revision.top}/{path}"
            documents = read([file]) if os.path.isfile(file) else ()
            self._now[path] = {_key(identity(each.data)) for each in documents if isinstance(each, Document)}
        return _key(identity(document.data)) not in self._now[path]

    @cached_property
    def _all(self) -> _Objects:
        return _index(self._revision.documents({path: path for path in self._revision.paths}))

    def _shown(self, path: str) -> str:
        """Spell a path of the repository like the paths that are read."""
        full = f"{self._revision.top}/{path}"
        for top, spelled in self._spelled.items():
            if full == top:
                return spelled
            if full.startswith(f"{top}/"):
                return bare(f"{spelled.rstrip('/')}/{full[len(top) + 1 :]}")
        return os.path.relpath(full)


OldState = Deployed | AtRevision
"""Looks up the earlier states of objects."""


def _in_version_of(about: Identity, old: Any) -> tuple[Any, list[Problem]]:
    """Return an old state in the version of the present object, or the problem that there is none."""
    if old["apiVersion"] == about.api_version:
        return old, []
    from webhook.api.conversion import ConversionError, convert  # few change their version

    try:
        return convert(old, about.api_version), []
    except ConversionError:
        group, _, version = about.api_version.rpartition("/")
        return None, [not_compared(old, about.api_version, f"{about.kind.lower()}.{version}.{group}")]


def _index(documents: Iterable[tuple[str, Piece]]) -> _Objects:
    known = ((path, each, identity(each.data)) for path, each in documents if isinstance(each, Document))
    return by_key((_key(about), (path, each)) for path, each, about in known if about.name and about.api_version)


def _key(about: Identity) -> _Key:
    """Return the key of an object, without version and namespace."""
    return about.api_version.rpartition("/")[0], about.kind, about.name


def _matching(states: Mapping[str, _T], namespace: str) -> _T | None:
    """Return the state in a namespace, or one without a namespace; for no namespace, the only one; else None."""
    if namespace in states or "" in states:
        return states[namespace if namespace in states else ""]
    return next(iter(states.values())) if len(states) == 1 and not namespace else None


_MOST: Final = 200
"""The most kustomizations that are followed."""
_HINT: Final = "objects that are not rendered there are judged as new"


def _rendered_at(revision: Revision, path: str, options: RenderOptions, report: Report) -> Sequence[Piece] | None:
    """Render a chart or kustomization as it is at a revision, in a temporary directory.

    Args:
        path: The directory, as it is now.
        options: The options by which it is rendered now. Files of values are those of the revision, if it has them.
        report: Receives a warning if it cannot be rendered.

    Returns:
        The documents, named like those of the present directory; None if the revision has no chart or kustomization
        there.
    """
    from tempfile import TemporaryDirectory  # most manifests are files

    from webhook.sources.rendering import render
    from webhook.suppression.revision import RevisionError

    inside = revision.directory_of(path)
    if inside is None or not any(revision.has(join(inside, name)) for name in (CHART, *KUSTOMIZATIONS)):
        return None
    with TemporaryDirectory() as top:
        try:
            paths = [revision.path_of(file) for file in options.values]
            kept = [path if path and revision.has(path) else None for path in paths]
            revision.export([*_directories(revision, inside), *filter(None, kept)], top)
            values = (join(top, path) if path else file for path, file in zip(kept, options.values, strict=True))
            found = list(render(join(top, inside), options.for_earlier(tuple(values))))
        except (RevisionError, SourceError, OSError) as error:
            found = [Unreadable("", 1, 1, str(error))]
    if failed := next((each for each in found if isinstance(each, Unreadable)), None):
        message = f"not compared with {revision.revision}: {failed.message.replace(f'{top}/', '')}"
        problem = Problem(WARNING, NOT_COMPARED, "NotCompared", Path(), message, _HINT)
        file = bare(kustomization_of(path) or f"{path.rstrip('/')}/{CHART}")
        report.findings.append(Finding(problem, file, 1, 1, ""))
    for at, each in enumerate(found):
        source = prefix_of(path) + each.source.removeprefix(f"{normpath(join(top, inside))}/")
        if isinstance(each, Document):
            each.file.name = source
        else:
            found[at] = each._replace(source=source)
    return found


def _directories(revision: Revision, inside: str) -> Iterator[str]:
    """Yield a directory, and those of the bases of a kustomization."""
    from webhook.sources.bases import named_in  # as above
    from webhook.suppression.revision import RevisionError

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
