# ruff: noqa: SLF001 - evaluations are counted
"""Usual requests are admitted by those parts of them that matter, as if they were read as a whole."""

import copy
import json
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.reviews import POLICIES, reviews
from tests.objects import paths, with_value
from tests.policy.examples import PODS, binding, mutating, policy, validating
from tests.reviews import recorded
from tests.rows import each_row
from webhook.admission import AUDIT, Call, Endpoint, Enforcement, Record, ReviewOptions, answer
from webhook.admission.record import ALLOWED
from webhook.documents import Document, read
from webhook.engine.prescheduled import RULE
from webhook.fast.policies import Quick, QuickPolicies
from webhook.fast.reviews import OFTEN
from webhook.policy.load import load

LIBRARY = [document.data for document in read([POLICIES]) if isinstance(document, Document)]
IMAGES = [
    policy(
        "images",
        [PODS],
        variables=[{"name": "all", "expression": "object.spec.containers + object.spec.?initContainers.orValue([])"}],
        validations=[
            {"expression": "variables.all.all(c, c.image.startsWith('registry.example.com/'))"},
            {"expression": "variables.all.all(c, !c.?env.orValue([]).exists(e, e.name == 'DEBUG'))"},
            {"expression": "object.metadata.?labels.app.orValue('') != 'none'"},
        ],
    ),
    binding("images"),
]
POD, DEPLOYMENT = reviews()["pods"], reviews()["deployments"]
BODY = json.dumps(POD).encode()
WORKLOADS = {str(each.review["request"]["kind"]): json.dumps(each.review).encode() for each in recorded()}
"""A review of each kind."""
ENDPOINTS: tuple[Endpoint, ...] = ("validate", "mutate")
LOGGED = ("decision", "cost", "found", "patched", "warnings", "message", "uid", "kind", "resource", "namespace", "name")
UNREAD = ("request", "object", "spec", "containers", 0, "env", 0, "value")


def bytes_of(review: Any) -> bytes:
    return json.dumps(review).encode()


def changed(*path: Any, to: Any) -> bytes:
    return bytes_of(with_value(POD, path, to))


def practised(options: ReviewOptions, *more: bytes) -> ReviewOptions:
    """Answer as many usual requests as it takes for the shortcut."""
    for body in BODY, bytes_of(DEPLOYMENT), *more:
        for _ in range(OFTEN + 1):
            done = answer(body, Call("validate"), options)
            if is_short(body, options) or not done.record or done.record.decision != ALLOWED:
                break  # nothing more is learned from it
    assert options.first
    return options


def is_short(body: bytes, options: ReviewOptions) -> bool:
    assert options.first
    return options.first.answer(body, Call("validate")) is not None


def compare(body: bytes, options: ReviewOptions) -> None:
    """Answer a request in both ways at both endpoints."""
    whole = replace(options)
    vars(whole)["first"] = None
    for endpoint in ENDPOINTS:
        expected, got = (answer(body, Call(endpoint), each) for each in (whole, options))
        assert (got.status, got.body, got.content_type) == (expected.status, expected.body, expected.content_type)
        assert logged(got.record) == logged(expected.record)


def logged(record: Record | None) -> dict[str, Any]:
    return {name: getattr(record, name) for name in LOGGED}


@pytest.fixture(scope="module")
def rules() -> ReviewOptions:
    return practised(ReviewOptions(), *WORKLOADS.values())


@pytest.fixture(scope="module")
def policies() -> ReviewOptions:
    return practised(ReviewOptions(policies=load([*LIBRARY, *IMAGES])), *WORKLOADS.values())


@pytest.mark.no_cover
def test_the_usual_pod_takes_the_shortcut(rules: ReviewOptions, policies: ReviewOptions) -> None:
    for options in rules, policies:
        assert is_short(BODY, options)
        assert is_short(changed("request", "object", "spec", "containers", 0, "env", to=[{"name": "X"}]), options)
        compare(BODY, options)


@each_row("name", 'a"b', "a\\b", "\n", "é", "a b", "class", "\ud7ff", "")
def test_policies_may_read_fields_of_any_name(name: str) -> None:
    escaped = json.dumps(name)
    options = ReviewOptions(policies=load(validating(f"object.spec[?{escaped}].orValue('x') == 'x'")))
    for _ in range(OFTEN + 1):
        compare(BODY, options)
    for value in "x", "y", None:
        compare(changed("request", "object", "spec", name, to=value), options)


def test_a_policy_sees_what_it_reads(policies: ReviewOptions) -> None:
    body = changed("request", "object", "spec", "containers", 1, "env", to=[{"name": "DEBUG"}])
    assert not is_short(body, policies)
    result = answer(body, Call("validate"), policies)
    assert not json.loads(result.body)["response"]["allowed"]


