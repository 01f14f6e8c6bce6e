"""Policies at admission: AdmissionReviews in, AdmissionReviews out."""

import base64
import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.admission.reviews import ALLOWED, POD, SLICE, asked
from tests.command import draguard
from tests.policy.examples import ANYTHING, PODS, binding, mutating, policy, validating
from tests.rows import each_row
from tests.structured import changed
from webhook.admission import Endpoint, ReviewOptions, review
from webhook.admission.responses import MAX_ANNOTATION_KEY
from webhook.documents.dump import dump
from webhook.patch import apply_patch
from webhook.policy.evaluation.authorizer import authorizer_of
from webhook.policy.load import load

PERSON = {"username": "jane", "groups": ["system:authenticated"]}


def saying(expression: str = "false", **fields: Any) -> list[Any]:
    return validating({"expression": expression, "message": "no"} | fields)


def answered(manifests: list[Any], obj: Any, endpoint: Endpoint = "validate", **request: Any) -> dict[str, Any]:
    """Answer a review with policies."""
    options = ReviewOptions(policies=load(manifests))
    response: dict[str, Any] = review(asked(obj, **request), endpoint, options)["response"]
    return response


def patched(response: dict[str, Any], obj: Any = POD) -> Any:
    assert response["allowed"], response
    return apply_patch(obj, json.loads(base64.b64decode(response["patch"])))


class TestValidating:
    def test_the_first_denial_has_the_api_servers_message_and_code(self) -> None:
        assert answered(saying("true"), POD) == ALLOWED
        response = answered(saying(reason="Forbidden"), POD)
        refusal = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no"
        message = f'pods "pod" is forbidden: {refusal}'
        details = {"name": "pod", "group": "", "kind": "pods", "causes": [{"message": refusal}]}
        status = {"status": "Failure", "code": 403, "reason": "Forbidden", "message": message, "details": details}
        assert response == {"uid": "c7df00db", "allowed": False, "status": status}

    def test_keys_of_audit_annotations_are_such_as_the_api_server_takes_of_webhooks(self) -> None:
        noted = [{"key": "k" * 60, "valueExpression": "'v'"}, {"key": "a", "valueExpression": "'w'"}]
        annotations = answered([policy(auditAnnotations=noted), binding()], POD)["auditAnnotations"]
        assert annotations == {"p." + "k" * 60: "v", "p.a": "w"}
        long = policy("x." * 60 + "x", auditAnnotations=[{"key": "k" * 63, "valueExpression": "'v'"}])
        (key,) = answered([long, binding(policy_name="x." * 60 + "x")], POD)["auditAnnotations"]
        assert key == "k" * MAX_ANNOTATION_KEY

    def test_audited_failures_and_annotations_that_quote_the_object_leave_an_answer_small(self) -> None:
        expressions = [f"{{'a': {index}}}[object.metadata.annotations.long] == 1" for index in range(60)]
        audited = policy(validations=[{"expression": each} for each in expressions])
        noted = [
            {"key": f"k{index}", "valueExpression": "string(object.metadata.annotations.long)"} for index in range(20)
        ]
        noting = [policy(f"n{index}", auditAnnotations=noted) for index in range(3)]
        bound = [binding(validationActions=["Audit"]), *(binding(f"n{index}") for index in range(3))]
        long = changed(POD, metadata__annotations__long="\0" * 200_000)
        response = answered([audited, *noting, *bound], long)
        assert response["allowed"]
        assert "no such key" in json.loads(response["auditAnnotations"]["validation_failure"])[0]["message"]
        assert response["auditAnnotations"]["n0.k0"]
        assert len(json.dumps(response)) < 1 << 20

    def test_a_namespace_of_any_length_leaves_an_answer_small(self) -> None:
        selector = {"namespaceSelector": {"matchLabels": {"a": "b"}}, "resourceRules": [PODS]}
        response = answered(validating("true", matchConstraints=selector), POD, namespace="n" * 1_000_000)
        assert response["auditAnnotations"]["assumed"].startswith("the namespace")
        assert len(json.dumps(response)) < 1 << 14

    def test_the_api_servers_own_rules_come_first(self) -> None:
        wrong = copy.deepcopy(POD)
        wrong["spec"]["resourceClaims"][0]["name"] = "cat"
        assert answered(saying(), wrong)["status"]["message"].startswith('Pod "pod" is invalid: ')
        every = policy(rules=[ANYTHING], validations=[{"expression": "false", "message": "no"}])
        first, second = answered([every, binding(validationActions=["Warn"])], SLICE)["warnings"]
        assert first.startswith("spec.driver: ")
        assert "Validation failed" in second

    def test_policies_apply_to_every_operation(self) -> None:
        for operation in ("DELETE", "CONNECT"):
            manifests = saying(messageExpression="string(request.operation)")
            response = answered(manifests, None, old=POD, operation=operation)
            assert response["status"]["message"].endswith(f"denied request: {operation}")

    def test_the_user_is_the_reviews(self) -> None:
        mine = saying("request.userInfo.username == 'admin'")
        assert answered(mine, POD)["allowed"]
        assert not answered(mine, POD, userInfo=PERSON)["allowed"]

    def test_what_users_may_do_is_what_the_given_rules_say_and_the_answer_tells(self) -> None:
        policies = load(saying("authorizer.path('/x').check('get').allowed()"))
        refused = review(asked(POD), "validate", ReviewOptions(policies=policies))["response"]
        assert not refused["allowed"]
        assert "without a cluster" in refused["auditAnnotations"]["assumed"]
        allow = authorizer_of({"rules": [{"nonResourceURLs": ["*"], "verbs": ["get"]}]})
        assert review(asked(POD), "validate", ReviewOptions(policies=policies, authorizer=allow))["response"]["allowed"]


