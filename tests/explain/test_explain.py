import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.command import ROOT, draguard, usage_error
from tests.rows import each_row, each_row_beside
from webhook import validate
from webhook.api.versions import NEWEST, VERSIONS
from webhook.documents import Document, parse
from webhook.explain.components import components
from webhook.explain.places import FieldPlace, children, kinds, rules
from webhook.explain.query import UnknownNameError, explain, explain_answer
from webhook.explain.text import counterpart, counterparts, example, of_rule

RULES = rules(kinds(), None)
CASES = sorted((ROOT / "tests" / "cases").glob("*/*.yaml"))


def lines_of(query: str, **options: Any) -> list[str]:
    return explain(query, **options).splitlines()


def section(lines: list[str], title: str) -> list[str]:
    """Return the lines below a title, up to the next."""
    rest = lines[lines.index(f"{title}:") + 1 :]
    return rest[: rest.index("")] if "" in rest else rest


def rules_in(lines: list[str]) -> list[str]:
    return [line.strip() for line in section(lines, "RULES") if not line.startswith("    ")]


class TestOverview:
    def test_it_lists_every_kind_with_its_releases_and_every_rule(self) -> None:
        text = explain()
        for version in VERSIONS.values():
            assert all(re.search(rf"^    {name} ", text, re.MULTILINE) for name in version.kinds)
        assert re.search(r"^    ResourceClaim  +1\.27 to 1\.30  +A request for a resource", text, re.MULTILINE)
        assert all(re.search(rf"^  {rule}  ", text, re.MULTILINE) for rule in RULES)

    def test_a_release_narrows_it_down(self) -> None:
        text = explain(kubernetes="1.29")
        assert "ResourceClass " in text
        assert "ResourceSlice" not in text
        assert "data-with-structured-data" not in text


class TestKinds:
    @each_row("query", "ResourceClaim", "resourceclaim", "resourceclaims", "claim", "Claim", "claims")
    def test_a_kind_is_found_by_its_name_and_by_its_resource(self, query: str) -> None:
        assert lines_of(query, api_version="resource.k8s.io/v1alpha2")[:4] == [
            "GROUP:       resource.k8s.io",
            "KIND:        ResourceClaim",
            "VERSION:     v1alpha2",
            "KUBERNETES:  1.27 to 1.30",
        ]

    def test_it_tells_fields_with_type_limits_doc_and_release(self) -> None:
        lines = lines_of("ResourceClass")
        at = lines.index("  driverName  <string>  required, 63 bytes at most, driver-name")
        assert lines[at + 1] == "    The driver that allocates claims of this class."
        assert "  structuredParameters  <bool>  since 1.30" in lines
        assert not any("structuredParameters" in line for line in lines_of("ResourceClass", kubernetes="1.29"))
        assert any(line.startswith("  workloadRef  <WorkloadReference>  in 1.35,") for line in lines_of("Pod.spec"))

    def test_it_tells_what_is_not_judged_and_rules_of_the_kind(self) -> None:
        lines = lines_of("Pod.spec")
        assert "volumes" in " ".join(lines[lines.index("NOT JUDGED HERE:") :])
        lines = lines_of("ResourceClaim", api_version="resource.k8s.io/v1alpha2")
        at = lines.index("  reserved-while-deallocating  (update of the status)")
        assert lines[at + 1] == "    A claim that is being deallocated takes no new reservations."

    def test_it_tells_rules_of_what_is_around_a_field(self) -> None:
        assert "  amounts-of-resources  at spec.containers" in lines_of("Pod.spec.containers.resources.limits")
        assert "  container-claims  at spec" in lines_of("Pod.spec.containers.resources.claims")
        assert "  one-way-to-select-nodes  at spec" in lines_of("ResourceSlice.spec.nodeName")


