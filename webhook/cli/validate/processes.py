"""Shares work among forked processes, which start quickly and share this process's state.

Results are in the order of the work, and the number of waiting results is bounded. If a process dies, the command ends
with a clear error: unreported manifests must not pass for valid.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import contextmanager, suppress
from time import process_time

from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from select import poll
    from typing import Final, NoReturn, TypeVar

    T = TypeVar("T")
    R = TypeVar("R")

ENOUGH: Final = 2_000
"""The number of manifests from which several processes are faster."""
BYTES: Final = 300
"""The usual minimum size of a manifest, in bytes."""
MOST: Final = 4
"""The default maximum of processes: the work of the main process keeps no more of them busy."""
_AHEAD: Final = 4
"""Pieces of work for each process that may be under way or have waiting results, which bounds the memory."""
_FIRST: Final = 32
"""How many items are done at most before any fork, which then need not import and compile what most of them need."""
_TRIED: Final = 256
"""How many items are done at most then, to learn how long the others would take."""
_PART: Final = 4
"""One item of so many is done at most for each of the two: a few items may take long."""
_CHEAP: Final = 0.25
"""How many seconds of work are done as quickly in this process: forks copy the memory that they look at."""
_TICKET: Final = 4
_HEAD: Final = 9
_TAKEN, _DONE, _FAILED = 0, 1, 2
_PIPE: Final = 1 << 20
_CGROUPS: Final = "/sys/fs/cgroup"


def default() -> int:
    """Return the default number of processes: one for each CPU that this process may use, up to a limit."""
    return max(1, min(MOST, _cpus(), _quota())) if can_fork() else 1


def worth(jobs: int | None, manifests: int) -> int:
    """Return the number of processes to share some work.

    Args:
        jobs: How many were requested; None to choose by the amount of work.
        manifests: About how many manifests there are.
    """
    if jobs is None:
        return default() if manifests >= ENOUGH else 1
    return jobs if jobs == 1 or can_fork() else 1


def can_fork() -> bool:
    """Tell whether this process can fork safely: only on Linux, and only without other threads."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


def _cpus() -> int:
    count: Callable[[], int | None] | None = getattr(os, "process_cpu_count", None)  # since Python 3.13
    return (count() if count else len(os.sched_getaffinity(0))) or 1