class TestMutating:
    def test_policies_change_the_object(self) -> None:
        labelled = mutating("m", "Object{metadata: Object.metadata{labels: {'a': 'b'}}}")
        claim = {**POD, "spec": {"containers": []}}
        response = answered(labelled, claim, "mutate")
        assert response["patchType"] == "JSONPatch"
        assert patched(response, claim) == {**claim, "metadata": {**claim["metadata"], "labels": {"a": "b"}}}

    def test_what_no_policy_changes_is_not_patched(self) -> None:
        same = mutating("m", "Object{metadata: Object.metadata{name: 'pod'}}")
        assert answered(same, {**POD, "spec": {"containers": []}}, "mutate") == ALLOWED
        deleted = mutating("m", "Object{spec: Object.spec{nodeName: 'a'}}", matchConstraints={"resourceRules": [PODS]})
        assert answered(deleted, None, "mutate", old=POD, operation="DELETE") == ALLOWED

    def test_pre_scheduled_pods_are_rewritten_after_policies(self) -> None:
        elsewhere = mutating("m", "Object{spec: Object.spec{nodeName: 'node-2'}}")
        response = answered(elsewhere, POD, "mutate")
        spec = patched(response)["spec"]
        assert spec["nodeSelector"] == {"kubernetes.io/hostname": "node-2"}
        assert "nodeName" not in spec
        assert response["warnings"]
        assert response["auditAnnotations"]["prescheduled"].startswith("node-2")

    @each_row("fail_open", *(False, True))
    def test_a_patch_longer_than_an_answer_may_be_is_decided_by_the_failure_policy(self, fail_open: bool) -> None:
        added = mutating("m", "Object{metadata: Object.metadata{annotations: {'copy': object.metadata.annotations.a}}}")
        long = changed(POD, spec={"containers": []}, metadata__annotations={"a": "x" * 800_000})
        response = review(asked(long), "mutate", ReviewOptions(policies=load(added), fail_open=fail_open))["response"]
        assert response["allowed"] is fail_open
        assert "the patch would be longer than an answer may be" in json.dumps(response)
        long["metadata"]["annotations"]["a"] = "x" * 500_000
        assert "patch" in answered(added, long, "mutate")

    def test_a_policy_that_does_the_rewrite_leaves_nothing_to_do(self) -> None:
        moved = mutating("m", "[JSONPatch{op: 'remove', path: '/spec/nodeName'}]")
        response = answered(moved, POD, "mutate")
        assert "warnings" not in response
        assert "nodeSelector" not in patched(response)["spec"]

    @each_row(("reinvocation", "seen"), ("IfNeeded", "y"), ("Never", "n"))
    def test_only_policies_that_want_to_know_see_the_rewrite(self, reinvocation: str, seen: str) -> None:
        expression = "Object{metadata: Object.metadata{labels: {'placed': has(object.spec.nodeSelector) ? 'y' : 'n'}}}"
        noting = mutating("m", expression, reinvocationPolicy=reinvocation)
        assert patched(answered(noting, POD, "mutate"))["metadata"]["labels"]["placed"] == seen

    def test_a_policy_that_fails_or_makes_what_could_never_run_refuses(self) -> None:
        failing = mutating("m", "Object{metadata: Object.metadata{labels: {'a': object.spec.absent}}}")
        status = answered(failing, POD, "mutate")["status"]
        assert status["code"] == 403
        assert status["message"].startswith("policy 'm' with binding 'm' denied request: ")
        value = "{'kubernetes.io/hostname': 'other'}"
        contradicting = mutating("m", f"[JSONPatch{{op: 'add', path: '/spec/nodeSelector', value: {value}}}]")
        status = answered(contradicting, POD, "mutate")["status"]
        assert (status["code"], status["reason"]) == (422, "Invalid")

    @each_row("obj", None, 3, [], {}, {"metadata": 3}, {"spec": None, "metadata": {"labels": []}})
    @each_row("endpoint", "validate", "mutate")
    def test_any_object_gets_an_answer(self, obj: Any, endpoint: Endpoint) -> None:
        manifests = [*mutating("m", "Object{spec: Object.spec{nodeName: 'a'}}"), *saying("has(object.spec)")]
        sent = asked(POD)
        sent["request"]["object"] = obj
        response = review(sent, endpoint, ReviewOptions(policies=load(manifests)))["response"]
        assert "could not answer" not in json.dumps(response)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, "", "a", "/", "~1"]),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.sampled_from("ab/~"), children, max_size=3),
    max_leaves=12,
)


