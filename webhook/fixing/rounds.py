"""Applies fixes, judges the result, and keeps only what mends its finding and brings no other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.fixing.planning import Plan, Planner, applied
from webhook.problem import ERROR

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from webhook.documents import Document, Unreadable
    from webhook.findings import Finding

_ROUNDS: Final = 10
_JUDGEMENTS: Final = 100
"""So often all files are judged, at most."""


class State(NamedTuple):
    """What files hold, and what is found in them.

    Args:
        texts: The files' texts, by name; of those that can be changed.
        documents: What they hold, and all others.
        findings: What is found.
    """

    texts: dict[str, str]
    documents: Sequence[Document | Unreadable]
    findings: Sequence[Finding]


class Fixing:
    """Mends files.

    Args:
        judge: Judges all files with these texts.
        unsafe: Whether fixes are applied that may not be what was meant.
    """

    def __init__(self, judge: Callable[[dict[str, str]], State], *, unsafe: bool) -> None:
        self._judge, self._unsafe = judge, unsafe
        self._refused: set[object] = set()
        self._judgements = 0

    def __call__(self, state: State) -> State:
        """Mend what can be mended, in rounds, as one fix may make room for another."""
        for _ in range(_ROUNDS):
            plans = self._plans(state, state.findings)
            if not plans:
                break
            state = self._mended(state, plans)
        return state

    def more(self, state: State) -> int:
        """Count the findings that unsafe fixes would mend, as far as can be told without trying."""
        unsafe = [each for each in state.findings if each.problem.fix and not each.problem.fix.safe]
        return 0 if self._unsafe else sum(len(each.findings) for each in _planned(state, unsafe))

    def _plans(self, state: State, findings: Iterable[Finding]) -> list[Plan]:
        wanted = [each for each in findings if (fix := each.problem.fix) and (fix.safe or self._unsafe)]
        return [each for each in _planned(state, wanted) if self._key(each) not in self._refused]

    @staticmethod
    def _key(plan: Plan) -> object:
        return tuple((each.file, each.document, each.within, each.problem) for each in plan.findings)

    def _mended(self, state: State, plans: Sequence[Plan]) -> State:
        """Apply plans, all at once if that works, else those that work."""
        changed, done = applied(state.texts, plans)
        after = self._settled(state, changed, done)
        if after is not None:
            return after
        if len(done) == 1 or self._judgements >= _JUDGEMENTS:
            self._refused |= {self._key(each) for each in done}
            return state
        half = len(done) // 2
        first = self._mended(state, done[:half])
        # What is left refers to the text as it was; the next round plans it anew.
        return self._mended(state, done[half:]) if first is state else first

    def _settled(self, before: State, changed: dict[str, str], done: Sequence[Plan]) -> State | None:
        """Judge changed files; what comes to light may have fixes of its own. None if something new is left."""
        gone = Counter(_kind(finding) for plan in done for finding in plan.findings)
        allowed = Counter(map(_kind, before.findings)) - gone
        hidden = {(each.file, each.document) for each in before.findings if each.problem.level == ERROR}
        state = before
        for _ in range(_ROUNDS):
            self._judgements += 1
            state = self._judge(state.texts | changed)
            looked_at = [each for each in state.findings if not _was_hidden(each, hidden)]
            surplus = Counter(map(_kind, looked_at)) - allowed
            if not surplus:
                return state
            plans = self._plans(state, [each for each in looked_at if _kind(each) in surplus])
            changed, more = applied(state.texts, plans)
            if not more or self._judgements >= _JUDGEMENTS:
                break
        return None


def _was_hidden(finding: Finding, hidden: Container[tuple[str, int]]) -> bool:
    """Tell whether a warning was there before: what an object refers to is looked up once it has no errors.

    Args:
        finding: What is found now.
        hidden: The documents, by file and number, that had errors; 0 for a file that could not be read.
    """
    is_of_one = (finding.file, finding.document) in hidden or (finding.file, 0) in hidden
    return is_of_one and finding.problem.level != ERROR


def _planned(state: State, findings: Iterable[Finding]) -> list[Plan]:
    mutable = [each for each in findings if each.file in state.texts]
    plans = Planner(state.texts, state.documents).plans(mutable)
    return [each for each in plans if each.edits.keys() <= state.texts.keys()]


def _kind(finding: Finding) -> tuple[str, str, str]:
    """What stays the same of a finding when it moves: a mended object may have other paths and another name."""
    steps = (step for step in reversed(finding.problem.path) if isinstance(step, str))
    origin = finding.origin.name if finding.origin else ""
    return finding.file, f"{finding.problem.rule}/{origin}", next(steps, "")