@pytest.mark.slow
class TestFields:
    def test_a_field_is_found_as_findings_spell_it(self) -> None:
        query = "ResourceClaim.status.allocation.resourceHandles{}.driverName"
        lines = lines_of(query.format(""), api_version="resource.k8s.io/v1alpha2")
        assert lines_of(query.format("[31]"), api_version="resource.k8s.io/v1alpha2") == lines
        assert "FIELD:       status.allocation.resourceHandles.driverName  <string>" in lines
        limits = section(lines, "LIMITS")
        assert limits == ["    required", "    63 bytes at most", "    driver-name"]
        assert {"  required", "  max-length", "  driver-name"} <= set(lines)

    def test_a_list_shows_the_fields_of_its_items(self) -> None:
        lines = lines_of("ResourceClaim.status.reservedFor", api_version="resource.k8s.io/v1alpha2")
        assert "FIELD:       status.reservedFor  <[]ResourceClaimConsumerReference>" in lines
        assert "    32 items at most" in lines
        assert "  uid  <UID>  required" in lines

    def test_the_fields_of_fields_are_listed_with_their_types(self) -> None:
        lines = lines_of("DeviceClass.spec", recursive=True)
        assert section(lines, "FIELDS") == [
            "  selectors  <[]DeviceSelector>",
            "    cel  <CELDeviceSelector>  -required-",
            "      expression  <string>",
            "  config  <[]DeviceClassConfiguration>",
            "    opaque  <OpaqueDeviceConfiguration>  -required-",
            "      driver  <string>  -required-",
            "      parameters  <RawExtension>  -required-",
            "  extendedResourceName  <string>",
        ]
        assert not {"DESCRIPTION:", "RULES:"} & set(lines)
        assert "  extendedResourceName  <string>" not in lines_of("DeviceClass.spec", recursive=True, kubernetes="1.33")

    def test_a_field_is_looked_for_in_older_versions_of_its_kind_too(self) -> None:
        assert "VERSION:     v1alpha2" in lines_of("ResourceClaim.spec.allocationMode")
        assert "KUBERNETES:  1.30" in lines_of("ResourceClass.structuredParameters")

    def test_a_switch_that_cannot_be_false_is_unset_or_true(self) -> None:
        assert "    unset or true" in lines_of("ResourceSlice.spec.allNodes")

    def test_every_field_of_every_kind_can_be_explained(self) -> None:
        left: list[FieldPlace] = [kind.place for kind in kinds()]
        while left:
            place = left.pop()
            text = explain(str(place), api_version=place.kind.api_version)
            assert f"KIND:        {place.kind.name}" in text
            assert "DESCRIPTION:\n    " in text, place
            left += children(place, None)


@pytest.mark.slow
class TestOtherVersions:
    def test_the_same_field_is_shown_where_other_versions_have_it_with_their_releases(self) -> None:
        lines = lines_of("ResourceClaim.spec.devices.requests.exactly.count", api_version="resource.k8s.io/v1")
        default = "default 1 if allocationMode is ExactCount"
        with_class = f"{default} and deviceClassName is given since 1.33"
        assert section(lines, "OTHER VERSIONS") == [
            "  v1beta2   1.33 to 1.38  spec.devices.requests.exactly.count",
            f"  v1beta1   1.32 to 1.37  spec.devices.requests.count  {default} in 1.32, {with_class}",
            f"  v1alpha3  1.31 to 1.33  spec.devices.requests.count  {default} until 1.32, {with_class}",
            "  v1alpha2  1.27 to 1.30  not there",
        ]
        lines = lines_of("ResourceSlice.spec.devices.basic.attributes", api_version="resource.k8s.io/v1beta1")
        assert "  v1        1.34 to 1.38  spec.devices.attributes" in section(lines, "OTHER VERSIONS")

    @each_row_beside("field", "api_version", "line")
    def test_the_other_values_are_listed(self, field: str, api_version: str, line: str) -> None:
        assert line in section(lines_of(field, api_version=api_version), "OTHER VERSIONS")

    def test_limits_of_releases_that_differ_name_those(self) -> None:
        lines = lines_of("ResourceClaim.status.reservedFor", api_version="resource.k8s.io/v1alpha3")
        expected = ["    32 items at most in 1.31", "    unique uid", "    256 items at most since 1.32"]
        assert section(lines, "LIMITS") == expected
        lines = lines_of("ResourceClaim.status.reservedFor", kubernetes="1.31")
        assert section(lines, "LIMITS") == ["    32 items at most", "    unique uid"]
        assert "OTHER VERSIONS:" not in lines

    def test_every_field_but_structs_that_moved_leads_back_from_where_it_is_elsewhere(self) -> None:
        left = [kind.place for kind in kinds()]
        while left:
            place = left.pop()
            left += children(place, None)
            for kind, other in counterparts(place, None):
                if other and not other.field.inline and not place.is_box:
                    back = counterpart(other, place.kind, None)
                    assert (str(back), kind) == (str(place), other.kind)

    @each_row(
        ("query", "message"),
        (
            "ResourceClaim.spec.devices.requests.count",
            "that is a path of v1beta1, and in v1 it is ResourceClaim.spec.devices.requests.exactly.count",
        ),
        ("ResourceClaim.spec.resourceClassName", "that is a path of v1alpha2, and v1 has nothing like it"),
    )
    def test_a_path_of_another_version_is_explained(self, query: str, message: str) -> None:
        with pytest.raises(UnknownNameError, match=re.escape(message)):
            explain(query, api_version="resource.k8s.io/v1")


