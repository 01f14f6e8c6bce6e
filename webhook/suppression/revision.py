"""Reads manifests from git at a revision.

git only lists files and returns their contents. A file's hash, computed here, tells whether it has changed since, so
git reads no file of the working tree, and runs none of the filters that a repository may configure.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, takewhile
from signal import SIGKILL
from typing import Final, NamedTuple

from webhook.documents import Piece, parse
from webhook.documents.git import command, environment
from webhook.documents.search import SUFFIXES, is_kustomization, repository
from webhook.documents.source import MAX_BYTES
from webhook.grouping import by_key
from webhook.later import cached_property
from webhook.regular import read_up_to

SECONDS: Final = 120
"""The time limit of git for one response."""
_AT_ONCE: Final = 64 * 1024 * 1024
"""Bytes of the files that are requested from git at once."""
_LONGEST: Final = MAX_BYTES + _AT_ONCE
"""The most bytes of one response: those files with the last one, or the names of some million files."""
_MOST_FILES: Final = 10_000
"""Files that are exported."""
_OUTSIDE: Final = frozenset({"", ".", "..", ".git"})
"""Parts of a path that no tree of git has, unless somebody made it for harm."""
_SHA1: Final = 40
_REGULAR: Final = frozenset({b"100644", b"100755"})


class RevisionError(ValueError):
    """A revision cannot be read; the message says why."""


class _Blob(NamedTuple):
    """The contents of a file, by git's hash."""

    name: str
    size: int


class Revision:
    """The manifests of a repository at a revision.

    Args:
        revision: The revision in git: a branch, a tag, a commit.
        path: A path in the repository.

    Raises:
        RevisionError: The repository, git or the revision is missing.
    """

    def __init__(self, revision: str, path: str) -> None:
        start = os.path.realpath(path)
        top = repository(start if os.path.isdir(start) else os.path.dirname(start))
        if top is None:
            raise RevisionError(f"{path} is not in a git repository")
        self.top, self.revision = top, revision
        self._commit = _commit(top, revision)
        self._blobs = {
            path: blob for path, blob in _list(top, self._commit) if path.endswith(SUFFIXES) or is_kustomization(path)
        }
        self._directory = lru_cache(maxsize=1024)(os.path.realpath)

    def path_of(self, file: str) -> str | None:
        """Return the path of a file in the repository, existing or not; None if it is outside."""
        directory, name = os.path.split(file)
        real = f"{self._directory(directory)}/{name}"
        inside = self.top.rstrip("/") + "/"
        return real.removeprefix(inside) if real.startswith(inside) and name else None

    def directory_of(self, path: str) -> str | None:
        """Return the path of a directory in the repository, empty for its top; None if it is outside."""
        return "" if os.path.realpath(path) == self.top else self.path_of(os.path.realpath(path))

    def has(self, path: str) -> bool:
        """Tell whether the revision has a file."""
        return path in self._blobs

    @property
    def paths(self) -> Iterable[str]:
        """The manifests of the revision."""
        return self._blobs

    @cached_property
    def changed(self) -> frozenset[str]:
        """The files of the revision that have been deleted or changed since."""
        return frozenset(path for path, blob in self._blobs.items() if self._now(path, {blob.size}, blob.name) != blob)

    def moved_from(self, path: str) -> Sequence[str]:
        """List the deleted files of the revision that had the contents of a new file."""
        if path in self._blobs or not self._gone:
            return ()
        blob = self._now(path, {each.size for each in self._gone}, next(iter(self._gone)).name)
        return self._gone.get(blob, ()) if blob else ()

    @cached_property
    def _gone(self) -> Mapping[_Blob, Sequence[str]]:
        gone = (path for path in sorted(self.changed) if not os.path.lexists(f"{self.top}/{path}"))
        return by_key((self._blobs[path], path) for path in gone)

    def _now(self, path: str, sizes: Container[int], like: str) -> _Blob | None:
        """Return the contents that a file has now, by a hash like another; None if their size is none of some."""
        full = f"{self.top}/{path}"
        try:
            if os.path.islink(full) or (size := os.stat(full).st_size) not in sizes:
                return None
            data = read_up_to(full, size + 1)
        except OSError:
            return None
        made = hashlib.sha1(usedforsecurity=False) if len(like) == _SHA1 else hashlib.sha256()
        made.update(b"blob %d\0" % len(data))
        made.update(data)
        return _Blob(made.hexdigest(), len(data))

    def documents(self, paths: Mapping[str, str]) -> Iterator[tuple[str, Piece]]:
        """Read files of the revision.

        Args:
            paths: The files in the repository, with their names in findings.

        Yields:
            The path of a file, and one of its documents.

        Raises:
            RevisionError: git does not respond.
        """
        wanted = [(path, blob) for path in paths if (blob := self._blobs.get(path)) and blob.size <= MAX_BYTES]
        while wanted:
            sizes = accumulate(blob.size for _, blob in wanted)
            count = sum(1 for _ in takewhile(lambda size: size <= _AT_ONCE, sizes)) or 1
            chunk, wanted = wanted[:count], wanted[count:]
            contents = self._contents(blob.name for _, blob in chunk)
            for path, blob in chunk:
                for document in parse(contents[blob.name], paths[path]):
                    yield path, document

    def export(self, paths: Iterable[str], target: str) -> None:
        """Write files of the revision, but no symbolic links, which could lead elsewhere.

        Args:
            paths: Files and directories; empty for the whole revision.
            target: An empty directory, which stands for the top of the repository.

        Raises:
            RevisionError: There is too much to write, a name leads elsewhere, or git does not respond.
            OSError: The files cannot be written.
        """
        wanted = list(paths)
        files = dict(_list(self.top, self._commit, *([] if "" in wanted else wanted)))
        if len(files) > _MOST_FILES or sum(blob.size for blob in files.values()) > _AT_ONCE:
            size = _AT_ONCE // (1024 * 1024)
            raise RevisionError(f"more than {_MOST_FILES:,} files or {size} MiB to render at {self.revision}")
        contents = self._contents(blob.name for blob in files.values())
        for path, blob in files.items():
            if not _OUTSIDE.isdisjoint(path.split("/")):
                raise RevisionError(f"invalid file name: {path}")
            full = f"{target}/{path}"
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "xb") as file:
                file.write(contents[blob.name])

    def _contents(self, names: Iterable[str]) -> dict[str, bytes]:
        wanted = list(dict.fromkeys(names))
        answer = _git(self.top, "cat-file", "--batch", given="".join(f"{name}\n" for name in wanted).encode())
        found, at = {}, 0
        for name in wanted:
            end = answer.find(b"\n", at)
            head = answer[at:end].split()
            if end < 0 or head[1:2] != [b"blob"]:
                raise RevisionError(f"git has no contents {name}; is the clone shallow or partial?")
            size = int(head[2])
            found[name] = answer[end + 1 : end + 1 + size]
            at = end + size + 2
        return found


