"""Mutating policies change objects, again after changes by others, and in other versions."""

import copy
import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from tests.policy.examples import BETA, CLAIM, CLAIMS, EVERYWHERE, POD, PODS, evaluate, mutating, of, validating
from tests.policy.examples import spec as with_spec
from tests.rows import each_row, each_row_beside
from webhook.budget import DOCUMENT, Budget, limited
from webhook.policy.change.decoding import with_identity
from webhook.policy.change.mutate import mutate
from webhook.policy.evaluation.policyset import decoded, undecodable
from webhook.policy.evaluation.request import request_of
from webhook.policy.evaluation.session import ConfigurationError, convert
from webhook.policy.evaluation.verdict import Verdict
from webhook.policy.load import load
from webhook.policy.manifest.kinds import GroupVersionKind, Kinds
from webhook.release import Release


def label(key: str, value: str) -> str:
    return f"Object{{metadata: Object.metadata{{labels: {{'{key}': {value}}}}}}}"


def made(*manifests: list[dict[str, Any]], obj: dict[str, Any] = POD, **options: Any) -> Verdict:
    policies = load([each for group in manifests for each in group])
    assert not policies.errors, [str(each.problem) for each in policies.errors]
    before = copy.deepcopy(obj)
    verdict = mutate(request_of(obj, kinds=Kinds(), **options), policies)
    assert obj == before
    return verdict


def labels(verdict: Verdict) -> dict[str, str]:
    found: dict[str, str] = verdict.object["metadata"]["labels"]
    return found


QUOTA = of("Quota", "q", "example.com/v1")


def test_mutations_are_made_in_order_with_conditions_and_variables() -> None:
    verdict = made(
        mutating("m", label("a", "'1'"), label("b", "object.metadata.labels.a + '2'")),
        mutating("n", "[JSONPatch{op: 'move', from: '/metadata/labels/b', path: '/metadata/labels/c'}]"),
    )
    assert labels(verdict) == {"app": "a", "a": "1", "c": "12"}
    variables = [{"name": "v", "expression": "object.metadata.name + '-v'"}]
    never = [{"name": "c", "expression": "object.metadata.name == 'other'"}]
    verdict = made(
        mutating("m", label("x", "variables.v"), variables=variables),
        mutating("n", label("y", "'1'"), matchConditions=never),
    )
    assert labels(verdict) == {"app": "a", "x": "p-v"}


def test_nothing_is_changed_in_a_delete() -> None:
    policies = load(mutating("m", label("a", "'1'"), matchConstraints={"resourceRules": [PODS]}))
    verdict = mutate(request_of(None, POD, kinds=Kinds()), policies)
    assert (verdict.allowed, verdict.object, verdict.decisions) == (True, None, ())


NO_JSON = "JSONPath valueExpression evaluated to a type that could not marshal to JSON: "


@each_row_beside("mutation", "text")
def test_an_error_is_what_the_failure_policy_says(mutation: str, text: str) -> None:
    text = text.replace("{}", mutation) if "expression" in text else text
    verdict = made(mutating("m", mutation, label("after", "'1'")))
    assert (verdict.allowed, verdict.code, verdict.reason) == (False, 403, "Invalid")
    assert verdict.message == f"policy 'm' with binding 'm' denied request: {text}"
    ignored = made(mutating("m", mutation, label("after", "'1'"), failurePolicy="Ignore"))
    assert ignored.allowed
    assert labels(ignored) == {"app": "a", "after": "1"}


@each_row_beside("patch", "text")
def test_a_patch_that_makes_no_pod_is_an_internal_error(patch: str, text: str) -> None:
    verdict = made(mutating("m", f"[JSONPatch{patch}]", failurePolicy="Ignore"))
    assert (verdict.allowed, verdict.code, verdict.reason) == (False, 500, "InternalError")
    assert verdict.message == f"Internal error occurred: {text}"
    (decision,) = verdict.decisions
    assert (decision.policy.name, decision.denied, decision.message) == ("m", True, text)
    assert str(decision.path) == "spec.mutations[0].jsonPatch.expression"


TYPED = "error applying patch: failed to convert patch object to typed object: "
CONTAINER = "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c', {}}]}}"


@each_row_beside("mutation", "text")
def test_what_is_in_a_list_or_map_of_an_expression_stays_a_value_of_cel(mutation: str, text: str) -> None:
    verdict = made(mutating("m", mutation))
    assert verdict.message == f"policy 'm' with binding 'm' denied request: {TYPED}{text}"


