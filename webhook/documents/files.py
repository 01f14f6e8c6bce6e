"""Finds manifests in files, directories, globs and standard input, as ``kubectl -f -R`` does."""

from __future__ import annotations

import os
import stat
import sys
from functools import lru_cache, partial
from typing import TYPE_CHECKING, BinaryIO, Final

from webhook.documents.ignored import Ignored
from webhook.documents.limits import MAX_BYTES
from webhook.documents.selection import (
    BROKEN_LINK,
    EMPTY,
    KUSTOMIZATIONS,
    NO_OBJECT,
    SUFFIXES,
    Selection,
    mentions_objects,
)
from webhook.documents.source import STDIN, STDIN_NAME, Unreadable
from webhook.documents.stream import Document, parse, too_large
from webhook.later import Module
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_fnmatch: Final = Module("fnmatch")
_SYSTEM: Final = ("/dev/", "/proc/", "/sys/")
_MAGIC: Final = frozenset("*?[")
_START: Final = 4096
"""Bytes of standard input that tell which program wrote it."""
_ALLOWED: Final = "--allow-empty accepts that"
_EMPTY_HINT: Final = f"did the command that writes it fail? {_ALLOWED}; to read files, name them"
_OUTSIDE: Final = "a symbolic link that leads out of the directories that are read"
_OUTSIDE_HINT: Final = "name the file that it leads to, or the directory which that is in"


def read(
    paths: Iterable[str], stdin: BinaryIO | None = None, selection: Selection | None = None
) -> Iterator[Document | Unreadable]:
    """Read every document of the given manifests.

    A named file is always read, a pipe to its end. Files found in a directory or by a glob may come from strangers:
    links must lead to a file below the named directory, and only regular files are opened.

    Args:
        paths: Files with any suffix; directories, read recursively in order of name, except hidden directories and
            files that are not ``.yaml``, ``.yml`` or ``.json``; globs, with ``**`` for any number of directories; ``-``
            for standard input. A path named twice is read once.
        stdin: The content of ``-``; by default the process's standard input.
        selection: The files of directories to leave out; none by default.

    Yields:
        The documents, and an error in the place of each unreadable one.
    """
    for found in find_files(paths, selection):
        yield from read_found(found, stdin, selection)


def read_found(
    found: Found | Unreadable, stdin: BinaryIO | None = None, selection: Selection | None = None
) -> Iterator[Document | Unreadable]:
    """Read the files that :func:`find_files` has found; the other arguments are those of :func:`read`."""
    if isinstance(found, Unreadable):
        yield found
    elif found.path == STDIN:
        yield from _read_stdin(stdin or sys.stdin.buffer, selection)
    else:
        yield from _counted(found, selection) if selection else _read(found, None)


def find(paths: Iterable[str]) -> Iterator[str | Unreadable]:
    """Find the files that :func:`read` reads.

    Args:
        paths: As for :func:`read`.

    Yields:
        Their names, and an error in the place of each missing one.
    """
    for found in find_files(paths):
        yield found if isinstance(found, Unreadable) else found.path


_DIRECTORIES = 64
"""How many resolved directories are cached: files come directory by directory."""


class Trees:
    """The directories to search for manifests; no link may lead out of them.

    Args:
        paths: As for :func:`read`.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._roots = {os.path.realpath(top_of(path)) for path in paths if path != STDIN}
        self._real_directory = lru_cache(maxsize=_DIRECTORIES)(partial(os.path.realpath, strict=True))

    def real(self, path: str) -> str | None:
        """Resolve the links of a name; None if it leads outside, or is hidden in a tree.

        Directories whose names begin with ``..`` belong to mounted ConfigMaps and Secrets, and are not hidden.

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
                if not any(name.startswith(".") and not name.startswith("..") for name in directories):
                    return real
        return None


class Found(NamedTuple):
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
        return _shown(self.path)


def find_files(paths: Iterable[str], selection: Selection | None = None) -> Iterator[Found | Unreadable]:
    """Find the files that :func:`read` reads; the arguments are the same.

    A file that is found under several names is read once: under its own name if that is among them, as exclusions,
    ignores and baselines go by names, and a stranger's link must not choose another one.
    """
    named = list(paths)
    trees = Trees(named)
    kept: dict[str, tuple[str, Found | Unreadable]] = {}
    for path in named:
        for found in _expand(path, selection):
            real, result = found.source if isinstance(found, Unreadable) else found.path, found
            if isinstance(found, Found) and real != STDIN:
                if selection and selection.excludes(found.path):
                    continue
                real, result = _checked(found, trees)
                if selection and isinstance(result, Unreadable) and _is_broken(found):
                    selection.left_out[BROKEN_LINK] += 1
                    continue
            _keep(kept, real, path, result)
    for _, result in kept.values():
        yield result


