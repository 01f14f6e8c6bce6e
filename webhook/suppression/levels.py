"""Levels of rules: off, note, warn or error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from webhook.findings import UNREADABLE, Finding
from webhook.problem import ERROR, NOTE, WARNING
from webhook.records import NamedTuple
from webhook.suppression.names import check, names, names_in

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


class Decision(NamedTuple):
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

    def of(self, finding: Finding) -> Decision | None:
        """Decide the level of a finding; None if its rule has no level of its own."""
        if name := _naming(self.ignored, finding):
            return Decision(OFF, f"--ignore {name}")
        chosen = _naming(self.selected, finding)
        if self.selected and not chosen and finding.problem.rule != UNREADABLE:
            return Decision(OFF, "--select")
        if (name := _naming(self.stated, finding)) is not None:
            return Decision(self.stated[name], f"--level {name}={self.stated[name]}")
        if not chosen and (name := _naming(self.configured, finding)) is not None:
            return Decision(self.configured[name], f"levels.{name} in {self.file}")
        most = self.stated.get("")
        if most and _BY_STRENGTH.index(most) < _BY_STRENGTH.index(finding.problem.level):
            return Decision(most, f"--level {most}")
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
