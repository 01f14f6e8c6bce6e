"""Tells whether the text of a finding can be edited, before reports count its fix."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webhook.documents import Document
    from webhook.findings import Finding
    from webhook.fixing.planning import Planner

_ELSEWHERE = frozenset({"respell", "separate"})
"""Changes that are not only about the finding's own text."""


def with_possible_fix(finding: Finding, document: Document) -> Finding:
    """Return a finding without its fix if its text cannot be edited: anchors, aliases and merges share texts.

    Args:
        finding: The finding.
        document: Its document.
    """
    fix = finding.problem.fix
    if fix is None or fix.change in _ELSEWHERE or document.is_json or not document.shares_texts:
        return finding
    can_be_edited = bool(_planner(document).plans([finding]))
    return finding if can_be_edited else finding._replace(problem=finding.problem._replace(fix=None))


@lru_cache(maxsize=1)
def _planner(document: Document) -> Planner:
    """Return the planner of a document; findings come document by document."""
    from webhook.fixing.planning import Planner  # few documents have anchors

    return Planner({document.source: document.whole_text}, [document])
