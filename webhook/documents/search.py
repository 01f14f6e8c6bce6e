"""Finds files: in directories, by globs; no link may lead out of what the user has named.

Files found below a directory that are not the user's manifests are left out: Helm templates, patches, vendored and
ignored files. A path named on the command line is always read.
"""

from __future__ import annotations

import os
from codecs import utf_8_encode, utf_16_be_encode, utf_16_le_encode
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.documents.document import Document, Piece
from webhook.documents.source import MAX_BYTES, STDIN, STDIN_NAME, Unreadable
from webhook.documents.stream import Skips, parse
from webhook.grouping import by_key
from webhook.problem import Steps
from webhook.records import Record, fresh

if TYPE_CHECKING:
    from webhook.documents.git import Ignored
    from webhook.documents.stored import ObjectFilter

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
PATCH_FIELDS: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")
"""The fields of a kustomization that have patches, or name their files."""
_MARK: Final = "apiVersion"
_MARKS: Final = tuple(encode(_MARK)[0] for encode in (utf_8_encode, utf_16_le_encode, utf_16_be_encode))

Entry = tuple[str, bool]
"""The path of an entry of a directory, and whether it is a directory itself."""


def is_kustomization(file: str) -> bool:
    """Tell whether a file has the name of a kustomization."""
    return file.rpartition("/")[2] in KUSTOMIZATIONS


class Selection(Record):
    """Leaves out files that are not manifests, and counts them by reason.

    Args:
        allow_empty: Whether standard input, named files and directories may hold no manifest at all.
        some_files: Whether directories and globs must lead to a file even so, and named files hold nothing else.
        only_objects: Whether files of directories are left out if they hold no object, such as a chart's values.
        stdin_name: The file that standard input stands for, as an editor gives it; empty if there is none.
        excluded: The user's exclusions, each a predicate of a path.
        own: The real paths of files of draguard itself, which are not manifests.
        git: Whether to leave out what git ignores.
        also: A predicate of documents that count as manifests although they are not objects of Kubernetes.
        skips: Tells of which documents only apiVersion, kind and name are needed.
        blocks: Whether to read the YAML blocks of Markdown files.
        suffixes: The ends of the names of the files to read in directories.
        stored: The filter for files with a cluster's objects; None for manifests.
    """

    allow_empty: bool = False
    some_files: bool = False
    only_objects: bool = False
    stdin_name: str = ""
    excluded: Sequence[Callable[[str], bool]] = ()
    own: Collection[str] = ()
    git: bool = True
    also: Callable[[Any], bool] = lambda _data: False
    skips: Skips | None = None
    blocks: bool = False
    suffixes: tuple[str, ...] = SUFFIXES
    stored: ObjectFilter | None = None
    left_out: Counter[str] = fresh(Counter)
    unread: list[tuple[str, str]] = fresh(list)
    """The paths that were left out, each with the reason."""
    kustomizations: list[str] = fresh(list)
    """The files of kustomizations that were found in directories."""
    unrenderable: set[str] = fresh(set)
    """The real paths of directories that could not be rendered, whether they are named or not."""
    charts: dict[str, int] = fresh(dict)
    """The directories of charts that were found, with the numbers of their templates, which are left out."""

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
        for each in (self.left_out, self.unread, self.kustomizations, self.unrenderable, self.charts):
            each.clear()

    def excludes(self, path: str) -> bool:
        """Tell whether a path is excluded, and count it."""
        name = path.rpartition("/")[2]
        alike = [each for each in self.own if each.endswith(f"/{name}")]
        if name in CONFIGURATION_FILES or (alike and os.path.realpath(path) in alike):
            return True
        for excluded in self.excluded:
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
            elif is_directory and self.excluded and self.excludes(path):
                continue
            elif not is_directory and ".tmpl." in name:  # for envsubst and the like
                self.leave_out(TEMPLATE, path)
            elif is_directory and is_chart and name == "templates":
                self.charts[directory] = sum(name.endswith(SUFFIXES) for _, _, names in os.walk(path) for name in names)
                self.leave_out(HELM, path, self.charts[directory])
            else:
                kept.append((path, is_directory))
        return kept

    def without_patches(self, top: str, found: Iterable[str | Unreadable]) -> Iterator[str | Unreadable]:
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

    def readable(self, documents: Iterable[Piece], *, has_objects: bool) -> Iterator[Piece]:
        """Yield the documents of a file without templates; without objects, unreadable ones are left out, too.

        The latter count once for the file.
        """
        reason = "" if has_objects else NO_OBJECT
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


