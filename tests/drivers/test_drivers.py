"""Profiles of drivers: those that come with draguard, those of users, and their effects."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import ROOT, Done, draguard, findings, usage_error
from tests.rows import each_row, each_row_beside
from tests.schemas import Validator
from tests.schemas import schema as schema_of
from tests.stored import completed
from tests.structured import claim, of_kind
from webhook.check import references
from webhook.drivers import built_in, profile_of, text_of
from webhook.drivers.mistakes import ProfileError, read_profile
from webhook.drivers.schema import check_parameters
from webhook.objects import JSONObject

OWN = """\
driver: gpu.example.org
classes: {gpu.example.org: gpu}
devices:
  gpu:
    attributes: {model: string}
    optional: {numaNode: int}
parameters: crd
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec:
  group: gpu.example.org
  names: {kind: GpuConfig}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          size: {x-kubernetes-int-or-string: true}
          names: {type: array, minItems: 1, items: {type: string, pattern: "^[a-z]+$"}}
          more: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.org
        selectors:
        - cel: {expression: 'device.attributes["gpu.example.org"].modl == "a"'}
        - cel: {expression: 'device.attributes["gpu.example.org"].numaNode == 1'}
    config:
    - opaque:
        driver: gpu.example.org
        parameters: {apiVersion: gpu.example.org/v1, kind: GpuConfig, sizes: 1, names: [A], size: 1, more: {any: 1}}
"""


pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty directory."""
    monkeypatch.chdir(tmp_path)


