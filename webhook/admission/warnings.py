"""Findings as warnings, with hints: what was probably meant.

Refusals keep the API server's texts. Names are compared with all others of an object, so that hints are looked for in
small objects only, and while the budget allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from webhook.admission.responses import MAX_WARNING_BYTES, clipped
from webhook.budget import current
from webhook.problem import ERROR, Problem

_LARGEST: Final = 4096
"""The largest object to look for hints in: its values and their characters, without metadata."""
_LONGEST: Final = MAX_WARNING_BYTES // 2
"""The most bytes of a hint: the rest of a warning is its finding."""


def worded(problems: Sequence[Problem], obj: Any) -> list[str]:
    """Write findings as warnings.

    Args:
        problems: The findings, of which warnings have their hints already.
    """
    texts = list(map(str, problems))
    errors = [index for index, problem in enumerate(problems) if problem.level == ERROR]
    if not errors or not isinstance(obj, dict):
        return texts
    size = _size([value for field, value in obj.items() if field != "metadata"])
    if size > _LARGEST:
        return texts
    from webhook.references.hints import hint_of  # most objects are valid

    for index in errors:
        if current().left < 2 * size:
            break
        current().spend(size)
        if hint := problems[index].hint or hint_of(problems[index], obj).hint:
            texts[index] = _with_hint(texts[index], hint)
    return texts


def _with_hint(text: str, hint: str) -> str:
    """Append a hint to a text that is shortened for it; a long hint is left out."""
    end = f" ({hint})"
    length = len(end.encode("utf-8", "replace"))
    return text if length > _LONGEST else clipped(text, MAX_WARNING_BYTES - length) + end


def _size(value: Any) -> int:
    """Count the values in a value, and the characters of texts; no further than the largest."""
    size, pending = 0, [value]
    while pending and size <= _LARGEST:
        each = pending.pop()
        size += 1 + (len(each) if isinstance(each, str | list | dict) else 0)
        if size > _LARGEST:
            break
        if isinstance(each, dict):
            pending += (*each, *each.values())
        elif isinstance(each, list):
            pending += each
    return size