class TestFeatureGates:
    def test_a_gate_is_named_with_its_history_and_what_goes_without_it(self) -> None:
        lines = lines_of("ResourceClaim.spec.devices.requests.firstAvailable.count")
        assert section(lines, "FEATURE GATES") == [
            (
                "  DRAPrioritizedList  alpha, off from 1.33; beta, on from 1.34; stable, on from 1.36; "
                "locked, on from 1.37"
            ),
            "    Without it, the API server drops spec.devices.requests.firstAvailable.",
        ]

    def test_a_gate_that_came_later_than_its_field_says_since_when_it_matters(self) -> None:
        field = "ResourceClaim.spec.devices.requests.adminAccess"
        lines = lines_of(field, api_version="resource.k8s.io/v1alpha3")
        assert "    Without it, the API server drops spec.devices.requests.adminAccess since 1.32." in lines
        assert "FEATURE GATES:" not in lines_of(field, kubernetes="1.31")

    def test_a_kind_may_need_a_gate_another_one_in_later_releases_and_one_that_is_gone(self) -> None:
        lines = lines_of("DeviceTaintRule", api_version="resource.k8s.io/v1alpha3")
        assert section(lines, "FEATURE GATES")[1::2] == [
            "    Without it, DeviceTaintRule is not served in resource.k8s.io/v1alpha3 until 1.34.",
            "    Without it, DeviceTaintRule is not served in resource.k8s.io/v1alpha3 since 1.35.",
        ]
        lines = lines_of("PodSchedulingContext", api_version="resource.k8s.io/v1alpha3")
        assert "  DRAControlPlaneController  alpha, off from 1.31; gone from 1.32" in lines


class TestReaders:
    @each_row(
        ("field", "rule"),
        ("ResourceClaim.spec.devices.requests.exactly.count", "count-for-mode  at spec.devices.requests.exactly"),
        ("ResourceClaim.spec.devices.requests.exactly.count", "immutable  at spec"),
        ("ResourceClaim.spec.devices.requests.exactly.adminAccess", "admin-access  (create)  at ResourceClaim"),
        ("ResourceClaim.spec.devices.requests.firstAvailable", "exactly-or-first-available"),
        # A function that the rule calls looks at it.
        ("ResourceClaim.spec.devices.requests.firstAvailable.name", "requests-that-exist  at spec.devices"),
        ("ResourceSlice.spec.devices.attributes", "attributes-and-capacities  at spec.devices"),
        ("ResourceSlice.spec.devices.attributes.int", "one-attribute-value  at spec.devices.attributes"),
    )
    def test_a_rule_of_a_parent_is_listed_if_it_reads_the_field(self, field: str, rule: str) -> None:
        assert any(line.startswith(rule) for line in rules_in(lines_of(field, api_version="resource.k8s.io/v1")))

    def test_a_rule_looks_at_the_same_field_in_all_versions_and_at_no_others(self) -> None:
        lines = lines_of("ResourceSlice.spec.devices.basic.taints", api_version="resource.k8s.io/v1beta1")
        assert any(line.startswith("fewer-advanced-devices") for line in rules_in(lines))
        lines = lines_of("ResourceClaim.spec.devices.requests.exactly.deviceClassName")
        assert not any(line.startswith("count-for-mode") for line in rules_in(lines))


