"""The parts of the benchmarks: figures, reviews, and the detection of bad answers."""

import base64
import json
import ssl
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks import golang, soak, webhook
from benchmarks.mutated import Reviews, Sent, uid_in
from benchmarks.reviews import reviews, varied
from benchmarks.served import served
from tests.reviews import recorded
from tests.rows import each_row
from tests.serving import echo, serving
from webhook import admission, server

pytestmark = pytest.mark.slow

WRK = """
Running 3s test @ https://127.0.0.1:8443/validate
  Latency Distribution
     50%  850.00us
     99%    1.25s
  6000 requests in 3.00s, 1.00MB read
{}Requests/sec:   2000.50
"""
REVIEWS = Reviews(seed=1)


def test_figures_are_milliseconds_and_microseconds_a_request_and_those_of_loads_at_the_same_time_added_up() -> None:
    load = WRK.format("")
    assert webhook.figures([load], 1.5, 0.75, 40) == (2000.5, 0.85, 1250, 250, 125, 40)
    slower = load.replace("850.00us", "2.00ms")
    assert webhook.figures([slower, load], 1.5, 0.75, 40) == (4001, 2, 1250, 125, 62.5, 40)
    assert webhook.Load(2, 5, 9, 100, 20, 40).best(webhook.Load(1, 4, 10, 90, 21, 50)) == (2, 4, 9, 90, 20, 50)


@each_row(
    "result", WRK.format("  Non-2xx or 3xx responses: 1\n"), WRK.format("  Socket errors: read 1\n"), "no such host"
)
def test_a_load_with_a_failure_is_not_a_measurement(result: str) -> None:
    with pytest.raises(SystemExit) as ended:
        webhook.figures([WRK.format(""), result], 1, 1, 1)
    assert ended.value.code == result


def test_webhooks_that_were_built_are_taken(tmp_path: Path) -> None:
    with pytest.raises(golang.NoGoError, match=r"typed does not exist: build it by `go build"):
        golang.given(tmp_path)
    for name in golang.WEBHOOKS:
        (tmp_path / name).touch()
    assert golang.given(tmp_path) == tmp_path


def test_without_go_its_webhooks_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    found = webhook.commands(tmp_path, None)
    assert capsys.readouterr().out.startswith("left out: webhooks in Go: no Go toolchain is installed")
    assert set(found) == {webhook.FIXED, webhook.ADMITS, *webhook.DRAGUARDS}


def test_webhooks_are_built_where_it_is_wanted_and_a_build_that_fails_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\ntest -f go.mod && mkdir $3 && cp typed/main.go $3\n", encoding="utf-8")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert (golang.build(tmp_path / "built") / "main.go").is_file()
    go.write_text("#!/bin/sh\necho no modules >&2\nexit 1\n", encoding="utf-8")
    with pytest.raises(golang.NoGoError, match=r"fails in .*: no modules"):
        golang.build(tmp_path / "build")


