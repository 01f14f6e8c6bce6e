"""Changes within an immutable field, which the API server shows as a whole."""

from __future__ import annotations

import json
from itertools import takewhile
from typing import Any, Final

from webhook.api.versions import find, release_of, target
from webhook.patch import ABSENT, differences
from webhook.problem import Path, Problem, value_at
from webhook.schema.fields import compile_struct
from webhook.schema.target import UPDATE
from webhook.spelling import some_of

_LONGEST: Final = 80
_BEFORE: Final = 20
"""The number of characters shown before the first difference of a long text."""


def changed(problem: Problem, old: Any, new: Any, kubernetes: str | None) -> str:
    """Describe the changes of an update within an immutable field: ``changed: spec.a: 1 → 2``; empty if unknown."""
    known = find(new.get("apiVersion"), new.get("kind"))
    if known is None or not isinstance(old, dict):
        return ""
    release = release_of(kubernetes) if kubernetes else known.default
    struct = compile_struct(known.type, target(new["apiVersion"], release, UPDATE))
    # Defaults that the server has set do not count as changes.
    before, after = (value_at(struct.canonical(each), problem.path, ABSENT) for each in (old, new))
    texts = []
    for path, was, now in differences(before, after):
        place = Path((*problem.path, *path))
        one, other = _cut(_shown(value_at(old, place, ABSENT), was), _shown(value_at(new, place, ABSENT), now))
        texts.append(f"{place}: {one} → {other}")
    return f"changed: {', '.join(some_of(texts, 5, 'and {} more'))}" if texts else ""


def _shown(written: Any, value_in_force: Any) -> str:
    """Show a value as written; an absent one, as its default."""
    value = value_in_force if written is ABSENT else written
    if value is ABSENT or value is None:
        return "absent"
    return json.dumps(value, ensure_ascii=False, default=str)


def _cut(*texts: str) -> list[str]:
    """Cut long texts so that their first difference is visible."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*texts, strict=False)))
    start = max(same - _BEFORE, 0) if max(map(len, texts)) > _LONGEST else 0
    return [
        ("…" if start else "") + text[start : start + _LONGEST] + ("…" if len(text) > start + _LONGEST else "")
        for text in texts
    ]
