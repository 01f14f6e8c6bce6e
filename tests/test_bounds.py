"""The webhook stops at the first reason to refuse a request; offline, everything is reported."""

from typing import Any

import pytest

from webhook.api.judgement import ENOUGH, judge, judge_admitted
from webhook.inventory import Inventory
from webhook.references import Context
from webhook.references.selecting import selectors_of
from webhook.release import Release

pytestmark = pytest.mark.no_cover

MANY = 3 * ENOUGH


def pod(**spec: Any) -> dict[str, Any]:
    container = {"name": "a", "image": "b"}
    metadata = {"name": "x", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def using(names: list[str], known: list[str]) -> dict[str, Any]:
    claims = [{"name": name, "resourceClaimName": "c"} for name in known]
    container = {"name": "a", "image": "b", "resources": {"claims": [{"name": name} for name in names]}}
    return pod(containers=[container], resourceClaims=claims)


WRONG = {
    "items": pod(containers=[{}] * MANY),
    "types": pod(containers=[1] * MANY),
    "labels": {**pod(), "metadata": {"name": "x", "labels": {f"-{number}": "" for number in range(MANY)}}},
    "rules": pod(resourceClaims=[{"name": "-", "resourceClaimName": "c"}] * MANY),
}


@pytest.mark.parametrize("obj", WRONG.values(), ids=WRONG.keys())
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
    known = [f"c{number}" for number in range(150 * ENOUGH)]
    (problem,) = judge_admitted(using(["other"], known))
    assert problem.reason == "FieldValueNotFound"


@pytest.mark.parametrize("release", ["1.30", "1.36"])
def test_a_claim_used_as_a_whole_repeats_each_of_its_requests(release: str) -> None:
    uses: list[dict[str, str]] = [{"name": "c", "request": "a"}, {"name": "c", "request": "b"}, {"name": "c"}]
    obj = using(["c"], ["c"])
    obj["spec"]["containers"][0]["resources"]["claims"] = uses
    found = [str(each) for each in judge(obj, kubernetes=release) if each.reason == "FieldValueDuplicate"]
    assert found == ['spec.containers[0].resources.claims[2]: Duplicate value: "c"'] * 2 * (release == "1.36")


def test_of_selectors_in_any_number_the_first_are_looked_at() -> None:
    selectors = [{"cel": {"expression": f'device.attributes["a.example"].a{number}'}} for number in range(100)]
    request = {"name": "a", "exactly": {"deviceClassName": "a", "selectors": selectors}}
    claim = {"kind": "ResourceClaim", "spec": {"devices": {"requests": [request]}}}
    assert len(selectors_of(claim, Context(Inventory(), Release(36), frozenset()))) == 32
