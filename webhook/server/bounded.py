"""A rate-limited log, for events that clients can cause at will."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

_AT_ONCE = 10.0


class BoundedLog:
    """Writes up to ten warnings at once, then one a second, with the number of warnings dropped before it.

    Args:
        log: The logger.
        clock: Returns the time in seconds, from any moment on.
    """

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._allowed = _AT_ONCE
        self._checked_at = clock()
        self._left_out = 0

    def warning(self, message: str, *arguments: object) -> None:
        """Log a warning unless there were too many.

        Args:
            message: As for :meth:`logging.Logger.warning`.
            arguments: The arguments of the message.
        """
        now = self._clock()
        self._allowed = min(_AT_ONCE, self._allowed + now - self._checked_at)
        self._checked_at = now
        if self._allowed < 1:
            self._left_out += 1
            return
        self._allowed -= 1
        if self._left_out:
            message = f"{message} ({self._left_out} such lines before it were left out)"
            self._left_out = 0
        self._log.warning(message, *arguments)
