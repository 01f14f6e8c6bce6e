"""What this process takes, as metrics."""

from __future__ import annotations

import os
import resource
import time
from contextlib import suppress
from pathlib import Path

from webhook.server.monitoring.exposition import gauge, total

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from webhook.server.monitoring.exposition import Family

_OWN: Final = Path("/proc/self/stat")
_MACHINE: Final = Path("/proc/stat")
_STARTED, _VIRTUAL, _RESIDENT = 19, 20, 21
"""Fields after the command's name (proc_pid_stat(5)): ticks from the machine's start, bytes, pages."""


def of_process() -> Iterator[Family]:
    """Return CPU time, memory, files and start of this process; nothing where the kernel does not tell them."""
    with suppress(OSError):
        fields = _OWN.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        booted = next(line for line in _MACHINE.read_text(encoding="ascii").splitlines() if line.startswith("btime "))
        started = int(booted.split()[1]) + int(fields[_STARTED]) / os.sysconf("SC_CLK_TCK")
        resident = int(fields[_RESIDENT]) * resource.getpagesize()
        files = len(os.listdir("/proc/self/fd"))
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        yield gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", int(fields[_VIRTUAL]))
        yield gauge("process_resident_memory_bytes", "Resident memory size in bytes.", resident)
        yield gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", started)
        yield total("process_cpu_seconds", "Total user and system CPU time spent in seconds.", time.process_time())
        yield gauge("process_open_fds", "Number of open file descriptors.", files)
        yield gauge("process_max_fds", "Maximum number of open file descriptors.", most)
