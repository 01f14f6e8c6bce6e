"""Prints the texts of changed files as one stream of documents, and summarizes the changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from webhook.report.summary import counted

if TYPE_CHECKING:
    from webhook.findings import Finding

_SEPARATOR = "---"


def joined(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts with a separator between them, unless they bring their own."""
    before = ""
    for text in texts:
        if before:
            yield "" if before.endswith("\n") else "\n"
            yield "" if text.startswith(_SEPARATOR) else f"{_SEPARATOR}\n"
        yield text
        before = text or before


def outcome(changed: str, unchanged: str, files: Collection[str], faults: Iterable[Finding]) -> str:
    """Summarize in a line what has been changed, and in how many files there are errors.

    Args:
        changed: What has been changed; empty if nothing has.
        unchanged: What to say instead of files without errors.
        files: All files that were read.
    """
    faulty = {fault.file for fault in faults}
    if not changed and ((fine := sum(each not in faulty for each in files)) or not faulty):
        changed = f"{unchanged} in {counted(fine, 'file')}"
    errors = f"errors in {counted(len(faulty), 'file')}" if faulty else ""
    return "; ".join(filter(None, [changed, errors]))