def read_if_there(file: str) -> Iterator[Piece]:
    """Read a file that another one names; nothing if it is missing or remote, which others report."""
    from webhook.regular import read_up_to  # few files name others

    try:
        data = read_up_to(file, MAX_BYTES)
    except (OSError, ValueError):
        return
    yield from parse(data, file)


def documents_in(file: str) -> Iterator[Document]:
    """Read what can be read of a file that another one names, as :func:`read_if_there` does."""
    return (each for each in read_if_there(file) if isinstance(each, Document))


def listed(kustomization: Any, fields: Iterable[str]) -> Iterator[tuple[Steps, Any]]:
    """Yield what a kustomization, or another map, lists in some of its fields, and the place of each."""
    for field in fields if isinstance(kustomization, dict) else ():
        value = kustomization.get(field)
        yield from (((field, index), each) for index, each in enumerate(value if isinstance(value, list) else ()))


def _patches(file: str) -> Iterator[str]:
    """Return the real paths of the patches that a kustomization names."""
    base = os.path.realpath(file.rpartition("/")[0])
    for _, patch in (each for document in documents_in(file) for each in listed(document.data, PATCH_FIELDS)):
        path = patch.get("path") if isinstance(patch, dict) else patch
        if isinstance(path, str) and "\n" not in path:  # a patch may be written in its place
            yield os.path.normpath(f"{base}/{path}")


EMPTY_ALLOWED: Final = "--allow-empty accepts that"
_OUTSIDE: Final = "a symbolic link that leads out of the directories that are read"
_OUTSIDE_HINT: Final = "name the file that it leads to, or the directory which that is in"
_OF_GIT: Final = frozenset({".git", ".hg", ".jj", ".svn"})
"""Directories with the history of a repository, which are never searched."""
_DIRECTORIES = 64
"""How many resolved directories are cached: files come directory by directory."""


def find(paths: Iterable[str]) -> Iterator[str]:
    """Yield the names of the files that :func:`webhook.documents.files.read` reads; missing ones are left out."""
    return (found.path for found in find_files(paths) if isinstance(found, FoundFile))


def find_files(paths: Iterable[str], selection: Selection | None = None) -> list[FoundFile | Unreadable]:
    """Find the files that :func:`webhook.documents.files.read` reads; the arguments are the same.

    A file that is found under several names is read once: under its own name if that is among them, as exclusions,
    ignores and baselines go by names, and a stranger's link must not choose another one.
    """
    named = list(paths)
    trees = Trees(named)
    every: list[tuple[str, str, FoundFile | Unreadable]] = []
    for path in named:
        for found in _expand(path, selection):
            real, result = found.source if isinstance(found, Unreadable) else found.path, found
            if isinstance(found, FoundFile) and real != STDIN:
                if selection and selection.excludes(found.path):
                    continue
                real, result = _checked(found, trees)
                is_broken = not found.is_named and os.path.islink(found.path) and not os.path.exists(found.path)
                if selection and isinstance(result, Unreadable) and is_broken:
                    selection.leave_out(BROKEN_LINK, found.path)
                    continue
            every.append((real, path, result))
    kept: dict[int, FoundFile | Unreadable] = {}
    for places in by_key([(real, place) for place, (real, _, _) in enumerate(every)]).values():
        best = next((each for each in places if places[1:] and _is_own(*every[each])), places[0])
        is_named = any(isinstance(each := every[place][2], FoundFile) and each.is_named for place in places)
        result = every[best][2]
        kept[best] = result._replace(is_named=is_named) if isinstance(result, FoundFile) else result
    return [kept[place] for place in sorted(kept)]


class FoundFile(NamedTuple):
    """A file.

    Args:
        path: Its name, as shown.
        is_named: Whether the user named it, so that it may be any kind of file.
    """

    path: str
    is_named: bool

    @property
    def shown(self) -> str:
        """Its spelling in findings."""
        return spelled(self.path)


