"""Pre-scheduled pods, case by case."""

import copy
import json
import math
from typing import Any, Literal, NamedTuple

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from tests.objects import INFINITE, mutilated, seeded, value
from tests.policy.examples import of
from tests.reviews import recorded
from tests.rows import each_row
from webhook.api.templates import pod_template
from webhook.engine.manifests import never_runs
from webhook.engine.prescheduled import Rewrite, RewriteOptions, rewrite, rewrite_manifest
from webhook.problem import Problem

HOSTNAME = "kubernetes.io/hostname"
NODE = "node-1"
LONG = "a" * 60 + ".example.com"
BY_HOSTNAME, BY_NAME, ALL = RewriteOptions(), RewriteOptions(select_node_by="name"), RewriteOptions(pods="all")
HERE, ELSEWHERE, NOT_THERE, NOT_HERE = (
    {"key": "metadata.name", "operator": operator, "values": [node]}
    for operator, node in (("In", NODE), ("In", "node-2"), ("NotIn", "node-2"), ("NotIn", NODE))
)
FAST = {"key": "disk", "operator": "In", "values": ["ssd"]}
CLAIMS = [{"name": "gpu", "resourceClaimName": "gpu"}]
REQUIRED_TERMS = "requiredDuringSchedulingIgnoredDuringExecution"
REQUIRED = f"/spec/affinity/nodeAffinity/{REQUIRED_TERMS}"
TERMS_FIELD = f"{REQUIRED[1:].replace('/', '.')}.nodeSelectorTerms"
REMOVED = {"op": "remove", "path": "/spec/nodeName"}
KUBELET = {"username": f"system:node:{NODE}", "groups": ["system:nodes", "system:authenticated"]}
TENANT = {"username": "jane", "groups": ["developers", "system:authenticated"]}

RECORDED: dict[str, Any] = next(
    each.review["request"]["object"]
    for each in recorded()
    if each.review["request"]["name"] == "prescheduled" and each.endpoint == "mutate"
)


def pod(*, metadata: object = None, **spec: object) -> dict[str, Any]:
    """A small pod that names its node and uses a claim; a field given as ``...`` is left out."""
    fields = {"nodeName": NODE, "resourceClaims": CLAIMS, **spec}
    stated = {name: value for name, value in fields.items() if value is not ...}
    return of("Pod", spec=stated) | ({} if metadata is None else {"metadata": metadata})


def affinity(*terms: object) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED_TERMS: {"nodeSelectorTerms": list(terms)}}}


def applied(obj: dict[str, Any], change: Rewrite) -> dict[str, Any]:
    result: dict[str, Any] = jsonpatch.apply_patch(obj, json.dumps(change.patch))
    return result


def rewritten(obj: object, options: RewriteOptions = BY_HOSTNAME) -> Rewrite:
    result = rewrite_manifest(obj, options)
    assert isinstance(result, Rewrite), result
    return result


def refused(obj: object, options: RewriteOptions = BY_HOSTNAME) -> Problem:
    result = rewrite_manifest(obj, options)
    assert isinstance(result, Problem), result
    return result


def patched(obj: dict[str, Any], options: RewriteOptions = BY_HOSTNAME) -> dict[str, Any]:
    return applied(obj, rewritten(obj, options))


# By hostname, the default


@each_row(
    ("selector", "added"),
    (..., [{"op": "add", "path": "/spec/nodeSelector", "value": {HOSTNAME: NODE}}]),
    (None, [{"op": "replace", "path": "/spec/nodeSelector", "value": {HOSTNAME: NODE}}]),
    ({}, [{"op": "add", "path": "/spec/nodeSelector/kubernetes.io~1hostname", "value": NODE}]),
    ({"disk": "ssd"}, [{"op": "add", "path": "/spec/nodeSelector/kubernetes.io~1hostname", "value": NODE}]),
    ({HOSTNAME: NODE}, []),
)
def test_node_name_becomes_an_entry_of_the_node_selector(selector: Any, added: list[Any]) -> None:
    given_pod = pod(nodeSelector=selector)
    assert rewritten(given_pod).patch == [REMOVED, *added]
    other = {} if selector in (..., None) else selector
    assert patched(given_pod)["spec"]["nodeSelector"] == {**other, HOSTNAME: NODE}


