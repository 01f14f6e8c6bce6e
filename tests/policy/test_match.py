"""The requests that policies and bindings match, and the parameters of bindings."""

import importlib
import pkgutil
from typing import Any

import webhook
from tests.policy.examples import (
    BETA,
    CLAIMS,
    POD,
    PODS,
    POLICY,
    binding,
    definition,
    evaluate,
    of,
    policy,
    rule,
    spec,
    validating,
)
from tests.rows import each_row, each_row_beside
from webhook.configuration.options import Default
from webhook.objects import plain
from webhook.policy.evaluation.request import Request, request_of
from webhook.policy.evaluation.validate import validate
from webhook.policy.evaluation.verdict import Verdict
from webhook.policy.load import load
from webhook.policy.manifest import model
from webhook.policy.manifest.kinds import GroupVersionKind, Kinds, Resource, guess_resource
from webhook.policy.manifest.policies import validate_policy
from webhook.problem import ERROR, WARNING
from webhook.release import Release

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"env": "prod"}}}
NODE = of("Node", "n")
NODES, NAMESPACES = rule("nodes"), rule("namespaces")


def refuses(request: Request, rule: dict[str, Any], *, match: dict[str, Any] | None = None, **limits: Any) -> bool:
    judging, _ = validating("false", matchConstraints={"resourceRules": [rule]} | limits)
    policies = load([judging, binding(matchResources=match or {}), NAMESPACE], Release(36))
    assert not policies.errors
    return not validate(request, policies).allowed


def about(obj: dict[str, Any] | None = POD, old: dict[str, Any] | None = None, **options: Any) -> Request:
    return request_of(obj, old, kinds=Kinds(), **options)


@each_row_beside("rule", "matches")
def test_rules_pick_requests(rule: dict[str, Any], matches: bool) -> None:
    assert refuses(about(), PODS | rule) is matches


def test_subresources_are_named() -> None:
    asked = "pods", "pods/status", "pods/*", "*/*", "*", "*/status"
    status = about(old=POD, subresource="status")
    found = [refuses(status, PODS | {"resources": [resources]}) for resources in asked]
    assert found == [False, True, True, True, False, True]


def test_objects_of_the_cluster_have_its_scope_and_are_in_no_namespace_that_could_exempt_them() -> None:
    for obj, rules in ((NODE, NODES), (NAMESPACE, NAMESPACES)):
        assert refuses(about(obj), rules | {"scope": "Cluster"})
        assert not refuses(about(obj), rules | {"scope": "Namespaced"})
    assert refuses(about(NODE), NODES, namespaceSelector={"matchLabels": {"env": "no"}})


def test_excluded_requests_are_not_judged() -> None:
    assert not refuses(about(), PODS, excludeResourceRules=[PODS | {"resourceNames": ["p"]}])
    assert refuses(about(), PODS, excludeResourceRules=[PODS | {"resourceNames": ["q"]}])


def test_namespaces_that_are_not_given_have_only_their_name_which_is_noted_where_it_matters() -> None:
    elsewhere = POD | {"metadata": {"name": "p", "namespace": "other"}}
    assert not refuses(about(elsewhere), PODS, namespaceSelector={"matchLabels": {"env": "prod"}})
    assert refuses(about(elsewhere), PODS, namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "other"}})
    note = 'the namespace "default" was not given: it is taken to have no labels but its name'

    def notes(namespace: dict[str, Any] = POD, expression: str = "true", **fields: Any) -> tuple[str, ...]:
        return validate(about(), load([*validating(expression, **fields), namespace])).notes

    selecting = {"resourceRules": [PODS], "namespaceSelector": {"matchLabels": {"a": "b"}}}
    looking = "has(namespaceObject.metadata.labels)"
    assert notes() == ()
    assert notes(matchConstraints=selecting) == notes(expression=looking) == (note,)
    assert notes(NAMESPACE, matchConstraints=selecting) == notes(NAMESPACE, looking) == ()


def test_namespaces_are_picked_by_their_labels_and_a_namespace_by_its_own() -> None:
    for value, matches in (("prod", True), ("test", False)):
        assert refuses(about(), PODS, namespaceSelector={"matchLabels": {"env": value}}) is matches
    selector = {"matchLabels": {"env": "test"}}
    changed = NAMESPACE | {"metadata": {"name": "default", "labels": {"env": "test"}}}
    assert refuses(about(changed), NAMESPACES, namespaceSelector=selector)
    assert refuses(about(changed, NAMESPACE), NAMESPACES, namespaceSelector=selector)
    assert not refuses(about(None, changed), NAMESPACES, namespaceSelector=selector)


