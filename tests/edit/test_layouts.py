"""Fixes change maps and lists of any layout, and keep the comments."""

import json
from pathlib import Path

import pytest

from tests.command import draguard
from tests.rows import each_row
from webhook.edit.tree import Edit, OverlapError, apply
from webhook.hints import fields

CLAIM = """\
apiVersion: resource.k8s.io/{version}
kind: ResourceClaim
metadata: {{name: c}}
spec:
  devices:
    {requests}
"""
SLICE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: a.b
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices:
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec:
  containers:
  - {{name: c, image: x, resources: {{claims: [{{name: gpu}}]}}}}
  {claims}
"""


def corrected(folder: Path, text: str) -> tuple[str, str]:
    """Return what fixes make of a text, and what is said about them."""
    file = folder / "a.yaml"
    file.write_text(text, encoding="utf-8")
    done = draguard("validate", "--fix", "--unsafe-fixes", file)
    return file.read_text(encoding="utf-8"), done.out + done.err


LISTS = [
    (
        "requests: # one\n      # first\n      name: g # g\n      exactly:\n        deviceClassName: gpu # x",
        "requests: # one\n      # first\n      - name: g # g\n        exactly:\n          deviceClassName: gpu # x",
    ),
    (
        "requests:\n        g: # g\n          # of any\n          exactly: {deviceClassName: gpu}",
        "requests:\n        - name: g # g\n          # of any\n          exactly: {deviceClassName: gpu}",
    ),
    (
        "requests:\n      g:\n            exactly: {deviceClassName: gpu} # any",
        "requests:\n      - name: g\n        exactly: {deviceClassName: gpu} # any",
    ),
    (
        "requests:\n      g:\n       exactly: {count: 1}\n      # two\n      h: {exactly: {}}",
        "requests:\n      - name: g\n        exactly: {count: 1}\n      # two\n      - {name: h, exactly: {}}",
    ),
    ("requests: {g: {exactly: {deviceClassName: gpu}}}", "requests: [{name: g, exactly: {deviceClassName: gpu}}]"),
]
"""Maps in the place of lists, and the lists."""


@each_row(("wrong", "right"), *LISTS)
def test_a_map_becomes_a_list(wrong: str, right: str, tmp_path: Path) -> None:
    assert corrected(tmp_path, CLAIM.format(version="v1", requests=wrong))[0] == CLAIM.format(
        version="v1", requests=right
    )


def test_a_map_in_json_becomes_a_list(tmp_path: Path) -> None:
    spec = {"devices": {"requests": {"g": {"exactly": {"deviceClassName": "gpu"}}}}}
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": spec}
    text, _ = corrected(tmp_path, json.dumps(claim))
    assert json.loads(text)["spec"]["devices"]["requests"] == [{"name": "g", "exactly": {"deviceClassName": "gpu"}}]


@each_row(
    ("wrong", "right"),
    ("deviceClassName: [gpu]", "deviceClassName: gpu"),
    ("deviceClassName:\n        - gpu # any", "deviceClassName: gpu # any"),
    ("deviceClassName: {name: 'gpu'}", "deviceClassName: 'gpu'"),
    ("count: {count: 2}", "count: 2"),
    ("count: {value: 2}", "count: 2"),
    ("deviceClassNam: {deviceClassName: gpu}", "deviceClassName: gpu"),
    ("capacity: {requests: {a: {a: 1}}}", "capacity: {requests: {a: 1}}"),
    ("capacity: {requests: {a: {value: 1}}}", "capacity: {requests: {a: 1}}"),
    ("deviceClassName: [a, b]", "deviceClassName: [a, b]"),
    ("deviceClassName: # any\n        - gpu", "deviceClassName: # any\n        - gpu"),
    ("deviceClassName:\n          name: |\n            gpu", "deviceClassName:\n          name: |\n            gpu"),
    ("count: 1.5", "count: 1.5"),
    ("count: {min: 2}", "count: {min: 2}"),
    ("deviceClassName: {matchLabels: gpu}", "deviceClassName: {matchLabels: gpu}"),
    ("deviceClassNam: {matchLabels: gpu}", "deviceClassNam: {matchLabels: gpu}"),
    ("capacity: {requests: {a: {min: 1}}}", "capacity: {requests: {a: {min: 1}}}"),
)
def test_one_value_stands_alone_unless_its_key_may_have_a_meaning(wrong: str, right: str, tmp_path: Path) -> None:
    around = "requests:\n    - name: g\n      exactly:\n        {}"
    text, _ = corrected(tmp_path, CLAIM.format(version="v1", requests=around.format(wrong)))
    assert text == CLAIM.format(version="v1", requests=around.format(right))


@pytest.mark.parametrize(
    "wrong",
    [
        "requests: g",
        "requests: []\n    constraints: [{requests: 'g,h', matchAttribute: a.b/c}]",
        "requests: []\n    constraints: [{requests: {g: }, matchAttribute: a.b/c}]",
        "requests:\n      g: gpu",
        "requests:\n      g: [gpu]",
        "requests: {}",
        "requests: {g: gpu}",
    ],
)
def test_what_is_meant_for_a_list_may_be_unclear(wrong: str, tmp_path: Path) -> None:
    text = CLAIM.format(version="v1", requests=wrong)
    after, said = corrected(tmp_path, text)
    assert after == text
    assert "write a list: a `-` before each entry" in said
    assert "fix not applied" not in said


def test_errors_without_a_fix_do_not_block_other_fixes(tmp_path: Path) -> None:
    vague = CLAIM.format(version="v1", requests="requests: g\n    constraints: [{requests: g, matchAttribute: a.b/c}]")
    good = CLAIM.format(version="v1", requests="requests: [{name: g, exactly: {}}]\n    constraints: [{requests: [g]}]")
    after, said = corrected(tmp_path, f"{vague}---\n{good.replace('[g]', 'g')}")
    assert after == f"{vague.replace('{requests: g', '{requests: [g]')}---\n{good}"
    assert "fixed 2 findings in 1 file" in said
    assert "fix not applied" not in said


@each_row(
    ("wrong", "right"),
    ("exactly:   # note\n        deviceClassName: gpu", "# note\n      deviceClassName: gpu"),
    (
        "exactly:\n        # class\n        deviceClassName: gpu # x\n        count: 2",
        "# class\n      deviceClassName: gpu # x\n      count: 2",
    ),
)
def test_comments_stay_where_a_map_goes(wrong: str, right: str, tmp_path: Path) -> None:
    before = CLAIM.format(version="v1beta1", requests=f"requests:\n    - name: g\n      {wrong}")
    after = CLAIM.format(version="v1beta1", requests=f"requests:\n    - name: g\n      {right}")
    assert corrected(tmp_path, before)[0] == after


def test_a_fix_may_bring_errors_to_light(tmp_path: Path) -> None:
    both = "gpu:\n      resourceClaimName: c\n      resourceClaimTemplateName: t"
    after, said = corrected(tmp_path, POD.format(claims=f"resourceClaims:\n    {both}"))
    assert after == POD.format(claims=f"resourceClaims:\n    {both.replace('gpu:', '- name: gpu')}")
    assert "one-source" in said
    text = CLAIM.format(version="v1", requests="requests: [{name: g, exactly: {deviceClassName: gpu, count: -1}}]")
    separated = corrected(tmp_path, text + text)[0]
    assert separated == f"{text}---\n{text}"
    hidden = "requests:\n      - name: g\n        exactly: {deviceClassName: gpu, count: two}"
    by_name = hidden.replace("- name: g", "g:")
    assert corrected(tmp_path, CLAIM.format(version="v1", requests=by_name))[0] == CLAIM.format(
        version="v1", requests=hidden
    )
    beyond = text.replace("resource.k8s.io/v1", "v1")
    assert corrected(tmp_path, beyond)[0] == text


@pytest.mark.parametrize("fields", ["count: two", "allocationMode: All, count: 2"])
def test_wrong_values_below_a_misspelt_field_do_not_block_its_fix(fields: str, tmp_path: Path) -> None:
    text = CLAIM.format(version="v1", requests=f"requests: [{{name: g, exactly: {{deviceClassName: gpu, {fields}}}}}]")
    assert corrected(tmp_path, text.replace("exactly", "exactl"))[0] == text


def test_a_fix_may_not_write_what_is_wrong(tmp_path: Path) -> None:
    text = CLAIM.format(version="v1", requests="requests:\n      name: g\n      exactly: 5")
    after, said = corrected(tmp_path, text)
    assert after == text
    assert "fix not applied: a.yaml" not in said
    assert "it causes error wrong-type" in said


def test_a_diff_names_the_lines_of_the_file(tmp_path: Path) -> None:
    first = CLAIM.format(version="v1", requests="requests:\n    - name: g\n      deviceClassName: gpu")
    second = CLAIM.format(
        version="v1",
        requests="requests:\n    - name: g\n      exactly: {deviceClassName: gpu, count: 2, allocationMode: ALL}",
    )
    file = tmp_path / "a.yaml"
    file.write_text(f"{first}---\n{second}", encoding="utf-8")
    said = draguard("validate", "--diff", file).err
    assert f"fix not applied: {file}:17:49: count-for-mode" in said


def test_a_fix_that_leaves_its_finding_does_not_block_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "near_semver", lambda written: "1.2.0" if written == "1.2" else f"{written}.0")
    devices = "".join(
        f"  - {{name: d{i}, attributes: {{a: {{version: '{v}'}}}}}}\n" for i, v in enumerate(["1.2", "x", "1.2"])
    )
    after, said = corrected(tmp_path, SLICE + devices)
    assert after == SLICE + devices.replace("1.2", "1.2.0")
    assert said.count("fix not applied") == 1
    assert "with the fix there is still error semver" in said


def test_edits_are_made_in_the_order_of_the_text_once_and_without_overlaps() -> None:
    assert apply("one two three", [Edit(8, 13, "3"), Edit(0, 3, "1"), Edit(4, 4, "and ")]) == "1 and two 3"
    assert apply("ab", [Edit(1, 2, "B"), Edit(1, 1, "x"), Edit(1, 1, "y")]) == "axyB"
    assert apply("ab", [Edit(0, 1, ""), Edit(0, 1, "")]) == "b"
    with pytest.raises(OverlapError, match="offset 1"):
        apply("abc", [Edit(0, 2, ""), Edit(1, 3, "")])
