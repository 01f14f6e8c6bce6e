"""Limits of the Python interpreter, the same in every process, and of findings.

With Python's default recursion limit, a deeply nested object would be judged in one process and refused in another,
depending on whether the CEL engine was used before.
"""

from __future__ import annotations

import sys
from typing import Final

RECURSION_LIMIT: Final = 5_000
"""How deep Python may recurse: each of CEL's 250 levels of an expression takes a dozen frames, of an object two.

Calls of Python functions take no C stack; deeper nesting is refused with an error that says so.
"""
INT_DIGITS: Final = 4_300
"""How many digits of a number are read: the time grows with their square."""


MOST_FINDINGS: Final = 10_000
"""The most findings reported in one file: each takes a kilobyte, and a longer list helps no reader."""
MOST_IN_ALL: Final = 100_000
"""The most findings reported in all files together."""


def set_limits() -> None:
    """Set the limits, for all threads; a higher recursion limit of the application is kept."""
    sys.setrecursionlimit(max(RECURSION_LIMIT, sys.getrecursionlimit()))
    sys.set_int_max_str_digits(INT_DIGITS)
