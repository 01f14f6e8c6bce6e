"""Strings and lines as long as a file may be."""

from __future__ import annotations

import json
import time
import tracemalloc
from contextlib import suppress

import pytest

from webhook.check.expressions import located
from webhook.documents import Document, jsontext, parse
from webhook.documents.jsontext import TOKEN, decoded
from webhook.documents.source import ContentError
from webhook.findings import found
from webhook.problem import ERROR, Path, Problem

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]


def test_memory_of_a_token_does_not_grow_with_its_escapes() -> None:
    text = '"' + "\\n" * 200_000 + '"'
    TOKEN.match("")
    tracemalloc.start()
    assert TOKEN.match(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < len(text)


@pytest.mark.parametrize("start", ['{"a": "', "[" * 10_000 + '"'])
@pytest.mark.parametrize("end", ["", "\\"])
def test_a_string_without_end_is_looked_at_once(start: str, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontext, "MAX_VALUES", 20_000)
    started = time.process_time()
    with suppress(ContentError):
        next(decoded(start + '\\"' * 200_000 + "," * 20_000 + end))
    with suppress(ContentError):
        next(decoded(start + '\\"' * 200_000 + end))
    assert time.process_time() - started < 2


def test_findings_share_the_memory_of_a_long_line() -> None:
    objects = [
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": {f"a{number}": 1}}
        for number in range(2_000)
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    documents = list(parse(text, "list.json"))
    assert len(documents) == len(objects)
    tracemalloc.start()
    findings = [found(Problem(ERROR, "rule", "", Path(("spec",)), "wrong"), each) for each in documents]  # type: ignore[arg-type]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert {each.text for each in findings} == {""}
    assert peak < 50 * len(text)


@pytest.mark.parametrize("expression", ["device.driver ==", "device.nothing"])
def test_an_expression_in_a_long_line_is_located_without_copies_of_the_line(expression: str) -> None:
    objects = [{"apiVersion": "v1", "kind": "X", "expression": expression} for _ in range(1_000)]
    documents = list(
        parse(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects, "z": " " * (1 << 22)}), "a.json")
    )
    problem = Problem(ERROR, "rule", "", Path(("expression",)), "Syntax error: <EOF>")
    started = time.process_time()
    columns = [located(problem, each).column for each in documents]  # type: ignore[arg-type]
    assert time.process_time() - started < 1
    assert columns == sorted(set(columns))


def test_many_positions_in_a_simple_document_take_linear_time() -> None:
    text = "spec:\n" + "".join(f"  key-{number}: {number}\n" for number in range(10_000))
    (document,) = parse(text)
    assert isinstance(document, Document)
    started = time.process_time()
    lines = [document.position(("spec", f"key-{number}")).line for number in range(10_000)]
    assert time.process_time() - started < 5
    assert lines == list(range(2, 10_002))


def test_few_of_thousands_of_quotations_are_looked_for() -> None:
    expression = "+".join(f"u{number}" for number in range(1_500))
    message = " ".join(f'"absent{number}"' for number in range(3_000))
    (document,) = parse(json.dumps({"apiVersion": "v1", "kind": "X", "expression": expression}))
    started = time.process_time()
    for _ in range(20):
        located(Problem(ERROR, "rule", "", Path(("expression",)), message), document)  # type: ignore[arg-type]
    assert time.process_time() - started < 2
