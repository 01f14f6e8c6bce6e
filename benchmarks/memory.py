"""The memory of a server's processes under a steady load, and whether it grows with each request.

The process that serves must stay as it is once it is warm, as must the one that forks others. Those for heavy reviews
come and go, and the memory of all together goes up and down with them, by more than a leak brings in an hour. So each
process is looked at by itself. A long review takes more for a moment: what is compared is the least of a long time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WARM_UP: Final = 0.4
"""The share of the requests that warms the server: meanwhile types are compiled, and caches fill up."""
WINDOW: Final = 0.2
"""The share of the requests in the two windows that are compared: the first after the warm-up, and the last."""
LEAK: Final = 100
"""The smallest leak that must be found, in bytes a request; half of it is a failure."""
STEP: Final = 1 << 20
"""The bytes that Python's allocator takes at once."""
ROLES: Final = ("serves", "forks others")
"""What the server's first process does, and the one below; those below that are for heavy reviews."""
LANES: Final = 2
"""The number of processes for heavy reviews."""
MB: Final = 1 << 20


class Process(NamedTuple):
    """What a process takes.

    Args:
        pid: Its number.
        depth: How far it is below the server's first process.
        memory: The bytes of its anonymous memory, including what it shares with other processes.
        files: The number of its open files.
    """

    pid: int
    depth: int
    memory: int
    files: int


class Sample(NamedTuple):
    """What processes take at a moment.

    Args:
        requests: The number of requests that were answered so far.
        processes: All processes of the server.
        total: Their memory in bytes, counting what they share once.
    """

    requests: int
    processes: Sequence[Process]
    total: int


def report(samples: Sequence[Sample], requests: int) -> list[str]:
    """Print the memory of each process over time; return its faults.

    Args:
        samples: What was observed.
        requests: The number of requests in total.
    """
    warm = [sample for sample in samples if sample.requests >= WARM_UP * requests]
    first = [sample for sample in warm if sample.requests <= (WARM_UP + WINDOW) * requests]
    last = [sample for sample in warm if sample.requests >= (1 - WINDOW) * requests]
    between = (1 - WINDOW - WARM_UP) * requests
    if not (first and last) or between * LEAK < 2 * STEP:
        print("memory: not judged, as it takes more reviews to tell a leak from what is compiled and kept")
        return []
    print(
        f"memory at least, in the {WINDOW:.0%} of reviews after the first {WARM_UP:.0%}, then in the last {WINDOW:.0%}:"
    )
    faults = [
        fault
        for depth, role in enumerate(ROLES)
        for fault in _growth(f"the process that {role}", _least(first, depth), _least(last, depth), between)
    ]
    heavy = [_heavy(sample) for sample in warm]
    largest = max((process.memory for processes in heavy for process in processes), default=0)
    number = len({process.pid for processes in heavy for process in processes})
    print(f"  {number} processes for heavy reviews, replaced as they grow: up to {largest / MB:.1f} MB each")
    low, high = (choose(sample.total for sample in warm) / MB for choose in (min, max))
    print(f"  all together: {low:.1f} to {high:.1f} MB, as processes for heavy reviews come and go")
    if (left := min(len(_heavy(sample)) for sample in last)) > LANES:
        faults.append(f"{left} processes for heavy reviews are left over, not {LANES}")
    return faults


def _heavy(sample: Sample) -> list[Process]:
    return [process for process in sample.processes if process.depth >= len(ROLES)]


def _least(window: Iterable[Sample], depth: int) -> tuple[int, int]:
    """Return the least memory of a process in a window, and the least number of its files."""
    found = [process for sample in window for process in sample.processes if process.depth == depth]
    return min(process.memory for process in found), min(process.files for process in found)


def _growth(name: str, first: tuple[int, int], last: tuple[int, int], between: float) -> Iterable[str]:
    """Print how much a process has grown; yield its faults."""
    (memory, files), (memory_at_last, files_at_last) = first, last
    grown = memory_at_last - memory
    each = f"{grown / between:+.0f} bytes a review"
    print(f"  {name}: {memory / MB:.1f}, then {memory_at_last / MB:.1f} MB, {each}; ", end="")
    print(f"{files}, then {files_at_last} open files")
    if grown > between * LEAK / 2 + STEP:
        yield f"{name} leaks memory: {each}, once warm"
    if files_at_last > files + LANES:
        yield f"{name} leaves files open: {files}, then {files_at_last}"
