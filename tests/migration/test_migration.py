"""Converted texts match the API server's conversion of their objects, and keep all other lines."""

import json
import re
from random import Random
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.api.bases import BASES, CLAIM, Base, pairs, plain
from tests.examples import examples
from tests.migration.manifests import CLASSIC, EXACT, FLAT, converted, migrated
from tests.rows import each_row
from webhook import migration, validate
from webhook.api.conversion import convert
from webhook.api.judgement import judge
from webhook.api.versions import GROUP, VERSIONS
from webhook.configuration.options import TARGETS
from webhook.documents import Document, parse
from webhook.documents.dump import dump
from webhook.migration.classic import Parameters, from_classic
from webhook.release import Release

OLDER: dict[str, Any] = {
    "apiVersion": f"{GROUP}/v1beta1",
    "spec": {"devices": {"requests": [{"name": "a", "deviceClassName": "gpu", "count": 2}]}},
}


def objects(text: str) -> list[Any]:
    return [each.data for each in parse(text) if isinstance(each, Document)]


OTHER = "---\n{a: 1}\n---   # separate\nx:   [1 , 2]\n---\n"


@each_row(
    ("older", "newer"),
    (FLAT, EXACT),
    (FLAT.replace("\n", "\r\n"), EXACT.replace("\n", "\r\n")),
    (FLAT.removesuffix(" # in braces\n"), EXACT.removesuffix(" # in braces\n")),
    (OTHER + FLAT + OTHER, OTHER + EXACT + OTHER),
)
def test_requests_are_wrapped_and_unwrapped_and_all_else_stays(older: str, newer: str) -> None:
    assert converted(older) == newer
    assert converted(newer, "v1beta1") == older


def test_what_is_as_it_shall_be_stays_byte_for_byte() -> None:
    text = EXACT.replace("\n", "\r\n") + "---\nkind: ConfigMap\napiVersion: v1\ndata: {a:   b}\n---\n# nothing\n"
    assert converted(text) == text
    assert converted(FLAT, "v1beta1") == FLAT


def test_devices_lose_basic_and_capacities_get_a_value() -> None:
    text = """\
apiVersion: resource.k8s.io/v1alpha3
kind: ResourceSlice
metadata: {name: s}
spec:
  nodeName: ""  # no node
  driver: d
  devices:
  - name: a
    basic: # what it has
      # Attributes.
      attributes:
        x: {int: 1}
      capacity:
        memory: 1Gi  # much
        # Cores.
        cores: "3"
  - basic:
      # Nothing else.
      attributes: {}
    name: b
  - name: c
    basic: {attributes: {"x":{"int":1}}, capacity: {memory: 3Gi}} # in braces
  - {name: d, basic: {capacity: {memory: 3Gi}}}
  - name: e
    basic: {}
"""
    wanted = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  # no node
  driver: d
  devices:
  - name: a
    # what it has
    # Attributes.
    attributes:
      x: {int: 1}
    capacity:
      memory:
        value: 1Gi  # much
      # Cores.
      cores:
        value: "3"
  - # Nothing else.
    attributes: {}
    name: b
  - name: c
    # in braces
    attributes: {"x":{"int":1}}
    capacity: {memory: {value: 3Gi}}
  - {name: d, capacity: {memory: {value: 3Gi}}}
  - name: e
