"""Servers to measure: started, awaited, observed in /proc, stopped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.memory import Process

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DRAGUARD = str(Path(sys.executable).with_name("draguard"))
SOON = 30.0
"""Seconds within which a server must start, and end."""

_LISTENING = re.compile(r'listening on (https://[^\s"]+)')


class Served:
    """A running server, with the processes that it has started.

    Args:
        url: Its URL, without a path.
        pid: Its first process.
        log: The file with its standard output and error.
    """

    def __init__(self, url: str, pid: int, log: Path) -> None:
        self.url = url
        self.log = log
        self._pid = pid

    def processes(self) -> list[Process]:
        """Return what the first process and its descendants take."""
        found = (_process(pid, depth) for pid, depth in _below(self._pid))
        return [process for process in found if process is not None]

    def cpu_seconds(self) -> float:
        """Return the processor time of all processes."""
        return sum(_cpu_seconds(pid) for pid, _ in _below(self._pid))

    def resident_mb(self) -> list[float]:
        """Return the memory of each process; shared memory is divided among them."""
        return [_resident_mb(pid) for pid, _ in _below(self._pid)]


@contextmanager
def served(command: Sequence[str], log: Path) -> Iterator[Served]:
    """Run a server until the block ends; its output goes to a file, since a full pipe would stop it.

    Args:
        command: Its command; it must print "listening on https://…".
        log: The file.

    Raises:
        RuntimeError: It does not start.
    """
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            yield Served(_url(process, log), process.pid, log)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(SOON)
            except subprocess.TimeoutExpired:
                process.kill()


def _url(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + SOON
    while process.poll() is None and time.monotonic() < deadline:
        if result := _LISTENING.search(log.read_text(encoding="utf-8", errors="replace")):
            return result[1]
        time.sleep(0.02)
    raise RuntimeError(f"{process.args!r} does not listen: {log.read_text(encoding='utf-8', errors='replace')}")


def _cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident_mb(pid: int) -> float:
    try:
        found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:  # it has ended
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def _process(pid: int, depth: int) -> Process | None:
    """Read what a process takes; None if it has ended, or is about to."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        files = len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - no paths are needed
    except OSError:
        return None
    taken = re.findall(r"^(?:RssAnon|VmSwap):\s+(\d+) kB", status, re.MULTILINE)
    return Process(pid, depth, sum(map(int, taken)) << 10, files) if taken else None


def _below(pid: int, depth: int = 0) -> Iterator[tuple[int, int]]:
    """Find a process and its descendants, each with its depth."""
    yield pid, depth
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text(encoding="ascii").split():
                yield from _below(int(child), depth + 1)
