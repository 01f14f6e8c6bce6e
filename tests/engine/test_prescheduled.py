"""Pre-scheduled pods, case by case."""

import copy
import json
import math
from typing import Any, Literal, NamedTuple

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from tests.objects import INFINITE, mutilated, seeded, value
from tests.reviews import recorded
from tests.rows import each_row
from webhook.api.templates import pod_template
from webhook.engine.prescheduled import Rewrite, RewriteOptions, rewrite, rewrite_manifest
from webhook.problem import Problem

HOSTNAME = "kubernetes.io/hostname"
NODE = "node-1"
LONG = "a" * 60 + ".example.com"
BY_HOSTNAME = RewriteOptions()
BY_NAME = RewriteOptions(select_node_by="name")
HERE = {"key": "metadata.name", "operator": "In", "values": [NODE]}
ELSEWHERE = {"key": "metadata.name", "operator": "In", "values": ["node-2"]}
NOT_THERE = {"key": "metadata.name", "operator": "NotIn", "values": ["node-2"]}
FAST = {"key": "disk", "operator": "In", "values": ["ssd"]}

RECORDED: dict[str, Any] = next(
    each.review["request"]["object"]
    for each in recorded()
    if each.review["request"]["name"] == "prescheduled" and each.endpoint == "mutate"
)


def pod(*, metadata: object = None, **spec: object) -> dict[str, Any]:
    """A small pod that names its node and uses a claim; a field given as ``...`` is left out."""
    fields = {"nodeName": NODE, "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}], **spec}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"} if metadata is None else metadata,
        "spec": {name: value for name, value in fields.items() if value is not ...},
    }


def affinity(*terms: object) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def applied(obj: dict[str, Any], change: Rewrite) -> dict[str, Any]:
    result: dict[str, Any] = jsonpatch.apply_patch(obj, json.dumps(change.patch))
    return result


ALL = RewriteOptions(pods="all")
REQUIRED = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution"
NOT_HERE = {"key": "metadata.name", "operator": "NotIn", "values": [NODE]}
KUBELET = {"username": f"system:node:{NODE}", "groups": ["system:nodes", "system:authenticated"]}
TENANT = {"username": "jane", "groups": ["developers", "system:authenticated"]}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REMOVED = {"op": "remove", "path": "/spec/nodeName"}


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


def terms_after(*terms: object) -> list[Any]:
    node_affinity = patched(pod(affinity=affinity(*terms)), BY_NAME)["spec"]["affinity"]["nodeAffinity"]
    found: list[Any] = node_affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return found


# By hostname, the default


def test_node_name_becomes_a_node_selector() -> None:
    assert rewritten(pod()).patch == [REMOVED, {"op": "add", "path": "/spec/nodeSelector", "value": {HOSTNAME: NODE}}]
    assert patched(pod(nodeSelector=None))["spec"]["nodeSelector"] == {HOSTNAME: NODE}
    assert rewritten(pod(nodeSelector={HOSTNAME: NODE})).patch == [REMOVED]


@each_row("selector", {}, {"disk": "ssd"})
def test_an_existing_node_selector_gains_one_entry(selector: dict[str, str]) -> None:
    given_pod = pod(nodeSelector=selector)
    assert rewritten(given_pod).patch[1:] == [
        {"op": "add", "path": "/spec/nodeSelector/kubernetes.io~1hostname", "value": NODE}
    ]
    assert patched(given_pod)["spec"]["nodeSelector"] == {**selector, HOSTNAME: NODE}


@each_row("other", "node-2", "", None)
def test_a_node_selector_that_contradicts_is_refused(other: object) -> None:
    found = refused(pod(nodeSelector={HOSTNAME: other}))
    assert (found.level, found.rule, found.reason) == (
        "error",
        "prescheduled-contradiction",
        "FieldValueForbidden",
    )
    assert str(found) == (
        'spec.nodeSelector[kubernetes.io/hostname]: Forbidden: rules out node "node-1", which spec.nodeName asks for, '
        "so the pod could never run; keep one of the two"
    )


def test_existing_affinity_is_kept_and_by_name_another_hostname() -> None:
    given_pod = pod(affinity={**affinity({"matchExpressions": [FAST]}), "podAntiAffinity": {}})
    assert patched(given_pod)["spec"]["affinity"] == given_pod["spec"]["affinity"]
    selector = {HOSTNAME: "ip-10-0-0-1"}
    assert patched(pod(nodeSelector=selector), BY_NAME)["spec"]["nodeSelector"] == selector


