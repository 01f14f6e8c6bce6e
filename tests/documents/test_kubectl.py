"""Manifests are read as kubectl reads them.

``documents/kubectl-1.33.jsonl`` holds texts and what ``kubectl label --local`` 1.33.1 made of them: the ``objects``
(less the label) and, if it refused the text or part of it, what it said.
"""

import json
import re
from pathlib import Path
from typing import Any

from tests.rows import each_row
from webhook.documents import Document, Unreadable, parse

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
