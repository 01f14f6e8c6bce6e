"""The requests that policies and bindings match."""

from typing import Any

from tests.policy.examples import CLAIM, POD, PODS, binding, policy
from tests.rows import each_row, each_row_beside
from webhook.policy.evaluation.request import Request, request_of
from webhook.policy.evaluation.validate import validate
from webhook.policy.load import load
from webhook.policy.manifest.kinds import Kind, Kinds, Resource, guess_resource
from webhook.release import Release

CLAIMS = {"apiGroups": ["resource.k8s.io"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["resourceclaims"]}
REFUSE = [{"expression": "false"}]
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"env": "prod"}}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


def refuses(
    request: Request,
    rule: dict[str, Any],
    *,
    release: int = 36,
    match: dict[str, Any] | None = None,
    **constraints: Any,
) -> bool:
    constraints = {"resourceRules": [rule]} | constraints
    manifests = [
        policy(matchConstraints=constraints, validations=REFUSE),
        binding(matchResources=match or {}),
        NAMESPACE,
    ]
    policies = load(manifests, Release(release))
    assert not policies.errors
    return not validate(request, policies).allowed


def about(obj: dict[str, Any] | None = POD, old: dict[str, Any] | None = None, **options: Any) -> Request:
    return request_of(obj, old, kinds=Kinds(), **options)


@each_row_beside("rule", "matches")
def test_rules_pick_requests(rule: dict[str, Any], matches: bool) -> None:
    assert refuses(about(), PODS | rule) is matches


@each_row(
    ("resources", "matches"),
    [("pods", False), ("pods/status", True), ("pods/*", True), ("*/*", True), ("*", False), ("*/status", True)],
)
def test_subresources_are_named(resources: str, matches: bool) -> None:
    assert refuses(about(old=POD, subresource="status"), PODS | {"resources": [resources]}) is matches


def test_objects_of_the_cluster_have_the_scope_cluster() -> None:
    nodes = PODS | {"resources": ["nodes"]}
    assert refuses(about(NODE), nodes | {"scope": "Cluster"})
    assert not refuses(about(NODE), nodes | {"scope": "Namespaced"})


def test_a_namespace_is_an_object_of_the_cluster() -> None:
    namespaces = PODS | {"resources": ["namespaces"]}
    assert refuses(about(NAMESPACE), namespaces | {"scope": "Cluster"})
    assert not refuses(about(NAMESPACE), namespaces | {"scope": "Namespaced"})


def test_excluded_requests_are_not_judged() -> None:
    assert not refuses(about(), PODS, excludeResourceRules=[PODS | {"resourceNames": ["p"]}])
    assert refuses(about(), PODS, excludeResourceRules=[PODS | {"resourceNames": ["q"]}])


