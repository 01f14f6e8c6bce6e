"""Fixes files: turns fixes of findings into edits, and keeps those that remove their finding and cause no others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from webhook.api.dra.names import IMPLICIT_PREFIX, NAMED_BY, QUOTA_SUFFIX
from webhook.documents import Document, Piece
from webhook.documents.placeholders import PLACEHOLDER
from webhook.edit.changes import changed, nested
from webhook.edit.scalars import key, rewritten
from webhook.edit.tree import Edit, OverlapError, Tree, apply, tree_of
from webhook.findings import Finding, Identity, identity
from webhook.grouping import by_key
from webhook.later import cached_property
from webhook.objects import DEFAULT_NAMESPACE, text
from webhook.problem import ERROR, NOT_DECODED, NOTE, Path, Problem, Steps, value_at

_WITHIN: Final = frozenset({"name", "request", "requests", "claims", "resourceClaims", "volumes", "volumeMounts"})
"""The fields of an object that hold the name of one of its parts, or lists of such names."""


_CLASS_KEYS: Final = ((IMPLICIT_PREFIX, ""), (f"requests.{IMPLICIT_PREFIX}", ""), ("", QUOTA_SUFFIX))
"""What stands around the name of a class in the key of an amount: that of the extended resource of a class; in a
ResourceQuota, of requests of it, and of devices of the class (``pkg/quota/v1/evaluator/core/resource_claims.go``)."""

_Mention = tuple["Document", Steps]
"""A document, and the path of a name, or of an amount whose key has the name of a class."""


class _References:
    """Finds where names are written.

    Args:
        documents: All documents of the input.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._reserved: dict[Identity, Document] = {}
        self._parts: dict[tuple[int, Steps], dict[str, Steps]] = {}

    def reserve(self, document: Document, path: Steps, name: str) -> _Mention | None:
        """Reserve a new name for an object, or a part of one; return where another has it, or will have it."""
        if path == _NAME:
            about = _same_name(document)
            self._reserved = self._reserved or {_same_name(each): each for each in self._documents}
            other = self._reserved.setdefault(about._replace(name=name), document)
            return None if _same_name(other) == about else (other, path)
        around, parts = path[:-2], value_at(document.data, path[:-2])
        if path[-1] != "name" or not isinstance(parts, list):
            return None
        if (taken := self._parts.get((id(document), around))) is None:
            taken = {text(each, "name"): (*around, index, "name") for index, each in enumerate(parts)}
            self._parts[id(document), around] = taken
        beside = taken.setdefault(name, path)
        return None if beside == path else (document, beside)

    @cached_property
    def _to_objects(self) -> dict[tuple[str, str], list[_Mention]]:
        """Where names of objects are written, by the field and the name."""
        fields = frozenset(NAMED_BY.values())
        named = ((document, each) for document in self._documents for each in _names(document.data, fields))
        return by_key(((field, name), (document, path)) for document, (field, name, path) in named)

    def of(self, document: Document, path: Steps) -> Iterator[_Mention]:
        """Find the occurrences of the name at a place: itself, and all references to the same object.

        Args:
            document: The document with the name.
            path: The path of the name.
        """
        name = value_at(document.data, path)
        yield document, path
        if path[-2:] != ("metadata", "name"):
            inside = _names(document.data, _WITHIN)
            yield from ((document, where) for _, other, where in inside if other == name and where != path)
            return
        about = identity(document.data)
        for each, where in self._to_objects.get((NAMED_BY.get(about.kind, ""), name), ()):
            if about.kind == "DeviceClass" or _same_name(each).namespace == _same_name(document).namespace:
                yield each, where


def _class_key(key: str) -> tuple[str, str] | None:
    """Return what stands around the name of a class in a key; None if it has none."""
    return next((each for each in _CLASS_KEYS if key.startswith(each[0]) and key.endswith(each[1])), None)


def _same_name(document: Document) -> Identity:
    """Return what an object shares only with other versions of itself."""
    about = identity(document.data)
    group, _, _ = about.api_version.rpartition("/")
    return about._replace(api_version=group, namespace=about.namespace or DEFAULT_NAMESPACE)