@each_row("options", BY_HOSTNAME, BY_NAME)
@each_row("terms", [{"matchFields": [ELSEWHERE]}], [{"matchFields": [NOT_HERE]}, {}], [{}, None], [{"matchFields": []}])
def test_affinity_that_can_never_match_the_node_is_refused(options: RewriteOptions, terms: list[object]) -> None:
    problem = refused(pod(affinity=affinity(*terms)), options)
    assert problem.field == f"{REQUIRED[1:].replace('/', '.')}.nodeSelectorTerms"
    assert problem.reason == "FieldValueForbidden"


@each_row(("count", "is_refused"), (1000, False), (1001, True))
def test_a_pod_with_very_many_terms_is_refused_since_each_would_get_the_node_name(count: int, is_refused: bool) -> None:
    given_pod = pod(affinity=affinity(*[{"matchExpressions": [FAST]}] * count))
    assert rewritten(given_pod).patch  # by hostname, affinity stays as it is
    found = rewrite(given_pod, BY_NAME, user=TENANT)
    assert isinstance(found, Problem) is is_refused
    if isinstance(found, Problem):
        assert found.field == f"{REQUIRED[1:].replace('/', '.')}.nodeSelectorTerms"
        assert "has more than 1000 terms" in found.message


# By name


@each_row(
    ("existing", "path", "value"),
    (..., "/spec/affinity", affinity({"matchFields": [HERE]})),
    (None, "/spec/affinity", affinity({"matchFields": [HERE]})),
    ({"podAffinity": {}}, "/spec/affinity/nodeAffinity", affinity({"matchFields": [HERE]})["nodeAffinity"]),
    *(
        ({"nodeAffinity": {key: each}}, REQUIRED, {"nodeSelectorTerms": [{"matchFields": [HERE]}]})
        for key, each in ((PREFERRED, []), (REQUIRED.rpartition("/")[2], None))
    ),
)
def test_missing_affinity_is_added_from_where_it_is_missing(existing: object, path: str, value: object) -> None:
    assert rewritten(pod(affinity=existing), BY_NAME).patch == [REMOVED, {"op": "add", "path": path, "value": value}]


def test_every_term_gets_the_requirement_since_terms_are_ored() -> None:
    given_pod = pod(affinity=affinity({"matchExpressions": [FAST]}, {"matchFields": [NOT_THERE]}))
    assert rewritten(given_pod, BY_NAME).patch[1:] == [
        {"op": "add", "path": f"{REQUIRED}/nodeSelectorTerms/0/matchFields", "value": [HERE]},
        {"op": "add", "path": f"{REQUIRED}/nodeSelectorTerms/1/matchFields/-", "value": HERE},
    ]
    assert terms_after({"matchExpressions": [FAST]}, {"matchFields": [NOT_THERE]}) == [
        {"matchExpressions": [FAST], "matchFields": [HERE]},
        {"matchFields": [NOT_THERE, HERE]},
    ]


def test_a_term_is_added_to_unless_it_says_the_same_or_is_empty() -> None:
    assert rewritten(pod(affinity=affinity({"matchFields": [HERE]})), BY_NAME).patch == [REMOVED]
    assert terms_after({}, None, {"matchExpressions": [FAST], "matchFields": None}) == [
        {},
        None,
        {"matchExpressions": [FAST], "matchFields": [HERE]},
    ]
    assert terms_after({"matchFields": [ELSEWHERE]}, {"matchFields": [HERE]}) == [
        {"matchFields": [ELSEWHERE, HERE]},
        {"matchFields": [HERE]},
    ]


@each_row("options", BY_HOSTNAME, BY_NAME)
@each_row("terms", {}, {"nodeSelectorTerms": None}, {"nodeSelectorTerms": []})
def test_affinity_without_terms_is_left_to_the_api_server_which_refuses_it(
    options: RewriteOptions, terms: object
) -> None:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    assert rewrite_manifest(pod(affinity={"nodeAffinity": required}), options) is None


def test_a_node_name_longer_than_a_label_value_is_selected_by_name() -> None:
    result = rewritten(pod(nodeName=LONG))
    assert result.patch == rewritten(pod(nodeName=LONG), BY_NAME).patch
    assert result.warnings[-1] == "spec.nodeName: longer than a label value may be, hence no nodeSelector"
    node = "a" * 63
    assert patched(pod(nodeName=node))["spec"]["nodeSelector"] == {HOSTNAME: node}


# Which pods


@each_row("options", BY_HOSTNAME, BY_NAME, ALL)
@each_row("node", ..., None, "")
def test_a_pod_without_node_name_is_left_alone(options: RewriteOptions, node: object) -> None:
    assert rewrite_manifest(pod(nodeName=node), options) is None


