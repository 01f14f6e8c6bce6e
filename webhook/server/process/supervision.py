"""Looks after processes that do the same work: starts them, replaces those that die or hang, ends them in peace.

A worker and its supervisor hold the two ends of a socket. The worker sends a beat each second; a byte that the
supervisor sends tells the worker how to end, and if the socket closes, the supervisor is no more. So a signal to the
whole process group, as terminals and some service managers send it, counts once.

What a worker has in flight when it is killed is lost: its connections are closed, and an API server does not send a
review again that may have been read, but follows its ``failurePolicy``. Nobody else's connections are touched.
"""

from __future__ import annotations

import faulthandler
import gc
import logging
import os
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from webhook.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType

ALIVE: Final = b"."
LEAVING: Final = b"-"
"""What a worker sends: each second while it works, and once when it has been told to end by somebody else."""
RETIRE: Final = b"r"
STOP: Final = b"s"
INTERRUPT: Final = b"i"
"""What a supervisor sends: end, since others go on; end, since all do; end at once."""

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_LIVED: Final = 1.0
"""Seconds after its start from when on a worker's death is an accident, not a flaw of what it was given."""
_STILLBORN_LIMIT: Final = 5
_LONGEST_PAUSE: Final = 10.0
_STANDARD_ERROR: Final = 2
_log = logging.getLogger(__name__)


class WorkersError(Exception):
    """Workers die as soon as they are started; the message says what to look for."""


@dataclass(eq=False)
class _Worker:
    number: int
    pid: int
    lifeline: socket.socket
    began: float = field(default_factory=time.monotonic)
    ready: bool = False
    leaving: bool = False
    silent: int = 0


