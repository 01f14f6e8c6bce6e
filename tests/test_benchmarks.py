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


def test_figures_are_milliseconds_and_microseconds_a_request() -> None:
    assert webhook.figures([WRK.format("")], 1.5, 0.75, 40) == (2000.5, 0.85, 1250, 250, 125, 40)


def test_loads_at_the_same_time_are_added_up() -> None:
    slower = WRK.format("").replace("850.00us", "2.00ms")
    assert webhook.figures([slower, WRK.format("")], 1.5, 0.75, 40) == (4001, 2, 1250, 125, 62.5, 40)


@pytest.mark.parametrize(
    "result",
    [WRK.format("  Non-2xx or 3xx responses: 1\n"), WRK.format("  Socket errors: connect 0, read 1\n"), "no such host"],
)
def test_a_load_with_a_failure_is_not_a_measurement(result: str) -> None:
    with pytest.raises(SystemExit) as ended:
        webhook.figures([WRK.format(""), result], 1, 1, 1)
    assert ended.value.code == result


def test_the_best_of_two_rounds_is_fast_and_large() -> None:
    assert webhook.Load(2, 5, 9, 100, 20, 40).best(webhook.Load(1, 4, 10, 90, 21, 50)) == (2, 4, 9, 90, 20, 50)


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


def test_a_build_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho no modules >&2\nexit 1\n", encoding="utf-8")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(golang.NoGoError, match=r"fails in .*: no modules"):
        golang.build(tmp_path / "build")


def test_webhooks_are_built_in_the_directory_that_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\ntest -f go.mod && mkdir $3 && cp typed/main.go $3\n", encoding="utf-8")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert (golang.build(tmp_path / "built") / "main.go").is_file()


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


@pytest.mark.parametrize("change", [{"kind": "Review"}, {"apiVersion": 1}, {"request": None}, {"request": []}])
@pytest.mark.parametrize("name", ["uid", "operation", "subResource"])
def test_what_cannot_be_answered_has_no_uid(change: dict[str, Any], name: str) -> None:
    review = recorded()[0].review
    assert uid_in(json.dumps(review).encode()) == review["request"]["uid"]
    assert uid_in(json.dumps(review | change).encode()) is None
    assert uid_in(json.dumps(review | {"request": review["request"] | {name: 1}}).encode()) is None
    assert uid_in(json.dumps(review | {"more": float("nan")}).encode()) is None
    assert uid_in(json.dumps(review).encode()[:-1]) is None


SENT = Sent("/validate", b"", "u", is_deep=False)
REFUSAL = {"allowed": False, "status": {"code": 422, "message": "no"}}


def answer(**response: Any) -> bytes:
    full = {"uid": "u", "allowed": True} | response
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": full}).encode()


def patch(*operations: dict[str, str]) -> str:
    return base64.b64encode(json.dumps(operations).encode()).decode()


@pytest.mark.parametrize(
    "response",
    [
        {},
        REFUSAL,
        {"patchType": "JSONPatch", "patch": patch({"op": "remove", "path": "/a"})},
        {"warnings": ["beware"], "auditAnnotations": {"noted": "it"}},
    ],
)
def test_a_good_answer_has_no_fault(response: dict[str, Any]) -> None:
    assert soak.fault(SENT, 200, answer(**response)) == ""


@pytest.mark.parametrize(
    ("response", "result"),
    [
        ({"uid": "other"}, "the uid is not 'u'"),
        ({"allowed": 1}, "allowed is neither true nor false"),
        ({"allowed": False}, "KeyError"),
        ({"allowed": False, "status": {"code": 422, "message": ""}}, "a refusal without code and message"),
        (
            {"allowed": False, "status": {"code": 500, "message": "draguard could not answer"}},
            "the review could not be answered",
        ),
        ({"patch": patch()}, "patch and patchType do not go together"),
        ({"patchType": "JSONPatch", "patch": patch({"op": "remove"})}, "the patch is not a JSON Patch"),
        ({"patchType": "JSONPatch", "patch": "&"}, "Error"),
        ({"warnings": [1]}, "a warning is not text"),
        ({"auditAnnotations": {"noted": 1}}, "an audit annotation is not text"),
        ({"auditAnnotations": {"noted": float("inf")}}, "Infinity"),
    ],
)
def test_a_bad_answer_has_a_fault(response: dict[str, Any], result: str) -> None:
    assert result in soak.fault(SENT, 200, answer(**response))


def test_only_malformed_reviews_are_called_malformed() -> None:
    assert soak.fault(SENT, 400, b"no\n") == "400, not 200: b'no\\n'"
    assert soak.fault(SENT._replace(is_deep=True), 400, b"no\n") == ""
    assert soak.fault(SENT._replace(is_odd=True), 400, b"no\n") == ""
    assert soak.fault(SENT._replace(uid=None), 400, b"no\n") == ""
    assert soak.fault(SENT._replace(uid=None), 400, b"\n") == "400 without a reason"
    assert soak.fault(SENT._replace(uid=None), 200, answer()).startswith("200, not 400")


def test_what_is_too_deep_may_be_left_to_the_failure_policy() -> None:
    given_up = answer(allowed=False, status={"code": 500, "message": "draguard could not answer: it is too deep"})
    assert soak.fault(SENT._replace(is_deep=True), 200, given_up) == ""


def test_an_exception_in_the_log_is_shown_with_the_line_before_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("listening\n", encoding="utf-8")
    assert soak.exceptions(log) == []
    log.write_text("listening\nreview u\nTraceback (most recent call last):\n  …\nKeyError\n", encoding="utf-8")
    assert soak.exceptions(log)[0].endswith("review u\nTraceback (most recent call last):\n  …\nKeyError\n")


def test_a_soak_finds_no_fault_in_the_webhook() -> None:
    with serving(server.Reviews(partial(admission.answer, options=admission.ReviewOptions()))) as served:
        soaked = soak.Soak(REVIEWS, f"https://localhost:{served.port}", served.trust())
        soaked.send(range(200))
    assert soaked.faults == []
    assert soaked.done == 200
    assert soaked.outcomes["200"] > 140


def test_a_soak_finds_faults_in_another_server() -> None:
    with serving(server.Reviews(echo)) as served:
        soaked = soak.Soak(REVIEWS, f"https://localhost:{served.port}", served.trust())
        soaked.send(range(20))
    assert len(soaked.faults) == 20


def test_failed_connections_are_counted() -> None:
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