@each_row(
    "body",
    changed("request", "operation", to="UPDATE"),
    changed("request", "subResource", to="status"),
    changed("request", "oldObject", to=POD["request"]["object"]),
    changed("request", "kind", "kind", to="PodTemplate"),
    changed("request", "resource", "resource", to="podtemplates"),
    changed("request", "requestKind", to={"group": "", "version": "v2", "kind": "Pod"}),
    *(changed("request", "namespace", to=name) for name in ("", "n" * 64)),
    changed("request", "uid", to=""),
    changed("request", "userInfo", to=3),
    changed("request", "object", to=None),
    bytes_of(POD | {"request": {name: each for name, each in POD["request"].items() if name != "object"}}),
    changed("request", "object", "kind", to="ConfigMap"),
    changed("request", "object", "spec", "containers", 0, "name", to="No_Name"),
    changed("request", "object", "spec", "containers", 0, "resources", to=[]),
    changed("request", "object", "spec", "resourceClaims", 0, "source", to={"resourceClaimName": "x"}),
    *(
        changed(*UNREAD, to="@").replace(b'"@"', written)
        for written in (b'"\xff"', b'"\\ud800"', b'"\x01"', b"01", b"[" * 100_000)
    ),
    *(BODY[:-1], BODY + b"{}", b"", b"[]"),
)
def test_other_requests_are_read_as_a_whole(body: bytes, rules: ReviewOptions, policies: ReviewOptions) -> None:
    for options in rules, policies:
        assert not is_short(body, options)
        compare(body, options)


@each_row("node", "node-1", "No_Node", 5)
def test_pods_that_may_change_have_the_same_answer(node: Any, rules: ReviewOptions, policies: ReviewOptions) -> None:
    for options in rules, policies:
        compare(changed("request", "object", "spec", "nodeName", to=node), options)


def test_what_policies_passed_once_is_not_evaluated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    options = practised(ReviewOptions(policies=load([*LIBRARY, *IMAGES])))
    evaluated = []
    evaluate = QuickPolicies._evaluate

    def note(policies: QuickPolicies, *arguments: Any) -> Any:
        evaluated.append(arguments)
        return evaluate(policies, *arguments)

    monkeypatch.setattr(QuickPolicies, "_evaluate", note)
    for path, value, times in (
        (UNREAD, "y", 0),
        (("request", "object", "metadata", "labels", "app"), "other", 1),
        (("request", "object", "metadata", "labels", "app"), "other", 0),
        (("request", "object", "metadata", "labels", "app"), "none", 1),
        (("request", "object", "metadata", "labels", "app"), "none", 1),
    ):
        evaluated.clear()
        is_short(changed(*path, to=value), options)
        assert len(evaluated) == times


MARKS = "Object{metadata: Object.metadata{labels: {'marked': 'yes'}}}"


@each_row("is_of_binding", *(False, True))
@each_row("names", {}, {"resourceNames": ["guarded"]})
def test_policies_about_labels_or_names_apply_after_any_number_of_other_requests(
    names: dict[str, Any], *, is_of_binding: bool
) -> None:
    criteria: dict[str, Any] = {"resourceRules": [PODS | names]}
    if not names:
        criteria["objectSelector"] = {"matchLabels": {"tier": "prod"}}
    own = {"matchResources" if is_of_binding else "matchConstraints": criteria}
    guard = policy("guard", [PODS], validations=[{"expression": "false"}])
    mark, marks = mutating("mark", MARKS)
    objects = [guard, binding("guard"), mark, marks]
    for each in objects[1::2] if is_of_binding else objects[::2]:
        each["spec"] = each["spec"] | own
    options = practised(ReviewOptions(policies=load(objects)))
    guarded = with_value(POD, ("request", "object", "metadata", "labels"), {"tier": "prod"})
    guarded["request"]["name"] = guarded["request"]["object"]["metadata"]["name"] = "guarded"
    body = bytes_of(guarded)
    denied, marked = (json.loads(answer(body, Call(each), options).body)["response"] for each in ENDPOINTS)
    assert not denied["allowed"]
    assert "patch" in marked
    compare(body, options)


@each_row("read", "object.metadata.name", "object.metadata.name + object.metadata.namespace")
def test_policies_about_the_size_of_texts_take_the_shortcut(read: str) -> None:
    options = practised(ReviewOptions(policies=load(validating(f"size({read}) < 30"))))
    assert is_short(BODY, options)
    compare(BODY, options)
    compare(changed("request", "object", "metadata", "name", to="x" * 40), options)


def test_a_kind_may_be_written_in_several_ways_and_must_end() -> None:
    options = ReviewOptions()
    assert options.first
    for spaces in ("", " ", "  "):
        body = BODY.replace(b'"group": ""', b'"group":' + spaces.encode() + b'""', 1)
        for _ in range(OFTEN + 1):
            answer(body, Call("validate"), options)
        assert is_short(body, options)
    assert len({id(each) for each in vars(options.first)["_usual"].values()}) == 1
    endless = BODY.replace(b'"version": "v1"', b'"x": "CREATE", "version": "v1"', 1)
    for _ in range(OFTEN + 1):
        compare(endless, options)
    assert vars(options.first)["_met"] == {}


