"""Reads manifests: YAML and JSON as Kubernetes parses them.

:func:`read` takes files, directories, globs and standard input, :func:`parse` a text; both yield a :class:`Document`
for every object and an :class:`Unreadable` for every unreadable part. :func:`webhook.documents.dump.dump` writes values
back.
"""

from __future__ import annotations

from webhook.documents.document import Document, Piece
from webhook.documents.files import read
from webhook.documents.search import Selection, find
from webhook.documents.source import STDIN, STDIN_NAME, Position, Unreadable
from webhook.documents.stream import parse

__all__ = ["STDIN", "STDIN_NAME", "Document", "Piece", "Position", "Selection", "Unreadable", "find", "parse", "read"]