def _keep(kept: dict[str, tuple[str, Found | Unreadable]], real: str, named: str, found: Found | Unreadable) -> None:
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


def _is_own(found: Found, argument: str, real: str) -> bool:
    """Tell whether a name leads to a file without links, except for those that the user's argument follows."""
    top = (os.path.dirname(found.path) or ".") if found.is_named else top_of(argument)
    return os.path.normpath(f"{os.path.realpath(top)}/{os.path.relpath(found.path, top)}") == real


def _checked(found: Found, trees: Trees) -> tuple[str, Found | Unreadable]:
    """Return a file with its real path, or the reason why it is not read."""
    path = found.path
    try:
        real = os.path.realpath(path) if found.is_named else trees.real(path)
    except OSError as error:
        return path, _unreadable(path, error)
    return (real, found) if real else (path, Unreadable(_shown(path), 0, 0, _OUTSIDE, _OUTSIDE_HINT))


def _is_broken(found: Found) -> bool:
    """Tell whether a link in a directory is broken."""
    return not found.is_named and os.path.islink(found.path) and not os.path.exists(found.path)


def _counted(found: Found, selection: Selection) -> Iterator[Document | Unreadable]:
    """Read a file; one without a manifest is counted, or refused if named: it was probably not written."""
    empty, has_manifest, left_out = True, False, selection.left_out.total()
    for document in _read(found, None if found.is_named else selection, whole=selection.whole):
        empty = False
        has_manifest = has_manifest or (
            isinstance(document, Unreadable) or is_manifest(document.data, found.path) or selection.also(document.data)
        )
        yield document
    if not has_manifest and selection.left_out.total() == left_out:
        yield from no_manifest(found, selection, empty=empty)


def is_manifest(data: object, file: str) -> bool:
    """Tell whether the data of a document look like a manifest, or are the kustomization that the file's name says."""
    return _is_object(data) or file.rpartition("/")[2] in KUSTOMIZATIONS


def no_manifest(found: Found, selection: Selection, *, empty: bool) -> Iterator[Unreadable]:
    """Report a file without a manifest if it is named, else count it unless it has other documents.

    Args:
        found: The file.
        selection: Counts it.
        empty: Whether it has no document at all.
    """
    if found.is_named and not selection.allow_empty:
        yield without_manifest(_shown(found.path), "" if empty else _text_of(found), _ALLOWED)
    elif empty:
        selection.left_out[EMPTY] += 1


def without_manifest(source: str, text: str, hint: str) -> Unreadable:
    """Report a file, or standard input, that holds no manifest.

    Args:
        source: Its name, as shown.
        text: Its text; empty if it has no document.
        hint: What else may help.
    """
    from webhook.documents.kubectloutput import hint_of_output  # needed only for mistakes

    what = "standard input" if source == STDIN_NAME else "the file"
    others = "no document in it has an apiVersion or a kind; " if text and source != STDIN_NAME else ""
    return Unreadable(source, 1, 1, f"{what} holds no manifest", hint_of_output(text) or f"{others}{hint}".strip("; "))


def _text_of(found: Found) -> str:
    """Return the text of a file that was read before."""
    try:
        return load(found).decode(errors="replace")
    except OSError:
        return ""


def _read_stdin(stdin: BinaryIO, selection: Selection | None) -> Iterator[Document | Unreadable]:
    """Read standard input; if it has no manifest, the program that should have written it has probably failed."""
    try:
        data = stdin.read(MAX_BYTES + 1)
    except OSError as error:
        yield _unreadable(STDIN, error)
        return
    name = selection.stdin_name if selection else ""
    empty = selection is not None and not selection.allow_empty
    whole = selection is None or selection.whole
    documents = parse(data, name or _shown(STDIN), rendered=not name, whole=whole)
    start = data[:_START]
    del data  # the decoded text is enough
    for document in documents:
        # An error message that ends up in a pipe is often YAML, too: `Error: connection refused`.
        if empty and selection and isinstance(document, Document):
            empty = not (name or _is_object(document.data) or selection.also(document.data))
        else:
            empty = False
        yield document
    if empty:
        yield without_manifest(name or _shown(STDIN), start.decode(errors="replace"), _EMPTY_HINT)


def _is_object(data: object) -> bool:
    return isinstance(data, dict) and ("kind" in data or "apiVersion" in data)


def _read(found: Found, selection: Selection | None, *, whole: bool = True) -> Iterator[Document | Unreadable]:
    try:
        data = load(found)
    except OSError as error:
        yield _unreadable(found.path, error)
        return
    if len(data) > MAX_BYTES:
        if selection and not mentions_objects(data):
            selection.left_out[NO_OBJECT] += 1
        else:
            yield too_large(found.shown)
        return
    documents = parse(data, found.shown, whole=whole)
    if selection:
        documents = selection.readable(data, documents)
    del data  # the decoded text is enough
    yield from documents


