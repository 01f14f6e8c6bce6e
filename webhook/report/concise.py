"""One line for each finding: for editors, ``grep`` and logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.report.excerpt import object_of, place_of, printable, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.report import Style
    from webhook.report.model import Report


class Concise:
    """Findings as ``FILE:LINE:COLUMN: LEVEL RULE: FIELD: MESSAGE``, a line each, as compilers print them.

    Of what was rendered, the object follows in brackets: nobody has the file that the line is of.

    Args:
        _style: Nothing of it counts here: lines are the same wherever they go.
    """

    def __init__(self, _style: Style) -> None:
        """Take a style, as every format does."""

    def lines(self, report: Report) -> Iterator[str]:
        """Return the findings, a line each."""
        for finding in report.findings:
            problem = finding.problem
            text = f"{problem.field}: {finding.brief or problem.message}".removeprefix(": ")
            text = f"{place_of(finding)} {problem.level} {problem.rule}: {printable(shortened(text))}"
            text = f"{text} ({printable(problem.hint)})" if problem.hint else text
            yield f"{text} [{object_of(finding)}]" if finding.rendered else text
