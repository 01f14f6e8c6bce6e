"""Documents that other processes have read and judged, if they can be judged alone."""

from __future__ import annotations

import marshal
from itertools import count

from webhook.cli.validate import processes
from webhook.cli.validate.judge import Ahead, failure
from webhook.documents import Unreadable
from webhook.documents.files import is_manifest, no_manifest, read_found
from webhook.documents.shares import Packer, Reader, Unpacker, shares, sized
from webhook.inventory import is_claim
from webhook.records import NamedTuple
from webhook.suppression.statements import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator
    from typing import Any

    from webhook.cli.validate.judge import Judge, Judgement
    from webhook.documents import Document, Selection
    from webhook.documents.shares import Packed, PackedSource, Share
    from webhook.references.keys import Keys


class _Result(NamedTuple):
    """The result of a process for its share of the files.

    Args:
        packed: Its documents, in Python's own format, which takes a third of the time of pickles.
        judgements: Their own findings, and in between why others cannot be read.
        keys: The keys of those that are claims.
        sources: Its files.
        indexes: The number of documents in each part of a file.
        left_out: The number of files that were not read, by reason.
    """

    packed: bytes
    judgements: list[Judgement | Unreadable | None]
    keys: list[Keys | None]
    sources: list[PackedSource]
    indexes: int
    left_out: Counter[str]


class _Parts:
    """What the parts of a file hold, as far as they are read."""

    def __init__(self) -> None:
        self.empty = True
        """Whether they have no document."""
        self.has_manifest = self.left_out = False
        """Whether one holds a manifest, and whether one was left out."""

    def note(self, may_be_manifest: bool) -> None:  # noqa: FBT001 - about the only argument
        """Add a document."""
        self.empty = False
        self.has_manifest = self.has_manifest or may_be_manifest


class Shared:
    """Files that several processes read and judge, if there are enough of them.

    Args:
        paths: Files, directories and globs.
        selection: The exclusions from directories.
        jobs: How many processes share the work; None to choose by the amount of work.
    """

    def __init__(self, paths: Iterable[str], selection: Selection, jobs: int | None) -> None:
        self._selection = selection
        self._found = sized(paths, selection)
        self.processes = self._worth(jobs)
        """How many processes share the work; 1 for this process alone."""
        self._reader = Reader(selection)
        self._is_first = True

    def _worth(self, jobs: int | None) -> int:
        sizes = [size for _, size in self._found]
        once = min(sizes, default=-1) < 0  # a pipe, or no file at all
        return 1 if once else processes.worth(jobs, sum(sizes) // processes.BYTES)

    def documents(self, stated: str | None, judge: Judge) -> Iterator[Document | Unreadable]:
        """Read the documents, and have them judged.

        Args:
            stated: The Kubernetes release; None if that follows from the documents of a file.
            judge: Judges a document.

        Yields:
            The documents in the order of the files; for unreadable ones, the reasons.

        Raises:
            ChildProcessError: A process died.
        """
        if self.processes == 1:
            for found, _ in self._found:
                yield from read_found(found, selection=self._selection)
            return
        first, *others = shares(self._found, self.processes)
        indexes, left_out = count(), self._selection.left_out.copy()
        parts = _Parts()
        yield from self._before_fork(first, indexes, parts)
        before, parts.left_out = next(indexes), self._selection.left_out != left_out
        results = processes.spread(
            lambda share: self._work(share, stated, judge), others, self.processes, lambda share: share.name
        )
        unpacker = Unpacker()
        for share, result in zip(others, results, strict=True):
            self._selection.left_out.update(result.left_out)
            if not share.number:
                before, parts = 0, _Parts()
            unpacked = list(_unpacked(unpacker, share, result, before, judge))
            yield from unpacked
            before += result.indexes
            if share.of > 1:
                for each in () if parts.has_manifest else unpacked:
                    parts.note(isinstance(each, Unreadable) or is_manifest(each.data, share.name))
                parts.left_out = parts.left_out or bool(result.left_out)
                if share.number == share.of - 1:
                    yield from self._without_manifest(share, parts)
        if not self._is_first:  # already counted for another release
            self._selection.left_out = left_out
        self._is_first = False

    def _before_fork(self, share: Share, indexes: Iterator[int], parts: _Parts) -> Iterator[Document | Unreadable]:
        """Read a share in this process: what most documents need is imported and made once, for all processes."""
        for each in self._reader.read(share, indexes):
            if not isinstance(each, Unreadable):
                _keys(each.data)
            parts.note(isinstance(each, Unreadable) or is_manifest(each.data, share.name))
            yield each

    def _without_manifest(self, share: Share, parts: _Parts) -> Iterator[Unreadable]:
        """Report a file of which no part holds a manifest."""
        (found,) = share.files
        if not isinstance(found, Unreadable) and not parts.has_manifest and not parts.left_out:
            yield from no_manifest(found, self._selection, empty=parts.empty)

    def _work(self, share: Share, stated: str | None, judge: Judge) -> _Result:
        """Read and judge a share, in another process."""
        self._selection.left_out.clear()
        packer, indexes = Packer([NAME]), count()
        packed: list[Packed] = []
        judgements: list[Judgement | Unreadable | None] = []
        keys: list[Keys | None] = []
        same: dict[Keys, Keys] = {}
        for each in self._reader.read(share, indexes):
            if isinstance(each, Unreadable):
                judgements.append(each)
            else:
                packed.append(packer(each))
                judgements.append(_judged(each, judge, stated))
                found = _keys(each.data)
                keys.append(found and same.setdefault(found, found))  # equal ones are sent once
        return _Result(marshal.dumps(packed), judgements, keys, packer.sources, next(indexes), self._selection.left_out)


def _judged(document: Document, judge: Judge, stated: str | None) -> Judgement | None:
    try:
        served = judge.kind_of(document.data)
    except Exception as error:  # noqa: BLE001 - the report must not lose the other objects
        return failure(error, document)
    return judge.alone(document, served, stated)


def _keys(data: Any) -> Keys | None:
    """Return the keys of a claim; None for other objects."""
    if not isinstance(data, dict) or not is_claim(data):
        return None
    from webhook.references.keys import keys_of  # not all manifests are claims

    return keys_of(data)


def _unpacked(
    unpacker: Unpacker, share: Share, result: _Result, before: int, judge: Judge
) -> Iterator[Document | Unreadable]:
    unpacker.begin(share, result.sources)
    documents = zip(marshal.loads(result.packed), result.keys, strict=True)  # noqa: S302 - our own process wrote them
    for each in result.judgements:
        if isinstance(each, Unreadable):
            yield each
            continue
        packed, keys = next(documents)
        data, index, within, *_ = packed
        document = Ahead(data, before + index, unpacker.origin(packed), within)
        document.judge, document.judgement, document.keys = judge, each, keys
        if before and each and each.findings:
            moved = [finding._replace(document=finding.document + before) for finding in each.findings]
            document.judgement = each._replace(findings=moved)
        yield document
