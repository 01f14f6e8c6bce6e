"""Reviews that take long are answered beside the others, and in time."""

from __future__ import annotations

import json
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.serving import SOON, eventually, serving
from webhook.admission import Answer, Call, Options, answer
from webhook.admission.record import Record
from webhook.server import Adapter, create_app
from webhook.server.http.heavy import Weights
from webhook.server.http.probes import make_pages

HEAVY = b"x" * 200_000
LIGHT = b"{}"


class Review:
    """Answers heavy reviews once it is let, all others and those that are late at once.

    Args:
        cost: What policies cost.
    """

    def __init__(self, cost: int = 0) -> None:
        self.let = threading.Event()
        self.begun = threading.Semaphore(0)
        self.threads: list[int] = []
        self._cost = cost

    def __call__(self, body: bytes, call: Call) -> Answer:
        late = call.deadline is not None and time.monotonic() >= call.deadline
        self.threads.append(threading.get_ident())
        if body == HEAVY and not late:
            self.begun.release()
            assert self.let.wait(SOON)
        record = Record(call.endpoint, cost=self._cost)
        return Answer(200, b"late" if late else b"in time", "text/plain", record)


def test_others_are_answered_while_a_heavy_one_is() -> None:
    review = Review()
    with serving(create_app(review)) as served, ThreadPoolExecutor(1) as client:
        heavy = client.submit(served.post, "/validate", HEAVY)
        assert review.begun.acquire(timeout=SOON)
        assert served.post("/validate", LIGHT) == (200, b"in time")
        assert served.get("/healthz")[0] == 200
        review.let.set()
        assert heavy.result() == (200, b"in time")


def test_the_failure_policy_answers_in_time_what_is_not_answered_yet() -> None:
    review = Review()
    observed = []
    app = create_app(review, observe=lambda record, seconds: observed.append((record.endpoint, seconds < 1)))
    with serving(app) as served:
        assert served.post("/mutate?timeout=1s", HEAVY) == (200, b"late")
        review.let.set()
        assert served.post("/mutate?timeout=10s", HEAVY) == (200, b"in time")
    assert observed[0] == ("mutate", True)


@pytest.mark.parametrize("admits", [False, True])
def test_a_review_that_comes_too_late_is_not_begun(*, admits: bool) -> None:
    request = {"uid": "a", "operation": "CREATE", "object": {"apiVersion": "v1", "kind": "Pod"}}
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
    late = answer(body, Call("validate", admits, time.monotonic()), Options())
    told = json.loads(late.body)["response"]
    assert (told["uid"], told["allowed"]) == ("a", admits)
    assert "there was no time left of the webhook's timeout" in late.body.decode()
    assert late.record is not None
    assert late.record.decision == "failed"


def test_what_would_wait_for_long_goes_elsewhere() -> None:
    review = Review()
    app = Adapter(review, make_pages(tuple), body_limit=1 << 20, bodies_limit=1 << 20, heavy_limit=2)
    with serving(app) as served, ThreadPoolExecutor(2) as clients:
        waiting = [clients.submit(served.post, "/validate", HEAVY) for _ in range(2)]
        assert eventually(lambda: app.waiting == 2)
        assert served.post("/validate", HEAVY)[0] == 503
        assert served.post("/validate", LIGHT)[0] == 200
        review.let.set()
        assert [each.result() for each in waiting] == [(200, b"in time")] * 2
        assert served.post("/validate", HEAVY)[0] == 200


class Request(dict[str, object]):
    """A request that can be seen to be forgotten."""


def test_nothing_is_kept_of_what_has_been_answered() -> None:
    kept: list[weakref.ref[Request]] = []

    def review(body: bytes, call: Call) -> Answer:
        request = Request(object="x" * len(body))
        kept.append(weakref.ref(request))
        return Answer(200, b"in time", "text/plain", Record(call.endpoint, request=request))

    with serving(create_app(review)) as served:
        assert served.post("/validate", HEAVY) == (200, b"in time")
        assert eventually(lambda: kept[0]() is None)


def test_those_that_wait_count_as_memory() -> None:
    review = Review()
    app = Adapter(review, make_pages(tuple), body_limit=1 << 20, bodies_limit=300_000)
    with serving(app) as served, ThreadPoolExecutor(1) as client:
        heavy = client.submit(served.post, "/validate", HEAVY)
        assert review.begun.acquire(timeout=SOON)
        assert app.held == len(HEAVY)
        assert served.post("/validate", HEAVY)[0] == 503
        assert served.post("/validate", LIGHT)[0] == 200
        review.let.set()
        assert heavy.result()[0] == 200
        assert eventually(lambda: app.held == 0)


def test_one_that_was_too_late_to_begin_is_not_begun_later() -> None:
    review = Review()
    app = create_app(review)
    with serving(app) as served, ThreadPoolExecutor(1) as client:
        first = client.submit(served.post, "/validate", HEAVY)
        assert review.begun.acquire(timeout=SOON)
        assert served.post("/validate?timeout=1s", HEAVY) == (200, b"late")
        assert app.waiting == 1
        review.let.set()
        assert first.result() == (200, b"in time")
        assert served.post("/validate", HEAVY) == (200, b"in time")
    assert len(review.threads) == 3  # one each: the event loop has answered the late one, and the thread passed it over


def test_small_reviews_are_heavy_after_some_that_cost_policies_much() -> None:
    review = Review(cost=1_000_000)
    with serving(create_app(review)) as served:
        for _ in range(2):
            assert served.post("/validate", LIGHT)[0] == 200
    assert len(set(review.threads)) == 2


def test_how_heavy_others_were_is_forgotten() -> None:
    weights = Weights()
    assert not weights.is_heavy(10_000)
    weights.learn(10_000, 1_000_000)
    assert weights.is_heavy(10_000)
    assert weights.is_heavy(2_000)
    for _ in range(1_000):
        weights.learn(10_000, 100)
    assert not weights.is_heavy(10_000)
    assert weights.is_heavy(1_000_000)
