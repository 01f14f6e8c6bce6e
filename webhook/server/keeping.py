"""What stays in memory is kept out of garbage collection."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FULL = 2
"""The generation of a collection that goes through everything that is not exempt."""


def keep() -> None:
    """Exempt the objects that exist from garbage collection, rules, policies, modules; those from before it looks at.

    What it touches, each process that is forked would have to copy. And a body of 1.4 MB of small maps is decoded in
    18 ms, not in 27 to 50; a review of 5 KB takes as long as before, and a higher threshold helps neither.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@contextmanager
def kept_survivors() -> Iterator[None]:
    """Exempt what survives a full collection, too, until the block ends.

    Types are compiled when the first review needs them. With all of them a full collection takes 170 ms, in which
    nothing can interrupt it and all reviews wait; without those that were there before, some milliseconds. Nothing that
    belongs to a request or a connection needs collecting: reference counts free it.
    """

    def survived(phase: str, info: Mapping[str, int]) -> None:
        if phase == "stop" and info["generation"] == _FULL:
            gc.freeze()

    gc.callbacks.append(survived)
    try:
        yield
    finally:
        gc.callbacks.remove(survived)
