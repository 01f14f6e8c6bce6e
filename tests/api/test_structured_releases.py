"""The findings of each Kubernetes release about structured objects, in its own words and at its own paths."""

from __future__ import annotations

from typing import Any

from tests.api.releases import ALL, said, version_of
from tests.rows import each_row
from tests.structured import REQUEST, changed, claim, errors, of_kind, resource_slice, warnings
from webhook import validate
from webhook.api.versions import NEWEST
from webhook.release import span

FLAT = {"name": "gpu", "deviceClassName": "gpu.example.com"}


# Which versions are served


@each_row(
    ("kubernetes", "version", "served"),
    [
        ("1.31", "v1", "resource.k8s.io/v1alpha3;"),
        ("1.32", "v1beta2", "resource.k8s.io/v1beta1, resource.k8s.io/v1alpha3;"),
        ("1.34", "v1alpha3", "resource.k8s.io/v1, resource.k8s.io/v1beta2, resource.k8s.io/v1beta1;"),
    ],
)
def test_a_version_that_is_not_served_names_those_that_are(kubernetes: str, version: str, served: str) -> None:
    (problem,) = validate(claim(version=version), kubernetes=kubernetes)
    assert (problem.rule, problem.reason, str(problem.path)) == ("not-served", "NotFound", "apiVersion")
    assert f"Kubernetes {kubernetes} serves ResourceClaim in {served}" in problem.hint


def test_what_sits_elsewhere_in_a_served_version_is_named() -> None:
    (problem,) = validate(claim(), kubernetes="1.32")
    assert "in resource.k8s.io/v1beta1 and resource.k8s.io/v1alpha3, the fields of `exactly`, such as " in problem.hint
    assert "are fields of the request itself" in problem.hint
    (problem,) = validate(resource_slice(version="v1alpha3"), kubernetes="1.36")
    moved = "attributes, capacity and the rest are fields of the device itself"
    assert f"in resource.k8s.io/v1 and resource.k8s.io/v1beta2, {moved}" in problem.hint
    (problem,) = validate(of_kind("DeviceClass", {}, "v1alpha3"), kubernetes="1.36")
    assert "are fields " not in problem.hint


@each_row(
    ("kind", "version", "kubernetes", "message"),
    [
        ("DeviceClass", "v1beta1", "1.34", None),
        (
            "DeviceClass",
            "v1beta1",
            "1.35",
            "resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+",
        ),
        (
            "DeviceClass",
            "v1beta2",
            "1.36",
            "resource.k8s.io/v1beta2 DeviceClass is deprecated in v1.36+, unavailable in v1.39+",
        ),
        ("DeviceClass", "v1", "1.36", None),
    ],
)
def test_a_version_is_deprecated_in_the_words_of_the_server(
    kind: str, version: str, kubernetes: str, message: str | None
) -> None:
    problems = validate(of_kind(kind, {}, version), kubernetes=kubernetes)
    assert [problem.message for problem in problems if problem.rule != "version-off"] == ([message] if message else [])


# Paths and words


@each_row(
    ("kubernetes", "field"),
    [
        ("1.31", "spec.devices.requests[0].count"),
        ("1.32", "spec.devices.requests[0].count"),
        ("1.33", "spec.devices.requests[0].exactly.count"),
    ],
)
def test_flat_requests_are_spelled_with_exactly_from_1_33(kubernetes: str, field: str) -> None:
    obj = claim(FLAT | {"count": -1}, version=version_of(kubernetes))
    problems = validate(obj, kubernetes=kubernetes)
    assert errors(problems) == [(field, "Invalid value: -1: must be greater than zero")]
    assert str(problems[-1].path) == "spec.devices.requests[0].count"


@each_row(
    ("name", "kubernetes", "found"),
    [
        ("a", "1.31", [("matchAttribute.domain", "Required value: must include a prefix")]),
        ("a", "1.32", [("matchAttribute", 'Invalid value: "a": must include a domain')]),
        ("/a", "1.31", [("matchAttribute", "Required value: the prefix must not be empty")]),
        ("/a", "1.32", [("matchAttribute", "Required value: the domain must not be empty")]),
        ("/a", "1.35", [("matchAttribute", 'Invalid value: "": the domain must not be empty')]),
        ("a/", "1.34", [("matchAttribute", "Required value: the name must not be empty")]),
        ("a/", "1.35", [("matchAttribute", 'Invalid value: "": the name must not be empty')]),
        ("", "1.32", [("matchAttribute", "Required value: name required")]),
        ("a/b/c", "1.36", []),
    ],
)
def test_a_fully_qualified_name(name: str, kubernetes: str, found: list[tuple[str, str]]) -> None:
    obj = claim(FLAT, version=version_of(kubernetes), constraints=[{"matchAttribute": name}])
    assert said(obj, kubernetes) == [(f"spec.devices.constraints[0].{field}", text) for field, text in found]


