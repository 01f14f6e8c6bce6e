"""Turns findings into edits of files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from webhook.api.dra.names import IMPLICIT_PREFIX, NAMED_BY, QUOTA_SUFFIX
from webhook.documents import Document, Unreadable
from webhook.documents.placeholders import PLACEHOLDER
from webhook.edit.changes import changed, nested
from webhook.edit.edits import Edit, OverlapError, apply
from webhook.edit.scalars import key, rewritten
from webhook.edit.tree import Tree, tree_of
from webhook.findings import Finding, Identity, identity
from webhook.later import cached_property
from webhook.objects import DEFAULT_NAMESPACE
from webhook.problem import Path, value_at
from webhook.records import NamedTuple

_WITHIN: Final = frozenset({"name", "request", "requests", "claims", "resourceClaims", "volumes", "volumeMounts"})
"""The fields of an object that hold the name of one of its parts, or lists of such names."""


class _ClassKey(NamedTuple):
    """What stands around the name of a class in the key of an amount."""

    prefix: str
    suffix: str = ""


_CLASS_KEYS: Final = (
    _ClassKey(IMPLICIT_PREFIX),
    _ClassKey(f"requests.{IMPLICIT_PREFIX}"),
    _ClassKey("", QUOTA_SUFFIX),
)
"""The extended resource of a class; in a ResourceQuota, requests of it, and devices of the class
(``pkg/quota/v1/evaluator/core/resource_claims.go``)."""

_Mention = tuple["Document", tuple[str | int, ...]]
"""A document, and the path of a name, or of an amount whose key has the name of a class."""


class _References:
    """Finds where names are written.

    Args:
        documents: All documents of the input.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._reserved: dict[Identity, Document] = {}

    @cached_property
    def _objects(self) -> dict[Identity, Document]:
        return {_same_name(each): each for each in self._documents}

    def reserve(self, document: Document, name: str) -> Document | None:
        """Reserve a new name for an object; return the other object that has it, or for which it is reserved."""
        about = _same_name(document)
        new = about._replace(name=name)
        other = self._objects.get(new) or self._reserved.setdefault(new, document)
        return None if _same_name(other) == about else other

    @cached_property
    def _to_objects(self) -> dict[tuple[str, str], list[_Mention]]:
        """Where names of objects are written, by the field and the name."""
        fields = frozenset(NAMED_BY.values())
        found: dict[tuple[str, str], list[_Mention]] = defaultdict(list)
        for document in self._documents:
            for field, name, path in _names(document.data, fields):
                found[field, name].append((document, path))
        return found

    def of(self, document: Document, path: tuple[str | int, ...]) -> Iterator[_Mention]:
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


def _class_key(key: str) -> _ClassKey | None:
    """Return what stands around the name of a class in a key; None if it has none."""
    return next((each for each in _CLASS_KEYS if key.startswith(each.prefix) and key.endswith(each.suffix)), None)


def _same_name(document: Document) -> Identity:
    """Return what an object shares only with other versions of itself."""
    about = identity(document.data)
    group, _, _ = about.api_version.rpartition("/")
    return about._replace(api_version=group, namespace=about.namespace or DEFAULT_NAMESPACE)


def _names(
    value: Any, fields: frozenset[str], path: tuple[str | int, ...] = (), field: str = ""
) -> Iterator[tuple[str, str, tuple[str | int, ...]]]:
    """Yield the texts in fields that may hold a name, and the names of classes in keys.

    The metadata has the object's own name.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            if NAMED_BY["DeviceClass"] in fields and (around := _class_key(key)):
                yield NAMED_BY["DeviceClass"], key.removeprefix(around.prefix).removesuffix(around.suffix), (*path, key)
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
        self,
        texts: Mapping[str, str],
        documents: Iterable[Document | Unreadable],
        unwritable: Mapping[str, str] = MappingProxyType({}),
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
            return Plan(group, {finding.file: [_separator(self._texts[finding.file], finding.line)]})
        document = self._by_place.get((finding.file, finding.document - 1, finding.within))
        if document is None or fix is None or finding.origin:
            return Plan(group)
        path = (*finding.problem.path, *([fix.below] if fix.below else ()))
        if fix.change == "respell":
            return self._respelt(group, document, path, str(fix.value))
        if fix.change == "nest":
            tree = self._tree(document)
            around = tree.find((*document.within, *path[:-1]))
            names = list(dict.fromkeys(str(each.problem.path[-1]) for each in group))
            edits = nested(tree, around.node, names, str(fix.value)) if around else None
            return Plan(group, {document.source: edits or []})
        tree = self._tree(document)
        found = tree.find((*document.within, *path))
        return Plan(group, {document.source: list(changed(tree, found, fix)) if found else []})

    def _respelt(self, group: tuple[Finding, ...], document: Document, path: tuple[str | int, ...], name: str) -> Plan:
        """Plan another name with all references to it: if one of them cannot be changed, nothing is."""
        edits: dict[str, list[Edit]] = defaultdict(list)
        for each, where in self._references.of(document, path):
            edit = self._renamed(each, where, name)
            if each.source not in self._texts:
                obstacle = f"cannot be written: {self._unwritable.get(each.source, UNREAD)}"
            elif edit is None:
                obstacle = "cannot be changed in place: change it by hand"
            else:
                edits[each.source].append(edit)
                continue
            is_reference = each is not document or where != path
            return Plan(group, obstacle=f"{_line(each, where)} refers to it, and {obstacle}" if is_reference else "")
        other = self._references.reserve(document, name) if path == _NAME else None
        if other is None:
            return Plan(group, edits)
        taken = f'{other.data["kind"]} "{name}" is at {_line(other, _NAME)}'
        return Plan(group, obstacle=f"{taken}: give this one another name")

    def _renamed(self, document: Document, path: tuple[str | int, ...], name: str) -> Edit | None:
        """Write a name at a place, or in the key there that has it; None if the text cannot be changed in place."""
        found = self._tree(document).find((*document.within, *path))
        if found is None:
            return None
        if found.entry and (around := _class_key(found.entry.name)):
            return key(found.entry.key, f"{around.prefix}{name}{around.suffix}")
        return rewritten(document.whole_text, found.node, name, in_braces=found.in_braces)

    def _tree(self, document: Document) -> Tree:
        place = document.source, document.index
        if place not in self._trees:
            self._trees[place] = tree_of(document.whole_text, is_json=document.is_json, extent=document.extent)
        return self._trees[place]


def _line(document: Document, path: Sequence[str | int]) -> str:
    return f"{document.source}:{document.position(path).line}"


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
