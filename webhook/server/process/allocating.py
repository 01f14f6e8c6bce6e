"""Gives memory back to the system."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

_LARGE: Final = 1 << 17
"""Bytes from which on a block is one of the system's, as glibc has it at first."""
_M_MMAP_THRESHOLD: Final = -3  # <malloc.h>


def give_back() -> None:
    """Give large blocks of memory back to the system as soon as they are free.

    By itself, glibc keeps blocks as large as any that was freed: 500 long answers that clients have read, or not, leave
    200 MB in pieces that nothing else fits into.
    """
    import ctypes  # noqa: PLC0415 - needed only to serve

    with suppress(OSError, AttributeError):  # another C library has no such setting
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)
