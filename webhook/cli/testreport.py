"""The results of policy tests, with coverage."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webhook.problem import ERROR, Problem
from webhook.report import Finding, Report, found

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webhook.documents import Document
    from webhook.engine.suites import SuiteResult
    from webhook.policy.tools.coverage import Covered


class SuiteRun(NamedTuple):
    """A suite that was run.

    Args:
        suite: The suite's document.
        kubernetes: The release for which it was run, such as ``1.36``.
        result: What became of it.
    """

    suite: Document
    kubernetes: str
    result: SuiteResult

    def failures(self) -> Iterator[Finding]:
        """Say where cases stand that failed, and why."""
        for index, case in enumerate(self.result.cases):
            for failure in case.found:
                message = failure.text if case.name == f"cases[{index}]" else f"{case.name}: {failure.text}"
                problem = Problem(ERROR, "case", "", failure.path, message)
                yield found(problem, self.suite, self.kubernetes)


class TestReport(NamedTuple):
    """All suites that were run.

    Args:
        report: What was found.
        runs: The suites, and how each came out.
        coverage: The expressions of the policies, with what all suites have seen of them, and where they stand.
    """

    report: Report
    runs: Sequence[SuiteRun]
    coverage: Sequence[tuple[Covered, Document]]

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return sum(len(each.result.cases) for each in self.runs)

    @property
    def failed(self) -> int:
        """How many cases failed."""
        return sum(not case.passed for each in self.runs for case in each.result.cases)

    @property
    def covered(self) -> int:
        """Of how many expressions everything was seen."""
        return sum(not each.missing for each, _ in self.coverage)
