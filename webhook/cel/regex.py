"""RE2 patterns, compiled once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, cast

from webhook.cel.errors import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Match(Protocol):
    """What is used of a place where a pattern was found."""

    def group(self) -> str:
        """The text that is there."""

    def start(self) -> int:
        """Where it starts."""

    def end(self) -> int:
        """Where it ends."""


class Pattern(Protocol):
    """What is used of a compiled pattern."""

    def search(self, text: str) -> Match | None:
        """Finds the pattern anywhere in a text."""

    def finditer(self, text: str) -> Iterator[Match]:
        """Finds the pattern everywhere in a text."""


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Pattern:
    """Compiles a pattern.

    Raises:
        EvaluationError: It is no RE2 pattern.
    """
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415  # a native module that many expressions never need

    options = re2.Options()
    options.log_errors = False
    try:
        return cast("Pattern", re2.compile(pattern, options=options))
    except (re2.error, UnicodeError) as error:
        reason = error.args[0] if error.args else pattern
        shown = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        msg = f"error parsing regexp: {shown}"
        raise EvaluationError(msg) from None


def readable(text: str) -> str:
    """The text with what Go's JSON decoder makes of lone surrogates, on which RE2 would fail."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def matches(text: str, pattern: str) -> bool:
    """Whether the pattern is found anywhere in the text."""
    return compile_pattern(pattern).search(readable(text)) is not None
