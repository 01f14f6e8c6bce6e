"""How the measurements are taken."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5


def interleaved(*functions: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """Return the least seconds that each function took, run in turn so that a busy machine hits all alike."""
    least = [float("inf")] * len(functions)
    for _ in range(rounds):
        for index, function in enumerate(functions):
            started = time.perf_counter()
            function()
            least[index] = min(least[index], time.perf_counter() - started)
    return least
