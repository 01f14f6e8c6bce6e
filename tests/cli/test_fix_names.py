"""Names are changed with all their references, or not at all."""

from pathlib import Path

import pytest

from tests.cli.fixing import UNSAFE, write
from tests.command import draguard

NAMED = """\
apiVersion: resource.k8s.io/v1
kind: {kind}
metadata: {{name: {name}}}
spec: {spec}
"""
BIG = NAMED.format(kind="DeviceClass", name="big_gpu", spec="{}")
SMALL = NAMED.format(kind="DeviceClass", name="small_gpu", spec="{}")
CLAIM_OF_ONE = NAMED.format(
    kind="ResourceClaim", name="one-gpu", spec="{devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}"
)
REPLICAS = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: db, image: db, resources: {claims: [{name: gpu, request: gpu}]}}]
      resourceClaims: [{name: gpu, resourceClaimName: one-gpu}]
"""
NO_REQUEST = REPLICAS.replace("request: gpu", "request: cpu")
OF_CLASS = """\
apiVersion: v1
kind: Pod
metadata: {name: pod}
spec: {containers: [{name: c, image: i, resources: {limits: {deviceclass.resource.kubernetes.io/big_gpu: 1}}}]}
"""
QUOTA = """\
apiVersion: v1
kind: ResourceQuota
metadata: {name: devices}
spec:
  hard:
    requests.deviceclass.resource.kubernetes.io/big_gpu: 1
    big_gpu.deviceclass.resource.k8s.io/devices: "2"
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([BIG, CLAIM_OF_ONE.replace("exactly", "exactl"), REPLICAS], [BIG.replace("_", "-"), CLAIM_OF_ONE, REPLICAS]),
        ([CLAIM_OF_ONE.replace("one-", "one_"), REPLICAS], [CLAIM_OF_ONE, REPLICAS]),
        ([CLAIM_OF_ONE.replace("one-", "one_"), NO_REQUEST], [CLAIM_OF_ONE, NO_REQUEST]),
        ([BIG, SMALL, OF_CLASS], [each.replace("_gpu", "-gpu") for each in (BIG, SMALL, OF_CLASS)]),
        ([BIG, QUOTA], [BIG.replace("_", "-"), QUOTA.replace("big_gpu", "big-gpu")]),
        ([BIG, BIG.replace("_", "-"), OF_CLASS], [BIG, BIG.replace("_", "-"), OF_CLASS]),
        ([BIG, BIG.replace("big", "Big")], [BIG.replace("_", "-"), BIG.replace("big", "Big")]),
        ([BIG, BIG], [BIG.replace("_", "-")] * 2),
        (
            [BIG, SMALL, OF_CLASS.replace("{device", "{&r device")],
            [BIG, SMALL.replace("_", "-"), OF_CLASS.replace("{device", "{&r device")],
        ),
    ],
    ids=[
        "a note about a fixed claim",
        "a note about a renamed claim",
        "a wrong request",
        "an extended resource of the class",
        "quotas of the class",
        "a name that another class has",
        "a name that another class gets",
        "the same class twice",
        "a reference that cannot be changed",
    ],
)
def test_a_rename_is_dropped_only_if_it_takes_a_name_or_leaves_a_reference_behind(
    before: list[str], after: list[str], tmp_path: Path
) -> None:
    files = [tmp_path / f"{number}.yaml" for number in range(len(before))]
    for file, text in zip(files, before, strict=True):
        file.write_text(text, encoding="utf-8")
    draguard("validate", "--fix", UNSAFE, tmp_path)
    assert [file.read_text(encoding="utf-8") for file in files] == after


def test_the_object_that_has_the_name_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(BIG, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(BIG.replace("_", "-"), encoding="utf-8")
    done = draguard("validate", "--fix", UNSAFE, tmp_path)
    other = f'DeviceClass "big-gpu" is at {tmp_path / "b.yaml"}:3: give this one another name'
    assert f"a.yaml:3:12: object-name: {other}" in done.out
    assert "fixable" not in draguard("validate", "--fix", tmp_path).out


def not_applied(folder: Path) -> str:
    """Return why the only fix of a folder's files is not applied, without the finding."""
    (line,) = (
        each
        for each in draguard("validate", "--fix", UNSAFE, folder).out.splitlines()
        if each.startswith("fix not applied: ")
    )
    return line.partition(": object-name: ")[2].replace(str(folder), "")


def test_the_reference_that_keeps_a_name_from_being_changed_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "a.yaml").write_text(BIG, encoding="utf-8")
    other = folder / "b.yaml"
    other.write_text(QUOTA.replace("    requests", "    &r requests"), encoding="utf-8")
    assert not_applied(folder) == "/b.yaml:6 refers to it, and cannot be changed in place: change it by hand"
    other.write_text(QUOTA, encoding="utf-8")
    (tmp_path / "link").hardlink_to(other)
    assert not_applied(folder).startswith("/b.yaml:6 refers to it, and cannot be written: it has 2 hard links")
    assert (folder / "a.yaml").read_text(encoding="utf-8") == BIG


def test_a_name_that_another_fix_uncovered_is_changed_by_the_next_run(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(BIG.replace("DeviceClass", "DeviceClas"), encoding="utf-8")
    write(tmp_path, QUOTA)
    again = "/b.yaml:6 refers to it, and cannot be written: another fix uncovered that: run the command again"
    assert not_applied(tmp_path) == again
    assert draguard("validate", "--fix", UNSAFE, tmp_path).code == 0
    assert (tmp_path / "b.yaml").read_text(encoding="utf-8") == QUOTA.replace("big_gpu", "big-gpu")


def test_why_a_file_is_not_written_is_said_of_its_findings(tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    (folder / "a.yaml").write_text(BIG, encoding="utf-8")
    write(folder, SMALL)
    (tmp_path / "link").hardlink_to(folder / "b.yaml")
    assert not_applied(folder).startswith("it has 2 hard links")
    assert (folder / "a.yaml").read_text(encoding="utf-8") == BIG.replace("_", "-")
