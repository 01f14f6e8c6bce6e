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
from draguard import Finding, check_files, matches, validate
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
CLAIM = json.dumps(claim())


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
        (tmp_path / "a.json").write_text(CLAIM, encoding="utf-8")
        assert check_files([tmp_path / "a.json", str(tmp_path)], kubernetes="1.36") == []
        (found,) = check_files(str(tmp_path), kubernetes=("1.33", "1.32", "1.36"))
        assert (found.problem.rule, found.releases) == ("not-served", ("1.32", "1.33"))

    def test_policies_say_which_they_are(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text(CLAIM, encoding="utf-8")
        expression = 'request.userInfo.username == "jane" && "dev" in request.userInfo.groups'
        (tmp_path / "policy.yaml").write_text(POLICY.format(expression=expression), encoding="utf-8")
        (found,) = check_files(tmp_path / "a.json", policies=tmp_path / "policy.yaml")
        assert found.origin
        assert (found.origin.name, found.origin.line) == ("names", 8)
        assert check_files(tmp_path / "a.json", policies=[tmp_path / "policy.yaml"], user="jane", groups=["dev"]) == []

    def test_what_is_around_counts(self, tmp_path: Path) -> None:
        admin = claim({"name": "gpu", "exactly": {"deviceClassName": DRIVER, "adminAccess": True}})
        admin["metadata"]["namespace"] = "ops"
        (tmp_path / "a.json").write_text(json.dumps(admin), encoding="utf-8")
        label = {"resource.kubernetes.io/admin-access": "true"}
        assert [each.problem.level for each in check_files(tmp_path)] == ["warning"]
        assert [each.problem.level for each in check_files(tmp_path, namespace_labels={"ops": {}})] == ["error"]
        assert check_files(tmp_path, namespace_labels={"ops": label}) == []

    def test_a_missing_file_is_a_finding(self) -> None:
        (found,) = check_files("-nowhere.yaml")
        assert str(found) == "-nowhere.yaml: error unreadable: no such file or directory"

    def test_a_finding_is_one_line_with_its_hint(self, tmp_path: Path) -> None:
        wrong = json.loads(CLAIM)
        wrong["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": "device.drivr"}}]
        (tmp_path / "a.json").write_text(json.dumps(wrong), encoding="utf-8")
        (found,) = check_files(tmp_path)
        assert "\n" in found.problem.message
        assert str(found).endswith(".cel.expression: undefined field 'drivr' (did you mean \"driver\"?)")
        assert "\n" not in str(found)

    def test_configuration_files_are_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / ".draguard.yaml").write_text("nonsense: true\n", encoding="utf-8")
        (tmp_path / "a.json").write_text(CLAIM, encoding="utf-8")
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

    def test_no_path_at_all_is_a_value_error(self) -> None:
        with pytest.raises(ValueError, match=r"^paths must name at least one file or directory"):
            check_files(ROOT.glob("no/such/*.yaml"))

    def test_rules_are_chosen_as_on_the_command_line(self, tmp_path: Path) -> None:
        file, config = tmp_path / "a.yaml", tmp_path / ".draguard.yaml"
        file.write_text(f"{CLAIM[:-1]}, status: {{}}, colour: red}}", encoding="utf-8")
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

    @each_row("paths", None, 5, b"a.yaml")
    def test_paths_of_another_type_are_value_errors(self, paths: Any) -> None:
        with pytest.raises(ValueError, match=f"^paths must be a path, or a list of such, not {type(paths).__name__}"):
            check_files(paths)


class TestObjects:
    def test_a_finding_has_the_hint_of_the_command(self) -> None:
        stored = claim()
        stored["metadata"]["resourceVersion"] = "1"
        (found,) = validate({**stored, "spec": {}}, old=stored)
        assert found.message.endswith("field is immutable")
        assert found.hint.startswith("changed: spec: {")
        assert found.hint.endswith(" → {}; delete the object and create it again")


