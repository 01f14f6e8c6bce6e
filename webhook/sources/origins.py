"""Finds the files that the objects of a kustomization come from, which kustomize's output does not tell.

A built object is matched to the resource of its kind whose name, with the prefixes and suffixes of the kustomizations
around it, equals its own. If there is none, or several, or it comes from elsewhere, its file is unknown.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple

from webhook.documents import Document, parse
from webhook.documents.search import PATCH_FIELDS, documents_in, listed
from webhook.documents.source import MAX_EXCERPT
from webhook.objects import JSONObject, mapping, text
from webhook.patch import steps_of
from webhook.problem import Path, Steps, value_at
from webhook.sources.bases import named_in
from webhook.sources.options import kustomization_of

_ACTION: Final = "{{"
_KEY: Final = re.compile(r"(?:- +)*(?:[\"']?[\w./-]+[\"']?:|-(?= ))")
_PART: Final = re.compile(r"\{\{.*?\}\}|[\w./-]+|\S")
"""An action, a word, or a sign in a line."""
_CONTROL: Final = re.compile(r"\{\{-?\s*(?:if|else|end|with|range|define|block|\$\w+\s*:?=|/\*)")
"""Actions that write nothing themselves."""
_MOST: Final = 4_000_000
"""Pairs of lines beyond which texts are not aligned."""
_MOST_STEPS: Final = 100_000_000
"""Steps, each some nanoseconds, beyond which they are not aligned: if lines repeat, the worst case is cubic."""


def locate(template: str, rendered: str, line: int, column: int) -> tuple[int, int, str] | None:
    """Find the place in a template that a place of its output comes from.

    Args:
        line: The line in the output, from 1.
        column: The column, in characters from 1.

    Returns:
        The line, the column, and the text of the line; None if they are unknown.
    """
    aligned = _aligned(template, rendered, _lines)
    if not 1 <= line <= len(aligned) or aligned[line - 1] < 0:
        return None
    found = aligned[line - 1]
    text = template.splitlines()[found]
    at = _offset(text, rendered.splitlines()[line - 1], column - 1)
    return found + 1, at + 1, text if len(text) <= MAX_EXCERPT else ""


def _offset(source: str, written: str, at: int) -> int:
    """Return the offset in a template's line for one in its output; that of the line's text if it is unknown."""
    first = len(source) - len(source.lstrip())
    if _start(source.strip()) != _start(written.strip()):
        return first
    aligned, parts = _aligned(source, written, _PART.findall), [*_PART.finditer(written)]
    place = next((index for index, each in enumerate(parts) if at < each.end()), -1)
    if place < 0 or not aligned or aligned[place] < 0:
        return first
    found, part = [*_PART.finditer(source)][aligned[place]], parts[place]
    if found[0] == part[0]:
        return found.start() + max(at - part.start(), 0)
    return found.start() if found[0].startswith(_ACTION) else first


@lru_cache(maxsize=16)
def _aligned(template: str, rendered: str, split: Callable[[str], Sequence[str]]) -> Sequence[int]:
    """Return, for each line or part of a rendered text, the index of its origin in the template; -1 if there is none.

    Args:
        split: Returns the lines or parts of a text.
    """
    source, written = split(template), split(rendered)
    if len(source) * len(written) > _MOST:
        return ()
    plain = {each for each in source if _ACTION not in each}
    left = [each if each in plain else _start(each) for each in written]
    right = [each if each in plain else _start(each) for each in source]
    often = Counter(right)
    if sum(often[each] for each in left) * min(len(left), len(right)) > _MOST_STEPS:
        return ()
    found = [-1] * len(written)
    for block in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
        found[block.a : block.a + block.size] = range(block.b, block.b + block.size)
    last = -1
    for index, each in enumerate(left):
        if found[index] < 0:
            found[index] = right.index(each) if each and often[each] == 1 else _writer(source, last)
        last = found[index]
    return found


def _lines(text: str) -> Sequence[str]:
    return [each.strip() for each in text.splitlines()]


def _start(line: str) -> str:
    """Return the start of a line without its value: its key, or the dash of an item."""
    match = _KEY.match(line)
    return match[0] if match else line


def _writer(source: Sequence[str], last: int) -> int:
    """Return the action that has probably written what comes after the last known line or part."""
    for index in range(last + 1, len(source)):
        if source[index].startswith(_ACTION):
            if not _CONTROL.match(source[index]):
                return index
        elif source[index]:
            break
    return last


_NAMES: Final = (("metadata", "name"), ("metadata", "namespace"))
_PLAIN_NAME: Final = re.compile(r"[a-z0-9.-]+")
"""A name of a patch's target that is not a pattern."""
_FILES_MAX: Final = 10_000
"""The most files and directories to read."""


class _Patch(NamedTuple):
    """A strategic merge patch or a JSON Patch.

    Args:
        kind: The kind of the patched objects; empty for any.
        name: Their name, or a pattern; empty for any.
    """

    kind: str
    name: str
    document: Document

    def applies_to(self, kind: str, name: str) -> bool:
        """Tell whether the patch may be for an object; kustomizations may have made its name longer."""
        is_named = not _PLAIN_NAME.fullmatch(self.name) or self.name in name
        return self.kind in ("", kind) and is_named

    def places(self, path: Path) -> Iterator[Steps]:
        """Find the places in the patch of a built value; lists are merged, so that it may have another index."""
        if not isinstance(self.document.data, list):
            yield from _places(self.document.data, path)
            return
        for index, operation in enumerate(self.document.data):
            pointer = value_at(operation, ("path",))
            if not isinstance(pointer, str) or not pointer.startswith("/"):
                continue
            steps = steps_of(pointer)
            if len(steps) <= len(path) and all(map(_is_same_step, steps, path)):
                yield from _places(operation, ("value", *path[len(steps) :]), (index,))


