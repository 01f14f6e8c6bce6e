from pathlib import Path

import pytest

from tests.command import draguard

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {ok: a}}
spec:
  selector: {matchLabels: {KEY: a}}
  template:
    metadata: {labels: {KEY: a}, annotations: {KEY: a}}
    spec:
      nodeSelector: {KEY: a}
      containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
      resourceClaims: [{name: g, resourceClaimName: g}]
"""


@pytest.mark.parametrize(
    ("key", "read", "count"),
    [("on", "true", 4), ("No", "false", 4), ("y", "true", 4), ("'on'", "", 0), ("true", "", 0), ("ok", "", 0)],
)
def test_keys_that_are_booleans_in_yaml_are_explained(key: str, read: str, count: int, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(DEPLOYMENT.replace("KEY", key), encoding="utf-8")
    done = draguard("validate", tmp_path / "a.yaml")
    assert done.out.count("warning misread-key: ") == count
    assert done.out.count(f'YAML reads the key {key} as "{read}": to mean the text, write "{key}" in quotes') == count


def test_a_value_of_the_wrong_type_has_its_own_hint(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(DEPLOYMENT.replace("nodeSelector: {KEY: a}", "nodeSelector: {on: yes}"))
    out = draguard("validate", tmp_path / "a.yaml").out
    assert (
        out.count('YAML reads the key on as "true"') == out.count("help: if a string is meant, put it in quotes") == 1
    )