def _quota(top: str = _CGROUPS) -> int:
    """Return the number of CPUs that the cgroup grants, in version 1 or 2."""
    try:
        quota, period = _words(f"{top}/cpu.max")
    except (OSError, ValueError):
        try:
            (quota,), (period,) = (_words(f"{top}/cpu/cpu.cfs_{name}_us") for name in ("quota", "period"))
        except (OSError, ValueError):
            return MOST
    return -(-int(quota) // int(period)) if quota.isdecimal() and period.isdecimal() and int(period) else MOST


def _words(file: str) -> list[str]:
    with open(file, encoding="ascii") as opened:
        return opened.read().split()


class _Worker(NamedTuple):
    """A forked process, as its parent sees it.

    Args:
        pid: The process.
        results: The pipe to which it writes its results.
        received: Received bytes that were not processed yet.
        taken: The number of the piece that it took last; a list of one.
    """

    pid: int
    results: int
    received: bytearray
    taken: list[int]


def spread(work: Callable[[T], R], pieces: Sequence[T], processes: int, name: Callable[[T], str] = str) -> Iterator[R]:
    """Share work among processes.

    Args:
        work: Called with each piece, in a fork of this process; its result must be picklable.
        pieces: The pieces.
        processes: How many processes share them; there must be no other thread.
        name: Names a piece in an error.

    Yields:
        The results, in the order of the pieces.

    Raises:
        ChildProcessError: A process died; the text names the cause and the piece.
        Exception: An exception that ``work`` raised.
    """
    import pickle  # needed only with several processes
    from select import poll

    taking, giving = os.pipe()
    workers: dict[int, _Worker] = {}
    events, done = poll(), dict[int, tuple[int, bytearray]]()
    gc.freeze()  # else the first collection in each process would copy all memory
    try:
        with _uninterrupted():  # else a fork that is interrupted as it begins would end the others
            for _ in range(min(processes, len(pieces))):
                worker = _forked(work, pieces, taking, giving, [each.results for each in workers.values()])
                workers[worker.results] = worker
                events.register(worker.results)
        unused, taking, given = taking, -1, 0  # first: an interrupt after the call would close it twice
        os.close(unused)
        for number in range(len(pieces)):
            while given < min(len(pieces), number + _AHEAD * processes):
                os.write(giving, given.to_bytes(_TICKET, "big"))
                given += 1
            _receive(workers, events, done, 0)
            while number not in done:
                if not workers:
                    raise ChildProcessError("processes ended before all was done")
                _receive(workers, events, done, None, lambda index: name(pieces[index]))
            how, data = done.pop(number)
            result = pickle.loads(data)  # noqa: S301 - our own process wrote it
            if how == _FAILED:
                error, trace = result
                raise error from _RemoteError(trace)
            yield result
    finally:
        gc.unfreeze()
        for each in (taking, giving):
            if each >= 0:
                os.close(each)
        for worker in workers.values():
            _end(worker)


class _RemoteError(Exception):
    """The traceback of an error in another process."""

    def __str__(self) -> str:
        """Show the traceback."""
        return f"\n{self.args[0]}"


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let SIGINT and SIGTERM wait."""
    from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, SIGTERM, pthread_sigmask

    before = pthread_sigmask(SIG_BLOCK, {SIGINT, SIGTERM})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, before)


def _forked(work: Callable[[T], R], pieces: Sequence[T], taking: int, giving: int, others: Sequence[int]) -> _Worker:
    from fcntl import F_SETPIPE_SZ, fcntl
    from signal import SIG_DFL, SIG_UNBLOCK, SIGINT, SIGTERM, pthread_sigmask, signal

    results, writing = os.pipe()
    with suppress(OSError):  # the pipe is as large as allowed
        fcntl(writing, F_SETPIPE_SZ, _PIPE)
    pid = os.fork()
    if pid:
        os.close(writing)
        return _Worker(pid, results, bytearray(), [-1])
    status = 1
    try:
        signal(SIGINT, SIG_DFL)
        signal(SIGTERM, SIG_DFL)
        pthread_sigmask(SIG_UNBLOCK, {SIGINT, SIGTERM})
        for each in (giving, results, *others):
            os.close(each)
        _work(work, pieces, taking, writing)
        status = 0
    finally:  # the fork must not run the parent's handlers, nor write its buffers again
        os._exit(status)


def _work(work: Callable[[T], R], pieces: Sequence[T], taking: int, writing: int) -> None:
    """Work until no pieces are left, or the reading process has ended."""
    import pickle

    while ticket := os.read(taking, _TICKET):
        number = int.from_bytes(ticket, "big")
        try:
            _write(writing, number, _TAKEN, b"")
            try:
                how, data = _DONE, pickle.dumps(work(pieces[number]), pickle.HIGHEST_PROTOCOL)
            except Exception as error:  # noqa: BLE001 - the parent raises it again
                how, data = _FAILED, _pickled_error(error)
            _write(writing, number, how, data)
        except BrokenPipeError:
            return


def _pickled_error(error: Exception) -> bytes:
    import pickle
    import traceback  # needed for mistakes only

    trace = "".join(traceback.format_exception(error))
    try:
        data = pickle.dumps((error, trace))
        pickle.loads(data)  # noqa: S301 - some exceptions can be pickled but not unpickled
    except Exception:  # noqa: BLE001 - whatever the error, the text is available
        data = pickle.dumps((RuntimeError(f"{type(error).__name__}: {error}"), trace))
    return data


def _write(to: int, number: int, how: int, data: bytes) -> None:
    left = memoryview(number.to_bytes(_TICKET, "big") + bytes([how]) + len(data).to_bytes(_TICKET, "big") + data)
    while left:
        left = left[os.write(to, left) :]


def _receive(
    workers: dict[int, _Worker],
    events: poll,
    done: dict[int, tuple[int, bytearray]],
    patience: int | None,
    name: Callable[[int], str] = str,
) -> None:
    """Receive output of the processes.

    Raises:
        ChildProcessError: A process died.
    """
    for results, _ in events.poll(patience):
        worker = workers[results]
        if chunk := os.read(results, _PIPE):
            _unpack(worker, chunk, done)
            continue
        events.unregister(results)
        del workers[results]
        os.close(results)
        if status := os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1]):
            _complain(status, name(worker.taken[0]) if worker.taken[0] >= 0 else "manifests")


def _unpack(worker: _Worker, chunk: bytes, done: dict[int, tuple[int, bytearray]]) -> None:
    received = worker.received
    received += chunk
    while len(received) >= _HEAD:
        end = _HEAD + int.from_bytes(received[_TICKET + 1 : _HEAD], "big")
        if len(received) < end:
            return
        number, how = int.from_bytes(received[:_TICKET], "big"), received[_TICKET]
        if how == _TAKEN:
            worker.taken[0] = number
        else:
            done[number] = how, received[_HEAD:end]
        del received[:end]


def _complain(status: int, name: str) -> NoReturn:
    from signal import SIGKILL

    why = f"by signal {-status}" if status < 0 else f"with status {status}"
    if status == -SIGKILL:
        why += ", as where memory runs out"
    raise ChildProcessError(
        f"a process that judged {name} was ended {why}; findings would be missing, so none are reported: try --jobs 1"
    )


def _end(worker: _Worker) -> None:
    from signal import SIGKILL

    os.close(worker.results)
    with suppress(ProcessLookupError):  # already ended
        os.kill(worker.pid, SIGKILL)
    os.waitpid(worker.pid, 0)


def in_ranges(work: Callable[[Sequence[T]], R], items: Sequence[T], jobs: int | None) -> Iterator[R]:
    """Do work on many items: in this process, or in several if that is faster.

    Args:
        work: Called with several consecutive items; its result must be picklable.
        items: The items, about one for each manifest.
        jobs: How many processes were requested; None to choose by the amount of work.

    Yields:
        The results, in the order of the items; none if there are no items.

    Raises:
        ChildProcessError: A process died.
    """
    processes, done = worth(jobs, len(items)), 0
    if processes > 1 and items:
        first, tried = (min(most, -(-len(items) // _PART)) for most in (_FIRST, _TRIED))
        yield work(items[:first])
        done, started = first + tried, process_time()
        yield work(items[first:done])
        if (process_time() - started) / tried * (len(items) - done) < _CHEAP:
            processes = 1
    if processes == 1:
        if items:
            yield work(items[done:])
        return
    size = max(1, -(-len(items) // (processes * 2 * _AHEAD)))
    pieces = [range(start, min(start + size, len(items))) for start in range(done, len(items), size)]
    yield from spread(lambda piece: work(items[piece.start : piece.stop]), pieces, processes, _name)


def _name(piece: range) -> str:
    return f"the manifests {piece.start + 1} to {piece.stop}"
