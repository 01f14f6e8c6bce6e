"""Suppresses findings: levels of rules, paths, statements and baselines, applied to a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from webhook.documents import Document, Piece
from webhook.documents.globs import Globs
from webhook.findings import (
    INTERNAL,
    UNREADABLE,
    Finding,
    Fingerprint,
    Identity,
    Suppression,
    by_place,
    found,
    identity,
)
from webhook.limits import MOST_FINDINGS
from webhook.objects import text
from webhook.patterns import Pattern
from webhook.problem import ERROR, NOTE, WARNING, Key, Path, Problem, cut
from webhook.report.model import Report
from webhook.spelling import did_you_mean, some_of
from webhook.suppression import baseline
from webhook.suppression.baseline import Known
from webhook.usage import UsageError

POLICY: Final = "policy/"
"""Precedes the name of a policy."""
_MAX: Final = 300
"""The most characters of a name: policies' names have at most 253."""
_LONGEST: Final = 100
"""The most characters of a name that is shown, and for which suggestions are made."""


def names_in(text: str) -> list[str]:
    """Return the names in a comma-separated text."""
    return [name for each in text.split(",") if (name := each.strip())]


@lru_cache(maxsize=4096)
def is_known(name: str) -> bool:
    """Tell whether a name can name a rule; names of policies are not checked."""
    from webhook.explain.names import has_match, is_rule  # needed only to name rules

    if len(name) > _MAX:
        return False
    return name.startswith(POLICY) or (has_match if frozenset("*?[").intersection(name) else is_rule)(name)


def unknown(name: str) -> tuple[str, str]:
    """Say that a name is unknown, and suggest the intended rule."""
    from webhook.explain.names import rule_names  # needed for mistakes only

    known = rule_names() if len(name) <= _LONGEST else ()
    return f"unknown rule {name[:_LONGEST]}", did_you_mean(name, known, "`draguard explain` lists the rules")


def called(finding: Finding) -> list[str]:
    """Return the names that match a finding, the most specific one first."""
    return [*([f"{POLICY}{finding.origin.name}"] if finding.origin else []), finding.problem.rule]


def names(name: str, finding: Finding) -> bool:
    """Tell whether a name matches the rule of a finding."""
    return any(each == name or fnmatchcase(each, name) for each in called(finding))


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


class Levels(NamedTuple):
    """Levels of rules, by the names that :mod:`webhook.suppression.applying` describes.

    Args:
        selected: The only rules whose findings are reported; all of them if empty. Unreadable inputs are reported
            regardless.
        ignored: Rules whose findings are not reported.
        stated: The levels of the command line, by name; under the empty name, the highest level of all other rules.
        configured: The levels of the configuration file, which the command line overrides.
        file: The name of the configuration file.
    """

    selected: Sequence[str]
    ignored: Sequence[str]
    stated: Mapping[str, str]
    configured: Mapping[str, str]
    file: str

    def __bool__(self) -> bool:
        """Tell whether any rule has a level of its own."""
        return bool(self.selected or self.ignored or self.stated or self.configured)

    def of(self, finding: Finding) -> tuple[str, str] | None:
        """Return the level of a finding, and the setting that decides it; None if its rule has no level of its own."""
        if name := _naming(self.ignored, finding):
            return OFF, f"--ignore {name}"
        chosen = _naming(self.selected, finding)
        if self.selected and not chosen and finding.problem.rule != UNREADABLE:
            return OFF, "--select"
        if (name := _naming(self.stated, finding)) is not None:
            return self.stated[name], f"--level {name}={self.stated[name]}"
        if not chosen and (name := _naming(self.configured, finding)) is not None:
            return self.configured[name], f"levels.{name} in {self.file}"
        most = self.stated.get("")
        if most and _BY_STRENGTH.index(most) < _BY_STRENGTH.index(finding.problem.level):
            return most, f"--level {most}"
        return None


def levels(texts: Iterable[str]) -> dict[str, str]:
    """Read texts such as ``unknown-field=warn``, or ``warn`` for all other rules.

    Raises:
        UsageError: A text is malformed.
    """
    stated = {}
    for each in chain.from_iterable(map(names_in, texts)):
        name, _, word = each.rpartition("=")
        if word not in LEVELS or ("=" in each and not name):
            raise UsageError(f"{each!r}: give RULE=off, RULE=note, RULE=warn or RULE=error", "--level")
        stated[name] = LEVELS[word]
    return stated


