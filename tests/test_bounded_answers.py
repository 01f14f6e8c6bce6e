"""Answers stay small and quick, however many findings there are; offline, all are reported."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import webhook
from tests.attacks.answers import MADE, owners, pods, segments
from tests.command import draguard
from tests.policy.examples import of
from tests.rows import each_row
from tests.steps import counting
from tests.structured import claim, resource_slice
from webhook.admission import Call, MalformedReviewError, ReviewOptions, answer, read, review
from webhook.admission.responses import MAX_CAUSES
from webhook.api.judgement import ENOUGH, judge, judge_admitted
from webhook.inventory import Inventory
from webhook.problem import SHOWN, cut
from webhook.references.rules import Context
from webhook.references.selecting import selectors_of
from webhook.release import Release

pytestmark = pytest.mark.no_cover

LARGEST = 1 << 20


@pytest.mark.slow
@pytest.mark.parametrize("make", MADE)
def test_an_answer_has_at_most_1_mib(make: Callable[[], bytes]) -> None:
    body = make()
    for endpoint in ("validate", "mutate"):
        result = answer(body, Call(endpoint), ReviewOptions())
        assert result.status == 200
        assert len(result.body) <= LARGEST


@pytest.mark.slow
def test_a_refusal_says_how_many_more_causes_there_are() -> None:
    status = json.loads(answer(pods(), Call("validate"), ReviewOptions()).body)["response"]["status"]
    assert len(status["details"]["causes"]) <= MAX_CAUSES
    assert status["message"].endswith(" more]")


@pytest.mark.slow
def test_a_long_value_is_shown_in_part_at_admission_and_offline_in_full() -> None:
    made = json.loads(segments())
    made["request"]["object"]["spec"]["pool"]["name"] = "/" * 2000
    status = review(made, "validate", ReviewOptions())["response"]["status"]
    assert max(len(cause["message"]) for cause in status["details"]["causes"]) < 2 * SHOWN
    made["request"]["object"]["metadata"]["labels"] = {"a": "%" * 2000}
    found = webhook.validate(made["request"]["object"])
    assert any('"' + "%" * 2000 + '"' in problem.message for problem in found)


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_is_cut_says_by_how_much_and_becomes_shorter() -> None:
    assert [len(cut("x" * length, 10)) for length in (10, 12, 32)] == [10, 12, 32]
    assert cut("x" * 33, 10) == "x" * 10 + "\u2026 (23 more characters)"


@pytest.mark.slow
def test_a_long_uid_is_refused_since_the_answer_repeats_it() -> None:
    body = json.loads(pods())
    body["request"]["uid"] = "x" * 2000
    with pytest.raises(MalformedReviewError, match="uid is longer than 1000 characters"):
        review(read(json.dumps(body).encode()), "validate", ReviewOptions())


@pytest.mark.slow
@each_row("version", "\x01" * LARGEST, json.loads("[" * 900 + "]" * 900), {"a": "x" * LARGEST})
def test_another_version_is_not_repeated_at_any_length(version: Any) -> None:
    body = json.dumps({"kind": "AdmissionReview", "apiVersion": version}).encode()
    result = answer(body, Call("validate"), ReviewOptions())
    assert result.status == 400
    assert len(result.body) < 1000


@pytest.mark.slow
@pytest.mark.parametrize("output", ["json", "sarif", "html", "junit"])
def test_a_report_does_not_repeat_long_names_and_keys(output: str, tmp_path: Path) -> None:
    long = "k" * 100_000
    made = resource_slice({"name": "gpu", "attributes": {long: {f"field{number}": 1 for number in range(100)}}})
    made["metadata"] = {"name": f"{long} ", "namespace": f"{long} "}
    (tmp_path / "slice.json").write_text(json.dumps(made), encoding="utf-8")
    done = draguard("validate", "--output", output, tmp_path)
    assert done.out.count("field") > 100
    assert len(done.out) < 5_000_000


@pytest.mark.slow
def test_findings_share_a_long_key() -> None:
    made = resource_slice({"name": "gpu", "attributes": {"k" * 100_000: {"field1": 1, "field2": 2}}})
    keys = {id(problem.path[4]) for problem in webhook.validate(made) if len(problem.path) > 5}
    assert len(keys) == 1


MANY = 3 * ENOUGH


def pod(**spec: Any) -> dict[str, Any]:
    return of("Pod", spec={"containers": [{"name": "a", "image": "b"}], **spec})


def using(*claims: dict[str, str], known: Sequence[str] = ("c",)) -> dict[str, Any]:
    container = {"name": "a", "image": "b", "resources": {"claims": [*claims]}}
    return pod(containers=[container], resourceClaims=[{"name": name, "resourceClaimName": "c"} for name in known])


@each_row(
    "obj",
    pod(containers=[{}] * MANY),
    pod(containers=[1] * MANY),
    pod() | {"metadata": {"name": "x", "labels": {f"-{number}": "" for number in range(MANY)}}},
    pod(resourceClaims=[{"name": "-", "resourceClaimName": "c"}] * MANY),
)
def test_at_a_webhook_enough_findings_are_enough(obj: dict[str, Any]) -> None:
    found, everything = judge_admitted(obj), judge(obj)
    assert 0 < len(found) <= 3 * ENOUGH < len(everything) + 1
    assert set(found) <= set(everything)


def test_unknown_fields_in_any_number_do_not_hide_what_is_wrong() -> None:
    containers: list[Any] = [{"name": f"c{number}", "image": "b", "later": 1} for number in range(MANY)]
    assert judge_admitted(pod(containers=containers)) == []
    assert [each.rule for each in judge_admitted(pod(containers=[*containers, 1]))] == ["wrong-type"]
    repeated = judge_admitted(pod(containers=[*containers, containers[0]]))
    assert [each.rule for each in repeated] == ["container-names"]


@pytest.mark.slow
def test_a_claim_that_is_not_there_is_found_among_any_number() -> None:
    (problem,) = judge_admitted(using({"name": "other"}, known=[f"c{number}" for number in range(150 * ENOUGH)]))
    assert problem.reason == "FieldValueNotFound"


@each_row("release", "1.30", "1.36")
def test_a_claim_used_as_a_whole_repeats_each_of_its_requests(release: str) -> None:
    obj = using({"name": "c", "request": "a"}, {"name": "c", "request": "b"}, {"name": "c"})
    found = [str(each) for each in judge(obj, kubernetes=release) if each.reason == "FieldValueDuplicate"]
    assert found == ['spec.containers[0].resources.claims[2]: Duplicate value: "c"'] * 2 * (release == "1.36")


def test_of_selectors_in_any_number_the_first_are_looked_at() -> None:
    selectors = [{"cel": {"expression": f'device.attributes["a.example"].a{number}'}} for number in range(100)]
    obj = claim({"name": "a", "exactly": {"deviceClassName": "a", "selectors": selectors}})
    assert len(selectors_of(obj, Context(Inventory(), Release(36), frozenset()))) == 32
