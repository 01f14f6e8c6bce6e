"""Answers heavy reviews in processes that the kernel ends at the deadline.

The process that serves has threads, connections and the key of its certificate, so it cannot fork. Before it has any of
these, it forks a nursery, whose only work is to fork on request. A process of the nursery shares unchanged memory,
starts within milliseconds, and answers one review after the other; an alarm ends even code in C that holds every lock.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import logging
import os
import resource
import signal
import socket
import struct
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any, NamedTuple, NoReturn
from weakref import WeakSet

import msgspec.msgpack
from msgspec.structs import replace

from webhook.admission import Answer, Call, Record
from webhook.logs import shortened
from webhook.memory import bound, keep
from webhook.objects import text

_TOGETHER = 2
"""The reviews that are answered at a time; the chart grants 512 MiB."""
_WAITING = 64
"""The reviews that may wait, those that are being answered included."""
_LONG = 0.25
"""The processor time from which a review takes long, ten times that of a slice of 1.5 MB."""
_BYTES = 1 << 26
"""The bytes that these may have."""
_ROOM = 128 << 20
"""The bytes that a process may take beside what it shares: twice the need of the largest review."""
_GROWTH = 64 << 20
"""The bytes from which it is replaced once it has answered."""
_EARLIER = 0.05
"""How many seconds before its deadline a review ends by itself, as far as it looks at the clock."""
_NICE = 10
"""The niceness of these processes: others come first where processors are scarce."""
_LONGEST = 1000
"""The characters of a request's text that metrics and the log may need."""
_LENGTH = struct.Struct("!I")
_FORK, _RENEW = b"f", b"r"
_log = logging.getLogger(__name__)


class FullError(Exception):
    """Too many heavy reviews are waiting."""


class Lane:
    """The heavy reviews, answered in the order in which they came.

    Args:
        forks: Makes the processes.
    """

    def __init__(self, forks: Forks) -> None:
        self.forks = forks
        self._free = asyncio.Semaphore(_TOGETHER)
        self._long: WeakSet[object] = WeakSet()
        """The clients whose last review took long; of theirs one is tried at a time (``selectors-padded``)."""
        self._try_free, self._long_free = asyncio.Semaphore(1), asyncio.Semaphore(1)
        self._idle: list[_Process] = []
        self._bytes = 0
        self.count = 0
        """The number of reviews that wait, those that are being answered included."""
        self.ended = 0
        """The number of processes that had to be ended."""

    @property
    def is_free(self) -> bool:
        """Whether a review need not wait."""
        return self.count < _TOGETHER

    async def answer(self, body: bytes, call: Call, client: object) -> tuple[Answer, float]:
        """Answer a review; return the seconds of processor time that this took, too.

        It is tried for a short time first. One that takes long begins anew, alone among its like, so that a short one
        always finds a process soon (``failing_open``).

        Raises:
            FullError: Too many wait.
            TimeoutError: It takes too long, or more memory than it may.
            OSError: No process can be made.
        """
        share = 2 if client in self._long else 1  # the rest is for others
        if share * self.count >= _WAITING or share * (self._bytes + len(body)) > _BYTES:
            raise FullError("too many heavy reviews are waiting")
        self.count += 1
        self._bytes += len(body)
        try:
            async with asyncio.timeout((call.deadline or 0.0) - time.monotonic()):
                with suppress(EOFError, ConnectionError):
                    async with self._try_free if client in self._long else nullcontext(), self._free:
                        answered = await self._ask(body, call, _LONG)
                    self._long.discard(client)
                    return answered
                self._long.add(client)
                async with self._long_free, self._free:
                    return await self._ask(body, call)
        except (EOFError, ConnectionError) as error:
            raise TimeoutError("a process was ended with the review that it had") from error
        finally:
            self.count -= 1
            self._bytes -= len(body)

    def close(self) -> None:
        """End the processes that wait for reviews."""
        while self._idle:
            self._idle.pop().end()

    async def _ask(self, body: bytes, call: Call, most: float = 0.0) -> tuple[Answer, float]:
        """Let a process answer a review within some processor time; 0 for any."""
        process = await self._process()
        try:
            process.writer.write(_framed(_encode((call, most, body))))
            (length,) = _LENGTH.unpack(await process.reader.readexactly(_LENGTH.size))
            answer, seconds, is_last = read_answer(await process.reader.readexactly(length))
        except BaseException:
            if not most or time.monotonic() > (call.deadline or 0.0) - _EARLIER:
                self.ended += 1
            process.end()
            raise
        if is_last:
            process.end()
        else:
            self._idle.append(process)
        return answer, seconds

    async def _process(self) -> _Process:
        generation = self.forks.generation()
        while self._idle:
            process = self._idle.pop()
            if process.generation == generation and not process.reader.at_eof():
                return process
            process.end()
        return _Process(*await asyncio.open_unix_connection(sock=self.forks.fork()), generation)


