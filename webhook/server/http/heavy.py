"""Answers heavy reviews in worker processes, which end at the deadline.

The weight of a review is estimated before it is parsed: from its length, and from the recent cost of policies per byte.
Measured in one process with all rules and the policy library: a valid ResourceSlice of 128 devices takes 15 to 25 ms
with 0.13 to 1.5 MB, which is at most 150 ns per byte; pods take 4 to 60; a policy's expressions take about 0.2 us for
each unit of CEL's cost. Costs do not depend on the load of the machine, seconds do.

There are two lanes. Long reviews start in the short lane, where each has half a second. Reviews that take longer there,
or longer on the event loop than their length explains, go to the long lane, where they have all of the caller's time,
and only reviews like them wait.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import Protocol

from webhook.server.bounded import BoundedLog
from webhook.server.http.framing import LENGTHS, Task, read_answer, write_task
from webhook.server.http.turns import Turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Final

    from webhook.admission import Answer, Call
    from webhook.server.http.turns import Key

SHORT: Final = 0.5
"""The seconds that a heavy review may take in the short lane."""
HEAVY_LIMIT: Final = 32
"""The number of reviews that may wait in each lane."""

_SECONDS_PER_BYTE: Final = 150e-9
_SECONDS_PER_COST: Final = 0.2e-6
_FADING: Final = 0.9
"""How much of the highest cost remains after another review: it fades within some dozens, so that one slows few."""
_HEAVY: Final = 0.01
"""The seconds for which one review may block all others."""
_log = BoundedLog(logging.getLogger(__name__))


class FullError(Exception):
    """The queue of heavy reviews is full, and others take precedence."""


class Workers(Protocol):
    """Makes processes that answer reviews."""

    @property
    def generation(self) -> Callable[[], int]:
        """Returns a number that changes when earlier processes are out of date."""

    def fork(self) -> socket.socket:
        """Make a process; return the socket through which it takes tasks.

        Raises:
            OSError: None can be made.
        """

    def look(self) -> None:
        """Notice if no process can be made any more."""


class Weights:
    """Detects heavy reviews by their length and the cost of others."""

    def __init__(self) -> None:
        self._cost_per_byte = 0.0

    def seconds(self, length: int) -> float:
        """Estimate the seconds that a review takes.

        Args:
            length: Its bytes.
        """
        return length * (_SECONDS_PER_BYTE + self._cost_per_byte * _SECONDS_PER_COST)

    def is_heavy(self, length: int) -> bool:
        """Estimate whether a review would block others for long.

        Args:
            length: Its bytes.
        """
        return length * (_SECONDS_PER_BYTE + self._cost_per_byte * _SECONDS_PER_COST) > _HEAVY

    def learn(self, length: int, cost: int) -> None:
        """Record the cost of a review, in CEL's units.

        Args:
            length: Its bytes.
            cost: The cost of its policies.
        """
        faded, present = self._cost_per_byte * _FADING, cost / length
        self._cost_per_byte = max(faded, present)


class Job:
    """A review that waits for its answer.

    Args:
        body: The review.
        call: How the webhook was called.
        deadline: The deadline of the answer, in seconds of ``time.monotonic()``.
        key: Its owner.
        seconds: The estimated seconds that it takes.
    """

    def __init__(self, body: bytes, call: Call, deadline: float, key: Key, seconds: float) -> None:
        self.body = body
        self.call = call
        self.deadline = deadline
        self.key = key
        self.seconds = seconds
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()


class Heavy:
    """Answers heavy reviews.

    Args:
        workers: Makes processes that answer them.
        limit: The number of reviews that may wait in each lane.
    """

    def __init__(self, workers: Workers, limit: int = HEAVY_LIMIT) -> None:
        self.look = workers.look
        self._long = _Lane(workers, limit, float("inf"), None)
        self._short = _Lane(workers, limit, SHORT, self._long)

    @property
    def waiting(self) -> int:
        """The number of waiting reviews, including those being answered."""
        return self._short.count + self._long.count

    @property
    def ended(self) -> int:
        """The number of processes that were killed during a review."""
        return self._short.ended + self._long.ended

    def start(self) -> None:
        """Begin, on the running event loop."""
        for lane in (self._short, self._long):
            lane.start()

    def stop(self) -> None:
        """End."""
        for lane in (self._short, self._long):
            lane.stop()

    async def answer(self, job: Job, *, is_long: bool) -> Answer:
        """Answer a review.

        Args:
            job: The review.
            is_long: Whether it is known to take long.

        Raises:
            FullError: The queue is full.
            TimeoutError: It takes too long.
        """
        (self._long if is_long else self._short).put(job)
        try:
            return await asyncio.wait_for(job.answer, job.deadline - time.monotonic())
        finally:
            job.body = b""  # the lane may still hold the job


class _Lane:
    """A process that answers one review after the other, and its queue.

    Args:
        workers: Makes such processes.
        limit: The number of reviews that may wait.
        seconds: The seconds that each may take.
        further: The lane for reviews that take longer.
    """

    def __init__(self, workers: Workers, limit: int, seconds: float, further: _Lane | None) -> None:
        self._workers = workers
        self._limit = limit
        self._seconds = seconds
        self._further = further
        self._waiting = Turns[Job]()
        self._some = asyncio.Event()
        self._worker: _Worker | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_busy = False
        self.ended = 0

    @property
    def count(self) -> int:
        return len(self._waiting) + self._is_busy

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work())

    def stop(self) -> None:
        if self._task:
            self._task.cancel()
        self._forget()

    def put(self, job: Job) -> None:
        self._waiting.put(job.key, job.seconds, job)
        if len(self._waiting) > self._limit:
            last = self._waiting.drop()
            if not last.answer.done():
                last.answer.set_exception(FullError())
        self._some.set()

    async def _work(self) -> None:
        with suppress(OSError):
            await self._connected()  # ahead of the first review
        while True:
            await self._some.wait()
            while self._waiting:
                job = self._waiting.pop()
                if job.answer.done():
                    continue
                self._is_busy = True
                started = time.monotonic()
                try:
                    await self._do(job)
                finally:
                    self._is_busy = False
                    self._waiting.charge(job.key, time.monotonic() - started)
            self._some.clear()

    async def _do(self, job: Job) -> None:
        end = min(job.deadline, time.monotonic() + self._seconds)
        try:
            worker = await self._connected()
            async with asyncio.timeout(max(0.0, end - time.monotonic())):
                answer, is_last = await worker.answer(job, end)
        except (OSError, EOFError, TimeoutError) as error:
            self._forget()
            self.ended += 1
            if self._further and end < job.deadline and not job.answer.done():
                self._further.put(job)
            elif not job.answer.done():
                _log.warning("a process was ended with the review that it had, at the end of its time (%r)", error)
                job.answer.set_exception(TimeoutError())
            with suppress(OSError):
                await self._connected()
        else:
            if is_last:
                self._forget()
            if not job.answer.done():
                job.answer.set_result(answer)

    async def _connected(self) -> _Worker:
        generation = self._workers.generation()
        if self._worker and (self._worker.generation != generation or self._worker.is_gone):
            self._forget()
        if self._worker is None:
            reader, writer = await asyncio.open_unix_connection(sock=self._workers.fork())
            self._worker = _Worker(reader, writer, generation)
        return self._worker

    def _forget(self) -> None:
        if self._worker:
            self._worker.close()
            self._worker = None


class _Worker:
    """A process that answers reviews, one at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, generation: int) -> None:
        self._reader = reader
        self._writer = writer
        self.generation = generation

    @property
    def is_gone(self) -> bool:
        """Whether it ended between two reviews."""
        return self._reader.at_eof()

    async def answer(self, job: Job, end: float) -> tuple[Answer, bool]:
        """Answer a review; return whether it was the last, too.

        Raises:
            OSError: The process has ended.
            EOFError: The same.
        """
        task = Task(job.call.endpoint, job.call.fail_open, job.deadline, end)
        self._writer.write(write_task(task, job.body))
        self._writer.write(job.body)
        lengths = LENGTHS.unpack(await self._reader.readexactly(LENGTHS.size))
        head, body = [await self._reader.readexactly(length) for length in lengths]
        return read_answer(head, body)

    def close(self) -> None:
        self._writer.transport.abort()
