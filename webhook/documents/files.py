"""Files, directories, globs and standard input, as ``kubectl -f -R`` takes them and a little more."""

from __future__ import annotations

import glob
import os
import sys
from typing import TYPE_CHECKING, BinaryIO, Final

from webhook.documents.limits import MAX_BYTES
from webhook.documents.source import Unreadable
from webhook.documents.stream import Document, parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SUFFIXES: Final = (".json", ".yaml", ".yml")
"""What marks a manifest in a directory (cli-runtime ``FileExtensions``)."""

_STDIN: Final = "-"


def read(paths: Iterable[str], stdin: BinaryIO | None = None) -> Iterator[Document | Unreadable]:
    """Read every document of the manifests that are named.

    Args:
        paths: Files, read whatever their suffix; directories, read with all below them in order of name, except hidden
            directories and files that are not ``.yaml``, ``.yml`` or ``.json``; globs, with ``**`` for any number of
            directories; ``-`` for standard input. What is named twice is read once.
        stdin: What ``-`` stands for; the process's standard input if not given.

    Yields:
        The documents, and in the place of what cannot be read, why.
    """
    for found in find(paths):
        if isinstance(found, Unreadable):
            yield found
        else:
            yield from _read(found, stdin)


def find(paths: Iterable[str]) -> Iterator[str | Unreadable]:
    """Find the files that :func:`read` reads.

    Args:
        paths: As for :func:`read`.

    Yields:
        Their names, and in the place of what cannot be found, why.
    """
    seen: set[str] = set()
    for path in paths:
        for found in _expand(path):
            if isinstance(found, Unreadable):
                yield found
            elif (real := found if found == _STDIN else os.path.realpath(found)) not in seen:
                seen.add(real)
                yield found


def _read(path: str, stdin: BinaryIO | None) -> Iterator[Document | Unreadable]:
    try:
        if path == _STDIN:
            data = (stdin or sys.stdin.buffer).read(MAX_BYTES + 1)
        else:
            with open(path, "rb") as file:  # noqa: PTH123 - pathlib adds nothing here but time
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        yield _unreadable(path, error)
        return
    yield from parse(data, _shown(path))


def _expand(path: str) -> Iterator[str | Unreadable]:
    """Find the files that an argument stands for."""
    if path == _STDIN:
        yield path
    elif os.path.isdir(path):  # noqa: PTH112 - the name is shown as given
        yield from _or_else(_walk(path), path, f"no manifest in this directory: none ends in {', '.join(SUFFIXES)}")
    elif os.path.lexists(path):
        yield path
    elif glob.has_magic(path):
        yield from _or_else(_glob(path), path, "no manifest matches")
    else:
        yield Unreadable(_shown(path), 0, 0, "no such file or directory")


def _or_else(found: Iterator[str | Unreadable], path: str, complaint: str) -> Iterator[str | Unreadable]:
    """Complain if nothing is found: a misspelt directory must not pass for a valid one."""
    nothing = True
    for file in found:
        nothing = False
        yield file
    if nothing:
        yield Unreadable(_shown(path), 0, 0, complaint)


def _walk(directory: str) -> Iterator[str | Unreadable]:
    """Find the manifests in and below a directory; it follows no links to directories."""
    pending = [(directory, True)]
    while pending:
        path, is_directory = pending.pop()
        if not is_directory:
            yield path
            continue
        try:
            with os.scandir(path) as entries:
                inside = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries if _is_wanted(entry)]
        except OSError as error:
            yield _unreadable(path, error)
        else:
            pending.extend(sorted(inside, reverse=True))


def _is_wanted(entry: os.DirEntry[str]) -> bool:
    if entry.is_dir(follow_symlinks=False):
        return not entry.name.startswith(".")
    return entry.name.endswith(SUFFIXES) and (entry.is_symlink() or entry.is_file())


def _glob(pattern: str) -> Iterator[str | Unreadable]:
    """Find what a pattern matches; one that ends in ``*`` names no suffix, so it finds manifests only."""
    for path in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207 - the name is shown as given
        if os.path.isdir(path):  # noqa: PTH112 - the name is shown as given
            yield from _walk(path)
        elif path.endswith(SUFFIXES) or not pattern.endswith("*"):
            yield path


def _unreadable(path: str, error: OSError) -> Unreadable:
    return Unreadable(_shown(path), 0, 0, (error.strerror or str(error)).lower())


def _shown(path: str) -> str:
    """Spell a path so that it can be printed; file names need not be UTF-8."""
    return "<stdin>" if path == _STDIN else os.fsencode(path).decode(errors="replace")