class _Process(NamedTuple):
    """A process that answers reviews, as the lane sees it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    generation: int

    def end(self) -> None:
        """End it."""
        self.writer.transport.abort()


class Forks:
    """Makes processes with the same policies as this one; make it before there are threads, keys or connections.

    Args:
        review: Answers the body of a review, given how the webhook was called.
        renew: Reads the files again, in the process that calls it.
        generation: Returns a number that changes whenever this process has reloaded files.
    """

    def __init__(
        self,
        review: Callable[[bytes, Call], Answer],
        renew: Callable[[], object] = lambda: None,
        generation: Callable[[], int] = lambda: 0,
    ) -> None:
        self.generation = generation
        self._forked_at = generation()
        self._has_stopped = False
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        keep()
        with theirs:
            self._nursery = os.fork()
            if self._nursery == 0:
                self._control.close()
                _as_child(lambda: _fork_on_request(theirs, review, renew))
        self._control.settimeout(0)

    def fork(self) -> socket.socket:
        """Make a process; return the socket through which it takes a review.

        Raises:
            OSError: The nursery has ended, or is too busy.
        """
        if (now := self.generation()) != self._forked_at:
            self._control.send(_RENEW)
            self._forked_at = now
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [_FORK], [theirs.fileno()])
        except OSError:
            ours.close()
            raise
        return ours

    def look(self) -> None:
        """Stop this process, to be restarted, if the nursery has ended; call it each second."""
        try:
            is_gone = os.waitpid(self._nursery, os.WNOHANG)[0] != 0
        except ChildProcessError:  # SIGCHLD was ignored when draguard was started
            is_gone = True
        if is_gone and not self._has_stopped:  # a second signal would end reviews, too
            self._has_stopped = True
            _log.critical("the process that forks others is gone: stopping, to be restarted")
            os.kill(os.getpid(), signal.SIGTERM)

    def close(self) -> None:
        """End the nursery, and all that it has forked."""
        self._control.close()
        with suppress(ChildProcessError):
            os.waitpid(self._nursery, 0)


def _as_child(work: Callable[[], None]) -> NoReturn:
    """Run a function in a process that was just forked, and exit."""
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_IGN)  # the parent decides on these; children are reaped automatically
        signal.set_wakeup_fd(-1)
        faulthandler.disable()
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - whatever the error, the parent's code must not go on here
        _log.exception("a process for heavy reviews has failed")
    finally:
        logging.shutdown()
        os._exit(code)


def _fork_on_request(
    control: socket.socket, review: Callable[[bytes, Call], Answer], renew: Callable[[], object]
) -> None:
    """Fork until the other end is closed, then kill all."""
    os.setsid()  # a group of its own, which a terminal's signals do not reach
    _warm_up(review)
    while True:
        command, files, _, _ = socket.recv_fds(control, 1, 1)
        if command == _RENEW:
            renew()
            _warm_up(review)
        elif command == _FORK:
            with socket.socket(fileno=files[0]) as connection:
                if os.fork() == 0:
                    control.close()
                    _as_child(lambda: _answer(connection, review))
        else:
            os.killpg(0, signal.SIGKILL)


def _warm_up(review: Callable[[bytes, Call], Answer]) -> None:
    """Answer a review of each usual kind, so that a forked process need not compile their types and policies first."""
    for kind, version, spec in _SAMPLES:
        group, _, of_group = version.rpartition("/")
        named = {"group": group, "version": of_group}
        request = {
            "uid": "a",
            "operation": "CREATE",
            "kind": named | {"kind": kind},
            "resource": named | {"resource": f"{kind.lower()}s"},
            "object": {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spec},
            "userInfo": {},
        }
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        review(json.dumps(body).encode(), Call("validate"))
    keep()


_EXPRESSION = "''.matches('a') && device.driver == 'a'"
_EXACTLY = {"deviceClassName": "a", "selectors": [{"cel": {"expression": _EXPRESSION}}]}
_DEVICE = {"name": "a", "attributes": {"a": {"int": 1}}, "capacity": {"a": {"value": "1"}}}
_SAMPLES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("Pod", "v1", {"containers": [], "resourceClaims": []}),
    ("ResourceClaim", "resource.k8s.io/v1", {"devices": {"requests": [{"name": "a", "exactly": _EXACTLY}]}}),
    ("ResourceSlice", "resource.k8s.io/v1", {"devices": [_DEVICE]}),
)


def _answer(connection: socket.socket, review: Callable[[bytes, Call], Answer]) -> None:
    """Answer reviews until the other end is closed, or one exceeds its memory, which is then answered there."""
    os.nice(_NICE)
    bound(_ROOM)
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)
    before, is_last = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, False
    with connection.makefile("rb") as file, suppress(ConnectionError, MemoryError):
        while not is_last and (length := file.read(_LENGTH.size)):
            call, most, body = _read_question(file.read(*_LENGTH.unpack(length)))
            deadline = call.deadline or 0.0
            signal.setitimer(signal.ITIMER_REAL, max(deadline - time.monotonic(), 1e-6))
            signal.setitimer(signal.ITIMER_PROF, most)
            began = time.process_time()
            answer = review(body, replace(call, deadline=deadline - _EARLIER))
            is_last = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10 > _GROWTH
            signal.setitimer(signal.ITIMER_PROF, 0)
            connection.sendall(_framed(write_answer(answer, time.process_time() - began, is_last=is_last)))
            signal.setitimer(signal.ITIMER_REAL, 0)
            del body, answer


# What the processes say to each other: data, never code


_encode = msgspec.msgpack.Encoder().encode
_read_question = msgspec.msgpack.Decoder(tuple[Call, float, bytes]).decode
read_answer = msgspec.msgpack.Decoder(tuple[Answer, float, bool]).decode


def _framed(data: bytes) -> bytes:
    return _LENGTH.pack(len(data)) + data


def write_answer(answer: Answer, seconds: float, *, is_last: bool) -> bytes:
    """Write an answer with its record for metrics and logs, never the object.

    Args:
        seconds: The processor time that it took.
        is_last: Whether the process ends now.
    """
    record = answer.record
    return _encode((replace(answer, record=record and replace(record, request=_shown(record))), seconds, is_last))


def _shown(record: Record) -> dict[str, Any]:
    """Return the part of a request that is recorded; a client may state texts of any length."""
    kind, group, version = record.kind
    texts = {
        "uid": record.uid,
        "operation": record.operation,
        "subResource": text(record.request, "subResource"),
        "namespace": record.namespace,
        "name": record.name,
        "kind": {"kind": kind, "group": group, "version": version},
        "resource": {name: text(record.request, "resource", name) for name in ("group", "resource")},
        "userInfo": {"username": record.user},
    }
    shown: dict[str, Any] = shortened(texts, _LONGEST)
    return shown | {"dryRun": record.dry_run}
