"""How many findings each rule has: to see at a glance what to fix, or to suppress, first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from webhook.problem import ERROR, WARNING
from webhook.report import Format
from webhook.report.excerpt import fix_of, printable, uncommanded
from webhook.report.model import Report
from webhook.report.summary import closing

_FIRST = (ERROR, WARNING)


class Statistics(Format):
    """A line for each rule: its number of findings, their level, the rule; errors and frequent rules first."""

    def lines(self, report: Report) -> Iterator[str]:
        """Return the rules with their numbers of findings, and the summary."""
        counts = Counter((each.problem.level, each.fingerprint.rule) for each in report.findings)
        fixable = Counter((each.problem.level, each.fingerprint.rule) for each in report.findings if fix_of(each))
        ordered = sorted(
            counts, key=lambda each: (_FIRST.index(each[0]) if each[0] in _FIRST else len(_FIRST), -counts[each], each)
        )
        width = max((len(str(count)) for count in counts.values()), default=0)
        for level, rule in ordered:
            fixes = f" ({fixable[level, rule]} fixable)" if fixable[level, rule] else ""
            yield uncommanded(f"{counts[level, rule]:>{width}} {level:<7} {printable(rule)}{fixes}")
        if not self.style.quiet:
            yield from ([""] if counts else [])
            yield from map(uncommanded, closing(report, report.findings))