class TestRules:
    def test_a_rule_tells_what_it_says_and_where_it_applies(self) -> None:
        assert lines_of("data-with-structured-data")[:9] == [
            "RULE:        data-with-structured-data",
            "PAGE:        https://github.com/draguard/draguard/blob/main/docs/rules/README.md#data-with-structured-data",
            "",
            "DESCRIPTION:",
            "    A handle holds a driver's own data or structured data, not both.",
            "",
            "APPLIES TO:",
            "  resource.k8s.io/v1alpha2",
            "    ResourceClaim.status.allocation.resourceHandles  (since 1.30)",
        ]

    @each_row(
        ("rule", "place"),
        ("required", "ResourceClass.driverName"),
        ("immutable", "ResourceClaim.spec"),
        ("enum", "ResourceClaim.spec.allocationMode"),
        ("max-length", "ResourceClaim.status.allocation.resourceHandles.data"),
        ("max-items", "PodSchedulingContext.spec.potentialNodes"),
        ("duplicate", "ResourceClaim.status.reservedFor"),
        ("dns-subdomain", "PodSchedulingContext.spec.potentialNodes"),
        ("quantity", "ResourceSlice.namedResources.instances.attributes.quantity"),
        ("label-syntax", "ResourceClaimTemplate.spec.metadata"),
    )
    def test_a_rule_applies_to_each_field_that_states_it(self, rule: str, place: str) -> None:
        assert f"    {place}" in lines_of(rule, api_version="resource.k8s.io/v1alpha2")

    @each_row("rule", "unknown-field", "not-served", "unreadable", "status-dropped")
    def test_a_rule_about_any_object_has_no_place(self, rule: str) -> None:
        assert "APPLIES TO:" not in lines_of(rule)

    def test_every_rule_can_be_explained(self) -> None:
        for rule in RULES:
            assert re.search(r"DESCRIPTION:\n    \S", of_rule(rule, RULES[rule])), rule

    @pytest.mark.no_cover
    @each_row("case", *CASES)
    def test_every_finding_of_the_cases_has_a_rule_that_can_be_explained(self, case: Path) -> None:
        text = case.read_text(encoding="utf-8")
        stated = re.match(r"# kubernetes: (\S+)", text)
        for document in parse(text):
            assert isinstance(document, Document)
            for problem in validate(document.data, kubernetes=stated[1] if stated else None):
                assert problem.rule in RULES

    def test_every_rule_that_is_named_in_passing_can_be_explained(self) -> None:
        sources = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "webhook").rglob("*.py"))
        named = set(re.findall(r'\.named\("([a-z-]+)"\)', sources))
        named |= set(re.findall(r'\bProblem\(\s*(?:NOTE|WARNING|ERROR),\s*"([a-z-]+)"', sources))
        assert {"resource-version", "status-dropped", "suite"} <= named
        assert named <= RULES.keys()


class TestGatesByName:
    def test_a_gate_tells_its_stages_and_what_needs_it(self) -> None:
        lines = lines_of("DRADeviceTaints", kubernetes="1.36")
        assert lines[:9] == [
            "FEATURE GATE:  DRADeviceTaints",
            "",
            "STAGES:",
            "    alpha, off from 1.33",
            "    beta, on from 1.36",
            "    stable, on from 1.37",
            "    locked, on from 1.38",
            "",
            "NEEDED BY:",
        ]
        assert lines[9] == "  resource.k8s.io/v1"
        assert "    ResourceSlice.spec.devices.taints" in lines
        assert "    ResourceClaim.spec.devices.requests.exactly.tolerations" in lines
        assert not any("status" in line and "tolerations" in line for line in lines)

    def test_what_needs_it_in_some_releases_only_or_nothing_says_so(self) -> None:
        assert "    DeviceTaintRule until 1.34" in lines_of("DRADeviceTaints")
        assert "NEEDED BY:" not in explain("GenericWorkload", kubernetes="1.30")


