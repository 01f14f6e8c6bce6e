"""Examples that hypothesis tries, and recorded cases: fewer in the quick lane."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

_ALL = 100
"""How many there are where a test says nothing and the lane is not quick."""


def examples(number: int, quick: int = 0) -> settings:
    """Return settings for some examples; in the quick lane for another number, or the share that its profile allows."""
    allowed = settings().max_examples
    return settings(max_examples=quick if quick and allowed < _ALL else max(1, number * allowed // _ALL))


def sampled(cases: Iterable[Any], one_of: int) -> list[Any]:
    """Return cases as parameters of a test, named by their ``id``; the quick lane takes one of some."""
    return [
        pytest.param(case, id=case["id"], marks=[pytest.mark.slow] if number % one_of else [])
        for number, case in enumerate(cases)
    ]
