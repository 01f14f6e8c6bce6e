"""Named texts, and positions in them."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Final

from webhook.documents.limits import MAX_EXCERPT
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.problem import Fix

STDIN: Final = "-"
"""Standard input, as users name it."""
JSON: Final = ".json"
"""The end of the names of files that are meant to be JSON."""
STDIN_NAME: Final = "<stdin>"
"""The name of standard input in reports."""


class Position(NamedTuple):
    """A place in a file.

    Args:
        line: Counted from 1.
        column: In characters, counted from 1.
    """

    line: int
    column: int


class Unreadable(NamedTuple):
    """A reading error: in a file, a document, or a repeated key.

    Args:
        source: The file's name as given, ``<stdin>`` for standard input.
        line: Counted from 1; 0 if there is none, as when the file is missing.
        column: In characters, counted from 1; 0 if there is no line.
        message: The error, in the words of Kubernetes' reader if it has any.
        hint: How to fix it, where that is known.
        excerpt: The text of the line, for display; empty if it is too long for that.
        fix: The fix, where that is known.
    """

    source: str
    line: int
    column: int
    message: str
    hint: str = ""
    excerpt: str = ""
    fix: Fix | None = None


class Source:
    """The text of one file.

    Args:
        name: The file's name as given, ``<stdin>`` for standard input.
        text: Its content, without a byte order mark.
        rendered: Whether a program wrote the text, so that its lines are not those of a user's file.
    """

    def __init__(self, name: str, text: str, *, rendered: bool = False) -> None:
        self.name = name
        self.text = text
        self.rendered = rendered
        self._mentioned: dict[str, bool] = {}
        self._lines: dict[int, str] = {}

    def mentions(self, word: str) -> bool:
        """Tell whether the text contains a word."""
        if word not in self._mentioned:
            self._mentioned[word] = word in self.text
        return self._mentioned[word]

    @cached_property
    def _starts(self) -> list[int]:
        starts, end = [0], self.text.find("\n")
        while end >= 0:
            starts.append(end + 1)
            end = self.text.find("\n", end + 1)
        return starts

    def position(self, offset: int) -> Position:
        """Return the line and column of an offset in the text."""
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """Return the text of a line, counted from 1, without its line break; empty if the line does not exist."""
        if not 1 <= number <= len(self._starts):
            return ""
        if number not in self._lines:  # kept, as thousands of findings may look into one line of megabytes
            start = self._starts[number - 1]
            self._lines[number] = self.text[start : start + self._length(number)].rstrip("\r\n")
        return self._lines[number]

    def excerpt(self, number: int) -> str:
        """Return the text of a line for display; empty if it is too long for that."""
        is_shown = number <= len(self._starts) and self._length(number) <= MAX_EXCERPT
        return self.line(number) if is_shown else ""

    def _length(self, number: int) -> int:
        return (self._starts[number] if number < len(self._starts) else len(self.text)) - self._starts[number - 1]

    def unreadable(self, offset: int, message: str, hint: str) -> Unreadable:
        """Report a reading error, with its line."""
        place = self.position(offset)
        if self.name.endswith(JSON):
            from webhook.documents.jsonwords import in_json  # noqa: PLC0415 - most manifests are YAML, and readable

            message, hint = in_json(message), in_json(hint)
        return Unreadable(self.name, place.line, place.column, message, hint, self.excerpt(place.line))