@each_row("claims", ..., None, [])
def test_a_pod_without_claims_is_rewritten_only_on_request(claims: object) -> None:
    assert rewrite_manifest(pod(resourceClaims=claims), BY_HOSTNAME) is None
    assert rewritten(pod(resourceClaims=claims), ALL).warnings[0] == (
        "spec.nodeName: replaced by nodeSelector kubernetes.io/hostname, so that the scheduler places the pod"
    )


@each_row("node", "Node-1", "node_1", "node-1\n", "-", "n\u00f6de", "a" * 254, "\ud800")
def test_a_node_name_that_no_node_can_have_is_left_to_the_api_server(node: str) -> None:
    assert rewrite_manifest(pod(nodeName=node), BY_HOSTNAME) is None


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
    of_workload = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": mine}}
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
    None,
    {},
    TENANT,
    {"username": "admin", "groups": ["system:masters"]},
    {"username": "admin", "groups": None},
    {"username": "system:nodeport"},
    {"username": "system:node:node-1"},
    {"username": "system:node:node-1", "groups": ["system:authenticated", "system:nodes:x"]},
    {"username": "system:node:node-1", "groups": "system:nodes"},
    {"username": "kubelet", "groups": ["system:nodes"]},
    {"username": "system:node:", "groups": ["system:nodes"]},
    {"username": "system:node:node-2", "groups": ["system:nodes"]},
    {"username": "system:node:node-1.example.com", "groups": ["system:nodes"]},
    {"username": "system:node:NODE-1", "groups": ["system:nodes"]},
    {"username": "system:node:node-1 ", "groups": ["system:nodes"]},
    {"username": "x:system:node:node-1", "groups": ["system:nodes"]},
    {"username": ["system:node:node-1"], "groups": ["system:nodes"]},
    {"username": "system:serviceaccount:a:b", "extra": {"authentication.kubernetes.io/node-name": ["node-1"]}},
)
def test_pods_created_by_anybody_else_are_rewritten(user: object) -> None:
    assert rewrite(pod(), BY_HOSTNAME, user=user) == rewritten(pod())


def test_a_pod_of_a_daemon_set_is_selected_by_name_so_that_its_controller_knows_it_again() -> None:
    owners = [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "1", "controller": True}]
    metadata = {"name": "d-x", "ownerReferences": owners}
    assert patched(pod(metadata=metadata))["spec"]["affinity"] == affinity({"matchFields": [HERE]})
    assert rewritten(pod(metadata=metadata, affinity=affinity({"matchFields": [HERE]}))).patch == [REMOVED]


def test_gates_and_scheduler_of_a_pod_are_kept() -> None:
    gates = [{"name": "example.com/quota"}]
    spec = patched(pod(schedulingGates=gates))["spec"]
    assert spec["schedulingGates"] == gates
    assert "nodeName" not in spec
    assert patched(pod(schedulerName="kai"))["spec"]["schedulerName"] == "kai"


# Templates


TEMPLATES = [
    ("v1", "PodTemplate", ("template",)),
    ("batch/v1", "CronJob", ("spec", "jobTemplate", "spec", "template")),
    ("batch/v1", "Job", ("spec", "template")),
    ("v1", "ReplicationController", ("spec", "template")),
    *(("apps/v1", kind, ("spec", "template")) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
]


def workload(version: str, kind: str, at: tuple[str, ...], template: object) -> dict[str, Any]:
    for step in reversed(at):
        template = {step: template}
    assert isinstance(template, dict)
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "w"}, **template}


@each_row(("version", "kind", "at"), *TEMPLATES)
@each_row("options", BY_HOSTNAME, BY_NAME)
def test_pod_templates_are_rewritten_in_place(
    version: str, kind: str, at: tuple[str, ...], options: RewriteOptions
) -> None:
    template = {"metadata": {}, "spec": pod()["spec"]}
    obj = workload(version, kind, at, template)
    assert pod_template(obj) == at
    assert patched(obj, options) == workload(
        version, kind, at, {"metadata": {}, "spec": patched(pod(), options)["spec"]}
    )


@each_row(("version", "kind", "at"), *TEMPLATES)
def test_findings_and_warnings_in_templates_carry_the_whole_path(version: str, kind: str, at: tuple[str, ...]) -> None:
    where = ".".join((*at, "spec"))
    problem = refused(workload(version, kind, at, pod(nodeSelector={HOSTNAME: "node-2"})))
    assert problem.field == f"{where}.nodeSelector[kubernetes.io/hostname]"
    assert f"which {where}.nodeName asks for" in problem.message
    assert rewritten(workload(version, kind, at, pod())).warnings[0].startswith(f"{where}.nodeName: replaced by ")


