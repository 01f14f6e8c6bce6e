"""AdmissionReviews in, AdmissionReviews out."""

import base64
import copy
import json
import math
import re
from contextlib import closing
from functools import partial
from itertools import product
from typing import Any

import jsonpatch
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.admission.reviews import ALLOWED, CLAIM, POD, SLICE, asked, with_spec
from tests.objects import paths, with_value
from tests.policy.examples import BINDING, MUTATING, MUTATING_BINDING, POLICY
from tests.reviews import recorded
from tests.rows import each_row
from tests.serving import JSON, serving
from tests.structured import claim, of_kind
from webhook.admission import Call, Endpoint, Enforcement, MalformedReviewError, ReviewOptions, answer, read, review
from webhook.admission.record import FAILED
from webhook.admission.responses import MAX_CAUSES, MAX_WARNING_BYTES, MAX_WARNINGS_BYTES, warnings
from webhook.policy.load import load
from webhook.server import Reviews


def answered(endpoint: Endpoint, obj: Any, old: Any = None, operation: str = "CREATE", **request: Any) -> Any:
    """Return the response of an endpoint."""
    return review(asked(obj, old, operation, **request), endpoint, ReviewOptions())["response"]


validated, mutated = partial(answered, "validate"), partial(answered, "mutate")


@each_row("endpoint", "validate", "mutate")
def test_a_good_object_is_allowed_under_its_uid(endpoint: Any) -> None:
    head = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    assert review(asked(CLAIM), endpoint, ReviewOptions()) == {**head, "response": ALLOWED}


@each_row(("spec", "is_allowed"), (CLAIM["spec"], True), ({}, False))
def test_a_review_of_few_fields_is_answered(spec: Any, *, is_allowed: bool) -> None:
    request = {"uid": "1", "operation": "CREATE", "object": {**CLAIM, "spec": spec}}
    few = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    response = review(few, "validate", ReviewOptions())["response"]
    assert (response["uid"], response["allowed"]) == ("1", is_allowed)


def test_a_refusal_reads_as_the_api_servers() -> None:
    response = validated(with_spec(allocationMode="Later", parametersRef={"name": "n"}))
    mode = 'Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"'
    causes = [
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.parametersRef.kind"},
        {"reason": "FieldValueNotSupported", "message": mode, "field": "spec.allocationMode"},
    ]
    status = {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": 'ResourceClaim.resource.k8s.io "claim" is invalid: '
        f"[spec.parametersRef.kind: Required value, spec.allocationMode: {mode}]",
        "details": {"name": "claim", "group": "resource.k8s.io", "kind": "ResourceClaim", "causes": causes},
    }
    assert response == {"uid": "c7df00db", "allowed": False, "status": status}


def test_a_stale_update_is_a_conflict_and_one_cause_stands_without_brackets() -> None:
    pod = copy.deepcopy(POD)
    pod["spec"]["resourceClaims"][0]["name"] = "cat"
    assert validated(pod)["status"]["message"] == (
        'Pod "pod" is invalid: spec.containers[0].resources.claims[0]: Not found: "gpu": '
        "must be one of the names in pod.spec.resourceClaims: cat"
    )
    old = {**CLAIM, "metadata": {**CLAIM["metadata"], "resourceVersion": "2"}}
    new = {**CLAIM, "metadata": {**CLAIM["metadata"], "resourceVersion": "1"}}
    assert validated(new, old, "UPDATE")["status"] == {
        "status": "Failure",
        "code": 409,
        "reason": "Conflict",
        "message": 'Operation cannot be fulfilled on resourceclaims.resource.k8s.io "claim": the object has been '
        "modified; please apply your changes to the latest version and try again",
        "details": {"name": "claim", "group": "resource.k8s.io", "kind": "resourceclaims"},
    }


