"""Answers HTTP requests: reviews by a plain function, all else by a WSGI application.

A review takes microseconds, so it is answered on the event loop, by turns, unless it is heavy, or found to be. Bounded
are also how long a body is, how much memory bodies take that are coming in or wait, and how long a review has waited.
"""

from __future__ import annotations

import logging
import re
import time
from http import HTTPStatus
from typing import TYPE_CHECKING

from webhook.admission import Call, MalformedReviewError
from webhook.admission.requests import parse_head
from webhook.budget import BudgetExceededError
from webhook.server.http.heavy import FullError, Job, Weights
from webhook.server.http.inline import ExceededError, Inline
from webhook.server.http.pages import CLOSE, Incoming, Page, Pages, RefusedError, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from _typeshed.wsgi import WSGIApplication

    from webhook.admission import Answer, Endpoint, Record
    from webhook.server.http.heavy import Heavy
    from webhook.server.http.pages import Scope
    from webhook.server.http.turns import Key

BODY_LIMIT = 6 << 20
"""Twice the 3 MiB that an API server takes of a request: the review of an update holds the old object and the new."""

PATIENCE = 0.25
"""The share of its caller's timeout that a review may wait for its turn."""
LENIENCE = 0.8
"""The share of its caller's timeout after which the failure policy answers; the rest is for the network."""

_SMALL = 1 << 16
_DEFAULT_TIMEOUT = 10.0  # of a webhook that states none (admissionregistration/v1 defaults.go)
_LONGEST_TIMEOUT = 30.0  # that one may state (admissionregistration validation.go): who says more is no API server
_TIMEOUT = re.compile(rb"(?:\A|&)timeout=([1-9][0-9]{0,3})s(?:&|\Z)")  # in whole seconds, as an API server sends it
_REVIEWS: dict[str, tuple[Endpoint, bool | None]] = {
    "/validate": ("validate", None),
    "/validate/fail": ("validate", False),
    "/validate/ignore": ("validate", True),
    "/mutate": ("mutate", None),
    "/mutate/fail": ("mutate", False),
    "/mutate/ignore": ("mutate", True),
}
"""Where reviews are sent to: the endpoint, and whether it admits what it cannot answer if the path says so."""
_RETRY = (b"retry-after", b"1")
_log = logging.getLogger(__name__)


