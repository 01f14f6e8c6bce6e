"""Opens and reads files that must be regular ones, as another user may have put a pipe or a device in their place."""

from __future__ import annotations

import os
import stat


class OtherFileError(OSError):
    """A file is a directory, a pipe or a device."""


def open_regular(path: str, flags: int) -> int:
    """Open a regular file; not a pipe or device, which might block its reader or never end.

    Args:
        flags: The flags of ``os.open``; so it is an opener for ``open``.

    Raises:
        OtherFileError: It is not a regular file.
        OSError: It cannot be opened.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    raise OtherFileError(0, "is a directory" if stat.S_ISDIR(mode) else "no regular file")


def read_up_to(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the content of a regular file, up to a number of bytes.

    Args:
        most: The number of bytes to read at most.

    Raises:
        OtherFileError: It is not a regular file.
        OSError: It cannot be opened or read.
    """
    with open(path, "rb", opener=open_regular) as file:
        return file.read(most)
