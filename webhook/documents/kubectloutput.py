"""Recognizes what kubectl prints for people."""

from __future__ import annotations

import re
from typing import Final

_TABLE: Final = re.compile(r"\A\s*(?:NAMESPACE +)?NAME(?: +[A-Z][A-Z-]*)+ *$", re.MULTILINE)
_DESCRIBED: Final = re.compile(r"\A\s*Name: +\S+\n(?:Namespace|Labels|Roles|Annotations): ")
_FIRST: Final = 1000
"""The characters that are looked at."""


def hint_of_output(text: str) -> str:
    """Suggest how to get manifests from kubectl; empty if a text is not its output for people.

    Args:
        text: The text without a manifest.
    """
    first = text[:_FIRST].replace("\r\n", "\n")
    if _TABLE.match(first):
        return "this looks like kubectl's table: add -o yaml"
    if _DESCRIBED.match(first):
        return "this looks like the output of kubectl describe: use kubectl get -o yaml"
    return ""
