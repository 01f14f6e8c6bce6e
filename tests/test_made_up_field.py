"""A field of a new release takes one line, and everything else supports it; without the line, it passes through."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import NOT_COPIED, ROOT
from tests.policy.examples import CLAIM, evaluate, mutating, of, rule
from tests.rows import each_row
from tests.structured import changed, claim
from webhook.policy.load import load

BEFORE = '    selectors = selectors("The conditions that the devices must meet besides those of their class.'
LINE = '    colour = Text("The colour of the devices.", one_of=("Blue", "Red"), default="Red", go="Colour")\n'

WITH_THE_LINE = """
from tests import structured
from tests.policy.examples import binding, mutating, policy
from webhook import validate
from webhook.api.conversion import convert, to_v1, with_defaults
from webhook.explain.query import explain
from webhook.policy.tools.check import check_policies
from webhook.policy.load import load
from tests.command import NOT_COPIED, ROOT
from tests.policy.examples import evaluate

def claim(**fields):
    exactly = {"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 1, **fields}
    return structured.claim({"name": "a", "exactly": exactly})

def beta(obj):
    return convert(obj, "resource.k8s.io/v1beta1")

# validate
def errors(obj):
    return [(each.rule, str(each.path)) for each in validate(obj) if each.level == "error"]

assert errors(claim(colour="Blue")) == []
assert errors(claim(colour="Green")) == [("enum", "spec.devices.requests[0].exactly.colour")]
assert errors(beta(claim(colour="Green"))) == [("enum", "spec.devices.requests[0].colour")]
assert errors(claim(colour=1)) == [("wrong-type", "spec.devices.requests[0].exactly.colour")]

# explain
assert "The colour of the devices." in explain("ResourceClaim.spec.devices.requests.exactly.colour")
assert "default Red" in explain("ResourceClaim.spec.devices.requests.firstAvailable.colour")

# convert
blue = claim(colour="Blue")
assert beta(blue)["spec"]["devices"]["requests"][0]["colour"] == "Blue"
assert to_v1(beta(blue)) == blue

# defaults
assert with_defaults(claim())["spec"] == with_defaults(claim(colour="Red"))["spec"] != with_defaults(blue)["spec"]
assert with_defaults(beta(claim()))["spec"]["devices"]["requests"][0]["colour"] == "Red"

# merge
CLAIMS = {"apiGroups": ["*"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["resourceclaims"]}
def merged(text):
    return evaluate(blue, policies=load(mutating("m", text, matchConstraints={"resourceRules": [CLAIMS]}))).message
for value, error in (("1", "colour: expected string, got &value."), ("'Red'", "may not mutate atomic")):
    made = merged("Object{spec: Object.spec{devices: Object.spec.devices{requests: "
                  "[Object.spec.devices.requests{exactly: Object.spec.devices.requests.exactly{colour: "
                  + value + "}}]}}}")
    assert error in made, made

# CEL
def warnings(expression):
    rules = [CLAIMS | {"apiGroups": ["resource.k8s.io"]}]
    checked = check_policies([policy(rules=rules, validations=[{"expression": expression}]), binding()])
    return [each.problem.message for each in checked.findings]
assert warnings("object.spec.devices.requests.all(r, r.exactly.colour == 'Red')") == []
(warning,) = warnings("object.spec.devices.requests.all(r, r.exactly.colour == 1)")
assert "no matching overload" in warning, warning
"""


@pytest.mark.process
def test_a_line_is_all_that_a_field_needs(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "webhook", tmp_path / "webhook", ignore=shutil.ignore_patterns("__pycache__"))
    types = tmp_path / "webhook" / "api" / "dra" / "devicerequest.py"
    text = types.read_text(encoding="utf-8")
    assert text.count(BEFORE) == 1
    types.write_text(text.replace(BEFORE, LINE + BEFORE), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-c", WITH_THE_LINE],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


OF_DEVICES = {"resourceRules": [rule("*", group="resource.k8s.io")]}
PATCH = "[JSONPatch{op: 'add', path: '/spec/devices/requests/0', value: {'name': 'b', 'exactly': {}}}]"
MERGE = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"


@each_row("mutation", PATCH, MERGE)
def test_without_the_line_a_change_beside_the_field_leaves_it_alone(mutation: str) -> None:
    policies = load(mutating("m", mutation, matchConstraints=OF_DEVICES))
    request = {"name": "a", "exactly": {"deviceClassName": "c", "colour": {"of": ["Red"]}}, "mood": 1}
    verdict = evaluate(CLAIM | {"spec": {"devices": {"requests": [request]}, "future": [1]}}, policies=policies)
    assert verdict.allowed, verdict.message
    assert verdict.object is not None
    assert verdict.object["spec"]["future"] == [1]
    assert verdict.object["spec"]["devices"]["requests"][-1] == request


def test_a_patch_may_set_what_has_a_feature_gate() -> None:
    path = "/spec/devices/requests/0/exactly/tolerations"
    patch = f"[JSONPatch{{op: 'add', path: '{path}', value: [{{'operator': 'Exists'}}]}}]"
    policies = load(mutating("m", patch, matchConstraints=OF_DEVICES))
    assert evaluate(CLAIM, policies=policies).allowed


@each_row("version", "v1", "v1beta2", "v1beta1")
@each_row("failure_policy", "Ignore", "Fail")
def test_without_the_line_a_policy_leaves_the_field_alone(version: str, failure_policy: str) -> None:
    folder = ROOT / "policies" / "claims-inherit-team"
    objects: list[Any] = list(yaml.safe_load_all((folder / "policy.yaml").read_text(encoding="utf-8")))
    objects[0]["spec"]["failurePolicy"] = failure_policy
    namespace = changed(of("Namespace", "default"), metadata__labels={"team": "cats"})
    fields = {"deviceClassName": "gpu.example.com", "colour": "Red"}
    request = {"name": "a", **fields} if version == "v1beta1" else {"name": "a", "exactly": fields}
    obj = changed(claim(request, version=version), spec__mood={"good": [True]})
    verdict = evaluate(obj, policies=load([*objects, namespace]))
    assert verdict.allowed, verdict.message
    assert verdict.object == changed(obj, metadata__labels={"team": "cats"})


QUICK = "not slow and not process and not tools"
SUBJECTS = ("api", "chart", "explain", "fast", "migration", "schema", "test_*.py")
"""The tests that read types and rules."""
CLASS = 'class ExactDeviceRequest(Detailed, Administering, Wanted):\n    """A request for devices of one class."""\n'
GATES = "GATES: Mapping[str, Mapping[int, Stage | None]] = {\n"


def steps() -> tuple[str, str, str, str, str]:
    """Read the code of the steps: a field, its gate, the rows of its type, a rule and its example."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    text = text[text.index("### Add a field") : text.index("### Add an option")]
    field, gate, rows, check, example = re.findall(r"^```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return field, gate, rows, check, example


def put_behind(file: Path, line: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(line) == 1
    file.write_text(text.replace(line, line + new), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.process
def test_a_field_with_its_gate_and_a_rule_need_nothing_else(tmp_path: Path) -> None:
    def run(*command: str) -> None:
        env = os.environ | {"PYTHONPATH": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-10_000:]

    shutil.copytree(ROOT, tmp_path, ignore=shutil.ignore_patterns(*NOT_COPIED), dirs_exist_ok=True)
    field, gate, rows, check, example = steps()
    put_behind(tmp_path / "webhook/api/dra/devicerequest.py", CLASS, f"\n    {field}\n\n{check}")
    put_behind(tmp_path / "webhook/api/gates.py", GATES, f"    {gate}")
    fields = tmp_path / "tests/dra-fields.tsv"
    head, *others = fields.read_text(encoding="utf-8").splitlines()
    fields.write_text("\n".join([head, *sorted([*others, *rows.splitlines()])]) + "\n", encoding="utf-8")
    (tmp_path / "webhook/explain/examples/count-of-shared.yaml").write_text(example, encoding="utf-8")
    run(sys.executable, "docs/generate.py")
    run(sys.executable, "charts/generate.py")
    run(sys.executable, "-m", "ruff", "check")
    run(sys.executable, "-m", "ruff", "format", "--check")
    tests = [str(file) for name in SUBJECTS for file in sorted(tmp_path.glob(f"tests/{name}"))]
    run(sys.executable, "-m", "pytest", "-q", "-m", QUICK, *tests)