@pytest.mark.slow
class TestUnknownNames:
    @each_row_beside("query", "message")
    def test_what_was_probably_meant_is_named(self, query: str, message: str) -> None:
        with pytest.raises(UnknownNameError, match=re.escape(message)):
            explain(query)

    @each_row(
        ("query", "field"),
        ("resources.claims", "Pod.spec.containers.resources.claims"),
        ("GATE-OFF", "gate-off"),
        ("dradevicetaints", "DRADeviceTaints"),
        ("stranded", "devices-stranded"),
        ("spec.devices.requests", "ResourceClaim.spec.devices.requests"),
        ("spec.devices.Requests[0].name", "ResourceClaim.spec.devices.requests.name"),
        ("devices.requests.exactly.count", "ResourceClaim.spec.devices.requests.exactly.count"),
        ("Device.taints", "ResourceSlice.spec.devices.taints"),
        ("ResourceClaim.Spec.Devices", "ResourceClaim.spec.devices"),
        ("po.spec.resourceClaims", "Pod.spec.resourceClaims"),
        ("slices.spec", "ResourceSlice.spec"),
        ("classes", "DeviceClass"),
        ("ds", "DaemonSet"),
        ("deployments.apps.spec", "Deployment.spec"),
        ("resourceclaims.resource.k8s.io", "ResourceClaim"),
    )
    def test_fields_kinds_rules_and_gates_are_also_found_by_shorter_names(self, query: str, field: str) -> None:
        assert explain(query) == explain(field)

    @each_row(
        "query",
        "resource.k8s.io/v1beta1/ResourceClaim.spec",
        "v1beta1.ResourceClaim.spec",
        "v1beta1/resourceclaims.spec",
        "resourceclaims.v1beta1.resource.k8s.io.spec",
    )
    def test_a_kind_may_have_its_version_and_group(self, query: str) -> None:
        assert explain(query) == explain("ResourceClaim.spec", api_version="resource.k8s.io/v1beta1")

    def test_an_api_version_needs_no_group(self) -> None:
        claim = explain("ResourceClaim.spec", api_version="resource.k8s.io/v1beta1")
        assert explain("ResourceClaim.spec", api_version="v1beta1") == claim
        assert explain("Pod.spec", api_version="v1") == explain("Pod.spec")

    @each_row(
        ("query", "options", "message"),
        ("Pod", {"api_version": "v7"}, "API version v7 is not known here: give one of"),
        ("", {"api_version": "v9"}, "API version v9 is not known here: give one of resource"),
        (
            "ResourceClassParameters",
            {"kubernetes": "1.29"},
            "Kubernetes 1.29 has no ResourceClassParameters: it is in resource.k8s.io/v1alpha2, Kubernetes 1.30",
        ),
        ("quota", {}, "unknown rule or kind quota"),
    )
    def test_what_is_not_there_is_said(self, query: str, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UnknownNameError, match=re.escape(message)):
            explain(query, **options) if query else explain(**options)

    def test_an_unknown_release_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"Kubernetes 1\.12 is not known here"):
            explain(kubernetes="1.12")

    @each_row("version", "v1beta1", "resource.k8s.io/v1beta1")
    def test_an_api_version_is_described_by_its_kinds(self, version: str) -> None:
        assert explain(version) == explain(api_version=version)
        with pytest.raises(UnknownNameError, match="unknown rule or kind v1beta1"):
            explain("v1beta1", api_version=version)

    @settings(max_examples=10)
    @given(st.text() | st.text("RPod.sepc[]", max_size=8))
    def test_any_text_is_explained_or_refused(self, query: str) -> None:
        try:
            result = explain(query)
        except UnknownNameError as error:
            result = str(error)
        assert result


