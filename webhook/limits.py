"""Limits of the Python interpreter, the same in every process, of findings and of processes.

An object nested as deep as Python's default lets it recurse would else be judged in one process and refused in another,
depending on whether the CEL engine was used before.
"""

from __future__ import annotations

import sys
from typing import Final

RECURSION_LIMIT: Final = 5_000
"""How deep Python may recurse: a level of an expression, of which CEL has 250, takes a dozen frames, of an object two.

Calls of Python functions take no C stack; what is nested deeper is refused with an error that says so.
"""
INT_DIGITS: Final = 4_300
"""How many digits a whole number may have as a text: reading more takes time that grows with their square."""


MOST_FINDINGS: Final = 10_000
"""Findings in one file: who has so many reads no more of them, and each takes a kilobyte."""
MOST_IN_ALL: Final = 100_000
"""Findings in all files together."""
MOST_JOBS: Final = 64
"""How many processes may share the work of a command."""


def set_limits() -> None:
    """Set the limits, for all threads; an application that can recurse deeper already keeps that."""
    sys.setrecursionlimit(max(RECURSION_LIMIT, sys.getrecursionlimit()))
    sys.set_int_max_str_digits(INT_DIGITS)
