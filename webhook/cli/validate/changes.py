"""Changes within an immutable field, of which the API server shows the whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from webhook.api.versions import find, release_of, target
from webhook.problem import Path, at
from webhook.schema import UPDATE, compile_struct

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.problem import Problem

IMMUTABLE: Final = "field is immutable"
_MOST: Final = 5
_LONGEST: Final = 80


class _Absent:
    """Stands for a value that is not there."""


_ABSENT: Final = _Absent()


def changed(problem: Problem, old: Any, new: Any, kubernetes: str) -> str:
    """Say what an update must not change, and what it changes of that.

    Args:
        problem: The finding that a field is immutable.
        old: The stored object.
        new: The object as it would be.
        kubernetes: The release that was asked, such as ``1.36``.

    Returns:
        A text in the place of the finding's message; empty if what has changed cannot be told.
    """
    known = find(new.get("apiVersion"), new.get("kind"))
    if known is None or not isinstance(old, dict):
        return ""
    struct = compile_struct(known.type, target(new["apiVersion"], release_of(kubernetes), UPDATE))
    # Defaults that the server has set do not count as changes.
    before, after = (at(struct.canonical(each), problem.path, _ABSENT) for each in (old, new))
    texts = [
        f"{Path((*problem.path, *path))}: {_shown(at(old, (*problem.path, *path), _ABSENT), was)}"
        f" → {_shown(at(new, (*problem.path, *path), _ABSENT), now)}"
        for path, was, now in _differences(before, after, ())
    ]
    if not texts:
        return ""
    more = [f"and {len(texts) - _MOST} more"] if len(texts) > _MOST else []
    return f"{IMMUTABLE}; changed: {', '.join([*texts[:_MOST], *more])}"


def _differences(old: Any, new: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            yield from _differences(old.get(name, _ABSENT), new.get(name, _ABSENT), (*path, name))
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            yield from _differences(_item(old, index), _item(new, index), (*path, index))
    elif old != new:
        yield path, old, new


def _item(values: list[Any], index: int) -> Any:
    return values[index] if index < len(values) else _ABSENT


def _shown(written: Any, value_in_force: Any) -> str:
    """Show a value as it was written; one that was not, as the default that it has."""
    value = value_in_force if written is _ABSENT else written
    if value is _ABSENT or value is None:
        return "absent"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
