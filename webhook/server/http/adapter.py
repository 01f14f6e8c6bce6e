"""Answers HTTP requests: reviews by a plain function, all others by pages.

A review takes microseconds, so it is answered on the event loop in turn, unless it is heavy. The length of bodies,
their memory while they arrive or wait, and the waiting time of reviews are bounded.
"""

from __future__ import annotations

import asyncio
import re
import time
from functools import lru_cache
from http import HTTPStatus

from webhook.admission import Call
from webhook.admission.requests import owner_of
from webhook.budget import BudgetExceededError
from webhook.server.http.heavy import FullError, Job, Weights
from webhook.server.http.inline import ExceededError, Inline
from webhook.server.http.messages import Page, failed, refusal
from webhook.server.http.pages import Pages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Final

    from webhook.admission import Answer, Endpoint, Record
    from webhook.server.http.heavy import Heavy
    from webhook.server.http.inline import Reply
    from webhook.server.http.messages import Incoming, Request
    from webhook.server.http.pages import Make

BODY_LIMIT = 6 << 20
"""Twice an API server's limit of 3 MiB for a request: the review of an update holds the old object and the new."""

PATIENCE = 0.25
"""The share of the caller's timeout for which a review may wait."""
LENIENCE = 0.8
"""The share of the caller's timeout after which the failure policy answers; the rest is for the network."""

_DEFAULT_TIMEOUT = 10.0  # admissionregistration/v1 defaults.go
_LONGEST_TIMEOUT = 30.0  # admissionregistration validation.go
_TIMEOUT = re.compile(rb"(?:\A|&)timeout=([1-9][0-9]{0,3})s(?:&|\Z)")  # in whole seconds, as an API server sends it
_REVIEWS: Mapping[str, tuple[Endpoint, bool | None]] = {
    "/validate": ("validate", None),
    "/validate/fail": ("validate", False),
    "/validate/ignore": ("validate", True),
    "/mutate": ("mutate", None),
    "/mutate/fail": ("mutate", False),
    "/mutate/ignore": ("mutate", True),
}
"""By path: the endpoint, and its failure policy, if the path states one: whether to admit on failure."""
_JSON: Final = b"application/json"


