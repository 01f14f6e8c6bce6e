"""Watches files for changes."""

from __future__ import annotations

from webhook.regular import read_regular
from webhook.server.errors import ServerError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_LARGEST_FILE = 1 << 20


class FileWatch:
    """The content of files that is in use, and changes to it.

    Contents are compared, as a mounted Secret changes by a symbolic link above its files.

    Args:
        what: A description of the content, for messages.
        paths: The files; empty if the content came from elsewhere, so that nothing is watched.
        advice: What to do if a file cannot be read, for messages.
        content: The content in use, if it has been read already.

    Raises:
        ServerError: A file cannot be read.
    """

    def __init__(self, what: str, paths: Sequence[Path], advice: str, content: tuple[bytes, ...] | None = None) -> None:
        self.what = what
        self.fault = ""
        """Why the present content is not used; empty if it is."""
        self.paths = tuple(paths)
        self._advice = advice
        self.content = self._read() if content is None else content
        self._found: tuple[bytes, ...] | str = self.content

    def news(self) -> tuple[bytes, ...] | str | None:
        """Return new content, or why the files cannot be read, once; None if nothing has changed."""
        found: tuple[bytes, ...] | str
        try:
            found = self._read() if self.paths else self._found
        except ServerError as error:
            found = str(error)
        if found == self._found:
            return None
        self._found = found
        return found

    def _read(self) -> tuple[bytes, ...]:
        return tuple(map(self._content, self.paths))

    def _content(self, path: Path) -> bytes:
        try:
            content = read_regular(path, _LARGEST_FILE + 1)
        except OSError as error:
            raise ServerError(f"cannot read {path}: {error.strerror}: {self._advice}") from error
        if len(content) > _LARGEST_FILE:
            raise ServerError(f"{path} is larger than {_LARGEST_FILE >> 20} MiB: {self._advice}")
        return content
