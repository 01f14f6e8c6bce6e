"""Findings that the configuration file ignores in some files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from webhook.findings import Finding, Suppression
from webhook.problem import WARNING, Key, Path, Problem
from webhook.records import NamedTuple
from webhook.suppression.names import any_names
from webhook.suppression.statements import UNUSED, finding_at

if TYPE_CHECKING:
    from webhook.documents.globs import Globs

PATH: Final = "path"


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
        return Suppression(PATH, self.reason) if any_names(self.rules, finding, self.used) else None

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
