"""Finds what the API server refuses in objects that mutating policies have changed."""

from __future__ import annotations

from collections import Counter

from webhook.api.judgement import judge
from webhook.problem import ERROR
from webhook.schema import STATUS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

    from webhook.objects import JSONObject
    from webhook.problem import Problem
    from webhook.release import Release

_JUDGED: Final = ("", STATUS)
"""The subresources whose updates are judged."""


def made_invalid(
    changed: Any, sent: JSONObject | None, old: JSONObject | None, subresource: str, release: Release
) -> Iterator[str]:
    """Yield the API server's refusals of a changed object that do not apply to the object that was sent.

    The object that was sent may be incomplete, as in a test.

    Args:
        changed: The object after mutating policies.
        sent: The object before them; None for a deletion.
        old: The stored object; None for a new one.
        subresource: The updated subresource.
        release: The Kubernetes release, as the minor of 1.x.
    """
    if sent is None or changed == sent or subresource not in _JUDGED:
        return

    def refusals(obj: Any) -> list[Problem]:
        problems = judge(obj, old, kubernetes=f"1.{release}", subresource=subresource)
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
