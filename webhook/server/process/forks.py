"""Worker processes for heavy reviews, forked without threads or keys.

This process cannot fork: it has threads, connections and the key of its certificate. So before it has any of these, it
forks a nursery, whose only work is to fork workers on request. A worker shares unchanged memory, starts within
milliseconds, answers one review after the other through a socket, and is killed by the kernel at the end of a review's
time: that ends even code in C that holds every lock. Only the process at the other end of the socket notices.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import resource
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

from webhook.admission import Call
from webhook.server.http.framing import LENGTHS, read_task, write_answer
from webhook.server.keeping import keep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, NoReturn

    from webhook.admission import Answer

_FORK: Final = b"f"
_FOLLOW: Final = b"r"
_ROOM: Final = 128 << 20
"""Bytes that a worker may take beside shared memory: twice the need of the largest review; with two workers the webhook
stays below the chart's 512 MiB."""
_GROWTH: Final = 64 << 20
"""Bytes after which a worker is replaced once it has answered."""
_NICE: Final = 10
"""The niceness of workers: heavy reviews yield to all others when processors are scarce."""
_EARLIER: Final = 0.05
"""Seconds before the deadline when a worker answers by the failure policy, as far as it looks at the clock."""
_log = logging.getLogger(__name__)


class Forks:
    """Makes workers with the same policies as this process.

    Make it before there are threads, keys or connections, which workers would inherit.

    Args:
        review: Answers the body of a review, given how the webhook was called.
        follow: Reloads changed files in the process that calls it.
        generation: Returns a number that changes whenever this process has reloaded files.
    """

    def __init__(
        self,
        review: Callable[[bytes, Call], Answer],
        follow: Callable[[], None] = lambda: None,
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
                _as_child(lambda: _fork_workers(theirs, review, follow))
        self._control.settimeout(0)

    def fork(self) -> socket.socket:
        """Make a worker; return the socket through which it takes tasks.

        Raises:
            OSError: The nursery has ended, or is too busy.
        """
        if (now := self.generation()) != self._forked_at:
            self._control.send(_FOLLOW)
            self._forked_at = now
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self._control, [_FORK], [theirs.fileno()])
        except OSError as error:
            ours.close()
            if isinstance(error, ConnectionError):
                self._stop()
            raise
        return ours

    def look(self) -> None:
        """Stop this process, to be restarted, if the nursery has ended; call it each second."""
        try:
            is_gone = not self._control.recv(1, socket.MSG_PEEK)  # it sends nothing
        except BlockingIOError:
            return
        except OSError:
            is_gone = True
        if is_gone:
            self._stop()

    def _stop(self) -> None:
        if not self._has_stopped:  # a second signal would end reviews, too
            self._has_stopped = True
            _log.critical("the process that forks others is gone: stopping, to be restarted")
            os.kill(os.getpid(), signal.SIGTERM)

    def close(self) -> None:
        """End the nursery, and all workers."""
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
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        faulthandler.disable()
        work()
        code = 0
    except BaseException:  # noqa: BLE001 - whatever the error, the parent's code must not continue here
        _log.exception("a process for heavy reviews has failed")
    finally:
        logging.shutdown()
        os._exit(code)


def _fork_workers(control: socket.socket, review: Callable[[bytes, Call], Answer], follow: Callable[[], None]) -> None:
    """Fork workers until the other end is closed, then kill them all."""
    os.setsid()  # a group of its own, which a terminal's signals do not reach
    while True:
        command, files, _, _ = socket.recv_fds(control, 1, 1)
        if command == _FOLLOW:
            follow()
            keep()
        elif command == _FORK:
            with socket.socket(fileno=files[0]) as connection:
                if os.fork() == 0:
                    control.close()
                    _as_child(lambda: _worker(connection, review))
        else:
            os.killpg(0, signal.SIGKILL)


def _worker(connection: socket.socket, review: Callable[[bytes, Call], Answer]) -> None:
    """Answer reviews until the other end is closed."""
    os.nice(_NICE)
    _bound_memory()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    while True:
        try:
            heads, bodies = LENGTHS.unpack(_received(connection, LENGTHS.size))
            task = read_task(_received(connection, heads))
            body = _received(connection, bodies)
            signal.setitimer(signal.ITIMER_REAL, max(task.end - time.monotonic(), 1e-6))
            call = Call(task.endpoint, task.fail_open, task.deadline - _EARLIER)
            answer = review(bytes(body), call)
            is_last = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10 > _GROWTH
            connection.sendall(write_answer(answer, is_last=is_last))
        except (EOFError, ConnectionError):
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        if is_last:
            return
        del body, answer


def _bound_memory() -> None:
    """Let allocations beyond a limit fail here rather than in the process that serves all clients."""
    with suppress(OSError, ValueError, IndexError):
        data = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (data + _ROOM, most))


def _received(connection: socket.socket, length: int) -> bytearray:
    """Receive the given number of bytes.

    Raises:
        EOFError: The other end is closed.
    """
    received = bytearray(length)
    view = memoryview(received)
    while view:
        count = connection.recv_into(view)
        if not count:
            raise EOFError
        view = view[count:]
    return received
