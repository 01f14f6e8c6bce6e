"""Comments and annotations in manifests that suppress findings.

A comment is on the line of a finding, on its own line above that, or above all content of a document, for the whole
document: ``# draguard: ignore[unknown-field] the driver reads it``. An annotation applies to its object:
``draguard.github.io/ignore: "unknown-field: the driver reads it; class-not-found: made by the operator"``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from webhook.documents import Document
from webhook.findings import Finding, Identity, Suppression, found, identity
from webhook.limits import MOST_FINDINGS
from webhook.patterns import Pattern
from webhook.problem import WARNING, Key, Path, Problem, cut
from webhook.records import NamedTuple
from webhook.suppression.names import any_names, is_known, names_in, suggestion

MARK: Final = "draguard:"
"""Begins a comment to draguard."""
ANNOTATION: Final = "draguard.github.io/ignore"
"""The annotation that suppresses findings about its object."""
NAME: Final = "draguard"
"""A word in every file that has statements for draguard."""
INLINE: Final = "inline"
ANNOTATED: Final = "annotation"

UNUSED: Final = "unused-suppression"
MALFORMED: Final = "malformed-suppression"
UNEXPLAINED: Final = "unexplained-suppression"

_IGNORE: Final = Pattern(r"ignore\s*\[([^\]]*)\][\s:-]*")
_BARE: Final = Pattern(r"ignore\b[\s:\[\]-]*")
_LONGEST: Final = 60
"""The most characters of a comment that are shown."""
_EXAMPLE: Final = "# draguard: ignore[unknown-field] the reason"
_EXAMPLES: Final = {INLINE: _EXAMPLE, ANNOTATED: f'{ANNOTATION}: "unknown-field: the reason"'}
_MOST_RULES: Final = 100
_MOST_MISTAKES: Final = 1000
"""How many mistakes in statements are reported: one line may have all of them, and each finding repeats it."""
_MOST_HINTS: Final = 100
"""How many mistakes get a suggestion, which takes longer than finding them."""
_NO_PROBLEM: Final = Problem(WARNING, "", "", Path(), "")
_PATH: Final = Path(("metadata", "annotations", Key(ANNOTATION)))


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
    """A comment or annotation that suppresses rules.

    Args:
        rules: The names of the rules.
        reason: Why they are ignored here.
        finding: The place of the statement; its problem is not used.
        used: The rules of which it has suppressed a finding.
    """

    kind: str
    rules: tuple[str, ...]
    reason: str
    place: StatementScope
    finding: Finding
    used: set[str]

    def suppresses(self, finding: Finding) -> Suppression | None:
        """Suppress a finding in its scope; None if it is about another rule."""
        return Suppression(self.kind, self.reason) if any_names(self.rules, finding, self.used) else None

    def faults(self, is_known_to_matter: Callable[[str], bool]) -> Iterator[Finding]:
        """Report the rules of which it has suppressed no finding, and a missing reason for the others.

        Args:
            is_known_to_matter: Tells whether this run checks a rule.
        """
        unused = [name for name in self.rules if name not in self.used and is_known_to_matter(name)]
        kept = ", ".join(name for name in self.rules if name not in unused)
        if unused:
            whole = "remove it, or put it on the line of the finding" if self.kind == INLINE else "remove it"
            hint = f"remove {', '.join(unused)}" if kept else whole
            yield finding_at(self.finding, UNUSED, f"suppresses no finding of {', '.join(unused)}", hint)
        if kept and not self.reason:
            hint = f"write {_EXAMPLES[self.kind].replace('unknown-field', kept)}"
            yield finding_at(self.finding, UNEXPLAINED, f"gives no reason for suppressing {kept}", hint)


class Misread(NamedTuple):
    """A comment that draguard cannot read.

    Args:
        place: Its scope, if it is meant to suppress findings.
        finding: The place of the comment; its problem is not used.
    """

    text: str
    place: StatementScope
    finding: Finding

    def has(self, finding: Finding) -> bool:
        """Tell whether a finding is in its scope."""
        place = self.place
        there = finding.document == place.document if place.document else finding.line == place.line
        return there and finding.file == place.file

    def reported(self, rules: Sequence[str]) -> Finding:
        """Make the finding about it.

        Args:
            rules: The rules with findings in its scope.
        """
        bare = _BARE.match(self.text)
        what = "names no rule in [ ]" if bare else "is not an instruction that draguard knows"
        reason = self.text[bare.end() :] if bare else ""
        first, _, rest = reason.partition(" ")
        if first and is_known(first):  # the brackets are missing
            rules, reason = [first], rest.strip()
        example = f"# draguard: ignore[{', '.join(rules)}] {reason or 'the reason'}" if rules else _EXAMPLE
        message = f"`{cut(self.text, _LONGEST)}` {what}, so it suppresses nothing"
        return finding_at(self.finding, MALFORMED, message, f"write {example}")


class Statements:
    """The comments and annotations of the documents that were read."""

    def __init__(self) -> None:
        self.all: list[Statement] = []
        self.findings: list[Finding] = []
        """The findings about them."""
        self.misread: list[Misread] = []
        """The comments that draguard cannot read."""
        self._files: set[str] = set()
        self._comments = Counter[str]()
        self._places: dict[StatementScope, list[Statement]] = {}
        self._seen: set[StatementScope] = set()

    def note(self, document: Document) -> None:
        """Note the comments and annotations of a document."""
        if document.mentions(NAME):
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
                document.excerpt(comment.line),
                document.index + 1,
                identity(document.data),
                rendered=document.rendered,
            )
            self._comments[document.source] += 1
            if self._comments[document.source] > MOST_FINDINGS:
                self._malformed(where, f"is one of more than {MOST_FINDINGS:,} in the file", "")
                return
            match = _IGNORE.match(comment.text)
            place = whole if comment.is_top else StatementScope(document.source, 0, comment.about)
            if match is None or not names_in(match[1]):
                self.misread.append(Misread(comment.text, place, where))
                continue
            self._add(Statement(INLINE, tuple(names_in(match[1])), comment.text[match.end() :], place, where, set()))

    def _note_annotation(self, document: Document) -> None:
        text = _annotation(document.data)
        place = StatementScope(document.source, document.index + 1, identity=identity(document.data))
        if text is None or place in self._seen:  # documents are read again for another release
            return
        self._seen.add(place)
        where = found(_NO_PROBLEM._replace(path=_PATH), document)
        for index, part in enumerate(filter(None, (each.strip() for each in text.split(";")))):
            if index == _MOST_RULES:
                self._report(where, MALFORMED, f"has more than {_MOST_RULES} parts: the rest suppresses nothing", "")
                return
            rules, _, reason = part.partition(":")
            self._add(Statement(ANNOTATED, tuple(names_in(rules)), reason.strip(), place, where, set()))

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
                hint = suggestion(name) if len(self.findings) < _MOST_HINTS else ""
                self._malformed(where, f"names the unknown rule {name[:_MOST_RULES]}", hint)
        if not known:
            return
        statement = statement._replace(rules=tuple(known))
        beside = self._places.setdefault(statement.place, [])
        if len(beside) == _MOST_RULES:
            self._malformed(where, f"is one of more than {_MOST_RULES} for the same place", "")
            return
        self.all.append(statement)
        beside.append(statement)
        self._files.add(statement.place.file)

    def _malformed(self, where: Finding, message: str, hint: str) -> None:
        self._report(where, MALFORMED, f"{message}, so it suppresses nothing", hint)

    def _report(self, where: Finding, rule: str, message: str, hint: str) -> None:
        left = _MOST_MISTAKES - len(self.findings)
        if left == 0:
            message = f"is one of more than {_MOST_MISTAKES:,} mistakes in statements for draguard"
            rule, hint = MALFORMED, ""
        if left >= 0:
            self.findings.append(finding_at(where, rule, message, hint))

    def about(self, finding: Finding) -> Iterator[Statement]:
        """Find the statements that may suppress a finding, the nearest first."""
        if finding.file not in self._files:
            return
        file, document = finding.file, finding.document
        for place in dict.fromkeys(
            (
                StatementScope(file, 0, finding.line),
                StatementScope(file, 0, finding.key_line or finding.line),
                StatementScope(file, document, identity=finding.identity),
                StatementScope(file, document),
            )
        ):
            yield from self._places.get(place, ())


def finding_at(where: Finding, rule: str, message: str, hint: str) -> Finding:
    """Make a finding about a statement, at its place."""
    return where._replace(problem=Problem(WARNING, rule, "Suppression", where.problem.path, message, hint))


def _annotation(obj: Any) -> str | None:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    text = annotations.get(ANNOTATION) if isinstance(annotations, dict) else None
    return text if isinstance(text, str) else None