class Supervisor:
    """Keeps a number of workers at work until a signal comes.

    SIGTERM and SIGINT end them and, once they have ended, the supervisor; a second one ends all at once. SIGHUP
    replaces one after the other, each by one that is ready before the old one is told to end.

    Args:
        work: What they do until a byte comes through their end of the socket, the second argument. The first is their
            number, the smallest that no other living worker has.
        workers: How many.
        end_seconds: How long they may take to end after they were told.
        each_second: Called each second in this process, and before a worker is started.
        ready: Called once, when all of them are ready.
        lost: Called with the number of each worker that has ended.
        silent_seconds: How long a worker may send no beat until it is taken to hang; the default is the longest that an
            API server waits for an answer.
    """

    def __init__(
        self,
        work: Callable[[int, socket.socket], None],
        workers: int,
        *,
        end_seconds: float,
        each_second: Iterable[Callable[[], None]] = (),
        ready: Callable[[], None] = lambda: None,
        lost: Callable[[int], None] = lambda _number: None,
        silent_seconds: int = 30,
    ) -> None:
        self._work = work
        self._count = workers
        self._end_seconds = end_seconds
        self._each_second = tuple(each_second)
        self._ready = ready
        self._lost = lost
        self._silent_seconds = silent_seconds
        self._workers: list[_Worker] = []
        self._outdated: list[_Worker] = []
        self._stillborn = 0
        self._start_at = 0.0
        self._end_at: float | None = None
        self._told_ready = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Supervise, from the main thread of a process without others.

        Raises:
            WorkersError: Workers die as soon as they are started.
        """
        awake, wake = socket.socketpair()
        with awake, wake, self._selector:
            for end in (awake, wake):
                end.settimeout(0)
            self._selector.register(awake, selectors.EVENT_READ)
            before = {number: signal.signal(number, _ignore) for number in _SIGNALS}
            waking = signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
            try:
                self._supervise(awake)
            finally:
                signal.set_wakeup_fd(waking)
                for number, handler in before.items():
                    signal.signal(number, handler)
                for worker in self._workers:
                    _kill(worker, signal.SIGKILL)
                    os.waitpid(worker.pid, 0)
                    self._bury(worker)

    def _supervise(self, awake: socket.socket) -> None:
        ticked = 0.0
        while self._end_at is None or self._workers:
            now = time.monotonic()
            if now - ticked >= 1:
                ticked = now
                self._tick()
            self._fill()
            for key, _ in self._selector.select(min(1.0, max(0.0, self._start_at - now)) or 1.0):
                if key.data is None:
                    for number in awake.recv(4096):
                        self._told(signal.Signals(number))
                elif key.data in self._workers:
                    self._listen(key.data)
            self._reap()

    def _tick(self) -> None:
        for call in self._each_second:
            call()
        for worker in self._workers:
            worker.silent += 1  # in ticks, not seconds: a machine that was halted has halted the worker, too
            if worker.silent == self._silent_seconds:
                _log.error("worker %d (process %d) hangs: ending it; where it is follows", worker.number, worker.pid)
                _kill(worker, signal.SIGABRT)
            elif worker.silent > self._silent_seconds:
                _kill(worker, signal.SIGKILL)
        if self._end_at is not None and time.monotonic() > self._end_at:
            for worker in self._workers:
                _log.error("worker %d (process %d) does not end: killing it", worker.number, worker.pid)
                _kill(worker, signal.SIGKILL)

    def _fill(self) -> None:
        """Start workers that are missing, or one in the place of one that is outdated."""
        if self._end_at is not None:
            return
        staying = [worker for worker in self._workers if not worker.leaving]
        missing = self._count - len(staying)
        ready = all(worker.ready for worker in staying)
        if missing == 0 and ready and not self._told_ready:
            self._told_ready = True
            self._ready()
        self._outdated = [worker for worker in self._outdated if worker in staying]
        if missing < 0 and ready and self._outdated:
            self._dismiss(self._outdated[0], RETIRE)
        elif time.monotonic() >= self._start_at:
            if missing == 0 and ready and self._outdated and len(self._workers) == self._count:
                missing = 1
            for _ in range(missing):
                try:
                    self._start()
                except OSError as error:  # no process or no file is to be had now; the other workers go on
                    _log.error("no worker can be started: %s: trying again", error.strerror)
                    self._start_at = time.monotonic() + 1
                    return

    def _start(self) -> None:
        for call in self._each_second:
            call()
        taken = {worker.number for worker in self._workers}
        number = next(number for number in range(len(taken) + 1) if number not in taken)
        own, theirs = socket.socketpair()
        for end in (own, theirs):
            end.settimeout(0)
        keep()
        sys.stdout.flush()
        sys.stderr.flush()
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            pid = os.fork()
            if pid == 0:
                own.close()
                self._become(number, theirs)
        except OSError:
            own.close()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            theirs.close()
        worker = _Worker(number, pid, own)
        self._workers.append(worker)
        self._selector.register(own, selectors.EVENT_READ, worker)

    def _become(self, number: int, lifeline: socket.socket) -> None:
        """Be a worker, and nothing of what this process has been."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for each in _SIGNALS:
                signal.signal(each, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # meant for the supervisor
            self._selector.close()
            for worker in self._workers:
                worker.lifeline.close()
            faulthandler.enable(_STANDARD_ERROR)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            self._work(number, lifeline)
            code = 0
        except ServerError as error:
            _log.error("worker %d cannot work: %s", number, error)
        except BaseException:  # noqa: BLE001 - whatever it is, the code that follows the supervisor's must not run here
            _log.exception("worker %d has failed", number)
        finally:
            logging.shutdown()
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(code)

    def _listen(self, worker: _Worker) -> None:
        beats = received(worker.lifeline)
        if beats is None:
            return
        if not beats:  # it has ended, or is about to
            self._selector.unregister(worker.lifeline)
            return
        worker.silent = 0
        worker.leaving |= LEAVING in beats
        if not worker.ready:
            worker.ready = True
            _log.info("worker %d (process %d) is ready", worker.number, worker.pid)

    def _told(self, number: signal.Signals) -> None:
        if number == signal.SIGHUP:
            _log.info("told by %s to replace the workers, one after the other", number.name)
            self._outdated = list(self._workers)
            self._stillborn = 0
        elif number != signal.SIGCHLD:
            if self._end_at is not None:
                self._abandon(number)
            _log.info("told to stop by %s", number.name)
            self._end_at = time.monotonic() + self._end_seconds
            for worker in self._workers:
                self._dismiss(worker, INTERRUPT if number == signal.SIGINT else STOP)

    def _abandon(self, number: signal.Signals) -> None:
        for worker in self._workers:
            _kill(worker, signal.SIGKILL)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
        os._exit(128 + number)  # the first process of a container is not killed by its own signals

    def _dismiss(self, worker: _Worker, how: bytes) -> None:
        worker.leaving = True
        with suppress(OSError):
            worker.lifeline.send(how)

    def _reap(self) -> None:
        """See who has ended, strangers included that the first process of a container inherits."""
        for pid, status in _ended():
            for worker in tuple(self._workers):
                if worker.pid == pid:
                    self._workers.remove(worker)
                    self._bury(worker)
                    self._judge(worker, status)

    def _bury(self, worker: _Worker) -> None:
        with suppress(KeyError):
            self._selector.unregister(worker.lifeline)
        worker.lifeline.close()
        self._lost(worker.number)

    def _judge(self, worker: _Worker, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        if worker.leaving and code == 0:
            _log.info("worker %d (process %d) has ended", worker.number, worker.pid)
            return
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        _log.error("worker %d (process %d) has ended %s", worker.number, worker.pid, how)
        if self._end_at is not None:
            return
        now = time.monotonic()
        if worker.ready and now - worker.began >= _LIVED:
            self._stillborn = 0
            return
        self._stillborn += 1
        if self._stillborn >= _STILLBORN_LIMIT:
            if not any(each.ready for each in self._workers):
                message = f"{self._stillborn} workers one after the other have ended {how} at once: the log says why"
                raise WorkersError(message)
            if self._outdated:
                _log.error("new workers end at once: those from before stay")
                self._outdated.clear()
        self._start_at = now + min(_LONGEST_PAUSE, 0.05 * 2**self._stillborn)


def keep() -> None:
    """Let the garbage collector pass over what there is by now: rules, policies, modules.

    What it touches, each worker would have to copy. And a body of 1.4 MB of small maps is decoded in 18 ms, not in 27
    to 50; a review of 5 KB takes as long as before, and a higher threshold helps neither.
    """
    gc.collect()
    gc.freeze()


def received(lifeline: socket.socket) -> bytes | None:
    """Return what the other end has sent: nothing if it is closed, None if it may still send something."""
    try:
        return lifeline.recv(4096)
    except BlockingIOError:
        return None
    except ConnectionResetError:  # it has not read everything
        return b""


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Let the signal wake the supervisor, and nothing else."""


def _kill(worker: _Worker, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(worker.pid, number)


def _ended() -> Iterator[tuple[int, int]]:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status
