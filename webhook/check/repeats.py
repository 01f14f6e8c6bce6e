"""Finds objects that a file or a stream has twice, of which only the last one remains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.findings import Finding, found
from webhook.problem import WARNING, Path, Problem

if TYPE_CHECKING:
    from webhook.documents import Document

_NAME: Final = Path(("metadata", "name"))


class Repeats:
    """The objects of one file at a time: files may be examples, or alternatives, and are not compared.

    Args:
        namespace: The namespace of objects that state none.
    """

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._file = ""
        self._known: dict[tuple[str, str, object, str], Document] = {}

    def find(self, document: Document, *, namespaced: bool) -> Finding | None:
        """Return a finding if the same file has the same object before, in any version.

        Args:
            document: The object, of a known kind; documents come in the order of their files.
            namespaced: Whether its kind is in namespaces.
        """
        if document.source != self._file:
            self._file, self._known = document.source, {}
        obj = document.data
        metadata = obj.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(name := metadata.get("name"), str) or not name:
            return None
        namespace = metadata.get("namespace") if namespaced else ""
        if namespaced and not (namespace and isinstance(namespace, str)):
            namespace = self._namespace
        kind = obj["kind"] if isinstance(obj.get("kind"), str) else ""
        first = self._known.setdefault((obj["apiVersion"].rpartition("/")[0], kind, namespace, name), document)
        if first is document:
            return None
        where = f" in namespace {namespace}" if namespaced else ""
        line = first.position(_NAME).line
        message = f'{kind} "{name}"{where} is at line {line}, too: if both are applied, this one replaces it'
        hint = "give it another name or namespace, or remove one of them"
        return found(Problem(WARNING, "repeated-object", "Repeated", _NAME, message, hint), document)
