"""Takes the measurements."""

from __future__ import annotations

import platform
import sys
import sysconfig
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5


def build() -> str:
    """Describe the Python in use: one with profile-guided optimization is a tenth to a third faster.

    Debian's is optimized without that option, and keeps no record of it.
    """
    optimized = "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
    how = "with" if optimized else "without"
    return f"Python {platform.python_version()} of {sys.base_prefix}, configured {how} --enable-optimizations"


def interleaved(
    *functions: Callable[[], object], rounds: int = ROUNDS, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the minimum seconds of each function, run in turn so that a busy machine affects all alike.

    Args:
        *functions: The functions to measure.
        rounds: How often each is run.
        clock: ``time.process_time`` for functions that never wait: then other processes do not count.
    """
    least = [float("inf")] * len(functions)
    for _ in range(rounds):
        for index, function in enumerate(functions):
            started = clock()
            function()
            least[index] = min(least[index], clock() - started)
    return least