def test_objects_are_picked_by_new_or_old_labels_and_bindings_narrow_policies_down() -> None:
    selector = {"matchLabels": {"app": "a"}}
    other = POD | {"metadata": {"name": "p", "namespace": "default", "labels": {"app": "b"}}}
    assert refuses(about(), PODS, objectSelector=selector)
    assert not refuses(about(other), PODS, objectSelector=selector)
    assert refuses(about(other, POD), PODS, objectSelector=selector)
    assert refuses(about(None, POD), PODS, objectSelector=selector)
    assert not refuses(about(), PODS, match={"objectSelector": {"matchLabels": {"app": "b"}}})
    assert not refuses(about(), PODS, match={"resourceRules": [PODS | {"operations": ["UPDATE"]}]})
    assert refuses(about(), PODS, match={"resourceRules": [PODS]})


def test_other_versions_of_a_resource_match_unless_exact() -> None:
    assert refuses(about(BETA), CLAIMS)
    assert not refuses(about(BETA), CLAIMS, matchPolicy="Exact")
    assert not refuses(about(BETA), CLAIMS | {"apiVersions": ["v1alpha3"]})
    assert refuses(about(BETA), CLAIMS | {"apiVersions": ["v1beta1"]})


def test_policies_do_not_judge_policies_nor_questions_of_access() -> None:
    everything = rule("*/*", group="*", apiVersions=["*"])
    for obj in (policy(), binding(), of("SubjectAccessReview", version="authorization.k8s.io/v1")):
        assert not refuses(about(obj), everything)
    assert refuses(about(), everything)


def test_resources_are_guessed_from_kinds() -> None:
    resources = "pods", "deviceclasses", "networkpolicies", "endpoints", ""
    assert [*map(guess_resource, ("Pod", "DeviceClass", "NetworkPolicy", "Endpoints", ""))] == [*resources]


def test_custom_resources_are_known_by_their_definition() -> None:
    versions: list[dict[str, Any]] = [{"name": "v1", "served": True}, {"name": "v2", "served": True}, {"name": "v0"}]
    defined = definition("Quota", "quotae", *versions)
    given = [defined, {"kind": "CustomResourceDefinition"}, defined | {"spec": {"names": {}}}]
    quota = GroupVersionKind("example.com", "v1", "Quota")
    assert load([defined]).kinds.is_namespaced(quota) is False
    kinds = Kinds(Release(36), given)
    assert kinds.resource_of(quota) == Resource("example.com", "v1", "quotae")
    assert kinds.is_namespaced(quota) is False
    assert kinds.equivalents[kinds.resource_of(quota)] == (Resource("example.com", "v2", "quotae"),)
    assert kinds.find(quota._replace(version="v0")) is None
    assert kinds.is_namespaced(GroupVersionKind("example.com", "v1", "Other")) is None


def test_equivalents_are_those_that_the_release_serves() -> None:
    claims = Resource("resource.k8s.io", "v1beta1", "resourceclaims")
    found = [[each.version for each in Kinds(Release(release)).equivalents[claims]] for release in (32, 33, 34)]
    assert found == [["v1alpha3"], ["v1beta2", "v1alpha3"], ["v1", "v1beta2"]]


EVENT = of("Event", "e", involvedObject={"kind": "Pod", "name": "p"}, message="pulled", reason="Pulled", count=2)
NEW_EVENTS = rule("events", group="events.k8s.io")


def test_events_of_both_groups_are_versions_of_each_other() -> None:
    old, new = Resource("", "v1", "events"), Resource("events.k8s.io", "v1", "events")
    assert Kinds().equivalents[old] == (new,)
    assert Kinds().equivalents[new] == (old,)
    assert refuses(about(EVENT), NEW_EVENTS)
    assert not refuses(about(EVENT), NEW_EVENTS, matchPolicy="Exact")
    assert refuses(about(EVENT | {"apiVersion": "events.k8s.io/v1"}), NEW_EVENTS | {"apiGroups": [""]})
    assert not refuses(about(EVENT | {"apiVersion": "apps/v1"}), NEW_EVENTS)


@each_row_beside("group", "version", "resource", "kind", "releases")
def test_kinds_are_known_in_the_releases_that_serve_them(
    group: str, version: str, resource: str, kind: str, releases: list[int]
) -> None:
    wanted = GroupVersionKind(group, version, kind)
    serving = [release for release in range(27, 37) if Kinds(Release(release)).find(wanted)]
    assert [serving[0], serving[-1]] == releases
    assert Kinds(Release(serving[0])).kind_of(Resource(group, version, resource)) == wanted
    assert resource in {each.resource for each in Kinds(Release(serving[0])).served(group)}


LABELS = {"app": "a", "empty": ""}


