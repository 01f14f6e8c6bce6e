"""``policy test``: suites of cases."""

import re
from typing import Any

import pytest

from tests.policy.examples import ANYTHING, BETA, CLAIM, CLAIMS, POD, binding, mutating, of, policy, rule, validating
from tests.rows import each_row, each_row_beside
from webhook.engine.suites import SuiteError, SuiteResult, run_suite
from webhook.problem import ERROR
from webhook.release import Release

NAMED = policy(
    validations=[
        {"expression": "object.metadata.name != 'bad'", "message": "bad name", "reason": "Forbidden"},
        {"expression": "has(object.spec.nodeName)"},
    ],
    auditAnnotations=[{"key": "k", "valueExpression": "object.metadata.name == 'p' ? 'v' : ''"}],
)
RENAME = [{"op": "replace", "path": "/metadata/name", "value": "bad"}]


def run(*cases: dict[str, Any], manifests: list[dict[str, Any]] | None = None, **fields: Any) -> SuiteResult:
    suite = {"objects": {"pod": POD}, "cases": [{"object": "pod"} | each for each in cases]} | fields
    return run_suite(suite, manifests or [NAMED, binding()])


def passes(result: SuiteResult) -> bool:
    is_accepted = all(each.problem.level != ERROR for each in result.findings)
    return is_accepted and all(case.passed for case in result.cases)


def failures(expect: dict[str, Any], **case: Any) -> tuple[str, ...]:
    return run({"expect": expect, **case}).cases[0].failures


@each_row_beside("expect", "patch")
def test_what_is_as_expected_passes(expect: dict[str, Any], patch: list[dict[str, Any]]) -> None:
    assert failures(expect, patch=patch) == ()


@each_row_beside("expect", "patch", "failure")
def test_what_is_not_fails_and_says_so(expect: dict[str, Any], patch: list[dict[str, Any]], failure: str) -> None:
    (text,) = failures(expect, patch=patch)
    assert text.startswith(failure)


def test_changes_of_mutating_policies_are_compared() -> None:
    removed = [{"op": "remove", "path": "/spec/nodeName"}]
    manifests = mutating("m", "[JSONPatch{op: 'remove', path: '/spec/nodeName'}]")
    right, wrong = ({"expect": {"allowed": True, "changes": each}} for each in (removed, []))
    assert passes(run(right, manifests=manifests))
    (failure,) = run(wrong, manifests=manifests).cases[0].failures
    assert failure == 'changes: expected [], got [{"op": "remove", "path": "/spec/nodeName"}]'


@each_row("spec", POD["spec"], {})
def test_a_change_that_the_api_server_refuses_fails(spec: dict[str, Any]) -> None:
    manifests = mutating("m", "[JSONPatch{op: 'add', path: '/spec/priorityClassName', value: 'Very High'}]")
    case = {"object": POD | {"spec": spec}, "expect": {"allowed": True}}
    (failure,) = run(case, manifests=manifests).cases[0].failures
    text = "the API server refuses the object as the policies have changed it: spec.priorityClassName: Invalid value"
    assert failure.startswith(text)


def test_an_update_is_compared_with_the_stored_object_as_the_api_server_completes_it() -> None:
    for path, value, is_refused in (("/metadata/labels", "{'a': 'b'}", False), ("/spec/hostPID", "true", True)):
        manifests = mutating("m", f"[JSONPatch{{op: 'add', path: '{path}', value: {value}}}]")
        case = {"object": POD, "oldObject": POD, "expect": {"allowed": True}}
        assert [each[:3] for each in run(case, manifests=manifests).cases[0].failures] == ["the"] * is_refused