def test_an_update_is_compared_with_the_old_object_and_one_of_the_status_judged_as_such() -> None:
    status = validated(with_spec(resourceClassName="other"), CLAIM, "UPDATE")["status"]
    assert [cause["field"] for cause in status["details"]["causes"]] == ["spec"]
    assert validated(CLAIM, CLAIM, "UPDATE")["allowed"]
    new = {**with_spec(resourceClassName="other"), "status": {"deallocationRequested": True}}
    causes = validated(new, CLAIM, "UPDATE", subResource="status")["status"]["details"]["causes"]
    assert [cause["field"] for cause in causes] == ["status"]


def test_what_cannot_be_decoded_or_is_not_an_object_is_a_bad_request() -> None:
    status = validated(with_spec(resourceClassName=7))["status"]
    assert (status["code"], status["reason"]) == (400, "BadRequest")
    assert status["message"] == (
        'ResourceClaim in version "v1alpha2" cannot be handled as a ResourceClaim: json: cannot unmarshal number into '
        "Go struct field ResourceClaimSpec.spec.resourceClassName of type string"
    )
    empty = validated(CLAIM, object=None, kind=None)
    assert (empty["status"]["code"], empty["status"]["message"]) == (400, "an object must be a JSON object")


def test_a_field_is_judged_by_a_release_that_knows_it() -> None:
    # The API server has decoded the object: fields unknown here came with a later release.
    assert validated(with_spec(priority=1))["allowed"]
    assert not validated(with_spec(priority=1, allocationMode="Later"))["allowed"]
    pod = copy.deepcopy(POD)
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "source": {"resourceClaimName": "claim"}}]
    assert validated(pod)["allowed"]
    pod["spec"]["resourceClaims"] = [{"name": "gpu", "source": {}}]
    causes = validated(pod)["status"]["details"]["causes"]
    assert [cause["field"] for cause in causes] == ["spec.resourceClaims[0].source"]


def test_a_finding_that_is_not_an_error_travels_as_a_warning_unless_the_api_server_has_made_it() -> None:
    response = validated(SLICE)
    assert response["allowed"]
    (warning,) = response["warnings"]
    assert warning.startswith("spec.driver: ")
    deprecated = {**CLAIM, "apiVersion": "resource.k8s.io/v1beta1", "spec": {}}  # of which it warns itself
    for obj in (deprecated, {**POD, "status": {"phase": "Pending", "qosClass": "BestEffort"}}):
        assert validated(obj) == ALLOWED


