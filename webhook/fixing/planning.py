"""Turns findings into edits of files."""

from __future__ import annotations

from collections import defaultdict

from webhook.api.dra.names import IMPLICIT_PREFIX
from webhook.documents import Document
from webhook.documents.edits import Edit, OverlapError, apply
from webhook.fixing.lists import in_list, listed
from webhook.fixing.nodes import find, tree_of
from webhook.fixing.references import References
from webhook.fixing.scalars import key, quoted, rewritten, wrapped
from webhook.fixing.structure import alone, nested, removed, unwrapped
from webhook.problem import Path
from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence
    from typing import Final

    from webhook.documents import Unreadable
    from webhook.documents.nodes import Node
    from webhook.findings import Finding
    from webhook.problem import Fix


_NAME: Final = Path(("metadata", "name"))


_RESTRUCTURED: Final = {"remove": removed, "unwrap": unwrapped, "alone": alone}
"""What makes the edits of changes that need no value."""


class Plan(NamedTuple):
    """Findings that are fixed together, and their edits.

    Args:
        findings: The findings.
        edits: The edits of each file, by its name.
        obstacle: Why they cannot be applied; empty if they can be tried.
    """

    findings: tuple[Finding, ...]
    edits: dict[str, list[Edit]]
    obstacle: str = ""


class Planner:
    """Makes plans for one state of all files.

    Args:
        texts: Their texts, by name.
        documents: Their documents.
    """

    def __init__(self, texts: dict[str, str], documents: Iterable[Document | Unreadable]) -> None:
        self._texts = texts
        objects = [each for each in documents if isinstance(each, Document)]
        self._references = References(objects)
        self._by_place = {(each.source, each.index, each.within): each for each in objects}
        self._trees: dict[tuple[str, int], Node] = {}

    def plans(self, findings: Iterable[Finding]) -> list[Plan]:
        """Plan fixes, each for as few findings as possible; a finding without edits has none."""
        together: dict[object, list[Finding]] = defaultdict(list)
        for each in findings:
            fix, steps = each.problem.fix, each.problem.path
            if fix is None:
                continue
            own = (each.file, each.document, *each.within, *steps[: -1 if fix.change == "nest" else None])
            what = repr(fix.value) if fix.change in {"nest", "replace"} else ""
            together[(fix.change, what, *own)].append(each)
        made = (Plan(tuple(group), self._edits(group), self._obstacle(group[0])) for group in together.values())
        return [each for each in made if any(each.edits.values())]

    def _obstacle(self, finding: Finding) -> str:
        """Tell whether another object has the name that a fix gives to an object."""
        document, fix = self._document(finding), finding.problem.fix
        if document is None or fix is None or fix.change != "respell" or finding.problem.path != _NAME:
            return ""
        other = self._references.namesake(document, str(fix.value))
        if other is None:
            return ""
        what = f'{other.data["kind"]} "{fix.value}"'
        return f"{what} is at {other.source}:{other.position(_NAME).line}: give this one another name"

    def _document(self, finding: Finding) -> Document | None:
        return self._by_place.get((finding.file, finding.document - 1, finding.within))

    def _edits(self, group: Sequence[Finding]) -> dict[str, list[Edit]]:
        finding, fix = group[0], group[0].problem.fix
        if fix and fix.change == "separate":
            return {finding.file: [_separator(self._texts[finding.file], finding.line)]}
        document = self._document(finding)
        if document is None or fix is None or finding.origin:
            return {}
        path = (*finding.problem.path, *([fix.below] if fix.below else ()))
        if fix.change == "nest":
            around = find(self._tree(document), (*document.within, *path[:-1]))
            names = list(dict.fromkeys(str(each.problem.path[-1]) for each in group))
            edits = nested(document.whole_text, around.node, names, str(fix.value)) if around else None
            return {document.source: edits or []}
        if fix.change == "respell":
            return self._respelt(document, path, str(fix.value))
        return {document.source: list(self._changed(document, path, fix) or ())}

    def _changed(self, document: Document, path: tuple[str | int, ...], fix: Fix) -> Sequence[Edit] | None:
        text = document.whole_text
        found = find(self._tree(document), (*document.within, *path))
        if found is None:
            return None
        edit: Edit | None = None
        if fix.change == "replace":
            in_braces = bool(found.around and found.around.style)
            edit = rewritten(text, found.node, fix.value, in_braces=in_braces)
        elif fix.change == "quote":
            edit = quoted(text, found.node)
        elif fix.change == "wrap" and not fix.value and found.node.entries and not found.node.style:
            return in_list(text, found.node)
        elif fix.change == "wrap":
            edit = wrapped(text, found.node, str(fix.value), is_json=document.is_json)
        elif fix.change == "rename":
            is_free = found.entry and found.around and found.around.entry(fix.value) is None
            edit = key(found.entry.key, str(fix.value)) if is_free and found.entry else None
        elif fix.change == "list":
            return listed(text, found.node, str(fix.value), is_json=document.is_json)
        elif restructured := _RESTRUCTURED.get(fix.change):
            return restructured(text, found)
        return [edit] if edit else None

    def _respelt(self, document: Document, path: tuple[str | int, ...], name: str) -> dict[str, list[Edit]]:
        edits: dict[str, list[Edit]] = defaultdict(list)
        for each, where in self._references.of(document, path):
            found = find(self._tree(each), (*each.within, *where))
            in_braces = bool(found and found.around and found.around.style)
            if found and found.entry and found.entry.name.startswith(IMPLICIT_PREFIX):
                edit: Edit | None = key(found.entry.key, IMPLICIT_PREFIX + name)
            else:
                edit = rewritten(each.whole_text, found.node, name, in_braces=in_braces) if found else None
            if edit is None:
                return {}
            edits[each.source].append(edit)
        return edits

    def _tree(self, document: Document) -> Node:
        place = document.source, document.index
        if place not in self._trees:
            self._trees[place] = tree_of(document)
        return self._trees[place]


def _separator(text: str, number: int) -> Edit:
    """Return the edit that begins a document at a line."""
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: number - 1])
    line_break = "\r\n" if lines[number - 1].endswith("\r") else "\n"
    return Edit(start, start, f"---{line_break}")


def applied(texts: dict[str, str], plans: Iterable[Plan]) -> tuple[dict[str, str], list[Plan]]:
    """Apply plans that do not overlap to files; return the changed files, and the applied plans.

    Args:
        texts: The files, by name.
        plans: The plans.
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
    edits: dict[str, list[Edit]] = defaultdict(list)
    for plan in plans:
        for file, more in plan.edits.items():
            if files is None or file in files:
                edits[file] += more
    return {file: apply(texts[file], each) for file, each in edits.items()}