"""
    assert converted(text) == wanted
    assert objects(converted(wanted, "v1alpha3")) == [convert(objects(wanted)[0], f"{GROUP}/v1alpha3")]


@each_row("indent", None, 2, 4, "\t")
def test_json_stays_json_in_its_layout(indent: int | str | None) -> None:
    claim = CLAIM | {"metadata": {"name": "é\U0001f600"}, "b": [], "c": {}}
    older = claim | OLDER
    assert converted(json.dumps(older, indent=indent)) == json.dumps(claim, indent=indent)
    assert converted(json.dumps(claim, indent=indent), "v1beta1") == json.dumps(older, indent=indent)


def test_compact_json_stays_compact() -> None:
    older = CLAIM | OLDER
    text, wanted = (json.dumps(each, separators=(",", ":")) for each in (older, CLAIM))
    assert converted(f"\n {text}\n{text}") == f"\n {wanted}\n{wanted}"


def test_entries_that_stand_apart_come_together() -> None:
    text = FLAT[: FLAT.index("        # Of the first.")]
    apart = (
        "        - deviceClassName: a # class\n          # Of the name.\n          name: b # name\n\n          count: 2"
    )
    assert converted(text + apart).endswith(
        "        - exactly:\n              deviceClassName: a # class\n\n              count: 2\n"
        "          # Of the name.\n          name: b # name"
    )
    in_flow = "        - {deviceClassName: a, name: b, count: 2}"
    assert converted(text + in_flow).endswith("- {exactly: {deviceClassName: a, count: 2}, name: b}")


def test_pods_lose_the_source_of_claims_also_inside_workloads() -> None:
    text = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  spec:
    resourceClaims:
    - name: a
      source: # of a template
        resourceClaimTemplateName: t # this one
    - {name: b, source: {resourceClaimName: c}}
- apiVersion: jobset.x-k8s.io/v1alpha2
  kind: JobSet
  spec:
    replicatedJobs:
    - name: j
      template:
        spec:
          template:
            spec:
              containers: []
              resourceClaims:
              - name: a
                source:
                  resourceClaimName: c
"""
    wanted = """\
    - name: a
      # of a template
      resourceClaimTemplateName: t # this one
    - {name: b, resourceClaimName: c}
"""
    changed = migrated(text)
    assert wanted in changed.after
    assert changed.after.endswith("              - name: a\n                resourceClaimName: c\n")
    assert [finding.line for finding in changed.older] == [9, 11, 24]
    assert converted(text, "", 30, 31) == text


def test_the_version_is_the_newest_that_all_releases_serve() -> None:
    def version(*releases: int) -> object:
        return objects(converted(FLAT, "", *releases))[0]["apiVersion"].rpartition("/")[2]

    assert [version(), version(36), version(33, 36), version(32, 34), version(31)] == [
        "v1",
        "v1",
        "v1beta2",
        "v1beta1",
        "v1alpha3",
    ]


def test_a_kind_that_no_release_serves_in_common_is_a_finding() -> None:
    found = migrated(FLAT, "", 31, 34)
    assert found.after == FLAT
    assert [str(finding.problem) for finding in found.lost] == [
        "kind: Kubernetes 1.31, 1.34 have no version of ResourceClaim in common"
    ]


def test_a_kind_that_the_version_lacks_gets_the_newest_that_is_served() -> None:
    rule = "apiVersion: resource.k8s.io/v1alpha3\nkind: DeviceTaintRule\nmetadata: {name: a}\nspec: {taint: {}}\n"
    assert converted(rule) == rule.replace("v1alpha3", "v1")
    assert converted(rule, "v1beta1", 36) == rule.replace("v1alpha3", "v1beta2")
    assert converted(rule, "v1", 34).startswith("apiVersion: resource.k8s.io/v1\n")


def test_targets_are_those_of_the_api() -> None:
    with_classes = (name for name, version in VERSIONS.items() if "DeviceClass" in version.kinds)
    assert tuple(name.rpartition("/")[2] for name in with_classes) == TARGETS


def test_lists_get_the_version_of_their_items() -> None:
    text = FLAT.replace("\n", "\n  ").removesuffix("  ")
    both = "  metadata:" + text.partition("metadata:")[2]
    whole = "apiVersion: resource.k8s.io/v1beta1\nkind: ResourceClaimList\nitems:\n-" + both[1:]
    changed = converted(whole)
    assert changed.startswith("apiVersion: resource.k8s.io/v1\nkind: ResourceClaimList\nitems:\n- metadata:")
    assert "exactly:" in changed
    assert objects(changed) == [convert(each, f"{GROUP}/v1") for each in objects(whole)]


