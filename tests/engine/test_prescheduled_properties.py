"""Pre-scheduled pods: no pod makes it raise, and a rewritten pod can land only on the named node."""

import math
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.engine.pods import (
    BY_HOSTNAME,
    BY_NAME,
    ELSEWHERE,
    FAST,
    HERE,
    HOSTNAME,
    LONG,
    NODE,
    NOT_THERE,
    RECORDED,
    affinity,
    applied,
    pod,
)
from tests.objects import INFINITE, mutilated, seeded, value
from webhook.engine.prescheduled import Rewrite, RewriteOptions, rewrite, rewrite_manifest
from webhook.problem import Problem

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
    match requirement["operator"]:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case _:
            return value is None


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
def test_a_pod_selected_by_hostname_lands_on_the_named_node_or_nowhere(
    name: str, selector: object, existing: object, node: str, labels: dict[str, str]
) -> None:
    spec = {"nodeName": name, "nodeSelector": selector, "affinity": existing}
    check(spec, BY_HOSTNAME, Node(node, {**labels, HOSTNAME: node}))


@given(NAMES, SELECTORS, AFFINITIES, NAMES, LABELS)
def test_a_pod_selected_by_name_lands_on_the_named_node_or_nowhere_whatever_its_labels_are(
    name: str, selector: object, existing: object, node: str, labels: dict[str, str]
) -> None:
    check({"nodeName": name, "nodeSelector": selector, "affinity": existing}, BY_NAME, Node(node, labels))