def checked(*texts: str) -> Done:
    """Check profiles: ``a.yaml``, ``b.yaml``."""
    files = [Path(f"{name}.yaml") for name, _ in zip("ab", texts, strict=False)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    return draguard("driver", "check", *files)


def judged(profile: str | dict[str, Any], manifest: str | dict[str, Any] = CLAIM) -> Done:
    """Validate a manifest by a profile."""
    text = profile if isinstance(profile, str) else json.dumps(profile)
    Path("profile.yaml").write_text(text, encoding="utf-8")
    stdin = manifest if isinstance(manifest, str) else json.dumps(manifest)
    return draguard("validate", "--driver-profile", "profile.yaml", "-", stdin=stdin.encode())


@each_row("driver", *built_in())
def test_a_profile_is_well_formed(driver: str) -> None:
    profile = profile_of(driver)
    assert profile
    checked = read_profile(yaml.safe_load(text_of(driver)))
    assert profile._replace(rules=(), schemas={}) == checked._replace(rules=(), schemas={})
    assert [each.stated for each in profile.rules] == [each.stated for each in checked.rules]
    assert profile.driver == driver
    assert profile.about
    assert profile.source
    assert set(profile.classes.values()) <= set(profile.devices)


def faults(driver: str, parameters: Any) -> list[str]:
    profile = profile_of(driver)
    assert profile
    return [f"{'.'.join(map(str, each.path))}: {each.message}" for each in check_parameters(profile, parameters)]


def nvidia(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", **fields}


TPU = {"apiVersion": "tpu.resource.google.com/v1alpha1", "kind": "TpuConfig"}
VF = {"apiVersion": "sriovnetwork.k8snetworkplumbingwg.io/v1alpha1", "kind": "VfConfig", "netAttachDefName": "a"}


@each_row(
    ("driver", "parameters"),
    ("gpu.nvidia.com", nvidia()),
    ("gpu.example.com", {"apiVersion": "gpu.resource.example.com/v1alpha1", "kind": "GpuConfig"}),
    ("dra.net", {"interface": {"name": "eth1", "addresses": ["10.0.0.1/24", "fd00::1/64"], "mtu": 9000}}),
    ("dra.net", {"routes": [{"destination": "0.0.0.0/0", "gateway": "10.0.0.254"}]}),
    ("dra.cpu", {"apiVersion": "v1alpha1", "cpuConfig": {"cpuset": "0-3,5"}, "other": 1}),
    ("compute-domain.nvidia.com", {**nvidia(), "kind": "ComputeDomainChannelConfig", "domainID": "a"}),
    ("dra.memory", {}),
    ("tpu.google.com", {**TPU, "logging": {"level": 2}}),
    ("sriovnetwork.k8snetworkplumbingwg.io", {**VF, "vf": {"vlan": 100, "trust": True, "linkState": "auto"}}),
)
def test_what_a_driver_takes(driver: str, parameters: Any) -> None:
    assert faults(driver, parameters) == []


@each_row_beside("driver", "parameters", "fault")
def test_what_a_driver_refuses(driver: str, parameters: Any, fault: str) -> None:
    assert any(fault in each for each in faults(driver, parameters)), faults(driver, parameters)


@each_row(
    ("parameters", "hint"),
    ({"kind": True}, "VfioDeviceConfig: in YAML, y, n, yes, no, on and off are booleans, too"),
    ({"kind": 5}, "VfioDeviceConfig"),
    ({"sharing": {}, "sharin": {}}, "sharing is there already: remove one of the two"),
)
def test_a_hint_is_about_what_was_written(parameters: dict[str, Any], hint: str) -> None:
    profile = profile_of("gpu.nvidia.com")
    assert profile
    found = list(check_parameters(profile, nvidia(**parameters)))
    assert [each.fix for each in found if each.hint.endswith(hint)] == [None]


@each_row_beside("profile", "message")
def test_a_malformed_profile_is_refused(profile: Any, message: str) -> None:
    with pytest.raises(ProfileError) as refused:
        read_profile(profile)
    assert any(re.search(message, each.message) for each in refused.value.args)


def test_mistakes_far_down_in_a_schema_are_found() -> None:
    schema: Any = {"pattern": 3}
    for _ in range(97):  # deeper than parameters are looked at
        schema = {"properties": {"a": schema}}
    with pytest.raises(ProfileError, match=r"\.a\.pattern: 3 is not of type string"):
        read_profile({"driver": "a", "parameters": {"schema": schema}})


def test_a_profile_has_so_many_values() -> None:
    with pytest.raises(ProfileError, match="it has more than 50,000 values"):
        read_profile({"driver": "a", "parameters": {"schema": {"enum": [[0] * 300] * 300}}})


@each_row(
    ("schema", "good", "bad", "message"),
    ({"multipleOf": 0.1}, [0.3, 2, "a", True], 0.35, "0.35 is not a multiple of 0.1"),
    ({"multipleOf": 2}, [10**400], float("inf"), "Infinity is not a multiple of 2"),
    ({"multipleOf": float("inf"), "minimum": 1}, [2], 0, "0 is less than 1"),
    ({"minimum": 1, "exclusiveMinimum": True}, [2], 1, "1 is the minimum, which exclusiveMinimum excludes"),
    ({"maximum": 1, "exclusiveMaximum": True}, [0], 1, "1 is the maximum, which exclusiveMaximum excludes"),
    ({"uniqueItems": True}, [[1, True, 2], 3], [1, 2, 2], "2 is listed twice"),
    ({"allOf": [{"minimum": 1}, {"maximum": 5}]}, [3], 9, "9 is greater than 5"),
    ({"anyOf": [{"type": "string"}, {"minimum": 5}]}, [7, "x"], 1, "1 is less than 5"),
    ({"anyOf": [{"maximum": 3}, {"minimum": 5}]}, [2, 7], 4, "4 fits none of the schemas in anyOf"),
    ({"anyOf": [{"type": "string"}, {"type": "array"}]}, ["x", []], 1, "1 is not of type string or array"),
    ({"oneOf": [{"minimum": 5}, {"maximum": 7}]}, [1, 9], 6, "6 fits 2 of the schemas in oneOf, and must fit one"),
    ({"enum": [True, "auto"]}, [True, "auto"], 1, '1 is not supported; supported are true, "auto"'),
    ({"not": {"enum": [3]}}, [2], 3, "3 fits the schema in not"),
    ({"gate": "Alpha"}, [], 3, "a needs the driver's feature gate Alpha, which is off by default"),
    (
        {"properties": {"b": {}, "c": {}}, "oneOf": [{"required": ["b"]}, {"properties": {"c": {"minimum": 1}}}]},
        [{"b": 1, "c": 0}, {"c": 1}],
        {"c": 0, "d": 1},
        'unknown field "d"',
    ),
)
def test_keywords_of_a_schema(schema: Any, good: list[Any], bad: Any, message: str) -> None:
    parameters = {"schema": {"properties": {"a": schema}}}
    profile = read_profile({"driver": "d", "gates": {"Alpha": False}, "parameters": parameters})
    assert [[*check_parameters(profile, {"a": value})] for value in good] == [[] for _ in good]
    assert message in [fault.message for fault in check_parameters(profile, {"a": bad})]


class TestOwnProfiles:
    def test_they_are_checked(self) -> None:
        kinds = "kinds of devices: gpu; 2 attributes, 0 capacities; parameters: GpuConfig"
        assert checked(OWN).out == f"gpu.example.org: {kinds}\n"
        one = "{driver: a, devices: {x: {attributes: {b: string}, capacity: [memory]}}}"
        assert "; 1 attribute, 1 capacity; " in checked(one).out
        done = checked("driver: a\nparameters: {schema: {enumm: [1]}}\n")
        assert (done.code, done.out) == (1, "")
        assert 'parameters.schema.enumm: unknown field "enumm"; did you mean "enum"?' in done.err

    def test_short_words_of_their_names_may_be_mistyped(self) -> None:
        done = judged("driver: nic.acme.io\n", claim({"name": "nic", "exactly": {"deviceClassName": "nci.acme.io"}}))
        assert 'no driver "nci.acme.io" is known, but "nic.acme.io" is' in done.out

    def test_they_say_what_a_driver_publishes_and_takes(self) -> None:
        done = judged(OWN)
        assert 'have no attribute "modl"' in done.out
        assert 'not every device of driver "gpu.example.org" has "numaNode"' in done.out
        assert 'parameters.sizes: unknown field "sizes"' in done.out
        assert 'names[0]: "A" does not match' in done.out
        assert "4 warnings" in done.out
        Path(".draguard.yaml").write_text("driverProfiles: [profile.yaml]", encoding="utf-8")
        Path("claim.yaml").write_text(CLAIM, encoding="utf-8")
        assert "4 warnings" in draguard("validate", "claim.yaml").out

    @each_row(
        ("text", "message"),
        ("a: [", "--driver-profile: "),
        ("driver: ''", "driver: a lowercase RFC 1123 subdomain"),
        ("{driver: a, parameters: crd}\n---\n{kind: CustomResourceDefinition, spec: []}", "stands beside"),
        ("{driver: a, parameters: crd}\n---\n{kind: CustomResourceDefinition, spec: [1]}", "is malformed"),
    )
    def test_what_cannot_be_used_is_an_error(self, text: str, message: str) -> None:
        done = judged(text)
        assert (done.code, message in done.err) == (2, True)


def test_checks_that_take_too_much_work_end_and_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "_CHECKED", 1000)
    config = {"opaque": {"driver": "gpu.example.org", "parameters": {"a": [-1] * 1000}}}
    asked = {"name": "a", "exactly": {"deviceClassName": "gpu.example.org"}}
    made = claim(asked, config=[config, config])
    for combined in ({"allOf": [{"enum": list(range(-50, 0))}] * 100}, {"anyOf": [{"type": "string"}] * 100}):
        schema = {"properties": {"a": {"items": combined}}}
        done = judged({"driver": "gpu.example.org", "parameters": {"schema": schema}}, made)
        assert done.code == 0
        assert done.out.count("parameters: not checked: the profiles' schemas take more work than draguard allows") == 2


class TestCheck:
    def test_all_mistakes_are_listed(self) -> None:
        checked("{driver: a, devices: {x: {attributes: {b: strng, c: integer}}, z: {capcity: []}}}")
        said = usage_error("driver", "check", "a.yaml", "gone.yaml")
        assert [line.partition(";")[0] for line in said.splitlines()] == [
            'a.yaml:1:40: devices.x.attributes.b: "strng" is not supported',
            'a.yaml:1:50: devices.x.attributes.c: "integer" is not supported',
            'a.yaml:1:68: devices.z.capcity: unknown field "capcity"',
            "gone.yaml: no such file or directory",
        ]

    @each_row_beside("profile", "mistakes")
    def test_each_mistake_is_shown_where_it_is(self, profile: str, mistakes: list[str]) -> None:
        done = checked(profile)
        found = [line for line in done.err.splitlines() if line.startswith("a.yaml:")]
        told = [line.startswith(f"a.yaml:{each}") for line, each in zip(found, mistakes, strict=True)]
        assert (all(told), done.code, bool(done.err)) == (True, bool(mistakes), bool(mistakes)), found

    def test_the_text_of_a_fault_in_cel_keeps_its_lines(self) -> None:
        assert " | requst.count > 1" in checked("{driver: a, rules: [{rule: requst.count > 1}]}").err.splitlines()

    def test_kubernetes_objects_are_not_profiles(self) -> None:
        obj = "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\n"
        checked(f"{obj}\n---\n{obj}", obj)
        done = draguard("driver", "check", ".")
        assert done.code == 1
        said = re.findall("^(.*): a Kubernetes object is not a profile;", done.err, re.MULTILINE)
        assert (said, done.err.count("\n")) == (["a.yaml", "b.yaml"], 2)

    @each_row("text", "", "# nothing", "kind: CustomResourceDefinition")
    def test_a_file_without_a_profile_is_an_error(self, text: str) -> None:
        assert checked(text) == (1, "", "a.yaml: no profile found\n")
        done = judged(text)
        assert (done.code, "--driver-profile: " in done.err, "no profile found" in done.err) == (2, True, True)

    def test_a_driver_has_one_profile(self) -> None:
        done = checked("driver: a\n---\ndriver: b\n---\ndriver: a", "driver: b")
        assert (done.code, done.out) == (1, "")
        assert done.err.splitlines() == [
            "a.yaml:5:1: a has another profile in a.yaml:1; keep one of them",
            "b.yaml:1:1: b has another profile in a.yaml:3; keep one of them",
        ]
        assert draguard("driver", "check", "b.yaml", ".//b.yaml").code == 0


def test_each_read_of_an_expression_has_its_finding() -> None:
    device = 'device.attributes["gpu.nvidia.com"]'
    conditions = ["produtName == 'a'", "brnd == 'b'", "uuid == 3", "gpuModuleID == 3", "produtName == 3"]
    expression = " && ".join(f"{device}.{each}" for each in ("type == 'gpu'", *conditions))
    selectors = [{"cel": {"expression": f'device.driver == "gpu.nvidia.com" && {expression}'}}]
    judged = findings("validate", "-", stdin=json.dumps(of_kind("DeviceClass", {"selectors": selectors}, "v1")))
    rules = ["attribute-not-of-driver", "attribute-not-of-driver", "attribute-optional", "attribute-type"]
    assert sorted(each["rule"] for each in judged) == rules


class TestCommand:
    def test_show_lists_and_prints_profiles(self) -> None:
        listed = draguard("driver", "show").out
        assert [line.split()[0] for line in listed.splitlines()] == list(built_in())
        assert yaml.safe_load(draguard("driver", "show", "dra.net").out)["driver"] == "dra.net"
        assert draguard("explain", "dra.net").out.startswith("driver: dra.net")
        assert "did you mean gpu.nvidia.com?" in usage_error("driver", "show", "gpu.nvidia.co")

    def test_a_profile_is_made_of_slices(self) -> None:
        made = draguard("driver", "from-cluster", ROOT / "examples/simulate/cluster.yaml")
        again = draguard("driver", "from-cluster", "--cluster", ROOT / "examples/simulate/cluster.yaml")
        assert again == made
        assert yaml.safe_load(made.out)["devices"]["device"]["attributes"]["model"] == "string"
        assert judged(made.out).code == 0

    def test_objects_that_it_does_not_need_are_ignored(self) -> None:
        cluster = (ROOT / "examples/simulate/cluster.yaml").read_text(encoding="utf-8")
        classic = "apiVersion: resource.k8s.io/v1alpha2\nkind: ResourceClaim\nmetadata: {name: a}\n"
        done = draguard("driver", "from-cluster", "-", stdin=f"{cluster}\n---\n{classic}".encode())
        assert (done.code, done.out.startswith("driver: gpu.example.com"), done.err) == (0, True, "")

    def test_templates_of_charts_are_passed_over_and_the_place_of_what_cannot_be_read_is_shown(
        self, tmp_path: Path
    ) -> None:
        cluster = ROOT / "examples/simulate/cluster.yaml"
        (tmp_path / "cluster.yaml").write_text(cluster.read_text(encoding="utf-8"), encoding="utf-8")
        (tmp_path / "templates").mkdir()
        (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: a\nversion: 0.1.0\n", encoding="utf-8")
        (tmp_path / "templates/a.yaml").write_text("a: {{ .Values.a }}\nb: [\n", encoding="utf-8")
        done = draguard("driver", "from-cluster", tmp_path)
        assert done.out == draguard("driver", "from-cluster", cluster).out
        assert (done.code, done.err) == (0, "not read: 1 Helm template (charts are not rendered here)\n")
        (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: [\n", encoding="utf-8")
        done = draguard("driver", "from-cluster", tmp_path / "a.yaml")
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"{tmp_path}/a.yaml:3:1: error unreadable: ")

    def test_a_profile_names_the_classes_with_devices_of_one_kind(self) -> None:
        selectors = {
            "gpu": 'device.attributes["g.example.org"].type == "gpu"',
            "any": 'device.driver == "g.example.org"',
            "none": "false",
        }
        objects: list[JSONObject] = [
            {"kind": "DeviceClass", "metadata": {"name": name}, "spec": {"selectors": [each]}}
            for name, each in selectors.items()
        ]
        devices = [{"name": each, "attributes": {"type": each}} for each in ("gpu", "mig")]
        objects += [{"kind": "ResourceSlice", "spec": {"driver": "g.example.org", "nodeName": "a", "devices": devices}}]
        stdin = "\n---\n".join(json.dumps(completed(each)) for each in objects).encode()
        made = yaml.safe_load(draguard("driver", "from-cluster", "-", stdin=stdin).out)
        assert made["classes"] == {"gpu": "gpu"}

    def test_without_slices_there_is_no_profile(self) -> None:
        assert "no ResourceSlices found" in usage_error("driver", "from-cluster", "-", stdin=CLAIM.encode())


def documented() -> str:
    """Return the profile that docs/drivers.md shows."""
    text = (ROOT / "docs/drivers.md").read_text(encoding="utf-8")
    return text.partition("```yaml\n")[2].partition("```")[0]


class TestSchema:
    def test_profiles_fit_it(self) -> None:
        validator = Validator(schema_of("profile"))
        texts = [*map(text_of, built_in()), documented()]
        assert [[*validator.iter_errors(yaml.safe_load(each))] for each in texts] == [[] for _ in texts]
        assert not validator.is_valid({"driver": "a", "rules": [{"mesage": "a"}]})


class TestRules:
    @staticmethod
    def broken(rule: str, asked: Any) -> list[dict[str, Any]]:
        profile = {"driver": "d.example.org", "classes": {"c.example.org": "x"}, "devices": {"x": {}}}
        Path("profile.yaml").write_text(json.dumps({**profile, "rules": [{"rule": rule}]}), encoding="utf-8")
        return findings("validate", "--driver-profile", "profile.yaml", "-", stdin=json.dumps(asked))

    def test_the_documented_ones_find_what_they_state(self) -> None:
        assert checked(documented()).code == 0
        manifests = Path(__file__).with_name("documented.yaml").read_text(encoding="utf-8")
        lines = enumerate(manifests.splitlines(), 1)
        stated = [(at, said[1], said[2]) for at, line in lines if (said := re.search(r"#! \[(.*)\] ?(.*)", line))]
        found = findings("validate", "--driver-profile", "a.yaml", "-", stdin=manifests)
        told = sorted((each["line"], each["rule"], each["message"]) for each in found)
        assert [each[:2] for each in told] == [each[:2] for each in stated]
        assert all(said.startswith(wanted) for (*_, said), (*_, wanted) in zip(told, stated, strict=True))

    @each_row(
        ("rule", "found"),
        ("requests.size() > 1", []),
        ("requests.all(each, each.name == 'a')", ["failed rule: requests.all(each, each.name == 'a')"]),
        ("configs.exists(config, config.source == 'FromClass')", ["failed rule"]),
        ("claim.spec.devices.requests.size() == 1", ["failed rule"]),
        ("parameters.missing == 1", ["no such key: missing evaluating rule: parameters.missing == 1"]),
        ("class.metadata.name != 'c.example.org'", ["failed rule"]),
    )
    def test_what_they_are_evaluated_for(self, rule: str, found: list[str]) -> None:
        asked = claim(
            {"name": "a", "exactly": {"deviceClassName": "c.example.org"}},
            {"name": "b", "exactly": {"deviceClassName": "other"}},
            {"name": "c", "firstAvailable": [{"name": "d", "deviceClassName": "c.example.org"}]},
            config=[{"opaque": {"driver": "d.example.org", "parameters": {}}}],
        )
        messages = {each["message"] for each in self.broken(rule, asked)}
        assert len(messages) == len(found)
        assert all(wanted in message for wanted, message in zip(found, messages, strict=True))

    def test_their_cost_is_limited(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.structural.rules.CALL_LIMIT", 10_000)
        many = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
        loop = f"{many}.all(a, " * 8 + "request.name != string(a)" + ")" * 8
        (found,) = self.broken(loop, claim({"name": "a", "exactly": {"deviceClassName": "c.example.org"}}))
        assert found["rule"] == "refused-by-driver"
        assert "no further validation rules will be run due to call cost exceeds limit" in found["message"]


class TestMistypedNames:
    @staticmethod
    def claim(class_name: str, driver: str) -> str:
        config = [{"opaque": {"driver": driver, "parameters": {}}}]
        return json.dumps(claim({"name": "gpu", "exactly": {"deviceClassName": class_name}}, config=config))

    @each_row(
        ("class_name", "driver", "found"),
        ("gpu.nvdia.com", "gpu.example.org", ["gpu.nvidia.com"]),
        ("mig.nvdia.com", "gpu.itnel.com", ["mig.nvidia.com", "gpu.intel.com"]),
        ("guadi.intel.com", "gpu.example.org", ["gaudi.intel.com"]),
        ("gpu.nvidia.com", "gpu.example.org", []),
        ("gpus", "npu.intel.com", []),
        ("vgpu.nvidia.com", "gpus.intel.com", []),
    )
    def test_only_what_can_hardly_be_a_driver_of_its_own_is_found(
        self, class_name: str, driver: str, found: list[str]
    ) -> None:
        judged = findings("validate", "-", stdin=self.claim(class_name, driver))
        hints = [each["hint"] for each in judged if each["rule"] == "mistyped-driver"]
        assert sorted(hints) == sorted(f'did you mean "{each}"?' for each in found)

    @each_row(
        ("kind", "name", "spec"),
        ("DeviceClass", "gpu.nvdia.com", "{}"),
        ("DeviceClass", "a", "{selectors: [{cel: {expression: 'device.driver == \"gpu.nvdia.com\"'}}]}"),
        ("ResourceSlice", "a", "{driver: gpu.nvdia.com, nodeName: x, pool: {name: x, resourceSliceCount: 1}}"),
    )
    def test_a_driver_that_is_there_has_the_name_that_it_has(self, kind: str, name: str, spec: str) -> None:
        text = self.claim("gpus.example.com", "gpu.nvdia.com")
        text += f"\n---\napiVersion: resource.k8s.io/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n"
        judged = findings("validate", "-", stdin=text)
        assert "mistyped-driver" not in {each["rule"] for each in judged}

    @each_row(
        ("driver", "hint"),
        ("gpu.nvdia.com", 'did you mean "gpu.nvidia.com"?'),
        ("nvidia.com", 'did you mean "gpu.nvidia.com"?'),
        ("amd.com", "drivers of this domain: gpu.amd.com"),
        ("gpu.nvidia.com", None),
        ("example.com", None),
        ("net", None),
        ("acme.com", None),
    )
    def test_a_selector_of_a_class_names_a_driver(self, driver: str, hint: str | None) -> None:
        text = f"""
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: gpu}}
spec: {{selectors: [{{cel: {{expression: 'true && "{driver}" == device.driver'}}}}]}}
"""
        judged = findings("validate", "-", stdin=text)
        found = [(each["hint"], each["line"]) for each in judged if each["rule"] == "mistyped-driver"]
        assert found == ([(hint, 5)] if hint else [])
