"""Recognizes what people take for manifests: what kubectl prints for them, and lists."""

from __future__ import annotations

import re
from typing import Final

_TABLE: Final = re.compile(r"\A\s*(?:NAMESPACE +)?NAME(?: +[A-Z][A-Z-]*)+ *$", re.MULTILINE)
_DESCRIBED: Final = re.compile(r"\A\s*Name: +\S+\n(?:Namespace|Labels|Roles|Annotations): ")
_FIRST: Final = 1000
"""The characters that are looked at."""


def hint_of_output(text: str) -> str:
    """Suggest how to get manifests; empty if a text is neither kubectl's output for people nor a list.

    Args:
        text: The text without a manifest.
    """
    if text.lstrip().startswith(("[", "- ")):
        return "a list is not a manifest: write its items as documents, or as the items of a List"
    first = text[:_FIRST].replace("\r\n", "\n")
    if _TABLE.match(first):
        return "this looks like kubectl's table: add -o yaml"
    if _DESCRIBED.match(first):
        return "this looks like the output of kubectl describe: use kubectl get -o yaml"
    return ""
