"""One line for each finding: for editors, ``grep`` and logs."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.report import Format
from webhook.report.excerpt import object_of, place_of, printable, stated, uncommanded
from webhook.report.model import Report


class Concise(Format):
    """Findings as ``FILE:LINE:COLUMN: LEVEL RULE: FIELD: MESSAGE``, a line each, as compilers print them.

    For rendered objects, the object follows in brackets, as the file has no such line; so do the releases of a finding
    that not all have.
    """

    def lines(self, report: Report) -> Iterator[str]:
        """Return the findings, a line each."""
        for finding in report.findings:
            problem = finding.problem
            text = f"{place_of(finding)} {problem.level} {problem.rule}: {printable(stated(finding))}"
            text = f"{text} ({printable(problem.hint)})" if problem.hint else text
            if finding.rendered:
                text = f"{text} [{printable(object_of(finding))}]"
            if len(finding.releases) < len(report.releases):
                text = f"{text} [{', '.join(finding.releases)}]" if finding.releases else text
            yield uncommanded(text)