def _naming(stated: Iterable[str], finding: Finding) -> str | None:
    """Return the name that matches the rule of a finding; a full name rather than a pattern, and then the last."""
    matching = [name for name in stated if name and names(name, finding)]
    return max(enumerate(matching), key=lambda each: ("*" not in each[1], each[0]))[1] if matching else None


MARK: Final = "draguard:"
"""Begins a comment to draguard."""
ANNOTATION: Final = "draguard.github.io/ignore"
"""The annotation that suppresses findings about its object."""
NAME: Final = "draguard"
"""A word in every file that has statements for draguard."""
PATH: Final = "path"
INLINE: Final = "inline"
ANNOTATED: Final = "annotation"
_MISREAD: Final = "misread"
"""A comment that draguard cannot read."""

UNUSED: Final = "unused-suppression"
MALFORMED: Final = "malformed-suppression"
UNEXPLAINED: Final = "unexplained-suppression"

_IGNORE: Final = Pattern(r"ignore\s*\[([^\]]*)\][\s:-]*")
_BARE: Final = Pattern(r"ignore\b[\s:\[\]-]*")
_LONGEST_STATEMENT: Final = 60
"""The most characters of a comment that are shown."""
_EXAMPLE: Final = "# draguard: ignore[RULE] the reason"
_EXAMPLES: Final = {INLINE: _EXAMPLE, ANNOTATED: f'{ANNOTATION}: "RULE: the reason"'}
_MOST_RULES: Final = 100
_MOST_MISTAKES: Final = 1000
"""How many mistakes in statements are reported: one line may have all of them, and each finding repeats it."""
_MOST_HINTS: Final = 100
"""How many mistakes get a suggestion, which takes longer than finding them."""
_NO_PROBLEM: Final = Problem(WARNING, "", "", Path(), "")


class StatementScope(NamedTuple):
    """The scope of a statement.

    Args:
        document: The document in it, counted from 1; 0 for all of them.
        line: The line; 0 for all of them.
        identity: The object; None for all of them.
    """

    file: str
    document: int
    line: int = 0
    identity: Identity | None = None


class Statement(NamedTuple):
    """A comment, an annotation, or a setting for paths that suppresses rules.

    Args:
        rules: The names of the rules; none of a comment that cannot be read.
        reason: Why they are ignored here; the text of a comment that cannot be read.
        finding: The place of the statement; of its problem, only the path is used.
        used: The rules of which it has suppressed a finding, or would have.
        place: Its scope, unless that is the files of a setting.
        globs: These files.
    """

    kind: str
    rules: Sequence[str]
    reason: str
    finding: Finding
    used: set[str]
    place: StatementScope = StatementScope("", 0)
    globs: Globs | None = None

    def suppresses(self, finding: Finding) -> Suppression | None:
        """Suppress a finding in its scope; None if it is about another rule."""
        if self.kind == _MISREAD:
            self.used.add(called(finding)[0])
        matching = [name for name in self.rules if names(name, finding)]
        self.used.update(matching)
        return Suppression(self.kind, self.reason) if matching else None

    def faults(self, matters: Callable[[str], bool], erroneous: Collection[tuple[str, int]]) -> Iterator[Finding]:
        """Report the rules of which it has suppressed no finding, and a missing reason for the others.

        Args:
            matters: Tells whether this run checks a rule.
            erroneous: The documents with errors, by file and number. Not all rules about other objects look at them.
        """
        if self.kind == _MISREAD:
            yield self._misread()
            return
        globs, place = self.globs, (self.finding.file, self.finding.document)
        has_errors = any(map(globs.has, {file for file, _ in erroneous})) if globs else place in erroneous
        unused = [name for name in self.rules if name not in self.used and (globs or matters(name))]
        if has_errors:
            from webhook.explain.names import needs  # few suppressions are beside errors

            unused = [name for name in unused if "others" not in needs(name)]
        kept, names = ", ".join(name for name in self.rules if name not in unused), ", ".join(unused)
        if unused:
            whole = "remove it, or put it on the line of the finding" if self.kind == INLINE else "remove it"
            hint = f"remove {names}" if kept and not self.globs else whole
            where, problem = self.finding, self.finding.problem
            # Positions in a list of settings would change with other entries, and a baseline goes by the path.
            path = problem.path / Key(names) if self.globs else problem.path
            where = where._replace(problem=problem._replace(path=path))
            yield finding_at(where, UNUSED, f"suppresses no finding of {names}", hint)
        if kept and not self.reason:
            hint = f"write {_EXAMPLES[self.kind].replace('RULE', kept)}"
            yield finding_at(self.finding, UNEXPLAINED, f"gives no reason for suppressing {kept}", hint)

    def _misread(self) -> Finding:
        """Say how to write it: with the rule that it names, or those of the findings in its scope."""
        bare, rules = _BARE.match(self.reason), sorted(self.used)
        what = "names no rule in [ ]" if bare else "is not an instruction that draguard knows"
        reason = self.reason[bare.end() :] if bare else ""
        first, _, rest = reason.partition(" ")
        if first and is_known(first):  # the brackets are missing
            rules, reason = [first], rest.strip()
        example = f"# draguard: ignore[{', '.join(rules)}] {reason or 'the reason'}" if rules else _EXAMPLE
        message = f"`{cut(self.reason, _LONGEST_STATEMENT)}` {what}, so it suppresses nothing"
        return finding_at(self.finding, MALFORMED, message, f"write {example}")


