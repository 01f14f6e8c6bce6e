"""Keeps permanent objects out of garbage collection."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FULL = 2
"""The generation of a full collection, of all objects that are not exempt."""


def keep() -> None:
    """Exempt existing objects, such as rules and modules, from garbage collection, after a full collection.

    Each forked process would have to copy the objects that a collection visits. And a body of 1.4 MB of small maps is
    decoded in 18 ms, not in 27 to 50; a review of 5 KB takes as long as before, and a higher threshold helps neither.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@contextmanager
def kept_survivors() -> Iterator[None]:
    """Exempt the survivors of full collections, too, until the block ends.

    Types are compiled when the first review needs them. A full collection of all of them takes 170 ms, which nothing
    can interrupt, so that all reviews wait; without those of earlier collections, some milliseconds. Nothing that
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
