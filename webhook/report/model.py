"""Reports: the files read, the cases run, and the findings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from webhook.findings import NOTE, Finding, found
from webhook.problem import ERROR, WARNING, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from webhook.documents import Document
    from webhook.engine.suites import SuiteResult
    from webhook.findings import Identity
    from webhook.policy.tools.coverage import Covered


class Report:
    """What was read and what was found."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.documents = 0
        self.judged: list[Judged] = []
        """The objects that rules and policies were asked about."""
        self.skipped: Counter[tuple[str, str]] = Counter()
        """How many documents are of kinds that are not known here, by apiVersion and kind."""
        self.without_claims = 0
        """How many pods and workloads were not judged, as they have no claims."""
        self.left_out: Mapping[str, int] = {}
        """What of directories was not read, by reason; see :mod:`webhook.documents.selection`."""
        self.findings: list[Finding] = []
        """What is reported."""
        self.suppressed: list[Finding] = []
        """What is not reported; each says why."""
        self.is_fixed = False
        """Whether fixes were applied, so that remarks say which ones are left."""
        self.fixed: list[dict[str, Any]] = []
        """What of a baseline is no longer found, as the baseline has it."""
        self.remarks: list[str] = []
        """What text says besides the findings, a line each."""
        self.asides: list[str] = []
        """What else text says, except with --quiet."""
        self.costs: list[dict[str, Any]] | None = None
        """What the expressions of policies cost; None unless requested."""
        self.tested: Tested | None = None
        """What became of the suites of policies; None if none was run."""

    def _count(self, level: str) -> int:
        return sum(finding.problem.level == level for finding in self.findings)

    @property
    def errors(self) -> int:
        """How many findings are errors."""
        return self._count(ERROR)

    @property
    def warnings(self) -> int:
        """How many findings are warnings."""
        return self._count(WARNING)

    @property
    def notes(self) -> int:
        """How many findings are notes."""
        return self._count(NOTE)


class Judged(NamedTuple):
    """An object that was judged.

    Args:
        file: The file's name as it was given.
        document: Which document of the file, from 1.
        identity: The object.
    """

    file: str
    document: int
    identity: Identity


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
        for case in self.result.cases:
            for failure in case.found:
                message = failure.text if case.name == f"cases[{case.place}]" else f"{case.name}: {failure.text}"
                problem = Problem(ERROR, "case", "", failure.path, message)
                yield found(problem, self.suite, self.kubernetes)


class Tested(NamedTuple):
    """All suites that were run.

    Args:
        runs: The suites, and how each came out.
        coverage: The expressions of the policies, with what all suites have seen of them, and where they stand.
        strict: Whether an expression that was not seen whole is a failure.
    """

    runs: Sequence[SuiteRun]
    coverage: Sequence[tuple[Covered, Document]]
    strict: bool

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