class Adapter(Pages):
    """An application made of a review function and pages.

    Args:
        review: Answers the body of a review, given how the webhook was called. After the call's deadline it answers by
            the failure policy at once.
        observe: Receives the record of each answered review, and its duration in seconds, including waiting.
        refused: Receives the status of each request that is refused before it is reviewed.
        unready: Returns the reasons why reviews cannot be answered now, none if they can.
        pages: Answer all requests but reviews.
        body_limit: The longest body that is read, in bytes.
        bodies_limit: The bytes that all incomplete bodies and waiting heavy reviews may take together; small bodies are
            always accepted.
        heavy: Answers heavy reviews; None to answer all reviews on the event loop.
    """

    def __init__(
        self,
        review: Callable[[bytes, Call], Answer],
        pages: Mapping[str, Make],
        *,
        observe: Callable[[Record, float], None] = lambda _record, _seconds: None,
        refused: Callable[[int], None] = lambda _status: None,
        unready: Callable[[], Iterable[str]] = tuple,
        body_limit: int,
        bodies_limit: int,
        heavy: Heavy | None = None,
    ) -> None:
        super().__init__(pages, body_limit=body_limit, bodies_limit=bodies_limit, refused=refused)
        self._review = review
        self._observe = observe
        self._unready = unready
        self._weights = Weights()
        self.heavy = heavy
        self.inline = Inline(review, self._weights.seconds)
        self.stopping = False
        """Whether the webhook is shutting down, so that requests should go elsewhere."""
        self._tasks: set[asyncio.Task[None]] = set()

    def reasons(self) -> Iterator[str]:
        """List the reasons why requests should go elsewhere."""
        if self.stopping:
            yield "it is shutting down"
        yield from self._unready()

    def admit(self, request: Incoming) -> Page | None:
        """Check the header of a request; return the refusal if its body need not be read."""
        if request.target.path in _REVIEWS and (refused := _refusal(request)) is not None:
            return refused
        return super().admit(request)

    def queues(self, request: Request) -> bool:
        """Tell whether a request is for a review."""
        return request.target.path in _REVIEWS

    def answer(self, request: Request, reply: Reply) -> None:
        """Answer a request, at once or later."""
        if request.target.path not in _REVIEWS:
            super().answer(request, reply)
        elif self.heavy and self._weights.is_heavy(len(request.body)):
            self._leave(request, reply, is_long=False)
        else:
            self.inline.put(request, self._judge, reply)

    def _judge(self, request: Request, reply: Reply) -> Page | None:
        """Answer a review on the event loop in its turn; None if it is left to another process, which replies."""
        arrived, began = request.arrived, time.monotonic()
        path, query = request.target
        timeout = _timeout(query)
        if began - arrived > PATIENCE * timeout:
            self.refused(HTTPStatus.SERVICE_UNAVAILABLE)
            return self.overloaded(f"the review has waited for {began - arrived:.1f} s")
        endpoint, fail_open = _REVIEWS[path]
        call = Call(endpoint, fail_open, arrived + LENIENCE * timeout, self.heavy is not None)
        try:
            return self._page_of(request, self.inline.answer(request.body, call, began))
        except (BudgetExceededError, ExceededError):
            self._leave(request, reply, is_long=True)
            return None
        except Exception as error:  # noqa: BLE001 - the client waits for an answer
            return failed(error)

    def _page_of(self, request: Request, answer: Answer) -> Page:
        """Make the page of an answer, and report it."""
        status, body, content_type, record = answer
        if record is not None:
            self._observe(record, time.monotonic() - request.arrived)
            self._weights.learn(len(request.body) or 1, record.cost)
        return Page(status, body, _JSON if content_type == "application/json" else content_type.encode("latin-1"))

    def _leave(self, request: Request, reply: Reply, *, is_long: bool) -> None:
        """Pass a heavy review to another process."""
        task = asyncio.get_running_loop().create_task(self._answer_beside(request, reply, is_long=is_long))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_beside(self, request: Request, reply: Reply, *, is_long: bool) -> None:
        try:
            page = self._page_of(request, await self._beside(request, is_long=is_long))
        except Exception as error:  # noqa: BLE001 - the client waits for an answer
            page = failed(error)
        finally:
            request.body = b""  # an error may still refer to the request
        reply(page)

    async def _beside(self, request: Request, *, is_long: bool) -> Answer:
        """Answer a heavy review; the failure policy answers if that takes too long or too many wait."""
        length, deadline = len(request.body), request.arrived + LENIENCE * _timeout(request.target.query)
        call = Call(*_REVIEWS[request.target.path], deadline)
        late = call._replace(deadline=time.monotonic())
        if self.heavy is None:
            return self._review(request.body, late)
        key = request.client, owner_of(request.body), request.peer
        job = Job(request.body, call, deadline, key, self._weights.seconds(length))
        self.bodies.held += length
        try:
            return await self.heavy.answer(job, is_long=is_long)
        except (FullError, TimeoutError) as error:
            if isinstance(error, FullError):
                self.warn("too many heavy reviews are waiting: the failure policy answers")
            return self._review(request.body, late)
        finally:
            self.bodies.held -= length


@lru_cache(64)
def _timeout(query: bytes) -> float:
    """Return the seconds for which the caller waits."""
    stated = _TIMEOUT.search(query)
    return min(float(stated[1]), _LONGEST_TIMEOUT) if stated else _DEFAULT_TIMEOUT


def _refusal(request: Request) -> Page | None:
    """Return the refusal of a request for a review, if it is refused."""
    headers = request.headers
    sent_as = headers.get(b"content-type", b"")
    if request.method == b"POST" and sent_as == _JSON and b"content-encoding" not in headers:
        return None  # as an API server asks
    content_type = sent_as.decode("latin-1")
    coding = headers.get(b"content-encoding", b"identity").decode("latin-1")
    if request.method != b"POST":
        status, reason, more = HTTPStatus.METHOD_NOT_ALLOWED, "POST an AdmissionReview", b"allow: POST\r\n"
    elif content_type.partition(";")[0].strip().lower() != "application/json":
        status, reason, more = HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send application/json, not {content_type!r}", b""
    elif coding != "identity":
        status, reason, more = HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send the body as it is, not in {coding!r}", b""
    else:
        return None
    return refusal(status, reason, more, is_last=True)