class Statements:
    """The comments and annotations of the documents that were read, and settings for paths.

    Args:
        ignores: The settings for paths.
    """

    def __init__(self, ignores: Sequence[Statement] = ()) -> None:
        self.ignores = ignores
        self._ignored: dict[str, list[Statement]] = {}
        """Suppressions for a file."""
        self.all: list[Statement] = []
        self.findings: list[Finding] = []
        """The findings about them."""
        self._files: set[str] = set()
        self._comments = Counter[str]()
        self._places: dict[StatementScope, list[Statement]] = {}
        self._seen: set[StatementScope] = set()

    def note(self, document: Document) -> None:
        """Note the comments and annotations of a document."""
        if document.file.mentions(NAME):
            self._note_comments(document)
            self._note_annotation(document)

    def _note_comments(self, document: Document) -> None:
        whole = StatementScope(document.source, document.index + 1)
        if whole in self._seen or self._comments[document.source] > MOST_FINDINGS:  # the items of a list share them
            return
        self._seen.add(whole)
        for comment in document.comments(MARK):
            where = Finding(
                _NO_PROBLEM,
                document.source,
                comment.line,
                comment.column,
                document.file.excerpt(comment.line),
                document.index + 1,
                identity(document.data),
                rendered=document.file.rendered,
            )
            self._comments[document.source] += 1
            if self._comments[document.source] > MOST_FINDINGS:
                self._malformed(where, f"is one of more than {MOST_FINDINGS:,} in the file")
                return
            match = _IGNORE.match(comment.text)
            place = whole if comment.is_top else StatementScope(document.source, 0, comment.about)
            if match is None or not names_in(match[1]):
                self._put(Statement(_MISREAD, (), comment.text, where, set(), place))
                continue
            self._add(Statement(INLINE, names_in(match[1]), comment.text[match.end() :], where, set(), place))

    def _note_annotation(self, document: Document) -> None:
        stated = text(document.data, "metadata", "annotations", ANNOTATION)
        place = StatementScope(document.source, document.index + 1, identity=identity(document.data))
        if not stated or place in self._seen:  # documents are read again for another release
            return
        self._seen.add(place)
        where = found(_NO_PROBLEM._replace(path=Path(("metadata", "annotations", Key(ANNOTATION)))), document)
        for index, part in enumerate(filter(None, (each.strip() for each in stated.split(";")))):
            if index == _MOST_RULES:
                self._malformed(where, f"has more than {_MOST_RULES} parts", then=": the rest suppresses nothing")
                return
            rules, _, reason = part.partition(":")
            self._add(Statement(ANNOTATED, names_in(rules), reason.strip(), where, set(), place))

    def _add(self, statement: Statement) -> None:
        where = statement.finding
        if not statement.rules:
            self._malformed(where, "names no rule", f"write {_EXAMPLES[statement.kind]}")
            return
        if len(statement.rules) > _MOST_RULES:
            self._malformed(where, f"names more than {_MOST_RULES} rules", "name a pattern of them, such as cel-*")
            return
        known = [name for name in dict.fromkeys(statement.rules) if is_known(name)]
        for name in statement.rules:
            if name not in known:
                hint = unknown(name)[1] if len(self.findings) < _MOST_HINTS else ""
                self._malformed(where, f"names the unknown rule {name[:_MOST_RULES]}", hint)
        if not known:
            return
        if not self._put(statement._replace(rules=known)):
            self._malformed(where, f"is one of more than {_MOST_RULES} for the same place")

    def _put(self, statement: Statement) -> bool:
        """Add a statement, unless there are too many for its place, among which those for a finding are sought."""
        beside = self._places.setdefault(statement.place, [])
        if has_room := len(beside) < _MOST_RULES:
            beside.append(statement)
            self._files.add(statement.place.file)
        if has_room or statement.kind == _MISREAD:
            self.all.append(statement)
        return has_room

    def _malformed(self, where: Finding, what: str, hint: str = "", then: str = ", so it suppresses nothing") -> None:
        if len(self.findings) == _MOST_MISTAKES:
            what, hint, then = f"is one of more than {_MOST_MISTAKES:,} mistakes in statements for draguard", "", ""
        if len(self.findings) <= _MOST_MISTAKES:
            self.findings.append(finding_at(where, MALFORMED, what + then, hint))

    def suppress(self, finding: Finding) -> Suppression | None:
        """Suppress a finding that a statement or setting is about."""
        return next(filter(None, (each.suppresses(finding) for each in self._about(finding))), None)

    def _about(self, finding: Finding) -> Iterator[Statement]:
        """Find the statements that may suppress a finding, the nearest first, and the settings for its file."""
        file, document = finding.file, finding.document
        places = (
            StatementScope(file, 0, finding.line),
            StatementScope(file, 0, finding.key_line or finding.line),
            StatementScope(file, document, identity=finding.identity),
            StatementScope(file, document),
        )
        for place in dict.fromkeys(places if file in self._files else ()):
            yield from self._places.get(place, ())
        if self.ignores:
            if file not in self._ignored:
                self._ignored[file] = [each for each in self.ignores if each.globs and each.globs.has(file)]
            yield from self._ignored[file]


