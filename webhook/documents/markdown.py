"""Finds the manifests in the fenced blocks of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from webhook.documents.document import Document
from webhook.documents.source import MARKDOWN, decoded

_FENCE: Final = re.compile(r"[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*(`{3,}+|~{3,}+)[ \t]*+([^`\s]*+)[^`]*+\Z")
"""The line that opens a block; it may be in a list."""
_LANGUAGES: Final = frozenset({"yaml", "yml"})
_ELIDED: Final = re.compile(r"([ \t]*+)(?:- )?(?:\.\.\.|\u2026)\s*+\Z")
"""A line that stands for others."""
_IN_LINE: Final = re.compile(
    r"(?<=[{\[,])[ \t]*+(?:\.\.\.|\u2026)[ \t]*+(?:,|(?=[]}]))"  # {...} and [a, ...]
    r"|(?<=:)[ \t]++(?:\.\.\.|\u2026)(?=[ \t]*+(?:[],}#]|\r?\Z))"  # key: ...
)
"""What stands for fields, items or a value within a line."""
_ELISION: Final = re.compile(r"(?:^|[ \t])#[ \t]*+(?:\.\.|\u2026)", re.MULTILINE)
"""A comment in the place of one of these, or one that says the same."""


def blocks_of(data: bytes) -> bytes:
    """Return the manifests of a Markdown file, with empty lines in place of all else, so that places stay the same.

    Manifests are the blocks of YAML with an ``apiVersion``: others are parts of one. Lines and values of
    ``...`` become comments.
    """
    try:
        text = decoded(data)
    except UnicodeDecodeError:
        return data  # reported when it is read
    return "\n".join(_lines(text)).encode()


def is_elided(document: Document) -> bool:
    """Tell whether lines are left out of a document, which is in a Markdown file."""
    if not document.source.endswith(MARKDOWN):
        return False
    return _ELISION.search(document.file.text, *document.extent) is not None


def _lines(text: str) -> Iterator[str]:
    fence, block = "", list[str]()
    is_yaml = False
    for line in text.split("\n"):
        if not fence:
            opened = _FENCE.match(line) if "```" in line or "~~~" in line else None
            if opened is None:
                yield ""
            else:
                fence, block = opened[1], []
                is_yaml = opened[2].lower() in _LANGUAGES
        elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            yield from _block(block, is_yaml=is_yaml)
            yield ""
            fence = ""
        else:
            block.append(line)
    if fence:
        yield from _block(block, is_yaml=is_yaml)


def _block(lines: list[str], *, is_yaml: bool) -> Iterator[str]:
    if not is_yaml or not any("apiVersion" in line for line in lines):
        yield from [""] * (len(lines) + 1)
        return
    yield "---"
    for line in lines:
        if line.strip() == "---":
            yield "---"
        elif elided := _ELIDED.match(line):
            yield f"{elided[1]}#..."
        else:
            kept = _IN_LINE.sub(lambda found: " " * len(found[0]), line)
            yield line if kept == line else f"{kept} #..."
