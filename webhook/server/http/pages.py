"""Answers all requests but reviews with pages, by path."""

from __future__ import annotations

import logging
import time
from http import HTTPStatus

from webhook.server.http.bodies import Bodies
from webhook.server.http.messages import RETRY, Page, failed, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable, Mapping
    from typing import Final

    from webhook.server.http.messages import Incoming, Request

    Make = Callable[[Request], Page | Future[Page]]

_READING: Final = frozenset({b"GET", b"HEAD"})
_ALLOW: Final = b"allow: GET, HEAD\r\n"
_log = logging.getLogger(__name__)


class Pages:
    """An application of pages, which answers at once.

    Args:
        pages: Functions that answer ``GET`` and ``HEAD``, by path; a page that takes long is a future.
        body_limit: The longest body that is read, in bytes.
        bodies_limit: The bytes of all bodies together; small bodies are always accepted.
        refused: Receives the status of each refused request.
    """

    def __init__(
        self,
        pages: Mapping[str, Make],
        *,
        body_limit: int = 1 << 16,
        bodies_limit: int = 1 << 24,
        refused: Callable[[int], None] = lambda _status: None,
    ) -> None:
        self._pages = pages
        self.bodies = Bodies(body_limit, bodies_limit, self.overloaded)
        self.refused = refused
        self.closing = False
        """Whether each answer is the last of its connection."""
        self._logged_at = float("-inf")

    def admit(self, request: Incoming) -> Page | None:
        """Check the header of a request; return the refusal if its body need not be read."""
        return self.bodies.too_large if request.length > self.bodies.limit else None

    def queues(self, _request: Request) -> bool:
        """Tell whether a request is answered in its turn, so that reading it takes no time for the answer."""
        return False

    def answer(self, request: Request, reply: Callable[[Page], None]) -> None:
        """Answer a request, at once or later."""
        make = self._pages.get(request.target.path)
        if make is None:
            page = refusal(HTTPStatus.NOT_FOUND, "page not found")
        elif request.method not in _READING:
            page = refusal(HTTPStatus.METHOD_NOT_ALLOWED, "it can only be read", _ALLOW)
        else:
            try:
                made = make(request)
            except Exception as error:  # noqa: BLE001 - the client waits for an answer
                page = failed(error)
            else:
                if not isinstance(made, Page):
                    made.add_done_callback(lambda done: reply(_page_of(done)))
                    return
                page = made
        reply(page)

    def overloaded(self, reason: str) -> Page:
        """Make the response to a request that exceeds present capacity.

        The API server retries within the webhook's timeout (client-go ``rest/with_retry.go``), over a new connection
        and so perhaps with another replica; after that its ``failurePolicy`` decides.
        """
        self.warn(f"answering 503: {reason}")
        return refusal(HTTPStatus.SERVICE_UNAVAILABLE, reason, RETRY, is_last=True)

    def warn(self, what: str) -> None:
        """Log overload at most once a second: one line per request would add to the load."""
        now = time.monotonic()
        if now - self._logged_at > 1:
            self._logged_at = now
            _log.warning("overloaded, %s", what)


def _page_of(done: Future[Page]) -> Page:
    error = done.exception()
    return done.result() if error is None else failed(error)
