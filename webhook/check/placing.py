"""Locates problems in their files, with the fixes that can be applied there."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from webhook.findings import Finding, found
from webhook.problem import Problem

if TYPE_CHECKING:
    from webhook.documents import Document
    from webhook.fixing.planning import Planner

_ELSEWHERE = frozenset({"respell", "separate"})
"""Changes that are not only about the finding's own text."""


def placed(problem: Problem, document: Document, release: str, *, tries_fixes: bool) -> Finding:
    """Locate a problem in its file; in a CEL selector, at its character.

    Args:
        tries_fixes: Whether the fix is applied, and refused with a reason; otherwise one that cannot be is left out.
    """
    finding = _located(problem, document, release)
    if tries_fixes or problem.fix is None or _is_applicable(finding, document):
        return finding
    return finding._replace(problem=finding.problem._replace(fix=None))


def _located(problem: Problem, document: Document, release: str) -> Finding:
    if problem.path and problem.path[-1] == "expression":
        from webhook.check.expressions import located  # needed only for wrong expressions

        return located(problem, document, release)
    return found(problem, document, release)


def _is_applicable(finding: Finding, document: Document) -> bool:
    """Tell whether the text of a finding can be edited: anchors, aliases and merges share texts."""
    fix = finding.problem.fix
    if fix is None or fix.change in _ELSEWHERE or document.is_json or not document.shares_texts:
        return True
    return bool(_planner(document).plans([finding]))


@lru_cache(maxsize=1)
def _planner(document: Document) -> Planner:
    """Return the planner of a document; findings come document by document."""
    from webhook.fixing.planning import Planner  # few documents have anchors

    return Planner({document.source: document.whole_text}, [document])