@each_row(
    "obj",
    {"apiVersion": "v1", "kind": "Service"},
    {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"},
    {"apiVersion": "v1", "kind": "Deployment"},
    {"apiVersion": "v1", "kind": ["Pod"]},
    {"kind": "Pod"},
    "Pod",
)
def test_other_objects_have_no_pod_template_and_are_left_alone(obj: Any) -> None:
    assert pod_template(obj) is None
    assert (
        rewrite_manifest({**obj, "spec": {"template": pod(), **pod()["spec"]}} if isinstance(obj, dict) else obj, ALL)
        is None
    )


@each_row("spec", ..., None, {}, {"template": None}, {"template": {"spec": None}})
def test_a_workload_without_template_is_left_alone(spec: object) -> None:
    obj = {"apiVersion": "apps/v1", "kind": "Deployment"} | ({} if spec is ... else {"spec": spec})
    assert rewrite_manifest(obj, ALL) is None


# What is reported


@each_row("node", NODE, "a" * 63, LONG, "b." * 126 + "c")
@each_row("by", "hostname", "name")
@each_row("claims", [], [{"name": "gpu", "resourceClaimName": "gpu"}])
def test_warnings_keep_to_the_limits_of_client_go(
    node: str, by: Literal["hostname", "name"], claims: list[object]
) -> None:
    warnings = rewritten(pod(nodeName=node, resourceClaims=claims), RewriteOptions(by, "all")).warnings
    assert len(warnings) == (3 if len(node) > 63 else 2)
    assert all(warning.isascii() and len(warning) <= 120 for warning in warnings)


def test_a_warning_explains_the_change_to_the_user_and_a_note_is_made_in_the_audit_log() -> None:
    replaced_by, now = rewritten(pod()).warnings
    assert replaced_by == (
        "spec.nodeName: replaced by nodeSelector kubernetes.io/hostname, "
        "so that the scheduler allocates resource claims"
    )
    assert now == (
        "spec.nodeName: NoSchedule taints of the node then apply; its label kubernetes.io/hostname must equal its name"
    )
    assert rewritten(pod(), BY_NAME).warnings == (
        "spec.nodeName: replaced by node affinity metadata.name, so that the scheduler allocates resource claims",
        "spec.nodeName: NoSchedule taints of the node then apply",
    )
    assert rewritten(pod()).annotations == {"prescheduled": "node-1 -> nodeSelector kubernetes.io/hostname"}
    assert rewritten(pod(nodeName=LONG)).annotations == {"prescheduled": f"{LONG} -> node affinity metadata.name"}


# A pod as an API server sends it


@each_row("options", BY_HOSTNAME, BY_NAME, ALL)
def test_a_recorded_pod_changes_nowhere_else(options: RewriteOptions) -> None:
    before = copy.deepcopy(RECORDED)
    after = patched(RECORDED, options)
    more = {"affinity": affinity({"matchFields": [HERE]})} if options is BY_NAME else {"nodeSelector": {HOSTNAME: NODE}}
    assert before == RECORDED
    expected = copy.deepcopy(RECORDED)
    del expected["spec"]["nodeName"]
    expected["spec"].update(more)
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


@given(JSON, OPTIONS, JSON)
def test_no_json_value_raises(value: object, options: RewriteOptions, user: object) -> None:
    rewrite(value, options, user=user)
    rewrite_manifest(value, options)
    rewrite_manifest({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": value}}, options)


@given(mutilated(FULL, MORE) | JSON, OPTIONS, st.sampled_from(["pod", "template"]))
def test_no_json_value_anywhere_in_a_pod_raises_and_what_is_patched_can_be_applied(
    obj: Any, options: RewriteOptions, what: str
) -> None:
    if what == "template":
        obj = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": obj}}
    for result in (rewrite_manifest(obj, options), None if what == "template" else rewrite(obj, options, user=None)):
        if isinstance(result, Rewrite):
            assert rewrite_manifest(applied(obj, result), options) is None


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
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return all(node.labels.get(key) == value for key, value in (spec.get("nodeSelector") or {}).items()) and (
        required is None or any(matches_term(term, node) for term in required["nodeSelectorTerms"])
    )


NAMES = st.sampled_from([NODE, "node-2", LONG])
EXPRESSIONS = st.one_of(
    st.fixed_dictionaries(
        {"key": st.just("disk"), "operator": st.sampled_from(["In", "NotIn"]), "values": st.just(["ssd"])}
    ),
    st.fixed_dictionaries({"key": st.just("disk"), "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
    st.fixed_dictionaries(
        {"key": st.just(HOSTNAME), "operator": st.sampled_from(["In", "NotIn"]), "values": st.lists(NAMES, min_size=1)}
    ),
)
FIELDS = st.fixed_dictionaries(
    {
        "key": st.just("metadata.name"),
        "operator": st.sampled_from(["In", "NotIn"]),
        "values": NAMES.map(lambda name: [name]),
    }
)
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