def test_a_change_that_does_not_fit_a_default_fails() -> None:
    alternative = {"name": "a", "deviceClassName": "gpu.example.com"}
    claim = CLAIM | {"spec": {"devices": {"requests": [{"name": "r", "firstAvailable": [alternative]}]}}}
    path = "/spec/devices/requests/0/firstAvailable/0/allocationMode"
    patch = f"[JSONPatch{{op: 'add', path: '{path}', value: 'All'}}]"
    manifests = mutating("m", patch, matchConstraints={"resourceRules": [CLAIMS]})
    (failure,) = run({"object": claim, "expect": {"allowed": True}}, manifests=manifests).cases[0].failures
    assert failure.endswith("count: Invalid value: 1: must not be specified when allocationMode is 'All'")


def test_warnings_are_matched_by_either_message_and_what_the_api_server_refuses_may_move() -> None:
    manifests = [NAMED, binding(validationActions=["Warn"])]
    for text in ("bad name", "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': bad name"):
        assert passes(run({"patch": RENAME, "expect": {"allowed": True, "warnings": [text]}}, manifests=manifests))
    first = "{'name': 'a', 'resourceClaimName': 'c'}"
    manifests = mutating("m", f"[JSONPatch{{op: 'add', path: '/spec/resourceClaims/0', value: {first}}}]")
    case = {"object": POD | {"spec": {"resourceClaims": [{"name": "b"}]}}, "expect": {"allowed": True}}
    assert passes(run(case, manifests=manifests))


def test_cases_have_context_users_and_authorizers() -> None:
    asking, _ = validating(
        "params.data.a == 'b' && request.userInfo.username == 'jane'",
        "authorizer.path('/x').check('get').allowed() && namespaceObject.metadata.labels.t == 'u'",
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )
    bound = binding(paramRef={"name": "c", "parameterNotFoundAction": "Deny"})
    namespace = of("Namespace") | {"metadata": {"name": "default", "labels": {"t": "u"}}}
    case = {
        "user": {"username": "jane"},
        "context": [of("ConfigMap", "c", data={"a": "b"})],
        "authorizer": {"rules": [{"nonResourceURLs": ["/*"], "verbs": ["get"]}]},
        "expect": {"allowed": True},
    }
    assert passes(run(case, manifests=[asking, bound], context=[namespace]))


def test_operations_follow_from_the_objects_or_are_named() -> None:
    manifests = validating({"expression": "false", "messageExpression": "string(request.operation)"})

    def refused(message: str, **case: Any) -> dict[str, Any]:
        return case | {"expect": {"allowed": False, "message": message}}

    old = refused("UPDATE", oldObject="pod"), refused("DELETE", object=None, oldObject="pod")
    named = refused("DELETE", operation="DELETE"), refused("CONNECT", operation="CONNECT")
    assert passes(run(refused("CREATE"), *old, *named, manifests=manifests))


def test_the_release_is_the_suites_or_the_callers_and_need_not_serve_policies() -> None:
    by_version = validating("false", rules=[ANYTHING | {"apiVersions": ["v1"]}])
    suite = {"kubernetes": "1.33", "cases": [{"object": BETA, "expect": {"allowed": True}}]}
    assert passes(run_suite(suite, by_version))
    assert not passes(run_suite(suite, by_version, Release(36)))
    suite = {"kubernetes": "1.27", "cases": [{"object": POD, "expect": {"allowed": True}}]}
    assert passes(run_suite(suite, [NAMED, binding()]))


def test_coverage_lists_what_no_case_has_seen_and_of_mutations_a_change() -> None:
    result = run({"expect": {"allowed": True}})
    missing = [(f"spec.validations[{number}].expression", ("false",)) for number in range(2)]
    assert [(str(each.path), each.missing) for each in result.coverage] == missing
    without_node = [{"op": "remove", "path": "/spec/nodeName"}]
    both = run({"expect": {"allowed": True}}, {"patch": RENAME + without_node, "expect": {"allowed": False}})
    assert [each.missing for each in both.coverage] == [(), ()]
    manifests = mutating("m", "[JSONPatch{op: 'replace', path: '/metadata/labels/app', value: 'a'}]")
    result = run({"expect": {"allowed": True}}, manifests=manifests)
    assert [each.missing for each in result.coverage] == [("change an object",)]
    changed = [{"op": "replace", "path": "/metadata/labels/app", "value": "b"}]
    result = run({"patch": changed, "expect": {"allowed": True}}, manifests=manifests)
    assert [each.missing for each in result.coverage] == [()]


