"""Reviews that take long run beside the others, in processes that end in time."""

import json
import logging
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
from tests.rows import each_row
from tests.serving import JSON, SOON, Served, eventually, serving
from webhook.admission import Answer, Call, ReviewOptions, answer
from webhook.admission.record import Record, RecordedFinding
from webhook.budget import BudgetExceededError
from webhook.server import Forks, Lane, Reviews, lane
from webhook.server.lane import read_answer, write_answer

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
    text = str(os.getpid())
    match (b"late" if call.is_late else body.strip()).split():
        case [b"late"]:
            text = "late"
        case [b"sleep", seconds]:
            time.sleep(float(seconds))
        case [b"await", path]:
            eventually(Path(path.decode()).exists)
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


@contextmanager
def judging(
    review: Callable[[bytes, Call], Answer] = review,
    follow: Callable[[], None] = lambda: None,
    now: Callable[[], int] = int,
) -> Iterator[tuple[Served, Lane]]:
    """Serve with processes for heavy reviews, which follow files in their state of now."""
    forks = Forks(review, follow, now)
    beside = Lane(forks)
    try:
        with serving(Reviews(review, lane=beside)) as served:
            yield served, beside
    finally:
        forks.close()


def test_others_are_answered_while_a_heavy_one_is(tmp_path: Path) -> None:
    done = tmp_path / "done"
    with judging() as (served, beside), ThreadPoolExecutor(1) as client:
        waiting = client.submit(served.post, "/validate?timeout=30s", heavy(f"await {done}"))
        assert eventually(lambda: beside.count == 1)
        assert served.post("/validate", LIGHT) == (200, b"%d" % os.getpid())
        assert served.get("/healthz")[0] == 200
        assert beside.count == 1
        done.touch()
        status, reported = waiting.result()
    assert status == 200
    assert int(reported) != os.getpid()


@pytest.mark.parametrize("endless", ["spin", "spin in C", "sleep 60"])
def test_a_process_ends_with_its_review_at_the_deadline(endless: str, caplog: pytest.LogCaptureFixture) -> None:
    with judging() as (served, beside), ThreadPoolExecutor(1) as client:
        _, first = served.post("/validate", heavy("sleep 0"))
        started = time.monotonic()
        waiting = client.submit(served.post, "/mutate?timeout=3s", heavy(endless))
        assert eventually(lambda: beside.count == 1)
        assert served.post("/validate", heavy("sleep 0"))[1].isdigit()  # which it does not delay
        assert not waiting.done()
        assert waiting.result() == (200, b"late")
        (why,) = {message.partition(": ")[2] for message in caplog.messages if "a heavy review" in message}
        assert why in {"it takes too long", "a process was ended with the review that it had"}
        assert time.monotonic() - started < 3
        assert beside.ended == 1
        assert eventually(lambda: not alive(int(first)))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(("what", "is_fault"), [("fail", True), ("grow 900000000", False)])
def test_a_process_that_breaks_down_takes_no_other_review_with_it(tmp_path: Path, what: str, *, is_fault: bool) -> None:
    log = logging.FileHandler(tmp_path / "log")
    logging.getLogger("webhook.server.lane").addHandler(log)
    try:
        with judging() as (served, _):
            assert served.post("/validate", heavy(what)) == (200, b"late")
            assert served.post("/validate", heavy("sleep 0"))[1].isdigit()
    finally:
        logging.getLogger("webhook.server.lane").removeHandler(log)
        log.close()
    assert ("a process for heavy reviews has failed" in (tmp_path / "log").read_text()) == is_fault


def test_what_takes_long_leaves_a_process_to_what_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "_NICE", 0)  # for other work of the machine must not decide
    with judging() as (served, beside), ThreadPoolExecutor(3) as clients:
        waiting = [clients.submit(served.post, "/validate?timeout=10s", heavy("spin")) for _ in range(3)]
        assert eventually(lambda: beside.count == 3)
        for _ in range(3):
            assert served.post("/validate?timeout=10s", heavy("sleep 0"))[1].isdigit()
        assert {each.result() for each in waiting} == {(200, b"late")}


def test_a_process_that_has_grown_makes_room() -> None:
    with judging() as (served, beside):
        first, second, third = (served.post("/validate", heavy(what))[1] for what in ("", "grow 100000000", ""))
        assert first == second != third
        assert beside.ended == 0


def test_new_policies_reach_the_processes() -> None:
    generations, followed = list[int](), list[int]()

    def told(_body: bytes, call: Call) -> Answer:
        return Answer(200, b"followed %d times" % len(followed), "text/plain", Record(call.endpoint))

    with judging(told, lambda: followed.append(1), lambda: len(generations)) as (served, _):
        assert served.post("/validate", heavy("sleep 0")) == (200, b"followed 0 times")
        generations.append(1)
        assert served.post("/validate", heavy("sleep 0")) == (200, b"followed 1 times")
        assert served.post("/validate", heavy("sleep 0")) == (200, b"followed 1 times")


def test_what_has_no_room_is_answered_by_the_failure_policy_and_others_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "_WAITING", 3)
    done = tmp_path / "done"
    with judging() as (served, beside), ThreadPoolExecutor(6) as clients:
        first = [clients.submit(served.post, "/validate?timeout=30s", heavy(f"await {done}")) for _ in range(2)]
        assert eventually(lambda: beside.count == 2)
        others = [clients.submit(served.post, "/validate?timeout=30s", heavy("sleep 0")) for _ in range(3)]
        assert eventually(lambda: sum(each.done() for each in others) == 2)
        assert [each.result() for each in others if each.done()] == [(200, b"late")] * 2
        assert served.post("/validate", LIGHT)[0] == 200
        done.touch()
        assert sum(each.result()[1].isdigit() for each in (*first, *others)) == 3


