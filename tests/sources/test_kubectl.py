"""Kustomizations, built by the kubectl of this machine; without one, a program stands in (``test_kustomize.py``)."""

from pathlib import Path

import pytest

from tests.command import draguard, findings
from tests.rows import each_row
from tests.sources.programs import CLAIM, write

pytestmark = pytest.mark.tools

COMPONENT = """\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
- target: {kind: ResourceClaim}
  patch: |
    - {op: add, path: /spec/devices/requests/0/exactly/allocationMod, value: All}
"""
OVERLAY = """\
namePrefix: prod-
namespace: prod
resources: [../base]
components: [../component]
configMapGenerator:
- name: settings
  literals: [a=b]
labels:
- pairs: {team: a}
"""


def test_bases_components_patches_and_generators_are_built(tmp_path: Path) -> None:
    files = {
        "base/kustomization.yaml": "resources: [claim.yaml]\n",
        "base/claim.yaml": CLAIM.replace("NAME", "x"),
        "component/kustomization.yaml": COMPONENT,
        "overlay/kustomization.yaml": OVERLAY,
    }
    overlay = write(tmp_path, files) / "overlay"
    found = findings("validate", overlay)
    assert [(each["rule"], each["name"], each["namespace"], each["hint"]) for each in found] == [
        ("unknown-field", "prod-x", "prod", 'did you mean "allocationMode"?')
    ]
    assert "1 skipped (of other kinds: 1 ConfigMap)" in draguard("validate", overlay).out


@each_row(
    ("text", "message", "hint"),
    ("resources: [gone.yaml]", "accumulating resources", "gone.yaml does not exist beside the kustomization"),
    ("pathces: []", 'unknown field "pathces"', 'did you mean "patches"?'),
    ("resources: [", "did not find expected node content", ""),
    ("resources: []", "nothing is rendered", "check the resources"),
    ("helmCharts: [{name: a}]", "must specify --enable-helm", "give the chart's directory"),
)
def test_a_failed_build_is_reported(text: str, message: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text(text, encoding="utf-8")
    (found,) = findings("validate", tmp_path)
    assert (found["file"], found["line"]) == (f"{tmp_path}/kustomization.yaml", 1)
    assert message in found["message"]
    assert (hint in found["hint"], bool(found["hint"])) == (True, bool(hint))
    assert "run.go" not in found["message"]


def test_a_file_that_is_not_yaml_is_shown_where_it_is_not(tmp_path: Path) -> None:
    broken = CLAIM.replace("spec:", " spec: a")
    write(tmp_path, {"kustomization.yaml": "resources: [claim.yaml]", "claim.yaml": broken})
    (found,) = findings("validate", tmp_path)
    assert (found["file"], found["line"], found["rule"]) == (f"{tmp_path}/claim.yaml", 6, "unreadable")
