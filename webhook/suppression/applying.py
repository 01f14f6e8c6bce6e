"""Removes suppressed findings from a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from webhook.documents import Document, Unreadable
from webhook.findings import INTERNAL, Finding, Fingerprint, Suppression, by_place, identity
from webhook.suppression import baseline
from webhook.suppression.baseline import Known
from webhook.suppression.levels import OFF, Decision, Levels
from webhook.suppression.names import called
from webhook.suppression.paths import PathIgnore, PathIgnores
from webhook.suppression.statements import Statement, Statements

if TYPE_CHECKING:
    from webhook.report.model import Report

OPTION: Final = "option"
_SHOWN: Final = 5
_HINTED: Final = 20
"""For how many comments that draguard cannot read the rules are sought that they may mean."""


class Suppressions:
    """All sources of suppressions.

    Args:
        levels: The levels of rules.
        paths: The rules ignored in some files.
        known: Sets of known findings; the first set with a finding suppresses it.
        matters: Tells whether this run checks a rule, so that a comment or an annotation that suppresses nothing is
            unused.
        is_whole: Whether all files of the configuration file and the baseline were read.
        compares: Whether objects are compared with an earlier state: such an update has fewer findings than the
            creation on which a baseline may be based, so none counts as fixed.
    """

    def __init__(
        self,
        levels: Levels | None = None,
        paths: PathIgnores | None = None,
        known: Sequence[Known] = (),
        matters: Callable[[str], bool] = lambda _rule: True,
        *,
        is_whole: bool = False,
        compares: bool = False,
    ) -> None:
        self.levels, self.paths, self.known = levels or Levels(), paths or PathIgnores(), known
        self.matters, self.is_whole, self.compares = matters, is_whole, compares
        self._statements = Statements()
        self._objects: set[tuple[str, str, str]] = set()
        self._decisions: dict[tuple[str, str | None, str], Decision | None] = {}

    def leave_out(
        self,
        findings: Sequence[Finding],
        documents: Iterable[Document | Unreadable],
        reason: str,
        *,
        has_settings: bool,
    ) -> None:
        """Suppress findings that an earlier revision has, too, including those about its suppressions.

        Args:
            findings: The findings of the earlier revision, suppressed or not.
            documents: The documents of the revision.
            reason: Why the findings do not count.
            has_settings: Whether the revision has the same configuration file.
        """
        statements = Statements()
        paths = PathIgnores([each._replace(used=set()) for each in self.paths.all])
        for document in documents:
            if isinstance(document, Document):
                statements.note(document)
        for finding in findings:
            _stated(finding, statements, paths)
        ignores = paths if has_settings else PathIgnores()
        before = [*findings, *self._about_suppressions(statements, ignores, findings)]
        self.known = [*self.known, baseline.Known(baseline.REVISION, reason, baseline.counted(before))]

    def note(self, document: Document) -> None:
        """Note a document: its suppressions, and its object."""
        self._statements.note(document)
        if self.known and not self.is_whole:
            about = identity(document.data)
            self._objects.add((about.kind, about.namespace, about.name))

    def noting(self, documents: Iterable[Document | Unreadable]) -> Iterator[Document | Unreadable]:
        """Yield documents, noting each."""
        note = self.note if self.known and not self.is_whole else self._statements.note
        for document in documents:
            if isinstance(document, Document):
                note(document)
            yield document

    def apply(self, report: Report) -> None:
        """Remove suppressed findings from a report, and add findings about suppressions."""
        kept = [each for finding in report.findings if (each := self._reported(finding, report)) is not None]
        added = list(self._about_suppressions(self._statements, self.paths, report.findings))
        kept += (each for finding in added if (each := self._reported(finding, report)) is not None)
        if added:
            # Findings about policies come first, those about settings last.
            before = (each.file for each in report.findings if each.file not in report.files)
            kept = by_place(kept, (*before, *report.files, *(each.file for each in added)))
        report.findings = kept
        for known in () if self.compares else self.known:
            self._report_fixed(known, report)

    def _about_suppressions(
        self, statements: Statements, paths: PathIgnores, findings: Sequence[Finding]
    ) -> Iterator[Finding]:
        yield from statements.findings
        for index, each in enumerate(statements.misread):
            around = findings if index < _HINTED else ()
            yield each.reported(sorted({next(called(finding)) for finding in around if each.has(finding)}))
        for statement in statements.all:
            yield from statement.faults(self.matters)
        if self.is_whole:
            for ignore in paths.all:
                yield from ignore.unused()

    def _reported(self, finding: Finding, report: Report) -> Finding | None:
        """Give a finding the level of its rule; None if it is suppressed."""
        seen = [(known, known.see(finding)) for known in self.known]
        if not finding.line or finding.problem.rule == INTERNAL:  # what was not judged is always reported
            return finding
        suppression = _stated(finding, self._statements, self.paths)
        decision = self._decision(finding) if self.levels and not suppression else None
        if decision and decision.level == OFF:
            suppression = Suppression(OPTION, decision.source)
        elif decision and decision.level != finding.problem.level:
            finding = finding._replace(problem=finding.problem._replace(level=decision.level))
        suppression = suppression or next(filter(None, (known.suppresses(each) for known, each in seen)), None)
        if suppression is None:
            return finding
        report.suppressed.append(finding._replace(suppression=suppression))
        return None

    def _decision(self, finding: Finding) -> Decision | None:
        """Decide once for all findings of a rule."""
        key = finding.problem.rule, finding.origin and finding.origin.name, finding.problem.level
        if key not in self._decisions:
            self._decisions[key] = self.levels.of(finding)
        return self._decisions[key]

    def _report_fixed(self, known: Known, report: Report) -> None:
        """List the findings of a baseline that are gone though their objects were read."""
        if known.kind != baseline.BASELINE:
            return
        gone = known.gone()
        if not gone:
            return
        files = {baseline.relative_file(file, known.directory) for file in report.files}
        fixed = {each: count for each, count in gone.items() if self.is_whole or self._is_read(each, files)}
        report.fixed += [baseline.entry(each, count) for each, count in sorted(fixed.items())]
        if fixed:
            total = sum(fixed.values())
            what = "finding is" if total == 1 else "findings are"
            report.remarks.append(f"{total} {what} fixed: update the baseline with --write-baseline {known.reason}")
            lines = [f"  {_line(each)}" for each in sorted(fixed)]
            report.remarks += lines[:_SHOWN]
            report.remarks += [f"  and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []

    def _is_read(self, fingerprint: Fingerprint, files: set[str]) -> bool:
        if fingerprint.name:
            return (fingerprint.kind, fingerprint.namespace, fingerprint.name) in self._objects
        return fingerprint.file in files


def _line(fingerprint: Fingerprint) -> str:
    name = "/".join(filter(None, (fingerprint.namespace, fingerprint.name)))
    about = " ".join(filter(None, (fingerprint.kind, name))) or fingerprint.file
    return ": ".join(filter(None, (fingerprint.rule, about, fingerprint.path)))


def _stated(finding: Finding, statements: Statements, paths: PathIgnores) -> Suppression | None:
    """Apply comments, annotations and settings for paths."""
    stated: Iterable[Statement | PathIgnore] = (*statements.about(finding), *paths.about(finding))
    return next(filter(None, (each.suppresses(finding) for each in stated)), None)
