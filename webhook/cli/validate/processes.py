"""Work that several processes share: those that fork costs next to nothing, and that know all that this one knows.

Results come in the order of the work, and only so many of them wait. If a process dies, the command ends with a clear
error: what it has not reported must not pass for valid.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from select import poll

T = TypeVar("T")
R = TypeVar("R")

ENOUGH: Final = 2_000
"""Manifests from which on processes pay off."""
BYTES: Final = 300
"""Bytes that a manifest has at least, as a rule."""
MOST: Final = 4
"""Processes by default: what has to be done in one place keeps no more of them busy."""
_AHEAD: Final = 4
"""Pieces of work for each process that are under way, or whose results wait: they bound the memory."""
_TICKET: Final = 4
_HEAD: Final = 9
_TAKEN, _DONE, _FAILED = 0, 1, 2
_PIPE: Final = 1 << 20
_CGROUPS: Final = "/sys/fs/cgroup"


def default() -> int:
    """Return how many processes are worth while here: one for each CPU that this process may use, to a limit."""
    return max(1, min(MOST, _cpus(), _quota())) if can_fork() else 1


def worth(jobs: int | None, manifests: int) -> int:
    """Return how many processes are to share some work.

    Args:
        jobs: How many were requested; None to choose by the amount of work.
        manifests: About how many manifests the work is about.
    """
    if jobs is None:
        return default() if manifests >= ENOUGH else 1
    return jobs if jobs == 1 or can_fork() else 1


def can_fork() -> bool:
    """Tell whether this process can be copied: only Linux does so safely, and only where no other thread runs."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208 - pathlib takes longer to import
    except OSError:
        return False


def _cpus() -> int:
    count: Callable[[], int | None] | None = getattr(os, "process_cpu_count", None)  # since Python 3.13
    return (count() if count else len(os.sched_getaffinity(0))) or 1


