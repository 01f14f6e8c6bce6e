"""Finds what the API server refuses in objects that mutating policies have changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from webhook.api.judgement import judge
from webhook.objects import text
from webhook.policy.evaluation.request import Request
from webhook.policy.manifest.kinds import Kinds, kind_of
from webhook.problem import ERROR, Problem
from webhook.schema import STATUS

_JUDGED: Final = ("", STATUS)
"""The subresources whose updates are judged."""


def made_invalid(changed: Any, request: Request, kinds: Kinds) -> Iterator[str]:
    """Yield the API server's refusals of a changed object that do not apply to the object that was sent.

    The object that was sent may be incomplete, as in a test; None for a deletion.
    """
    sent, old, subresource = request.object, request.old_object, request.subresource
    if sent is None or changed == sent or subresource not in _JUDGED:
        return

    def refusals(obj: Any) -> list[Problem]:
        if custom := kinds.custom(kind_of(text(obj, "apiVersion"), text(obj, "kind"))):
            completed = custom.completed(obj, kinds.release)
            problems = custom.refusals(completed, old, kinds.release, subresource)
        else:
            problems = judge(obj, old, kubernetes=f"1.{kinds.release}", subresource=subresource)
        return [problem for problem in problems if problem.level == ERROR]

    before = Counter(map(_kind_of, refusals(sent)))
    for each in refusals(changed):
        kind = _kind_of(each)
        if before[kind]:
            before[kind] -= 1
        else:
            yield str(each)


def _kind_of(refusal: Problem) -> tuple[str, ...]:
    """Return the rule and the field, without indices and values: a policy may move items and change other fields."""
    return (refusal.rule, *(step for step in refusal.path if isinstance(step, str)))
