"""Fixes change maps and lists of any layout, and keep the comments."""

import json
from pathlib import Path
from textwrap import indent

import pytest

from tests.command import draguard
from tests.rows import each_row, each_row_beside
from tests.structured import of_kind, resource_slice
from webhook.edit.tree import Edit, OverlapError, apply
from webhook.hints import fields

CLAIM = """\
apiVersion: resource.k8s.io/{}
kind: ResourceClaim
metadata: {{name: c}}
spec:
  devices:
{}
"""


def corrected(folder: Path, text: str) -> tuple[str, str]:
    """Return what fixes make of a text, and what is said about them."""
    file = folder / "a.yaml"
    file.write_text(text, encoding="utf-8")
    done = draguard("validate", "--fix", "--unsafe-fixes", file)
    return file.read_text(encoding="utf-8"), done.out + done.err


def claim(devices: str, version: str = "v1") -> str:
    """Write the manifest of a claim whose ``spec.devices`` are given."""
    return CLAIM.format(version, indent(devices.removesuffix("\n"), "    "))


@each_row_beside("version", "wrong", "right")
def test_a_map_changes_its_place_and_its_comments_stay(version: str, wrong: str, right: str, tmp_path: Path) -> None:
    assert corrected(tmp_path, claim(wrong, version))[0] == claim(right, version)


def test_a_map_in_json_becomes_a_list(tmp_path: Path) -> None:
    wrong, right = (
        {"g": {"exactly": {"deviceClassName": "gpu"}}},
        [{"name": "g", "exactly": {"deviceClassName": "gpu"}}],
    )
    obj = of_kind("ResourceClaim", {"devices": {"requests": wrong}}, "v1")
    text, _ = corrected(tmp_path, json.dumps(obj))
    assert json.loads(text)["spec"]["devices"]["requests"] == right


@each_row(
    ("wrong", "right"),
    ("deviceClassName: [gpu]", "deviceClassName: gpu"),
    ("deviceClassName:\n    - gpu # any", "deviceClassName: gpu # any"),
    ("deviceClassName: {name: 'gpu'}", "deviceClassName: 'gpu'"),
    ("count: {count: 2}", "count: 2"),
    ("count: {value: 2}", "count: 2"),
    ("deviceClassNam: {deviceClassName: gpu}", "deviceClassName: gpu"),
    ("capacity: {requests: {a: {a: 1}}}", "capacity: {requests: {a: 1}}"),
    ("capacity: {requests: {a: {value: 1}}}", "capacity: {requests: {a: 1}}"),
    ("deviceClassName: [a, b]", "deviceClassName: [a, b]"),
    ("deviceClassName: # any\n    - gpu", "deviceClassName: # any\n    - gpu"),
    ("deviceClassName:\n      name: |\n        gpu", "deviceClassName:\n      name: |\n        gpu"),
    ("count: 1.5", "count: 1.5"),
    ("count: {min: 2}", "count: {min: 2}"),
    ("deviceClassName: {matchLabels: gpu}", "deviceClassName: {matchLabels: gpu}"),
    ("deviceClassNam: {matchLabels: gpu}", "deviceClassNam: {matchLabels: gpu}"),
    ("capacity: {requests: {a: {min: 1}}}", "capacity: {requests: {a: {min: 1}}}"),
)
def test_one_value_stands_alone_unless_its_key_may_have_a_meaning(wrong: str, right: str, tmp_path: Path) -> None:
    before, after = (claim(f"requests:\n- name: g\n  exactly:\n    {each}") for each in (wrong, right))
    assert corrected(tmp_path, before)[0] == after


@each_row(
    "devices",
    "requests: g",
    "requests: []\nconstraints: [{requests: 'g,h', matchAttribute: a.b/c}]",
    "requests: []\nconstraints: [{requests: {g: }, matchAttribute: a.b/c}]",
    "requests:\n  g: gpu",
    "requests:\n  g: [gpu]",
    "requests: {}",
    "requests: {g: gpu}",
)
def test_what_is_meant_for_a_list_may_be_unclear(devices: str, tmp_path: Path) -> None:
    text = claim(devices)
    after, said = corrected(tmp_path, text)
    assert after == text
    assert "write a list: a `-` before each entry" in said
    assert "fix not applied" not in said


