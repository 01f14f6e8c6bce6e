"""Chores beside the event loop, such as loading policies again."""

from __future__ import annotations

import threading

from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Chore(NamedTuple):
    """What may have to be done from time to time.

    Args:
        is_due: Tells whether it may have to be done now; called each second on the event loop, so it must be quick.
        do: Does it; called in a thread.
    """

    is_due: Callable[[], bool]
    do: Callable[[], None]


class Chores:
    """Does chores in a thread, which sleeps while nothing is due.

    While requests are answered, each system call of another thread interrupts the event loop twice. A thread that looks
    at some dozen files each second takes a twentieth of the requests that could be answered; the event loop itself
    needs half a millisecond for that.

    Args:
        chores: The chores.
    """

    def __init__(self, chores: Sequence[Chore]) -> None:
        self._chores = tuple(chores)
        self._due = threading.Event()
        self._has_ended = False

    def start(self) -> None:
        """Start the thread, if there are chores."""
        if self._chores:
            threading.Thread(target=self._run, name="chores", daemon=True).start()

    def look(self) -> None:
        """Wake the thread if something is due."""
        if any(chore.is_due() for chore in self._chores):
            self._due.set()

    def end(self) -> None:
        """Begin nothing more."""
        self._has_ended = True
        self._due.set()

    def _run(self) -> None:
        while self._due.wait() and not self._has_ended:
            self._due.clear()
            for chore in self._chores:
                chore.do()