@each_row_beside("selector", "selects")
def test_what_a_selector_selects(selector: dict[str, Any] | None, selects: bool) -> None:
    assert model.selects(model.selector_of(selector), LABELS) is selects


def said(selector: dict[str, Any]) -> list[str]:
    constraints = POLICY["spec"]["matchConstraints"] | {"objectSelector": selector}
    path = "spec.matchConstraints.objectSelector."
    return [str(each).removeprefix(path) for each in validate_policy(spec(POLICY, matchConstraints=constraints))]


@each_row_beside("selector", "start")
def test_what_no_selector_is(selector: dict[str, Any], start: str) -> None:
    (text,) = said(selector)
    assert text.startswith(start)


DELETED = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}


@each_row(
    ("seconds", "node", "phase", "expected"),
    (None, "n", "Running", 30), (7, "n", "Running", 7), (0, "n", "Running", 0), (-5, "n", "Running", 1),
    (7, "", "Pending", 0), (7, "n", "Succeeded", 0), (7, "n", "Failed", 0),
)  # fmt: skip
def test_a_pod_is_deleted_with_its_grace_period(seconds: int | None, node: str, phase: str, expected: int) -> None:
    spec = {"nodeName": node, "terminationGracePeriodSeconds": seconds}
    pod = of("Pod", spec={name: each for name, each in spec.items() if each not in {None, ""}}, status={"phase": phase})
    assert request_of(None, pod, kinds=Kinds()).options == {**DELETED, "gracePeriodSeconds": expected}
    assert request_of(None, of("Node"), kinds=Kinds()).options == DELETED


def _subclasses(base: type) -> list[type]:
    found: list[type] = base.__subclasses__()
    return [*found, *(each for own in found for each in _subclasses(own))]


def test_expressions_see_plain_values_only() -> None:
    for module in pkgutil.walk_packages(webhook.__path__, "webhook."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    samples: dict[type, Any] = {str: "default", int: 7, float: 0.5, dict: {"a": "b"}, list: ["a"]}
    seen = set()
    for base, sample in samples.items():
        for cls in _subclasses(base):
            if cls is bool or not cls.__module__.startswith("webhook."):
                continue
            seen.add(cls.__name__)
            own = cls.__new__(cls, *([sample] if base in {str, int, float} else []))
            if base is dict:
                dict.update(own, sample)
            if base is list:
                list.extend(own, sample)
            made = plain({"a": [own]})
            assert (type(made["a"][0]), made["a"][0]) == (base, sample)
            assert plain({"a": [sample]}) == made
    assert {"Default", "UInt", "Struct"} <= seen


def test_the_assumed_namespace_is_a_string_for_expressions() -> None:
    asked = "request.namespace.startsWith('def') && object.metadata.namespace.size() == 7"
    asked += " && params.metadata.namespace + namespaceObject.metadata.name == 'defaultdefault'"
    asking, _ = validating(asked, paramKind=CONFIG_MAP)
    policies = load([asking, binding(paramRef=refused(name="limits")), of("ConfigMap", "limits")])
    assert evaluate(of("Pod", spec={}), policies=policies, namespace=Default("default")).message == ""


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}