@each_row("other", "node-2", "", None)
def test_a_node_selector_that_contradicts_is_refused(other: object) -> None:
    found = refused(pod(nodeSelector={HOSTNAME: other}))
    assert (found.level, found.rule, found.reason) == ("error", "prescheduled-contradiction", "FieldValueForbidden")
    assert str(found) == (
        'spec.nodeSelector[kubernetes.io/hostname]: Forbidden: rules out node "node-1", which spec.nodeName asks for, '
        "so the pod could never run; keep one of the two"
    )


def test_what_else_a_pod_says_is_kept_and_by_name_another_hostname() -> None:
    said: dict[str, Any] = {"affinity": affinity({"matchExpressions": [FAST]}) | {"podAntiAffinity": {}}}
    said |= {"schedulerName": "kai", "schedulingGates": [{"name": "example.com/quota"}]}
    after = patched(pod(**said))["spec"]
    assert after == said | {"nodeSelector": {HOSTNAME: NODE}, "resourceClaims": CLAIMS}
    selector = {HOSTNAME: "ip-10-0-0-1"}
    assert patched(pod(nodeSelector=selector), BY_NAME)["spec"]["nodeSelector"] == selector


@each_row("options", BY_HOSTNAME, BY_NAME)
@each_row("terms", [{"matchFields": [ELSEWHERE]}], [{"matchFields": [NOT_HERE]}, {}], [{}, None], [{"matchFields": []}])
def test_affinity_that_can_never_match_the_node_is_refused(options: RewriteOptions, terms: list[object]) -> None:
    problem = refused(pod(affinity=affinity(*terms)), options)
    assert (problem.field, problem.reason) == (TERMS_FIELD, "FieldValueForbidden")


@each_row(("count", "is_refused"), (1000, False), (1001, True))
def test_a_pod_with_very_many_terms_is_refused_since_each_would_get_the_node_name(count: int, is_refused: bool) -> None:
    given_pod = pod(affinity=affinity(*[{"matchExpressions": [FAST]}] * count))
    assert rewritten(given_pod).patch  # by hostname, affinity stays as it is
    found = rewrite(given_pod, BY_NAME, user=TENANT)
    assert isinstance(found, Problem) is is_refused
    if isinstance(found, Problem):
        assert (found.field, "has more than 1000 terms" in found.message) == (TERMS_FIELD, True)


# By name


@each_row(
    ("existing", "op", "path", "value"),
    (..., "add", "/spec/affinity", affinity({"matchFields": [HERE]})),
    (None, "replace", "/spec/affinity", affinity({"matchFields": [HERE]})),
    ({"podAffinity": {}}, "add", "/spec/affinity/nodeAffinity", affinity({"matchFields": [HERE]})["nodeAffinity"]),
    *(
        ({"nodeAffinity": {key: each}}, op, REQUIRED, {"nodeSelectorTerms": [{"matchFields": [HERE]}]})
        for key, each, op in (
            ("preferredDuringSchedulingIgnoredDuringExecution", [], "add"),
            (REQUIRED_TERMS, None, "replace"),
        )
    ),
)
def test_missing_affinity_is_added_from_where_it_is_missing(
    existing: object, op: str, path: str, value: object
) -> None:
    assert rewritten(pod(affinity=existing), BY_NAME).patch == [REMOVED, {"op": op, "path": path, "value": value}]


@each_row(
    ("terms", "after"),
    ([{"matchFields": [HERE]}], [{"matchFields": [HERE]}]),
    (
        [{"matchExpressions": [FAST]}, {"matchFields": [NOT_THERE]}],
        [{"matchExpressions": [FAST], "matchFields": [HERE]}, {"matchFields": [NOT_THERE, HERE]}],
    ),
    (
        [{}, None, {"matchExpressions": [FAST], "matchFields": None}],
        [{}, None, {"matchExpressions": [FAST], "matchFields": [HERE]}],
    ),
    (
        [{"matchFields": [ELSEWHERE]}, {"matchFields": [HERE]}],
        [{"matchFields": [ELSEWHERE, HERE]}, {"matchFields": [HERE]}],
    ),
)
def test_every_term_gets_the_requirement_unless_it_says_the_same_or_is_empty(terms: list[Any], after: Any) -> None:
    given_pod = pod(affinity=affinity(*terms))
    assert patched(given_pod, BY_NAME)["spec"]["affinity"] == affinity(*after)
    changes = [one for one, other in zip(terms, after, strict=True) if one != other]
    assert len(rewritten(given_pod, BY_NAME).patch) == 1 + len(changes)