def test_policies_about_requests_see_each_of_them() -> None:
    expression = "request.userInfo.username != 'x' && !request.dryRun && request.name != 'y'"
    options = practised(ReviewOptions(policies=load(validating(expression))))
    assert is_short(BODY, options)
    for path, value in ((("userInfo", "username"), "x"), (("dryRun",), True), (("name",), "y")):
        body = changed("request", *path, to=value)
        assert not is_short(body, options)
        compare(body, options)


def test_fields_of_no_release_are_ignored_and_escaped_and_repeated_names_those_of_the_whole(
    rules: ReviewOptions, policies: ReviewOptions
) -> None:
    body = changed("request", "object", "spec", "containers", 0, "madeUp", to=[5])
    assert is_short(body, rules)
    compare(body, rules)
    for old, new in (
        (b'"containers"', b'"c\\u006fntainers"'),
        (b'"name": "container-0"', b'"name": "x", "name": "container-0"'),
        (b'"name": "container-0"', b'"name": "container-0", "name": "No_Name"'),
    ):
        assert old in BODY
        compare(BODY.replace(old, new), policies)


@each_row("obj", None, [], {}, {"kind": []}, {"apiVersion": "v1", "kind": "ConfigMap"})
def test_objects_of_other_kinds_take_no_shortcut(obj: Any, rules: ReviewOptions) -> None:
    body = changed("request", "object", to=obj).replace(b'"Pod"', b'"Other"')
    for _ in range(OFTEN + 1):
        compare(body, rules)
    assert not is_short(body, rules)


def test_kinds_with_more_fields_and_objects_of_others_take_the_shortcut_as_they_may() -> None:
    options = ReviewOptions(policies=load([*LIBRARY, *IMAGES]))
    body = changed("request", "object", to=DEPLOYMENT["request"]["object"])
    for _ in range(OFTEN + 2):
        compare(body, options)
    assert not is_short(body, options)
    options = ReviewOptions()
    body = changed("request", "kind", to=POD["request"]["kind"] | {"more": [{}]})
    for _ in range(2 * OFTEN + 1):
        compare(body, options)
    assert is_short(body, options)


def test_kinds_of_which_most_requests_are_unusual_take_no_shortcut() -> None:
    options = ReviewOptions()
    unusual = changed("request", "object", "metadata", "labels", to={"a": None})
    for body in [BODY] * OFTEN + [unusual] * 200 + [BODY] * 200 + [unusual] * 256:
        answer(body, Call("validate"), options)
    assert is_short(BODY, options)
    for _ in range(2):
        answer(unusual, Call("validate"), options)
    assert not is_short(BODY, options)
    compare(BODY, options)


def test_many_policies_are_prepared_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = [copy.deepcopy(IMAGES) for _ in range(9)]
    for number, (each, bound) in enumerate(copies):
        each["metadata"]["name"] = bound["metadata"]["name"] = bound["spec"]["policyName"] = f"images-{number}"
    policies = load(chain.from_iterable(copies))
    options, prepared = ReviewOptions(policies=policies), []
    prepare = Quick.prepare

    def note(quick: Quick) -> None:
        prepared.append(quick)
        prepare(quick)

    monkeypatch.setattr(Quick, "prepare", note)
    for _ in range(OFTEN + len(copies)):
        before = len(prepared)
        answer(BODY, Call("validate"), options)
        assert len(prepared) - before <= 2, "one for the shortcut, one for the whole"
    assert len(prepared) == len(copies)
    assert is_short(BODY, options)


def test_exempt_late_and_looked_up_requests_are_as_without_the_shortcut(rules: ReviewOptions) -> None:
    options = practised(ReviewOptions(enforcement=Enforcement(exempt_namespaces=["exempt-*"])))
    compare(changed("request", "namespace", to="exempt-1"), options)
    compare(BODY, options)
    result = answer(BODY, Call("validate", deadline=0.0), rules)
    assert result.record
    assert result.record.decision == "failed"
    assert not is_short(BODY, practised(ReviewOptions(enforcement=Enforcement(rules={RULE: AUDIT}))))


@given(data=st.data())
def test_any_change_has_the_same_answer(data: st.DataObject, policies: ReviewOptions) -> None:
    review = data.draw(st.sampled_from([POD, DEPLOYMENT]) | st.sampled_from(USUAL))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(paths(review)))
        review = with_value(review, path, data.draw(st.sampled_from(VALUES)))
    compare(bytes_of(review), policies)


USUAL = [POD, DEPLOYMENT, *(each.review for each in recorded() if each.review["request"]["operation"] == "CREATE")]
VALUES: tuple[Any, ...] = None, 5, -1, True, 1.5, "", "x", "No_Name", [], {}, [None], [{}], {"a": 5}, {"name": "DEBUG"}
