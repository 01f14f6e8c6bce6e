"""Formats of texts as long as a request may be."""

import itertools
import tracemalloc
from collections.abc import Callable

import pytest

from webhook import formats

pytestmark = pytest.mark.slow

CHECKS = [
    check
    for name in formats.__all__
    if [*(notes := getattr(check := getattr(formats, name), "__annotations__", {}))][1:] != ["return"]
    and notes.get("return") == "Messages"
]
STARTS = ("", "1.2.3-", "1.2.3+", "example.com/")
UNITS = ("a", "1", "a.", "1.", "a-", "-", ":", "a/")
LENGTH = 200_000


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_memory_of_a_check_does_not_grow_faster_than_the_text(check: Callable[[str, int], formats.Messages]) -> None:
    for start, unit in itertools.product(STARTS, UNITS):
        text = start + unit * (LENGTH // len(unit))
        tracemalloc.start()
        check(text, 36)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20 * LENGTH, (start, unit)
