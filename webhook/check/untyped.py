"""Finds documents without an apiVersion or kind that are meant as objects, and not as other YAML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from webhook.api.unserved import no_object
from webhook.api.versions import DEFAULT, release_of
from webhook.documents import Document, parse
from webhook.findings import Finding, found
from webhook.objects import is_object
from webhook.patterns import Pattern
from webhook.problem import Problem

_VERSION: Final = "apiVersion"
_KIND: Final = "kind"
_KIND_NAME: Final = Pattern("[A-Za-z][A-Za-z0-9-]*")
"""A kind is a label of DNS, if it is written in lower case (``validateCustomResourceDefinitionNames``)."""


class Untyped:
    """Looks at the documents that no rule applies to; those of a file come in a row."""

    def __init__(self) -> None:
        self._file, self._has_objects = "", False

    def find(self, document: Document, release: str | None) -> Sequence[Finding]:
        """Return the errors of a document that kubectl refuses, as it has no version or no kind.

        The items of lists are meant as objects, and so are documents beside objects in the same file, and those
        that misspell what they lack. All others may be values of a chart, or configuration of other programs.

        Args:
            release: The Kubernetes release; None for the newest.
        """
        problems = no_object(document.data, release_of(release) if release else DEFAULT)
        if not _may_be_kind(document.data):
            return []
        is_meant = document.within or all(map(_is_misspelt, problems))
        if not problems or not (is_meant or self._is_beside_objects(document)):
            return []
        return [found(each, document, release or f"1.{DEFAULT}") for each in problems]

    def _is_beside_objects(self, document: Document) -> bool:
        if not document.mentions(_VERSION):
            return False
        if document.source != self._file:
            self._file = document.source
            others = parse(document.whole_text, document.source)
            self._has_objects = any(isinstance(each, Document) and is_object(each.data) for each in others)
        return self._has_objects


def _may_be_kind(obj: Any) -> bool:
    """Tell whether the kind of an object, if any, is a name that a kind can have."""
    kind = obj.get(_KIND) if isinstance(obj, dict) else None
    return not isinstance(kind, str) or not kind or _KIND_NAME.fullmatch(kind) is not None


def _is_misspelt(problem: Problem) -> bool:
    """Tell whether a missing field has another spelling; a ``version`` may be that of another program."""
    written = str(problem.path[-1]) if problem.path else ""
    return problem.fix is not None and (written.lower() == _VERSION.lower() or str(problem.field) == _KIND)
