"""Applies fixes, judges the result, and keeps those that remove their finding and cause no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from webhook.documents import Document, Unreadable
from webhook.findings import Finding
from webhook.fixing.planning import UNREAD, Plan, Planner, applied
from webhook.problem import ERROR, NOT_DECODED, NOTE, Problem
from webhook.records import NamedTuple


def _is_further(found: Problem, fixed: Problem) -> bool:
    """Tell whether only errors of an expression are left that the compiler reported before, too.

    Args:
        found: The errors that are left.
        fixed: The errors, one of which was fixed.
    """
    return (found.rule, found.path) == (fixed.rule, fixed.path) and set() < _errors(found) < _errors(fixed)


def _errors(problem: Problem) -> set[tuple[int, int, str]]:
    """Return the line and the text of each error, and its place from the end: a fix changes what is before others."""
    return {(each.line, each.rest, each.message) for each in problem.issues if each.line > 0}


_ROUNDS: Final = 10
_JUDGEMENTS: Final = 100
"""How often all files are judged at most."""
_MOVING: Final = {"nest": 1, "unwrap": 0, "wrap": 2, "list": 2, "remove": 0}
"""Changes that leave the values as they are, with how far below the finding the moved fields are at most."""
_IN_PLACE: Final = frozenset({"replace", "quote", "respell", "alone"})
"""Changes of a value that leave all paths as they are."""
_UNCOVERED: Final = frozenset({"not-enough-devices", "never-allocated", "pod-never-allocated", "driver-gate"})
"""Rules that find nothing while a request matches no device, or a driver's parameter is misspelt.

A right fix may uncover their findings.
"""
_OF_PROFILES: Final = frozenset({"wrong-parameters"})
"""Rules that find nothing while the name of a driver, or a field around, is misspelt.

