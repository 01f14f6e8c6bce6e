"""Tells documents that are templates: text that Helm, sed or envsubst still has to fill in."""

from __future__ import annotations

import re
from bisect import bisect_right

from webhook.documents.content import decoded
from webhook.documents.document import Document
from webhook.later import cached_property
from webhook.patterns import Pattern
from webhook.problem import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Final

    from webhook.documents.source import Unreadable

_ACTION: Final = Pattern(rb"^[ \t]*+(?:(?=- )- ++)*+(?:[\w./-]+:[ \t]++)?\{\{[^{}\n]*\}\}", re.MULTILINE)
"""A line whose value starts with ``{{ … }}``: never valid in a Kubernetes manifest, as no key can be a map."""
_VARIABLE: Final = r"(?:__[A-Z][A-Z0-9_]{0,99}__|\$\{\w{1,99}\}|\$\([A-Z]\w{0,99}\))"
_UNFILLED: Final = Pattern(
    rb"""^[ \t]{0,99}(?:- {1,9}){0,9}(?:metadata:[ \t]?\{)?name:[ \t]{1,9}["']?[^#\s{}]{0,253}""" + _VARIABLE.encode(),
    re.MULTILINE,
)
"""A name with a placeholder for sed or envsubst."""
PLACEHOLDER: Final = Pattern(_VARIABLE)
"""A placeholder for sed or envsubst."""
_HEADER: Final = Pattern(r"( *(?:- +)*)(?!#)(?:[^\n]*[ \t])?[|>][-+1-9]{0,2}[ \t]*(?:[ \t]#[^\n]*)?\Z")
"""A line that a block scalar follows."""


def has_marks(data: bytes) -> bool:
    """Tell whether a file has what placeholders begin with; a quick answer for most files."""
    return b"{{" in data or b"__" in data or b"$" in data


def may_be_template(data: bytes) -> bool:
    """Tell whether a file may have a document that is a template."""
    return (b"{{" in data and _ACTION.search(data) is not None) or (
        (b"__" in data or b"$" in data) and _UNFILLED.search(data) is not None
    )


class Templates:
    """The documents of a file that are templates.

    A document that can be read is one only if its name has a placeholder, which no API server accepts: whatever else
    looks like a placeholder may be a value.

    Args:
        data: The file.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._last = -1, False

    def has(self, document: Document | Unreadable) -> bool:
        """Tell whether a document is a template."""
        if isinstance(document, Document):
            name = value_at(document.data, ("metadata", "name"))
            return isinstance(name, str) and PLACEHOLDER.search(name) is not None and self._may_have_some
        if not document.line:
            return False
        number = bisect_right(self._separators, document.line - 1)
        if self._last[0] != number:  # a document may have many errors
            first, last = (self._separators[i] for i in (number - 1, number)) if number else (0, self._separators[0])
            text = "\n".join(_outside_blocks(self._lines[first:last])).encode("utf-8", "replace")
            self._last = number, may_be_template(text)
        return self._last[1]

    @cached_property
    def _may_have_some(self) -> bool:
        return may_be_template(self._data)

    @cached_property
    def _lines(self) -> list[str]:
        return decoded(self._data, "replace").split("\n")

    @cached_property
    def _separators(self) -> list[int]:
        return [*(number for number, line in enumerate(self._lines) if line.startswith("---")), len(self._lines)]


def _outside_blocks(lines: Sequence[str]) -> Iterator[str]:
    """Return the lines that are not the text of a block scalar."""
    holder = -1  # the column of what holds the text
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if holder >= 0 and (indent > holder or not line.strip()):
            continue
        header = _HEADER.match(line.rstrip("\r"))
        holder = -1
        if header:
            dashes = header[1]
            holder = max(dashes.rfind("-"), 0) if line[len(dashes)] in "|>" else len(dashes)
        yield line
