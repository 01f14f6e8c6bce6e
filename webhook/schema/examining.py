"""The findings in values. Something else may answer first that there are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from webhook.problem import Problem
from webhook.schema.compiled import CompiledStruct
from webhook.schema.decoding import Misfit, apart

Tell = Callable[[object], bool]

"""Tells that there is nothing to report about a value; False if it does not know."""


class _First:
    """What answers before values are walked."""

    make: Callable[[CompiledStruct], Tell] | None = None


def answer_first(make: Callable[[CompiledStruct], Tell] | None) -> None:
    """Let a function answer before values are walked.

    Args:
        make: Returns what tells about values of a type; None for none.
    """
    _First.make = make
    _tell_of.cache_clear()


@cache
def _tell_of(struct: CompiledStruct) -> Tell:
    return _First.make(struct) if _First.make else lambda _: False


def examined(struct: CompiledStruct, value: object) -> tuple[Sequence[Misfit], Sequence[Problem]]:
    """Return the findings in a value, from decoding and from validation."""
    return ((), ()) if _tell_of(struct)(value) else apart(struct.walk(value))
