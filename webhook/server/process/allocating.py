"""Returns memory to the system."""

from __future__ import annotations

from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


_LARGE: Final = 1 << 17
"""The size in bytes from which blocks are mapped from the system, glibc's initial value."""
_M_MMAP_THRESHOLD: Final = -3  # <malloc.h>


def return_freed_memory() -> None:
    """Return large blocks of memory to the system as soon as they are free.

    By default, glibc keeps blocks as large as any that was freed: 500 long answers, read or not, leave 200 MB in pieces
    into which nothing else fits.
    """
    import ctypes  # needed only to serve

    with suppress(OSError, AttributeError):  # another C library has no such setting
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)