@each_row("options", BY_HOSTNAME, BY_NAME)
@each_row("terms", {}, {"nodeSelectorTerms": None}, {"nodeSelectorTerms": []})
def test_affinity_without_terms_is_left_to_the_api_server_which_refuses_it(
    options: RewriteOptions, terms: object
) -> None:
    assert rewrite_manifest(pod(affinity={"nodeAffinity": {REQUIRED_TERMS: terms}}), options) is None


def test_a_node_name_longer_than_a_label_value_is_selected_by_name() -> None:
    result = rewritten(pod(nodeName=LONG))
    assert result.patch == rewritten(pod(nodeName=LONG), BY_NAME).patch
    assert result.warnings[-1] == "spec.nodeName: longer than a label value may be, hence no nodeSelector"
    owned = pod(nodeName=LONG)
    owned["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "controller": True}]
    for result in (rewritten(pod(nodeName=LONG), BY_NAME), rewritten(owned)):  # by name anyway
        assert "nodeSelector" not in " ".join(result.warnings)
    node = "a" * 63
    assert patched(pod(nodeName=node))["spec"]["nodeSelector"] == {HOSTNAME: node}


# Which pods


@each_row("options", BY_HOSTNAME, BY_NAME, ALL)
@each_row("node", *(..., None, ""), "Node-1", "node_1", "node-1\n", "-", "n\u00f6de", "a" * 254, "\ud800")
def test_a_pod_without_the_name_of_a_node_is_left_alone(options: RewriteOptions, node: object) -> None:
    assert rewrite_manifest(pod(nodeName=node), options) is None


@each_row("options", BY_HOSTNAME, BY_NAME)
@each_row(
    ("fields", "is_left"),
    *(({name: "x"}, True) for name in ("affinity", "metadata", "nodeSelector", "resourceClaims")),
    ({"affinity": {"nodeAffinity": {REQUIRED_TERMS: {"nodeSelectorTerms": [1]}}}}, True),
    ({"metadata": {"ownerReferences": 1}}, True),
    ({"nodeSelector": {HOSTNAME: 1}}, True),
    ({"containers": "x"}, False),
    ({"ofNewerReleases": "x"}, False),
)
def test_a_pod_is_left_alone_if_the_api_server_cannot_decode_what_is_read(
    options: RewriteOptions, fields: dict[str, Any], is_left: bool
) -> None:
    given_pod = pod(**fields)
    template = of("Deployment", version="apps/v1", spec={"template": given_pod, "replicas": "x"})
    results = (
        rewrite(given_pod, options, user=TENANT),
        *(rewrite_manifest(each, options) for each in (given_pod, template)),
    )
    assert [each is None for each in results] == [is_left] * 3


@each_row("claims", ..., None, [])
def test_a_pod_without_claims_is_rewritten_only_on_request(claims: object) -> None:
    assert rewrite_manifest(pod(resourceClaims=claims), BY_HOSTNAME) is None
    assert rewritten(pod(resourceClaims=claims), ALL).warnings[0] == (
        "spec.nodeName: replaced by nodeSelector kubernetes.io/hostname, so that the scheduler places the pod"
    )


@each_row(
    "metadata",
    {"annotations": {"kubernetes.io/config.mirror": ""}},
    {"annotations": {"kubernetes.io/config.source": "file"}},
    {"annotations": {"kubernetes.io/config.source": "http"}},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": "1", "controller": True}]},
)
def test_what_a_pod_says_of_itself_counts_in_a_manifest_and_not_at_admission(metadata: object) -> None:
    mine = pod(metadata=metadata)
    assert rewrite_manifest(mine, ALL) is None
    for options in (ALL, BY_HOSTNAME, BY_NAME):
        for user in (TENANT, None, {"username": "system:serviceaccount:a:b", "groups": ["system:serviceaccounts"]}):
            assert rewrite(mine, options, user=user) == rewrite(pod(), options, user=user)
            assert rewrite(mine, options, user=user)
    assert rewrite(mine, ALL, user=KUBELET) is None
    of_workload = of("Deployment", version="apps/v1", spec={"template": mine})
    assert isinstance(rewrite_manifest(of_workload, BY_HOSTNAME), Rewrite)


@each_row(
    "metadata",
    {"annotations": {"kubernetes.io/config.source": "api"}},
    {"annotations": None, "ownerReferences": None},
    {"ownerReferences": [{"apiVersion": "longhorn.io/v1beta2", "kind": "Node", "name": NODE, "uid": "1"}]},
    {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "1"}]},
    {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "uid": "1", "controller": True}]},
)
def test_other_annotations_and_owners_make_no_difference(metadata: object) -> None:
    assert rewritten(pod(metadata=metadata)).patch == rewritten(pod()).patch


