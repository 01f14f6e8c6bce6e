"""Attacks on a running webhook, with an ordinary client beside each: no request may stop its service.

``python -m tests.attacks`` prints the table. Each module here that has an ``ATTACK``, or several by name, is found by
being there. An attack runs in a process of its own, so that it takes no time of the client's whose time is measured.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from tests.attacks.target import Target

MIB = 1 << 20
CLIENT_CA = "{clients}"
"""Stands in options for the file with the authority of the ordinary client's certificate."""


@dataclass(frozen=True)
class Attack:
    """An attack on the webhook, and the limits that must hold meanwhile.

    Args:
        text: Its description.
        run: Runs it; may return further faults.
        slowest: Seconds within which each review of the ordinary client is answered.
        growth: Bytes by which the memory of all processes together may grow.
        seconds: Its duration.
        anew: Whether the ordinary client opens a connection for each of its reviews.
        slices: Whether it sends a ResourceSlice of 200 KB now and then, too, which must be admitted within its timeout.
        options: More options of ``draguard serve``.
    """

    text: str
    run: Callable[[Target], list[str] | None]
    slowest: float = 0.5
    growth: int = 100 * MIB
    seconds: float = 8.0
    anew: bool = False
    slices: bool = False
    options: tuple[str, ...] = ()


@cache
def attacks() -> Mapping[str, Attack]:
    """Return all attacks by the names of their modules."""
    return {name: each for module in pkgutil.iter_modules(__path__) for name, each in attacks_of(module.name).items()}


def attacks_of(module: str) -> Mapping[str, Attack]:
    """Return the attacks of a module by their names, which begin with its own."""
    found = getattr(importlib.import_module(f"{__name__}.{module}"), "ATTACK", {})
    return {module: found} if isinstance(found, Attack) else {f"{module}-{name}": each for name, each in found.items()}
