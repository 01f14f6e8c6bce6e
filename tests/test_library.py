"""The functions of the package for files and devices, and the examples of docs/library.md."""

import json
import math
import os
import re
import shlex
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

import draguard
import webhook
from draguard import Finding, allocate, check_files, matches, simulate, validate
from tests.command import ROOT, SCRIPT
from tests.policies import POLICY
from tests.rows import each_row
from tests.structured import claim

PAGE = (ROOT / "docs/library.md").read_text(encoding="utf-8")
DRIVER = "gpu.example.com"
DEVICE: dict[str, Any] = {
    "name": "gpu-0",
    "attributes": {"model": {"string": "A100"}, "other.org/size": {"int": 3}},
    "capacity": {"memory": {"value": "40Gi"}},
}
MISSPELT = claim() | {"spec": {"devices": {"reqests": []}}}


def written(folder: Path, obj: Any = None) -> Path:
    """Write a claim, or another object."""
    (folder / "a.json").write_text(json.dumps(obj or claim()), encoding="utf-8")
    return folder / "a.json"


def test_the_package_has_the_name_of_the_distribution() -> None:
    assert {name: getattr(draguard, name) for name in draguard.__all__} == {
        name: getattr(webhook, name) for name in (*webhook.__all__, "__version__")
    }