def test_a_server_that_does_not_start_shows_what_it_wrote(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no certificate')"]
    with pytest.raises(RuntimeError, match="no certificate"), served(command, tmp_path / "log"):
        pass


def test_the_same_seed_makes_the_same_reviews() -> None:
    same, other = Reviews(seed=1), Reviews(seed=2)
    for index in range(50):
        assert same[index] == REVIEWS[index]
        assert other[index] != REVIEWS[index]


def test_reviews_are_recorded_mutated_and_broken_ones() -> None:
    known = {json.dumps(each.review["request"].get("object"), sort_keys=True) for each in recorded()}
    sent = [REVIEWS[index] for index in range(500)]
    answerable = [json.loads(each.body) for each in sent if each.uid is not None]
    as_recorded = [each for each in answerable if json.dumps(each["request"].get("object"), sort_keys=True) in known]
    assert len(sent) > len(answerable) > 350
    assert len(answerable) > len(as_recorded) > 100
    assert any(each.is_deep for each in sent)
    assert any(each.is_odd for each in sent)


REVIEW = recorded()[0].review


@each_row(
    "change",
    *({"kind": "Review"}, {"apiVersion": 1}, {"request": None}, {"request": []}, {"more": float("nan")}),
    *({"request": REVIEW["request"] | {name: 1}} for name in ("uid", "operation", "subResource")),
)
def test_what_cannot_be_answered_has_no_uid(change: dict[str, Any]) -> None:
    assert uid_in(json.dumps(REVIEW).encode()) == REVIEW["request"]["uid"]
    assert uid_in(json.dumps(REVIEW | change).encode()) is None
    assert uid_in(json.dumps(REVIEW).encode()[:-1]) is None


SENT = Sent("/validate", b"", "u", is_deep=False)
GIVEN_UP = {"allowed": False, "status": {"code": 500, "message": "draguard could not answer: it is too deep"}}


def answer(**response: Any) -> bytes:
    full = {"uid": "u", "allowed": True} | response
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": full}).encode()


def patch(*operations: dict[str, str]) -> str:
    return base64.b64encode(json.dumps(operations).encode()).decode()


@each_row(
    ("response", "result"),
    ({}, ""),
    ({"allowed": False, "status": {"code": 422, "message": "no"}}, ""),
    ({"patchType": "JSONPatch", "patch": patch({"op": "remove", "path": "/a"})}, ""),
    ({"warnings": ["beware"], "auditAnnotations": {"noted": "it"}}, ""),
    ({"uid": "other"}, "the uid is not 'u'"),
    ({"allowed": 1}, "allowed is neither true nor false"),
    ({"allowed": False}, "KeyError"),
    ({"allowed": False, "status": {"code": 422, "message": ""}}, "a refusal without code and message"),
    (GIVEN_UP, "the review could not be answered"),
    ({"patch": patch()}, "patch and patchType do not go together"),
    ({"patchType": "JSONPatch", "patch": patch({"op": "remove"})}, "the patch is not a JSON Patch"),
    ({"patchType": "JSONPatch", "patch": "&"}, "Error"),
    ({"warnings": [1]}, "a warning is not text"),
    ({"auditAnnotations": {"noted": 1}}, "an audit annotation is not text"),
    ({"auditAnnotations": {"noted": float("inf")}}, "Infinity"),
)
def test_a_bad_answer_has_a_fault_and_a_good_one_none(response: dict[str, Any], result: str) -> None:
    found = soak.fault(SENT, 200, answer(**response))
    assert result in found if result else not found


def test_only_malformed_reviews_are_called_malformed_and_what_is_too_deep_may_be_left_unanswered() -> None:
    deep, unknown = SENT._replace(is_deep=True), SENT._replace(uid=None)
    assert soak.fault(SENT, 400, b"no\n") == "400, not 200: b'no\\n'"
    assert [soak.fault(each, 400, b"no\n") for each in (deep, SENT._replace(is_odd=True), unknown)] == ["", "", ""]
    assert soak.fault(unknown, 400, b"\n") == "400 without a reason"
    assert soak.fault(unknown, 200, answer()).startswith("200, not 400")
    assert soak.fault(deep, 200, answer(**GIVEN_UP)) == ""


def test_an_exception_in_the_log_is_shown_with_the_line_before_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("listening\n", encoding="utf-8")
    assert soak.exceptions(log) == []
    log.write_text("listening\nreview u\nTraceback (most recent call last):\n  …\nKeyError\n", encoding="utf-8")
    assert soak.exceptions(log)[0].endswith("review u\nTraceback (most recent call last):\n  …\nKeyError\n")


def soaked_by(answering: Any, number: int) -> soak.Soak:
    with serving(server.Reviews(answering)) as served:
        soaked = soak.Soak(REVIEWS, f"https://localhost:{served.port}", served.trust())
        soaked.send(range(number))
    return soaked


def test_a_soak_finds_no_fault_in_the_webhook_and_faults_in_others() -> None:
    soaked = soaked_by(partial(admission.answer, options=admission.ReviewOptions()), 200)
    assert (soaked.faults, soaked.done) == ([], 200)
    assert soaked.outcomes["200"] > 140
    assert len(soaked_by(echo, 20).faults) == 20
    soaked = soak.Soak(REVIEWS, "https://127.0.0.1:1", ssl.create_default_context())
    soaked.send(range(2))
    assert soaked.outcomes == {"failed": 2}
    assert soaked.faults[1].startswith("1: the connection failed: ConnectionRefusedError")


def test_a_review_is_shown(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    monkeypatch.setattr(sys, "argv", ["soak", "--show=7"])
    soak.main()
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == REVIEWS[7].body


def test_reviews_of_a_load_differ_and_are_posted_in_turn() -> None:
    bodies = varied(reviews()["pods"], 3)
    names = [json.loads(body)["request"]["object"]["metadata"]["name"] for body in bodies]
    assert names == ["pod-0", "pod-1", "pod-2"]
    script = webhook.posting([body.decode() for body in bodies])
    assert all(f"[==[{body.decode()}]==]" in script for body in bodies)
