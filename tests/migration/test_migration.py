"""Converted texts match the API server's conversion of their objects, and keep all other lines."""

import json
import re
from random import Random
from time import process_time
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.api.bases import BASES, CLAIM, Base, pairs, plain
from tests.examples import examples
from tests.migration.manifests import CLASSIC, EXACT, FLAT, converted, migrated
from tests.rows import each_row, each_row_beside
from tests.structured import claim, of_kind
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
    assert migrated("NAME  READY\n---\n- a\n").lost == []


@each_row_beside("before", "after", "older")
def test_a_text_is_converted_and_says_where_it_was_older(before: str, after: str, older: list[int]) -> None:
    changed = migrated(before)
    assert changed.after == after
    assert [finding.line for finding in changed.older] == older


@each_row("layout", *({"indent": each} for each in (None, 2, 4, "\t")), {"separators": (",", ":")})
def test_json_stays_json_in_its_layout(layout: Any) -> None:
    claim = CLAIM | {"metadata": {"name": "é\U0001f600"}, "b": [], "c": {}}
    newer, older = (f"\n {json.dumps(each, **layout)}\n" * 2 for each in (claim, claim | OLDER))
    assert converted(older) == newer
    assert converted(newer, "v1beta1") == older


def test_source_of_claims_stays_where_releases_need_it() -> None:
    text = "{apiVersion: v1, kind: Pod, spec: {resourceClaims: [{name: a, source: {resourceClaimName: c}}]}}"
    assert converted(text) == text.replace("source: {resourceClaimName: c}", "resourceClaimName: c")
    assert converted(text, "", 30, 31) == text
    for empty in ("{}", "null"):
        older, newer = "source: {resourceClaimName: c}", ", source: {resourceClaimName: c}"
        assert converted(text.replace(older, f"source: {empty}")) == text.replace(newer, "")


def test_the_version_is_the_newest_that_all_releases_serve() -> None:
    newest = {(): "v1", (36,): "v1", (33, 36): "v1beta2", (32, 34): "v1beta1", (31,): "v1alpha3"}
    for releases, version in newest.items():
        assert objects(converted(FLAT, "", *releases))[0]["apiVersion"] == f"{GROUP}/{version}"


def test_a_kind_that_no_release_serves_in_common_is_a_finding() -> None:
    found = migrated(FLAT, "", 31, 34)
    assert found.after == FLAT
    (lost,) = found.lost
    assert str(lost.problem) == "kind: Kubernetes 1.31, 1.34 have no version of ResourceClaim in common"


def test_a_kind_that_the_version_lacks_gets_the_newest_that_is_served() -> None:
    rule = "apiVersion: resource.k8s.io/v1alpha3\nkind: DeviceTaintRule\nmetadata: {name: a}\nspec: {taint: {}}\n"
    assert converted(rule) == rule.replace("v1alpha3", "v1")
    assert converted(rule, "v1beta1", 36) == rule.replace("v1alpha3", "v1beta2")
    assert converted(rule, "v1", 34).startswith("apiVersion: resource.k8s.io/v1\n")


def test_targets_are_those_of_the_api() -> None:
    with_classes = (name for name, version in VERSIONS.items() if "DeviceClass" in version.kinds)
    assert tuple(name.rpartition("/")[2] for name in with_classes) == TARGETS


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
    lost = ["spec.allocationMode", "spec.parametersRef", "kind", "parametersRef", "suitableNodes"]
    assert [str(finding.problem.path) for finding in changed.lost] == lost
    assert all("docs/migrate.md" in finding.problem.hint for finding in changed.lost)
    for version in ("v1beta1", "v1", "v1"):  # what is left is an error each time
        changed = migrated(changed.after, version)
        assert sorted(str(finding.problem.path) for finding in changed.lost) == sorted(lost)
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


LOSSES = (
    ("v1alpha2", "{resourceClassName: a}\nstatus: {a: 1}", "", "status", 4),
    ("v1alpha3", "{controller: c, typo: 1, devices: {}}", "", "spec.controller", 3),
    # A misplaced field does not hide the loss of another of its name.
    (
        "v1",
        "{capacity: {}, devices: {requests: [{name: a, exactly: {deviceClassName: c, capacity: {requests: {m: 1}}}}]}}",
        "v1alpha3",
        "spec.devices.requests[0].capacity",
        3,
    ),
)


def test_each_part_of_a_claim_that_is_lost_is_a_finding() -> None:
    text = f"apiVersion: {GROUP}/v1alpha2\nkind: ResourceClaim\nspec: {{}}\nstatus: {{a: 1}}\n"
    assert [str(finding.problem.path) for finding in migrated(text, "").lost] == ["spec", "status"]
    template = text.replace("Claim\n", "ClaimTemplate\n")
    assert [str(finding.problem.path) for finding in migrated(template, "").lost] == ["spec.spec"]


