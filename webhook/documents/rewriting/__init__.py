"""Edits the text of a document to hold another value, and leaves the rest of it as it is.

:func:`rewritten` compares the value that a text has with the new one, and edits what differs: entries
that go into a map of their own or come out of one move as whole lines, with their comments; whatever else differs is
written anew. What comes out is read again, and is the wanted value.
"""

from __future__ import annotations

from webhook.documents.rewriting.rewrite import read_value, rewritten

__all__ = ["read_value", "rewritten"]