class Trees:
    """The directories to search for manifests; no link may lead out of them.

    Args:
        paths: As for :func:`webhook.documents.files.read`.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._roots = {os.path.realpath(top_of(path)) for path in paths if path != STDIN}
        self._real_directory = lru_cache(maxsize=_DIRECTORIES)(partial(os.path.realpath, strict=True))

    def real(self, path: str) -> str | None:
        """Resolve the links of a name; None if it leads outside, or into the history of a repository.

        Raises:
            OSError: A link is broken, or leads in a circle.
        """
        directory, name = os.path.split(path)
        if name in {"", ".", ".."} or os.path.islink(path):
            real = os.path.realpath(path, strict=True)
        else:  # resolving the directories of each file again would take longer than opening it
            real = os.path.join(self._real_directory(directory), name)
        if real in self._roots:
            return real
        for root in self._roots:
            inside = root.rstrip("/") + "/"
            if real.startswith(inside):
                directories = real[len(inside) :].split("/")[:-1]
                if _OF_GIT.isdisjoint(directories):
                    return real
        return None


def _is_own(real: str, argument: str, found: FoundFile | Unreadable) -> bool:
    """Tell whether a name leads to a file without links, except for those that the user's argument follows."""
    if isinstance(found, Unreadable):
        return False
    top = (os.path.dirname(found.path) or ".") if found.is_named else top_of(argument)
    return os.path.normpath(f"{os.path.realpath(top)}/{os.path.relpath(found.path, top)}") == real


def _checked(found: FoundFile, trees: Trees) -> tuple[str, FoundFile | Unreadable]:
    """Return a file with its real path, or the reason why it is not read."""
    path = found.path
    try:
        real = os.path.realpath(path) if found.is_named else trees.real(path)
    except OSError as error:
        return path, unreadable(path, error)
    return (real, found) if real else (path, Unreadable(spelled(path), 0, 0, _OUTSIDE, _OUTSIDE_HINT))


def _expand(path: str, selection: Selection | None) -> Iterator[FoundFile | Unreadable]:
    """Find the files of a command line argument."""
    if path == STDIN:
        yield FoundFile(path, is_named=True)
    elif not path:
        yield Unreadable("''", 0, 0, "an empty name: give a path")
    elif os.path.isdir(path):
        suffixes = selection.suffixes if selection else SUFFIXES
        complaint = f"no manifest in this directory: none ends in {', '.join(suffixes)}"
        yield from _expect_some(_walk(path, selection), path, complaint, selection)
    elif os.path.lexists(path):
        yield FoundFile(path, is_named=True)
    elif _has_magic(path):
        yield from _expect_some(_glob(path, selection), path, "no manifest matches", selection)
    else:
        yield Unreadable(spelled(path), 0, 0, "no such file or directory")


def _expect_some(
    found: Iterator[str | Unreadable], path: str, complaint: str, selection: Selection | None
) -> Iterator[FoundFile | Unreadable]:
    """Report an error if nothing is found: a misspelt directory must not pass for a valid one."""
    nothing, left_out = True, selection.left_out.total() if selection else 0
    for file in found:
        nothing = False
        yield file if isinstance(file, Unreadable) else FoundFile(bare(file), is_named=False)
    is_wanted = selection is None or selection.some_files or not selection.allow_empty
    if nothing and is_wanted and not (selection and selection.left_out.total() > left_out):
        hint = EMPTY_ALLOWED if selection and not selection.allow_empty else ""
        yield Unreadable(spelled(path), 0, 0, complaint, hint)


def _walk(directory: str, selection: Selection | None = None) -> Iterator[str | Unreadable]:
    """Find the manifests in and below a directory; links to directories are not followed."""
    found = _below(directory, selection)
    return selection.without_patches(directory, found) if selection else found