@each_row("version", "[v1]", "{v: 1}", "1")
def test_an_item_whose_version_is_no_text_stays_as_it_is(version: str) -> None:
    item = "- " + FLAT.replace("\n", "\n  ").removesuffix("  ")
    other = f"- apiVersion: {version}\n  kind: ServiceAccount\n"
    changed = converted(f"apiVersion: v1\nkind: List\nitems:\n{item}{other}")
    assert "exactly:" in changed
    assert changed.endswith(other)


def test_anchors_and_aliases_are_followed_or_written_out() -> None:
    text = """\
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {name: a}
spec:
  devices:
    requests:
    - &first
      name: a
      deviceClassName: c # class
    - *first
    - <<: *first  # merged
      count: 2
"""
    changed = converted(text)
    assert objects(changed) == [convert(objects(text)[0], f"{GROUP}/v1")]
    assert "# class" in changed
    assert "# merged" in changed


def test_comments_in_braces_go_before_what_moves() -> None:
    text = """\
{apiVersion: resource.k8s.io/v1beta1, kind: ResourceClaim, metadata: {name: a}, spec: {devices: {requests: [
  {deviceClassName: a, # class
   name: b, # name
   count: 2}]}}}
"""
    assert converted(text).endswith("""\
  {
   # class
   # name
   exactly: {deviceClassName: a, count: 2}, name: b}]}}}
""")


def test_what_cannot_be_edited_is_written_anew_below_its_comments() -> None:
    text = """\
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
spec:
  devices:
    requests:
    - &first # as odd as it gets
      name: a
      deviceClassName: b
  unknown: *first
"""
    changed = converted(text)
    assert changed.startswith("# as odd as it gets\napiVersion: resource.k8s.io/v1\n")
    assert objects(changed) == [convert(objects(text)[0], f"{GROUP}/v1")]


def test_what_is_classic_is_converted_as_far_as_it_goes() -> None:
    changed = migrated(CLASSIC)
    device_class, template, claim, context, _ = objects(changed.after)
    assert device_class == {
        "apiVersion": f"{GROUP}/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
    }
    request = {"name": "request", "exactly": {"deviceClassName": "gpu"}}
    assert template["spec"] == {"metadata": {"labels": {"a": "b"}}, "spec": {"devices": {"requests": [request]}}}
    assert claim["spec"].keys() == {"allocationMode", "parametersRef", "devices"}
    assert context["apiVersion"] == f"{GROUP}/v1alpha2"
    assert [str(finding.problem.path) for finding in changed.lost] == [
        "spec.allocationMode",
        "spec.parametersRef",
        "kind",
        "parametersRef",
        "suitableNodes",
    ]
    assert all("docs/migrate.md" in finding.problem.hint for finding in changed.lost)
    assert comments(CLASSIC) <= comments(changed.after)
    assert objects(converted(CLASSIC, "v1beta1"))[2]["spec"]["devices"]["requests"][0]["deviceClassName"] == "gpu"


@each_row(
    "text",
    "kind: ResourceClass\nmetadata: {}",
    "kind: ResourceClaim\nspec: 1",
    "kind: ResourceClaimTemplate\nspec: {spec: {}}",
    "kind: ResourceClaimTemplate",
    "kind: ResourceSlice\nnodeName: a",
    "kind: Unheard",
)
def test_what_is_malformed_stays_as_it_is(text: str) -> None:
    whole = f"apiVersion: resource.k8s.io/v1alpha2\n{text}\n"
    assert converted(whole) == whole


def test_a_status_that_a_controller_wrote_is_a_finding() -> None:
    text = "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaim\nspec: {resourceClassName: a}\nstatus: {a: 1}\n"
    assert [str(finding.problem.path) for finding in migrated(text).lost] == ["status"]


