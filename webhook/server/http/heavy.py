"""Answers heavy reviews in worker processes, which end at the deadline.

How heavy a review is must be known before it is read, so it is estimated: by its length, and by what policies took of
late for each byte of others. Measured in one process with all rules and the policy library: a valid ResourceSlice of
128 devices takes 15 to 25 ms whether it has 0.13 or 1.5 MB, which is 150 ns a byte for the densest; pods 4 to 60; a
policy's expressions about 0.2 us for each unit of CEL's cost. Costs are the same on a busy machine, seconds are not.

Long ones go the first way, and are soon done if they are what they seem. What takes longer there, or has taken longer
on the event loop than its length explains, goes the second way, where it has all of its caller's time, and only others
like it wait.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from webhook.server.bounded import BoundedLog
from webhook.server.http.framing import LENGTHS, Task, read_answer, write_task
from webhook.server.http.turns import Turns

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from webhook.admission import Answer, Call
    from webhook.server.http.turns import Key

SHORT: Final = 0.5
"""The seconds that a heavy review may take the first way."""
HEAVY_LIMIT: Final = 32
"""How many reviews may wait on each way."""

_SECONDS_PER_BYTE: Final = 150e-9
_SECONDS_PER_COST: Final = 0.2e-6
_FADING: Final = 0.9
"""How much of the most expensive review is remembered after another one: some dozens, so that one alone slows few."""
_HEAVY: Final = 0.01
"""The seconds for which one review may keep all others waiting."""
_log = BoundedLog(logging.getLogger(__name__))


class FullError(Exception):
    """The queue of heavy reviews is full, and others take precedence."""


class Judges(Protocol):
    """Makes processes that answer reviews."""

    @property
    def generation(self) -> Callable[[], int]:
        """Returns a number that changes when earlier processes are out of date."""

    def fork(self) -> socket.socket:
        """Make a process; return the socket through which it takes tasks.

        Raises:
            OSError: None can be made.
        """


class Weights:
    """Detects heavy reviews by their length and the cost of others."""

    def __init__(self) -> None:
        self._cost_per_byte = 0.0

    def seconds(self, length: int) -> float:
        """Estimate how long a review takes.

        Args:
            length: Its bytes.
        """
        return length * (_SECONDS_PER_BYTE + self._cost_per_byte * _SECONDS_PER_COST)

    def is_heavy(self, length: int) -> bool:
        """Estimate whether a review would keep others waiting for long.

        Args:
            length: Its bytes.
        """
        return self.seconds(length) > _HEAVY

    def learn(self, length: int, cost: int) -> None:
        """Record the cost of a review, in CEL's units.

        Args:
            length: Its bytes.
            cost: What evaluating policies has cost.
        """
        self._cost_per_byte = max(self._cost_per_byte * _FADING, cost / length)


class Job:
    """A review that waits for its answer.

    Args:
        body: The review.
        call: How the webhook was called.
        deadline: When the answer must be there, in seconds of ``time.monotonic()``.
        key: Whose it is.
        seconds: About how long it takes.
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
        judges: Makes processes that answer them.
        limit: How many may wait on each way.
    """

    def __init__(self, judges: Judges, limit: int = HEAVY_LIMIT) -> None:
        self._long = _Way(judges, limit, float("inf"), None)
        self._short = _Way(judges, limit, SHORT, self._long)

    @property
    def waiting(self) -> int:
        """The number of waiting reviews, including those being answered."""
        return self._short.count + self._long.count

    @property
    def ended(self) -> int:
        """How many processes were ended with the review that they had."""
        return self._short.ended + self._long.ended

    def start(self) -> None:
        """Begin, on the running event loop."""
        for way in (self._short, self._long):
            way.start()

    def stop(self) -> None:
        """End."""
        for way in (self._short, self._long):
            way.stop()

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
            job.body = b""  # where it still waits, it needs no room any more


class _Way:
    """A process that answers one review after the other, and its queue.

    Args:
        judges: Makes such processes.
        limit: How many reviews may wait.
        seconds: How long each may take.
        further: Where those go that take longer.
    """

    def __init__(self, judges: Judges, limit: int, seconds: float, further: _Way | None) -> None:
        self._judges = judges
        self._limit = limit
        self._seconds = seconds
        self._further = further
        self._waiting = Turns[Job]()
        self._some = asyncio.Event()
        self._judge: _Judge | None = None
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
            await self._connected()  # before it is needed
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
            judge = await self._connected()
            async with asyncio.timeout(max(0.0, end - time.monotonic())):
                answer, is_last = await judge.answer(job, end)
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

    async def _connected(self) -> _Judge:
        generation = self._judges.generation()
        if self._judge and (self._judge.generation != generation or self._judge.is_gone):
            self._forget()
        if self._judge is None:
            reader, writer = await asyncio.open_unix_connection(sock=self._judges.fork())
            self._judge = _Judge(reader, writer, generation)
        return self._judge

    def _forget(self) -> None:
        if self._judge:
            self._judge.close()
            self._judge = None


class _Judge:
    """A process that answers reviews, one at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, generation: int) -> None:
        self._reader = reader
        self._writer = writer
        self.generation = generation

    @property
    def is_gone(self) -> bool:
        """Whether it has ended between two reviews."""
        return self._reader.at_eof()

    async def answer(self, job: Job, end: float) -> tuple[Answer, bool]:
        """Answer a review; say whether it was the last.

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