def _quota(top: str = _CGROUPS) -> int:
    """Return how many CPUs the cgroup grants, by either version of the files."""
    try:
        quota, period = _words(f"{top}/cpu.max")
    except (OSError, ValueError):
        try:
            (quota,), (period,) = (_words(f"{top}/cpu/cpu.cfs_{name}_us") for name in ("quota", "period"))
        except (OSError, ValueError):
            return MOST
    return -(-int(quota) // int(period)) if quota.isdecimal() and period.isdecimal() and int(period) else MOST


def _words(file: str) -> list[str]:
    with open(file, encoding="ascii") as opened:  # noqa: PTH123 - as above
        return opened.read().split()


class _Worker(NamedTuple):
    """A process, as the one that has forked it sees it.

    Args:
        pid: The process.
        results: What it writes its results to.
        received: What of them has not been taken yet.
        taken: The number of the work that it has taken last; a list of one.
    """

    pid: int
    results: int
    received: bytearray
    taken: list[int]


def spread(work: Callable[[T], R], pieces: Sequence[T], processes: int, name: Callable[[T], str] = str) -> Iterator[R]:
    """Do work in processes.

    Args:
        work: What is done with each piece, in a copy of this process; its result can be pickled.
        pieces: The pieces.
        processes: How many processes share them; there must be no other thread.
        name: What an error calls a piece.

    Yields:
        The results, in the order of the pieces.

    Raises:
        ChildProcessError: A process died; the text says of what and over which piece.
        Exception: What work has raised.
    """
    import pickle  # noqa: PLC0415 - needed only with several processes
    from select import poll  # noqa: PLC0415 - as above

    taking, giving = os.pipe()
    workers: dict[int, _Worker] = {}
    events, done = poll(), dict[int, tuple[int, bytearray]]()
    gc.freeze()  # or else the first collection in each process would copy all that there is
    try:
        for _ in range(min(processes, len(pieces))):
            worker = _forked(work, pieces, taking, giving, [each.results for each in workers.values()])
            workers[worker.results] = worker
            events.register(worker.results)
        os.close(taking)
        taking, given = -1, 0
        for number in range(len(pieces)):
            while given < min(len(pieces), number + _AHEAD * processes):
                os.write(giving, given.to_bytes(_TICKET, "big"))
                given += 1
            _receive(workers, events, done, 0)
            while number not in done:
                if not workers:
                    message = "processes ended before all was done"
                    raise ChildProcessError(message)
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
    """Where in another process an error was raised."""

    def __str__(self) -> str:
        """Show the traceback there."""
        return f"\n{self.args[0]}"


def _forked(work: Callable[[T], R], pieces: Sequence[T], taking: int, giving: int, others: Sequence[int]) -> _Worker:
    from fcntl import F_SETPIPE_SZ, fcntl  # noqa: PLC0415 - as above
    from signal import SIG_DFL, SIGINT, signal  # noqa: PLC0415 - as above

    results, writing = os.pipe()
    with suppress(OSError):  # where pipes are as large as they may be
        fcntl(writing, F_SETPIPE_SZ, _PIPE)
    pid = os.fork()
    if pid:
        os.close(writing)
        return _Worker(pid, results, bytearray(), [-1])
    status = 1
    try:
        signal(SIGINT, SIG_DFL)
        for each in (giving, results, *others):
            os.close(each)
        _work(work, pieces, taking, writing)
        status = 0
    finally:  # nothing of the copied process may go on: no handler, no buffer that is written twice
        os._exit(status)


def _work(work: Callable[[T], R], pieces: Sequence[T], taking: int, writing: int) -> None:
    """Do the work until nothing is left, or the process that reads it has ended."""
    import pickle  # noqa: PLC0415 - as above

    while ticket := os.read(taking, _TICKET):
        number = int.from_bytes(ticket, "big")
        try:
            _write(writing, number, _TAKEN, b"")
            try:
                how, data = _DONE, pickle.dumps(work(pieces[number]), pickle.HIGHEST_PROTOCOL)
            except Exception as error:  # noqa: BLE001 - it is raised again where it belongs
                how, data = _FAILED, _pickled_error(error)
            _write(writing, number, how, data)
        except BrokenPipeError:
            return


def _pickled_error(error: Exception) -> bytes:
    import pickle  # noqa: PLC0415 - as above
    import traceback  # noqa: PLC0415 - needed for mistakes only

    trace = "".join(traceback.format_exception(error))
    try:
        data = pickle.dumps((error, trace))
        pickle.loads(data)  # noqa: S301 - some exceptions can be written and not be read
    except Exception:  # noqa: BLE001 - whatever it is, its text is there
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
    """Take what processes have written.

    Raises:
        ChildProcessError: One of them died.
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
    from signal import SIGKILL  # noqa: PLC0415 - as above

    why = f"by signal {-status}" if status < 0 else f"with status {status}"
    if status == -SIGKILL:
        why += ", as where memory runs out"
    message = (
        f"a process that judged {name} was ended {why}; nothing is reported, for it would not be all: try --jobs 1"
    )
    raise ChildProcessError(message)


def _end(worker: _Worker) -> None:
    from signal import SIGKILL  # noqa: PLC0415 - as above

    os.close(worker.results)
    with suppress(ProcessLookupError):  # it has ended by itself
        os.kill(worker.pid, SIGKILL)
    os.waitpid(worker.pid, 0)


def in_ranges(work: Callable[[Sequence[T]], R], items: Sequence[T], jobs: int | None) -> Iterator[R]:
    """Do work on many items: at once, or in processes if that pays off.

    Args:
        work: What is done with several items that follow one another; its result can be pickled.
        items: The items, about one for each manifest.
        jobs: How many processes were requested; None to choose by the amount of work.

    Yields:
        The results, in the order of the items; none if there are no items.

    Raises:
        ChildProcessError: A process died.
    """
    processes = worth(jobs, len(items))
    size = max(1, -(-len(items) // (processes * 2 * _AHEAD))) if processes > 1 else max(1, len(items))
    pieces = [range(start, min(start + size, len(items))) for start in range(0, len(items), size)]
    if processes == 1:
        yield from (work(items) for _ in pieces)
    else:
        yield from spread(lambda piece: work(items[piece.start : piece.stop]), pieces, processes, _name)


def _name(piece: range) -> str:
    return f"the manifests {piece.start + 1} to {piece.stop}"
