"""Reviews that take long run beside the others, in processes that end in time."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.processes import certificate
from tests.processes import serving as running
from tests.serving import SOON, Served, eventually, serving
from webhook.admission import Answer, Call, ReviewOptions, answer
from webhook.admission.record import Record, RecordedFinding
from webhook.server import Adapter, Forks, Heavy, create_app
from webhook.server.http.framing import LENGTHS, Task, read_answer, read_task, write_answer, write_task
from webhook.server.http.heavy import Weights
from webhook.server.http.inline import ExceededError, Inline
from webhook.server.http.probes import make_probes
from webhook.server.http.turns import Turns

# The processes that these tests fork run no code that could wait for a lock of another test's thread.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
    pytest.mark.process,
]

SIZE = 200_000
LIGHT = b"{}"


def heavy(what: str) -> bytes:
    """Make a body that is heavy by its length, and names the task."""
    return what.encode().ljust(SIZE)


def review(body: bytes, call: Call) -> Answer:
    """Carry out the task of a body, and name the process; late reviews are answered at once."""
    text, started = str(os.getpid()), time.monotonic()
    match (b"late" if call.is_late else body.strip()).split():
        case [b"late"]:
            text = "late"
        case [b"sleep", seconds]:
            time.sleep(float(seconds))
        case [b"await", path]:
            eventually(Path(path.decode()).exists)
        case [b"watch"]:  # the clock, as policies do
            eventually(lambda: call.is_late or time.monotonic() > started + 0.8)
            text = "late" if call.is_late else text
        case [b"spin"]:
            while True:
                pass
        case [b"spin", b"in", b"C"]:
            re.match("(a+)+$", "a" * 60 + "b")
        case [b"grow", size]:
            text += " " * (len(b"x" * int(size)) % 2)
        case [b"fail"]:
            raise SystemExit
    return Answer(200, text.encode(), "text/plain", Record(call.endpoint))


class Files:
    """Policies that change."""

    def __init__(self) -> None:
        self.generation = 0
        self.followed = 0

    def follow(self) -> None:
        self.followed += 1

    def review(self, body: bytes, call: Call) -> Answer:
        reported = review(body, call)
        return reported._replace(body=b"followed %d times" % self.followed)


@contextmanager
def judging(
    review: Callable[[bytes, Call], Answer] = review, files: Files | None = None, limit: int = 8
) -> Iterator[tuple[Served, Heavy]]:
    files = files or Files()
    forks = Forks(review, files.follow, lambda: files.generation)
    beside = Heavy(forks, limit)
    try:
        with serving(create_app(review, heavy=beside)) as served:
            yield served, beside
    finally:
        forks.close()


def test_others_are_answered_while_a_heavy_one_is(tmp_path: Path) -> None:
    done = tmp_path / "done"
    with judging() as (served, beside), ThreadPoolExecutor(1) as client:
        waiting = client.submit(served.post, "/validate?timeout=30s", heavy(f"await {done}"))
        assert eventually(lambda: beside.waiting == 1)
        assert served.post("/validate", LIGHT) == (200, b"%d" % os.getpid())
        assert served.get("/healthz")[0] == 200
        assert beside.waiting == 1
        done.touch()
        status, reported = waiting.result()
    assert status == 200
    assert int(reported) != os.getpid()


@pytest.mark.parametrize("endless", ["spin", "spin in C", "sleep 60"])
def test_a_process_ends_with_its_review_at_the_deadline(endless: str) -> None:
    with judging() as (served, beside), ThreadPoolExecutor(1) as client:
        _, first = served.post("/validate", heavy("sleep 0"))
        started = time.monotonic()
        waiting = client.submit(served.post, "/mutate?timeout=3s", heavy(endless))
        assert eventually(lambda: beside.ended == 1)  # after half a second it no longer delays what is soon done
        _, second = served.post("/validate", heavy("sleep 0"))
        assert not waiting.done()
        assert waiting.result() == (200, b"late")
        assert time.monotonic() - started < 3
        assert eventually(lambda: beside.ended == 2)
        assert not {int(first), int(second)} & {os.getpid()}
        assert eventually(lambda: not alive(int(first)))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("what", ["sleep 0.8", "watch"])
def test_one_that_takes_longer_than_most_is_answered_nevertheless(what: str) -> None:
    with judging() as (served, beside):
        assert served.post("/validate?timeout=10s", heavy(what))[1].isdigit()
        assert beside.ended == 1


@pytest.mark.parametrize("what", ["fail", "grow 900000000"])
def test_a_process_that_breaks_down_takes_no_other_review_with_it(what: str) -> None:
    with judging() as (served, _):
        assert served.post("/validate", heavy(what)) == (200, b"late")
        assert served.post("/validate", heavy("sleep 0"))[1].isdigit()


def test_a_process_that_has_grown_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.server.http.heavy.SHORT", 30.0)
    with judging() as (served, beside):
        _, first = served.post("/validate", heavy("grow 100000000"))
        _, second = served.post("/validate", heavy("sleep 0"))
        assert int(first) != int(second)
        assert beside.ended == 0


def test_new_policies_reach_the_processes() -> None:
    files = Files()
    with judging(files.review, files) as (served, _):
        assert served.post("/validate", heavy("sleep 0")) == (200, b"followed 0 times")
        files.generation += 1
        assert served.post("/validate", heavy("sleep 0")) == (200, b"followed 1 times")
        assert served.post("/validate", heavy("sleep 0")) == (200, b"followed 1 times")


def test_what_has_no_room_is_answered_by_the_failure_policy_and_others_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhook.server.http.heavy.SHORT", 30.0)
    done = tmp_path / "done"
    with judging(limit=2) as (served, beside), ThreadPoolExecutor(6) as clients:
        first = clients.submit(served.post, "/validate?timeout=30s", heavy(f"await {done}"))
        assert eventually(lambda: beside.waiting == 1)
        others = [clients.submit(served.post, "/validate?timeout=30s", heavy("sleep 0")) for _ in range(4)]
        assert eventually(lambda: sum(each.done() for each in others) == 2)
        assert [each.result() for each in others if each.done()] == [(200, b"late")] * 2
        assert served.post("/validate", LIGHT)[0] == 200
        done.touch()
        assert sorted(each.result()[1] for each in others)[-2:] == [b"late", b"late"]
        assert first.result()[1].isdigit()


def test_all_processes_end_with_the_server() -> None:
    with judging() as (served, beside), ThreadPoolExecutor(1) as client:
        _, first = served.post("/validate", heavy("sleep 0"))
        waiting = client.submit(served.post, "/validate?timeout=1s", heavy("sleep 60"))
        assert eventually(lambda: beside.waiting == 1)
        assert alive(int(first))
        assert waiting.result() == (200, b"late")
    assert eventually(lambda: not alive(int(first)))


def test_without_such_processes_all_are_answered_on_the_event_loop() -> None:
    with serving(create_app(review)) as served:
        assert served.post("/validate", heavy("sleep 0")) == (200, b"%d" % os.getpid())


@pytest.mark.parametrize("admits", [False, True])
def test_a_review_that_comes_too_late_is_not_begun(*, admits: bool) -> None:
    request = {"uid": "a", "operation": "CREATE", "object": {"apiVersion": "v1", "kind": "Pod"}}
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
    late = answer(body, Call("validate", admits, time.monotonic()), ReviewOptions())
    reported = json.loads(late.body)["response"]
    assert (reported["uid"], reported["allowed"]) == ("a", admits)
    assert "there was no time left of the webhook's timeout" in late.body.decode()
    assert late.record is not None
    assert late.record.decision == "failed"


class TestInline:
    @pytest.fixture
    def inline(self) -> Iterator[Inline]:
        inline = Inline(review, lambda _: 0.0)
        inline.watch()
        yield inline
        inline.unwatch()

    def test_what_takes_too_long_is_interrupted(self, inline: Inline) -> None:
        for _ in range(3):
            with pytest.raises(ExceededError):
                asyncio.run(self._answered(inline, b"spin"))
        assert asyncio.run(self._answered(inline, b"")).status == 200

    def test_nothing_else_is(self, inline: Inline) -> None:
        end = time.process_time() + 0.1
        while time.process_time() < end:
            assert asyncio.run(self._answered(inline, b"")).status == 200

    async def _answered(self, inline: Inline, body: bytes) -> Answer:
        return inline.answer(body, Call("validate"), time.monotonic())


class TestTurns:
    def test_one_from_each_in_turn(self) -> None:
        turns = Turns[str]()
        for item in ("a1", "a2", "a3", "b1", "c1"):
            turns.put((item[0],), 1.0, item)
        reported = []
        while turns:
            reported.append(turns.pop())
            turns.charge((reported[-1][0],), 1.0)
        assert sorted(reported[:3]) == ["a1", "b1", "c1"]
        assert reported[3:] == ["a2", "a3"]

    def test_a_new_client_is_next_but_saves_no_turns(self) -> None:
        turns = Turns[str]()
        for item in ("a1", "a2", "b1"):
            turns.put((item[0],), 1.0, item)
        for _ in range(2):
            turns.charge((turns.pop()[0],), 5.0)
        turns.put(("c",), 1.0, "c1")
        turns.put(("b",), 1.0, "b2")
        assert [turns.pop() for _ in range(3)] == ["a2", "c1", "b2"]

    def test_charges_take_no_more_room(self) -> None:
        turns = Turns[str]()
        for item in ("a", "b"):
            turns.put((item,), 1.0, item)
        for _ in range(1000):
            turns.charge(("a",), 0.1)
        assert len(turns._all.order) < 100  # noqa: SLF001
        assert turns.pop() == "b"

    def test_clients_come_before_their_connections(self) -> None:
        turns = Turns[str]()
        for number in range(8):
            turns.put(("a", number), 1.0, f"a{number}")
        turns.charge(("a", turns.pop()), 1.0)
        turns.put(("b", 9), 1.0, "b")
        turns.charge(("a", turns.pop()), 1.0)
        assert "b" in {turns.pop(), turns.pop()}

    def test_the_shortest_of_equals_comes_first_and_the_longest_is_dropped(self) -> None:
        turns = Turns[str]()
        for seconds, item in ((2.0, "b"), (1.0, "a"), (3.0, "c")):
            turns.put((item,), seconds, item)
        assert (turns.drop(), turns.pop(), len(turns)) == ("c", "a", 1)


def test_an_answer_is_read_as_it_was_written() -> None:
    request = {"uid": "a", "operation": "CREATE", "object": {"kind": "Pod", "metadata": {"name": "x"}}, "dryRun": True}
    record = Record("validate", "denied", request, [RecordedFinding("enum", "", "deny")], message="no", cost=7)
    for each in (record, Record("mutate"), None):
        written = write_answer(Answer(200, b"body", "text/plain", each), is_last=True)
        head, body = LENGTHS.unpack(written[: LENGTHS.size])
        read, is_last = read_answer(written[LENGTHS.size : LENGTHS.size + head], written[-body:])
        assert (read.status, read.body, read.content_type, is_last) == (200, b"body", "text/plain", True)
        if each is None:
            assert read.record is None
            continue
        assert read.record is not None
        for name in (
            "uid",
            "operation",
            "kind",
            "resource",
            "namespace",
            "name",
            "user",
            "dry_run",
            "found",
            "message",
        ):
            assert getattr(read.record, name) == getattr(each, name), name
    written = write_task(Task("mutate", None, 1.5, 1.0), b"body")
    assert read_task(written[LENGTHS.size :]) == Task("mutate", None, 1.5, 1.0)


@pytest.mark.parametrize("value", [2**70, "x" * 100_000, json.loads("[" * 900 + "]" * 900), None])
@pytest.mark.parametrize("name", ["namespace", "name", "subResource", "dryRun", "resource", "kind", "userInfo"])
def test_a_record_is_short_whatever_a_request_states(name: str, value: Any) -> None:
    own = {"resource": value, "kind": value, "username": value} if name in {"resource", "kind", "userInfo"} else value
    for stated in (value, own):
        record = Record("validate", request={"uid": "1", name: stated})
        written = write_answer(Answer(200, b"", "text/plain", record), is_last=False)
        assert len(written) < 3000
        read, _ = read_answer(written[LENGTHS.size :], b"")
        assert read.record is not None
        assert read.record.uid == "1"


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


def test_bodies_that_come_in_beside_heavy_reviews_count_as_memory(tmp_path: Path) -> None:
    done = tmp_path / "done"
    forks = Forks(review)
    beside = Heavy(forks)
    app = Adapter(review, make_probes(tuple), body_limit=1 << 20, bodies_limit=SIZE, heavy=beside)
    with serving(app) as served, ThreadPoolExecutor(1) as client:
        waiting = client.submit(served.post, "/validate?timeout=30s", heavy(f"await {done}"))
        assert eventually(lambda: app.bodies.held == SIZE)
        assert served.post("/validate", LIGHT)[0] == 200
        done.touch()
        assert waiting.result(SOON)[0] == 200
        assert eventually(lambda: app.bodies.held == 0)
    forks.close()


def test_a_server_ends_soon_after_the_process_that_forks_others(tmp_path: Path) -> None:
    certificate(tmp_path)
    with running(tmp_path) as server:
        (nursery,) = server.workers
        os.kill(nursery, signal.SIGKILL)
        assert server.says("the process that forks others is gone: stopping, to be restarted")
        assert server.process.wait(SOON) == 0