class TestFiles:
    def test_findings_have_positions_and_objects(self) -> None:
        found = check_files(ROOT / "examples/limits/decoding.yaml")
        first = found[0]
        assert isinstance(first, Finding)
        wanted = next(each for each in found if each.problem.rule == "unknown-field")
        assert (wanted.line, wanted.column, wanted.identity.kind) == (8, 3, "ResourceClaim")
        assert str(wanted).startswith(f"{wanted.file}:8:3: error unknown-field: spec.resourceClass: ")

    def test_several_releases_and_paths_can_be_given(self, tmp_path: Path) -> None:
        claims = written(tmp_path)
        assert check_files([claims, str(tmp_path)], kubernetes="1.36") == []
        (found,) = check_files(str(tmp_path), kubernetes=("1.33", "1.32", "1.36"))
        assert (found.problem.rule, found.releases) == ("not-served", ("1.32", "1.33"))

    def test_policies_say_which_they_are(self, tmp_path: Path) -> None:
        claims, policies = written(tmp_path), tmp_path / "policy.yaml"
        expression = 'request.userInfo.username == "jane" && "dev" in request.userInfo.groups'
        policies.write_text(POLICY.format(expression=expression), encoding="utf-8")
        (found,) = check_files(claims, policies=policies)
        assert found.origin
        assert (found.origin.name, found.origin.line) == ("names", 8)
        assert check_files(claims, policies=[policies], user="jane", groups=["dev"]) == []

    def test_what_is_around_counts(self, tmp_path: Path) -> None:
        admin = claim({"name": "gpu", "exactly": {"deviceClassName": DRIVER, "adminAccess": True}})
        written(tmp_path, admin)
        label = {"resource.kubernetes.io/admin-access": "true"}
        assert [each.problem.level for each in check_files(tmp_path)] == ["warning"]
        assert [each.problem.level for each in check_files(tmp_path, namespace_labels={"default": {}})] == ["error"]
        assert check_files(tmp_path, namespace_labels={"default": label}) == []

    def test_a_missing_file_is_a_finding(self) -> None:
        (found,) = check_files("-nowhere.yaml")
        assert str(found) == "-nowhere.yaml: error unreadable: no such file or directory"

    def test_a_finding_is_one_line_with_its_hint(self, tmp_path: Path) -> None:
        selectors = [{"cel": {"expression": "device.drivr"}}]
        written(tmp_path, claim({"name": "gpu", "exactly": {"deviceClassName": DRIVER, "selectors": selectors}}))
        (found,) = check_files(tmp_path)
        assert "\n" in found.problem.message
        assert str(found).endswith(".cel.expression: undefined field 'drivr' (did you mean \"driver\"?)")
        assert "\n" not in str(found)

    def test_configuration_files_are_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / ".draguard.yaml").write_text("nonsense: true\n", encoding="utf-8")
        written(tmp_path)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("DRAGUARD_KUBERNETES_VERSION", "1.27")
        assert check_files("a.json") == []

    @each_row(
        ("options", "message"),
        ({"kubernetes": "0.1"}, "not a Kubernetes version"),
        ({"kubernetes": "1.34-1.36"}, "not a Kubernetes version"),
        ({"feature_gates": {"A": True}}, "unrecognized feature gate: A"),
        ({"feature_gates": ["A"]}, "feature_gates must be a mapping"),
        ({"namespace_labels": {"ops": "a=b"}}, "namespace_labels must be a mapping"),
        ({"kubernetes": 1.34}, "^kubernetes must be a string, or a list of such, not float"),
        ({"kubernetes": ["1.34", 1.36]}, r"^kubernetes\[1\] must be a string, not float"),
        ({"kubernetes": "1.20"}, "^kubernetes: Kubernetes 1.20 is not known"),
        ({"namespace_labels": {"ops": {"a b": "c"}}}, "^namespace_labels: ops: a b=c is not a label"),
        ({"policies": ROOT / "examples/fixed"}, "^policies: no policies found in"),
        ({"old": None}, "^old must be a path, or a list of such, not NoneType"),
        ({"groups": ["dev", 5]}, r"^groups\[1\] must be a string, not int"),
        ({"groups": {"dev": 1}}, "^groups must be a string, or a list of such, not dict"),
        ({"user": 5}, "^user must be a string, not int"),
    )
    def test_wrong_arguments_are_value_errors(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            check_files(ROOT / "examples/fixed", **options)

    @each_row(
        ("paths", "message"),
        (None, "be a path, or a list of such, not NoneType"),
        (5, "be a path, or a list of such, not int"),
        (b"a.yaml", "be a path, or a list of such, not bytes"),
        (ROOT.glob("no/such/*.yaml"), "name at least one file or directory"),
    )
    def test_paths_of_another_type_and_none_at_all_are_value_errors(self, paths: Any, message: str) -> None:
        with pytest.raises(ValueError, match=f"^paths must {message}"):
            check_files(paths)

    def test_rules_are_chosen_as_on_the_command_line(self, tmp_path: Path) -> None:
        file, config = tmp_path / "a.yaml", tmp_path / ".draguard.yaml"
        file.write_text(json.dumps(claim() | {"status": {}, "colour": "red"}), encoding="utf-8")
        config.write_text("kubernetesVersions: ['1.36']\nlevels: {unknown-field: warn}\n", encoding="utf-8")
        (found,) = check_files(file)
        assert check_files(file, ignore="unknown-*") == check_files(file, select=["immutable"]) == []
        (configured,) = check_files(file, config=config)
        assert (found.problem.level, configured.problem.level) == ("error", "warning")
        assert (found.kubernetes, configured.kubernetes) == ("1.37", "1.36")
        assert check_files(file, config=config, kubernetes="1.35")[0].kubernetes == "1.35"
        with pytest.raises(ValueError, match=r"^ignore: unknown rule colour"):
            check_files(file, ignore="colour")
        with pytest.raises(ValueError, match="no such file"):
            check_files(file, config=tmp_path / "gone.yaml")

    def test_a_list_stands_for_its_items(self) -> None:
        items = [claim(), claim() | {"colour": "red"}, 5]
        found = validate({"apiVersion": "v1", "kind": "List", "items": items})
        assert [each.field for each in found] == ["items[1].colour", "items[2]"]
        with pytest.raises(ValueError, match=r"^a List is not updated"):
            validate({"apiVersion": "v1", "kind": "List", "items": items}, claim())

    def test_a_finding_has_the_hint_of_the_command(self) -> None:
        stored = claim()
        stored["metadata"]["resourceVersion"] = "1"
        (found,) = validate({**stored, "spec": {}}, old=stored)
        assert found.message.endswith("field is immutable")
        assert re.fullmatch("changed: spec: {.* → {}; delete the object and create it again", found.hint)


class TestSelectors:
    @each_row(
        ("selector", "matched"),
        (f'device.driver == "{DRIVER}"', True),
        (f'device.attributes["{DRIVER}"].model == "A100"', True),
        ({"cel": {"expression": 'device.attributes["other.org"].size > 3'}}, False),
        (["true", {"cel": {"expression": "false"}}], False),
        ([], True),
    )
    def test_they_are_evaluated_on_a_device(self, selector: Any, *, matched: bool) -> None:
        assert bool(matches(selector, DEVICE, driver=DRIVER)) is matched
        assert bool(matches(selector, {"driver": DRIVER, "basic": DEVICE}, kubernetes="1.34")) is matched

    def test_the_condition_that_excludes_a_device_is_shown(self) -> None:
        selector = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("80Gi")) >= 0'
        assert matches(selector, DEVICE, driver=DRIVER).reason == "memory is 40Gi, wanted >= 80Gi"

    @each_row(
        ("selector", "device", "driver", "message"),
        ("devic", DEVICE, DRIVER, "compile error: .* undeclared reference to 'devic'"),
        ('device.attributes["x.org"].y', DEVICE, DRIVER, "runtime error: no such key: y"),
        ({"expression": "true"}, DEVICE, DRIVER, "a selector is a CEL expression, or"),
        (5, DEVICE, DRIVER, "^selector must be a CEL expression or a selector, or a list of such, not int"),
        (["true", 5], DEVICE, DRIVER, r"^selector\[1\] must be a CEL expression or a selector, not int"),
        ("true", {"attributes": {"model": "A100"}}, DRIVER, r"device: attributes\[model\]: .*cannot unmarshal string"),
        ("true", {"attributes": {"no name": {"int": 1}}}, DRIVER, "device: attributes"),
        ("true", 5, DRIVER, "^device must be an object, not int"),
        ("true", DEVICE, 3, "^driver must be a string, not int"),
        ("true", DEVICE, "", "driver is not known"),
    )
    def test_what_fails_or_is_of_a_wrong_type_is_a_value_error(
        self, selector: Any, device: Any, driver: Any, message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            matches(selector, device, **({"driver": driver} if driver else {}))


class TestPlainValues:
    @each_row(
        ("value", "message"),
        (datetime(2026, 1, 31, tzinfo=UTC), r"^obj: spec\.x\[1\]\.y is of type datetime, .* give a str, such as"),
        (date(2026, 1, 31), r"^obj: spec\.x\[1\]\.y is of type date, "),
        ((1, 2), r"^obj: spec\.x\[1\]\.y is of type tuple, which JSON does not have: give a list$"),
        ({1}, "is of type set"),
        ({False: 1}, r"^obj: spec\.x\[1\]\.y has the key False, but keys of JSON are strings: put it in quotes$"),
        ({"z": {None: {}}}, r"^obj: spec\.x\[1\]\.y\.z has the key None"),
        (b"x", "is of type bytes"),
        (math.nan, r"^obj: spec\.x\[1\]\.y is nan, which JSON does not have: give a finite number$"),
        ({"z": [-math.inf]}, r"^obj: spec\.x\[1\]\.y\.z\[0\] is -inf, "),
        (object(), "is of type object, .*: give a dict, list, str, number, bool or None"),
    )
    def test_what_json_does_not_have_is_a_type_error(self, value: object, message: str) -> None:
        obj = {"apiVersion": "v1", "kind": "Pod", "spec": {"x": [None, {"y": value}]}}
        with pytest.raises(TypeError, match=message):
            validate(obj)
        with pytest.raises(TypeError, match=message.replace("^obj", "^old")):
            validate(claim(), old=obj)

    def test_subclasses_are_taken_as_what_json_has(self) -> None:
        class Mode(StrEnum):
            ALL = "All"
            OTHER = "Other"

        for mode, problems in ((Mode.ALL, 0), (Mode.OTHER, 1)):
            request = OrderedDict({"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": mode}})
            obj = claim() | {"spec": {"devices": {"requests": [request]}}}
            assert len(validate(obj)) == problems
            assert validate(obj, old=obj) == []
        assert matches("true", OrderedDict(DEVICE), driver=DRIVER)

    def test_subclasses_beside_what_json_cannot_write_are_judged_like_others(self) -> None:
        deep: dict[str, Any] = OrderedDict()
        for _ in range(20_000):
            deep = {"a": deep}
        for value in (OrderedDict(a=10**5000), deep):
            assert [each.rule for each in validate(claim() | {"x": value})] == ["unknown-field"]

    @each_row("call", lambda bad: matches("true", bad, driver=DRIVER), lambda bad: matches([bad], {}))
    def test_other_values_in_devices_and_selectors_are_refused(self, call: Callable[[Any], object]) -> None:
        with pytest.raises(TypeError, match="a is of type tuple"):
            call({"a": ()})