def load(found: Found) -> bytes:
    """Return a file's content, up to a little more than the size limit.

    Raises:
        OSError: It cannot be read.
    """
    descriptor = (open_named if found.is_named else open_regular)(found.path, os.O_RDONLY)
    try:  # a file object would take as long again, for most files are short
        size = min(os.fstat(descriptor).st_size, MAX_BYTES)
        data = _up_to(descriptor, size + 1)  # requesting the maximum size allocates that much memory
        if len(data) > size:  # a pipe, a file that grows, or one that is too large
            data += _up_to(descriptor, MAX_BYTES - size)
        return data
    finally:
        os.close(descriptor)


def _up_to(descriptor: int, most: int) -> bytes:
    """Read what is left, up to a number of bytes."""
    read: list[bytes] = []
    while most and (part := os.read(descriptor, most)):
        read.append(part)
        most -= len(part)
    return b"".join(read)


def open_named(path: str, flags: int) -> int:
    """Open a file, a pipe or ``/dev/stdin`` that the user has named; but not a link that hides one of the latter.

    Raises:
        OSError: It is such a link, or cannot be opened.
    """
    if not os.path.islink(path) or os.path.abspath(path).startswith(_SYSTEM):
        return os.open(path, flags)
    real = os.path.realpath(path)
    if real.startswith(_SYSTEM):
        raise OSError(0, f"a symbolic link to {real}: name that itself")
    return open_regular(path, flags)


def open_regular(path: str, flags: int) -> int:
    """Open a regular file; not a pipe or device, which may never end.

    Raises:
        OSError: It is not a regular file, or cannot be opened.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(0, "is a directory" if stat.S_ISDIR(status.st_mode) else "no regular file")


def _expand(path: str, selection: Selection | None) -> Iterator[Found | Unreadable]:
    """Find the files of a command line argument."""
    if path == STDIN:
        yield Found(path, is_named=True)
    elif os.path.isdir(path):
        complaint = f"no manifest in this directory: none ends in {', '.join(SUFFIXES)}"
        yield from _expect_some(_walk(path, selection), path, complaint, selection)
    elif os.path.lexists(path):
        yield Found(path, is_named=True)
    elif _has_magic(path):
        yield from _expect_some(_glob(path, selection), path, "no manifest matches", selection)
    else:
        yield Unreadable(_shown(path), 0, 0, "no such file or directory")


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


def _expect_some(
    found: Iterator[str | Unreadable], path: str, complaint: str, selection: Selection | None
) -> Iterator[Found | Unreadable]:
    """Report an error if nothing is found: a misspelt directory must not pass for a valid one."""
    nothing, left_out = True, selection.left_out.total() if selection else 0
    for file in found:
        nothing = False
        yield file if isinstance(file, Unreadable) else Found(bare(file), is_named=False)
    if nothing and (selection is None or (selection.left_out.total() == left_out and selection.some_files)):
        yield Unreadable(_shown(path), 0, 0, complaint)


def _walk(directory: str, selection: Selection | None = None) -> Iterator[str | Unreadable]:
    """Find the manifests in and below a directory; links to directories are not followed."""
    found = _below(directory, selection)
    return selection.without_patches(directory, found) if selection else found


def _below(directory: str, selection: Selection | None) -> Iterator[str | Unreadable]:
    pending = [(directory, True)]
    ignored = Ignored(directory) if selection and selection.git else None
    while pending:
        path, is_directory = pending.pop()
        if not is_directory:
            yield path
            continue
        try:
            with os.scandir(path) as entries:
                every = list(entries)
            inside = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in every if _is_wanted(entry)]
        except OSError as error:
            yield _unreadable(path, error)
            continue
        if selection:
            inside = selection.entries(path, {entry.name for entry in every}, inside, ignored)
        pending.extend(sorted(inside, reverse=True))


def _is_wanted(entry: os.DirEntry[str]) -> bool:
    if entry.is_dir(follow_symlinks=False):
        return not entry.name.startswith(".")
    return entry.name.endswith(SUFFIXES) and (entry.is_symlink() or entry.is_file())


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
                and _fnmatch.fnmatchcase(entry.name, step)
                and (step.startswith(".") or not entry.name.startswith("."))
            ]
    except OSError:  # as glob.glob does
        return
    for name in inside:
        path = os.path.join(directory, name)
        yield from _matching(path, steps if step == "**" else rest)


def _unreadable(path: str, error: OSError) -> Unreadable:
    return Unreadable(_shown(path), 0, 0, (error.strerror or str(error)).lower())


def _shown(path: str) -> str:
    """Spell a path so that it can be printed; file names need not be UTF-8."""
    return STDIN_NAME if path == STDIN else os.fsencode(path).decode(errors="replace")
