"""Finds files: in directories, by globs; no link may lead out of what the user has named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from typing import Final

from webhook.documents.selection import BROKEN_LINK, SUFFIXES, Selection
from webhook.documents.source import STDIN, STDIN_NAME, Unreadable
from webhook.records import NamedTuple

_MAGIC: Final = frozenset("*?[")
EMPTY_ALLOWED: Final = "--allow-empty accepts that"
_OUTSIDE: Final = "a symbolic link that leads out of the directories that are read"
_OUTSIDE_HINT: Final = "name the file that it leads to, or the directory which that is in"
_OF_GIT: Final = frozenset({".git", ".hg", ".jj", ".svn"})
"""Directories with the history of a repository, which are never searched."""
_DIRECTORIES = 64
"""How many resolved directories are cached: files come directory by directory."""


def find(paths: Iterable[str]) -> Iterator[str | Unreadable]:
    """Find the files that :func:`webhook.documents.files.read` reads.

    Args:
        paths: As for :func:`webhook.documents.files.read`.

    Yields:
        Their names, and an error in the place of each missing one.
    """
    for found in find_files(paths):
        yield found if isinstance(found, Unreadable) else found.path


def find_files(paths: Iterable[str], selection: Selection | None = None) -> Iterator[FoundFile | Unreadable]:
    """Find the files that :func:`webhook.documents.files.read` reads; the arguments are the same.

    A file that is found under several names is read once: under its own name if that is among them, as exclusions,
    ignores and baselines go by names, and a stranger's link must not choose another one.
    """
    named = list(paths)
    trees = Trees(named)
    kept: dict[str, tuple[str, FoundFile | Unreadable]] = {}
    for path in named:
        for found in _expand(path, selection):
            real, result = found.source if isinstance(found, Unreadable) else found.path, found
            if isinstance(found, FoundFile) and real != STDIN:
                if selection and selection.excludes(found.path):
                    continue
                real, result = _checked(found, trees)
                if selection and isinstance(result, Unreadable) and _is_broken(found):
                    selection.leave_out(BROKEN_LINK, found.path)
                    continue
            _keep(kept, real, path, result)
    for _, result in kept.values():
        yield result


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


def _keep(
    kept: dict[str, tuple[str, FoundFile | Unreadable]], real: str, named: str, found: FoundFile | Unreadable
) -> None:
    """Add a file, by its real path, with the argument by which it was found; of two names the better one stays."""
    if real not in kept:
        kept[real] = named, found
        return
    argument, earlier = kept[real]
    if isinstance(found, Unreadable) or isinstance(earlier, Unreadable):
        return
    is_named = found.is_named or earlier.is_named
    if _is_own(found, named, real) and not _is_own(earlier, argument, real):
        del kept[real]  # it comes in the order of its own name
        kept[real] = named, found._replace(is_named=is_named)
    else:
        kept[real] = argument, earlier._replace(is_named=is_named)


def _is_own(found: FoundFile, argument: str, real: str) -> bool:
    """Tell whether a name leads to a file without links, except for those that the user's argument follows."""
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


def _is_broken(found: FoundFile) -> bool:
    """Tell whether a link in a directory is broken."""
    return not found.is_named and os.path.islink(found.path) and not os.path.exists(found.path)


def _expand(path: str, selection: Selection | None) -> Iterator[FoundFile | Unreadable]:
    """Find the files of a command line argument."""
    if path == STDIN:
        yield FoundFile(path, is_named=True)
    elif not path:
        yield Unreadable("''", 0, 0, "an empty name: give a path")
    elif os.path.isdir(path):
        complaint = f"no manifest in this directory: none ends in {', '.join(SUFFIXES)}"
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
    if nothing and (selection is None or (selection.left_out.total() == left_out and selection.some_files)):
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
    if selection and selection.git:
        from webhook.documents.ignored import Ignored  # most manifests are named

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
    return not _MAGIC.isdisjoint(path)


def _glob(pattern: str, selection: Selection | None) -> Iterator[str | Unreadable]:
    """Find the files that a pattern matches; one that ends in ``*`` names no suffix, so it finds only manifests."""
    top = top_of(pattern)
    steps = [step for step in pattern[len(top) if pattern.startswith(top) else 0 :].split("/") if step]
    shown = "" if top == "." and not pattern.startswith("./") else top
    trees = Trees([pattern])
    for path in sorted(set(_matching(shown, steps))):
        if not os.path.isdir(path):
            if path.endswith(SUFFIXES) or not pattern.endswith("*"):
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
