"""Reads manifests from files and standard input, as ``kubectl -f -R`` does."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, Final

from webhook.documents.document import Document, Piece
from webhook.documents.search import (
    EMPTY,
    EMPTY_ALLOWED,
    NO_OBJECT,
    FoundFile,
    Selection,
    find_files,
    is_kustomization,
    mentions_objects,
    unreadable,
)
from webhook.documents.source import MARKDOWN, MAX_BYTES, STDIN, STDIN_NAME, Unreadable
from webhook.documents.stream import parse, too_large
from webhook.objects import is_object

if TYPE_CHECKING:
    from webhook.documents.stored import ObjectFilter

_TABLE: Final = re.compile(r"\A\s*(?:NAMESPACE +)?NAME(?: +[A-Z][A-Z-]*)+ *$", re.MULTILINE)
_SYSTEM: Final = ("/dev/", "/proc/", "/sys/")
_START: Final = 4096
"""Bytes of an input that tell which program wrote it."""
_NONE: Final = "no manifest: no document in it has an apiVersion or a kind"
_FAILED: Final = "did the command that writes it fail?"
_MARKDOWN: Final = "Markdown files are read by `draguard validate` only"
_MARKDOWN_HINT: Final = "give files of YAML or JSON"


def read(paths: Iterable[str], stdin: BinaryIO | None = None, selection: Selection | None = None) -> Iterator[Piece]:
    """Read every document of the given manifests.

    A named file is always read, a pipe to its end. Files found in a directory or by a glob may come from strangers:
    links must lead to a file below the named directory, and only regular files are opened.

    Args:
        paths: Files with any suffix; directories, read recursively in order of name, except ``.git`` and files
            that are not ``.yaml``, ``.yml`` or ``.json``; globs, with ``**`` for any number of directories; ``-``
            for standard input. A path named twice is read once.
        stdin: The content of ``-``; by default the process's standard input.
        selection: The files of directories to leave out; none by default.

    Yields:
        The documents, and an error in the place of each unreadable one.
    """
    for found in find_files(paths, selection):
        yield from read_found(found, stdin, selection)


def read_found(
    found: FoundFile | Unreadable, stdin: BinaryIO | None = None, selection: Selection | None = None
) -> Iterator[Piece]:
    """Read the files that :func:`find_files` has found; the other arguments are those of :func:`read`."""
    if isinstance(found, Unreadable):
        yield found
    elif found.path == STDIN:
        yield from _read_stdin(stdin or sys.stdin.buffer, selection)
    elif selection:
        start = partial(_start_of, found)
        yield from _checked(_read(found, selection), found.shown, selection, start, is_named=found.is_named)
    else:
        yield from _read(found)


def _checked(
    documents: Iterable[Piece], name: str, selection: Selection, start: Callable[[], str], *, is_named: bool = True
) -> Iterator[Piece]:
    """Yield the documents of an input; one without a manifest is counted, or refused if the user has named it.

    Args:
        name: Its name, as shown.
        start: Returns the beginning of its text.
    """
    is_empty, has_manifest, left_out = True, False, selection.left_out.total()
    if selection.only_objects and not is_named:
        documents = [*documents]
        if documents and not any(isinstance(each, Unreadable) or is_object(each.data) for each in documents):
            selection.leave_out(EMPTY, name)
            return
    for document in documents:
        is_empty = False
        is_read = isinstance(document, Unreadable) or _is_manifest(document) or selection.also(document.data)
        has_manifest = has_manifest or is_read or name == selection.stdin_name
        yield document
    if has_manifest or selection.left_out.total() > left_out:
        return
    text = start() if is_named else ""
    is_unwritten = selection.stored is not None and not text.strip()  # else it is a List without items
    if is_named and (not selection.allow_empty or is_unwritten or (selection.some_files and not is_empty)):
        yield _without_manifest(name, "" if is_empty else text, selection)
    elif is_empty and name != STDIN_NAME:
        selection.leave_out(EMPTY, name)


def _is_manifest(document: Document) -> bool:
    """Tell whether a document looks like a manifest, or is the kustomization that its file's name says."""
    is_object = isinstance(document.data, dict) and not document.data.keys().isdisjoint(("kind", "apiVersion"))
    return is_object or is_kustomization(document.source)