def finding_at(where: Finding, rule: str, message: str, hint: str) -> Finding:
    """Make a finding about a statement, at its place."""
    return where._replace(problem=Problem(WARNING, rule, "Suppression", where.problem.path, message, hint))


_SHOWN: Final = 5


class Suppressions:
    """All sources of suppressions.

    Args:
        levels: The levels of rules.
        ignores: The rules ignored in some files.
        known: Sets of known findings; the first set with a finding suppresses it.
        matters: Tells whether this run checks a rule, so that a comment or an annotation that suppresses nothing is
            unused.
        is_whole: Whether all files of the configuration file and the baseline were read.
        finds_fewer: Whether the run has fewer findings than the one on which a baseline may be based, so that none
            counts as fixed: some cases of suites are run, or objects are updates of an earlier state.
    """

    def __init__(
        self,
        levels: Levels,
        ignores: Sequence[Statement],
        known: Sequence[Known],
        matters: Callable[[str], bool],
        *,
        is_whole: bool,
        finds_fewer: bool,
    ) -> None:
        self.levels, self.known = levels, known
        self.matters, self.is_whole, self.finds_fewer = matters, is_whole, finds_fewer
        self._statements = Statements(ignores)
        self._objects: set[tuple[str, str, str]] = set()
        self._decisions: dict[tuple[str, str | None, str], tuple[str, str] | None] = {}

    def leave_out(
        self, findings: Sequence[Finding], documents: Iterable[Piece], reason: str, *, has_settings: bool
    ) -> None:
        """Suppress findings that an earlier revision has, too, including those about its suppressions.

        Args:
            findings: The findings of the earlier revision, suppressed or not.
            documents: The documents of the revision.
            reason: Why the findings do not count.
            has_settings: Whether the revision has the same configuration file.
        """
        statements = Statements([each._replace(used=set()) for each in self._statements.ignores])
        for document in documents:
            if isinstance(document, Document):
                statements.note(document)
        for finding in findings:
            statements.suppress(finding)
        before = [*findings, *self._about_suppressions(statements, findings, has_settings=has_settings)]
        self.known = [*self.known, baseline.Known(baseline.REVISION, reason, baseline.counted(before))]

    def note(self, document: Document) -> None:
        """Note a document: its suppressions, and its object."""
        self._statements.note(document)
        if self.known and not self.is_whole:
            about = identity(document.data)
            self._objects.add((about.kind, about.namespace, about.name))

    def apply(self, report: Report) -> None:
        """Remove suppressed findings from a report, and add findings about suppressions."""
        kept = [each for finding in report.findings if (each := self._reported(finding, report)) is not None]
        added = list(self._about_suppressions(self._statements, report.findings))
        kept += (each for finding in added if (each := self._reported(finding, report)) is not None)
        if added:
            # Findings about policies come first, those about settings last.
            before = (each.file for each in report.findings if each.file not in report.files)
            kept = by_place(kept, (*before, *report.files, *(each.file for each in added)))
        report.findings = kept
        for known in () if self.finds_fewer else self.known:
            self._report_fixed(known, report)

    def _about_suppressions(
        self, statements: Statements, findings: Iterable[Finding], *, has_settings: bool = True
    ) -> Iterator[Finding]:
        erroneous = {(each.file, each.document) for each in findings if each.problem.level == ERROR}
        yield from statements.findings
        for statement in (*statements.all, *(statements.ignores if self.is_whole and has_settings else ())):
            yield from statement.faults(self.matters, erroneous)

    def _reported(self, finding: Finding, report: Report) -> Finding | None:
        """Give a finding the level of its rule; None if it is suppressed."""
        seen = [(known, known.see(finding)) for known in self.known]
        if not finding.is_of_object or finding.problem.rule == INTERNAL:  # what was not judged is always reported
            return finding
        suppression = self._statements.suppress(finding)
        decision = self._decision(finding) if self.levels and not suppression else None
        if decision and decision[0] == OFF:
            suppression = Suppression("option", decision[1])
        elif decision and decision[0] != finding.problem.level:
            finding = finding._replace(problem=finding.problem._replace(level=decision[0]))
        suppression = suppression or next(filter(None, (known.suppresses(each) for known, each in seen)), None)
        if suppression is None:
            return finding
        report.suppressed.append(finding._replace(suppression=suppression))
        return None

    def _decision(self, finding: Finding) -> tuple[str, str] | None:
        """Decide once for all findings of a rule."""
        key = finding.problem.rule, finding.origin and finding.origin.name, finding.problem.level
        if key not in self._decisions:
            self._decisions[key] = self.levels.of(finding)
        return self._decisions[key]

    def _report_fixed(self, known: Known, report: Report) -> None:
        """List the findings of a baseline that are gone though their objects were read."""
        gone = known.gone() if known.kind == baseline.BASELINE else {}
        if not gone:
            return
        files = {baseline.relative_file(file, known.directory) for file in report.files}
        objects = self._objects
        fixed = {
            each: count
            for each, count in gone.items()
            if self.is_whole or ((each.kind, each.namespace, each.name) in objects if each.name else each.file in files)
        }
        report.fixed += [baseline.entry(each, count) for each, count in sorted(fixed.items())]
        if fixed:
            total = sum(fixed.values())
            what = "finding is" if total == 1 else "findings are"
            report.remarks.append(f"{total} {what} fixed: update the baseline with --write-baseline {known.reason}")
            lines = some_of([_line(each) for each in sorted(fixed)], _SHOWN, "and {} more")
            report.remarks += (f"  {each}" for each in lines)


def _line(fingerprint: Fingerprint) -> str:
    name = "/".join(filter(None, (fingerprint.namespace, fingerprint.name)))
    about = " ".join(filter(None, (fingerprint.kind, name))) or fingerprint.file
    return ": ".join(filter(None, (fingerprint.rule, about, fingerprint.path)))