def config(name: str, value: str, namespace: str = "default", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return of("ConfigMap", data={"a": value}) | {"metadata": metadata}


LOOKS = {
    "expression": "params != null && params.data.a == 'yes'",
    "messageExpression": "params == null ? 'no params' : string(params.metadata.name)",
}


def judged(
    ref: dict[str, Any] | None, *objects: dict[str, Any], obj: dict[str, Any] = POD, asks: Any = LOOKS, **fields: Any
) -> Verdict:
    asking, bound = validating(asks, **{"paramKind": CONFIG_MAP, "rules": [rule("pods", "nodes")], **fields})
    policies = load([asking, binding(paramRef=ref) if ref else bound, *objects])
    assert not policies.errors
    return validate(about(obj), policies)


def message(verdict: Verdict) -> str:
    return verdict.decisions[0].message if verdict.decisions else ""


def refused(**ref: Any) -> dict[str, Any]:
    return {"parameterNotFoundAction": "Deny"} | ref


def test_parameters_are_found_by_name_in_the_objects_namespace_or_the_one_that_is_named() -> None:
    assert judged(refused(name="c"), config("c", "yes")).allowed
    assert message(judged(refused(name="c"), config("c", "no"), config("d", "yes"))) == "c"
    elsewhere = config("c", "yes", "other")
    assert message(judged(refused(name="c"), elsewhere)).startswith("failed to configure binding: no params")
    assert judged(refused(name="c", namespace="other"), elsewhere).allowed


def test_each_selected_object_is_a_question_of_its_own() -> None:
    chosen, other = refused(selector={"matchLabels": {"p": "y"}}), config("b", "no", p="y")
    fine, refusal = judged(chosen, config("a", "yes", p="y"), other, config("c", "no", p="n")).decisions
    assert (fine.denied, refusal.denied, refusal.message, refusal.params) == (False, True, "b", other)
    assert len(judged(refused(selector={}), config("a", "yes"), config("b", "yes")).decisions) == 2


def test_without_a_reference_there_are_no_parameters() -> None:
    assert message(judged(None)) == "no params"


def test_parameters_of_the_cluster_have_no_namespace_and_its_objects_need_one() -> None:
    text = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
    refusal = message(judged(refused(name="c"), config("c", "yes"), obj=NODE))
    assert refusal == f"failed to configure binding: {text}"
    assert judged(refused(name="c", namespace="default"), config("c", "yes"), obj=NODE).allowed
    kind = {"apiVersion": "v1", "kind": "Node"}
    text = "failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
    assert message(judged(refused(name="n", namespace="a"), NODE, paramKind=kind)) == text
    assert judged(refused(name="n"), NODE, paramKind=kind, asks="params.metadata.name == 'n'").allowed


def test_a_kind_is_known_by_its_objects() -> None:
    kind = {"apiVersion": "example.com/v1", "kind": "Quota"}
    quota = of("Quota", "q", "example.com/v1", data={"a": "yes"})
    assert judged(refused(name="q"), quota, paramKind=kind).allowed
    text = "failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Quota'"
    assert message(judged(refused(name="q"), paramKind=kind)) == text
    assert judged(refused(name="q"), paramKind=kind, failurePolicy="Ignore").allowed


def test_parameters_and_namespaces_are_what_a_cluster_stores() -> None:
    empty = config("c", "") | {"data": {"a": None}}
    assert judged(refused(name="c"), empty, asks="params.data.a == ''").allowed
    wrong = config("c", "yes") | {"data": {"a": "yes", "b": 1}}
    asking, _ = validating("params == null", paramKind=CONFIG_MAP)
    policies = load([asking, binding(paramRef=refused(name="c")), wrong])
    assert "no params found" in message(validate(about(), policies))
    (found,) = policies.errors
    assert found.problem.message == "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    for level in (ERROR, WARNING):
        (found,) = load([asking, binding(paramRef=refused(name="c")), wrong], level=level).findings
        assert found.problem.level == ERROR
    namespace = of("Namespace") | {"metadata": {"name": "default", "labels": {"team": None}}}
    looking = validating("namespaceObject.metadata.labels.team == ''")
    assert validate(about(), load([*looking, namespace])).allowed


@each_row(
    ("obj", "field"),
    (of("Namespace", "a") | {"metadata": {"name": "a", "labels": {"x": True}}}, "metadata.labels[x]"),
    (of("LimitRange", "a", spec={"limits": [{"default": {"cpu": "x"}}]}), "spec.limits[0].default[cpu]"),
    (of("ServiceAccount", "a", secrets="s"), "secrets"),
    (of("PriorityClass", "a", "scheduling.k8s.io/v1", value="7"), "value"),
    (of("RuntimeClass", "a", "node.k8s.io/v1", handler=1), "handler"),
    (of("StorageClass", "a", "storage.k8s.io/v1", provisioner=1), "provisioner"),
    (of("IngressClass", "a", "networking.k8s.io/v1", spec={"controller": 1}), "spec.controller"),
    (of("Secret", "a", type=1), ""),  # nothing reads it
)
@each_row("level", ERROR, WARNING)
def test_what_policies_and_plugins_read_can_be_decoded(obj: dict[str, Any], field: str, level: str) -> None:
    found = load([*validating("true"), obj], level=level).findings
    assert [(each.problem.field, each.problem.level) for each in found] == [(field, level)] * bool(field)


def test_the_missing_object_is_named() -> None:
    def missing(ref: dict[str, Any], *objects: Any, **fields: Any) -> str:
        return judged(ref, *objects, **fields).decisions[0].missing

    assert missing(refused(name="c")) == 'the ConfigMap "c" (v1) in the namespace "default"'
    here = 'a ConfigMap (v1) with the labels that the selector asks for in the namespace "default"'
    chosen = refused(selector={"matchLabels": {"a": "b"}})
    assert missing(chosen, config("c", "yes")) == here
    others = config("c", "yes", "x", a="b"), config("d", "yes", "w", a="b")
    assert missing(chosen, *others) == f'{here}; there is one in "w" and "x"'
    nodes = {"apiVersion": "v1", "kind": "Node"}
    assert missing(refused(name="other"), NODE, paramKind=nodes) == 'the Node "other" (v1)'
    assert missing(refused(name="c"), config("c", "no")) == ""