def test_a_field_that_the_version_gets_in_a_later_release_is_one_that_the_release_lacks() -> None:
    text = (
        "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c}, spec: {devices: {requests: ["
        "{name: g, firstAvailable: [{name: x, deviceClassName: gpu}]}]}}}"
    )
    (document,) = parse(text, "c.yaml")
    assert isinstance(document, Document)
    result = migration.converted(document.data, migration.MigrationTarget(releases=[Release(32)]), Parameters())
    assert [problem.message for problem in result.lost] == ["Kubernetes 1.32 has no firstAvailable"]
    assert result.object["spec"] == document.data["spec"], "and nothing is filled in for it"
    assert [problem.rule for problem in judge(result.object, kubernetes="1.32", beyond_decoding=True)] == [
        "unknown-field"
    ]


def test_what_1_31_had_of_controllers_is_a_finding() -> None:
    text = "apiVersion: resource.k8s.io/v1alpha3\nkind: ResourceClaim\nspec: {controller: c, typo: 1, devices: {}}\n"
    (finding,) = migrated(text).lost
    assert (str(finding.problem.path), finding.line) == ("spec.controller", 3)


def comments(text: str) -> set[str]:
    return {line.strip() for line in re.findall(r"(?<!\S)#.*", text)}


@pytest.mark.no_cover
@each_row(("one", "other"), *pairs())
def test_a_converted_text_reads_as_what_the_server_stores(one: Base, other: Base) -> None:
    for ours, theirs in zip(one.stored, other.stored, strict=True):
        wanted = convert(ours, f"{GROUP}/{other.version}")
        assert plain(wanted) == plain(theirs) or one.name == "ResourceSlice/slice-sel", (
            "the server had the same content"
        )
        for text in (dump([ours]), json.dumps(ours), json.dumps(ours, indent=2)):
            assert objects(converted(text, other.version)) == [wanted]


KINDS = [
    base
    for base in BASES
    if base.stored and base.version != "v1alpha2" and base.submitted["kind"] in VERSIONS[f"{GROUP}/v1beta1"].kinds
]


@examples(60)
@given(st.sampled_from(KINDS), st.sampled_from(["v1", "v1beta2", "v1beta1"]), st.randoms(use_true_random=False))
def test_every_comment_is_kept_and_nothing_else_changes(base: Base, version: str, random: Random) -> None:
    noted: list[str] = []
    for number, line in enumerate(dump([base.stored[0]]).splitlines()):
        if random.random() < 1 / 3:
            column = random.choice([0, 2, 4, len(line) - len(line.lstrip())])
            noted.append(f"{' ' * column}# above {number}")
        noted.append(f"{line}  # beside {number}" if random.random() < 1 / 3 else line)
        if random.random() < 1 / 6:
            noted.append("")
    text = "\n".join(noted) + random.choice(["", "\n", "\n\n"])
    if objects(text) != [base.stored[0]]:  # a comment in a text of several lines is none
        return
    changed = converted(text, version)
    wanted = convert(base.stored[0], f"{GROUP}/{version}")
    assert objects(changed) == [wanted]
    assert comments(text) == comments(changed)
    assert converted(changed, version) == changed
    assert lines_but_for_moves(text) - lines_but_for_moves(changed) <= GONE


GONE = {'""', "false", "{}", "basic:", "exactly:"}
"""Lines that one version needs and another does not."""


def lines_but_for_moves(text: str) -> set[str]:
    """Return the last part of each line, without comments."""
    lines = (re.sub(r"\s*(?<!\S)#.*", "", line).rpartition(": ")[2].lstrip(" -") for line in text.splitlines())
    return {line for line in lines if not line.startswith(GROUP)}


