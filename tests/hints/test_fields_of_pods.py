"""Errors in what places a pod name the fix."""

from typing import Any

import pytest

from tests.rows import each_row
from webhook import validate

TERMS = "requiredDuringSchedulingIgnoredDuringExecution"


def pod(**spec: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "train", "image": "trainer:1"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train"}, "spec": spec}


def selecting(**term: Any) -> dict[str, Any]:
    return pod(affinity={"nodeAffinity": {TERMS: {"nodeSelectorTerms": [term]}}})


def advice(obj: dict[str, Any], kubernetes: str = "1.36") -> tuple[str, object]:
    """Return the hint, and the value that the fix writes."""
    (problem,) = validate(obj, kubernetes=kubernetes)
    return problem.hint, problem.fix and problem.fix.value


@each_row(
    ("toleration", "hint"),
    [
        (
            {"key": "a", "operator": "Exists", "value": "b"},
            "leave out value to tolerate all values of the key, or write operator: Equal to tolerate this one",
        ),
        (
            {"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5},
            "only NoExecute evicts pods: leave out tolerationSeconds, or write effect: NoExecute",
        ),
        (
            {"effect": "NoSchedule"},
            "add the key of the taint, or write operator: Exists without a value for all taints",
        ),
        (
            {"key": "a=b:NoSchedule"},
            "each part is a field of its own: key: a, operator: Equal, value: b, effect: NoSchedule",
        ),
        ({"key": "a=1"}, 'each part is a field of its own: key: a, operator: Equal, value: "1"'),
        ({"key": "a:NoSchedule"}, "each part is a field of its own: key: a, operator: Exists, effect: NoSchedule"),
        ({"key": "not a key"}, ""),
    ],
)
def test_a_toleration_is_fixed_by_its_fields(toleration: dict[str, Any], hint: str) -> None:
    assert advice(pod(tolerations=[toleration])) == (hint, None)


@pytest.mark.parametrize(
    ("kubernetes", "hint"),
    [
        ("1.36", "Lt needs the feature gate TaintTolerationComparisonOperators, which is off"),
        ("1.34", "Lt is supported from Kubernetes 1.35 on"),
    ],
)
def test_a_comparison_needs_its_release_and_gate(kubernetes: str, hint: str) -> None:
    tolerations = [{"key": "memory", "operator": "Lt", "value": "1"}]
    assert advice(pod(tolerations=tolerations), kubernetes) == (hint, None)


def test_a_number_to_compare_has_no_hint() -> None:
    tolerations = [{"key": "memory", "operator": "Lt", "value": "1.5"}]
    problems = validate(pod(tolerations=tolerations), feature_gates={"TaintTolerationComparisonOperators": True})
    assert {problem.hint for problem in problems} == {""}


@each_row(("written", "meant"), [("Equals", "Equal"), ("==", "Equal"), ("In", "Equal"), ("exists", "Exists")])
def test_an_operator_of_something_else_is_replaced_in_tolerations(written: str, meant: str) -> None:
    tolerations = [{"key": "a", "operator": written, "value": ""}]
    assert advice(pod(tolerations=tolerations)) == (f'did you mean "{meant}"?', meant)


@each_row(("written", "meant"), [("Equals", "In"), ("=", "In"), ("!=", "NotIn"), ("NOTIN", "NotIn"), (">", "Gt")])
def test_an_operator_of_something_else_is_replaced_in_conditions(written: str, meant: str) -> None:
    conditions = [{"key": "a", "operator": written, "values": ["1"]}]
    assert advice(selecting(matchExpressions=conditions)) == (f'did you mean "{meant}"?', meant)


def test_an_operator_that_names_of_nodes_do_not_have_is_not_suggested() -> None:
    assert advice(selecting(matchFields=[{"key": "metadata.name", "operator": ">", "values": ["a"]}])) == ("", None)


def test_a_key_with_a_value_is_written_as_a_condition() -> None:
    assert advice(selecting(matchExpressions=[{"key": "a=b", "operator": "Exists"}]))[0] == (
        "each part is a field of its own: key: a, operator: In, values: [b]"
    )
    assert advice(pod(nodeSelector={"a=b": ""}))[0] == "write a: b"
    assert advice(pod(nodeSelector={"a=true": ""}))[0] == 'write a: "true"'


def test_a_term_has_conditions_in_place_of_labels() -> None:
    hint = "write matchExpressions: [{key: KEY, operator: In, values: [VALUE]}]"
    assert advice(selecting(matchLabels={"a": "b"})) == (hint, None)


@each_row(("written", "meant"), [("No", "Never"), ("unless-stopped", "Always"), ("on-failure", "OnFailure")])
def test_a_restart_policy_of_docker_compose_is_replaced(written: str, meant: str) -> None:
    assert advice(pod(restartPolicy=written)) == (f'did you mean "{meant}"?', meant)


def test_pods_of_a_deployment_do_not_end() -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod(restartPolicy="Never")["spec"]}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}
    assert advice(deployment) == (
        "pods of this kind run until they are deleted, those of a Job end: leave the field out, or use a Job",
        None,
    )


def test_a_key_that_a_device_tolerates_is_refused_once() -> None:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "tolerations": [{"key": "a=b"}]}}
    spec = {"devices": {"requests": [request]}}
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "a"}, "spec": spec}
    assert advice(claim, "1.37")[0] == "each part is a field of its own: key: a, operator: Equal, value: b"