def test_what_an_object_has_can_be_applied_again() -> None:
    obj = {**POD, "metadata": {**POD["metadata"], "annotations": {"a": "b"}}}
    wanted = {**obj["metadata"], "labels": {"app": "a", "a": "b"}}
    variables = [{"name": "v", "expression": "object.metadata.annotations"}]
    for labelled in ("object.metadata.annotations", "variables.v", "optional.of(object.metadata.annotations)"):
        change = f"Object{{metadata: Object.metadata{{labels: {labelled}}}}}"
        assert made(mutating("m", change, variables=variables), obj=obj).object["metadata"] == wanted
    again = mutating("m", "Object{spec: Object.spec{containers: object.spec.containers.filter(c, c.name != '')}}")
    assert made(again).object == POD


@each_row(("release", "allowed"), (34, False), (35, True))
def test_lists_may_have_several_items_with_one_key(release: int, allowed: bool) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
    obj = {**POD, "spec": {"containers": [{"name": "c", "image": "i", "env": env}]}}
    new = CONTAINER.replace("{}", "env: [Object.spec.containers.env{name: 'A', value: 'new'}]")
    verdict = mutate(request_of(obj, kinds=Kinds()), load(mutating("m", new), Release(release)))
    if allowed:
        wanted = [{"name": "A", "value": "new"}, {"name": "B", "value": "2"}]
        assert verdict.object["spec"]["containers"][0]["env"] == wanted
    else:
        assert verdict.message.endswith('.spec.containers[name="c"].env: duplicate entries for key [name="A"]')


def test_a_failed_test_or_null_leaves_the_object_as_it_was_and_every_error_is_a_cause() -> None:
    add = "JSONPatch{op: 'add', path: '/metadata/labels/a', value: '1'}"
    verdict = made(mutating("m", f"[{add}, JSONPatch{{op: 'test', path: '/kind', value: 'x'}}]"))
    assert verdict.allowed
    assert verdict.object == POD
    nothing = made(mutating("m", "[JSONPatch{op: 'add', path: '/spec/nodeName', value: null}]"))
    assert "nodeName" not in nothing.object["spec"]
    broken = label("x", "object.nope")
    verdict = made(mutating("m", broken, broken), mutating("n", broken))
    assert len(verdict.causes) == 3
    assert verdict.message == verdict.causes[0]


@each_row_beside("value", "json")
def test_values_of_patches_become_json(value: str, json: Any) -> None:
    patch = f"[JSONPatch{{op: 'add', path: '/spec/n', value: {value}}}]"
    verdict = made(mutating("m", patch, matchConstraints=EVERYWHERE), obj=QUOTA | {"spec": {}})
    assert verdict.object["spec"] == {"n": json}


@each_row(
    ("value", "message", "number"),
    ("double('NaN')", "Value", "NaN"),
    ("[double('inf')]", "Value", "+Inf"),
    ("Object{a: double('-inf')}", "Struct", "-Inf"),
)
def test_infinite_numbers_are_not_json(value: str, message: str, number: str) -> None:
    verdict = made(mutating("m", f"[JSONPatch{{op: 'add', path: '/spec', value: {value}}}]"))
    said = f"*structpb.{message}: proto: google.protobuf.Value.number_value: invalid {number} value"
    assert verdict.message.endswith(f"{NO_JSON}json: error calling MarshalJSON for type {said}")


@each_row("value", "[Object{a: 1}]", "{'a': optional.of(Object{a: 1})}")
def test_objects_in_lists_and_maps_end_the_request(value: str) -> None:
    policy = mutating("m", f"[JSONPatch{{op: 'add', path: '/spec/a', value: {value}}}]", failurePolicy="Ignore")
    verdict = evaluate(POD, policies=load(policy, Release(36)))
    assert not verdict.allowed
    assert verdict.message.startswith("Internal error occurred: the API server panics at an Object in a list or map")


TOLERATION = "Object.spec.tolerations{key: 'gpu', operator: 'Exists'}"
TOLERATES = f"[JSONPatch{{op: 'add', path: '/spec/tolerations', value: [{TOLERATION}]}}]"
LIMITS = "{'limits': Object.spec.containers.resources.limits{cpu: '1'}}"
LIMITS = f"[JSONPatch{{op: 'add', path: '/spec/containers/0/resources', value: {LIMITS}}}]"


