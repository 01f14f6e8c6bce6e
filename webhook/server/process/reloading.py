"""Values made of files, reloaded when the files change."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import time
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from webhook.server.keeping import keep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

_UNSETTLED_SECONDS: Final = 2.0
"""How long a file may change again without its times telling so: clocks of file systems are coarse."""
_log = logging.getLogger(__name__)


class UnusableError(Exception):
    """What is in the files cannot be used; the text says what, where and how to mend it."""


class Reloaded(Generic[T]):
    """A value that is made of files, and made anew when what is in them changes.

    What is compared is their content, which is read only if their names, sizes or times have changed: a mounted
    ConfigMap changes by a symbolic link above them. A new value takes the old one's place at once and as a whole; what
    cannot be used leaves the old one in place.

    Args:
        what: What the files hold, for messages.
        files: Lists the files; those that are not there are left to ``make``.
        make: Makes the value. It may take long: :meth:`follow` belongs into a thread.
        first: Makes the first value, if that is not made as others are.

    ``make`` raises :class:`UnusableError` if what is in the files cannot be used.
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
        self._digest = self._content()
        self.value = (first or make)()
        self.generation = 1
        """How many values there were."""
        self.failures = 0
        """How often files have changed and could not be used."""
        self.fault = ""
        """Why what is in the files now is not used; empty if it is."""

    def follow(self) -> None:
        """Make the value anew if the files have changed; never raises."""
        stamp = self._stamps()
        if stamp is not None and stamp == self._stamp:
            return
        digest = self._content()
        if digest != self._digest:
            value: T | None = None
            try:
                value, fault = self._make(), ""
            except UnusableError as error:
                fault = str(error)
            except Exception as error:  # noqa: BLE001 - whatever it is, the old value is still good
                _log.exception("the new %s cannot be loaded", self._what)
                fault = f"draguard itself failed to load them: {error!r}"
            if self._content() != digest:
                return  # they change this moment: half of what was read may be old
            self._digest = digest  # so that what cannot be used is reported once
            self._settle(value, fault)
        self._stamp = stamp

    def _settle(self, value: T | None, fault: str) -> None:
        if value is None:
            self.failures += 1
            _log.error("the new %s are not used, the old ones kept: %s", self._what, fault)
        else:
            self.value = value
            self.generation += 1
            keep()  # and let the old one go
            _log.info("the new %s are in use, generation %d", self._what, self.generation)
        self.fault = fault

    def _stamps(self) -> tuple[Any, ...] | None:
        """Return what changes with the files; None if that cannot be relied on yet."""
        stamps: list[tuple[Any, ...]] = []
        newest = 0.0
        for path in self._files():
            try:
                found = os.stat(path)  # noqa: PTH116 - names need not be UTF-8
            except OSError as error:
                stamps.append((path, error.errno))
                continue
            newest = max(newest, found.st_mtime, found.st_ctime)
            stamps.append((path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
        return tuple(stamps) if newest < time.time() - _UNSETTLED_SECONDS else None

    def _content(self) -> tuple[Any, ...]:
        return tuple((path, _digest(path)) for path in self._files())


def _digest(path: str) -> bytes | None:
    """Return a digest of a file; None if it cannot be read, or is something that never ends or never begins."""
    try:
        with open(path, "rb", opener=_regular) as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return None


def _regular(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError
    return descriptor
