"""Finds the manifests in the fenced blocks of Markdown."""

from __future__ import annotations

import re

from webhook.documents.content import decoded
from webhook.documents.source import MARKDOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from webhook.documents.document import Document

_FENCE: Final = re.compile(r"[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+(`{3,}+|~{3,}+)[ \t]*+([^`\s]*+)[^`\n]*+\n?\Z")
"""The line that opens a block; it may be in a list."""
_LANGUAGES: Final = frozenset({"yaml", "yml"})
_ELIDED: Final = re.compile(r"([ \t]*+)(- )?(?:\.\.\.|\u2026)[ \t]*+\r?\n?\Z")
"""A line that stands for others."""
_ELISION: Final = re.compile(r"^[ \t]*+#[ \t]*+(?:\.\.|\u2026|$)", re.MULTILINE)
"""A comment in the place of such a line, or one that says the same."""


def blocks_of(data: bytes) -> bytes:
    """Return a Markdown file with spaces in place of all but its manifests, so that places stay the same.

    Manifests are the blocks of YAML with an ``apiVersion``: others are parts of one. Lines of ``...`` become comments.
    """
    try:
        text = decoded(data)
    except UnicodeDecodeError:
        return data  # reported when it is read
    return "".join(_lines(text)).encode()


def is_elided(document: Document) -> bool:
    """Tell whether lines are left out of a document, which is in a Markdown file."""
    if not document.source.endswith(MARKDOWN):
        return False
    return _ELISION.search(document.whole_text, *document.extent) is not None


def _lines(text: str) -> Iterator[str]:
    fence, opening, block = "", "", list[str]()
    is_yaml = False
    for line in text.splitlines(keepends=True):
        if not fence:
            opened = _FENCE.match(line)
            if opened is None:
                yield _blank(line)
            else:
                fence, opening, block = opened[1], line, []
                is_yaml = opened[2].lower() in _LANGUAGES
        elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            yield from _block(opening, block, is_yaml=is_yaml)
            yield _blank(line)
            fence = ""
        else:
            block.append(line)
    if fence:
        yield from _block(opening, block, is_yaml=is_yaml)


def _block(opening: str, lines: list[str], *, is_yaml: bool) -> Iterator[str]:
    if not is_yaml or not any("apiVersion" in line for line in lines):
        yield from map(_blank, (opening, *lines))
        return
    yield "---" + _blank(opening)[3:]
    for line in lines:
        if line.strip() == "---":
            yield "---" + _blank(line[3:])
        elif elided := _ELIDED.match(line):
            start = elided.end(2) if elided[2] else elided.end(1)
            dots = line[start:].strip()
            yield " " * start + ("#.." if dots == "..." else "#") + line[start + len(dots) :]
        else:
            yield line


def _blank(line: str) -> str:
    """Return as many spaces as a line has characters, and its end."""
    text = line.rstrip("\r\n")
    return " " * len(text) + line[len(text) :]