def test_later_releases_and_the_webhook_take_objects_in_lists_and_maps() -> None:
    tolerations = made(mutating("m", TOLERATES)).object["spec"]["tolerations"]
    assert tolerations == [{"key": "gpu", "operator": "Exists"}]
    container = made(mutating("m", LIMITS)).object["spec"]["containers"][0]
    assert container["resources"] == {"limits": {"cpu": "1"}}
    request = request_of(POD, kinds=Kinds(Release(34)))
    with limited(Budget(DOCUMENT)):
        verdict = mutate(request, load(mutating("m", TOLERATES), Release(34)))
    assert verdict.object["spec"]["tolerations"] == [{"key": "gpu", "operator": "Exists"}]


def test_an_unknown_param_kind_is_an_error_of_the_policy() -> None:
    verdict = made(mutating("m", label("a", "'1'"), paramKind={"apiVersion": "example.com/v1", "kind": "Quota"}))
    text = "failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Quota'"
    assert verdict.message == f'policy "m" denied request: {text}'
    assert (verdict.code, verdict.reason) == (403, "Forbidden")


def test_missing_parameters_are_reported_before_other_errors_and_used_one_by_one() -> None:
    lost = mutating("n", label("a", "'1'"), paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    lost[1]["spec"]["paramRef"] = {"name": "c", "parameterNotFoundAction": "Deny"}
    verdict = made(mutating("m", label("x", "object.nope")), lost)
    text = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert verdict.message == f"policy 'n' with binding 'n' denied request: {text}"
    assert verdict.reason == "Forbidden"
    assert len(verdict.causes) == 2
    each = "Object{metadata: Object.metadata{labels: {params.metadata.name: params.data.a}}}"
    manifests = mutating("m", each, paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    manifests[1]["spec"]["paramRef"] = {"selector": {}, "parameterNotFoundAction": "Deny"}
    configs = [of("ConfigMap", name, data={"a": name * 2}) for name in "xy"]
    assert labels(made([*manifests, *configs])) == {"app": "a", "x": "xx", "y": "yy"}


def test_what_draguard_cannot_merge_it_says() -> None:
    told = made(mutating("m", label("a", "'1'"), matchConstraints=EVERYWHERE), obj=QUOTA)
    assert told.message.endswith("draguard does not know how Quota of example.com/v1 is made, and cannot merge into it")
    patch = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': '1'}}]"
    patched = made(mutating("m", patch, matchConstraints=EVERYWHERE), obj=QUOTA)
    assert labels(patched) == {"a": "1"}


@each_row(
    "mutation",
    label("a", "'1'"),
    "[JSONPatch{op: 'replace', path: '/spec/devices/requests/0/exactly/count', value: 4}]",
    "[JSONPatch{op: 'test', path: '/kind', value: 'other'}]",
)
def test_an_object_cannot_be_changed_in_another_version_than_its_own(mutation: str) -> None:
    constraints = {"resourceRules": [CLAIMS]}
    verdict = made(mutating("m", mutation, matchConstraints=constraints), obj=BETA)
    said = "converting (v1.ResourceClaim) to (v1beta1.ResourceClaim): unknown conversion"
    assert verdict.message == f"policy 'm' with binding 'm' denied request: {said}"
    ignored = made(mutating("m", mutation, matchConstraints=constraints, failurePolicy="Ignore"), obj=BETA)
    assert (ignored.allowed, ignored.object) == (True, BETA)


def test_an_object_is_changed_in_the_version_in_which_it_was_sent() -> None:
    rules = [CLAIMS | {"apiVersions": ["v1", "v1beta1"]}]
    patch = "[JSONPatch{op: 'replace', path: '/spec/devices/requests/0/count', value: 4}]"
    verdict = made(mutating("m", patch, matchConstraints={"resourceRules": rules}), obj=BETA)
    assert verdict.object["spec"]["devices"]["requests"][0]["count"] == 4


@each_row("patch", "op: 'remove', path: '/kind'", "op: 'add', path: '/apiVersion', value: ''")
def test_an_object_keeps_its_version_and_kind(patch: str) -> None:
    verdict = made(mutating("m", f"[JSONPatch{{{patch}}}]", label("kind", "object.apiVersion + object.kind")))
    assert verdict.allowed
    assert labels(verdict)["kind"] == "v1Pod"


@each_row("missing", "kind", "apiVersion")
def test_what_the_object_itself_lacks_is_not_added(missing: str) -> None:
    before = {name: value for name, value in POD.items() if name != missing}
    assert with_identity({**before, "spec": {}}, before) == {**before, "spec": {}}
    assert with_identity({"spec": {}}, before) == {name: before[name] for name in before if name != "metadata"} | {
        "spec": {}
    }


@each_row(("stated", "allowed"), ("resource.k8s.io/", True), ("v1", False))
def test_a_missing_version_is_that_of_the_object_and_a_missing_group_is_core(stated: str, *, allowed: bool) -> None:
    patch = f"[JSONPatch{{op: 'add', path: '/apiVersion', value: '{stated}'}}]"
    verdict = made(mutating("m", patch, matchConstraints={"resourceRules": [CLAIMS]}), obj=CLAIM)
    assert verdict.allowed is allowed
    assert allowed or 'no kind "ResourceClaim" is registered for version "v1"' in verdict.message


def test_a_patch_may_change_defaults_of_what_an_earlier_one_has_added_but_finds_no_empty_map() -> None:
    container = "[JSONPatch{op: 'add', path: '/spec/containers/1', value: {'name': 'b', 'image': 'b'}}]"
    path = "/spec/containers/1/terminationMessagePath"
    copying = f"op: 'copy', from: '{path}', path: '/metadata/labels/a'"
    for patch in (f"op: 'replace', path: '{path}', value: '/a'", copying):
        assert made(mutating("m", container, f"[JSONPatch{{{patch}}}]")).allowed
    add = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {}}]"
    replace = "[JSONPatch{op: 'replace', path: '/metadata/labels/a', value: '1'}]"
    verdict = made(mutating("m", add), mutating("n", replace), obj=POD | {"metadata": {"name": "a"}})
    missing = "replace operation does not apply: doc is missing path: /metadata/labels/a: missing value"
    assert verdict.message.endswith(missing)


