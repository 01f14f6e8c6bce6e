"""Reads manifests from files and standard input, as ``kubectl -f -R`` does."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, Final

from webhook.documents.document import Document, Piece
from webhook.documents.search import (
    EMPTY,
    EMPTY_ALLOWED,
    KUSTOMIZATIONS,
    NO_OBJECT,
    FoundFile,
    Selection,
    find_files,
    mentions_objects,
    spelled,
    unreadable,
)
from webhook.documents.source import MARKDOWN, MAX_BYTES, STDIN, STDIN_NAME, Unreadable
from webhook.documents.stream import parse, too_large
from webhook.objects import is_object

if TYPE_CHECKING:
    from webhook.documents.stored import ObjectFilter

_TABLE: Final = re.compile(r"\A\s*(?:NAMESPACE +)?NAME(?: +[A-Z][A-Z-]*)+ *$", re.MULTILINE)
_FIRST: Final = 1000
"""The characters that are looked at."""


_SYSTEM: Final = ("/dev/", "/proc/", "/sys/")
_START: Final = 4096
"""Bytes of standard input that tell which program wrote it."""
_NONE: Final = "no manifest: no document in it has an apiVersion or a kind"
_FAILED: Final = "did the command that writes it fail?"
_EMPTY_HINT: Final = f"{_FAILED} {EMPTY_ALLOWED}; to read files, name them"
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
    else:
        yield from _counted(found, selection) if selection else _read(found)


def _counted(found: FoundFile, selection: Selection) -> Iterator[Piece]:
    """Read a file; one without a manifest is counted, or refused if named: it was probably not written."""
    empty, has_manifest, left_out = True, False, selection.left_out.total()
    for document in _read(found, selection):
        empty = False
        has_manifest = has_manifest or (
            isinstance(document, Unreadable) or _is_manifest(document.data, found.path) or selection.also(document.data)
        )
        yield document
    if not has_manifest and selection.left_out.total() == left_out:
        if found.is_named and not selection.allow_empty:
            yield _without_manifest(spelled(found.path), "" if empty else _text_of(found), EMPTY_ALLOWED)
        elif empty and found.is_named and selection.stored and not _text_of(found).strip():  # else it is an empty List
            yield _without_manifest(spelled(found.path), "", _FAILED)
        elif empty:
            selection.leave_out(EMPTY, found.path)


def _is_manifest(data: object, file: str = "") -> bool:
    """Tell whether the data of a document look like a manifest, or are the kustomization that the file's name says."""
    is_object = isinstance(data, dict) and ("kind" in data or "apiVersion" in data)
    return is_object or file.rpartition("/")[2] in KUSTOMIZATIONS


def _without_manifest(source: str, text: str, hint: str) -> Unreadable:
    """Report a file, or standard input, that holds no manifest; if kubectl has written it, suggest how to get them.

    Args:
        source: Its name, as shown.
        text: Its text; empty if it has no document.
        hint: Further help.
    """
    from webhook.documents.yamlhints import as_described  # needed only for mistakes

    what = "standard input" if source == STDIN_NAME else "the file"
    first = text[:_FIRST].replace("\r\n", "\n")
    if text.lstrip().startswith(("[", "- ")):
        hint = "a list is not a manifest: write its items as documents, or as the items of a List"
    elif _TABLE.match(first):
        hint = "this looks like kubectl's table: add -o yaml"
    elif described := as_described(first):
        hint = described
    elif text and source != STDIN_NAME:
        hint = f"no document in it has an apiVersion or a kind; {hint}".strip("; ")
    return Unreadable(source, 1, 1, f"{what} holds no manifest", hint)


def _text_of(found: FoundFile) -> str:
    """Return the text of a file that was read before."""
    try:
        with _opened(found) as file:
            return _content(file).decode(errors="replace")
    except OSError:
        return ""


def _read_stdin(stdin: BinaryIO, selection: Selection | None) -> Iterator[Piece]:
    """Read standard input; if it has no manifest, the program that should have written it has probably failed."""
    try:
        data = stdin.read(MAX_BYTES + 1)
    except OSError as error:
        yield unreadable(STDIN, error)
        return
    name = selection.stdin_name if selection else ""
    empty = selection is not None and not selection.allow_empty
    wanted = selection.stored if selection else None
    documents = wanted and _stored(BytesIO(data), name or STDIN_NAME, wanted)
    documents = documents or _parsed(data, name or STDIN_NAME, selection, rendered=not name)
    start = data[:_START]
    empty = empty or (wanted is not None and not start.strip())
    del data  # the decoded text is enough
    for document in documents:
        # An error message that ends up in a pipe is often YAML, too: `Error: connection refused`.
        if empty and selection and isinstance(document, Document):
            empty = not (name or _is_manifest(document.data) or selection.also(document.data))
        else:
            empty = False
        yield document
    if empty:
        yield _without_manifest(name or STDIN_NAME, start.decode(errors="replace"), _FAILED if wanted else _EMPTY_HINT)


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


def only_manifests(documents: Iterable[Piece], paths: Iterable[str], selection: Selection) -> list[Piece]:
    """Leave out files of directories that hold no object, such as a chart's values, and count them.

    Args:
        documents: The content of all files.
    """
    every = list(documents)
    kept = {STDIN_NAME if path == STDIN else path for path in paths}
    kept.update(each.source for each in every if isinstance(each, Unreadable) or is_object(each.data))
    for other in sorted({each.source for each in every} - kept):
        selection.leave_out(EMPTY, other)
    return [each for each in every if each.source in kept]


def with_manifests(documents: Iterable[Piece], paths: Iterable[str]) -> Iterator[Piece]:
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
        if isinstance(document, Unreadable) or _is_manifest(document.data, source) or document.within:
            left.pop(source, None)
            is_found = True
        else:
            others.setdefault(source, document.file.text if source in left else "")
        yield document
    yield from (_without_manifest(source, text, "") for source, text in others.items() if source in left)
    if not is_found and not others.keys() <= left.keys():
        yield from (Unreadable(path, 0, 0, _NONE) for path in left if path not in others)