@each_row(
    ("device", "becomes"),
    ({"basic": {"attributes": {}}}, {"basic": {"attributes": {}}}),
    ({"basic": {"attributes": {}}, "capacity": {}}, {"basic": {"attributes": {}, "capacity": {}}}),
    ({"basic": 1}, {"basic": {"basic": 1}}),
)
def test_a_device_that_already_has_the_box_of_the_wanted_version_gets_no_second_one(
    device: dict[str, Any], becomes: dict[str, Any]
) -> None:
    text = json.dumps({"apiVersion": f"{GROUP}/v1", "kind": "ResourceSlice", "spec": {"devices": [device]}})
    (changed,) = objects(converted(text, "v1beta1"))
    assert changed["spec"]["devices"] == [becomes]


def test_a_request_that_already_has_exactly_gets_no_second_one() -> None:
    request = {"name": "a", "exactly": {"deviceClassName": "c"}, "count": 2}
    text = {"apiVersion": f"{GROUP}/v1beta1", "kind": "ResourceClaim", "spec": {"devices": {"requests": [request]}}}
    (changed,) = objects(converted(json.dumps(text)))
    assert changed["spec"]["devices"]["requests"] == [{"name": "a", "exactly": {"deviceClassName": "c", "count": 2}}]


def test_a_misplaced_field_does_not_hide_the_loss_of_another_of_its_name() -> None:
    text = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
spec:
  capacity: {}
  devices:
    requests:
    - name: a
      exactly: {deviceClassName: c, capacity: {requests: {memory: 1Gi}}}
