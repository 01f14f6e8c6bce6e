import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.manifests import review
from tests.command import SCRIPT, draguard, usage_error
from tests.rows import each_row
from tests.structured import claim
from webhook import admission
from webhook.cli.review import split

ONE = json.dumps(review("a")).encode()


def uids(output: str) -> list[str]:
    return [json.loads(line)["response"]["uid"] for line in output.splitlines()]


def answered(asked: Any, *options: str) -> Any:
    """Answer a review; return the response."""
    done = draguard("review", *options, "-", stdin=json.dumps(asked).encode())
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)["response"]


class TestAnswers:
    @each_row("endpoint", "validate", "mutate")
    def test_they_are_those_of_the_webhook(self, endpoint: admission.Endpoint) -> None:
        asked = review("a")
        done = draguard("review", "--endpoint", endpoint, "-", stdin=json.dumps(asked).encode())
        assert (done.code, done.err) == (0, "")
        assert json.loads(done.out) == admission.review(asked, endpoint, admission.ReviewOptions())
        assert "patch" not in answered(asked)  # the validating webhook answers by default

    @each_row(("claims", "code"), ([{"name": "gpu"}], 1), ([], 0))
    def test_the_exit_code_says_whether_all_are_admitted(self, claims: list[dict[str, str]], code: int) -> None:
        spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": []}
        admitted, other = review("a", spec), review("b", {**spec, "resourceClaims": claims})
        given = "\n".join(map(json.dumps, (admitted, other, admitted))).encode()
        done = draguard("review", "--exit-code", "-", stdin=given)
        assert (done.code, uids(done.out)) == (code, ["a", "b", "a"])
        assert draguard("review", "-", stdin=given).code == 0

    def test_a_byte_order_mark_is_not_a_part_of_it(self) -> None:
        text = json.dumps(review("a"))
        assert draguard("review", "-", stdin=text.encode("utf-8-sig")) == draguard("review", "-", stdin=text.encode())

    def test_a_manifest_is_not_a_review(self) -> None:
        done = draguard("review", "-", stdin=b"apiVersion: v1\nkind: Pod\n")
        assert done.code == 1
        assert done.err.splitlines()[0].endswith("is a JSON object: for manifests, use draguard validate")

    def test_feature_gates_are_those_that_were_stated(self) -> None:
        request = {"name": "a", "exactly": {"deviceClassName": "a", "capacity": {"requests": {"memory": "1Gi"}}}}
        asked, gate = review("a", object=claim(request)), "DRAConsumableCapacity"
        for gates, dropped in {f"{gate}=true": False, f"{gate}=false": True, "": False}.items():
            assert (f"needs the feature gate {gate}" in str(answered(asked, "--feature-gates", gates))) is dropped

    def test_a_refusal_is_an_answer(self) -> None:
        spec = {"nodeName": "node-1", "nodeSelector": {"kubernetes.io/hostname": "node-2"}, "resourceClaims": [{}]}
        assert answered(review("a", spec), "--endpoint=mutate")["allowed"] is False

    def test_options_are_those_of_the_webhook(self) -> None:
        for options in ((), ("--select-node-by", "name"), ("--pods", "claims")):
            assert "patch" in answered(review("a"), "--endpoint", "mutate", *options)
        without_claims = review("a", {"nodeName": "node-1"})
        assert "patch" not in answered(without_claims, "--endpoint", "mutate")
        assert "patch" in answered(without_claims, "--endpoint", "mutate", "--pods", "all")

    def test_the_release_is_that_of_the_cluster(self) -> None:
        claims = {"containers": [{"name": "a", "image": "b"}], "resourceClaims": [{"name": "gpu", "source": {}}]}
        response = answered(review("a", claims), "--kubernetes-version", "1.30")
        assert response["status"]["details"]["causes"][0]["field"] == "spec.resourceClaims[0].source"

    def test_an_unexpected_failure_is_decided_by_the_failure_policy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.admission.decisions.judge_admitted", Mock(side_effect=ZeroDivisionError))
        found = [draguard("review", "--failure-policy", each, "-", stdin=ONE).out for each in ("Fail", "ignore")]
        assert [json.loads(each)["response"]["allowed"] for each in found] == [False, True]