class Origins:
    """The resource files of a kustomization.

    Args:
        file: The kustomization's file, as named.
    """

    def __init__(self, file: str) -> None:
        self._objects: dict[tuple[str, str], list[Document]] = {}
        self._patches: list[_Patch] = []
        self.inline: dict[Document, tuple[Document, Path]] = {}
        """The patches that are written in a kustomization, and the path of their text there."""
        for each in islice(_inputs(file), _FILES_MAX):
            for document in each.documents:
                kind, name, _ = _identity(document)
                if each.target is None:
                    self._objects.setdefault((kind, f"{each.prefix}{name}{each.suffix}"), []).append(document)
                    continue
                kind, name = text(each.target, "kind") or kind, text(each.target, "name") or name
                self._patches.append(_Patch(kind, name, document))
                if each.inline:
                    self.inline[document] = each.inline

    def of(self, built: Document) -> Document | None:
        """Return the manifest that an object was built from; None if unknown."""
        kind, name, namespace = _identity(built)
        found = self._objects.get((kind, name), [])
        if found[1:]:
            found = [each for each in found if _identity(each)[2] == namespace]
        return found[0] if len(found) == 1 else None

    def patched(self, built: Document, path: Path) -> tuple[Document, Path] | None:
        """Return the patch with a built value, and the path there; None if no file has it.

        Args:
            path: The path of the value.
        """
        value, (kind, name, _) = value_at(built.data, path), _identity(built)
        for patch in self._patches:
            for place in patch.places(path) if patch.applies_to(kind, name) else ():
                if value_at(patch.document.data, place) == value:
                    return patch.document, Path(place)
        return None


class _Input(NamedTuple):
    """A file that a kustomization names, or a patch.

    Args:
        prefix: The prefix that kustomizations put before the names of its objects.
        suffix: The suffix that they put behind them.
        target: The target of a patch; None for other files.
        inline: The kustomization that a patch is written in, and the path of its text there; None if it is a file.
    """

    documents: Iterable[Document]
    prefix: str = ""
    suffix: str = ""
    target: JSONObject | None = None
    inline: tuple[Document, Path] | None = None


def _inputs(file: str, prefix: str = "", suffix: str = "", around: frozenset[str] = frozenset()) -> Iterator[_Input]:
    """Yield what a kustomization names, with that of other kustomizations.

    Args:
        prefix: The prefix that the kustomizations around it put before names.
        suffix: The suffix that they put behind names.
        around: These kustomizations.
    """
    here, directory = os.path.realpath(file), os.path.dirname(file) or "."
    for kustomization in documents_in(file) if here not in around else ():
        stated = kustomization.data
        before, behind = prefix + text(stated, "namePrefix"), text(stated, "nameSuffix") + suffix
        for entry in named_in(kustomization):
            path = os.path.normpath(f"{directory}/{entry}")
            if os.path.isdir(path):
                yield _Input(())  # a directory counts as a file
                yield from _inputs(kustomization_of(path), before, behind, around | {here})
            else:
                yield _Input(documents_in(path), before, behind)
        for place, each in listed(stated, PATCH_FIELDS):
            is_map = isinstance(each, dict)
            path, inline = (each.get("path"), each.get("patch")) if is_map else (each, each)
            target = mapping(each, "target")
            if isinstance(inline, str) and (is_map or "\n" in inline):
                documents = (one for one in parse(inline, kustomization.source) if isinstance(one, Document))
                written = kustomization, Path((*place, *(["patch"] * is_map)))
                yield _Input(documents, target=target, inline=written)
            elif isinstance(path, str):
                yield _Input(documents_in(os.path.normpath(f"{directory}/{path}")), target=target)


def has_same(resource: Document, built: Document, path: Path) -> bool:
    """Tell whether a resource has the built value at a place: a patch or a transformer may have changed it."""
    missing = object()
    return bool(value_at(resource.data, path, missing) == value_at(built.data, path, missing))


def _identity(document: Document) -> tuple[str, str, str]:
    """Return an object's kind, name and namespace, converted to text."""
    kind, *metadata = (value_at(document.data, path, "") for path in (("kind",), *_NAMES))
    name, namespace = map(str, metadata)
    return str(kind), name, namespace


def _is_same_step(step: str, built: str | int) -> bool:
    """Compare a step of a pointer with one of a built path; items of lists may have moved."""
    return step == "-" or step.isdecimal() if isinstance(built, int) else step == built


def _places(value: Any, path: Sequence[str | int], here: Steps = ()) -> Iterator[Steps]:
    """Find the places of a value that a path leads to, at any index of lists."""
    if not path:
        yield here
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _places(each, path[1:], (*here, index))
    elif isinstance(value, dict) and path[0] in value:
        yield from _places(value[path[0]], path[1:], (*here, path[0]))
