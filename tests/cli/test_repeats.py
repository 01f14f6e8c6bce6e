from pathlib import Path

import pytest

from tests.command import draguard

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a, namespace: default}
spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.example.com}}]}}
"""
OLDER = CLAIM.replace("/v1\n", "/v1beta2\n")
MESSAGE = 'ResourceClaim "a" in namespace default is at line 3, too: if both are applied, this one replaces it'


@pytest.mark.parametrize(
    ("other", "line"),
    [
        (CLAIM, 8),
        (CLAIM.replace(", namespace: default", ""), 8),
        (OLDER, 8),
        (CLAIM.replace("devices", "device"), 8),
        (CLAIM.replace("default", "other"), 0),
        (CLAIM.replace("name: a,", "generateName: a-,"), 0),
        (CLAIM.replace("name: a,", "name: b,"), 0),
        (CLAIM.replace("resource.k8s.io/v1", "example.com/v1"), 0),
        (CLAIM.replace("ResourceClaim", "ConfigMap"), 0),
    ],
)
def test_an_object_that_a_file_has_twice_is_named_with_both_places(other: str, line: int, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(f"{CLAIM}---\n{other}", encoding="utf-8")
    done = draguard("validate", "--level", "deprecated=off", file)
    assert (f"{file}:{line}:12: warning repeated-object: metadata.name: {MESSAGE}" in done.out) == bool(line)
    assert done.out.count("repeated-object") == bool(line)


def test_files_are_not_compared(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(CLAIM, encoding="utf-8")
    assert "repeated-object" not in draguard("validate", tmp_path).out


def test_a_stream_is_a_file_and_each_repetition_counts() -> None:
    done = draguard("validate", "-", stdin="---\n".join([CLAIM] * 3).encode())
    assert done.out.count("is at line 3, too") == 2
