"""Tasks that are repeated, and go on after failures."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

from webhook.cluster.errors import Conflict
from webhook.usage import UsageError

_log = logging.getLogger(__name__)


class Task:
    """A periodic task; each failure is logged once, and the pause after further ones grows.

    Args:
        act: The function that does the work once.
        seconds: The pause after success.
        retry: The first pause after a failure; 0 for twice that after success.
        most: The longest pause after failures.
    """

    def __init__(self, act: Callable[[], None], seconds: float, retry: float = 0, most: float = 30) -> None:
        self.due, self.error = 0.0, ""
        self._act, self._seconds = act, seconds
        self._retry, self._most = retry or 2 * seconds, most
        self._failures = 0

    def run(self, clock: Callable[[], float]) -> bool:
        """Run it, and tell whether it succeeded; the next time has some jitter, so that replicas spread."""
        error = self._try()
        if error and error != self.error:
            _log.error("%s", error)
        elif self.error and not error:
            _log.info("in order again; it was: %s", self.error)
        self.error = error
        self._failures = self._failures + 1 if error else 0
        pause = min(self._retry * 2 ** min(self._failures - 1, 8), self._most) if error else self._seconds
        self.due = clock() + pause * random.uniform(0.8, 1.2)  # noqa: S311 - no secret
        return not error

    def _try(self) -> str:
        try:
            self._act()
        except Conflict as error:  # another replica was faster, which is not an error
            _log.info("%s", error)
        except UsageError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the process goes on, and so does this
            _log.exception("an internal error; please report it")
            return f"an internal error: {type(error).__name__}"
        return ""
