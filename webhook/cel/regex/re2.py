"""Compiles and matches regular expressions with RE2, once Go's syntax allows them.

RE2 gets little memory (`MAX_MEMORY`), within which even the worst pattern compiles, or fails to, in milliseconds. A
pattern that Go accepts and RE2 cannot compile within it is valid, and an error only when it would have to run.
"""

from __future__ import annotations

from collections.abc import Iterator
from re import Match
from sys import getsizeof
from typing import Any, Final

from webhook.budget import work
from webhook.cel.cache import Cache
from webhook.cel.errors import EvaluationError
from webhook.cel.regex.pattern import ParsedPattern, read_pattern

MAX_MEMORY: Final = 256 << 10
"""The bytes that RE2 may use for a pattern and its automata."""
MAX_CACHE: Final = 16 << 20

_MAX_WEIGHT: Final = 64_000
"""About four times as many instructions as fit the memory: RE2 is not tried beyond."""
_STEPS: Final = 200
"""The steps of an automaton for a unit of work: at worst, one for each character and each instruction."""
_SHORT: Final = 64
"""The most characters of a text whose result is remembered: labels and names repeat, and a search takes 3 us."""
_REMEMBERED: Final = 64
"""How many results are remembered for each pattern: at most 25 KB, beside RE2's memory."""


class CompiledPattern:
    """A pattern that can be searched for."""

    __slots__ = ("_compiled", "_found", "_size")

    def __init__(self, compiled: Any) -> None:  # one of RE2's, whose methods are those of `re`
        self._compiled, self._size = compiled, compiled.programsize
        self._found: dict[str, bool] = {}

    def is_in(self, text: str) -> bool:
        """Whether the pattern is found anywhere in a text; searching bytes avoids counting characters.

        Raises:
            BudgetExceededError: The work exceeds the budget in force.
        """
        if (found := self._found.get(text)) is None:
            work(len(text) * self._size // _STEPS)
            found = self._compiled.search((text if text.isascii() else readable(text)).encode()) is not None
            if len(text) <= _SHORT:
                if len(self._found) >= _REMEMBERED:
                    self._found.clear()
                self._found[text] = found
        return found

    def find_all(self, text: str) -> Iterator[Match[str]]:
        """Find all matches in a text.

        Raises:
            BudgetExceededError: The work exceeds the budget in force.
        """
        work(len(text) * self._size // _STEPS)
        found: Iterator[Match[str]] = self._compiled.finditer(readable(text))
        return found


_ENTRY: Final = 400
_known: Final[Cache[ParsedPattern]] = Cache(1 << 20)
"""Parsed patterns; parsing one takes longer than the rest of a short expression."""
_patterns: Final[Cache[CompiledPattern]] = Cache(MAX_CACHE)


def check_pattern(pattern: str) -> ParsedPattern:
    """Read a pattern without compiling it.

    Raises:
        EvaluationError: Go rejects the pattern.
        BudgetExceededError: The work exceeds the budget in force.
    """
    if (found := _known.get(pattern)) is None:
        work(len(pattern))
        found = read_pattern(pattern)
        _known.put(pattern, found, _ENTRY + 2 * getsizeof(pattern))
    return found


def _too_large() -> EvaluationError:
    return EvaluationError(f"the pattern is too large: it takes more than the {MAX_MEMORY >> 10} KiB that are allowed")


def compile_pattern(pattern: str) -> CompiledPattern:
    """Compile a pattern.

    Raises:
        EvaluationError: Go rejects the pattern, or it is too large for RE2's memory.
        BudgetExceededError: The work exceeds the budget in force.
    """
    if (found := _patterns.get(pattern)) is None:
        read = check_pattern(pattern)
        if read.weight > _MAX_WEIGHT:
            raise _too_large()
        work(read.weight)
        import re2  # type: ignore[import-untyped]  # a native module that many expressions never need

        options = re2.Options()
        options.log_errors, options.max_mem = False, MAX_MEMORY
        try:
            found = CompiledPattern(re2.compile(readable(read.text), options=options))
        except re2.error:
            raise _too_large() from None
        _patterns.put(pattern, found, MAX_MEMORY + len(pattern))
    return found


def readable(text: str) -> str:
    """The text with lone surrogates replaced as by Go's JSON decoder; RE2 would fail on them."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is found anywhere in the text."""
    return (_patterns.get(pattern) or compile_pattern(pattern)).is_in(text)