NAMED = saying("object.spec.containers.all(c, has(c.name))")
ODD = load([*mutating("m", "Object{spec: Object.spec{nodeName: 'a'}}"), *NAMED])


@given(st.sampled_from(["validate", "mutate"]), JSON, JSON, JSON)
def test_nothing_in_a_review_makes_policies_raise(endpoint: Endpoint, spec: Any, metadata: Any, other: Any) -> None:
    sent = asked({**POD, "spec": spec}, options=other)
    sent["request"]["object"]["metadata"] = metadata
    response = review(sent, endpoint, ReviewOptions(policies=ODD))["response"]
    assert "could not answer" not in json.dumps(response)


class TestCommandLine:
    def given(self, folder: Path, *manifests: Any) -> Path:
        (folder / "policies.yaml").write_text(dump(manifests), encoding="utf-8")
        return folder / "policies.yaml"

    def test_review_answers_with_policies(self, tmp_path: Path) -> None:
        path = self.given(tmp_path, *saying())
        done = draguard("review", "--policies", path, "-", stdin=json.dumps(asked(POD)).encode())
        assert (done.code, done.err) == (0, "")
        assert json.loads(done.out)["response"]["status"]["message"].endswith("denied request: no")

    def test_review_takes_what_users_may_do(self, tmp_path: Path) -> None:
        path = self.given(tmp_path, *saying("authorizer.path('/x').check('get').allowed()"))
        rules = tmp_path / "rules.yaml"
        rules.write_text("rules: [{nonResourceURLs: [/x], verbs: [get]}]", encoding="utf-8")
        stdin = json.dumps(asked(POD)).encode()
        done = draguard("review", "--policies", path, "--authorizer", rules, "-", stdin=stdin)
        assert json.loads(done.out)["response"]["allowed"]

    @each_row("command", ["review", "-"], ["serve", "--dev"], ["mutate", "-"])
    def test_no_command_works_with_half_of_the_policies(self, command: list[str], tmp_path: Path) -> None:
        path = self.given(tmp_path, *saying("object."))
        done = draguard(*command, "--policies", path)
        said = done.err
        assert (done.code, done.out) == (1, "")
        assert f"{path}:" in said
        assert "Syntax error" in said
        assert f"draguard {command[0]}: error: --policies: 1 error: `draguard policy check`" in said