class TestInput:
    def test_several_files_are_answered_one_after_the_other(self, tmp_path: Path) -> None:
        for name in "ab":
            (tmp_path / name).write_text(json.dumps(review(name)), encoding="utf-8")
        done = draguard("review", tmp_path / "a", "-", tmp_path / "b", stdin=json.dumps(review("c")).encode())
        assert uids(done.out) == ["a", "c", "b"]

    @each_row(
        "spell",
        json.dumps,
        lambda value: json.dumps(value, indent=2),
        lambda value: json.dumps(value, indent=2) + "\n\n",
    )
    def test_other_input_than_reviews_is_reported_with_its_line(self, spell: Callable[[Any], str]) -> None:
        texts = [spell(review("a")), "rubbish", spell(review("b")), spell({"kind": "Pod"}), "[1]", spell(review("c"))]
        done = draguard("review", "-", stdin="\n".join(texts).encode())
        assert done.code == 1
        assert uids(done.out) == ["a", "b", "c"]
        ends = ["\n".join(texts[:number]).count("\n") + 2 for number in (1, 3, 4)]
        assert [line.split(" error: ")[0] for line in done.err.splitlines()] == [f"<stdin>:{end}:" for end in ends]

    @each_row("text", b'{"a": "{"}', b'{\n"a": 1', b"{} {}", b"\xff", b"{\xff}", b"[" * 100_000, b"null")
    def test_any_other_text_is_reported_once(self, text: bytes) -> None:
        done = draguard("review", "-", stdin=text)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("<stdin>:1: error: the request ")
        assert done.err.count("\n") == 1

    def test_nothing_is_a_mistake(self) -> None:
        done = draguard("review", "-", stdin=b"\n  \n")
        assert (done.code, done.out) == (1, "")
        said = "no AdmissionReview is there: did the command that writes it fail?"
        assert done.err.startswith(f"<stdin>:1: error: {said}")
        assert draguard("review", "--allow-empty", "-", stdin=b"\n  \n") == (0, "", "")

    def test_a_text_with_braces_in_it_ends_where_it_ends(self) -> None:
        text = "\n".join(json.dumps(review(uid, {"a": "{{"})) for uid in "ab")
        assert uids(draguard("review", "-", stdin=text.encode()).out) == ["a", "b"]

    @each_row("path", "gone.json", "a\0b")
    def test_a_file_that_cannot_be_read_is_wrong_use(self, path: str) -> None:
        assert usage_error("review", path).startswith("draguard review: error: cannot read ")

    @pytest.mark.process
    def test_a_pipe_gets_each_answer_at_once(self) -> None:
        asked = json.dumps(review("a")).encode() + b"\n"
        with subprocess.Popen([SCRIPT, "review", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            assert running.stdin
            assert running.stdout
            for _ in range(2):
                running.stdin.write(asked)
                running.stdin.flush()
                assert uids(running.stdout.readline().decode()) == ["a"]
            running.stdin.close()
            assert running.wait(timeout=60) == 0

    @given(st.lists(st.binary(max_size=20) | st.sampled_from([b"{", b"}", b'{"a": {}}', b"", b'  "a": 1,'])))
    def test_no_line_is_lost(self, lines: list[bytes]) -> None:
        whole = [line.replace(b"\n", b"") + b"\n" for line in lines]
        texts = list(split(whole))
        assert [line for _, text in texts for line in text.splitlines() if line.strip()] == [
            line for text in whole for line in text.splitlines() if line.strip()
        ]
        assert all(whole[first - 1].strip() for first, _ in texts)