ANSWERS = [
    (
        'The ResourceClaim "gpu" is invalid: spec.devices.requests[0].exactly.count: Invalid value: 0',
        ["FIELD:       spec.devices.requests.exactly.count  <int64>"],
    ),
    (
        'The Pod "p" is invalid: \n* spec.containers[0].resources.claims[0]: Not found\n* spec.nodeName: Forbidden',
        ["FIELD:       spec.containers.resources.claims  <[]ResourceClaim>", "FIELD:       spec.nodeName  <string>"],
    ),
    (
        (
            'admission webhook "w.io" denied the request: DeviceClass.resource.k8s.io "c" is invalid: '
            "[spec.config: Too many, spec.selectors: Too many]"
        ),
        ["FIELD:       spec.config  <[]DeviceClassConfiguration>", "FIELD:       spec.selectors  <[]DeviceSelector>"],
    ),
    (
        (
            'ResourceClaim in version "v1beta1" cannot be handled as a ResourceClaim: strict decoding error: '
            'unknown field "spec.devices.request", unknown field "spec.controller"'
        ),
        [
            "ResourceClaim.spec.devices has no field request: did you mean ResourceClaim.spec.devices.requests?",
            (
                "ResourceClaim.spec has no field controller: it has devices; that is a path of v1alpha3, and v1beta1 "
                "has nothing like it"
            ),
        ],
    ),
    (
        (
            'ResourceClaim in version "v1" cannot be handled as a ResourceClaim: json: cannot unmarshal string into '
            "Go struct field ExactDeviceRequest.spec.devices.requests.exactly.count of type int64"
        ),
        ["FIELD:       spec.devices.requests.exactly.count  <int64>"],
    ),
]