def test_errors_without_a_fix_do_not_block_other_fixes(tmp_path: Path) -> None:
    vague = claim("requests: g\nconstraints: [{requests: g, matchAttribute: a.b/c}]")
    good = claim("requests: [{name: g, exactly: {}}]\nconstraints: [{requests: [g]}]")
    after, said = corrected(tmp_path, f"{vague}---\n{good.replace('[g]', 'g')}")
    assert after == f"{vague.replace('{requests: g', '{requests: [g]')}---\n{good}"
    assert "fixed 2 findings in 1 file" in said
    assert "fix not applied" not in said


def test_a_fix_may_bring_errors_to_light(tmp_path: Path) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
    pod += "  containers: [{name: c, image: x, resources: {claims: [{name: gpu}]}}]\n"
    pod += "  resourceClaims:\n    - name: gpu\n      resourceClaimName: c\n      resourceClaimTemplateName: t\n"
    after, said = corrected(tmp_path, pod.replace("- name: gpu", "gpu:"))
    assert after == pod
    assert "one-source" in said
    text = claim("requests: [{name: g, exactly: {deviceClassName: gpu, count: -1}}]")
    assert corrected(tmp_path, text + text)[0] == f"{text}---\n{text}"
    hidden = claim("requests:\n  - name: g\n    exactly: {deviceClassName: gpu, count: two}")
    assert corrected(tmp_path, hidden.replace("- name: g", "g:"))[0] == hidden
    beyond = text.replace("resource.k8s.io/v1", "v1")
    assert corrected(tmp_path, beyond)[0] == text


@each_row("fields", "count: two", "allocationMode: ExactCount, count: -1")
def test_wrong_values_below_a_misspelt_field_do_not_block_its_fix(fields: str, tmp_path: Path) -> None:
    text = claim(f"requests: [{{name: g, exactly: {{deviceClassName: gpu, {fields}}}}}]")
    assert corrected(tmp_path, text.replace("exactly", "exactl"))[0] == text


def test_a_fix_may_not_write_what_is_wrong(tmp_path: Path) -> None:
    text = claim("requests:\n  name: g\n  exactly: 5")
    after, said = corrected(tmp_path, text)
    assert after == text
    assert "fix not applied: a.yaml" not in said
    assert "it causes error wrong-type" in said


def test_a_fix_that_causes_a_finding_is_not_blamed_for_an_earlier_one_of_the_same_rule(tmp_path: Path) -> None:
    text = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\nrules:\n"
    text += "- {apiGroups: [resource.k8s.io], resources: [pods], verbs: [get]}\n"
    text += "- {apiGroups: [resources.k8s.io], resources: [deviceclasses], verbs: [get]}\n"
    after, said = corrected(tmp_path, text)
    assert after == text
    assert "it causes warning role-for-nothing: deviceclasses have no namespace" in said


def test_a_diff_names_the_lines_of_the_file(tmp_path: Path) -> None:
    fields = ("deviceClassName: gpu", "exactly: {deviceClassName: gpu, count: 2, allocationMode: ALL}")
    file = tmp_path / "a.yaml"
    file.write_text("---\n".join(claim(f"requests:\n- name: g\n  {each}") for each in fields), encoding="utf-8")
    said = draguard("validate", "--diff", file).err
    assert f"fix not applied: {file}:17:49: count-for-mode" in said


def test_a_fix_that_leaves_its_finding_does_not_block_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "near_semver", lambda written: "1.2.0" if written == "1.2" else f"{written}.0")
    versions = enumerate(["1.2", "x", "1.2"])
    devices = [{"name": f"d{n}", "attributes": {"a": {"version": version}}} for n, version in versions]
    text = json.dumps(resource_slice(*devices))
    after, said = corrected(tmp_path, text)
    assert after == text.replace('"1.2"', '"1.2.0"')
    assert said.count("fix not applied") == 1
    assert "with the fix there is still error semver" in said


def test_edits_are_made_in_the_order_of_the_text_once_and_without_overlaps() -> None:
    assert apply("one two three", [Edit(8, 13, "3"), Edit(0, 3, "1"), Edit(4, 4, "and ")]) == "1 and two 3"
    assert apply("ab", [Edit(1, 2, "B"), Edit(1, 1, "x"), Edit(1, 1, "y")]) == "axyB"
    assert apply("ab", [Edit(0, 1, ""), Edit(0, 1, "")]) == "b"
    with pytest.raises(OverlapError, match="offset 1"):
        apply("abc", [Edit(0, 2, ""), Edit(1, 3, "")])