@each_row(
    "user",
    *(None, {}, TENANT),
    {"username": "admin", "groups": ["system:masters"]},
    {"username": "admin", "groups": None},
    {"username": "system:nodeport"},
    {"username": "system:node:node-1"},
    {"username": "system:node:node-1", "groups": ["system:authenticated", "system:nodes:x"]},
    {"username": "system:node:node-1", "groups": "system:nodes"},
    {"username": ["system:node:node-1"], "groups": ["system:nodes"]},
    *(
        {"username": f"system:node:{node}", "groups": ["system:nodes"]}
        for node in ("", "node-2", "node-1.example.com", "NODE-1", "node-1 ")
    ),
    *({"username": name, "groups": ["system:nodes"]} for name in ("kubelet", "x:system:node:node-1")),
    {"username": "system:serviceaccount:a:b", "extra": {"authentication.kubernetes.io/node-name": ["node-1"]}},
)
def test_pods_created_by_anybody_else_are_rewritten(user: object) -> None:
    assert rewrite(pod(), BY_HOSTNAME, user=user) == rewritten(pod())


def test_a_pod_of_a_daemon_set_is_selected_by_name_so_that_its_controller_knows_it_again() -> None:
    owners = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "1", "controller": True}]
    metadata = {"name": "d-x", "ownerReferences": owners}
    assert patched(pod(metadata=metadata))["spec"]["affinity"] == affinity({"matchFields": [HERE]})
    assert rewritten(pod(metadata=metadata, affinity=affinity({"matchFields": [HERE]}))).patch == [REMOVED]


# Templates


def workload(version: str, kind: str, at: tuple[str, ...], template: object) -> dict[str, Any]:
    for step in reversed(at):
        template = {step: template}
    assert isinstance(template, dict)
    return of(kind, version=version, **template)


