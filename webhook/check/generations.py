"""Warns of pools whose generation goes down: schedulers ignore slices of lower generations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.objects import number, text
from webhook.problem import WARNING, Path, Problem

_POOL: Final = ("spec", "pool")
_GENERATION: Final = Path((*_POOL, "generation"))


def lowered(obj: Any, before: Any) -> Iterator[Problem]:
    """Yield a warning if a slice has a lower generation of its pool than it had."""
    now, earlier = (number(each, *_GENERATION) or 0 for each in (obj, before))
    pool, was_in = (text(each, *_POOL, "name") for each in (obj, before))
    if pool == was_in and now < earlier:
        message = f"pool {pool} was at generation {earlier}: schedulers ignore slices of a lower one, such as {now}"
        hint = f"state generation {earlier + 1}, or higher"
        yield Problem(WARNING, "generation-lowered", "Obsolete", _GENERATION, message, hint)