def _without_manifest(source: str, text: str, selection: Selection) -> Unreadable:
    """Report a file, or standard input, that holds no manifest; if kubectl has written it, suggest how to get them.

    Args:
        source: Its name, as shown.
        text: The beginning of its text; empty if it has no document.
    """
    from webhook.documents.yamlhints import as_described  # needed only for mistakes

    is_stdin = source == STDIN_NAME
    allowed = "" if selection.allow_empty else EMPTY_ALLOWED
    first = text.replace("\r\n", "\n")
    if text.lstrip().startswith(("[", "- ")):
        hint = "a list is not a manifest: write its items as documents, or as the items of a List"
    elif _TABLE.match(first):
        hint = "this looks like kubectl's table: add -o yaml"
    elif described := as_described(first):
        hint = described
    elif is_stdin:
        hint = f"{_FAILED} {allowed}; to read files, name them" if allowed else _FAILED
    elif text:
        hint = f"no document in it has an apiVersion or a kind; {allowed}".strip("; ")
    else:
        hint = allowed or _FAILED
    return Unreadable(source, 1, 1, f"{'standard input' if is_stdin else 'the file'} holds no manifest", hint)


def _start_of(found: FoundFile) -> str:
    """Return the beginning of a file that was read before; empty for a pipe."""
    try:
        if not os.path.isfile(found.path):
            return ""
        with _opened(found) as file:
            return file.read(_START).decode(errors="replace")
    except OSError:
        return ""


def _read_stdin(stdin: BinaryIO, selection: Selection | None) -> Iterator[Piece]:
    """Read standard input."""
    try:
        data = stdin.read(MAX_BYTES + 1)
    except OSError as error:
        yield unreadable(STDIN, error)
        return
    name = (selection and selection.stdin_name) or STDIN_NAME
    wanted = selection.stored if selection else None
    documents = wanted and _stored(BytesIO(data), name, wanted)
    documents = documents or _parsed(data, name, selection, rendered=name == STDIN_NAME)
    start = data[:_START].decode(errors="replace")
    del data  # the decoded text is enough
    # An error message that ends up in a pipe is often YAML, too: `Error: connection refused`.
    yield from _checked(documents, name, selection, lambda: start) if selection else documents


def _read(found: FoundFile, selection: Selection | None = None) -> Iterator[Piece]:
    wanted = selection.stored if selection else None
    left = None if found.is_named else selection
    try:
        with _opened(found) as file:
            if wanted and os.path.isfile(found.path):  # a pipe is read once
                if documents := _stored(file, found.shown, wanted):
                    yield from documents
                    return
                file.seek(0)
            data = _content(file)
    except OSError as error:
        yield unreadable(found.path, error)
        return
    if len(data) > MAX_BYTES:
        if left and not mentions_objects(data):
            left.leave_out(NO_OBJECT, found.path)
        else:
            yield too_large(found.shown)
        return
    if found.path.endswith(MARKDOWN):
        if not (selection and selection.blocks):
            yield Unreadable(found.shown, 1, 1, _MARKDOWN, _MARKDOWN_HINT)
            return
        from webhook.documents.markdown import blocks_of  # most files are YAML

        data = blocks_of(data)
    documents = _parsed(data, found.shown, selection)
    if left:
        documents = left.readable(documents, has_objects=mentions_objects(data))
    del data  # the decoded text is enough
    yield from documents


def _parsed(data: bytes, name: str, selection: Selection | None, *, rendered: bool = False) -> Iterator[Piece]:
    documents = parse(data, name, rendered=rendered, skips=selection.skips if selection else None)
    return selection.stored.as_read(documents) if selection and selection.stored else documents


def _stored(file: BinaryIO, name: str, wanted: ObjectFilter) -> Iterator[Piece] | None:
    from webhook.documents.stored import stored  # only clusters have such lists

    return stored(file, name, wanted)


def _opened(found: FoundFile) -> BinaryIO:
    return open(found.path, "rb", opener=open_named if found.is_named else _open_regular)


def _content(file: BinaryIO) -> bytes:
    """Return a file's content, up to a little more than the size limit."""
    size = min(os.fstat(file.fileno()).st_size, MAX_BYTES)
    data = file.read(size + 1)  # requesting the maximum size allocates that much memory
    is_longer = len(data) > size  # a pipe, a file that grows, or one that is too large
    return data + file.read(MAX_BYTES - size) if is_longer else data


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
    return _open_regular(path, flags)


def _open_regular(path: str, flags: int) -> int:
    from webhook.regular import open_regular  # a file that the user has named may be of any kind

    return open_regular(path, flags)


def with_manifests(documents: Iterable[Piece], paths: Iterable[str]) -> Iterator[Piece]:
    """Yield documents, and if none of them is a manifest, an error for each directory and glob.

    Args:
        documents: The content of all files.
        paths: The paths that the user has named.
    """
    is_found, is_empty = False, True
    for document in documents:
        is_found = is_found or isinstance(document, Unreadable) or _is_manifest(document)
        is_empty = False
        yield document
    if not (is_found or is_empty):
        yield from (Unreadable(path, 0, 0, _NONE) for path in paths if path != STDIN and not os.path.isfile(path))
