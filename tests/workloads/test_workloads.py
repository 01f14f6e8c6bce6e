"""Updates of the kinds that make pods: the claims in their templates."""

from typing import Any

import pytest

from tests.rows import each_row
from tests.workloads.jobs import JOB, job
from webhook import validate


def of_apps(made: Any, kind: str) -> Any:
    """Make another workload of a job."""
    result = {**made, "apiVersion": "apps/v1", "kind": kind, "spec": {"template": made["spec"]["template"]}}
    del result["spec"]["template"]["spec"]["restartPolicy"]
    return result


@each_row("new", job(made_from="two-gpus"), job(used=None), job(used=[{"name": "gpu", "request": "large"}]))
def test_the_claims_of_a_job_cannot_change(new: Any) -> None:
    problems = validate(new, JOB)
    assert [problem.field for problem in problems] == ["spec.template"]
    assert [problem.message.rpartition(": ")[2] for problem in problems] == ["field is immutable"]


def test_the_claims_that_containers_of_a_suspended_job_use_can_change() -> None:
    new, suspended = job(used=[], suspend=True), job(suspend=True)
    assert validate(new, suspended, kubernetes="1.36") == []
    assert len(validate(new, suspended, kubernetes="1.34")) == 1


def test_the_claims_that_a_suspended_job_has_cannot_change() -> None:
    assert len(validate(job(made_from="two-gpus", suspend=True), job(suspend=True), kubernetes="1.36")) == 1


def test_nothing_else_of_a_job_is_compared() -> None:
    assert validate(job(image="trainer:2", suspend=True), JOB) == []


@each_row("kind", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
def test_the_claims_of_other_workloads_can_change(kind: str) -> None:
    old, new = (of_apps(each, kind) for each in (job(), job(made_from="two-gpus")))
    assert validate(new, old) == []


def test_an_update_is_validated_like_a_new_one() -> None:
    old, new = (of_apps(each, "Deployment") for each in (job(), job(used=[{}])))
    assert [problem.field for problem in validate(new, old)] == ["spec.template.spec.containers[0].resources.claims[0]"]


# Placement


COMPARING = {"key": "memory", "operator": "Gt", "value": "5"}
ODD = {"key": "zone", "operator": "In", "values": ["a zone"]}


def placed(kind: str = "Deployment", **spec: Any) -> Any:
    """Make a workload whose pods have some fields."""
    made = of_apps(job(), kind)
    made["spec"]["template"]["spec"] |= spec
    return made


def requiring(*requirements: Any) -> Any:
    """Return the affinity to nodes that meet requirements."""
    terms = [{"matchExpressions": list(requirements)}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def refused(new: Any, old: Any, kubernetes: str = "1.36", subresource: str = "") -> list[str]:
    """Return the fields of an update that are refused."""
    found = validate(new, old, kubernetes=kubernetes, subresource=subresource)
    return [problem.field.removeprefix("spec.template.spec.") for problem in found if problem.level == "error"]


@each_row(
    ("old", "value", "fields"),
    ([COMPARING], "7", []),
    ([COMPARING], "7.5", ["tolerations[0].value"] * 2),
    ([], "7", ["tolerations[0].operator"]),
)
def test_tolerations_may_compare_without_the_gate_if_old_ones_do(old: Any, value: str, fields: list[str]) -> None:
    new = [COMPARING | {"value": value}, {"operator": "Exists"}]
    assert refused(placed(tolerations=new), placed(tolerations=old)) == fields


@each_row(("before", "count"), (requiring(ODD), 0), (requiring(), 1), ({}, 1), (None, 1))
def test_affinity_may_have_values_that_no_label_has_if_the_old_one_does(before: Any, count: int) -> None:
    new = placed(affinity=requiring(ODD, {"key": "zone", "operator": "Exists"}))
    assert len(refused(new, placed(affinity=before))) == count
    assert refused(new, placed(affinity=before), kubernetes="1.32") == []


def test_an_invalid_toleration_is_refused_even_if_unchanged_but_not_with_the_status() -> None:
    stored = placed(tolerations=[{}])
    assert refused(stored, stored) == ["tolerations[0].operator"]
    assert refused(stored, stored, subresource="status") == []


@pytest.mark.parametrize("before", [{"tolerations": [{}]}, {"activeDeadlineSeconds": 5}])
def test_pods_of_a_stateful_set_are_not_validated_again_if_the_old_ones_are_invalid(before: dict[str, Any]) -> None:
    stored = placed("StatefulSet", **before)
    new = placed("StatefulSet", tolerations=[{}], nodeSelector={"a b": "c"}, restartPolicy="Never")
    assert refused(new, stored) == ["restartPolicy"]
    assert len(refused(new, stored, kubernetes="1.33")) == 3
    assert len(refused(new, placed("StatefulSet"))) == 3
