"""Answers light reviews on the event loop, in turns."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
import time
from typing import TYPE_CHECKING, Final

from webhook.server.http.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from webhook.admission import Answer, Call
    from webhook.server.http.messages import Request

    Begin = Callable[[], Callable[[], None]]

QUANTUM: Final = 0.01
"""The seconds of reviews after which the event loop checks for new input."""
_IMPORTS: Final = "<frozen importlib"
"""The file name of code that imports modules."""
_TICK: Final = 0.01
_TICKS: Final = 4
"""The ticks of processor time after which a review has taken 30 to 40 ms; valid ones of its size need a third."""


class ExceededError(BaseException):
    """A review takes too long for the event loop; no ``except Exception`` catches this."""


class Inline:
    """Answers reviews on the event loop.

    Args:
        review: Answers the body of a review, given how the webhook was called.
        seconds: Estimates the seconds that a review takes, given its length in bytes.
    """

    def __init__(self, review: Callable[[bytes, Call], Answer], seconds: Callable[[int], float]) -> None:
        self._review = review
        self._seconds = seconds
        self._new: list[tuple[Request, Begin]] = []
        self._waiting: Turns[Begin] = Turns()
        self._spent = 0.0
        self._is_scheduled = False
        self._is_answering = False
        self._ticks = 0

    def watch(self) -> None:
        """Start to interrupt reviews that take too long, on the main thread only: others get no signals.

        A timer for each review would take two system calls; this one ticks only while the process works.
        """
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGPROF, self._tick)
            signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)

    def unwatch(self) -> None:
        """Stop interrupting reviews."""
        if threading.current_thread() is threading.main_thread():
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, signal.SIG_IGN)

    def put(self, request: Request, begin: Begin) -> None:
        """Queue a review, to be answered once the event loop has checked for other input.

        Args:
            request: The request for it.
            begin: Answers it; returns a function that sends the answer. Neither raises anything.
        """
        self._new.append((request, begin))
        if not self._is_scheduled:
            self._schedule()

    def answer(self, request: Request, call: Call, began: float) -> Answer:
        """Answer a review.

        Args:
            request: The request for it.
            call: How the webhook was called.
            began: The present time, by ``time.monotonic``.

        Raises:
            ExceededError: It takes too long.
        """
        self._ticks = 0
        self._is_answering = True
        try:
            return self._review(request.body, call)
        finally:
            self._is_answering = False
            spent = time.monotonic() - began
            self._spent += spent
            if self._waiting:
                self._waiting.charge(request.sender, spent)

    def _tick(self, _number: int, frame: FrameType | None) -> None:
        if self._is_answering:
            self._ticks += 1
            # Again at each further tick, in case the exception is swallowed.
            if self._ticks >= _TICKS and not _must_go_on(frame):
                raise ExceededError

    def _schedule(self) -> None:
        self._is_scheduled = True
        asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """Answer the received requests; if there are too many, those of the clients that have used least first.

        All are read, then answered, then sent, so that each step finds its code and data in the processor's caches;
        that saves a fifth of a review's time when many arrive at once.
        """
        self._is_scheduled = False
        self._spent = 0.0
        new, self._new = self._new, []
        ends: list[Callable[[], None]] = []
        for request, begin in new:
            if self._spent >= QUANTUM or self._waiting:
                self._waiting.put(request.sender, self._seconds(len(request.body)), begin)
            else:
                ends.append(begin())
        while self._waiting and self._spent < QUANTUM:
            ends.append(self._waiting.pop()())
        for end in ends:
            end()
        if self._waiting and not self._is_scheduled:
            self._schedule()


def _must_go_on(frame: FrameType | None) -> bool:
    """Tell whether the interrupted code must finish: an import, or a callback of a garbage collection.

    Python would print an exception of such a callback, and continue.
    """
    callbacks = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        if frame.f_code in callbacks or frame.f_code.co_filename.startswith(_IMPORTS):
            return True
        frame = frame.f_back
    return False
