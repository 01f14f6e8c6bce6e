"""JSON with strings as long as a file may be."""

from __future__ import annotations

import time
import tracemalloc
from contextlib import suppress

import pytest

from webhook.documents import jsontext
from webhook.documents.content import Fault
from webhook.documents.jsontext import TOKEN, Decoder


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
    with suppress(Fault):
        Decoder(start + '\\"' * 200_000 + "," * 20_000 + end).decode(0)
    with suppress(Fault):
        Decoder(start + '\\"' * 200_000 + end).decode(0)
    assert time.process_time() - started < 2