@each_row(("older", "spec", "version", "path", "line"), *LOSSES)
def test_what_the_version_lacks_is_a_finding(older: str, spec: str, version: str, path: str, line: int) -> None:
    text = f"apiVersion: {GROUP}/{older}\nkind: ResourceClaim\nspec: {spec}\n"
    (finding,) = migrated(text, version).lost
    assert (str(finding.problem.path), finding.line) == (path, line)


def test_a_misspelt_field_stays_as_no_version_has_it() -> None:
    obj = claim({"name": "g", "exactly": {"class": "gpu", "mode": "All", "clas": "gpu"}})
    result = migration.converted(obj | {"apiVersion": f"{GROUP}/v1beta2"}, migration.MigrationTarget(), Parameters())
    assert (result.object, result.lost) == (obj | {"apiVersion": f"{GROUP}/v1"}, [])


def test_a_field_that_the_version_gets_in_a_later_release_is_one_that_the_release_lacks() -> None:
    obj = claim({"name": "g", "firstAvailable": [{"name": "x", "deviceClassName": "gpu"}]})
    result = migration.converted(obj, migration.MigrationTarget(releases=[Release(32)]), Parameters())
    assert [problem.message for problem in result.lost] == ["Kubernetes 1.32 has no firstAvailable"]
    assert result.lost[0].hint.startswith("write the fields of one alternative in its place")
    assert result.object["spec"] == obj["spec"], "and nothing is filled in for it"
    found = judge(result.object, kubernetes="1.32", beyond_decoding=True)
    assert [problem.rule for problem in found] == ["unknown-field"]


def test_many_fields_that_the_release_lacks_take_linear_time() -> None:
    obj = claim(*({"name": f"g{each}", "exactly": {"deviceClassName": "gpu", "capacity": {}}} for each in range(1500)))
    began = process_time()
    lost = migration.converted(obj, migration.MigrationTarget(releases=[Release(33)]), Parameters()).lost
    assert len(lost) == 1500
    assert process_time() - began < 3, "it takes a third of a second; quadratic time would be ten seconds"


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
def test_a_device_that_has_the_box_of_the_wanted_version_gets_no_second_one(device: Any, becomes: Any) -> None:
    text = json.dumps({"apiVersion": f"{GROUP}/v1", "kind": "ResourceSlice", "spec": {"devices": [device]}})
    (changed,) = objects(converted(text, "v1beta1"))
    assert changed["spec"]["devices"] == [becomes]


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
    ("true", ""),
)


def result(obj: dict[str, Any]) -> Any:
    """Return the JSON in the advice; None if it has none."""
    same, (problem,) = from_classic(obj, Parameters())
    assert same is obj
    assert problem.rule == "no-counterpart"
    start, end = problem.hint.find("{"), problem.hint.rfind("}")
    return json.loads(problem.hint[start : end + 1]) if ", and delete the object" in problem.hint else None


DRIVER, OLDEST = {"driverName": "gpu.example.com"}, f"{GROUP}/v1alpha2"


def claim_parameters(selector: str, **more: Any) -> dict[str, Any]:
    request = {"namedResources": {"selector": selector}, "vendorParameters": {"kind": "Long"}}
    requests = [{**DRIVER, "requests": [request], **more}]
    return {"apiVersion": OLDEST, "kind": "ResourceClaimParameters", "driverRequests": requests}


def class_parameters(selector: str) -> dict[str, Any]:
    filters = [{**DRIVER, "namedResources": {"selector": selector}}]
    own = [{**DRIVER, "parameters": {"kind": "Short"}}]
    return {"apiVersion": OLDEST, "kind": "ResourceClassParameters", "filters": filters, "vendorParameters": own}


@each_row(("selector", "expression"), *CASES)
def test_suggested_parameters_fit_claims_and_classes_of_v1(selector: str, expression: str) -> None:
    devices = result(claim_parameters(selector, vendorParameters={"kind": "All"}))
    whole = 'device.driver == "gpu.example.com"' + (expression and f" && {expression}")
    assert devices["requests"][0]["exactly"]["selectors"] == [{"cel": {"expression": whole}}]
    assert [each["opaque"]["parameters"]["kind"] for each in devices["config"]] == ["Long", "All"]
    devices["requests"][0]["exactly"]["deviceClassName"] = "gpu.example.com"
    assert validate(of_kind("ResourceClaim", {"devices": devices}, "v1")) == []
    spec = result(class_parameters(selector))
    assert spec["config"] == [{"opaque": {"driver": "gpu.example.com", "parameters": {"kind": "Short"}}}]
    assert validate(of_kind("DeviceClass", spec, "v1")) == []


@each_row(
    "selector", 'attributes.stringslice["a"].strings.exists(x, x == "b")', 'attributes.string["a-b"] == "c"', "", 3
)
def test_missing_attributes_of_devices_are_described(selector: Any) -> None:
    assert result(claim_parameters(selector)) is None
    assert result(class_parameters(selector)) is None


