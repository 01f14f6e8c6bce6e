"""Answers requests: reviews by a function, all others by pages."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import get_args

from msgspec.structs import replace

from webhook.admission import Answer, Call, Endpoint, Record
from webhook.budget import BudgetExceededError
from webhook.logs import BoundedLog
from webhook.server.lane import FullError, Lane
from webhook.server.messages import Client, HTTPRequest, refusal

BODY_LIMIT = 6 << 20
"""Twice an API server's limit of 3 MiB for a request: the review of an update holds the old object and the new."""
PATIENCE = 0.25
"""The share of the caller's timeout for which a review may wait for its turn."""
LENIENCE = 0.8
"""The share of the caller's timeout after which the failure policy answers; the rest is for the network."""
_LIGHT = 1 << 16
"""The longest review, in bytes, that is begun on the event loop."""
_TURN = 0.01
"""The seconds of reviews after which the event loop looks for new input."""
_SLOW = 0.02
"""The seconds of processor time from which a review is slow, and later requests of its connection wait longer."""
_DEFAULT_TIMEOUT = 10.0  # admissionregistration/v1 defaults.go
_LONGEST_TIMEOUT = 30.0  # admissionregistration validation.go
_TIMEOUT = re.compile(rb"(?:\A|&)timeout=([1-9][0-9]{0,3})s(?:&|\Z)")  # in whole seconds, as an API server sends it
_REVIEWS: Mapping[str, tuple[Endpoint, bool | None]] = {
    f"/{endpoint}{stated}": (endpoint, fail_open)
    for endpoint in get_args(Endpoint)
    for stated, fail_open in (("", None), ("/fail", False), ("/ignore", True))
}
"""By path: the endpoint, and its failure policy, if the path states one: whether to admit on failure."""
OVERVIEW = Answer(
    200,
    b"""\
/metrics  metrics for Prometheus
/healthz  whether the process is alive
/readyz   whether reviews can be answered now, and why not
""",
)
_HEALTHY = Answer(200, b"ok\n")
_log = logging.getLogger(__name__)
_often = BoundedLog(_log)


class Pages:
    """Answers ``GET`` and ``HEAD`` by functions, each of which makes the page of a path.

    Args:
        pages: The functions, by path.
        refused: Receives the status of each request that is refused.
        body_limit: The longest body that is read, in bytes.
    """

    def __init__(
        self,
        pages: Mapping[str, Callable[[HTTPRequest], Answer]],
        *,
        refused: Callable[[int], None] = lambda _status: None,
        body_limit: int = 1 << 16,
    ) -> None:
        self._pages = pages
        self.body_limit = body_limit
        self.refused = refused
        self.is_closing = False
        """Whether it is shutting down, so that each answer is the last of its connection."""

    def admit(self, request: HTTPRequest) -> Answer | None:  # noqa: ARG002 - some do
        """Return why a request is refused whose body has not come yet; None if it is not."""
        return None

    def answer(self, request: HTTPRequest, client: Client) -> Answer | None:  # noqa: ARG002 - some do
        """Answer a request; None if the answer follows later (:meth:`Client.answered`)."""
        make = self._pages.get(request.path)
        if make is None:
            return refusal(HTTPStatus.NOT_FOUND, "page not found")
        if request.method not in {b"GET", b"HEAD"}:
            return refusal(HTTPStatus.METHOD_NOT_ALLOWED, "it can only be read", "allow: GET, HEAD\r\n")
        try:
            return make(request)
        except Exception as error:  # noqa: BLE001 - the client waits for an answer
            return _failed(error)

    def overloaded(self, reason: str) -> Answer:
        """Make the answer to a request that exceeds present capacity.

        The API server asks again within the webhook's timeout (client-go ``rest/with_retry.go``), over a new connection
        and so perhaps another replica; after that its ``failurePolicy`` decides.
        """
        _often.warning("overloaded, answering 503: %s", reason)
        return refusal(HTTPStatus.SERVICE_UNAVAILABLE, reason, "retry-after: 1\r\n", is_last=True)


