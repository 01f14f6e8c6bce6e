"""Recorded clusters of Kubernetes 1.36, each with a pod in trouble: the first line names the cause and an object.

``causes-1.36.jsonl.gz`` has a cluster a line, as ``kubectl get -A -o json`` prints it, with what is asked, a pattern
that the first line must match (``says``), and objects of which the answer names one (``about``).
"""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.command import ROOT, draguard
from webhook.objects import JSONObject

RECORDED = ROOT / "tests/why/causes-1.36.jsonl.gz"


@cache
def records() -> list[JSONObject]:
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def cases() -> list[Any]:
    """Return the records; the quick lane takes every fifth."""
    return [
        pytest.param(record, id=record["id"], marks=[] if index % 5 == 0 else pytest.mark.slow)
        for index, record in enumerate(records())
    ]


def names(answer: JSONObject, thing: JSONObject) -> bool:
    """Tell whether an answer names a thing, in its first line or among its first objects."""
    listed = any((each["kind"], each["name"]) == (thing["kind"], thing["name"]) for each in answer["objects"][:8])
    return listed or re.search(rf"(?<![\w.-]){re.escape(thing['name'])}(?![\w-])", answer["cause"]) is not None


@pytest.mark.parametrize("record", cases())
def test_the_first_line_names_the_cause(record: JSONObject, tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps(record["objects"]), encoding="utf-8")
    done = draguard("why", record["pod"], "-n", record["namespace"], "--cluster", cluster, "--output", "json")
    answer = json.loads(done.out)
    assert done.err == ""
    assert re.search(record["says"], answer["cause"], re.IGNORECASE), answer["cause"]
    assert any(names(answer, each) for each in record["about"]), answer
    assert answer["stage"] == record["stage"]
    assert answer["kubernetes"] == record["kubernetes"]
    assert len(answer["cause"]) <= 400


def test_a_cluster_is_recorded_for_each_cause() -> None:
    assert len({record["cause"] for record in records()}) == 58