@each_row(
    ("version", "kind", "at"),
    ("v1", "PodTemplate", ("template",)),
    ("batch/v1", "CronJob", ("spec", "jobTemplate", "spec", "template")),
    ("batch/v1", "Job", ("spec", "template")),
    ("v1", "ReplicationController", ("spec", "template")),
    *(("apps/v1", kind, ("spec", "template")) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
)
def test_pod_templates_are_rewritten_in_place_and_findings_have_the_whole_path(
    version: str, kind: str, at: tuple[str, ...]
) -> None:
    obj = workload(version, kind, at, {"metadata": {}, "spec": pod()["spec"]})
    assert pod_template(obj) == at
    for options in (BY_HOSTNAME, BY_NAME):
        wanted = workload(version, kind, at, {"metadata": {}, "spec": patched(pod(), options)["spec"]})
        assert patched(obj, options) == wanted
    where = ".".join((*at, "spec"))
    problem = refused(workload(version, kind, at, pod(nodeSelector={HOSTNAME: "node-2"})))
    assert problem.field == f"{where}.nodeSelector[kubernetes.io/hostname]"
    assert f"which {where}.nodeName asks for" in problem.message
    assert rewritten(obj).warnings[0].startswith(f"{where}.nodeName: replaced by ")


@each_row(
    "obj",
    *(None, [], {}, "Pod", {"kind": "Pod"}, {"apiVersion": "v1", "kind": ["Pod"]}, {"apiVersion": 1, "kind": "Pod"}),
    *(of("Service"), of("Deployment"), of("Deployment", version="example.com/v1")),
    *(of("Job", version="batch.volcano.sh/v1alpha1"), of("ResourceClaimTemplate", version="resource.k8s.io/v1")),
)
def test_other_objects_have_no_pod_template_and_are_left_alone(obj: Any) -> None:
    assert pod_template(obj) is None
    full = {**obj, "spec": {"template": pod(), **pod()["spec"]}} if isinstance(obj, dict) else obj
    assert rewrite_manifest(full, ALL) is None


@each_row("fields", {}, *({"spec": spec} for spec in (None, {}, {"template": None}, {"template": {"spec": None}})))
def test_a_workload_without_template_is_left_alone(fields: Any) -> None:
    assert rewrite_manifest(of("Deployment", version="apps/v1", **fields), ALL) is None


# What is reported


@each_row("node", NODE, "a" * 63, LONG, "b." * 126 + "c")
@each_row("by", "hostname", "name")
@each_row("claims", [], CLAIMS)
def test_warnings_keep_to_the_limits_of_client_go(
    node: str, by: Literal["hostname", "name"], claims: list[object]
) -> None:
    warnings = rewritten(pod(nodeName=node, resourceClaims=claims), RewriteOptions(by, "all")).warnings
    assert len(warnings) == (3 if len(node) > 63 and by == "hostname" else 2)
    assert all(warning.isascii() and len(warning) <= 120 for warning in warnings)


def test_a_warning_explains_the_change_to_the_user_and_a_note_is_made_in_the_audit_log() -> None:
    so_that = "so that the scheduler allocates resource claims"
    taints = "spec.nodeName: NoSchedule taints of the node then apply"
    assert rewritten(pod()).warnings == (
        f"spec.nodeName: replaced by nodeSelector kubernetes.io/hostname, {so_that}",
        f"{taints}; its label kubernetes.io/hostname must equal its name",
    )
    by_name = f"spec.nodeName: replaced by node affinity metadata.name, {so_that}"
    assert rewritten(pod(), BY_NAME).warnings == (by_name, taints)
    assert rewritten(pod()).annotations == {"prescheduled": "node-1 -> nodeSelector kubernetes.io/hostname"}
    assert rewritten(pod(nodeName=LONG)).annotations == {"prescheduled": f"{LONG} -> node affinity metadata.name"}


# A pod as an API server sends it


@each_row("options", BY_HOSTNAME, BY_NAME, ALL)
def test_a_recorded_pod_changes_nowhere_else(options: RewriteOptions) -> None:
    expected, before = copy.deepcopy(RECORDED), copy.deepcopy(RECORDED)
    after = patched(RECORDED, options)
    more = {"affinity": affinity({"matchFields": [HERE]})} if options is BY_NAME else {"nodeSelector": {HOSTNAME: NODE}}
    assert before == RECORDED
    del expected["spec"]["nodeName"]
    expected["spec"] |= more
    assert after == expected
    assert rewrite_manifest(after, options) is None
    after["spec"]["nodeName"] = NODE  # which another webhook puts back
    assert rewritten(after, options).patch == [REMOVED]


# Never an exception

MORE = [NODE, "metadata.name", math.nan, *INFINITE]
JSON = seeded(lambda dice: value(dice, more=MORE))
OPTIONS = st.builds(RewriteOptions, st.sampled_from(["hostname", "name"]), st.sampled_from(["claims", "all"]))
FULL = {
    **RECORDED,
    "metadata": {
        "annotations": {"kubernetes.io/config.source": "api"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "controller": False}],
    },
    "spec": {
        "nodeName": NODE,
        "resourceClaims": [{"name": "gpu"}],
        "nodeSelector": {HOSTNAME: NODE},
        "affinity": affinity(
            {"matchExpressions": [FAST], "matchFields": [HERE, NOT_THERE]}, {"matchFields": [ELSEWHERE]}
        ),
    },
}


@given(mutilated(FULL, MORE) | JSON, OPTIONS, JSON)
def test_no_json_value_anywhere_raises_and_what_is_patched_can_be_applied(
    obj: Any, options: RewriteOptions, user: object
) -> None:
    template = of("Deployment", version="apps/v1", spec={"template": obj})
    results = rewrite(obj, options, user=user), rewrite_manifest(obj, options), rewrite_manifest(template, options)
    for before, result in zip((obj, obj, template), results, strict=True):
        if isinstance(result, Rewrite):
            assert rewrite_manifest(applied(before, result), options) is None