def _below(directory: str, selection: Selection | None) -> Iterator[str | Unreadable]:
    pending = [(directory, True)]
    ignored = None
    suffixes = selection.suffixes if selection else SUFFIXES
    if selection and selection.git and repository(os.path.realpath(directory)):
        from webhook.documents.git import Ignored  # most manifests are named

        ignored = Ignored(directory)
    while pending:
        path, is_directory = pending.pop()
        if not is_directory:
            yield path
            continue
        try:
            with os.scandir(path) as entries:
                every = list(entries)
            inside = [
                (entry.path, entry.is_dir(follow_symlinks=False)) for entry in every if _is_wanted(entry, suffixes)
            ]
        except OSError as error:
            yield unreadable(path, error)
            continue
        if selection:
            inside = selection.entries(path, {entry.name for entry in every}, inside, ignored)
        pending.extend(sorted(inside, reverse=True))


def _is_wanted(entry: os.DirEntry[str], suffixes: tuple[str, ...]) -> bool:
    """Tell whether to search a directory, or to read a file.

    Directories whose names begin with ``..`` belong to mounted ConfigMaps and Secrets; links beside them lead there.
    """
    if entry.is_dir(follow_symlinks=False):
        return entry.name not in _OF_GIT and not entry.name.startswith("..")
    return entry.name.endswith(suffixes) and (entry.is_symlink() or entry.is_file())


def _has_magic(path: str) -> bool:
    """Tell whether a path is a glob, as ``glob.has_magic`` does, which takes long to import."""
    return not frozenset("*?[").isdisjoint(path)


def _glob(pattern: str, selection: Selection | None) -> Iterator[str | Unreadable]:
    """Find the files that a pattern matches; one that ends in ``*`` names no suffix, so it finds only manifests."""
    top = top_of(pattern)
    steps = [step for step in pattern[len(top) if pattern.startswith(top) else 0 :].split("/") if step]
    shown = "" if top == "." and not pattern.startswith("./") else top
    trees, suffixes = Trees([pattern]), selection.suffixes if selection else SUFFIXES
    for path in sorted(set(_matching(shown, steps))):
        if not os.path.isdir(path):
            if path.endswith(suffixes) or not pattern.endswith("*"):
                yield path
        elif trees.real(path):
            yield from _walk(path, selection)


def _matching(directory: str, steps: Sequence[str]) -> Iterator[str]:
    """Match the steps of a pattern below a directory; ``**`` follows no links, which may be circular.

    ``glob.glob`` takes exponential time in the number of such links.
    """
    if not steps:
        yield directory or "."
        return
    step, rest = steps[0], steps[1:]
    if not _has_magic(step):
        path = os.path.join(directory, step)
        if os.path.lexists(path):
            yield from _matching(path, rest)
        return
    if step == "**":
        yield from _matching(directory, rest)
    try:
        with os.scandir(directory or ".") as entries:
            inside = [
                entry.name
                for entry in entries
                if (entry.is_dir(follow_symlinks=False) if step == "**" else not rest or entry.is_dir())
                and fnmatchcase(entry.name, step)
                and (step.startswith(".") or not entry.name.startswith("."))
            ]
    except OSError:  # as glob.glob does
        return
    for name in inside:
        path = os.path.join(directory, name)
        yield from _matching(path, steps if step == "**" else rest)


def bare(path: str) -> str:
    """Leave out the ``./`` of a path that draguard has made; users' own paths stay as they are."""
    return path.removeprefix("./")


def top_of(path: str) -> str:
    """Return the directory, the file, or the directory above all matches of a glob."""
    if os.path.lexists(path) or not _has_magic(path):
        return path
    steps = path.split("/")
    first = next(index for index, step in enumerate(steps) if _has_magic(step))
    return "/".join(steps[:first]) or ("/" if path.startswith("/") else ".")


def unreadable(path: str, error: OSError) -> Unreadable:
    """Report a file that cannot be read."""
    return Unreadable(spelled(path), 0, 0, (error.strerror or str(error)).lower())


def spelled(path: str) -> str:
    """Spell a path so that it can be printed; file names need not be UTF-8."""
    return STDIN_NAME if path == STDIN else os.fsencode(path).decode(errors="replace")


def repository(directory: str) -> str | None:
    """Return the top of the repository that a directory, given as its real path, is in; None if it is in none."""
    while not os.path.lexists(f"{directory}/.git"):
        if directory == (parent := os.path.dirname(directory)):
            return None
        directory = parent
    return directory
