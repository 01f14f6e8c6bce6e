"""Pods and pod templates: differences between releases, and the state rules of status."""

from __future__ import annotations

import copy
from typing import Any

from tests.rows import each_row
from webhook import Problem, validate

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {
        "containers": [
            {
                "name": "train",
                "image": "trainer:1",
                "resources": {
                    "limits": {"example.com/gpu": "1"},
                    "requests": {"example.com/gpu": "1", "cpu": "1"},
                    "claims": [{"name": "gpu"}, {"name": "nic", "request": "rdma"}],
                },
            }
        ],
        "initContainers": [{"name": "fetch", "image": "fetcher:1", "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [
            {"name": "gpu", "resourceClaimTemplateName": "one-gpu"},
            {"name": "nic", "resourceClaimName": "shared-nic"},
        ],
    },
}
OLD_POD: dict[str, Any] = {
    **POD,
    "spec": {
        "containers": [{"name": "train", "image": "trainer:1", "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [{"name": "gpu", "source": {"resourceClaimTemplateName": "one-gpu"}}],
    },
}


def said(problems: list[Problem]) -> list[str]:
    return [str(problem) for problem in problems]


def with_status(status: dict[str, Any], kubernetes: str, pod: dict[str, Any] = POD) -> list[str]:
    """Return the findings about a status update."""
    return said(validate({**pod, "status": status}, pod, kubernetes=kubernetes, subresource="status"))


@each_row(
    ("kubernetes", "message"),
    [
        ("1.32", "Forbidden: claims cannot be set for Resources at pod-level"),
        ("1.33", "Forbidden: claims cannot be set for Resources at pod-level"),
        ("1.34", "Forbidden: claims may not be set for Resources at pod-level"),
    ],
)
def test_claims_of_the_pod_level_are_refused_in_the_words_of_the_release(kubernetes: str, message: str) -> None:
    pod = copy.deepcopy(POD)
    pod["spec"]["resources"] = {"claims": [{"name": "gpu"}]}

    problems = validate(pod, kubernetes=kubernetes, feature_gates={"AllAlpha": True, "AllBeta": True})

    assert said(problems) == [f"spec.resources.claims: {message}"]


@each_row(
    ("kubernetes", "field", "value", "expected"),
    [
        ("1.35", "workloadRef", {"name": "a", "podGroup": "b"}, []),
        ("1.35", "workloadRef", {}, ["name", "podGroup"]),
        (
            "1.35",
            "workloadRef",
            {"name": "A", "podGroup": "a.b", "podGroupReplicaKey": "B"},
            ["name", "podGroup", "podGroupReplicaKey"],
        ),
        ("1.36", "schedulingGroup", {"podGroupName": "workers"}, []),
        ("1.36", "schedulingGroup", {"podGroupName": "Workers"}, ["podGroupName"]),
        ("1.36", "schedulingGroup", {"podGroupName": ""}, ["podGroupName"]),
        ("1.36", "schedulingGroup", {}, ["podGroupName"]),
    ],
)
def test_a_group_of_pods_is_named(kubernetes: str, field: str, value: dict[str, str], expected: list[str]) -> None:
    pod = {**POD, "spec": {**POD["spec"], field: value}}

    problems = validate(pod, kubernetes=kubernetes, feature_gates={"GenericWorkload": True})

    assert [problem.field for problem in problems] == [f"spec.{field}.{name}" for name in expected]
    assert {problem.reason for problem in problems} <= {"FieldValueInvalid"}


def test_claims_of_a_static_pod_are_reported_at_the_empty_path() -> None:
    pod = copy.deepcopy(POD)
    pod["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}

    problems = validate(pod, kubernetes="1.32")

    assert said(problems) == ["[]: Forbidden: static pods do not support resource claims"] * 2
    assert [str(problem.path) for problem in problems] == ["spec.resourceClaims[0]", "spec.resourceClaims[1]"]
    assert validate(pod, kubernetes="1.31") == []


def test_a_made_claim_is_named_after_a_generated_name_too() -> None:
    pod = {**OLD_POD, "metadata": {"generateName": "Train-"}}

    found = said(validate(pod, kubernetes="1.30"))

    assert [text.partition(": a lowercase")[0] for text in found] == [
        'metadata.generateName: Invalid value: "Train-"',
        'metadata.name: Invalid value: "Train-xxxxx"',
        'spec.resourceClaims[0].name: Invalid value: "Train-xxxxx-gpu": final ResourceClaim name',
    ]


def test_a_container_listens_on_a_port() -> None:
    pod = copy.deepcopy(POD)
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 65535}, None, {"name": "http"}, {"containerPort": 65536}]

    assert said(validate(pod, kubernetes="1.36")) == [
        "spec.containers[0].ports[1].containerPort: Required value",
        "spec.containers[0].ports[2].containerPort: Required value",
        "spec.containers[0].ports[3].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive",
    ]


def test_a_hint_names_the_field_that_was_meant() -> None:
    pod = copy.deepcopy(POD)
    pod["spec"]["resourceClaim"] = pod["spec"].pop("resourceClaims")

    assert [problem.hint for problem in validate(pod)] == ['did you mean "resourceClaims"?']


# Status


def test_a_status_that_fits_the_spec_is_taken() -> None:
    status = {
        "phase": "Running",
        "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "train-gpu-x7f9c"}, {"name": "nic"}],
        "extendedResourceClaimStatus": {
            "requestMappings": [{"containerName": "train", "resourceName": "example.com/gpu", "requestName": "gpu"}],
            "resourceClaimName": "train-extended-5n2lq",
        },
        "nodeAllocatableResourceClaimStatuses": [
            {"resourceClaimName": "shared-nic", "containers": ["train"], "resources": {"cpu": "1"}},
            {"resourceClaimName": "train-gpu-x7f9c", "containers": ["train"], "resources": {"memory": "1Gi"}},
        ],
        "containerStatuses": [
            {
                "name": "train",
                "allocatedResourcesStatus": [
                    {"name": "example.com/gpu", "resources": [{"resourceID": "gpu-0", "health": "Healthy"}]},
                    {"name": "claim:gpu", "resources": [{"resourceID": "gpu-1", "health": "Unknown"}]},
                    {"name": "claim:nic/rdma", "resources": [{"resourceID": "n", "health": "Healthy", "message": "m"}]},
                ],
            },
            {"name": "gone", "allocatedResourcesStatus": [{"name": "anything"}]},
        ],
        "initContainerStatuses": [{"name": "fetch", "allocatedResourcesStatus": [{"name": "claim:gpu"}]}],
        "ephemeralContainerStatuses": [{"name": "look"}],
    }

    gates = {"AllAlpha": True, "AllBeta": True}
    found = validate({**POD, "status": status}, POD, kubernetes="1.36", subresource="status", feature_gates=gates)

    assert found == []


@each_row(("kubernetes", "field"), [("1.28", "name"), ("1.35", "name"), ("1.36", "resourceClaimName")])
def test_claims_made_belong_to_entries_of_the_spec(kubernetes: str, field: str) -> None:
    statuses = [{"name": "gpu", "resourceClaimName": "Made"}, {"name": "gpu"}, {"name": "disk"}]
    pod = POD if int(kubernetes[2:]) > 30 else OLD_POD

    found = with_status({"resourceClaimStatuses": statuses}, kubernetes, pod)

    assert [text.partition(": a lowercase")[0] for text in found] == [
        f'status.resourceClaimStatuses[0].{field}: Invalid value: "Made"',
        'status.resourceClaimStatuses[1].name: Duplicate value: "gpu"',
        (
            'status.resourceClaimStatuses[2].name: Invalid value: "disk": '
            "must match the name of an entry in `spec.resourceClaims`"
        ),
    ]


def test_the_mapping_of_extended_resources_is_checked() -> None:
    path = "status.extendedResourceClaimStatus"
    mappings = [
        {"containerName": "train", "resourceName": "example.com/gpu", "requestName": "a"},
        {"containerName": "train", "resourceName": "example.com/gpu", "requestName": "b"},
        {"containerName": "train", "resourceName": "example.com/nic", "requestName": "B"},
        {"containerName": "serve", "resourceName": "example.com/gpu", "requestName": "a"},
    ]
    status = {"extendedResourceClaimStatus": {"requestMappings": mappings, "resourceClaimName": "Made"}}
    expected = [
        f'{path}.requestMappings[2].resourceName: Invalid value: "example.com/nic"',
        f'{path}.requestMappings[3].containerName: Invalid value: "serve"',
        f'{path}.requestName: Invalid value: "B"',
        f'{path}.resourceClaimName: Invalid value: "Made"',
    ]
    gates = {"AllAlpha": True}

    by_release = {
        kubernetes: sorted(
            text.partition(": a lowercase")[0].partition(": must match")[0]
            for text in said(
                validate(
                    {**POD, "status": status}, POD, kubernetes=kubernetes, subresource="status", feature_gates=gates
                )
            )
        )
        for kubernetes in ("1.34", "1.35")
    }

    assert by_release["1.35"] == expected
    assert by_release["1.34"] == sorted(
        [
            *expected,
            f'{path}.requestMappings[1].containerName: Duplicate value: "train"',
            f'{path}.requestMappings[1].resourceName: Duplicate value: "example.com/gpu"',
        ]
    )


def test_from_1_35_a_mapping_repeats_another_only_with_the_same_request() -> None:
    mapping = {"containerName": "train", "resourceName": "example.com/gpu", "requestName": "a"}
    status = {"extendedResourceClaimStatus": {"requestMappings": [mapping, mapping], "resourceClaimName": "made"}}

    found = validate(
        {**POD, "status": status}, POD, kubernetes="1.36", subresource="status", feature_gates={"AllAlpha": True}
    )

    assert [problem.field.rpartition(".")[2] for problem in found] == ["containerName", "resourceName", "requestName"]


def test_an_empty_status_of_extended_resources_is_refused() -> None:
    assert with_status({"extendedResourceClaimStatus": {}}, "1.36") == [
        "status.extendedResourceClaimStatus.requestMappings: Required value: at least one request mapping is required",
        "status.extendedResourceClaimStatus.resourceClaimName: Required value",
    ]


def test_what_claims_take_of_the_node_is_checked() -> None:
    statuses = [
        {"resources": {"example.com/gpu": "1", "cpu": "-1500m"}},
        {"resourceClaimName": "other", "containers": ["train"]},
    ]
    status = {"nodeAllocatableResourceClaimStatuses": statuses}
    path = "status.nodeAllocatableResourceClaimStatuses"

    found = validate(
        {**POD, "status": status}, POD, kubernetes="1.36", subresource="status", feature_gates={"AllAlpha": True}
    )

    assert said(found) == [
        f"{path}[0].containers: Required value: must not be empty",
        f"{path}[0].resourceClaimName: Required value: must not be empty",
        (
            f'{path}[0].resources[example.com/gpu]: Invalid value: "example.com/gpu": '
            "must be a node allocatable resource name"
        ),
        f'{path}[0].resources[cpu]: Invalid value: "-1500m": must be non-negative',
        f"{path}[1].resources: Required value: must not be empty",
        f'{path}[1].resourceClaimName: Invalid value: "other": no mapping found in pod reference',
    ]


def test_devices_are_of_resources_that_the_container_asks_for() -> None:
    status = {
        "containerStatuses": [
            {
                "name": "train",
                "allocatedResourcesStatus": [
                    {"name": "example.com/nic", "resources": [{"resourceID": "n", "health": "Fine"}]},
                    {"name": "claim:nic", "resources": [{"resourceID": "n"}, {"resourceID": "n", "health": "Healthy"}]},
                ],
            }
        ],
        "ephemeralContainerStatuses": [{"name": "look", "allocatedResourcesStatus": []}],
    }
    path = "status.containerStatuses[0].allocatedResourcesStatus"
    healths = 'supported values: "Healthy", "Unhealthy", "Unknown"'

    assert with_status(status, "1.36") == [
        f'{path}[0].resources[0].health: Unsupported value: "Fine": {healths}',
        f'{path}[1].resources[0].health: Unsupported value: "": {healths}',
        f'{path}[1].resources[1].resourceID: Duplicate value: "n"',
        f'{path}[0].name: Invalid value: "example.com/nic": must match one of the container\'s resource requests',
        (
            f'{path}[1].name: Invalid value: "claim:nic": must match one of the container\'s resource claims '
            "in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
        ),
        (
            "status.ephemeralContainerStatuses[0].allocatedResourcesStatus: "
            "Forbidden: must not be specified in container status"
        ),
    ]


def test_in_1_31_claims_have_no_health() -> None:
    status = {"initContainerStatuses": [{"name": "fetch", "allocatedResourcesStatus": [{"name": "claim:gpu"}]}]}

    assert with_status(status, "1.31") == [
        (
            "status.initContainerStatuses[0].allocatedResourcesStatus[0].name: "
            'Invalid value: "claim:gpu": must match one of the container\'s resource requests'
        )
    ]
    assert with_status(status, "1.32") == []


def test_a_message_about_health_says_something_in_1024_bytes() -> None:
    devices = [
        {"resourceID": "a", "health": "Unhealthy", "message": ""},
        {"resourceID": "b", "health": "Unhealthy", "message": "x" * 1025},
    ]
    status = {
        "containerStatuses": [
            {"name": "train", "allocatedResourcesStatus": [{"name": "claim:gpu", "resources": devices}]}
        ]
    }
    path = "status.containerStatuses[0].allocatedResourcesStatus[0].resources"

    assert with_status(status, "1.36") == [
        f"{path}[0].message: Required value: must be non-empty if specified",
        f"{path}[1].message: Too long: may not be more than 1024 bytes",
    ]
    assert [text.partition(": strict")[0] for text in with_status(status, "1.35")] == [
        f"{path}[0].message",
        f"{path}[1].message",
    ]


def test_a_status_in_a_new_pod_is_not_looked_at() -> None:
    problems = validate({**POD, "status": {"resourceClaimStatuses": [{"name": "disk"}]}}, kubernetes="1.36")

    assert [problem.level for problem in problems] == ["warning"]


def test_an_update_of_the_status_may_change_labels_but_not_owners() -> None:
    labels, owners = {"a": "b "}, [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u"}]
    new = POD | {"metadata": POD["metadata"] | {"labels": labels, "ownerReferences": [owners[0] | {"name": ""}]}}

    for kubernetes in ("1.33", "1.36"):
        (problem,) = validate(new, POD, kubernetes=kubernetes, subresource="status")
        assert (problem.field, problem.message[:20]) == ("metadata.labels", 'Invalid value: "b ":')


@each_row(
    ("value", "errors"), [("-" + "0" * 5000 + "1", []), ("1" * 5000, ["value out of range"]), ("+", ["invalid syntax"])]
)
def test_tolerated_numbers_have_any_length(value: str, errors: list[str]) -> None:
    tolerations = [{"key": "memory", "operator": "Lt", "value": value}]
    pod = POD | {"spec": POD["spec"] | {"tolerations": tolerations}}

    found = validate(pod, kubernetes="1.36", feature_gates={"TaintTolerationComparisonOperators": True})

    parsed = [each.message.rpartition(": ")[2] for each in found if "strconv.ParseInt" in each.message]
    assert parsed == errors