class Reviews(Pages):
    """Answers AdmissionReviews, and probes.

    ``POST /validate``, ``POST /mutate``; ``/validate/fail`` and ``/validate/ignore`` state the failure policy, as does
    ``/mutate/…``; ``GET /healthz`` and ``GET /readyz``.

    Args:
        review: Answers the body of a review, given how the webhook was called; after the call's deadline at once, by
            the failure policy.
        observe: Receives the record of each answered review, and the seconds that it took, including waiting.
        refused: Receives the status of each request that is refused before it is reviewed.
        unready: Returns the reasons why reviews cannot be answered now, none if they can.
        lane: Answers heavy reviews; None to answer all reviews on the event loop.
        body_limit: The longest body that is read, in bytes.
    """

    def __init__(
        self,
        review: Callable[[bytes, Call], Answer],
        *,
        observe: Callable[[Record, float], None] = lambda _record, _seconds: None,
        refused: Callable[[int], None] = lambda _status: None,
        unready: Callable[[], Iterable[str]] = tuple,
        lane: Lane | None = None,
        body_limit: int = BODY_LIMIT,
    ) -> None:
        super().__init__(probes(self.reasons), refused=refused, body_limit=body_limit)
        self._review = review
        self._observe = observe
        self._unready = unready
        self.lane = lane
        self._new: deque[tuple[HTTPRequest, Client]] = deque()
        self._slow: deque[tuple[HTTPRequest, Client]] = deque()
        """The requests of slow clients, one of which is answered in each turn (tests/attacks/answers.py)."""
        self._began = 0.0
        """The processor time at the beginning of this turn of the event loop."""
        self._tasks: set[asyncio.Task[None]] = set()

    def reasons(self) -> Iterator[str]:
        """List the reasons why requests should go elsewhere."""
        if self.is_closing:
            yield "it is shutting down"
        yield from self._unready()

    def admit(self, request: HTTPRequest) -> Answer | None:
        """Refuse a request that cannot be a review, by its header."""
        if request.path not in _REVIEWS:
            return None
        if request.method != b"POST":
            return refusal(HTTPStatus.METHOD_NOT_ALLOWED, "POST an AdmissionReview", "allow: POST\r\n", is_last=True)
        sent_as = request.headers.get(b"content-type", b"")
        coding = request.headers.get(b"content-encoding", b"identity")
        reason = ""
        if sent_as.partition(b";")[0].strip().lower() != b"application/json":
            reason = f"send application/json, not {sent_as.decode('latin-1')!r}"
        elif coding != b"identity":
            reason = f"send the body as it is, not in {coding.decode('latin-1')!r}"
        return refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, reason, is_last=True) if reason else None

    def answer(self, request: HTTPRequest, client: Client) -> Answer | None:
        """Answer a review in the next turn of the event loop, all else at once."""
        if request.path not in _REVIEWS:
            return super().answer(request, client)
        if not (self._new or self._slow):
            asyncio.get_running_loop().call_soon(self._answer_some)
        (self._slow if client.is_slow else self._new).append((request, client))
        return None

    def _answer_some(self) -> None:
        """Answer what has come in, for 10 ms at most, send the answers, then answer one slow client.

        Each step thus finds its code and data in the processor's caches, which saves a third with many connections.
        """
        answered, end, self._began = [], time.monotonic() + _TURN, time.thread_time()
        while self._new and time.monotonic() < end:
            request, client = self._new.popleft()
            answered.append((client, self._answer(request, client)))
        slow = self._slow.popleft() if self._slow else None
        if self._new or self._slow:
            asyncio.get_running_loop().call_soon(self._answer_some)
        for client, answer in answered:
            if answer is not None:
                client.answered(answer)
        if slow and (answer := self._answer(*slow)):
            slow[1].answered(answer)

    def _answer(self, request: HTTPRequest, client: Client) -> Answer | None:
        """Answer a review; None if it is left to another process."""
        timeout, began = _timeout(request.query), time.monotonic()
        if (waited := began - request.arrived) > PATIENCE * timeout:
            self.refused(HTTPStatus.SERVICE_UNAVAILABLE)
            return self.overloaded(f"the review has waited for {waited:.1f} s")
        body, lane, (endpoint, fail_open) = request.body, self.lane, _REVIEWS[request.path]
        call = Call(endpoint, fail_open, request.arrived + LENIENCE * timeout, lane is not None)
        if lane is None or (len(body) <= _LIGHT and not (client.is_heavy and lane.is_free)):
            try:
                answer = self._observed(request, self._review(body, call))
            except BudgetExceededError:
                client.is_slow = client.is_heavy = True
            except Exception as error:  # noqa: BLE001 - the client waits for an answer
                return _failed(error)
            else:
                # Processor time is what counts, but takes 2 us to ask for.
                client.is_slow = time.monotonic() - began > _SLOW < time.thread_time() - self._began
                client.is_heavy = False
                return answer
        task = asyncio.get_running_loop().create_task(self._answer_later(request, body, call, client))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return None

    async def _answer_later(self, request: HTTPRequest, body: bytes, call: Call, client: Client) -> None:
        request.pieces.clear()
        try:
            try:
                answer, seconds = await self.lane.answer(body, replace(call, is_inline=False), client)  # type: ignore[union-attr]
                client.is_slow = client.is_heavy = seconds > _SLOW
            except (FullError, OSError) as error:
                _often.warning("the failure policy answers a heavy review: %s", str(error) or "it takes too long")
                answer = self._review(body, replace(call, deadline=time.monotonic(), is_inline=False))
            self._observed(request, answer)
        except Exception as error:  # noqa: BLE001 - the client waits for an answer
            answer = _failed(error)
        client.answered(answer)

    def _observed(self, request: HTTPRequest, answer: Answer) -> Answer:
        """Report the answer to a review."""
        if answer.record is not None:
            self._observe(answer.record, time.monotonic() - request.arrived)
        return answer


def probes(unready: Callable[[], Iterable[str]]) -> dict[str, Callable[[HTTPRequest], Answer]]:
    """Make the pages ``/healthz`` and ``/readyz``.

    Args:
        unready: Returns the reasons why reviews cannot be answered now, none if they can.
    """

    def readyz(_request: HTTPRequest) -> Answer:
        reasons = "".join(f"not ready: {reason}\n" for reason in unready())
        return Answer(503, reasons.encode()) if reasons else _HEALTHY

    return {"/healthz": lambda _request: _HEALTHY, "/readyz": readyz}


@lru_cache(64)
def _timeout(query: bytes) -> float:
    """Return the seconds for which the caller waits."""
    stated = _TIMEOUT.search(query)
    return min(float(stated[1]), _LONGEST_TIMEOUT) if stated else _DEFAULT_TIMEOUT


def _failed(error: BaseException) -> Answer:
    """Log an unexpected exception; return the answer to its request."""
    _log.error("a request could not be answered", exc_info=error)
    return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, b"Internal Server Error", is_last=True)
