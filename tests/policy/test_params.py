"""The parameters that bindings pass to policies."""

from typing import Any

from tests.policy.examples import POD, PODS, binding, policy
from webhook.policy.evaluation.request import request_of
from webhook.policy.evaluation.validate import validate
from webhook.policy.evaluation.verdict import Verdict
from webhook.policy.load import load
from webhook.policy.manifest.kinds import Kinds

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


def config(name: str, value: str, namespace: str = "default", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": value}}


def judged(ref: dict[str, Any] | None, *objects: dict[str, Any], obj: dict[str, Any] = POD, **fields: Any) -> Verdict:
    rule = PODS | {"resources": ["pods", "nodes"]}
    made: dict[str, Any] = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [
            {
                "expression": "params != null && params.data.a == 'yes'",
                "messageExpression": "params == null ? 'no params' : string(params.metadata.name)",
            }
        ],
    } | fields
    bound = binding(paramRef=ref) if ref else binding()
    policies = load([policy(rules=[rule], **made), bound, *objects])
    assert not policies.errors
    return validate(request_of(obj, kinds=Kinds()), policies)


def message(verdict: Verdict) -> str:
    return verdict.decisions[0].message if verdict.decisions else ""


def refused(**ref: Any) -> dict[str, Any]:
    return {"parameterNotFoundAction": "Deny"} | ref


def test_parameters_are_found_by_name_in_the_objects_namespace() -> None:
    assert judged(refused(name="c"), config("c", "yes")).allowed
    assert message(judged(refused(name="c"), config("c", "no"), config("d", "yes"))) == "c"
    assert message(judged(refused(name="c"), config("c", "yes", "other"))).startswith(
        "failed to configure binding: no params"
    )


def test_parameters_are_found_in_the_namespace_that_is_named() -> None:
    assert judged(refused(name="c", namespace="other"), config("c", "yes", "other")).allowed


def test_each_selected_object_is_a_question_of_its_own() -> None:
    chosen = refused(selector={"matchLabels": {"p": "y"}})
    verdict = judged(chosen, config("a", "yes", p="y"), config("b", "no", p="y"), config("c", "no", p="n"))
    assert [decision.denied for decision in verdict.decisions] == [False, True]
    assert verdict.decisions[1].message == "b"
    assert verdict.decisions[1].params == config("b", "no", p="y")


def test_an_empty_selector_selects_all() -> None:
    assert len(judged(refused(selector={}), config("a", "yes"), config("b", "yes")).decisions) == 2


def test_missing_parameters_allow_or_deny() -> None:
    assert judged({"name": "c", "parameterNotFoundAction": "Allow"}).allowed
    text = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert message(judged(refused(name="c"))) == text
    assert judged(refused(name="c"), failurePolicy="Ignore").allowed


def test_without_a_reference_there_are_no_parameters() -> None:
    assert message(judged(None)) == "no params"


def test_objects_of_the_cluster_need_a_namespace_for_their_parameters() -> None:
    text = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
    refusal = message(judged(refused(name="c"), config("c", "yes"), obj=NODE))
    assert refusal == f"failed to configure binding: {text}"
    assert judged(refused(name="c", namespace="default"), config("c", "yes"), obj=NODE).allowed


def test_parameters_of_the_cluster_have_no_namespace() -> None:
    kind = {"apiVersion": "v1", "kind": "Node"}
    text = "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
    assert message(judged(refused(name="n", namespace="a"), NODE, paramKind=kind)) == text
    named = [{"expression": "params.metadata.name == 'n'"}]
    assert judged(refused(name="n"), NODE, paramKind=kind, validations=named).allowed


def test_a_kind_is_known_by_its_objects() -> None:
    kind = {"apiVersion": "example.com/v1", "kind": "Quota"}
    quota = {"apiVersion": "example.com/v1", "kind": "Quota", "metadata": {"name": "q"}, "data": {"a": "yes"}}
    assert judged(refused(name="q"), quota, paramKind=kind).allowed
    text = "failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Quota'"
    assert message(judged(refused(name="q"), paramKind=kind)) == text
    assert judged(refused(name="q"), paramKind=kind, failurePolicy="Ignore").allowed


def test_parameters_are_what_a_cluster_stores() -> None:
    empty = [{"expression": "params.data.a == ''"}]
    assert judged(refused(name="c"), config("c", "") | {"data": {"a": None}}, validations=empty).allowed
    wrong = config("c", "yes") | {"data": {"a": "yes", "b": 1}}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    made = policy(rules=[PODS], paramKind=kind, validations=[{"expression": "params == null"}])
    policies = load([made, binding(paramRef=refused(name="c")), wrong])
    assert "no params found" in message(validate(request_of(POD, kinds=Kinds()), policies))
    (found,) = policies.errors
    assert found.problem.message == "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"


def test_namespaces_are_what_a_cluster_stores() -> None:
    labels = {"team": None}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": labels}}
    rules = [{"expression": "namespaceObject.metadata.labels.team == ''"}]
    policies = load([policy(rules=[PODS], validations=rules), binding(), namespace])
    assert validate(request_of(POD, kinds=Kinds()), policies).allowed


def missing(verdict: Verdict) -> str:
    return verdict.decisions[0].missing


def test_the_missing_object_is_named() -> None:
    assert missing(judged(refused(name="c"))) == 'the ConfigMap "c" (v1) in the namespace "default"'
    here = 'a ConfigMap (v1) with the labels that the selector asks for in the namespace "default"'
    chosen = refused(selector={"matchLabels": {"a": "b"}})
    assert missing(judged(chosen, config("c", "yes"))) == here
    assert missing(judged(chosen, config("c", "yes", "x", a="b"), config("d", "yes", "w", a="b"))) == (
        f'{here}; there is one in "w" and "x"'
    )
    nodes = {"apiVersion": "v1", "kind": "Node"}
    assert missing(judged(refused(name="other"), NODE, paramKind=nodes)) == 'the Node "other" (v1)'
    assert missing(judged(refused(name="c"), config("c", "no"))) == ""
