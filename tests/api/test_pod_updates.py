"""Updates of pods: fields that may change, and differences that are not changes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows import each_row
from webhook import Problem, validate

MANIFEST: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {
        "serviceAccountName": "trainer",
        "automountServiceAccountToken": False,
        "hostNetwork": True,
        "containers": [
            {
                "name": "train",
                "image": "trainer",
                "ports": [{"containerPort": 8080}],
                "env": [
                    {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                    {
                        "name": "CPUS",
                        "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "train"}},
                    },
                ],
                "resources": {"limits": {"cpu": "2000m", "memory": "1024Mi"}, "claims": [{"name": "gpu"}]},
                "resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}],
                "livenessProbe": {"httpGet": {"port": 8080}},
                "readinessProbe": {"grpc": {"port": 8081}},
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            }
        ],
        "initContainers": [{"name": "fetch", "image": "registry:5000/fetcher:1"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "shared-gpu"}],
        "volumes": [
            {"name": "scratch", "emptyDir": {"sizeLimit": "0.5Gi"}},
            {"name": "nothing"},
            {"name": "files", "configMap": {"name": "files"}},
            {"name": "host", "hostPath": {"path": "/dev"}},
            {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}},
            {
                "name": "disk",
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
                    }
                },
            },
        ],
    },
}
PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
STORED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "train", "namespace": "default", "uid": "1", "resourceVersion": "7", "generation": 1},
    "spec": {
        "serviceAccountName": "trainer",
        "serviceAccount": "trainer",
        "automountServiceAccountToken": False,
        "hostNetwork": True,
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "enableServiceLinks": True,
        "tolerations": [
            {
                "key": f"node.kubernetes.io/{state}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for state in ("not-ready", "unreachable")
        ],
        "containers": [
            {
                **CONTAINER,
                "name": "train",
                "image": "trainer",
                "imagePullPolicy": "Always",
                "ports": [{"containerPort": 8080, "hostPort": 8080, "protocol": "TCP"}],
                "env": [
                    {"name": "NODE", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}},
                    {
                        "name": "CPUS",
                        "valueFrom": {
                            "resourceFieldRef": {"resource": "limits.cpu", "containerName": "train", "divisor": "0"}
                        },
                    },
                ],
                "resources": {
                    "limits": {"cpu": "2", "memory": "1Gi"},
                    "requests": {"cpu": "2", "memory": "1Gi"},
                    "claims": [{"name": "gpu"}],
                },
                "resizePolicy": [
                    {"resourceName": "memory", "restartPolicy": "RestartContainer"},
                    {"resourceName": "cpu", "restartPolicy": "NotRequired"},
                ],
                "livenessProbe": {**PROBE, "httpGet": {"path": "/", "port": 8080, "scheme": "HTTP"}},
                "readinessProbe": {**PROBE, "grpc": {"port": 8081, "service": ""}},
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
            }
        ],
        "initContainers": [
            {
                **CONTAINER,
                "name": "fetch",
                "image": "registry:5000/fetcher:1",
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
            }
        ],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "shared-gpu"}],
        "volumes": [
            {"name": "scratch", "emptyDir": {"sizeLimit": "512Mi"}},
            {"name": "nothing", "emptyDir": {}},
            {"name": "files", "configMap": {"name": "files", "defaultMode": 420}},
            {"name": "host", "hostPath": {"path": "/dev", "type": ""}},
            {
                "name": "token",
                "projected": {
                    "defaultMode": 420,
                    "sources": [{"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}],
                },
            },
            {
                "name": "disk",
                "ephemeral": {
                    "volumeClaimTemplate": {
                        "metadata": {"creationTimestamp": None},
                        "spec": {
                            "accessModes": ["ReadWriteOnce"],
                            "resources": {"requests": {"storage": "1Gi"}},
                            "volumeMode": "Filesystem",
                        },
                    }
                },
            },
        ],
    },
    "status": {"phase": "Pending", "qosClass": "Guaranteed"},
}
GATED = copy.deepcopy(STORED)
GATED["spec"]["schedulingGates"] = [{"name": "example.com/quota"}, {"name": "example.com/queue"}]
GATED["spec"]["nodeSelector"] = {"disk": "ssd"}
NOT_UPDATABLE = (
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
TERMS = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
NODES = {"key": "zone", "operator": "In", "values": ["a"]}
NODE = {"key": "metadata.name", "operator": "In", "values": ["node-1"]}
MORE_NODES = {"key": "disk", "operator": "Exists"}


def node_affinity(*terms: dict[str, Any], **more: Any) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {**more, "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def changed(pod: dict[str, Any], *changes: tuple[str, Any]) -> dict[str, Any]:
    """Copy an object with other values at dotted paths; ``...`` removes a field."""
    result = copy.deepcopy(pod)
    for path, value in changes:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        holder: Any = result
        for step in steps:
            holder = holder[step]
        if value is ...:
            del holder[last]
        else:
            holder[last] = value
    return result


def said(problems: list[Problem]) -> list[str]:
    return [str(problem) for problem in problems]


def test_a_manifest_with_all_that_admission_added_is_not_a_change_of_the_stored_pod() -> None:
    assert validate(MANIFEST, STORED) == []
    assert validate(STORED, STORED) == []


def test_what_admission_added_is_missed_if_an_update_leaves_it_out() -> None:
    added = changed(STORED, ("spec.serviceAccountName", "default"), ("spec.serviceAccount", "default"))
    problems = validate(changed(MANIFEST, ("spec.serviceAccountName", ...)), added)

    assert said(problems) == [NOT_UPDATABLE]
    assert [problem.hint for problem in problems] == ["changed: serviceAccountName"]


@each_row(
    ("path", "value"),
    [
        ("metadata.labels", {"app": "train"}),
        ("metadata.annotations", {"app": "train"}),
        ("status", {}),
        ("spec.containers.0.image", "trainer:2"),
        ("spec.initContainers.0.image", "fetcher:2"),
        ("spec.activeDeadlineSeconds", 60),
        ("spec.tolerations.0.tolerationSeconds", 10),
        ("spec.tolerations", [*STORED["spec"]["tolerations"], {"key": "gpu", "operator": "Exists"}]),
        ("spec.hostPID", False),
        ("spec.hostname", ""),
        ("spec.serviceAccountName", ""),
        ("spec.imagePullSecrets", []),
        ("spec.nodeSelector", {}),
        ("spec.priority", ...),
        ("spec.containers.0.resources.limits.memory", "1073741824"),
        ("spec.containers.0.resources.requests.cpu", 2),
        ("spec.containers.0.resources.requests", ...),
        ("spec.containers.0.stdin", False),
        ("spec.containers.0.command", None),
    ],
)
def test_what_may_change_or_is_not_a_change(path: str, value: Any) -> None:
    assert validate(changed(STORED, (path, value)), STORED) == []


@each_row(
    ("path", "value", "hint"),
    [
        ("spec.resourceClaims.0.resourceClaimName", "other-gpu", "resourceClaims"),
        ("spec.containers.0.resources.claims.0.request", "a", "containers[0].resources"),
        ("spec.containers.0.resources.limits.memory", "2Gi", "containers[0].resources"),
        ("spec.containers.0.env.0.name", "NODE_NAME", "containers[0].env"),
        ("spec.containers.0.securityContext", {}, "containers[0].securityContext"),
        ("spec.containers.0.resizePolicy", [], "containers[0].resizePolicy"),
        ("spec.initContainers.0.restartPolicy", "Always", "initContainers[0].restartPolicy"),
        ("spec.automountServiceAccountToken", ..., "automountServiceAccountToken"),
        ("spec.enableServiceLinks", False, "enableServiceLinks"),
        ("spec.terminationGracePeriodSeconds", 0, "terminationGracePeriodSeconds"),
        ("spec.nodeName", "node-1", "nodeName"),
        ("spec.nodeSelector", {"disk": "ssd"}, "nodeSelector"),
        ("spec.affinity", node_affinity({"matchExpressions": [NODES]}), "affinity"),
        ("spec.priority", 10, "priority"),
        ("spec.hostUsers", False, "hostUsers"),
        ("spec.volumes.2.configMap.defaultMode", 0, "volumes"),
    ],
)
def test_what_may_not_change(path: str, value: Any, hint: str) -> None:
    problems = validate(changed(STORED, (path, value)), STORED)

    assert said(problems) == [NOT_UPDATABLE]
    assert [problem.hint for problem in problems] == [f"changed: {hint}"]


@each_row(
    ("image", "policy"),
    [
        ("trainer", "Always"),
        ("trainer:latest", "Always"),
        ("registry:5000/trainer", "Always"),
        ("trainer:1", "IfNotPresent"),
        (f"trainer@sha256:{'0' * 64}", "IfNotPresent"),
        (f"trainer:latest@sha256:{'0' * 64}", "Always"),
        ("trainer:latest@sha256:0123", "IfNotPresent"),
        ("Trainer", "IfNotPresent"),
    ],
)
def test_the_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    stored = changed(STORED, ("spec.containers.0.image", image), ("spec.containers.0.imagePullPolicy", policy))

    assert validate(changed(stored, ("spec.containers.0.imagePullPolicy", ...)), stored) == []


def test_containers_cannot_be_added_or_removed() -> None:
    pod = changed(
        STORED,
        ("spec.containers", [*STORED["spec"]["containers"], {"name": "serve", "image": "server:1"}]),
        ("spec.activeDeadlineSeconds", 1),
    )

    assert said(validate(pod, STORED)) == ["spec.containers: Forbidden: pod updates may not add or remove containers"]
    assert said(validate(changed(STORED, ("spec.initContainers", ...)), STORED)) == [
        "spec.initContainers: Forbidden: pod updates may not add or remove containers"
    ]


@each_row(
    ("old", "new", "expected"),
    [
        (60, 30, []),
        (60, 0, ["Invalid value: 0: must be between 1 and 2147483647, inclusive"]),
        (60, 61, ["Invalid value: 61: must be less than or equal to previous value"]),
        (None, -1, [f"Invalid value: -1: must be between {least} and 2147483647, inclusive" for least in (1, 0)]),
        (
            None,
            2**31,
            [f"Invalid value: 2147483648: must be between {least} and 2147483647, inclusive" for least in (1, 0)],
        ),
        (60, None, ["Invalid value: null: must not update from a positive integer to nil value"]),
    ],
)
def test_a_deadline_is_set_or_made_earlier(old: int | None, new: int | None, expected: list[str]) -> None:
    stored, pod = (changed(STORED, ("spec.activeDeadlineSeconds", seconds)) for seconds in (old, new))

    assert said(validate(pod, stored)) == [f"spec.activeDeadlineSeconds: {message}" for message in expected]


def test_after_a_deadline_that_is_refused_nothing_else_is_looked_at() -> None:
    change = ("spec.hostIPC", True)

    assert (
        len(
            validate(
                changed(STORED, change, ("spec.activeDeadlineSeconds", 2)),
                changed(STORED, ("spec.activeDeadlineSeconds", 1)),
            )
        )
        == 1
    )


def test_tolerations_cannot_be_removed_or_changed() -> None:
    stored = changed(STORED, ("spec.tolerations", [*STORED["spec"]["tolerations"], {"key": "gpu", "effect": ""}]))
    expected = ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"]

    assert said(validate(changed(stored, ("spec.tolerations.2.operator", "Exists")), stored)) == expected
    assert said(validate(STORED, stored)) == expected


def test_a_toleration_of_everything_is_not_joined_by_the_default_ones() -> None:
    everything = [{"operator": "Exists"}]
    stored = changed(STORED, ("spec.tolerations", everything))

    assert validate(stored, stored) == []
    assert validate(changed(stored, ("spec.tolerations", [*everything, {"key": "gpu"}])), stored) == []
    assert len(validate(changed(stored, ("spec.tolerations", ...)), stored)) == 1


def test_a_negative_grace_period_can_be_fixed() -> None:
    stored = changed(STORED, ("spec.terminationGracePeriodSeconds", -1))

    assert validate(changed(stored, ("spec.terminationGracePeriodSeconds", 1)), stored) == []
    assert len(validate(changed(stored, ("spec.terminationGracePeriodSeconds", 2)), stored)) == 1


@each_row(
    "changes",
    [
        [("spec.schedulingGates", [{"name": "example.com/queue"}])],
        [("spec.schedulingGates", None)],
        [("spec.nodeSelector.zone", "a")],
        [("spec.affinity", node_affinity({"matchExpressions": [NODES]}, {}))],
        [("spec.affinity", {"nodeAffinity": {}}), ("spec.nodeSelector.zone", "a")],
    ],
)
def test_node_selectors_of_a_gated_pod_can_be_narrowed(changes: list[tuple[str, Any]]) -> None:
    assert validate(changed(GATED, *changes), GATED) == []


@each_row(
    ("changes", "expected"),
    [
        (
            [("spec.schedulingGates.0.name", "example.com/other")],
            (
                "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate "
                "'example.com/other'"
            ),
        ),
        (
            [("spec.nodeSelector", {"disk": "hdd"})],
            (
                'spec.nodeSelector: Invalid value: {"disk":"hdd"}: only additions to spec.nodeSelector are allowed '
                "(no mutations or deletions)"
            ),
        ),
        (
            [("spec.nodeSelector", None)],
            (
                "spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed "
                "(no mutations or deletions)"
            ),
        ),
        (
            [("spec.nodeSelector", {})],
            (
                "spec.nodeSelector: Invalid value: {}: only additions to spec.nodeSelector are allowed "
                "(no mutations or deletions)"
            ),
        ),
        ([("spec.affinity", {})], NOT_UPDATABLE),
        ([("spec.affinity", {"podAntiAffinity": {}})], NOT_UPDATABLE),
        ([("spec.hostIPC", True)], NOT_UPDATABLE),
    ],
)
def test_nothing_else_of_a_gated_pod_can_change(changes: list[tuple[str, Any]], expected: str) -> None:
    assert said(validate(changed(GATED, *changes), GATED)) == [expected]


@each_row(
    ("affinity", "release", "shown"),
    [
        (None, "1.36", "null"),
        (None, "1.33", "[]core.NodeSelectorTerm(nil)"),
        ({"nodeAffinity": {}}, "1.36", "null"),
        (node_affinity(), "1.36", "[]"),
        (node_affinity(), "1.33", "[]core.NodeSelectorTerm{}"),
    ],
)
def test_an_affinity_that_is_removed_from_a_gated_pod_is_told_from_an_empty_one(
    affinity: Any, release: str, shown: str
) -> None:
    stored = changed(GATED, ("spec.affinity", node_affinity({"matchExpressions": [NODES]})))
    found = said(validate(changed(stored, ("spec.affinity", affinity)), stored, kubernetes=release))
    detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
    assert found[-1] == f"{TERMS}: Invalid value: {shown}: {detail}"


@each_row(
    ("terms", "expected"),
    [
        ([{"matchExpressions": [NODES, MORE_NODES]}, {}], ""),
        ([{"matchExpressions": [NODES], "matchFields": [NODE]}, {}], ""),
        ([{"matchExpressions": [NODES]}], ": no additions/deletions to non-empty NodeSelectorTerms list are allowed"),
        ([{"matchExpressions": [MORE_NODES]}, {}], "[0]: only additions are allowed (no mutations or deletions)"),
        ([{}, {}], "[0]: only additions are allowed (no mutations or deletions)"),
        (
            [{"matchExpressions": [NODES]}, {"matchExpressions": [NODES]}],
            "[1]: only additions are allowed (no mutations or deletions)",
        ),
    ],
)
def test_conditions_are_added_to_the_node_affinity_of_a_gated_pod(terms: list[Any], expected: str) -> None:
    stored = changed(GATED, ("spec.affinity", node_affinity({"matchExpressions": [NODES]}, {}, podAffinity={})))
    pod = changed(stored, ("spec.affinity", node_affinity(*terms, podAffinity={})))
    index, _, detail = expected.partition(": ")

    found = said(validate(pod, stored))

    if expected:
        assert [text.partition(": Invalid value: ")[0] for text in found] == [f"{TERMS}{index}"]
        assert found[0].endswith(f": {detail}")
    else:
        assert found == []


def test_the_spec_of_an_update_is_validated_like_a_new_one() -> None:
    pod = changed(STORED, ("spec.containers.0.resources.claims.0.name", "gpus"))

    assert said(validate(pod, STORED)) == [
        (
            'spec.containers[0].resources.claims[0]: Not found: "gpus": '
            "must be one of the names in pod.spec.resourceClaims: gpu"
        ),
        NOT_UPDATABLE,
    ]


def test_a_pod_nested_without_end_is_compared() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"items": [deep]}

    assert validate(changed(STORED, ("spec.dnsConfig", deep)), STORED)


def test_what_no_api_server_can_have_stored_is_not_an_old_pod() -> None:
    old = changed(STORED, ("spec.containers.0.resources.limits.cpu", "many"))

    for subresource in ("", "status"):
        assert [problem.rule for problem in validate(STORED, old, subresource=subresource)] == ["old-object"]


# Anything


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(each, dict | list):
            yield from places(each)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**40) | st.floats() | st.sampled_from(["", "gpu", "1Gi", "x:y@z"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "limits", "x"]), inner),
    max_leaves=5,
)


@pytest.mark.slow
@settings(max_examples=800)
@given(st.data())
def test_no_change_makes_an_update_raise(data: st.DataObject) -> None:
    new, old = copy.deepcopy(GATED), copy.deepcopy(GATED)
    for pod in (new, old):
        for _ in range(data.draw(st.integers(0, 3))):
            found = list(places(pod["spec"])) if isinstance(pod["spec"], dict) else []
            if found:
                holder, key = data.draw(st.sampled_from(found))
                holder[key] = data.draw(values)

    for problem in validate(new, old):
        assert problem.field is not None
        assert problem.message
