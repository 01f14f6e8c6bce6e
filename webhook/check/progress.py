"""Progress of long work, on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TextIO, TypeVar

_T = TypeVar("_T")


PATIENCE = 1.0
"""Seconds after which progress is shown."""
_EVERY = 0.2
_ERASE = "\r\x1b[K"


@contextmanager
def counting(what: str, terminal: TextIO, *, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """Provide a function that takes a count, and a text behind it, and shows both on a terminal if the work takes long.

    Args:
        what: The counted things, such as ``of 1000 pods``.
        terminal: The stream to show it on, if it is a terminal.
        quiet: Whether to show nothing.
    """
    due, shown = monotonic() + PATIENCE, False
    visible = not quiet and terminal.isatty()

    def show(count: int, detail: str = "") -> None:
        nonlocal due, shown
        if visible and (now := monotonic()) >= due:
            terminal.write(f"{_ERASE}{count} {what}{detail}")
            terminal.flush()
            due, shown = now + _EVERY, True

    try:
        yield show
    finally:
        if shown:
            terminal.write(_ERASE)
            terminal.flush()


def with_progress(documents: Iterable[_T], terminal: TextIO, *, quiet: bool) -> Iterator[_T]:
    """Yield documents, and show their number on a terminal, once it takes long to pass them on."""
    with counting("documents", terminal, quiet=quiet) as show:
        for number, document in enumerate(documents, 1):
            yield document
            show(number)