def test_validating_policies_see_what_mutating_ones_made_and_nothing_after_a_refusal() -> None:
    seen = validating("object.metadata.labels.ok == 'yes'")
    verdict = evaluate(POD, policies=load([*mutating("m", label("ok", "'yes'")), *seen]))
    assert verdict.allowed
    assert [decision.policy.name for decision in verdict.decisions] == ["m", "p"]
    assert not evaluate(POD, policies=load(seen)).allowed
    verdict = evaluate(POD, policies=load([*mutating("m", label("x", "object.nope")), *seen]))
    assert verdict.code == 403
    assert [decision.policy.name for decision in verdict.decisions] == ["m"]


@each_row_beside("path", "value", "old", "code", "message")
def test_a_change_of_the_objects_identity_is_refused_by_every_failure_policy(
    path: str, value: str, old: bool, code: int, message: str
) -> None:
    metadata = {"name": "p", "namespace": "default"} | ({"uid": "a", "resourceVersion": "1"} if old else {})
    pod = POD | {"metadata": metadata}
    patch = f"[JSONPatch{{op: 'add', path: '/metadata/{path}', value: '{value}'}}]"
    for failure_policy in ("Fail", "Ignore"):
        policies = load(mutating("m", patch, failurePolicy=failure_policy))
        verdict = evaluate(pod, pod if old else None, policies=policies)
        assert (verdict.allowed, verdict.code) == (not code, code)
        assert verdict.message.startswith(message)


def test_an_old_object_may_have_a_name_of_any_type() -> None:
    policies = load(mutating("m", label("x", "'y'")))
    verdict = evaluate(POD, POD | {"metadata": {"name": [["p"]]}}, policies=policies)
    assert verdict.message.startswith('metadata.name: Invalid value: "p": field is immutable')


@each_row_beside("version", "kind", "message")
def test_an_object_cannot_become_one_of_another_kind(version: str, kind: str, message: str) -> None:
    fields: dict[str, Any] = {"data": {"a": "b"}} if kind == "Pod" else {}
    config_map = of("ConfigMap", **fields, metadata={"name": "x", "namespace": "default"})
    to = "JSONPatch{{op: 'replace', path: '/{}', value: '{}'}}"
    changes = f"[{to.format('apiVersion', version)}, {to.format('kind', kind)}]"
    verdict = made(mutating("m", changes, matchConstraints=EVERYWHERE), obj=config_map)
    assert verdict.message.startswith(message)


def test_an_object_in_another_version_is_not_converted_back() -> None:
    patch = "[JSONPatch{op: 'replace', path: '/apiVersion', value: 'resource.k8s.io/v1beta2'}]"
    verdict = made(mutating("m", patch, matchConstraints={"resourceRules": [CLAIMS]}), obj=CLAIM)
    assert verdict.message.endswith("converting (v1beta2.ResourceClaim) to (v1.ResourceClaim): unknown conversion")