def block(language: str) -> str:
    """Return the page's first block of code in a language: a whole file."""
    return str(re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[0])


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # none is needed, and some are slow
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120, env=environment
    )


@pytest.mark.process
def test_the_example_for_pytest_passes_and_fails(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "test_manifests.py").write_text(block("python"), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    written(tmp_path / "manifests")
    assert "4 passed" in run(tmp_path, *command).stdout
    written(tmp_path / "manifests", MISSPELT)
    result = run(tmp_path, *command).stdout
    assert "2 failed, 2 passed" in result
    assert 'unknown field "spec.devices.reqests"' in result


@pytest.mark.process
def test_the_example_for_go_decodes_what_its_command_prints(tmp_path: Path) -> None:
    """Without Go: runs its command, and compares its struct with the output."""
    code = block("go")
    (called,) = re.findall(r"exec\.Command\((.*?)\)", code)
    program, *arguments = shlex.split(called.replace(",", " "))
    assert program == SCRIPT.name
    (tmp_path / "manifests").mkdir()
    written(tmp_path / "manifests", MISSPELT)
    done = run(tmp_path, SCRIPT, *arguments)
    assert done.returncode == 1
    found = json.loads(done.stdout)["findings"]
    fields = re.findall(r"(\w+) +(string|int) +`json:\"(\w+)\"`", code)
    assert len(fields) == 7
    for go, type_, name in fields:
        assert go.lower() == name
        assert f"each.{go}" in code
        assert all(isinstance(each[name], {"string": str, "int": int}[type_]) for each in found)


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}
BARE = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}}
NODES = [{"metadata": {"name": "n"}}]