# Where a rewritten pod can land: a small scheduler (component-helpers, scheduling/corev1/nodeaffinity)


class Node(NamedTuple):
    name: str
    labels: dict[str, str]


def meets(requirement: dict[str, Any], values: dict[str, str]) -> bool:
    value, wanted = values.get(requirement["key"]), requirement.get("values", [])
    met = {"In": value in wanted, "NotIn": value not in wanted, "Exists": value is not None}
    return met.get(requirement["operator"], value is None)


def matches_term(term: dict[str, Any] | None, node: Node) -> bool:
    expressions, fields = (term or {}).get("matchExpressions") or [], (term or {}).get("matchFields") or []
    return bool(expressions or fields) and all(
        meets(requirement, values)
        for requirements, values in ((expressions, node.labels), (fields, {"metadata.name": node.name}))
        for requirement in requirements
    )


def matches(spec: dict[str, Any], node: Node) -> bool:
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED_TERMS)
    return all(node.labels.get(key) == value for key, value in (spec.get("nodeSelector") or {}).items()) and (
        required is None or any(matches_term(term, node) for term in required["nodeSelectorTerms"])
    )


def requirements(key: str, values: st.SearchStrategy[list[str]]) -> st.SearchStrategy[dict[str, Any]]:
    operators = st.sampled_from(["In", "NotIn"])
    return st.fixed_dictionaries({"key": st.just(key), "operator": operators, "values": values})


NAMES = st.sampled_from([NODE, "node-2", LONG])
EXPRESSIONS = (
    requirements("disk", st.just(["ssd"]))
    | st.sampled_from(["Exists", "DoesNotExist"]).map(lambda operator: {"key": "disk", "operator": operator})
    | requirements(HOSTNAME, st.lists(NAMES, min_size=1))
)
FIELDS = requirements("metadata.name", NAMES.map(lambda name: [name]))
TERMS = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "matchExpressions": st.none() | st.lists(EXPRESSIONS, max_size=2),
        "matchFields": st.none() | st.lists(FIELDS, max_size=2),
    },
)
AFFINITIES: st.SearchStrategy[object] = (
    st.none() | st.just({}) | st.lists(TERMS, min_size=1, max_size=3).map(lambda terms: affinity(*terms))
)
SELECTORS: st.SearchStrategy[object] = st.none() | st.dictionaries(
    st.sampled_from(["disk", HOSTNAME]), NAMES | st.just("ssd"), max_size=2
)
LABELS = st.fixed_dictionaries({HOSTNAME: NAMES}, optional={"disk": st.sampled_from(["ssd", "hdd"])})


def check(spec: dict[str, Any], options: RewriteOptions, node: Node) -> None:
    result = rewrite_manifest(pod(**spec), options)
    assert result is not None
    named = node.name == spec["nodeName"]
    if isinstance(result, Problem):
        assert not (named and matches(spec, node))
    else:
        assert matches(applied(pod(**spec), result)["spec"], node) == (named and matches(spec, node))


@given(NAMES, SELECTORS, AFFINITIES, NAMES, LABELS)
def test_a_pod_lands_on_the_named_node_or_nowhere_and_by_name_whatever_the_labels_of_nodes_are(
    name: str, selector: object, existing: object, node: str, labels: dict[str, str]
) -> None:
    spec = {"nodeName": name, "nodeSelector": selector, "affinity": existing}
    check(spec, BY_HOSTNAME, Node(node, {**labels, HOSTNAME: node}))
    check(spec, BY_NAME, Node(node, labels))


@each_row(
    ("sources", "what"),
    ([{"resourceClaimName": "c"}], "only run if its claims are allocated already"),
    ([{"source": {"resourceClaimName": "c"}}], "only run if its claims are allocated already"),
    ([{"resourceClaimTemplateName": "t"}], "never run"),
    ([{"resourceClaimName": "c"}, {"resourceClaimTemplateName": "t"}], "never run"),
)
def test_claims_that_are_allocated_can_be_reserved(sources: list[dict[str, Any]], what: str) -> None:
    claims = [{"name": f"c{index}", **each} for index, each in enumerate(sources)]
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": NODE, "resourceClaims": claims}}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": pod["spec"]}}}
    for obj in (pod, deployment):
        (warning,) = never_runs(obj)
        assert warning.message.endswith(f"so the pod can {what}")