def counting(key: str) -> str:
    return label(key, f"has(object.metadata.labels.{key}) ? string(object.metadata.labels.{key}) + '1' : '1'")


def test_a_policy_is_reinvoked_after_changes_if_needed_and_if_it_applied() -> None:
    verdict = made(mutating("m", counting("a"), reinvocationPolicy="IfNeeded"), mutating("n", counting("b")))
    assert labels(verdict) == {"app": "a", "a": "11", "b": "1"}
    conditions = [{"name": "c", "expression": "has(object.metadata.labels.b)"}]
    late = mutating("m", counting("a"), reinvocationPolicy="IfNeeded", matchConditions=conditions)
    verdict = made(late, mutating("n", counting("b")))
    assert labels(verdict) == {"app": "a", "b": "1"}


def rewriting(
    *manifests: Any, change: Callable[[Any], Any] = lambda obj: with_spec(obj, schedulerName="mine")
) -> Verdict:
    """Run policies, with a webhook behind them."""
    policies = load(each for group in manifests for each in group)
    assert not policies.errors
    return mutate(request_of(POD, kinds=policies.kinds), policies, webhooks=change)


def test_after_a_webhooks_change_policies_that_applied_are_asked_again_once() -> None:
    again = mutating("m", counting("a"), reinvocationPolicy="IfNeeded")
    verdict = rewriting(again, mutating("n", counting("b")))
    assert labels(verdict) == {"app": "a", "a": "11", "b": "1"}
    assert verdict.object["spec"]["schedulerName"] == "mine"
    late = [{"name": "c", "expression": "has(object.spec.schedulerName)"}]
    verdict = rewriting(mutating("m", counting("a"), reinvocationPolicy="IfNeeded", matchConditions=late))
    assert labels(verdict) == {"app": "a"}
    unlabelled = {"objectSelector": {"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]}}
    rules = {"resourceRules": [PODS | {"operations": ["CREATE"]}]}
    selecting = mutating("m", counting("a"), reinvocationPolicy="IfNeeded", matchConstraints=rules | unlabelled)
    verdict = rewriting(selecting, mutating("n", counting("b")))
    assert labels(verdict) == {"app": "a", "a": "1", "b": "1"}
    fragile = [{"name": "c", "expression": "!has(object.spec.schedulerName) || object.nope"}]
    verdict = rewriting(again, mutating("n", counting("b"), matchConditions=fragile))
    assert not verdict.allowed
    assert "no such key: nope" in verdict.message


def test_no_policy_is_reinvoked_after_a_refusal_or_an_error() -> None:
    verdict = rewriting(mutating("m", counting("a"), reinvocationPolicy="IfNeeded"), change=lambda _: None)
    assert labels(verdict) == {"app": "a", "a": "1"}
    found = made(mutating("m", counting("a"), reinvocationPolicy="IfNeeded"), mutating("n", label("x", "object.nope")))
    assert not found.allowed
    assert labels(found)["a"] == "1"


CONFIG = of("ConfigMap", "c", data={"a": "b"})


@each_row_beside("obj", "path", "value", "refusal")
def test_a_patch_makes_what_can_be_decoded(obj: dict[str, Any], path: str, value: str, refusal: str) -> None:
    patch = f"[JSONPatch{{op: 'add', path: '{path}', value: {value}}}]"
    verdict = made(mutating("m", patch, matchConstraints=EVERYWHERE), obj=obj)
    assert verdict.allowed == (not refusal)
    assert verdict.message.startswith(f"Internal error occurred: json: cannot unmarshal {refusal}" if refusal else "")


@each_row_beside("obj", "path", "said")
def test_all_misspelt_fields_of_known_kinds_are_named(obj: dict[str, Any], path: str, said: str) -> None:
    patch = f"[JSONPatch{{op: 'add', path: '{path}/a', value: 1}}, JSONPatch{{op: 'add', path: '{path}/b', value: 1}}]"
    sent = obj | {"spec": obj.get("spec", {}) | {"strategy": {}}} if path else obj
    verdict = made(mutating("m", patch, matchConstraints=EVERYWHERE), obj=sent)
    assert verdict.message == (said and f"Internal error occurred: {said}")


def test_a_changed_object_is_decoded_before_it_is_seen_again() -> None:
    patch = (
        "[JSONPatch{op: 'add', path: '/spec/containers/0/args', value: []}, "
        "JSONPatch{op: 'add', path: '/metadata/labels/none', value: null}, "
        "JSONPatch{op: 'add', path: '/spec/containers/-', value: "
        "{'name': dyn('d'), 'image': dyn('i'), 'command': dyn([null]), 'ports': dyn([null])}}]"
    )
    seen = "object.spec.containers.map(c, c.map(k, k).sort().join(' ')).join('; ') + '|' + object.metadata.labels.none"
    annotate = f"Object{{metadata: Object.metadata{{annotations: {{'seen': {seen}}}}}}}"
    fields = "image imagePullPolicy name resources terminationMessagePath terminationMessagePolicy"
    again = f"Object{{metadata: Object.metadata{{annotations: {{'n': {seen}}}}}}}"
    verdict = made(mutating("m", patch, annotate), mutating("n", again))
    annotations, (first, added) = verdict.object["metadata"]["annotations"], verdict.object["spec"]["containers"]
    assert added == {"name": "d", "image": "i", "command": [""], "ports": [{}]}
    assert annotations["seen"] == annotations["n"]
    assert annotations["seen"].partition("; ")[2] == f"command {fields.replace('name ', 'name ports ')}|"
    assert "args" not in annotations["seen"]
    assert first["args"] == []


@each_row_beside("obj", "path", "value")
def test_null_in_a_map_or_list_is_an_empty_value(obj: dict[str, Any], path: str, value: Any) -> None:
    found: Any = decoded(obj, Kinds())
    for step in path.split("."):
        found = found.get(step)
    assert value in (found, found and isinstance(found, dict) and found.get("supplementalGroups"))


def test_null_in_a_container_is_an_empty_value_and_what_was_no_better_before_is_not_the_patchs_fault() -> None:
    spec = {"containers": [{"name": "c", "command": ["sh", None], "args": None, "env": [None]}]}
    (container,) = decoded(POD | {"spec": spec}, Kinds())["spec"]["containers"]
    assert (container["command"], container["env"], "args" in container) == (["sh", ""], [{"name": ""}], False)
    before = CONFIG | {"data": {"a": 3}}
    patch = "[JSONPatch{op: 'add', path: '/data/b', value: 'c'}]"
    assert made(mutating("m", patch, matchConstraints=EVERYWHERE), obj=before).allowed


@each_row_beside("changed", "messages")
def test_what_cannot_be_decoded_is_listed(changed: dict[str, Any], messages: list[str]) -> None:
    assert [each.message for each in undecodable(CONFIG | changed, Kinds())] == messages


@each_row_beside("port", "got")
def test_a_port_is_a_text_or_a_number(port: Any, got: str) -> None:
    service = of("Service", spec={"ports": [{"port": 1, "targetPort": port}]})
    place = "Go struct field ServicePort.spec.ports.targetPort of type int32"
    refusals = [f"json: cannot unmarshal {got} into {place}"] if got else []
    assert [each.message for each in undecodable(service, Kinds())] == refusals


def test_nothing_is_kept_of_names_that_no_kind_has() -> None:
    patch = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]"
    policies = load(mutating("m", patch, matchConstraints=EVERYWHERE))

    def make(number: int) -> None:
        name = f"{number}{'x' * 50_000}"
        sent = of(name, version=f"resource.k8s.io/v{name}")
        assert mutate(request_of(sent, kinds=Kinds()), policies).object["metadata"]["labels"] == {"a": "b"}

    make(0)
    tracemalloc.start()
    for number in range(5):
        make(number)
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 100_000


def test_neither_nothing_nor_the_options_of_a_subresource_are_converted() -> None:
    assert convert(None, GroupVersionKind("resource.k8s.io", "v1", "ResourceClaim")) is None
    assert convert(POD, GroupVersionKind("", "v1", "Eviction")) == POD


@each_row("obj", CLAIM | {"apiVersion": "resource.k8s.io/v1alpha2"}, POD | {"kind": "ResourceClaim"})
def test_what_is_not_known_is_said(obj: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="draguard cannot convert"):
        convert(obj, GroupVersionKind("resource.k8s.io", "v1", "ResourceClaim"))


def test_an_event_has_other_names_in_its_own_group() -> None:
    event = of("Event", involvedObject={"name": "p"}, message="pulled", reason="r")
    new = convert(event, GroupVersionKind("events.k8s.io", "v1", "Event"))
    assert new == of("Event", version="events.k8s.io/v1", regarding={"name": "p"}, note="pulled", reason="r")
    assert convert(new, GroupVersionKind("", "v1", "Event")) == event