A right fix may uncover their findings about values that it does not write.
"""
_NOT_EDITED: Final = "the text cannot be changed in place: change it by hand"
_UNTRIED: Final = "too many fixes were tried: run the command again"


class State(NamedTuple):
    """The contents of files, and their findings.

    Args:
        texts: The texts of the files that can be changed, by name.
        documents: The documents of these and all other files.
        unwritable: Why other files cannot be changed, by name.
    """

    texts: dict[str, str]
    documents: Sequence[Document | Unreadable]
    findings: Sequence[Finding]
    unwritable: Mapping[str, str]


class Fixing:
    """Fixes files.

    Args:
        judge: Judges all files with these texts.
        unsafe: Whether to apply fixes that may not be what the user meant.
    """

    def __init__(self, judge: Callable[[dict[str, str]], State], *, unsafe: bool) -> None:
        self._judge, self._unsafe = judge, unsafe
        self._refused: dict[object, str] = {}
        """The plans that were not applied, with the reasons."""
        self._judgements = 0

    def __call__(self, state: State) -> State:
        """Apply fixes in rounds, as one fix may make room for another."""
        for _ in range(_ROUNDS):
            plans = self._plans(state, state.findings)
            if not plans:
                break
            first = min(map(_turn, plans))
            state = self._fixed(state, [each for each in plans if _turn(each) == first])
        return state

    def more(self, state: State) -> int:
        """Count the findings that unsafe fixes would remove, as far as known without trying them."""
        unsafe = [each for each in state.findings if each.problem.fix and not each.problem.fix.safe]
        return 0 if self._unsafe else sum(len(each.findings) for each in _planned(state, unsafe) if not each.obstacle)

    def left(self, state: State) -> Iterator[tuple[Finding, str]]:
        """Yield the findings whose fixes were not applied, each with the reason."""
        wanted = self._wanted(state.findings)
        planned = {id(each): _key(plan) for plan in _planned(state, wanted) for each in plan.findings}
        for each in wanted:
            if id(each) in planned:
                yield each, self._refused.get(planned[id(each)], _UNTRIED)
            else:
                is_read = each.file in state.texts
                yield each, _NOT_EDITED if is_read else state.unwritable.get(each.file, UNREAD)

    def _wanted(self, findings: Iterable[Finding]) -> list[Finding]:
        return [each for each in findings if (fix := each.problem.fix) and (fix.safe or self._unsafe)]

    def _plans(self, state: State, findings: Iterable[Finding]) -> list[Plan]:
        plans = _planned(state, self._wanted(findings))
        self._refused |= {_key(each): each.obstacle for each in plans if each.obstacle}
        return [each for each in plans if _key(each) not in self._refused]

    def _fixed(self, base: State, plans: Iterable[Plan]) -> State:
        """Apply the plans that work: all at once, then without the files in which one failed.

        In those files, plans are bisected to find the failing ones; one part per file is tried at a time.
        """
        good: list[Plan] = []
        waiting = _by_files(plans)
        while waiting and self._judgements < _JUDGEMENTS:
            tried = [parts.pop() for parts in waiting]
            state, wrong = self._settled(base, [*good, *chain.from_iterable(tried)])
            elsewhere = wrong.keys() - {file for part in tried for plan in part for file in plan.edits}
            if elsewhere and tried[1:]:  # any of them may be the cause: bisect all
                waiting = [[*chain.from_iterable(waiting), *_halves(list(chain.from_iterable(tried)))]]
                continue
            for parts, part in zip(waiting, tried, strict=True):
                files = elsewhere.union(*(plan.edits for plan in part))
                spoilt = [each for file, found in wrong.items() if file in files for each in found]
                if not spoilt:
                    good += part
                elif part[1:]:
                    parts.extend(_halves(part))
                else:
                    self._refused[_key(part[0])] = _why(part[0], spoilt)
            waiting = [parts for parts in waiting if parts]
            if not wrong and not waiting:
                return state
        self._refused |= {_key(plan): _UNTRIED for parts in waiting for part in parts for plan in part}
        state, wrong = self._settled(base, good) if good else (base, {})
        if not wrong:
            return state
        spoilt = list(chain.from_iterable(wrong.values()))
        self._refused |= {_key(plan): _why(plan, spoilt) for plan in good}
        return base

    def _settled(self, before: State, plans: Sequence[Plan]) -> tuple[State, dict[str, list[Finding]]]:
        """Apply plans, and judge; findings that come to light may have fixes, too.

        Returns:
            The resulting files, and for each failing file the findings that may be new or should be gone.
        """
        changed, done = applied(before.texts, plans)
        fixed = [finding for plan in done for finding in plan.findings]
        is_ignored = _Ignored(before, fixed)
        seen = (each for each in before.findings if not is_ignored(each))
        allowed = Counter(map(_kind, seen)) - Counter(map(_kind, fixed))
        rewritten = set() if any(map(_moves, fixed)) else set(map(_place, fixed))
        state, surplus = before, Counter[tuple[str, str, str]]()
        looked_at: list[Finding] = []
        for _ in range(_ROUNDS):
            self._judgements += 1
            state = self._judge(state.texts | changed)
            looked_at = [each for each in state.findings if not is_ignored(each)]
            surplus = Counter(map(_kind, looked_at)) - allowed
            more = self._plans(state, [each for each in looked_at if _kind(each) in surplus])
            changed, done = applied(state.texts, more)
            if not done or self._judgements >= _JUDGEMENTS:
                break
        wrong: dict[str, list[Finding]] = {}
        for each in looked_at:
            if _kind(each) in surplus or _place(each) in rewritten:
                wrong.setdefault(each.file, []).append(each)
        return state, wrong


class _Ignored:
    """Tells which findings do not count: notes, and what was there before, but hidden.

    References are looked up in and to objects without errors, and only what can be decoded is validated.

    Args:
        before: The files before the fixes.
        fixed: The findings that are fixed.
    """

    def __init__(self, before: State, fixed: Sequence[Finding]) -> None:
        errors = [each for each in before.findings if each.problem.level == ERROR]
        self._had_errors = {(each.file, each.document) for each in errors}
        self._undecoded = {(each.file, each.document) for each in errors if _hides(each)}
        self._to_remove = set(map(_kind, fixed))
        self._edited: dict[tuple[str, int], list[Finding]] = {}
        for each in fixed:
            self._edited.setdefault((each.file, each.document), []).append(each)

    def __call__(self, finding: Finding) -> bool:
        """Tell whether a finding does not count."""
        level, rule = finding.problem.level, finding.problem.rule
        place, whole = (finding.file, finding.document), (finding.file, 0)
        if level == ERROR:
            if any(_is_further(finding.problem, each.problem) for each in self._edited.get(place, ())):
                return True
            return not self._undecoded.isdisjoint((place, whole)) and not self._is_written(finding)
        if rule in _UNCOVERED or not self._had_errors.isdisjoint((place, whole)):
            return True
        if level == NOTE and _kind(finding) not in self._to_remove:
            return True
        if place not in self._edited:
            return True  # elsewhere, fixes only reveal findings
        return rule in _OF_PROFILES and not self._is_written(finding)

    def _is_written(self, finding: Finding) -> bool:
        return any(_is_about(finding, each) for each in self._edited.get((finding.file, finding.document), ()))


def _halves(part: list[Plan]) -> list[list[Plan]]:
    """Split a part in two; the first half comes last, as it is tried first."""
    return [part[len(part) // 2 :], part[: len(part) // 2]]


def _turn(plan: Plan) -> tuple[bool, bool]:
    """Order plans: safe ones first, so that others cannot block them; renames last, as they may break references."""
    fixes = [fix for each in plan.findings if (fix := each.problem.fix)]
    return not all(each.safe for each in fixes), any(each.change == "respell" for each in fixes)


def _moves(fixed: Finding) -> bool:
    """Tell whether a fix gives other values other paths."""
    fix = fixed.problem.fix
    return fix is None or fix.change not in _IN_PLACE


def _place(finding: Finding) -> tuple[object, ...]:
    """Identify a finding by its rule and place, for changes that leave all values where they are."""
    return finding.file, finding.document, finding.within, finding.problem.rule, finding.problem.path


def _hides(finding: Finding) -> bool:
    """Tell whether a finding is an error that hides others, as nothing is decoded."""
    return finding.problem.level == ERROR and finding.problem.reason in NOT_DECODED


def _is_about(found: Finding, fixed: Finding) -> bool:
    """Tell whether an error of a document is about what a fix wrote: a value, or where values stand."""
    fix, path = fixed.problem.fix, fixed.problem.path
    if fix is None or fix.change == "separate":
        return fix is not None  # the file is still unreadable
    if fix.change in _MOVING:
        is_near = len(found.problem.path) <= len(path) + _MOVING[fix.change]
        return is_near and _hides(found) and found.problem.path[: len(path) - 1] == path[:-1]
    written = (*path[:-1], fix.value) if fix.change == "rename" else (*path, *([fix.below] if fix.below else ()))
    return found.problem.path == written


def gone(before: State, after: State) -> int:
    """Count the findings of one state that are missing in another, and those of which only some errors are left."""
    missing = Counter(map(_kind, before.findings)) - Counter(map(_kind, after.findings))
    left = {_place(each): each.problem for each in after.findings}
    lesser = [each for each in before.findings if _is_further(left.get(_place(each), each.problem), each.problem)]
    return missing.total() + len(lesser)


def _by_files(plans: Iterable[Plan]) -> list[list[list[Plan]]]:
    """Group plans that change the same files into parts that are tried one after another, initially one."""
    groups: dict[str, tuple[set[str], list[Plan]]] = {}
    for plan in plans:
        files, together = set(plan.edits), [plan]
        for group in {id(groups[each]): groups[each] for each in plan.edits if each in groups}.values():
            files |= group[0]
            together[:0] = group[1]
        groups |= dict.fromkeys(files, (files, together))
    return [[together] for _, together in {id(each): each for each in groups.values()}.values()]


def _key(plan: Plan) -> object:
    return tuple((each.file, each.document, each.within, each.problem) for each in plan.findings)


def _planned(state: State, findings: Iterable[Finding]) -> list[Plan]:
    mutable = [each for each in findings if each.file in state.texts]
    return Planner(state.texts, state.documents, state.unwritable).plans(mutable)


def _why(plan: Plan, spoilt: Iterable[Finding]) -> str:
    """Explain why a fix is not applied, by the finding that it causes: the one at its place, if there is one."""
    places = {_place(each) for each in plan.findings}
    found = min(spoilt, key=lambda each: (_place(each) not in places, each.file not in plan.edits))
    what = f"{found.problem.level} {found.problem.rule}: {found.brief or found.problem.message}"
    return f"with the fix there is still {what}" if _kind(found) in map(_kind, plan.findings) else f"it causes {what}"


def _kind(finding: Finding) -> tuple[str, str, str]:
    """Return the parts of a finding that survive a fix: a fixed object may have other paths and another name."""
    steps = (step for step in reversed(finding.problem.path) if isinstance(step, str))
    origin = finding.origin.name if finding.origin else ""
    return finding.file, f"{finding.problem.rule}/{origin}", next(steps, "")