class TestSelectors:
    @each_row(
        ("arguments", "options", "message"),
        ((5, DEVICE), {}, "^selector must be a CEL expression or a selector, or a list of such, not int"),
        ((["true", 5], DEVICE), {}, r"^selector\[1\] must be a CEL expression or a selector, not int"),
        (("true", 5), {}, "^device must be an object, not int"),
        (("true", DEVICE), {"driver": 3}, "^driver must be a string, not int"),
    )
    def test_wrong_arguments_are_value_errors(self, arguments: Any, options: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            matches(*arguments, **options)

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
        ("selector", "device", "message"),
        ("devic", DEVICE, "compile error: .* undeclared reference to 'devic'"),
        ('device.attributes["x.org"].y', DEVICE, "runtime error: no such key: y"),
        ({"expression": "true"}, DEVICE, "a selector is a CEL expression, or"),
        ("true", {"attributes": {"model": "A100"}}, r"device: attributes\[model\]: .*cannot unmarshal string"),
        ("true", {"attributes": {"no name": {"int": 1}}}, "device: attributes"),
    )
    def test_what_fails_is_a_value_error(self, selector: Any, device: dict[str, Any], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            matches(selector, device, driver=DRIVER)

    def test_the_driver_must_be_known(self) -> None:
        with pytest.raises(ValueError, match="driver is not known"):
            matches("true", DEVICE)


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

    def test_subclasses_beside_what_json_cannot_write_are_refused(self) -> None:
        deep: dict[str, Any] = OrderedDict()
        for _ in range(20_000):
            deep = {"a": deep}
        for value in (OrderedDict(a=10**5000), deep):
            with pytest.raises(TypeError, match="obj cannot be taken as JSON"):
                validate(claim() | {"x": value})

    @each_row("call", lambda bad: matches("true", bad, driver=DRIVER), lambda bad: matches([bad], {}))
    def test_other_values_in_devices_and_selectors_are_refused(self, call: Callable[[Any], object]) -> None:
        with pytest.raises(TypeError, match="a is of type tuple"):
            call({"a": ()})


def block(language: str) -> str:
    """Return the page's first block of code in a language: a whole file."""
    return str(re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[0])


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests/claim.json").write_text(CLAIM, encoding="utf-8")
    return tmp_path


@pytest.mark.process
class TestExamples:
    def test_that_for_pytest_passes_and_fails(self, repository: Path) -> None:
        (repository / "test_manifests.py").write_text(block("python"), encoding="utf-8")
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # none is needed, and some are slow

        def run() -> str:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(repository)]
            return subprocess.run(
                command, cwd=repository, capture_output=True, text=True, check=False, timeout=120, env=environment
            ).stdout

        assert "4 passed" in run()
        (repository / "manifests/claim.json").write_text(CLAIM.replace('"requests"', '"reqests"'), encoding="utf-8")
        result = run()
        assert "2 failed, 2 passed" in result
        assert 'unknown field "spec.devices.reqests"' in result

    def test_that_for_go_decodes_what_its_command_prints(self, repository: Path) -> None:
        """Without Go: runs its command, and compares its struct with the output."""
        code = block("go")
        (called,) = re.findall(r"exec\.Command\((.*?)\)", code)
        program, *arguments = shlex.split(called.replace(",", " "))
        assert program == SCRIPT.name
        (repository / "manifests/claim.json").write_text(CLAIM.replace('"requests"', '"reqests"'), encoding="utf-8")
        done = subprocess.run(
            [SCRIPT, *arguments], cwd=repository, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 1
        report = json.loads(done.stdout)
        fields = re.findall(r"(\w+) +(string|int) +`json:\"(\w+)\"`", code)
        assert len(fields) == 7
        for go, type_, name in fields:
            assert go.lower() == name
            assert f"each.{go}" in code
            assert all(isinstance(each[name], {"string": str, "int": int}[type_]) for each in report["findings"])


POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}}
BARE = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}}
NODES = [{"metadata": {"name": "n"}}]

CALLS: dict[str, tuple[Callable[[Any], object], str]] = {
    "validate, gates": (lambda bad: webhook.validate(POD, feature_gates=bad), "feature_gates must be a mapping"),
    "validate, release": (lambda bad: webhook.validate(POD, kubernetes=bad), "kubernetes must be a string"),
    "validate, subresource": (lambda bad: webhook.validate(POD, subresource=bad), "subresource must be a string"),
    "validate, labels": (lambda bad: webhook.validate(POD, namespace_labels=bad), "namespace_labels must be a mapping"),
    "simulate, gates": (lambda bad: webhook.simulate([], [POD], feature_gates=bad), "feature_gates must be a mapping"),
    "simulate, release": (lambda bad: webhook.simulate([], [POD], kubernetes=bad), "kubernetes must be a string"),
    "simulate, objects": (lambda bad: webhook.simulate(bad, [POD]), "objects must be a list of objects"),
    "simulate, pods": (lambda bad: webhook.simulate([], bad), "pods must be a list of objects"),
    "convert, version": (lambda bad: webhook.convert(BARE, bad), "api_version must be a string"),
    "allocate": (webhook.allocate, "a scenario must be an object"),
    "allocate, nodes": (lambda bad: webhook.allocate({"nodes": bad}), "nodes must be a list of objects"),
    "allocate, node": (lambda bad: webhook.allocate({"nodes": [bad]}), r"nodes\[0\] must be an object"),
    "allocate, slice": (
        lambda bad: webhook.allocate({"slices": [{"metadata": {}, "spec": bad}]}),
        r"slices\[0\]\.spec must be an object",
    ),
    "allocate, features": (lambda bad: webhook.allocate({"features": bad}), "features must be a mapping"),
    "allocate, release": (lambda bad: webhook.allocate({"nodes": NODES, "release": str(bad)}), "release must be"),
    "allocate, enable": (lambda bad: webhook.allocate({"nodes": NODES, "enable": bad}), "enable must be a list"),
}


@each_row("name", *CALLS)
@each_row("bad", 3, 2.5, object())
def test_are_refused_by_name(name: str, bad: object) -> None:
    call, message = CALLS[name]
    with pytest.raises(ValueError, match=message):
        call(bad)


@each_row("gates", {"DRAPrioritizedList": "true"}, {1: True})
def test_gates_are_true_or_false_by_name(gates: Any) -> None:
    with pytest.raises(ValueError, match="feature_gates must be a mapping from str to bool: "):
        webhook.validate(POD, feature_gates=gates)


@each_row("text", "", b"", {"kind": "Pod"})
def test_text_and_mappings_are_no_lists(text: Any) -> None:
    with pytest.raises(ValueError, match="pods must be a list of objects"):
        webhook.simulate([], text)