def _commit(top: str, revision: str) -> str:
    """Return the commit of a revision, whose name git never takes for an option."""
    message = f"git has no revision {revision!r}"
    if not revision or revision.startswith("-") or not revision.isprintable():
        raise RevisionError(message)
    try:
        answer = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except RevisionError as error:
        deep = "~" in revision or "^" in revision
        fetched = "--unshallow" if deep else f"origin {revision.removeprefix('origin/')}"
        hint = f"if the clone is shallow, fetch it: git fetch {fetched}"
        raise RevisionError(str(error) or f"{message}; {hint}") from error
    return answer.decode("ascii", "replace").strip()


def _list(top: str, commit: str, *below: str) -> Iterator[tuple[str, _Blob]]:
    """List the regular files of a commit, or those below some of its paths."""
    literal = [f":(literal){path}" for path in below]
    answer = _git(top, "ls-tree", "-r", "-l", "-z", "--full-tree", commit, *literal)
    for line in filter(None, answer.split(b"\0")):
        head, _, name = line.partition(b"\t")
        mode, _, blob, size = head.split()
        if mode in _REGULAR and size.isdigit():
            yield os.fsdecode(name), _Blob(blob.decode("ascii"), int(size))


def _git(top: str, *arguments: str, given: bytes = b"") -> bytes:
    """Run git; its output is limited, as trees that share their content may list endless files."""
    from tempfile import TemporaryFile  # needed only to compare revisions

    from webhook.sources.running import ProgramError, TooLongError, finished

    try:
        with TemporaryFile() as names:
            names.write(given)
            names.seek(0)
            code, answer, errors = finished(
                command(top, *arguments), stdin=names, environment=environment(), most=_LONGEST, seconds=SECONDS
            )
    except OSError as error:
        is_missing = isinstance(error, FileNotFoundError) and error.filename == "git"
        raise RevisionError("git is not installed" if is_missing else f"git failed: {error}") from error
    except TooLongError as error:
        raise RevisionError(f"git answers more than {_LONGEST // 1024**2} MiB") from error
    except ProgramError:  # it takes too long
        code = -SIGKILL
    if code < 0:
        raise RevisionError(f"git was ended by signal {-code}, perhaps after {SECONDS} seconds")
    if code:
        raise RevisionError(errors.decode(errors="replace").strip())
    return answer