class TestAnswers:
    @each_row(("answer", "about"), *ANSWERS)
    def test_what_a_refusal_is_about_is_described(self, answer: str, about: list[str]) -> None:
        done = draguard("explain", answer)
        lines = done.out.splitlines()
        assert [line for line in lines if line.startswith(("FIELD:", "ResourceClaim.")) or line in about] == about
        assert lines[-1] == "`draguard validate` shows where a manifest is wrong, and what was probably meant"
        assert done.code == 0

    @each_row(
        ("kind", "version", "options", "meaning", "others"),
        ("ResourceClaim", "v1beta1", (), "1.32 to 1.37 does, if it runs with --runtime-config=", "/v1 (1.34 to 1.38),"),
        ("ResourceClaim", "v1", (), "; Kubernetes 1.34 to 1.38 does TRY:", "/v1beta1 (1.32 to 1.37),"),
        ("ResourceClaim", "v1", ("--kubernetes-version", "1.30"), "does TRY:", "are resource.k8s.io/v1alpha2 (1.27"),
        ("ResourceClass", "v1alpha2", (), "Kubernetes 1.27 to 1.30 does, if", "says what has taken its place"),
    )
    def test_a_version_that_is_not_served_has_others(
        self, kind: str, version: str, options: tuple[str, ...], meaning: str, others: str
    ) -> None:
        answer = f'no matches for kind "{kind}" in version "resource.k8s.io/{version}"'
        text = " ".join(draguard("explain", answer, *options).out.split())
        assert f"the cluster does not serve {kind} in resource.k8s.io/{version}" in text
        assert meaning in text
        assert others in text
        assert "FIELDS:" not in text

    def test_answers_are_read_from_standard_input_where_none_is_a_usage_error(self) -> None:
        answers = "\n".join(answer for answer, _ in ANSWERS[:2])
        done = draguard("explain", "-", stdin=answers.encode())
        fields = [line for line in done.out.splitlines() if line.startswith("FIELD:")]
        assert fields == [each for _, about in ANSWERS[:2] for each in about]
        assert draguard("explain", "-", stdin=b"Pod\n").out == draguard("explain", "Pod").out
        assert "standard input is empty" in usage_error("explain", "-", stdin=b"\n")

    @each_row(
        ("answer", "about"),
        (
            'strict decoding error: unknown field "spec.devices.requests[0].count", unknown field "spec.gone"',
            "a path of v1beta1, and in v1 it is ResourceClaim.spec.devices.requests.exactly.count",
        ),
        ('* spec.tolerations[0].operator: Unsupported value: "Gt"', "FIELD:       spec.tolerations.operator  <"),
    )
    def test_a_part_of_an_answer_is_about_the_only_kind_with_its_fields(self, answer: str, about: str) -> None:
        assert about in draguard("explain", answer).out

    @each_row(
        ("answer", "said_by"),
        ("Required value: exactly one of `exactly` or `firstAvailable` is required", ["exactly-or-first-available"]),
        (
            'Invalid value: "gpus": must match the name of an entry in `spec.resourceClaims`',
            ["claims-made", "claims-of-the-group"],
        ),
        ("exactly one policy can be specified, cannot specify", ["capacity-for-requests"]),
        ('DeviceClass "nvidia" is not among these manifests: unless the cluster has it', ["class-not-found"]),
        ("must be greater than zero", ["capacity-for-requests", "count-for-mode", "minimum"]),
        ('Invalid value: "": must be greater than zero', ["capacity-for-requests", "count-for-mode", "minimum"]),
        ('a.yaml:1:2: error dns-label: spec.pods: anything (of 2 "things")', ["dns-label"]),
        ("error no-such-rule: default is more than max", ["capacity-for-requests"]),
    )
    @each_row("quotes", "{}", '"{}"', "'{}'", "`{}`")
    def test_a_message_without_a_path_is_said_by_rules(self, answer: str, said_by: list[str], quotes: str) -> None:
        lines = explain_answer(quotes.format(answer)).splitlines()
        found = [lines[0].removeprefix("RULE:").strip()] if lines[0].startswith("RULE:") else rules_in(lines)
        assert [each.split()[0] for each in found] == said_by

    def test_an_answer_may_be_quoted_as_in_json(self) -> None:
        answer, about = ANSWERS[0]
        assert about[0] in explain_answer(json.dumps(answer))

    @pytest.mark.no_cover
    def test_the_message_of_an_example_leads_to_its_rule(self) -> None:
        wrong = {
            rule
            for rule, shown in ((rule, example(rule)) for rule in RULES)
            for of, message in (shown.messages() if shown else ())
            if (of or rule) not in (text := explain_answer(f"said: {message}"))
            if not text.startswith(("GROUP:", "KIND:", "SAID BY:"))
        }
        assert wrong == {"unknown-field"}, "which has the place of the field instead"

    def test_any_other_text_and_a_field_of_several_kinds_are_usage_errors(self) -> None:
        said = usage_error("explain", "no idea what this is")
        assert "no idea what this is is not a name, a field, or a message of a known component" in said
        usage_error("explain", '"Stopped" plugin="a" node="b" count=3 reason="c"')  # values alone are no message
        said = usage_error("explain", '* spec.template.spec.restartPolicy: Unsupported value: "Gt"')
        assert "write KIND.spec.template.spec.restartPolicy" in said

    @given(st.text())
    def test_any_answer_is_explained_or_refused(self, text: str) -> None:
        for head in ("", 'A "b" is invalid: spec.', 'Pod in version "v1" cannot be handled as a P: unknown field "'):
            with suppress(UnknownNameError):
                assert explain_answer(f"{head}{text}")


class TestCommand:
    def test_it_prints_what_is_declared(self) -> None:
        done = draguard("explain", "ResourceClass")
        assert (done.code, done.err) == (0, "")
        assert done.out == explain("ResourceClass") + "\n"

    def test_a_release_that_is_not_known_yet_is_noted(self, caplog: pytest.LogCaptureFixture) -> None:
        done = draguard("explain", "--kubernetes-version", "1.99", "ResourceClaim")
        assert (done.code, done.out) == (0, explain("ResourceClaim", kubernetes=f"1.{NEWEST}") + "\n")
        assert "note: --kubernetes-version: Kubernetes 1.99 is not known here yet: " in caplog.text

    @each_row("arguments", ["ResourceClam"], ["--kubernetes-version", "1.12"], ["--api-version", "v9", "Pod"])
    def test_usage_errors_differ_from_findings(self, arguments: list[str]) -> None:
        assert usage_error("explain", *arguments).startswith("draguard explain: error: ")