@each_row_beside("case", "failure")
def test_a_malformed_case_fails_alone(case: dict[str, Any], failure: str) -> None:
    result = run({"expect": {"allowed": True}} | case, {"name": "good", "expect": {"allowed": True}})
    assert [each.passed for each in result.cases] == [False, True]
    assert result.cases[0].failures[0].startswith(failure)
    assert result.cases[1].name == "good"


def test_a_name_in_a_suite_without_objects_has_a_hint() -> None:
    (failure,) = run({"object": "other", "expect": {"allowed": True}}, objects={}).cases[0].failures
    assert failure.endswith("the suite's objects have no 'other'; write the object here, or add objects")


@each_row(("name", "shown"), ("a", "a"), (True, "true"), (12, "12"), ("", "cases[0]"), (None, "cases[0]"))
def test_a_case_has_the_name_that_is_written(name: Any, shown: str) -> None:
    (case,) = run({"name": name, "expect": {"allowed": True}}).cases
    assert case.name == shown


@each_row_beside("suite", "text")
def test_a_malformed_suite_is_refused(suite: Any, text: str) -> None:
    with pytest.raises(SuiteError) as caught:
        run_suite(suite, [])
    assert str(caught.value).startswith(text)


def test_what_is_wrong_in_an_object_or_a_change_has_its_place() -> None:
    wrong = POD | {"spec": POD["spec"] | {"nodeName": False}}
    suite = {"objects": {"pod": wrong}, "cases": [{"object": "pod", "expect": {"allowed": True}}]}
    (failure,) = run_suite(suite, [NAMED, binding()]).cases[0].found
    assert failure.path == ("objects", "pod", "spec", "nodeName")
    assert failure.text.endswith("in YAML, y, n, yes, no, on and off are booleans, too")
    patch = mutating("m", "[JSONPatch{op: 'add', path: '/spec/nope', value: 1}]")
    (said,) = run({"expect": {"allowed": True}}, manifests=patch).cases[0].failures
    assert said.endswith('"spec.nope" (spec.mutations[0].jsonPatch.expression of MutatingAdmissionPolicy m)')


@each_row_beside("kind", "text")
def test_an_object_that_no_client_can_send_fails(kind: tuple[str, str], text: str) -> None:
    api_version, name = kind
    obj = {"apiVersion": api_version, "kind": name, "metadata": {"name": "a"}}
    suite = {"kubernetes": "1.30", "cases": [{"object": obj, "expect": {"allowed": True}}]}
    failures = run_suite(suite, [NAMED, binding()]).cases[0].failures
    assert [each.removeprefix("cases[0].object: ")[: len(text)] for each in failures] == ([text] if text else [])


@each_row(("stated", "shown", "meant"), (1.30, "1.3", "1.30"), (1.36, "1.36", "1.36"), (2, "2", "1.37"))
def test_a_release_is_a_text(stated: float, shown: str, meant: str) -> None:
    text = f'kubernetes: {shown} is not a string; write the Kubernetes version as "{meant}"'
    with pytest.raises(SuiteError, match=re.escape(text)):
        run_suite({"kubernetes": stated, "cases": [{}]}, [])