@each_row(
    ("call", "message"),
    (lambda bad: validate(POD, feature_gates=bad), "feature_gates must be a mapping"),
    (lambda bad: validate(POD, kubernetes=bad), "kubernetes must be a string, not "),
    (lambda bad: validate(POD, subresource=bad), "subresource must be a string"),
    (lambda bad: validate(POD, namespace_labels=bad), "namespace_labels must be a mapping"),
    (lambda bad: simulate([], [POD], feature_gates=bad), "feature_gates must be a mapping"),
    (lambda bad: simulate([], [POD], kubernetes=bad), "kubernetes must be a string"),
    (lambda bad: simulate(bad, [POD]), "objects must be a list of objects"),
    (lambda bad: simulate([], bad), "pods must be a list of objects"),
    (lambda bad: webhook.convert(BARE, bad), "api_version must be a string"),
    (allocate, "a scenario must be an object"),
    (lambda bad: allocate({"nodes": bad}), "nodes must be a list of objects"),
    (lambda bad: allocate({"nodes": [bad]}), r"nodes\[0\] must be an object"),
    (lambda bad: allocate({"slices": [{"metadata": {}, "spec": bad}]}), r"slices\[0\]\.spec must be an object"),
    (lambda bad: allocate({"features": bad}), "features must be a mapping"),
    (lambda bad: allocate({"nodes": NODES, "release": str(bad)}), "release must be"),
    (lambda bad: allocate({"nodes": NODES, "enable": bad}), "enable must be a list"),
)
@each_row("bad", 3, 2.5, object())
def test_arguments_of_wrong_types_are_refused_by_name(call: Callable[[Any], object], message: str, bad: object) -> None:
    with pytest.raises(ValueError, match=message):
        call(bad)


@each_row(
    ("arguments", "message"),
    ({"kubernetes": "1.26"}, r"Kubernetes 1\.26 is not known here; 1\.27 and later are"),
    ({"subresource": "scale"}, "subresource 'scale' is not judged: give \"status\""),
    ({"subresource": "Status", "old": claim()}, "subresource 'Status' is not judged"),
    ({"subresource": "status"}, "a status is judged as an update: give the stored object as old"),
    ({"feature_gates": {"DRADeviceTaint": True}}, "gate: DRADeviceTaint; did you mean DRADeviceTaints[?]"),
    ({"feature_gates": {"x": True}}, "unrecognized feature gate: x; known are"),
    ({"feature_gates": {"DRAAdminAccess": False}}, "gate DRAAdminAccess to false, feature is locked to true"),
    ({"feature_gates": {"DRAPrioritizedList": "true"}}, "feature_gates must be a mapping from str to bool: "),
    ({"feature_gates": {1: True}}, "feature_gates must be a mapping from str to bool: "),
)
def test_a_query_that_cannot_be_answered_is_a_value_error(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        validate(claim(), **arguments)


@each_row("text", "", b"", {"kind": "Pod"})
def test_text_and_mappings_are_not_lists(text: Any) -> None:
    with pytest.raises(ValueError, match="pods must be a list of objects"):
        simulate([], text)