@each_row(("escaped", "size"), [("<", 6), (">", 6), ("&", 6), ("\u2028", 6), ("\u2029", 6), ("é", 2)])
def test_opaque_parameters_are_measured_as_go_writes_json(escaped: str, size: int) -> None:
    most = escaped * 1000 + "x" * (10240 - len('{"a":""}') - 1000 * size)
    for text, findings in ((most, 0), (f"{most}x", 1)):
        config = {"opaque": {"driver": "a", "parameters": {"a": text}}}
        assert len(said(claim(FLAT, version="v1beta1", config=[config]), "1.32")) == findings


def test_a_driver_in_upper_case_is_warned_of_from_1_35() -> None:
    obj = resource_slice(driver="GPU.example.com")
    assert warnings(validate(obj, kubernetes="1.34")) == []
    problems = validate(obj, kubernetes="1.35")
    assert warnings(problems) == [("lower-case-driver", "spec.driver")]
    assert problems[0].message == 'driver names should be lowercase; "GPU.example.com" contains uppercase characters'


def test_each_byte_of_a_character_that_is_cut_apart_is_replaced() -> None:
    grin = "\U0001f600"
    obj = resource_slice(sharedCounters=[{"name": "a", "counters": {grin * 64: {}}}], devices=...)
    (field,) = {field for field, _ in said(obj, "1.35")}
    assert field == f"spec.sharedCounters[0].counters[{grin * 7}\ufffd\ufffd...\ufffd\ufffd{grin * 7}]"


# Sizes


# Kinds of single releases


def test_a_taint_rule_selected_by_class_up_to_1_34() -> None:
    spec = {
        "deviceSelector": {"deviceClassName": "Bad", "driver": "", "pool": "", "selectors": [{}]},
        "taint": {"key": "k", "effect": "NoSchedule"},
    }
    found = said(of_kind("DeviceTaintRule", spec), "1.33")
    assert [field.removeprefix("spec.deviceSelector.") for field, _ in found] == [
        "deviceClassName",
        "driver",
        "driver",
        "pool",
        "selectors[0].cel",
    ]
    problems = validate(of_kind("DeviceTaintRule", spec), kubernetes="1.35")
    assert [problem.rule for problem in problems if problem.level == "error"] == ["unknown-field", "unknown-field"]


def test_control_plane_controllers_of_1_31() -> None:
    obj = changed(claim(FLAT, version="v1alpha3"), spec__controller="Bad_Name")
    assert [field for field, _ in said(obj, "1.31")] == ["spec.controller"]
    assert warnings(validate(obj, kubernetes="1.31")) == [("gate-off", "spec.controller")]
    assert [problem.rule for problem in validate(obj, kubernetes="1.32")] == ["unknown-field"]

    device_class = of_kind("DeviceClass", {"suitableNodes": {"nodeSelectorTerms": []}})
    problems = validate(device_class, kubernetes="1.31", feature_gates=ALL)
    assert [(problem.field, str(problem.path)) for problem in problems] == [
        ("suitableNodes.nodeSelectorTerms", "spec.suitableNodes.nodeSelectorTerms")
    ]


def test_deallocation_is_requested_for_allocated_claims_in_1_31() -> None:
    base = claim(FLAT, version="v1alpha3")
    for status, before, field in (
        ({"deallocationRequested": True}, {}, "status"),
        ({"allocation": {}}, {"allocation": {}, "deallocationRequested": True}, "status.deallocationRequested"),
    ):
        problems = validate(
            base | {"status": status},
            base | {"status": before},
            kubernetes="1.31",
            subresource="status",
            feature_gates=ALL,
        )
        assert [found for found, _ in errors(problems)] == [field]


def test_scheduling_contexts_check_repeated_names_in_1_31() -> None:
    context = of_kind("PodSchedulingContext", {"potentialNodes": ["Bad", "Bad"]})
    fields = [field for field, _ in said(context, "1.31")]
    assert fields == ["spec.potentialNodes[0]", "spec.potentialNodes[1]", "spec.potentialNodes[1]"]
    assert ("gate-off", "apiVersion") in warnings(validate(context, kubernetes="1.31"))


