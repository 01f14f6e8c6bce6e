"""Answers heavy reviews beside the event loop, so that probes and all other reviews are not held up.

How heavy a review is must be known before it is read, so it is estimated: by its length, and by what policies took of
late for each byte of others. Measured in one process with all rules and the policy library: a valid ResourceSlice of
128 devices takes 15 to 25 ms whether it has 0.13 or 1.5 MB, which is 150 ns a byte for the densest; pods 4 to 60; a
policy's expressions about 0.2 us for each unit of CEL's cost. Costs are the same on a busy machine, seconds are not.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from webhook.admission import Answer, Call

_SECONDS_PER_BYTE: Final = 150e-9
_SECONDS_PER_COST: Final = 0.2e-6
_FADING: Final = 0.9
"""How much of the most expensive review is remembered after another one: some dozens, so that one alone slows few."""
_HEAVY: Final = 0.01
"""The seconds for which one review may keep all others waiting."""


class FullError(Exception):
    """As many heavy reviews wait as may."""


class Weights:
    """Tells heavy reviews by their length and by what others have cost."""

    def __init__(self) -> None:
        self._cost_per_byte = 0.0

    def is_heavy(self, length: int) -> bool:
        """Estimate whether a review would keep others waiting for long.

        Args:
            length: Its bytes.
        """
        return length * (_SECONDS_PER_BYTE + self._cost_per_byte * _SECONDS_PER_COST) > _HEAVY

    def learn(self, length: int, cost: int) -> None:
        """Note what a review has cost, in CEL's units.

        Args:
            length: Its bytes.
            cost: What evaluating policies has cost.
        """
        self._cost_per_byte = max(self._cost_per_byte * _FADING, cost / length)


class Beside:
    """Answers reviews in a thread, one after the other.

    Args:
        review: Answers a review. Called after the call's deadline, it must answer by the failure policy at once.
        limit: How many may wait, the one that is being answered included.
    """

    def __init__(self, review: Callable[[bytes, Call], Answer], limit: int) -> None:
        self._review = review
        self._limit = limit
        self._thread = ThreadPoolExecutor(1, "heavy-reviews")
        self._unanswered: set[Future[Answer]] = set()

    @property
    def waiting(self) -> int:
        """How many reviews wait, the one that is being answered included."""
        return len(self._unanswered)

    async def answer(self, body: bytes, call: Call, deadline: float) -> Answer:
        """Answer a review, by the failure policy if that takes too long.

        Args:
            body: The review.
            call: How the webhook was called.
            deadline: When the answer must be there, in seconds of ``time.monotonic()``.

        Raises:
            FullError: Too many wait.
        """
        if self.waiting >= self._limit:
            raise FullError
        held = [body]
        future = self._thread.submit(self._begin, held, call)
        self._unanswered.add(future)
        future.add_done_callback(self._unanswered.discard)  # at once: an answer's record holds the object, decoded
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), deadline - time.monotonic())
        except TimeoutError:  # of the event loop, whose timers may be a little early
            if future.cancelled():  # it keeps its place in the thread's queue, and what it was given
                held.clear()
            return self._review(body, call._replace(deadline=min(deadline, time.monotonic())))

    def _begin(self, held: list[bytes], call: Call) -> Answer:
        return self._review(held.pop(), call)