@each_row(
    ("selector", "matches"),
    [
        ({"matchLabels": {"env": "prod"}}, True),
        ({"matchLabels": {"env": "test"}}, False),
        ({"matchExpressions": [{"key": "env", "operator": "In", "values": ["prod", "dev"]}]}, True),
        ({"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]}, False),
        ({"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["blue"]}]}, True),
        ({"matchExpressions": [{"key": "env", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "env", "operator": "DoesNotExist"}]}, False),
        ({"matchLabels": {"kubernetes.io/metadata.name": "default"}}, True),
    ],
)
def test_namespaces_are_picked_by_their_labels(selector: dict[str, Any], matches: bool) -> None:
    assert refuses(about(), PODS, namespaceSelector=selector) is matches


def test_a_namespace_that_is_not_given_has_only_its_name() -> None:
    elsewhere = POD | {"metadata": {"name": "p", "namespace": "other"}}
    assert not refuses(about(elsewhere), PODS, namespaceSelector={"matchLabels": {"env": "prod"}})
    assert refuses(about(elsewhere), PODS, namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "other"}})


def test_a_namespace_that_is_not_given_is_noted_where_it_matters() -> None:
    note = 'the namespace "default" was not given: it is taken to have no labels but its name'

    def notes(namespace: dict[str, Any] = POD, **fields: Any) -> tuple[str, ...]:
        listed = fields.pop("validations", [{"expression": "has(object.metadata)"}])
        manifests = [policy(validations=listed, **fields), binding(), namespace]
        return validate(about(), load(manifests)).notes

    selecting = {"resourceRules": [PODS], "namespaceSelector": {"matchLabels": {"a": "b"}}}
    looking = [{"expression": "has(namespaceObject.metadata.labels)"}]
    assert notes() == ()
    assert notes(matchConstraints=selecting) == (note,)
    assert notes(validations=looking) == (note,)
    assert notes(NAMESPACE, matchConstraints=selecting) == ()
    assert notes(NAMESPACE, validations=looking) == ()


def test_a_namespace_is_picked_by_its_own_labels() -> None:
    namespaces = PODS | {"resources": ["namespaces"]}
    selector = {"matchLabels": {"env": "test"}}
    changed = NAMESPACE | {"metadata": {"name": "default", "labels": {"env": "test"}}}
    assert refuses(about(changed), namespaces, namespaceSelector=selector)
    assert refuses(about(changed, NAMESPACE), namespaces, namespaceSelector=selector)
    assert not refuses(about(None, changed), namespaces, namespaceSelector=selector)


def test_objects_of_the_cluster_are_in_no_namespace_that_could_exempt_them() -> None:
    assert refuses(about(NODE), PODS | {"resources": ["nodes"]}, namespaceSelector={"matchLabels": {"env": "no"}})


def test_objects_are_picked_by_new_or_old_labels() -> None:
    selector = {"matchLabels": {"app": "a"}}
    other = POD | {"metadata": {"name": "p", "namespace": "default", "labels": {"app": "b"}}}
    assert refuses(about(), PODS, objectSelector=selector)
    assert not refuses(about(other), PODS, objectSelector=selector)
    assert refuses(about(other, POD), PODS, objectSelector=selector)
    assert refuses(about(None, POD), PODS, objectSelector=selector)


def test_a_binding_narrows_its_policy_down() -> None:
    assert not refuses(about(), PODS, match={"objectSelector": {"matchLabels": {"app": "b"}}})
    assert not refuses(about(), PODS, match={"resourceRules": [PODS | {"operations": ["UPDATE"]}]})
    assert refuses(about(), PODS, match={"resourceRules": [PODS]})


def test_other_versions_of_a_resource_match_unless_exact() -> None:
    older = CLAIM | {
        "apiVersion": "resource.k8s.io/v1beta1",
        "spec": {"devices": {"requests": [{"name": "gpu", "deviceClassName": "gpu.example.com"}]}},
    }
    assert refuses(about(older), CLAIMS)
    assert not refuses(about(older), CLAIMS, matchPolicy="Exact")
    assert not refuses(about(older), CLAIMS | {"apiVersions": ["v1alpha3"]})
    assert refuses(about(older), CLAIMS | {"apiVersions": ["v1beta1"]})


def test_policies_do_not_judge_policies_nor_questions_of_access() -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {}}
    for obj in (policy(), binding(), review):
        assert not refuses(about(obj), everything)
    assert refuses(about(), everything)


@each_row(
    ("kind", "resource"),
    [
        ("Pod", "pods"),
        ("DeviceClass", "deviceclasses"),
        ("NetworkPolicy", "networkpolicies"),
        ("Endpoints", "endpoints"),
        ("", ""),
    ],
)
def test_resources_are_guessed_from_kinds(kind: str, resource: str) -> None:
    assert guess_resource(kind) == resource


def test_custom_resources_are_known_by_their_definition() -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "quotae.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"kind": "Quota", "plural": "quotae"},
            "versions": [{"name": "v1", "served": True}, {"name": "v2", "served": True}, {"name": "v0"}],
        },
    }
    kinds = Kinds(Release(36), [definition, {"kind": "CustomResourceDefinition"}, definition | {"spec": {"names": {}}}])
    quota = Kind("example.com", "v1", "Quota")
    assert kinds.resource_of(quota) == Resource("example.com", "v1", "quotae")
    assert kinds.is_namespaced(quota) is False
    assert kinds.equivalents(kinds.resource_of(quota)) == (Resource("example.com", "v2", "quotae"),)
    assert kinds.find(quota._replace(version="v0")) is None
    assert kinds.is_namespaced(Kind("example.com", "v1", "Other")) is None


def test_equivalents_are_those_that_the_release_serves() -> None:
    claims = Resource("resource.k8s.io", "v1beta1", "resourceclaims")
    assert [each.version for each in Kinds(Release(32)).equivalents(claims)] == ["v1alpha3"]
    assert [each.version for each in Kinds(Release(33)).equivalents(claims)] == ["v1beta2", "v1alpha3"]
    assert [each.version for each in Kinds(Release(34)).equivalents(claims)] == ["v1", "v1beta2"]


EVENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "default"},
    "involvedObject": {"kind": "Pod", "name": "p"},
    "message": "pulled",
    "reason": "Pulled",
    "count": 2,
}
NEW_EVENTS = {"apiGroups": ["events.k8s.io"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["events"]}


def test_events_of_both_groups_are_versions_of_each_other() -> None:
    old, new = Resource("", "v1", "events"), Resource("events.k8s.io", "v1", "events")
    assert Kinds().equivalents(old) == (new,)
    assert Kinds().equivalents(new) == (old,)
    assert refuses(about(EVENT), NEW_EVENTS)
    assert not refuses(about(EVENT), NEW_EVENTS, matchPolicy="Exact")
    assert refuses(about(EVENT | {"apiVersion": "events.k8s.io/v1"}), NEW_EVENTS | {"apiGroups": [""]})
    assert not refuses(about(EVENT | {"apiVersion": "apps/v1"}), NEW_EVENTS)


@each_row_beside("group", "version", "resource", "kind", "releases")
def test_kinds_are_known_in_the_releases_that_serve_them(
    group: str, version: str, resource: str, kind: str, releases: list[int]
) -> None:
    wanted = Kind(group, version, kind)
    serving = [release for release in range(27, 37) if Kinds(Release(release)).find(wanted)]
    assert [serving[0], serving[-1]] == releases
    assert Kinds(Release(serving[0])).kind_of(Resource(group, version, resource)) == wanted
    assert resource in Kinds(Release(serving[0])).resources(group)
