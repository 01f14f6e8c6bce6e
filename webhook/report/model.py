"""Reports: the files read, the cases run, and the findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from webhook.documents import Document, Selection
from webhook.findings import Finding, Identity, by_place, found
from webhook.problem import ERROR, WARNING, Path, Problem

if TYPE_CHECKING:
    from webhook.engine.suites import SuiteResult
    from webhook.policy.tools.coverage import Covered


class Report:
    """The result of a command: what was read, and the findings."""

    def __init__(self) -> None:
        self.paths: Sequence[str] = ()
        """The paths that the user named."""
        self.files: dict[str, None] = {}
        self.documents = 0
        self.judged: list[Judged] = []
        """The objects that were checked by rules and policies."""
        self.skipped: Counter[tuple[str, str]] = Counter()
        """The number of documents of unknown kinds, by apiVersion and kind."""
        self.without_claims = 0
        """How many pods and workloads without claims get no devices by extended resources, which are looked up."""
        self.selection = Selection()
        """The files in directories that were not read."""
        self.lists_files = False
        """Whether to list what was read and what was not."""
        self.renders = True
        """Whether the command renders charts that are named."""
        self.releases: list[str] = []
        """The releases that judged, such as ``1.34``; remarks name others."""
        self.findings: list[Finding] = []
        """The reported findings."""
        self.suppressed: list[Finding] = []
        """The suppressed findings, each with its reason."""
        self.has_fixes = True
        """Whether the command can apply fixes."""
        self.is_fixed = False
        """Whether fixes were applied, so that remarks name the remaining ones."""
        self.fixed: list[dict[str, Any]] = []
        """The entries of a baseline that were not found again."""
        self.remarks: list[str] = []
        """Further lines of the text format, besides the findings."""
        self.asides: list[str] = []
        """Further lines of the text format, except with --quiet."""
        self.costs: list[dict[str, Any]] | None = None
        """The costs of policies' expressions; None unless requested."""
        self.tested: Tested | None = None
        """The results of the suites of policies; None if none was run."""
        self.picture: Any = None
        """The :class:`webhook.report.picture.Picture` of the cluster that is scanned, for a page; None without one."""

    def sort(self, findings: Iterable[Finding]) -> None:
        """Report findings by file, in the order in which the files were read, and by line."""
        self.findings = by_place(findings, self.files)

    def count(self, level: str) -> int:
        """Count the findings of a level."""
        return sum(finding.problem.level == level for finding in self.findings)

    @property
    def errors(self) -> int:
        """The number of errors."""
        return self.count(ERROR)


class Judged(NamedTuple):
    """An object that was judged.

    Args:
        file: The file's name as it was given.
        document: The number of the document in the file, from 1.
    """

    file: str
    document: int
    identity: Identity


class SuiteRun(NamedTuple):
    """A suite that was run.

    Args:
        kubernetes: The release for which it was run, such as ``1.36``.
    """

    suite: Document
    kubernetes: str
    result: SuiteResult

    def failures(self) -> Iterator[Finding]:
        """Yield the places of failed cases, and the reasons."""
        for case in self.result.cases:
            for failure in case.found:
                message = failure.text if case.name == f"cases[{case.place}]" else f"{case.name}: {failure.text}"
                problem = Problem(ERROR, "case", "", failure.path, message)
                yield found(problem, self.suite, self.kubernetes)
            if case.unmatched:
                path = Path(("cases", case.place))
                message = f"{case.name}: no policy matches the {case.unmatched}, so that none was asked"
                yield found(Problem(WARNING, "not-matched", "", path, message), self.suite, self.kubernetes)


class Tested(NamedTuple):
    """All suites that were run.

    Args:
        runs: The suites, with their results.
        coverage: The expressions of the policies, with their coverage by all suites, and their places.
        strict: Whether an expression that is not fully covered is a failure.
    """

    runs: Sequence[SuiteRun]
    coverage: Sequence[tuple[Covered, Document]]
    strict: bool

    @property
    def releases(self) -> list[str]:
        """The releases for which the suites were run."""
        return sorted({each.kubernetes for each in self.runs})

    @property
    def cases(self) -> int:
        """The number of cases."""
        return sum(len(each.result.cases) for each in self.runs)

    @property
    def failed(self) -> int:
        """The number of failed cases."""
        return sum(not case.passed for each in self.runs for case in each.result.cases)

    @property
    def covered(self) -> int:
        """The number of fully covered expressions."""
        return sum(not each.missing for each, _ in self.coverage)
