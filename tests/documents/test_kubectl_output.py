"""Output of kubectl for people, and lists, in place of manifests."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.command import draguard
from tests.rows import each_row
from webhook.documents import Document, Unreadable, parse

TABLE = "NAME     READY   STATUS    RESTARTS   AGE\npod-a    0/1     Pending   0          3m\n"
DESCRIBED = "Name:         node-a\nRoles:        <none>\nLabels:       a=b\n"
ADD = "this looks like kubectl's table: add -o yaml"
GET = "this looks like the output of kubectl describe: use kubectl get -o yaml"
LIST = "a list is not a manifest: write its items as documents, or as the items of a List"
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
"""


@each_row(
    ("text", "hint"),
    [
        (TABLE, ADD),
        (f"NAMESPACE   {TABLE}", ADD),
        (TABLE.replace("\n", "\r\n"), ADD),
        ("NAME READY STATUS\n", ADD),
        (DESCRIBED, GET),
        ('[{"apiVersion": "v1", "kind": "Pod"}]', LIST),
        ("- apiVersion: v1\n  kind: Pod\n", LIST),
        ("Error: no\n", ""),
        ("NAME of a person\n", ""),
    ],
)
@each_row(
    "arguments",
    [
        ("validate", "--cluster", "CLUSTER", "claim.yaml"),
        ("validate", "--old", "CLUSTER", "claim.yaml"),
        ("validate", "CLUSTER"),
        ("simulate", "--cluster", "CLUSTER"),
        ("why", "pod-a", "--cluster", "CLUSTER"),
    ],
)
def test_output_for_people_is_an_error_with_a_hint(
    text: str, hint: str, arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claim.yaml").write_text(CLAIM, encoding="utf-8")
    (tmp_path / "cluster.txt").write_text(text, encoding="utf-8")
    for name, stdin, shown in (
        ("cluster.txt", b"", "cluster.txt:1:1: error unreadable: the file holds no manifest\n"),
        ("-", text.encode(), "<stdin>:1:1: error unreadable: standard input holds no manifest\n"),
    ):
        done = draguard(*(name if each == "CLUSTER" else each for each in arguments), stdin=stdin)
        assert done.code == 1
        printed = done.out + done.err
        assert shown in printed
        assert (f"help: {hint}\n" in printed) == bool(hint)


_NONE = "{apiVersion: v1, kind: List, items: []}"


@pytest.mark.parametrize(
    ("option", "text", "code"), [("--cluster", _NONE, 0), ("--cluster", "", 1), ("--old", _NONE, 0), ("--old", "", 0)]
)
def test_a_cluster_may_have_no_objects_but_its_file_is_not_empty(
    option: str, text: str, code: int, tmp_path: Path
) -> None:
    (tmp_path / "claim.yaml").write_text(CLAIM, encoding="utf-8")
    (tmp_path / "cluster.yaml").write_text(text, encoding="utf-8")
    assert draguard("validate", option, tmp_path / "cluster.yaml", tmp_path / "claim.yaml").code == code


RECORDED = [json.loads(line) for line in (Path(__file__).parent / "kubectl-1.33.jsonl").read_text("utf-8").splitlines()]


def split(text: str) -> tuple[list[Any], list[str]]:
    found = list(parse(text))
    objects = [each.data for each in found if isinstance(each, Document)]
    return objects, [each.message for each in found if isinstance(each, Unreadable)]


@each_row("case", [case for case in RECORDED if "refused" not in case])
def test_reads_what_kubectl_reads(case: dict[str, Any]) -> None:
    objects, refused = split(case["text"])
    assert not refused
    assert json.dumps(objects, sort_keys=True) == json.dumps(case["objects"], sort_keys=True)


@each_row("case", [case for case in RECORDED if "refused" in case])
def test_refuses_what_kubectl_refuses_and_in_its_words(case: dict[str, Any]) -> None:
    objects, refused = split(case["text"])
    words = re.sub(r"^yaml: (line \d+: )?|: (%!s|uint64|\[|map\[).*", "", case["refused"])
    assert objects == case.get("objects", [])
    assert len(refused) == 1
    # For errors of JSON, Python's words are as good as Go's.
    assert words in refused[0] or refused[0].startswith("json: expecting ")