@each_row(
    ("operation", "subresource"),
    ("DELETE", ""),
    ("CONNECT", "exec"),
    ("CREATE", "binding"),
    ("CREATE", "eviction"),
    ("UPDATE", "resize"),
)
def test_other_requests_are_allowed_untouched(operation: str, subresource: str) -> None:
    bad = {**POD, "spec": {**POD["spec"], "resourceClaims": []}}
    for response, obj in ((mutated, POD), (validated, bad)):
        assert response(obj, obj, operation, subResource=subresource) == ALLOWED
        assert response({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": 3}) == ALLOWED


def test_a_new_pre_scheduled_pod_is_patched_with_a_warning_or_refused_if_it_could_never_run() -> None:
    response = mutated(POD)
    patch = base64.b64decode(response["patch"]).decode()
    spec = {name: each for name, each in POD["spec"].items() if name != "nodeName"}
    selecting = {**spec, "nodeSelector": {"kubernetes.io/hostname": "node-1"}}
    assert response["patchType"] == "JSONPatch"
    assert jsonpatch.apply_patch(POD, patch)["spec"] == selecting
    assert response["warnings"]
    assert set(response["auditAnnotations"]) == {"prescheduled"}
    assert mutated(POD, dryRun=True) == response
    assert mutated(POD, POD, "UPDATE") == ALLOWED
    pod = {**POD, "spec": {**POD["spec"], "nodeSelector": {"kubernetes.io/hostname": "node-2"}}}
    status = mutated(pod)["status"]
    assert (status["code"], status["reason"]) == (422, "Invalid")


def test_refusals_and_warnings_are_bounded() -> None:
    claims = [{"name": f"Claim {index}", "resourceClaimName": "c"} for index in range(500)]
    status = validated({**POD, "spec": {**POD["spec"], "resourceClaims": claims}})["status"]
    assert len(status["details"]["causes"]) == MAX_CAUSES
    assert status["message"].endswith(", and 401 more]")
    long = warnings(["é" * 300] + ["x" * 250] * 40)
    assert len(long[0].encode()) <= MAX_WARNING_BYTES
    assert long[0].endswith("…")
    assert sum(len(text.encode()) for text in long) <= MAX_WARNINGS_BYTES


@each_row(
    ("malformed", "says"),
    ([], "is not an AdmissionReview"),
    ({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1"}, "not admission.k8s.io/v1"),
    ({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}, "has no request"),
    ({**asked(CLAIM), "request": {**asked(CLAIM)["request"], "uid": ""}}, "has no uid"),
    ({**asked(CLAIM), "request": {**asked(CLAIM)["request"], "operation": "PATCH"}}, "operation is none of"),
)
def test_the_answer_to_a_malformed_review_has_the_reason(malformed: Any, says: str) -> None:
    with pytest.raises(MalformedReviewError, match=says):
        review(malformed, "validate", ReviewOptions())


@each_row(
    ("place", "value"),
    *((name, 3) for name in ("subResource", "requestSubResource", "name", "namespace", "operation", "uid")),
    *((name, "a") for name in ("kind", "resource", "requestKind", "requestResource", "userInfo", "dryRun")),
    *((f"{kind}.{name}", 3) for kind in ("kind", "requestKind") for name in ("group", "version", "kind")),
    *((f"{name}.resource", 3) for name in ("resource", "requestResource")),
    ("userInfo.username", ["a"]),
    ("userInfo.uid", 3),
    ("userInfo.groups", "a"),
    ("userInfo.groups[0]", 3),
    ("userInfo.extra", []),
    ("userInfo.extra[...]", "b"),
    ("userInfo.extra[...][0]", 3),
)
def test_a_review_that_go_cannot_decode_is_malformed(place: str, value: Any) -> None:
    for step in reversed(re.findall(r"\w+|\[0\]|\[\.\.\.\]", place)):
        value = [value] if step == "[0]" else {"a" if step == "[...]" else step: value}
    says = f"the AdmissionReview cannot be decoded: Expected .* - at `request.{re.escape(place)}`"
    with pytest.raises(MalformedReviewError, match=says):
        review(asked(CLAIM, **value), "validate", ReviewOptions())


def test_null_is_as_if_absent() -> None:
    asking = asked(CLAIM)
    nulls = {"name": None, "namespace": None, "dryRun": None, "options": None, "subResource": None}
    for user in (None, {"username": None, "groups": None, "extra": {"a": None}}, {"groups": [None]}):
        asking["request"] |= {**nulls, "userInfo": user, "requestKind": None, "requestResource": {"group": None}}
        enforcement = Enforcement(exempt_users=["a"], exempt_groups=["b"])
        assert review(asking, "validate", ReviewOptions(enforcement=enforcement))["response"]["allowed"]


@each_row(
    ("body", "says"),
    (b"{}", "is not an AdmissionReview"),
    (b"null", "is not an AdmissionReview"),
    (b"\xff{}", "not UTF-8: byte 0"),
    (b"{", "not JSON"),
    (b"", "not JSON"),
    (b'{"a": NaN}', "NaN is not a JSON number"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"a": 1' + b"0" * 10_000 + b"}", "not JSON"),
    (b'{"a": 0.5, "b": -1e400}', "-1e400 is out of range"),
    (b"9" * 10_000 + b".0", f"{'9' * 40} is out of range"),
    (b'{"a": "b\xe9"}', "not UTF-8: byte 8"),
    (b'{"a": "\\ud800"}', "one half of a surrogate pair"),
    (b'["\\ud800", ' + b"[" * 100_000, "nested too deeply"),
    (b'{"a": 1,}', ": line 1 column "),
    *(
        (json.dumps(asked(CLAIM)).encode().replace(b"object", key), says)  # in fields that are not read
        for key, says in ((b"objec\xa7", "not UTF-8"), (b"objec\\ud800", "one half"), (b"objec\\uDB00", "one half"))
    ),
)
def test_a_body_that_cannot_be_read_is_a_bad_request(body: bytes, says: str) -> None:
    answered = answer(body, Call("validate"), ReviewOptions())
    assert answered.status == 400
    assert says in answered.body.decode()
    assert len(answered.body) < 200
    assert answered.record
    assert (answered.record.decision, answered.record.uid, answered.record.kind) == ("malformed", "", ("", "", ""))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda values: st.lists(values, max_size=5) | st.dictionaries(TEXTS, values, max_size=5),
    max_leaves=20,
)


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are the same JSON: with the same types, and keys in the same order."""
    return repr(one) == repr(other)


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_json_is_read_as_the_standard_library_does(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert same(read(text.encode()), value)


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
@example("-0")
@example("-0.0")
@example("1e22")
@example("18446744073709551616")
@example("-9223372036854775809")
@example("9" * 4300)
@example("5e-324")
@example("2.2250738585072011e-308")
@example("9007199254740993.0")
def test_numbers_keep_their_values_and_types(text: str) -> None:
    expected = json.loads(text)
    if isinstance(expected, float) and math.isinf(expected):
        with pytest.raises(MalformedReviewError, match="out of range"):
            read(text.encode())
    else:
        assert same(read(text.encode()), expected)


def finite(text: str) -> float:
    """Read a number; Go has none that are infinite."""
    if math.isinf(value := float(text)):
        raise ValueError(text)
    return value


@given(st.lists(st.sampled_from([*'{}[],:"\\\t 0-.e19', '"a"', "null", "true", "1", '"\\u00', "é"])).map("".join))
def test_only_json_is_accepted(text: str) -> None:
    try:
        expected = json.loads(text, parse_float=finite)
    except ValueError:
        with pytest.raises(MalformedReviewError, match="the request is not JSON: "):
            read(text.encode())
    else:
        assert same(read(text.encode()), expected)


def test_recorded_reviews_are_read_as_the_standard_library_does() -> None:
    for each in recorded():
        for text in (json.dumps(each.review), json.dumps(each.review, ensure_ascii=False, indent=2)):
            assert same(read(text.encode()), each.review)


def test_an_answer_is_json_and_of_a_key_that_is_given_twice_the_last_counts() -> None:
    answered = answer(json.dumps(asked(CLAIM)).encode(), Call("validate"), ReviewOptions())
    assert (answered.status, answered.content_type) == (200, "application/json")
    assert json.loads(answered.body)["response"] == ALLOWED
    assert same(read(b'{"a": 1, "b": 2, "a": 3}'), {"a": 3, "b": 2})


@each_row("fail_open", *(False, True))
def test_what_goes_wrong_unexpectedly_is_decided_by_the_failure_policy(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, fail_open: bool
) -> None:
    # No input is known that makes judge raise, so it is made to.
    monkeypatch.setattr("webhook.admission.decisions.judge_admitted", lambda *_, **__: 1 / 0)
    caplog.clear()
    body = json.dumps(asked(CLAIM)).encode()
    for call, default in ((Call("validate"), fail_open), (Call("validate", fail_open), not fail_open)):
        done = answer(body, call, ReviewOptions(fail_open=default))
        response = json.loads(done.body)["response"]
        assert response["allowed"] is fail_open
        assert done.record
        assert done.record.decision == FAILED
        text = response["warnings"][0] if fail_open else response["status"]["message"]
        assert text == "draguard could not answer; its log says why, under c7df00db"
    assert "c7df00db" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_what_is_late_is_answered_by_its_head_alone() -> None:
    for each in recorded():
        asks = json.dumps(each.review).encode()
        in_time, late = (
            answer(asks, Call("validate", deadline=deadline), ReviewOptions()) for deadline in (math.inf, 0.0)
        )
        assert in_time.record
        assert late.record
        for name in ("uid", "operation", "kind", "resource", "namespace", "user", "dry_run"):
            assert getattr(late.record, name) == getattr(in_time.record, name), name
        assert json.loads(late.body)["response"]["status"]["code"] == 500
        assert "object" not in late.record.request


@each_row("head", {"name": 5}, {"kind": [[]] * 10}, {"userInfo": {"groups": [1]}})
def test_what_is_late_and_from_no_api_server_is_a_bad_request(head: dict[str, Any]) -> None:
    body = json.dumps(asked(POD, **head)).encode()
    late = answer(body, Call("validate", fail_open=True, deadline=0.0), ReviewOptions())
    assert late.status == 400
    assert late.body.decode().startswith("the request cannot be read: Expected ")


def test_of_what_is_late_the_user_has_groups_of_256_kib_and_may_be_exempt() -> None:
    exempt = (Enforcement(exempt_groups=["admins"]), Enforcement(exempt_users=["admin"]))
    for enforcement, (count, status) in product(exempt, ((20_000, 200), (40_000, 400))):
        asks = asked(POD, userInfo={"username": "admin", "groups": ["admins"] * count})
        body, options = json.dumps(asks, separators=(",", ":")).encode(), ReviewOptions(enforcement=enforcement)
        late = answer(body, Call("validate", deadline=0.0), options)
        assert late.status == status
        assert status != 200 or json.loads(late.body)["response"]["allowed"]


@each_row("kubernetes", "1.27", "1.30", "1.33", "1.36")
def test_a_cluster_that_was_upgraded_is_not_blocked_and_the_rules_hold_all_the_same(kubernetes: str) -> None:
    for obj, is_allowed in (
        (claim(), True),
        (with_spec(resourceClassName="A b"), False),
        (claim({"name": "A"}), False),
    ):
        response = review(asked(obj), "validate", ReviewOptions(kubernetes=kubernetes))["response"]
        assert response["allowed"] is is_allowed


def warned(exactly: Any, options: ReviewOptions) -> list[str]:
    """Review a new claim with a special request; return the warnings."""
    obj = claim({"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", **exactly}})
    response = review(asked(obj), "validate", options)["response"]
    assert response["allowed"]
    return [*response.get("warnings", [])]


SHARES = {"capacity": {"requests": {"memory": "1Gi"}}}


def test_every_gate_may_be_on_unless_it_is_stated_which() -> None:
    assert warned(SHARES, ReviewOptions(kubernetes="1.34")) == []
    (warning,) = warned(SHARES, ReviewOptions(kubernetes="1.34", feature_gates={}))
    assert "dropped: this field needs the feature gate DRAConsumableCapacity" in warning
    assert warned(SHARES, ReviewOptions(kubernetes="1.34", feature_gates={"DRAConsumableCapacity": True})) == []


def test_a_gate_that_a_later_release_has_locked_does_not_fail_its_objects() -> None:
    spec = {"deviceSelector": {}, "taint": {"key": "a", "effect": "NoSchedule"}}
    options = ReviewOptions(kubernetes="1.34", feature_gates={"DRAAdminAccess": False, "AllBeta": False})
    assert review(asked(of_kind("DeviceTaintRule", spec, "v1beta2")), "validate", options)["response"]["allowed"]


@each_row("kubernetes", "1.34", "1.36", None)
def test_the_label_of_a_namespace_is_left_to_the_api_server(kubernetes: str | None) -> None:
    assert warned({"adminAccess": True}, ReviewOptions(kubernetes=kubernetes)) == []


WRONG: tuple[Any, ...] = (None, 5, True, 1.5, "x", [], {}, [None], [5], {"a": 5})
DEEP = json.loads("[" * 800 + "]" * 800)
REVIEWS = [each.review for each in recorded()]
UPDATES = [
    review | {"request": review["request"] | {"operation": "UPDATE", "oldObject": review["request"]["object"]}}
    for review in REVIEWS
    if review["request"]["object"]
]


@st.composite
def mistyped(draw: st.DrawFn) -> Any:
    """Change the types of some fields; in an update, often in both objects."""
    review = draw(st.sampled_from([*REVIEWS, *UPDATES, *UPDATES]))
    path = draw(st.sampled_from(paths(review)))
    review = with_value(review, path, draw(st.sampled_from(WRONG)))
    twin = ("request", {"object": "oldObject"}.get(str(path[1]), ""), *path[2:]) if path[2:] else ()
    if twin in paths(review) and draw(st.booleans()):
        review = with_value(review, twin, draw(st.sampled_from(WRONG)))
    return review


def checked(review: Any, endpoint: Endpoint, options: ReviewOptions) -> None:
    result = answer(json.dumps(review).encode(), Call(endpoint), options)
    assert result.record
    assert result.record.decision != FAILED
    if result.status == 200:
        assert json.loads(result.body)["response"]["uid"] == review["request"]["uid"]


@pytest.mark.slow
@settings(max_examples=500)
@given(mistyped(), st.sampled_from(["validate", "mutate"]), st.sampled_from([None, "1.30", "1.34"]))
def test_fields_may_be_of_any_type(review: Any, endpoint: Endpoint, kubernetes: str | None) -> None:
    policies = load([POLICY, BINDING, MUTATING, MUTATING_BINDING])
    checked(review, endpoint, ReviewOptions(kubernetes=kubernetes, policies=policies))


def test_a_field_that_the_release_does_not_know_may_be_anything() -> None:
    pod = next(each for each in UPDATES if each["request"]["kind"]["kind"] == "Pod")
    claims = ("request", "object", "spec", "containers", 0, "resources", "claims")
    for value in WRONG:
        changed = with_value(pod, claims[:-1], {"claims": [{"name": "a", "request": value}]})
        checked(changed, "validate", ReviewOptions(kubernetes="1.30"))


@each_row("field", "namespace", "name", "kind", "resource", "userInfo", "dryRun", "options")
def test_a_field_may_be_nested_deep(field: str) -> None:
    review = with_value(UPDATES[0], ("request", field), DEEP)
    for endpoint in ("validate", "mutate"):
        checked(review, endpoint, ReviewOptions(policies=load([POLICY, BINDING])))


@pytest.mark.no_cover
def test_recorded_reviews_are_decided_as_the_api_server_did_and_only_new_pods_with_a_node_patched() -> None:
    judged = 0
    with serving(Reviews(partial(answer, options=ReviewOptions()))) as served, closing(served.connect()) as connection:
        for each in recorded():
            connection.request("POST", each.path, json.dumps(each.review).encode(), JSON)
            answered = connection.getresponse()
            response = json.loads(answered.read())["response"]
            assert (answered.status, response["uid"]) == (200, each.uid)
            if each.is_judged:
                assert response["allowed"], response
                judged += 1
            request = each.review["request"]
            spec = (request["object"] or {}).get("spec", {})
            pre_scheduled = bool(spec.get("nodeName") and spec.get("resourceClaims"))
            new_pod = (request["operation"], request["kind"]["kind"], each.endpoint) == ("CREATE", "Pod", "mutate")
            assert ("patch" in response) == (new_pod and pre_scheduled)
    assert (len(recorded()), judged > 80) == (258, True)
