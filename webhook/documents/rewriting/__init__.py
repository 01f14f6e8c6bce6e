"""Edits the text of a document to hold another value, and leaves the rest unchanged.

:func:`rewritten` compares the value of a text with the new one, and edits the differences: entries that move into or
out of a nested map move as whole lines, with their comments; other differences are rewritten. The result is read again,
and must be the wanted value.
"""

from __future__ import annotations

from webhook.documents.rewriting.files import with_objects
from webhook.documents.rewriting.rewrite import read_value, rewritten

__all__ = ["read_value", "rewritten", "with_objects"]