def _names(value: Any, fields: frozenset[str], path: Steps = (), field: str = "") -> Iterator[tuple[str, str, Steps]]:
    """Yield the texts in fields that may hold a name, and the names of classes in keys.

    The metadata has the object's own name.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if NAMED_BY["DeviceClass"] in fields and (around := _class_key(key)):
                yield NAMED_BY["DeviceClass"], key.removeprefix(around[0]).removesuffix(around[1]), (*path, key)
            if field != "metadata":
                yield from _names(inner, fields, (*path, key), key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _names(inner, fields, (*path, index), field)
    elif isinstance(value, str) and field in fields:
        yield field, value, path


_NAME: Final = Path(("metadata", "name"))
UNREAD: Final = "another fix uncovered that: run the command again"
"""Why a file is not changed that had nothing to fix at first."""


class Plan(NamedTuple):
    """Findings that are fixed together, and their edits.

    Args:
        edits: The edits of each file, by its name.
        obstacle: Why they cannot be applied; empty if they can be tried.
    """

    findings: tuple[Finding, ...]
    edits: Mapping[str, list[Edit]] = MappingProxyType({})
    obstacle: str = ""


class Planner:
    """Makes plans for one state of all files.

    Args:
        texts: The texts of the files that can be changed, by name.
        documents: The documents of these and all other files.
        unwritable: Why others cannot be changed, by name.
    """

    def __init__(
        self, texts: Mapping[str, str], documents: Iterable[Piece], unwritable: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self._texts, self._unwritable = texts, unwritable
        objects = [each for each in documents if isinstance(each, Document)]
        self._references = _References(objects)
        self._by_place = {(each.source, each.index, each.within): each for each in objects}
        self._trees: dict[tuple[str, int], Tree] = {}

    def plans(self, findings: Iterable[Finding]) -> list[Plan]:
        """Plan fixes, each for as few findings as possible; a finding without edits or an obstacle has none."""
        together: dict[object, list[Finding]] = defaultdict(list)
        for each in findings:
            fix, steps = each.problem.fix, each.problem.path
            if fix is None:
                continue
            own = (each.file, each.document, *each.within, *steps[: -1 if fix.change == "nest" else None])
            what = repr(fix.value) if fix.change in {"nest", "replace"} else ""
            together[(fix.change, what, *own)].append(each)
        made = map(self._beside_placeholders, map(self._plan, map(tuple, together.values())))
        return [each for each in made if each.obstacle or any(each.edits.values())]

    def _beside_placeholders(self, plan: Plan) -> Plan:
        """Return a plan, without edits if one of them changes a line with a placeholder."""
        for file, edits in plan.edits.items():
            text = self._texts[file]
            for each in edits:
                end = text.find("\n", each.end)
                if PLACEHOLDER.search(text, text.rfind("\n", 0, each.start) + 1, len(text) if end < 0 else end):
                    return Plan(plan.findings, obstacle="a placeholder is there: change it by hand")
        return plan

    def _plan(self, group: tuple[Finding, ...]) -> Plan:
        finding, fix = group[0], group[0].problem.fix
        if fix and fix.change == "separate":
            lines = self._texts[finding.file].split("\n")
            start = sum(len(line) + 1 for line in lines[: finding.line - 1])
            line_break = "\r\n" if lines[finding.line - 1].endswith("\r") else "\n"
            return Plan(group, {finding.file: [Edit(start, start, f"---{line_break}")]})
        document = self._by_place.get((finding.file, finding.document - 1, finding.within))
        if document is None or fix is None or finding.origin:
            return Plan(group)
        path = (*finding.problem.path, *([fix.below] if fix.below else ()))
        if fix.change == "respell":
            return self._respelt(group, document, path, str(fix.value))
        tree = self._tree(document)
        if fix.change == "nest":
            around = tree.find((*document.within, *path[:-1]))
            names = list(dict.fromkeys(str(each.problem.path[-1]) for each in group))
            edits = nested(tree, around.node, names, str(fix.value)) if around else ()
            return Plan(group, {document.source: list(edits)})
        found = tree.find((*document.within, *path))
        return Plan(group, {document.source: list(changed(tree, found, fix)) if found else []})

    def _respelt(self, group: tuple[Finding, ...], document: Document, path: Steps, name: str) -> Plan:
        """Plan another name with all references to it: if one of them cannot be changed, nothing is."""
        edits: dict[str, list[Edit]] = defaultdict(list)
        for each, where in self._references.of(document, path):
            renamed = self._renamed(each, where, name)
            if each.source not in self._texts:
                obstacle = f"cannot be written: {self._unwritable.get(each.source, UNREAD)}"
            elif not renamed:
                obstacle = "cannot be changed in place: change it by hand"
            else:
                edits[each.source] += renamed
                continue
            is_reference = each is not document or where != path
            return Plan(group, obstacle=f"{_line(each, where)} refers to it, and {obstacle}" if is_reference else "")
        other = self._references.reserve(document, path, name)
        if other is None:
            return Plan(group, edits)
        what = f"{other[0].data['kind']} " if path == _NAME else ""
        return Plan(group, obstacle=f'{what}"{name}" is at {_line(*other)}: give this one another name')

    def _renamed(self, document: Document, path: Steps, name: str) -> list[Edit]:
        """Write a name at a place, or in the key there that has it; no edit if the text cannot be changed in place."""
        found = self._tree(document).find((*document.within, *path))
        if found is None:
            return []
        if found.entry and (around := _class_key(found.entry.name)):
            return [key(found.entry.key, name.join(around))]
        return rewritten(document.file.text, found.node, name, in_braces=found.in_braces)

    def _tree(self, document: Document) -> Tree:
        place = document.source, document.index
        if place not in self._trees:
            self._trees[place] = tree_of(document.file.text, is_json=document.is_json, extent=document.extent)
        return self._trees[place]


def _line(document: Document, path: Sequence[str | int]) -> str:
    return f"{document.source}:{document.position(path).line}"


def applied(texts: dict[str, str], plans: Iterable[Plan]) -> tuple[dict[str, str], list[Plan]]:
    """Apply plans that do not overlap to files; return the changed files, and the applied plans.

    Args:
        texts: The files, by name.
    """
    done = list(plans)
    try:
        return _together(texts, done), done
    except OverlapError:
        pass
    kept: list[Plan] = []
    for plan in done:
        try:
            _together(texts, [*kept, plan], plan.edits)
        except OverlapError:
            continue
        kept.append(plan)
    return _together(texts, kept), kept


def _together(texts: dict[str, str], plans: Iterable[Plan], files: Container[str] | None = None) -> dict[str, str]:
    """Apply all plans, to some files or to all.

    Raises:
        OverlapError: Two of them change the same part.
    """
    edits = by_key((file, each) for plan in plans for file, several in plan.edits.items() for each in several)
    return {file: apply(texts[file], each) for file, each in edits.items() if files is None or file in files}


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


class FileState(NamedTuple):
    """The contents of files, and their findings.

    Args:
        texts: The texts of the files that can be changed, by name.
        documents: The documents of these and all other files.
        unwritable: Why other files cannot be changed, by name.
    """

    texts: dict[str, str]
    documents: Sequence[Piece]
    findings: Sequence[Finding]
    unwritable: Mapping[str, str]


class Fixing:
    """Fixes files.

    Args:
        judge: Judges all files with these texts.
        unsafe: Whether to apply fixes that may not be what the user meant.
    """

    def __init__(self, judge: Callable[[dict[str, str]], FileState], *, unsafe: bool) -> None:
        self._judge, self._unsafe = judge, unsafe
        self._refused: dict[object, str] = {}
        """The plans that were not applied, with the reasons."""
        self._judgements = 0

    def __call__(self, state: FileState) -> FileState:
        """Apply fixes in rounds, as one fix may make room for another."""
        for _ in range(_ROUNDS):
            plans = self._plans(state, state.findings)
            if not plans:
                break
            first = min(map(_turn, plans))
            state = self._fixed(state, [each for each in plans if _turn(each) == first])
        return state

    def more(self, state: FileState) -> int:
        """Count the findings that unsafe fixes would remove, as far as known without trying them."""
        unsafe = [each for each in state.findings if each.problem.fix and not each.problem.fix.safe]
        return 0 if self._unsafe else sum(len(each.findings) for each in _planned(state, unsafe) if not each.obstacle)

    def left(self, state: FileState) -> Iterator[tuple[Finding, str]]:
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

    def _plans(self, state: FileState, findings: Iterable[Finding]) -> list[Plan]:
        plans = _planned(state, self._wanted(findings))
        self._refused |= {_key(each): each.obstacle for each in plans if each.obstacle}
        return [each for each in plans if _key(each) not in self._refused]

    def _fixed(self, base: FileState, plans: Iterable[Plan]) -> FileState:
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

    def _settled(self, before: FileState, plans: Sequence[Plan]) -> tuple[FileState, dict[str, list[Finding]]]:
        """Apply plans, and judge; findings that come to light may have fixes, too.

        Returns:
            The resulting files, and for each failing file the findings that may be new or should be gone; those that
            were not there before come first, as they say best why a fix fails.
        """
        changed, done = applied(before.texts, plans)
        fixed = [finding for plan in done for finding in plan.findings]
        is_ignored = _ignored(before, fixed)
        seen, to_go = ([each for each in found if not is_ignored(each)] for found in (before.findings, fixed))
        allowed = Counter(map(_kind, seen)) - Counter(map(_kind, to_go))
        # Unless a fix gives other values other paths, its finding is to be gone from its place.
        is_in_place = all((fix := each.problem.fix) and fix.change in _IN_PLACE for each in fixed)
        rewritten = set(map(_place, fixed)) if is_in_place else set()
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
        known = {each.problem for each in before.findings}
        wrong = [each for each in looked_at if _kind(each) in surplus or _place(each) in rewritten]
        wrong.sort(key=lambda each: each.problem in known)
        return state, by_key((each.file, each) for each in wrong)


def _ignored(before: FileState, fixed: Sequence[Finding]) -> Callable[[Finding], bool]:
    """Return what tells which findings do not count: notes, and what was there before, but hidden.

    References are looked up in and to objects without errors, and only what can be decoded is validated.

    Args:
        before: The files before the fixes.
        fixed: The findings that are fixed.
    """
    errors = [each for each in before.findings if each.problem.level == ERROR]
    had_errors = {(each.file, each.document) for each in errors}
    undecoded = {(each.file, each.document) for each in errors if _hides(each)}
    to_remove = set(map(_kind, fixed))
    edited = by_key(((each.file, each.document), each) for each in fixed)

    def is_ignored(finding: Finding) -> bool:
        level, rule = finding.problem.level, finding.problem.rule
        place, whole = (finding.file, finding.document), (finding.file, 0)
        here = edited.get(place, ())
        if level == ERROR:
            if any(_is_further(finding.problem, each.problem) for each in here):
                return True
            return not (undecoded.isdisjoint((place, whole)) or any(_is_about(finding, each) for each in here))
        if rule in _UNCOVERED or not had_errors.isdisjoint((place, whole)):
            return True
        if level == NOTE and _kind(finding) not in to_remove:
            return True
        # Elsewhere, fixes only reveal findings.
        return not here or (rule in _OF_PROFILES and not any(_is_about(finding, each) for each in here))

    return is_ignored


def _halves(part: list[Plan]) -> list[list[Plan]]:
    """Split a part in two; the first half comes last, as it is tried first."""
    return [part[len(part) // 2 :], part[: len(part) // 2]]


def _turn(plan: Plan) -> tuple[bool, bool]:
    """Order plans: safe ones first, so that others cannot block them; renames last, as they may break references."""
    fixes = [fix for each in plan.findings if (fix := each.problem.fix)]
    return not all(each.safe for each in fixes), any(each.change == "respell" for each in fixes)


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


def gone(before: FileState, after: FileState) -> int:
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


def _planned(state: FileState, findings: Iterable[Finding]) -> list[Plan]:
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
    origin = finding.origin.name if finding.origin else ""
    return finding.file, f"{finding.problem.rule}/{origin}", next(reversed(finding.problem.path.names), "")
