"""Answers light reviews on the event loop, in turns."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
import time

from webhook.server.http.turns import Turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Final

    from webhook.admission import Answer, Call
    from webhook.server.http.messages import Page, Request

    Reply = Callable[[Page], None]
    Judge = Callable[[Request, Reply], Page | None]
    _Review = tuple[Request, Judge, Reply]

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
        self._new: list[_Review] = []
        self._waiting: Turns[_Review] = Turns()
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

    def put(self, request: Request, judge: Judge, reply: Reply) -> None:
        """Queue a review, to be answered once the event loop has checked for other input.

        Args:
            request: The request for it.
            judge: Answers it; None if the answer is sent later. Raises nothing.
            reply: Sends the answer. Raises nothing.
        """
        self._new.append((request, judge, reply))
        if not self._is_scheduled:
            self._schedule()

    def answer(self, body: bytes, call: Call, began: float) -> Answer:
        """Answer a review.

        Args:
            body: The review.
            call: How the webhook was called.
            began: The present time, by ``time.monotonic``.

        Raises:
            ExceededError: It takes too long.
        """
        self._ticks = 0
        self._is_answering = True
        try:
            return self._review(body, call)
        finally:
            self._is_answering = False
            self._spent += time.monotonic() - began

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
        waiting, pages = self._waiting, []
        must_wait = bool(waiting)
        for request, judge, reply in new:
            must_wait = must_wait or self._spent >= QUANTUM
            if must_wait:
                waiting.put(request.sender, self._seconds(len(request.body)), (request, judge, reply))
            else:
                pages.append((reply, judge(request, reply)))
        while waiting and self._spent < QUANTUM:
            request, judge, reply = waiting.pop()
            before = self._spent
            pages.append((reply, judge(request, reply)))
            waiting.charge(request.sender, self._spent - before)
        for reply, page in pages:
            if page is not None:
                reply(page)
        if waiting and not self._is_scheduled:
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