class _Body:
    """A body as far as it has come in, unless it was dropped for others."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.is_dropped = False


class Adapter(Pages):
    """An ASGI application of a review function and a WSGI application.

    Args:
        review: Answers the body of a review, given how the webhook was called. After the call's deadline it must answer
            by the failure policy at once.
        observe: Told of each answered review on the event loop, and how many seconds that took, waiting included.
        refused: Told of each request that is refused before it is reviewed, and the answer's status.
        unready: Returns the reasons why reviews cannot be answered now, none if they can.
        pages: Answers all requests but reviews.
        body_limit: The longest body that is read, in bytes.
        bodies_limit: How many bytes all bodies that are coming in, and those of heavy reviews that wait, may take
            together; small ones are taken anyway.
        heavy: Answers heavy reviews; None lets all be answered on the event loop, however long they take.
    """

    def __init__(
        self,
        review: Callable[[bytes, Call], Answer],
        pages: WSGIApplication,
        *,
        observe: Callable[[Record, float], None] = lambda _record, _seconds: None,
        refused: Callable[[int], None] = lambda _status: None,
        unready: Callable[[], Iterable[str]] = tuple,
        body_limit: int,
        bodies_limit: int,
        heavy: Heavy | None = None,
    ) -> None:
        super().__init__(pages, body_limit=body_limit, refused=refused)
        self._review = review
        self._observe = observe
        self._unready = unready
        self._bodies_limit = bodies_limit
        self._weights = Weights()
        self.heavy = heavy
        self.inline = Inline(review)
        self.stopping = False
        """Whether the whole webhook is about to end, so that requests should go elsewhere."""
        self.held = 0
        """How many bytes the bodies have that are coming in, or wait as heavy reviews."""
        self._coming: set[_Body] = set()
        self._logged_at = float("-inf")

    def reasons(self) -> Iterator[str]:
        """Say why requests should go elsewhere, if they should."""
        if self.stopping:
            yield "it is shutting down"
        yield from self._unready()

    async def answer(self, scope: Scope, incoming: Incoming) -> Page:
        """Answer a request.

        Raises:
            RefusedError: The request is refused.
            GoneError: Its client has gone.
        """
        endpoint = _REVIEWS.get(scope["path"])
        if not endpoint:
            return await super().answer(scope, incoming)
        headers = dict(scope["headers"])
        _check_review(scope["method"], headers)
        if int(headers.get(b"content-length", 0)) > self.body_limit:
            raise self.too_large()
        body = await self.read(incoming)
        timeout, arrived = _timeout(scope), scope["state"]["arrived"]
        key: Key = scope["state"]["client"], scope["client"]
        deadline = arrived + LENIENCE * timeout
        call = Call(*endpoint, deadline)
        if self.heavy and self._weights.is_heavy(len(body)):
            answer = await self._beside(body, call, deadline, key)
        else:
            await self.inline.turn(key, self._weights.seconds(len(body)))
            if (waited := time.monotonic() - arrived) > PATIENCE * timeout:
                raise RefusedError(self._overloaded(f"the review has waited for {waited:.1f} s"))
            try:
                answer = self.inline.answer(body, call._replace(is_inline=self.heavy is not None), key)
            except (BudgetExceededError, ExceededError):
                answer = await self._beside(body, call, deadline, key, is_long=True)
        if answer.record is not None:
            self._observe(answer.record, time.monotonic() - arrived)
            self._weights.learn(len(body) or 1, answer.record.cost)
        return Page(answer.status, [(b"content-type", answer.content_type.encode("latin-1"))], answer.body)

    async def _beside(self, body: bytes, call: Call, deadline: float, key: Key, *, is_long: bool = False) -> Answer:
        """Answer a heavy review, by the failure policy if that takes too long or too many wait."""
        late = call._replace(deadline=time.monotonic())
        if self.heavy is None:
            return self._review(body, late)
        client, connection = key
        job = Job(body, call, deadline, (client, _tenant(body), connection), self._weights.seconds(len(body)))
        self.held += len(body)
        try:
            return await self.heavy.answer(job, is_long=is_long)
        except (FullError, TimeoutError) as error:
            if isinstance(error, FullError):
                self._tell("too many heavy reviews are waiting: the failure policy answers")
            return self._review(body, late)
        finally:
            self.held -= len(body)

    async def read(self, incoming: Incoming) -> bytes:
        """Read a body.

        Raises:
            RefusedError: It is too long, or too many are coming in.
            GoneError: Its client has gone.
        """
        block = await incoming.block()
        if incoming.whole and len(block) <= self.body_limit:
            return block
        body = _Body()
        self._coming.add(body)
        try:
            while True:
                body.content += block
                self.held += len(block)
                if len(body.content) > self.body_limit:
                    raise self.too_large()
                if incoming.whole:
                    return bytes(body.content)
                if self.held > self._bodies_limit and len(body.content) > _SMALL:
                    self._drop_longest()
                if body.is_dropped:
                    raise RefusedError(self._overloaded("bodies that are coming in or wait take too much memory"))
                block = await incoming.block()
        finally:
            self.held -= len(body.content)
            self._coming.discard(body)

    def _drop_longest(self) -> None:
        """Forget the longest of the bodies that are coming in, so that no client takes all the room."""
        longest = max(self._coming, key=lambda body: len(body.content))
        self.held -= len(longest.content)
        longest.content = bytearray()
        longest.is_dropped = True

    def _overloaded(self, reason: str) -> Page:
        """Make the answer to what is too much at the moment.

        On it an API server asks again within the webhook's timeout (client-go ``rest/with_retry.go``), over a new
        connection and so perhaps another replica; after that its ``failurePolicy`` decides.
        """
        self._tell(f"answering 503: {reason}")
        return refusal(HTTPStatus.SERVICE_UNAVAILABLE, reason, _RETRY, CLOSE)

    def _tell(self, what: str) -> None:
        now = time.monotonic()
        if now - self._logged_at > 1:  # once a second: a log line for each would add to the load
            self._logged_at = now
            _log.warning("overloaded, %s", what)


def _tenant(body: bytes) -> str:
    """Return whose object a review is about: that of a namespace, or else of a user."""
    try:
        request = parse_head(body).get("request", {})
    except MalformedReviewError:
        return ""
    return str(request.get("namespace") or request.get("userInfo", {}).get("username", ""))


def _timeout(scope: Scope) -> float:
    """Return the seconds for which the caller waits for its answer."""
    stated = _TIMEOUT.search(scope["query_string"])
    return min(float(stated[1]), _LONGEST_TIMEOUT) if stated else _DEFAULT_TIMEOUT


def _check_review(method: str, headers: Mapping[bytes, bytes]) -> None:
    if method == "POST" and headers.get(b"content-type") == b"application/json" and b"content-encoding" not in headers:
        return  # as an API server asks
    content_type = headers.get(b"content-type", b"").decode("latin-1")
    coding = headers.get(b"content-encoding", b"identity").decode("latin-1")
    if method != "POST":
        page = refusal(HTTPStatus.METHOD_NOT_ALLOWED, "POST an AdmissionReview", (b"allow", b"POST"))
    elif content_type.partition(";")[0].strip().lower() != "application/json":
        page = refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send application/json, not {content_type!r}")
    elif coding != "identity":
        page = refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"send the body as it is, not in {coding!r}")
    else:
        return
    raise RefusedError(page)