def test_all_errors_of_a_suite_or_a_case_are_reported_at_once() -> None:
    def places(**suite: Any) -> list[str]:
        with pytest.raises(SuiteError) as caught:
            run_suite(suite, [])
        return [str(each.path) for each in caught.value.found]

    form = places(kubernets="1.36", context=1, objects=1, cases=[])
    assert form == ["kubernets", "context", "objects", "cases"]
    content = places(kubernetes="1.9", runtimeConfig={"x": True}, objects={"a": "b"}, policies=["c"], cases=[{}])
    assert content == ["kubernetes", "runtimeConfig", "policies[0]", "objects.a"]
    bad_form = {
        "nam": "x",
        "oldObject": 1,
        "operation": "PUT",
        "user": "jane",
        "expect": {"allowed": 1, "reason": "No"},
    }
    gone = {"object": "gone", "oldObject": {**POD, "spec": 1}, "authorizer": {}, "subresource": "none/x"}
    first, second = run_suite({"cases": [bad_form, gone | {"expect": {"allowed": True}}]}, [NAMED, binding()]).cases
    fields = ["nam", "oldObject", "operation", "user", "expect.allowed", "expect.reason"]
    assert [str(each.path) for each in first.found] == [f"cases[0].{each}" for each in fields]
    fields = ["object", "oldObject.spec", "authorizer", "subresource"]
    assert [str(each.path) for each in second.found] == [f"cases[1].{each}" for each in fields]


EXEC = {"apiVersion": "v1", "kind": "PodExecOptions", "container": "db"}
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "db"}}
BIND = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "db"}, "target": {"kind": "Node", "name": "n"}}


def of_subresource(obj: dict[str, Any], *resources: str, group: str = "", **case: Any) -> tuple[str, ...]:
    about = "request.resource.resource + '/' + request.subResource + ' ' + request.operation + ' ' + request.namespace"
    rules = [rule(*resources, group=group, operations=["CREATE", "UPDATE", "CONNECT"])]
    manifests = validating({"expression": "false", "messageExpression": about}, rules=rules)
    return run({"object": obj, **case}, manifests=manifests).cases[0].failures


@each_row_beside("obj", "resources", "case", "message")
def test_a_scale_is_sent_to_a_resource(obj: dict[str, Any], resources: list[str], case: Any, message: str) -> None:
    expect = {"allowed": False, "message": message}
    assert of_subresource(obj, *resources, group="apps", expect=expect, **case) == ()


@each_row(
    ("obj", "subresource", "operation"),
    (EXEC, "exec", "CONNECT"), (EVICTION, "eviction", "CREATE"), (BIND, "binding", "CREATE"),
)  # fmt: skip
def test_some_kinds_belong_to_subresources_of_pods(obj: dict[str, Any], subresource: str, operation: str) -> None:
    expect = {"allowed": False, "message": f"pods/{subresource} {operation} default"}
    for stated in ({}, {"subresource": subresource}, {"subresource": f"pods/{subresource}"}):
        assert of_subresource(obj, f"pods/{subresource}", expect=expect, **stated) == ()


@each_row_beside("obj", "case", "text")
def test_an_object_without_such_a_subresource_is_an_error(obj: dict[str, Any], case: Any, text: str) -> None:
    (failure,) = of_subresource(obj, "*", expect={"allowed": True}, **case)
    assert text in failure


def test_a_request_that_no_policy_matches_is_named() -> None:
    (failure,) = of_subresource(EXEC, "pods/attach", expect={"allowed": False})
    assert failure == "was allowed: no policy matches the CONNECT of pods/exec"
    given = validating("false", rules=[rule("pods/attach")])
    (case,) = run({"object": EXEC, "expect": {"allowed": True}}, manifests=given).cases
    assert (case.passed, case.unmatched) == (True, "CONNECT of pods/exec")


def test_a_suite_states_which_versions_the_cluster_serves() -> None:
    given = validating("false", rules=[CLAIMS | {"apiVersions": ["v1beta1"]}])
    case = {"object": CLAIM, "expect": {"allowed": False}}
    assert passes(run(case, manifests=given))
    assert passes(run(case, manifests=given, runtimeConfig={"resource.k8s.io/v1beta1": True}))
    (failure,) = run(case, manifests=given, runtimeConfig={}).cases[0].failures
    assert failure == "was allowed: no policy matches the CREATE of resourceclaims.resource.k8s.io"
    (failure,) = run(case | {"object": BETA}, manifests=given, runtimeConfig={}).cases[0].failures
    assert failure.endswith("is not served: write resource.k8s.io/v1beta1: true in runtimeConfig")
