"""Suppresses findings: levels of rules, paths, statements and baselines, applied to a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from webhook.documents import Document, Unreadable
from webhook.documents.globs import Globs
from webhook.findings import INTERNAL, UNREADABLE, Finding, Fingerprint, Suppression, by_place, identity
from webhook.problem import ERROR, NOTE, WARNING, Key, Path, Problem
from webhook.records import NamedTuple
from webhook.report.model import Report
from webhook.suppression import baseline
from webhook.suppression.baseline import Known
from webhook.suppression.names import any_names, called, check, names, names_in
from webhook.suppression.statements import UNUSED, Statement, Statements, finding_at

OFF: Final = "off"
"""The level of a rule whose findings are not reported."""
LEVELS: Final = {
    "off": OFF,
    "note": NOTE,
    "warn": WARNING,
    "error": ERROR,
    "audit": NOTE,
    "warning": WARNING,
    "deny": ERROR,
}
"""The words for levels, those of ``draguard serve --enforce`` included."""
_BY_STRENGTH: Final = (OFF, NOTE, WARNING, ERROR)


class _Decision(NamedTuple):
    """The level of a finding, and the setting that decides it."""

    level: str
    source: str


_NOTHING: Final[Mapping[str, str]] = {}


class Levels(NamedTuple):
    """Levels of rules, by the names that :mod:`webhook.suppression.names` describes.

    Args:
        selected: The only rules whose findings are reported; all of them if empty. Unreadable inputs are reported
            regardless.
        ignored: Rules whose findings are not reported.
        stated: The levels of the command line, by name; under the empty name, the highest level of all other rules.
        configured: The levels of the configuration file, which the command line overrides.
        file: The name of the configuration file.
    """

    selected: Sequence[str] = ()
    ignored: Sequence[str] = ()
    stated: Mapping[str, str] = _NOTHING
    configured: Mapping[str, str] = _NOTHING
    file: str = ""

    def __bool__(self) -> bool:
        """Tell whether any rule has a level of its own."""
        return bool(self.selected or self.ignored or self.stated or self.configured)

    def check(self) -> None:
        """Check the names of rules.

        Raises:
            UnknownRuleError: A rule does not exist.
        """
        check(name for name in (*self.selected, *self.ignored, *self.stated) if name)

    def of(self, finding: Finding) -> _Decision | None:
        """Decide the level of a finding; None if its rule has no level of its own."""
        if name := _naming(self.ignored, finding):
            return _Decision(OFF, f"--ignore {name}")
        chosen = _naming(self.selected, finding)
        if self.selected and not chosen and finding.problem.rule != UNREADABLE:
            return _Decision(OFF, "--select")
        if (name := _naming(self.stated, finding)) is not None:
            return _Decision(self.stated[name], f"--level {name}={self.stated[name]}")
        if not chosen and (name := _naming(self.configured, finding)) is not None:
            return _Decision(self.configured[name], f"levels.{name} in {self.file}")
        most = self.stated.get("")
        if most and _BY_STRENGTH.index(most) < _BY_STRENGTH.index(finding.problem.level):
            return _Decision(most, f"--level {most}")
        return None


def levels(texts: Iterable[str]) -> dict[str, str]:
    """Read texts such as ``unknown-field=warn``, or ``warn`` for all other rules.

    Raises:
        ValueError: A text is malformed.
    """
    stated = {}
    for text in texts:
        for each in names_in(text):
            name, _, word = each.rpartition("=")
            if word not in LEVELS or ("=" in each and not name):
                raise ValueError(f"{each!r}: give RULE=off, RULE=note, RULE=warn or RULE=error")
            stated[name] = LEVELS[word]
    return stated


def _naming(stated: Iterable[str], finding: Finding) -> str | None:
    """Return the name that matches the rule of a finding; a full name rather than a pattern, and then the last."""
    matching = [name for name in stated if name and names(name, finding)]
    return max(enumerate(matching), key=lambda each: ("*" not in each[1], each[0]))[1] if matching else None


_PATH: Final = "path"


class PathIgnore(NamedTuple):
    """Rules to ignore in files that match patterns.

    Args:
        patterns: The patterns, as written.
        rules: The names of the rules.
        reason: Why they are ignored.
        file: The file with the setting.
        used: The rules of which it has suppressed a finding.
    """

    patterns: Sequence[str]
    globs: Globs
    rules: Sequence[str]
    reason: str
    file: str
    line: int
    text: str
    used: set[str]

    def suppresses(self, finding: Finding) -> Suppression | None:
        """Suppress a finding of its rules."""
        return Suppression(_PATH, self.reason) if any_names(self.rules, finding, self.used) else None

    def unused(self) -> Iterator[Finding]:
        """Report the rules of which it has suppressed no finding."""
        unused = [name for name in self.rules if name not in self.used]
        if unused:
            # Positions in the list would change with other entries, and a baseline goes by the path.
            path = Path(("ignores", Key(", ".join(self.patterns)), Key(", ".join(unused))))
            where = Finding(Problem(WARNING, "", "", path, ""), self.file, self.line, 1, self.text)
            yield finding_at(where, UNUSED, f"suppresses no finding of {', '.join(unused)}", "remove it")


class PathIgnores:
    """All settings for paths."""

    def __init__(self, ignores: Sequence[PathIgnore] = ()) -> None:
        self.all = ignores
        self._of_file: dict[str, list[PathIgnore]] = {}

    def about(self, finding: Finding) -> Sequence[PathIgnore]:
        """Find the setting for the file of a finding."""
        if not self.all:
            return ()
        found = self._of_file.get(finding.file)
        if found is None:
            found = self._of_file[finding.file] = [each for each in self.all if each.globs.has(finding.file)]
        return found


_OPTION: Final = "option"
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
        self._decisions: dict[tuple[str, str | None, str], _Decision | None] = {}

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
        if not finding.is_of_object or finding.problem.rule == INTERNAL:  # what was not judged is always reported
            return finding
        suppression = _stated(finding, self._statements, self.paths)
        decision = self._decision(finding) if self.levels and not suppression else None
        if decision and decision.level == OFF:
            suppression = Suppression(_OPTION, decision.source)
        elif decision and decision.level != finding.problem.level:
            finding = finding._replace(problem=finding.problem._replace(level=decision.level))
        suppression = suppression or next(filter(None, (known.suppresses(each) for known, each in seen)), None)
        if suppression is None:
            return finding
        report.suppressed.append(finding._replace(suppression=suppression))
        return None

    def _decision(self, finding: Finding) -> _Decision | None:
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
