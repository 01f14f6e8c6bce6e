"""Divides files into shares for several processes: some files each, or a part of a large one.

A worker process reads a share and packs its documents; the main process unpacks them. Texts are not passed on: they are
read again where a position is needed, which is rare.
"""

from __future__ import annotations

import os

from webhook.documents.content import decoded
from webhook.documents.document import Document, Origin
from webhook.documents.files import load, read_found
from webhook.documents.limits import MAX_BYTES
from webhook.documents.parts import parse_part
from webhook.documents.search import FoundFile, find_files
from webhook.documents.source import Source, Unreadable
from webhook.documents.stream import is_row
from webhook.later import cached_property
from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Final

    from webhook.documents.selection import Selection

_LARGEST: Final = 64 * 1024
_SMALLEST: Final = 4 * 1024
"""Bytes of a share: smaller shares keep all processes busy to the end, but each has a cost."""
_PER_PROCESS: Final = 8
_PER_FILE: Final = 300
"""Opening a file takes as long as reading this many bytes."""


class Share(NamedTuple):
    """The unit of work of a process.

    Args:
        files: The files, and an error in the place of each missing one.
        number: For a part of a file: its number.
        of: The number of parts of that file.
    """

    files: tuple[FoundFile | Unreadable, ...]
    number: int = 0
    of: int = 1

    @property
    def name(self) -> str:
        """Its name."""
        first = self.files[0]
        name = first.source if isinstance(first, Unreadable) else first.shown
        return name if len(self.files) == 1 else f"{name} and others"


Sized = tuple[FoundFile | Unreadable, int]
"""A found file, and its bytes; -1 if it can be read only once, such as a pipe."""


def sized(paths: Iterable[str], selection: Selection | None) -> list[Sized]:
    """Find the files that :func:`webhook.documents.read` reads, with their sizes."""
    return [(found, _size(found)) for found in find_files(paths, selection)]


def _size(found: FoundFile | Unreadable) -> int:
    if isinstance(found, Unreadable):
        return 0
    if found.is_named and not os.path.isfile(found.path):
        return -1
    try:
        return os.stat(found.path).st_size + _PER_FILE
    except OSError:  # reported by the process that reads it
        return 0


def shares(sizes: Sequence[Sized], processes: int) -> list[Share]:
    """Group files into shares.

    Args:
        sizes: The files and their sizes.
        processes: The number of processes.
    """
    whole = sum(size for _, size in sizes)
    most = min(_LARGEST, max(_SMALLEST, whole // (processes * _PER_PROCESS)))
    found, together, filled = list[Share](), list[FoundFile | Unreadable](), 0

    def close() -> None:
        nonlocal filled
        if together:
            found.append(Share(tuple(together)))
            together.clear()
            filled = 0

    for each, size in sizes:
        parts = -(-size // most)
        if parts > 1:
            close()
            found += [Share((each,), number, parts) for number in range(parts)]
            continue
        if filled + size > most:
            close()
        together.append(each)
        filled += size
    close()
    return found


class Reader:
    """Reads shares.

    Args:
        selection: The files of directories to leave out; none if None.
    """

    def __init__(self, selection: Selection | None) -> None:
        self.selection = selection
        self._loaded: tuple[FoundFile, Source | None] | None = None

    def read(self, share: Share, indexes: Iterator[int]) -> Iterator[Document | Unreadable]:
        """Read a share.

        Args:
            share: The share.
            indexes: Numbers the documents of a part of a file.
        """
        source = self._parted(share.files[0]) if share.of > 1 else None
        if source:
            yield from parse_part(source, share.number, share.of, indexes)
        elif not share.number:  # a file that cannot be split is read as a whole
            for found in share.files:
                yield from read_found(found, selection=self.selection)

    def _parted(self, found: FoundFile | Unreadable) -> Source | None:
        """Return a text that can be split, None if it cannot; its parts follow one another."""
        if isinstance(found, Unreadable):
            return None
        if self._loaded is None or self._loaded[0] != found:
            self._loaded = found, _source(found, None if found.is_named else self.selection)
        return self._loaded[1]


def _source(found: FoundFile, selection: Selection | None) -> Source | None:
    try:
        data = load(found)
        if len(data) > MAX_BYTES or (selection and selection.needs_all(data)):
            return None
        text = decoded(data)
    except (OSError, UnicodeDecodeError):  # reported by the process that reads the whole file
        return None
    return None if is_row(text) else Source(found.shown, text)


Packed = tuple["Any", int, tuple[str | int, ...], int, int, int, bool, bool]
"""A packed document: the object, the index of its document and its place there, the number of its file in the share,
where the document begins and ends there, and whether it is JSON, or simple. Named tuples take three times as long.
"""


class PackedSource(NamedTuple):
    """A file that is read again on demand.

    Args:
        name: Its name, as shown.
        check: The hash of its text, the same in all processes forked from one.
        mentioned: The words that it contains.
    """

    name: str
    check: int
    mentioned: dict[str, bool]


class Packer:
    """Packs the documents of a share.

    Args:
        words: The words to look for in a file.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.sources: list[PackedSource] = []
        self._last: Source | None = None
        self._words = words

    def __call__(self, document: Document) -> Packed:
        """Pack a document."""
        origin = document.origin
        source = origin.source
        if source is not self._last:
            self._last = source
            self.sources.append(
                PackedSource(source.name, hash(source.text), {word: source.mentions(word) for word in self._words})
            )
        return (
            document.data,
            document.index,
            document.within,
            len(self.sources) - 1,
            origin.start,
            origin.end,
            origin.is_json,
            origin.is_simple,
        )


class Unpacker:
    """Unpacks the documents of shares, in their order."""

    def __init__(self) -> None:
        self._sources: Sequence[_Again] = ()
        self._last: tuple[int, int] = -1, -1
        self._origin: Origin | None = None

    def begin(self, share: Share, sources: Sequence[PackedSource]) -> None:
        """Begin a share.

        Args:
            share: The share.
            sources: Its files.
        """
        by_name = {each.shown: each for each in share.files if isinstance(each, FoundFile)}
        # The parts of a file follow one another: they have one text, which is read once.
        if not share.number or [each.packed for each in self._sources] != sources:
            self._sources = [_Again(each, by_name[each.name]) for each in sources]
        self._last, self._origin = (-1, -1), None

    def origin(self, packed: Packed) -> Origin:
        """Return the origin of a document; the items of a list share it."""
        _, index, _, source, start, end, is_json, is_simple = packed
        if self._origin is None or (source, index) != self._last:
            self._last = source, index
            self._origin = Origin(self._sources[source], start, end, is_json=is_json, is_simple=is_simple)
        return self._origin


class _Again(Source):
    """A file that another process has read, and that this one reads on demand."""

    def __init__(self, packed: PackedSource, found: FoundFile) -> None:
        self.name, self.rendered, self.packed = packed.name, False, packed
        self._before = 0
        self._mentioned = packed.mentioned
        self._found, self._check = found, packed.check

    @cached_property
    def text(self) -> str:  # type: ignore[override]
        """The text.

        Raises:
            OSError: The file has changed.
        """
        try:
            text = decoded(load(self._found))
        except (OSError, UnicodeDecodeError):
            text = None
        if text is None or hash(text) != self._check:
            raise OSError(f"{self.name} was changed while it was read: try again")
        return text