def test_the_examples_of_a_rule_are_shown() -> None:
    text = explain("container-claims")
    assert "PAGE:        https://github.com/draguard/draguard/blob/main/docs/rules/README.md#container-claims" in text
    assert "FAILS:\n    apiVersion: v1" in text
    assert "PASSES:\n    apiVersion: v1" in text
    assert "STORED:\n" in explain("immutable")
    assert "POLICIES:\n" in explain("policy")
    assert "FAILS (draguard policy test):" in explain("case")


SCHEDULER = "kube-scheduler"
KUBELET = "kubelet"
CLAIMS = "resource claim controller of kube-controller-manager"
DEVICE_TAINTS = "device taint eviction controller of kube-controller-manager"
WORKLOAD = "controller of the workload (ReplicaSet, StatefulSet, DaemonSet, Job)"
QUOTA = "ResourceQuota of the API server"
PREPARE = "Failed to prepare dynamic resources: prepare dynamic resources: "

SAID = yaml.safe_load((ROOT / "tests/explain/components.yaml").read_text(encoding="utf-8"))


def speakers(out: str) -> list[str]:
    return re.findall(r"^SAID BY: +(.*)", out, re.MULTILINE)


@each_row(("answer", "by", "says"), *(each.values() for each in SAID))
def test_the_speaker_decides(answer: str, by: list[str], says: str) -> None:
    out = explain_answer(answer)
    assert speakers(out) == by
    assert says in " ".join(out.split())
    assert speakers(explain_answer(f'message: "{answer}"')) == by


def test_each_text_is_said() -> None:
    answers = [each["answer"] for each in SAID]
    patterns = [pattern for each in components() for pattern, *_ in each.sayings]
    assert [each.pattern for each in patterns if not any(map(each.search, answers))] == []


def test_all_reasons_of_the_scheduler_are_told() -> None:
    out = explain_answer("0/2 nodes are available: 1 Insufficient cpu, 1 cannot allocate all claims. no new claims")
    said = [line.split()[0] for line in out.splitlines() if line and line[0] != " "]
    assert said == ["SAID", *["MEANING:", "TRY:"] * 2]


def test_events_are_told_one_by_one() -> None:
    events = (
        "Events:\n  Type     Reason                         Age  From     Message\n  ----     ------  "
        "----  ----  -------\n"
        "  Warning  FailedScheduling  9s  default-scheduler  0/1 nodes are available: 1 cannot "
        "allocate\n    all claims.\n"
        f"  Warning  FailedPrepareDynamicResources  1s  kubelet  {PREPARE}DRA driver a.io is not registered\n"
        '3s  Warning  FailedCreate  job/x  Error creating: pods "x" is forbidden: exceeded quota: q, '
        "requested: pods=1, "
        "used: pods=1, limited: pods=1\n"
    )
    done = draguard("explain", "-", stdin=events.encode())
    assert (done.code, speakers(done.out)) == (0, [SCHEDULER, KUBELET, WORKLOAD, QUOTA])
    assert "constraint or counter" in " ".join(done.out.split())


def test_a_pod_is_told_by_its_events_the_last_of_many_too() -> None:
    described = "Name: train\nStatus: Pending\n" + "x: y\n" * 2000
    described += "Events:\n  Warning  Failed  1s  kubelet  Error: ErrImagePull\n"
    assert speakers(draguard("explain", "-", stdin=described.encode()).out) == [KUBELET]
    events = (
        "Events:\n" + "  Normal  Pulled  1s  kubelet  pulled\n" * 50 + f"  Warning  Failed  1s  kubelet  {PREPARE}x\n"
    )
    assert speakers(explain_answer(events)) == [KUBELET]


@each_row(
    ("reason", "by"),
    ("UnexpectedAdmissionError", KUBELET),
    ("FailedResourceClaimCreation", CLAIMS),
    ("DeviceTaintManagerEviction", DEVICE_TAINTS),
)
def test_a_reason_is_told_by_its_name(reason: str, by: str) -> None:
    assert speakers(draguard("explain", reason).out) == [by]


def test_a_refusal_that_a_component_quotes_is_described_too() -> None:
    out = explain_answer('Error creating: Pod "p" is invalid: spec.nodeName: Forbidden: may not be changed')
    assert speakers(out) == [WORKLOAD]
    assert "FIELD:       spec.nodeName  <string>" in out
