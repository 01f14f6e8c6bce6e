"""Named texts, and positions in them."""

from __future__ import annotations

import codecs
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from webhook.later import cached_property
from webhook.patterns import Pattern
from webhook.problem import Fix, InYaml

_ENCODINGS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class ContentError(Exception):
    """A reason why a document cannot be read.

    Args:
        message: The error, in the words of Kubernetes' reader if it has any.
        offset: The place in the document's text, in characters from its start.
        hint: How to fix it, where that is known.
    """

    def __init__(self, message: str, offset: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


class Content(NamedTuple):
    """The content of a text.

    Args:
        value: The JSON value of its first document, ``None`` also if there is none, or it cannot be used.
        repeated: Whether a map has a key twice; the last one is in the value.
        ignored: The offset of text that Kubernetes' reader ignores; ``None`` if there is none.
        error: Why the document cannot be used.
        start: The offset of the value, of JSON only.
        end: The offset of the text after it, of JSON only.
    """

    value: Any
    repeated: bool = False
    ignored: int | None = None
    error: ContentError | None = None
    start: int = 0
    end: int = 0


def _encoding_of(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark of a file, empty if it has none, and its encoding."""
    return next(((bom, name) for bom, name in _ENCODINGS if data.startswith(bom)), (b"", "utf-8"))


def decoded(data: bytes, errors: str = "strict") -> str:
    """Decode a file's text.

    Args:
        errors: As for :meth:`bytes.decode`.

    Raises:
        UnicodeDecodeError: It is not text; the error holds the bytes after the byte order mark.
    """
    bom, encoding = _encoding_of(data)
    return data[len(bom) :].decode(encoding, errors)


def encoded(text: str, data: bytes) -> bytes:
    """Encode a text as a file is encoded."""
    bom, encoding = _encoding_of(data)
    return bom + text.encode(encoding, "surrogatepass")


_IN_JSON: Final = {"a flow sequence": "an array", "a flow mapping": "an object", "a block mapping": "an object"}
"""What to say in JSON, by what libyaml says."""
STDIN: Final = "-"
"""Standard input, as users name it."""
JSON: Final = ".json"
"""The end of the names of files that are meant to be JSON."""
MARKDOWN: Final = ".md"
"""The end of the names of Markdown files, whose manifests are in blocks."""
STDIN_NAME: Final = "<stdin>"
"""The name of standard input in reports."""
_BREAK: Final = Pattern("\n")

MAX_BYTES = 128 * 1024 * 1024
"""Size of one file or of standard input, in bytes. An API server takes 3 MiB per request, a file may hold many."""

MAX_DEPTH = 200
"""The depth of maps and lists, aliases followed: deeper than any manifest needs, and far enough below
:data:`webhook.limits.RECURSION_LIMIT` that code may recurse over a document.
"""

MAX_ALIASED = 1_200_000
"""The values that the aliases of one document expand to: the most that Go's reader allows at any size below 100 MB
(``allowedAliasRatio`` in go-yaml v2 ``decode.go``)."""

MAX_VALUES = 4_000_000
"""Keys and values of one YAML document, with the ends of its maps and lists, or of one JSON text: this many take some
10 seconds and 0.6 GiB to read, twice that to locate what is wrong in them. An object of the size that an API server
takes has a tenth of them, a list of 10,000 pods half.
"""

MAX_TAG_DIRECTIVES = 100
"""``%TAG`` lines of one document: libyaml compares each with all before it."""

MAX_EXCERPT = 4096
"""Characters of a line that is shown with its error. A whole JSON file may be one line."""

MAX_SIMPLE_KEY = 1024
"""Characters before the ``:`` of a key that is not introduced by ``?``, as the YAML specification has it."""


def too_deep(offset: int) -> ContentError:
    """Report a value nested deeper than :data:`MAX_DEPTH`."""
    return ContentError(f"nested more than {MAX_DEPTH} levels deep", offset)


def too_many_values(offset: int) -> ContentError:
    """Report a document that has more than :data:`MAX_VALUES`."""
    return ContentError(
        f"more than {MAX_VALUES:,} keys and values in one document", offset, "split it into several files"
    )


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
        is_template: Whether it becomes readable once its placeholders are filled in.
        is_repeated: Whether it is a key that is given twice in YAML.
    """

    source: str
    line: int
    column: int
    message: str
    hint: str = ""
    excerpt: str = ""
    fix: Fix | None = None
    is_template: bool = False
    is_repeated: bool = False


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
    def _starts(self) -> Sequence[int]:
        """Where lines start, and a place behind the end of the text; a list would take five times as much memory."""
        behind = (each.end() for each in _BREAK.finditer(self.text))
        return array("Q", chain((0,), behind, (len(self.text) + 1,)))

    def position(self, offset: int) -> Position:
        """Return the line and column of an offset in the text."""
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """Return the text of a line, counted from 1, without its line break; empty if the line does not exist."""
        starts = self._starts
        if not 1 <= number < len(starts):
            return ""
        if number not in self._lines:  # kept, as thousands of findings may look into one line of megabytes
            self._lines[number] = self.text[starts[number - 1] : starts[number]].rstrip("\r\n")
        return self._lines[number]

    def excerpt(self, number: int) -> str:
        """Return the text of a line for display; empty if it is too long for that."""
        starts = self._starts
        if number >= len(starts) or min(starts[number], len(self.text)) - starts[number - 1] > MAX_EXCERPT:
            return ""
        return self.line(number)

    def unreadable(self, offset: int, message: str, hint: str) -> Unreadable:
        """Report a reading error, with its line."""
        place = self.position(offset)
        if self.name.endswith(JSON):
            for yaml, json in _IN_JSON.items():
                message = message.replace(yaml, json)
            hint = hint.json if isinstance(hint, InYaml) else hint
        return Unreadable(self.name, place.line, place.column, message, hint, self.excerpt(place.line))