"""
    (finding,) = migrated(text, "v1alpha3").lost
    assert str(finding.problem.path) == "spec.devices.requests[0].capacity"


V1 = "resource.k8s.io/v1"
A = 'device.attributes["gpu.example.com"]'
CASES = (
    ('attributes.string["model"] == "A100"', 'device.attributes["gpu.example.com"].model == "A100"'),
    ("attributes.bool['ecc']", 'device.attributes["gpu.example.com"].ecc'),
    (
        'attributes.quantity["memory"].isGreaterThan(quantity("40Gi"))',
        'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))',
    ),
    (
        'attributes.version["driver"].isGreaterThan(semver("1.0.0")) || attributes.int["index"] == 0',
        f'({A}.driver.isGreaterThan(semver("1.0.0")) || {A}.index == 0)',
    ),
)


def result(obj: dict[str, Any]) -> Any:
    """Return the JSON in the advice; None if it has none."""
    same, (problem,) = from_classic(obj, Parameters())
    assert same is obj
    assert problem.rule == "no-counterpart"
    start, end = problem.hint.find("{"), problem.hint.rfind("}")
    return json.loads(problem.hint[start : end + 1]) if ", and delete the object" in problem.hint else None


def claim_parameters(selector: str, **more: Any) -> dict[str, Any]:
    request = {"namedResources": {"selector": selector}, "vendorParameters": {"kind": "Long"}}
    driver = {"driverName": "gpu.example.com", "requests": [request], **more}
    return {"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClaimParameters", "driverRequests": [driver]}


def class_parameters(selector: str) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1alpha2",
        "kind": "ResourceClassParameters",
        "filters": [{"driverName": "gpu.example.com", "namedResources": {"selector": selector}}],
        "vendorParameters": [{"driverName": "gpu.example.com", "parameters": {"kind": "Short"}}],
    }


@each_row(("selector", "expression"), *CASES)
def test_suggested_parameters_fit_claims_and_classes_of_v1(selector: str, expression: str) -> None:
    devices = result(claim_parameters(selector, vendorParameters={"kind": "All"}))
    whole = f'device.driver == "gpu.example.com" && {expression}'
    assert devices["requests"][0]["exactly"]["selectors"] == [{"cel": {"expression": whole}}]
    assert [each["opaque"]["parameters"]["kind"] for each in devices["config"]] == ["Long", "All"]
    devices["requests"][0]["exactly"]["deviceClassName"] = "gpu.example.com"
    claim = {"apiVersion": V1, "kind": "ResourceClaim", "metadata": {"name": "a"}, "spec": {"devices": devices}}
    assert validate(claim) == []
    spec = result(class_parameters(selector))
    assert spec["config"] == [{"opaque": {"driver": "gpu.example.com", "parameters": {"kind": "Short"}}}]
    assert validate({"apiVersion": V1, "kind": "DeviceClass", "metadata": {"name": "a"}, "spec": spec}) == []


def test_a_request_for_anything_is_one_for_any_device_of_the_driver() -> None:
    (request,) = result(claim_parameters("true"))["requests"]
    assert request["exactly"]["selectors"] == [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]


@each_row(
    "selector", 'attributes.stringslice["a"].strings.exists(x, x == "b")', 'attributes.string["a-b"] == "c"', "", 3
)
def test_missing_attributes_of_devices_are_described(selector: Any) -> None:
    assert result(claim_parameters(selector)) is None
    assert result(class_parameters(selector)) is None


def test_several_drivers_or_none_are_described() -> None:
    parameters = class_parameters('attributes.bool["a"]')
    parameters["filters"] *= 2
    assert result(parameters) is None
    assert result({"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClaimParameters"}) is None


class TestClaimsWithTheirParameters:
    CLAIM: ClassVar[dict[str, Any]] = {
        "apiVersion": "resource.k8s.io/v1alpha2",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpu", "namespace": "a"},
        "spec": {
            "resourceClassName": "gpu.example.com",
            "parametersRef": {"apiGroup": "gpu.example.com", "kind": "GpuParameters", "name": "one"},
        },
    }
    TEMPLATE: ClassVar[dict[str, Any]] = {**CLAIM, "kind": "ResourceClaimTemplate", "spec": {"spec": CLAIM["spec"]}}
    MADE: ClassVar[dict[str, Any]] = {"generatedFrom": CLAIM["spec"]["parametersRef"]}

    @staticmethod
    def parameters(namespace: str = "a", selector: str = CASES[0][0], **more: Any) -> dict[str, Any]:
        return {**claim_parameters(selector), "metadata": {"name": "p", "namespace": namespace}, **more}

    @each_row("claim", CLAIM, TEMPLATE)
    def test_they_become_a_part_of_it(self, claim: dict[str, Any]) -> None:
        given = self.parameters(**self.MADE)
        known = Parameters([claim, given])
        newer, problems = from_classic(claim, known)
        assert problems == []
        assert validate({**newer, "apiVersion": V1}) == []
        spec = newer["spec"].get("spec", newer["spec"])
        (request,) = spec["devices"]["requests"]
        assert request["exactly"]["deviceClassName"] == "gpu.example.com"
        assert CASES[0][1] in request["exactly"]["selectors"][0]["cel"]["expression"]
        assert spec["devices"]["config"][0]["requests"] == [request["name"]]
        (problem,) = from_classic(given, known)[1]
        assert problem.hint.startswith(f"its content is part of {claim['kind']} gpu now: delete the object")

    @each_row(
        "given",
        parameters(namespace="b", **MADE),
        parameters(),
        parameters(selector="attributes.string[model]", **MADE),
    )
    def test_unclear_parameters_are_not_converted(self, given: dict[str, Any]) -> None:
        known = Parameters([self.CLAIM, given])
        _, (problem,) = from_classic(self.CLAIM, known)
        assert problem.path == ("spec", "parametersRef")
        assert "is a part of" not in from_classic(given, known)[1][0].hint

    def test_a_claim_may_name_them_themselves(self) -> None:
        reference = {"apiGroup": "resource.k8s.io", "kind": "ResourceClaimParameters", "name": "p"}
        claim = {**self.CLAIM, "spec": {**self.CLAIM["spec"], "parametersRef": reference}}
        assert from_classic(claim, Parameters([self.parameters()]))[1] == []
