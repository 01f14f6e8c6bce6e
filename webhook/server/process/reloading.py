"""Values made from files, reloaded when the files change."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import time
from contextlib import suppress
from typing import Generic, TypeVar

from webhook.server.filewatch import open_regular
from webhook.server.keeping import keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Final

T = TypeVar("T")

_UNSETTLED_SECONDS: Final = 2.0
"""How long a file may change again without a change of its times, as file systems' clocks are coarse."""
_MANY: Final = 100
"""Above how many files the event loop does not look for changes itself; each takes 10 to 20 us."""
_LARGEST: Final = 1 << 28
"""The bytes above which the content of a file is not compared: no reader takes so many."""
_log = logging.getLogger(__name__)


class UnusableError(Exception):
    """The files' content cannot be used; the text names the error, its place and how to fix it."""


class Reloaded(Generic[T]):
    """A value that is made from files, and made anew when their content changes.

    Contents are compared, as a mounted ConfigMap changes by a symbolic link above its files, but are read only if
    names, sizes or times have changed. A new value replaces the old one atomically; content that cannot be used leaves
    the old one in place. New content is used once it is found a second time: before, it may be half written, and lack
    policies.

    Args:
        what: A description of the content, for messages.
        files: Lists the files; missing ones are left to ``make``.
        make: Makes the value. It may take long: call :meth:`follow` in a thread.
        first: Makes the first value, if this differs from later ones.

    ``make`` raises :class:`UnusableError` if the content cannot be used.
    """

    def __init__(
        self,
        what: str,
        files: Callable[[], Iterable[str]],
        make: Callable[[], T],
        first: Callable[[], T] | None = None,
    ) -> None:
        self._what = what
        self._files = files
        self._make = make
        self._stamp = self._stamps()
        self._digest = self._found = self._content()
        self.value = (first or make)()
        self.generation = 1
        """The number of values so far."""
        self.failures = 0
        """How often files changed and could not be used."""
        self.fault = ""
        """Why the present content is not used; empty if it is."""

    def may_have_changed(self) -> bool:
        """Tell whether ``follow`` may find a change, if that can be told quickly."""
        return self._stamp is None or len(self._stamp) > _MANY or self._stamps() != self._stamp

    def follow(self) -> None:
        """Make the value anew if the files have changed, and not again since the last look; never raises."""
        stamp = self._stamps()
        if stamp is not None and stamp == self._stamp:
            return
        digest = self._content()
        if digest != self._found:
            self._found = digest
            return
        if digest != self._digest:
            value: T | None = None
            try:
                _check_regular(self._files())
                value, fault = self._make(), ""
            except UnusableError as error:
                fault = str(error)
            except Exception as error:  # noqa: BLE001 - whatever the error, the old value is still good
                _log.exception("the new %s cannot be loaded", self._what)
                fault = f"draguard itself failed to load them: {error!r}"
            if self._content() != digest:
                return  # they are changing: half of the content may be old
            self._digest = digest  # so that unusable content is reported once
            self._settle(value, fault)
        self._stamp = stamp

    def _settle(self, value: T | None, fault: str) -> None:
        if value is None:
            self.failures += 1
            _log.error("the new %s are not used, the old ones kept: %s", self._what, fault)
        else:
            self.value = value
            self.generation += 1
            keep()  # and release the old one
            _log.info("the new %s are in use, generation %d", self._what, self.generation)
        self.fault = fault

    def _stamps(self) -> tuple[Any, ...] | None:
        """Return names, sizes and times of the files; None if these are not reliable yet."""
        stamps: list[tuple[Any, ...]] = []
        newest = 0.0
        for path in self._files():
            try:
                found = os.stat(path)  # names need not be UTF-8
            except OSError as error:
                stamps.append((path, error.errno))
                continue
            newest = max(newest, found.st_mtime, found.st_ctime)
            stamps.append((path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
        return tuple(stamps) if newest < time.time() - _UNSETTLED_SECONDS else None

    def _content(self) -> tuple[Any, ...]:
        return tuple((path, _digest(path)) for path in self._files())


def _digest(path: str) -> bytes | None:
    """Return a digest of a file; None if it cannot be read, is too large, or is not a regular file."""
    try:
        with open(path, "rb", opener=open_regular) as file:
            is_large = os.fstat(file.fileno()).st_size > _LARGEST
            return None if is_large else hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return None


def _check_regular(paths: Iterable[str]) -> None:
    """Check that no file has been replaced by a pipe or a device, which might block its reader forever.

    Raises:
        UnusableError: One has.
    """
    for path in paths:
        with suppress(OSError):  # which its reader reports
            mode = os.stat(path).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise UnusableError(f"{path}: no regular file")