class TestPodGroup:
    """Groups of pods share claims."""

    @staticmethod
    def group(*claims: dict[str, Any]) -> dict[str, Any]:
        """Make a PodGroup."""
        obj = of_kind("PodGroup", {"resourceClaims": list(claims), "schedulingPolicy": {"basic": {}}})
        return obj | {"apiVersion": "scheduling.k8s.io/v1alpha2"}

    def test_a_claim_has_a_name_and_one_source(self) -> None:
        obj = self.group(
            {"name": "a", "resourceClaimName": "a"},
            {"name": "a"},
            {"name": "B", "resourceClaimName": "x", "resourceClaimTemplateName": "Y"},
        )
        assert [field.removeprefix("spec.resourceClaims") for field, _ in said(obj, "1.36")] == [
            "[1]",
            "[2].name",
            "[2].resourceClaimTemplateName",
            "[2]",
            "[1]",
        ]

    def test_it_has_four_claims_at_most(self) -> None:
        obj = self.group(*({"name": f"c{number}", "resourceClaimName": "a"} for number in range(5)))
        assert said(obj, "1.36") == [("spec.resourceClaims", "Too many: 5: must have at most 4 items")]

    def test_its_claims_stay(self) -> None:
        new, old = (self.group({"name": "a", "resourceClaimName": name}) for name in ("x", "y"))
        assert errors(validate(new, old, feature_gates=ALL)) == [
            ("spec.resourceClaims", "Invalid value: null: field is immutable")
        ]

    def test_a_repeated_claim_is_shown_in_full(self) -> None:
        repeated = self.group({"name": "a", "resourceClaimName": "x"}, {"name": "a", "resourceClaimName": "y"})
        assert said(repeated, "1.36") == [
            ("spec.resourceClaims[1]", 'Duplicate value: {"name":"a","resourceClaimName":"y"}')
        ]

    def test_a_status_is_for_one_of_its_claims(self) -> None:
        old = self.group({"name": "a", "resourceClaimName": "x"})
        new = old | {"status": {"resourceClaimStatuses": [{"name": "a"}, {"name": "b", "resourceClaimName": "X"}]}}
        problems = validate(new, old, subresource="status", feature_gates=ALL)
        assert [field for field, _ in errors(problems)] == [
            "status.resourceClaimStatuses[1].resourceClaimName",
            "status.resourceClaimStatuses[1].name",
        ]


def test_a_class_is_named_by_a_declarative_rule_from_1_35() -> None:
    obj = of_kind("DeviceClass", {}, "v1") | {"metadata": {"generateName": "Bad-"}}
    assert [field for field, _ in said(obj, "1.34")] == ["metadata.generateName", "metadata.name"]
    assert [field for field, _ in said(obj, "1.36")] == ["metadata.name"]


def test_one_of_exactly_and_first_available_is_all_that_is_said_from_1_35() -> None:
    both = REQUEST | {"exactly": {}, "firstAvailable": [{"name": "A"}]}
    obj = claim(both, version="v1beta2")
    ((field, text),) = said(obj, "1.35")
    assert field == "spec.devices.requests[0]"
    assert text.startswith("Invalid value: null: exactly one of")
    found = said(obj, "1.33")
    assert len(found) == 4
    assert found[-1][1].startswith('Invalid value: "null": exactly one of')


def test_a_field_of_another_version_says_where_it_sits_in_this_one() -> None:
    (problem,) = validate(claim({"name": "a", "count": 1}))
    assert problem.hint == 'did you mean "spec.devices.requests[0].exactly.count"?'
    (problem,) = validate(claim(REQUEST, version="v1beta1"), kubernetes="1.33")
    assert problem.hint.endswith("are fields of the request itself")
    (problem,) = validate(claim(REQUEST), kubernetes="1.30")
    assert problem.hint.endswith(f"resource.k8s.io/v1alpha2; resource.k8s.io/v1 is served by {span(34, NEWEST)}")
    rule = of_kind("DeviceTaintRule", {"taint": {"key": "a", "effect": "NoExecute"}}, version="v1")
    (found,) = [each.hint for each in validate(rule, kubernetes="1.36") if each.rule == "not-served"]
    assert found.endswith(f"; resource.k8s.io/v1 is served by {span(37, NEWEST)}")
    (problem,) = validate(resource_slice({"name": "a", "basic": {}}))
    assert problem.hint == "in this version, attributes, capacity and the rest are fields of the device itself"
