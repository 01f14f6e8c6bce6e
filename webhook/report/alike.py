"""Text shows the first of the findings that say the same of many objects in a file, and the number of the others."""

from __future__ import annotations

from collections import Counter

from webhook.problem import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence
    from typing import Final

    from webhook.findings import Finding

MAX_ALIKE: Final = 10
"""The most findings to show of those that say the same."""


def first_ones(findings: Sequence[Finding]) -> Iterator[tuple[Finding, int]]:
    """Yield the findings to show, and after the last one of those that say the same how many more there are.

    Args:
        findings: The findings, in their order.
    """
    if len(findings) <= MAX_ALIKE:
        yield from ((each, 0) for each in findings)
        return
    keys = list(map(_said, findings))
    times = Counter(keys)
    shown: Counter[Hashable] = Counter()
    for finding, key in zip(findings, keys, strict=True):
        shown[key] += 1
        if shown[key] <= MAX_ALIKE:
            yield finding, times[key] - MAX_ALIKE if shown[key] == MAX_ALIKE else 0


def _said(finding: Finding) -> Hashable:
    """Return the file of a finding and what it says, whichever object and item of a list it is about."""
    problem, about = finding.problem, finding.identity
    field = Path(each for each in problem.path if not isinstance(each, int))
    of = finding.file, about.kind, field, finding.origin, finding.releases
    return of, problem.level, problem.rule, problem.message, problem.hint