def test_several_drivers_or_none_are_described() -> None:
    parameters = class_parameters('attributes.bool["a"]')
    assert result({**parameters, "filters": parameters["filters"] * 2}) is None
    for number in (32, 33):  # a class can have 32, and a claim
        own = result({**parameters, "vendorParameters": parameters["vendorParameters"] * number})
        assert len(own["config"] if own else ()) == number % 33
        requests = claim_parameters("true")["driverRequests"][0]["requests"]
        of_driver = [{"driverName": "a", "vendorParameters": {}} for _ in range(number - 1)]
        given = {**claim_parameters("true"), "driverRequests": [{**DRIVER, "requests": requests}, *of_driver]}
        devices = result(given)
        assert len(devices["config"] if devices else ()) == number % 33
    assert result({"apiVersion": OLDEST, "kind": "ResourceClaimParameters"}) is None
    requests = claim_parameters("true")["driverRequests"][0]["requests"]
    for number in (32, 33):  # a claim can have 32
        devices = result(claim_parameters("true", requests=requests * number))
        assert len(devices["requests"] if devices else ()) == number % 33


class TestClaimsWithTheirParameters:
    REFERENCE: ClassVar[dict[str, str]] = {"apiGroup": "gpu.example.com", "kind": "GpuParameters", "name": "one"}
    SPEC: ClassVar[dict[str, Any]] = {"resourceClassName": "gpu.example.com", "parametersRef": REFERENCE}
    CLAIM: ClassVar[dict[str, Any]] = {
        **of_kind("ResourceClaim", SPEC, "v1alpha2"),
        "metadata": {"name": "gpu", "namespace": "a"},
    }
    TEMPLATE: ClassVar[dict[str, Any]] = {**CLAIM, "kind": "ResourceClaimTemplate", "spec": {"spec": SPEC}}
    MADE: ClassVar[dict[str, Any]] = {"generatedFrom": REFERENCE}

    @staticmethod
    def parameters(namespace: str = "a", selector: str = CASES[0][0], **more: Any) -> dict[str, Any]:
        return {**claim_parameters(selector), "metadata": {"name": "p", "namespace": namespace}, **more}

    @each_row("claim", CLAIM, TEMPLATE)
    def test_they_become_a_part_of_it(self, claim: dict[str, Any]) -> None:
        given = self.parameters(**self.MADE)
        known = Parameters([claim, given])
        newer, problems = from_classic(claim, known)
        assert problems == []
        assert validate({**newer, "apiVersion": f"{GROUP}/v1"}) == []
        spec = newer["spec"].get("spec", newer["spec"])
        (request,) = spec["devices"]["requests"]
        assert request["exactly"]["deviceClassName"] == "gpu.example.com"
        assert CASES[0][1] in request["exactly"]["selectors"][0]["cel"]["expression"]
        assert spec["devices"]["config"][0]["requests"] == [request["name"]]
        (problem,) = from_classic(given, known)[1]
        assert problem.hint.startswith(f"its content is part of {claim['kind']} gpu now: delete the object")

    @each_row("given", parameters("b", **MADE), parameters(), parameters(selector="attributes.string[model]", **MADE))
    def test_unclear_parameters_are_not_converted(self, given: dict[str, Any]) -> None:
        known = Parameters([self.CLAIM, given])
        _, (problem,) = from_classic(self.CLAIM, known)
        assert problem.path == ("spec", "parametersRef")
        assert "is a part of" not in from_classic(given, known)[1][0].hint

    def test_a_claim_may_name_them_themselves(self) -> None:
        reference = {"apiGroup": "resource.k8s.io", "kind": "ResourceClaimParameters", "name": "p"}
        claim = {**self.CLAIM, "spec": {**self.SPEC, "parametersRef": reference}}
        assert from_classic(claim, Parameters([self.parameters()]))[1] == []

    @each_row("reference", None, {}, {"apiGroup": "gpu.example.com"})
    def test_a_claim_that_names_none_has_none(self, reference: dict[str, str] | None) -> None:
        given = self.parameters(generatedFrom=reference)
        claim = {**self.CLAIM, "spec": {"resourceClassName": "gpu.example.com", "parametersRef": {}}}
        known = Parameters([claim, given])
        assert from_classic(claim, known) == from_classic(claim, Parameters())
        assert known.user(given) == ""

    def test_parameters_of_a_class_are_no_part_of_a_claim(self) -> None:
        given = {**class_parameters('attributes.bool["a"]'), "metadata": {"name": "p", "namespace": "a"}, **self.MADE}
        (problem,) = from_classic(given, Parameters([self.CLAIM, self.parameters(**self.MADE), given]))[1]
        assert problem.hint.startswith("write into the DeviceClass, as spec")
