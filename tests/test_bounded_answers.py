"""Answers stay small and quick, however many findings there are; offline, all are reported."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import webhook
from tests.attacks.answers import MADE, owners, pods, segments
from tests.attacks.target import DRA
from tests.command import draguard
from tests.steps import counting
from webhook.admission import Call, MalformedReviewError, ReviewOptions, answer, read, review
from webhook.admission.responses import MAX_CAUSES
from webhook.problem import SHOWN, cut

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

LARGEST = 1 << 20


@pytest.mark.parametrize("make", MADE)
def test_an_answer_has_at_most_1_mib(make: Callable[[], bytes]) -> None:
    body = make()
    for endpoint in ("validate", "mutate"):
        result = answer(body, Call(endpoint), ReviewOptions())
        assert result.status == 200
        assert len(result.body) <= LARGEST


def test_a_refusal_says_how_many_more_causes_there_are() -> None:
    status = json.loads(answer(pods(), Call("validate"), ReviewOptions()).body)["response"]["status"]
    assert len(status["details"]["causes"]) <= MAX_CAUSES
    assert status["message"].endswith(" more]")


def test_a_long_value_is_shown_in_part_at_admission_and_offline_in_full() -> None:
    made = json.loads(segments())
    made["request"]["object"]["spec"]["pool"]["name"] = "/" * 2000
    status = review(made, "validate", ReviewOptions())["response"]["status"]
    assert max(len(cause["message"]) for cause in status["details"]["causes"]) < 2 * SHOWN
    made["request"]["object"]["metadata"]["labels"] = {"a": "%" * 2000}
    found = webhook.validate(made["request"]["object"])
    assert any('"' + "%" * 2000 + '"' in problem.message for problem in found)


def test_many_controllers_are_reported_in_linear_time_and_memory() -> None:
    obj = json.loads(owners())["request"]["object"]
    one = obj["metadata"]["ownerReferences"][0]
    taken = []
    for number in (250, 500):
        obj["metadata"]["ownerReferences"] = [one | {"name": f"n{index}"} for index in range(number)]
        with counting() as steps:
            found = [problem for problem in webhook.validate(obj) if "Controller" in problem.message]
        taken.append(steps())
    assert taken[1] < 2.1 * taken[0]
    assert len(found) == 499
    assert len(found[0].message) > 30_000
    assert sum(len(problem.message) for problem in found) < 20_000_000


def test_what_is_cut_says_by_how_much() -> None:
    assert cut("x" * 12, 10) == "x" * 10 + "\u2026 (2 more characters)"
    assert cut("x" * 10, 10) == "x" * 10


def test_a_long_uid_is_refused_since_the_answer_repeats_it() -> None:
    body = json.loads(pods())
    body["request"]["uid"] = "x" * 2000
    with pytest.raises(MalformedReviewError, match="uid is longer than 1000 characters"):
        review(read(json.dumps(body).encode()), "validate", ReviewOptions())


@pytest.mark.parametrize("version", ["\x01" * LARGEST, json.loads("[" * 900 + "]" * 900), {"a": "x" * LARGEST}])
def test_another_version_is_not_repeated_at_any_length(version: Any) -> None:
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": version}).encode()
    result = answer(body, Call("validate"), ReviewOptions())
    assert result.status == 400
    assert len(result.body) < 1000


@pytest.mark.parametrize("output", ["json", "sarif", "html", "junit"])
def test_a_report_does_not_repeat_long_names_and_keys(output: str, tmp_path: Path) -> None:
    long = "k" * 100_000
    fields = dict.fromkeys((f"field{number}" for number in range(100)), 1)
    metadata = {"name": f"{long} ", "namespace": f"{long} "}
    devices = [{"name": "gpu", "attributes": {long: fields}}]
    made = {"apiVersion": DRA, "kind": "ResourceSlice", "metadata": metadata, "spec": {"devices": devices}}
    (tmp_path / "slice.json").write_text(json.dumps(made), encoding="utf-8")
    done = draguard("validate", "--output", output, tmp_path)
    assert done.out.count("field") > 100
    assert len(done.out) < 5_000_000


def test_findings_share_a_long_key() -> None:
    devices = [{"name": "gpu", "attributes": {"k" * 100_000: {"field1": 1, "field2": 2}}}]
    made = {"apiVersion": DRA, "kind": "ResourceSlice", "metadata": {"name": "a"}, "spec": {"devices": devices}}
    keys = {id(problem.path[4]) for problem in webhook.validate(made) if len(problem.path) > 5}
    assert len(keys) == 1
