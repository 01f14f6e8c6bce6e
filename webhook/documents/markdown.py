"""Finds the manifests in the fenced blocks of Markdown."""

from __future__ import annotations

import re
from typing import Final

from webhook.documents.document import Document
from webhook.documents.source import MARKDOWN, decoded

_FENCE: Final = re.compile(r"[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*(`{3,}+|~{3,}+)[ \t]*+([^`\s]*+)[^`]*+\Z")
"""The line that opens a block; it may be in a list."""
_ELIDED: Final = re.compile(r"([ \t]*+)(?:- )?(?:\.\.\.|\u2026)\s*+\Z")
"""A line that stands for others."""
_IN_LINE: Final = re.compile(
    r"(?<=[{\[,])[ \t]*+(?:\.\.\.|\u2026)[ \t]*+(?:,|(?=[]}]))"  # {...} and [a, ...]
    r"|(?<=:)[ \t]++(?:\.\.\.|\u2026)(?=[ \t]*+(?:[],}#]|\r?\Z))"  # key: ...
)
"""The marks that stand for fields, items or a value within a line."""
_ELISION: Final = re.compile(r"(?:^|[ \t])#[ \t]*+(?:\.\.|\u2026)", re.MULTILINE)
"""A comment in the place of one of these, or one that says the same."""


def blocks_of(data: bytes) -> bytes:
    """Return the manifests of a Markdown file, with empty lines in place of all else, so that places stay the same.

    Manifests are the blocks of YAML with an ``apiVersion`` of their own: others are parts of one, such as parameters or
    owner references. Lines and values of ``...`` become comments.
    """
    try:
        text = decoded(data)
    except UnicodeDecodeError:
        return data  # reported when it is read
    lines, fence, block = list[str](), "", list[str]()
    is_yaml = False
    for line in (*text.split("\n"), None):
        if not fence:
            opened = _FENCE.match(line) if line and ("```" in line or "~~~" in line) else None
            if opened:
                fence, block, is_yaml = opened[1], [], opened[2].lower() in {"yaml", "yml"}
            elif line is not None:
                lines.append("")
        elif line is None or (line.strip().startswith(fence) and not line.strip().strip(fence[0])):
            is_read = is_yaml and _has_objects(block)
            lines += ("---", *map(_filled, block)) if is_read else [""] * (len(block) + 1)
            lines += [""] * (line is not None)
            fence = ""
        else:
            block.append(line)
    return "\n".join(lines).encode()


def _has_objects(block: list[str]) -> bool:
    """Tell whether no line of a block stands farther left than one with an ``apiVersion``, or all is within braces."""
    stated = [each for each in block if each.strip() and not each.lstrip().startswith(("#", "---"))]
    left = min((len(each) - len(each.lstrip()) for each in stated), default=0)
    inner = () if stated and stated[0].lstrip().startswith("{") else (" ", "-")
    return any("apiVersion" in each and not each[left:].startswith(inner) for each in stated)


def _filled(line: str) -> str:
    """Return a line of a block, with comments in the place of what stands for others."""
    if line.strip() == "---":
        return "---"
    if elided := _ELIDED.match(line):
        return f"{elided[1]}#..."
    kept = _IN_LINE.sub(lambda found: " " * len(found[0]), line)
    return line if kept == line else f"{kept} #..."


def is_elided(document: Document) -> bool:
    """Tell whether lines are left out of a document, which is in a Markdown file."""
    if not document.source.endswith(MARKDOWN):
        return False
    return _ELISION.search(document.file.text, *document.extent) is not None