def test_their_bodies_take_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "_BYTES", SIZE + 1000)
    done = tmp_path / "done"
    with judging() as (served, beside), ThreadPoolExecutor(1) as client:
        waiting = client.submit(served.post, "/validate?timeout=30s", heavy(f"await {done}"))
        assert eventually(lambda: beside.count == 1)
        assert served.post("/validate", heavy("sleep 0")) == (200, b"late")
        assert served.post("/validate", LIGHT)[1] == b"%d" % os.getpid()
        done.touch()
        assert waiting.result(SOON)[1].isdigit()
        assert served.post("/validate", heavy("sleep 0"))[1].isdigit()


def test_what_is_too_much_work_for_the_event_loop_is_left_to_a_process_as_is_the_next_of_its_connection() -> None:
    tried = list[bytes]()

    def review_here(body: bytes, call: Call) -> Answer:
        if call.is_inline:
            tried.append(body)
            if body == b"much":
                raise BudgetExceededError
        elif body == b"much":
            until = time.process_time() + 0.03
            while time.process_time() < until:
                pass
        return Answer(200, str(os.getpid()).encode(), "text/plain", Record(call.endpoint))

    with judging(review_here) as (served, _):
        connection = served.connect()
        answers = []
        for body in (b"little", b"much", b"much", b"more", b"less"):
            connection.request("POST", "/validate", body, JSON)
            answers.append(int(connection.getresponse().read()))
        connection.close()
    assert tried == [b"little", b"much", b"less"]
    assert [each == os.getpid() for each in answers] == [True, False, False, False, True]


def test_all_processes_end_with_the_server() -> None:
    with judging() as (served, beside), ThreadPoolExecutor(1) as client:
        nursery = beside.forks._nursery  # noqa: SLF001
        waiting = client.submit(served.post, "/validate?timeout=1s", heavy("sleep 60"))
        children = Path(f"/proc/{nursery}/task/{nursery}/children")
        assert eventually(lambda: bool(children.read_text(encoding="ascii")))
        (process,) = map(int, children.read_text(encoding="ascii").split())
        assert waiting.result() == (200, b"late")
    assert eventually(lambda: not alive(process))
    assert not alive(nursery)


def test_without_such_processes_all_are_answered_on_the_event_loop() -> None:
    with serving(Reviews(review)) as served:
        assert served.post("/validate", heavy("sleep 0")) == (200, b"%d" % os.getpid())


@each_row("admits", *(False, True))
def test_a_review_that_comes_too_late_is_not_begun(*, admits: bool) -> None:
    request = {"uid": "a", "operation": "CREATE", "object": {"apiVersion": "v1", "kind": "Pod"}}
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
    late = answer(body, Call("validate", admits, time.monotonic()), ReviewOptions())
    reported = json.loads(late.body)["response"]
    assert (reported["uid"], reported["allowed"]) == ("a", admits)
    assert "there was no time left of the webhook's timeout" in late.body.decode()
    assert late.record is not None
    assert late.record.decision == "failed"


def test_a_process_has_answered_a_review_of_each_usual_kind_before_it_is_forked() -> None:
    answers: list[Answer] = []

    def remembered(body: bytes, call: Call) -> Answer:
        answers.append(answer(body, call, ReviewOptions()))
        return answers[-1]

    lane._warm_up(remembered)  # noqa: SLF001 - else in another process
    assert [each.record and each.record.kind[0] for each in answers] == ["Pod", "ResourceClaim", "ResourceSlice"]
    assert {each.status for each in answers} == {200}


def test_an_answer_is_read_as_it_was_written() -> None:
    request = {"uid": "a", "operation": "CREATE", "object": {"kind": "Pod", "metadata": {"name": "x"}}, "dryRun": True}
    record = Record("validate", "denied", request, [RecordedFinding("enum", "", "deny")], message="no", cost=7)
    for each in (record, Record("mutate"), None):
        read, *more = read_answer(write_answer(Answer(200, b"body", "text/plain", each), 0.5, is_last=True))
        assert (read.status, read.body, read.content_type, *more) == (200, b"body", "text/plain", 0.5, True)
        if each is None:
            assert read.record is None
            continue
        assert read.record is not None
        names = ("uid", "operation", "kind", "resource", "namespace", "name", "user", "dry_run", "found", "message")
        for name in names:
            assert getattr(read.record, name) == getattr(each, name), name


@each_row("value", 2**70, "x" * 100_000, json.loads("[" * 900 + "]" * 900), None)
@each_row("name", "namespace", "name", "subResource", "dryRun", "resource", "kind", "userInfo")
def test_a_record_is_short_whatever_a_request_states(name: str, value: Any) -> None:
    own = {"resource": value, "kind": value, "username": value} if name in {"resource", "kind", "userInfo"} else value
    for stated in (value, own):
        record = Record("validate", request={"uid": "1", name: stated})
        written = write_answer(Answer(200, b"", "text/plain", record), 0.5, is_last=False)
        assert len(written) < 3000
        read, *_ = read_answer(written)
        assert read.record is not None
        assert read.record.uid == "1"


def test_a_server_ends_soon_after_the_process_that_forks_others(tmp_path: Path) -> None:
    certificate(tmp_path)
    with running(tmp_path) as server:
        (nursery,) = server.workers
        os.kill(nursery, signal.SIGKILL)
        assert server.says("the process that forks others is gone: stopping, to be restarted")
        assert server.process.wait(SOON) == 0
