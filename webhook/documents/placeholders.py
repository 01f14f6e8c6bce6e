"""Placeholders: parts of a manifest that Helm, sed, envsubst, Python and others fill in before it is applied."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final
from zlib import crc32

from webhook import objects
from webhook.documents.document import Document, Origin
from webhook.documents.source import ContentError
from webhook.later import cached_property
from webhook.patterns import Pattern
from webhook.problem import NOT_DECODED, NOTE, Path, Problem, Steps, value_at
from webhook.spelling import some_of

_PLACEHOLDER: Final = (
    r"(?:\{\{[^\n]{0,200}?\}\}"  # Helm, Go, Jinja
    r"|\$\{[^{}\n]{0,200}\}|\$\([A-Za-z_]\w{0,99}\)"  # envsubst; kustomize
    r"|\$(?!(?:patch|retainKeys|deleteFromPrimitiveList|setElementOrder)\b)[A-Za-z_]\w{0,99}"  # shells; not of patches
    r"|\{[A-Za-z_][\w.]{0,99}\}|%\([A-Za-z_]\w{0,99}\)[sd]"  # Python
    r"|%[A-Za-z_]\w{0,99}%|@[A-Za-z_]\w{0,99}@|__[A-Za-z]\w{0,99}?__"  # sed, CMake
    r"|<%[^\n]{0,200}?%>|<[A-Za-z][\w .:/-]{0,99}>"  # ERB; <your-name>
    r"|\(@[^\n]{0,200}?@\)|(?<![^\s])\#@[ \t]{0,9}[A-Za-z(\[][^\n]*)"  # ytt
)
PLACEHOLDER: Final = Pattern(_PLACEHOLDER)
"""A placeholder in a text."""
_ALONE: Final = Pattern(rf"^[ \t]*+(?:- ++)?{_PLACEHOLDER}[ \t\r]*+$", re.MULTILINE)
"""A line that is a placeholder, such as one for further fields."""
_DIRECTIVE: Final = Pattern(r"^[ \t]*+(?:- ++)?(?:\{\{|\{[%#]|<%(?!=)|\#@)", re.MULTILINE)
"""A line that says what to do with others, such as ``{{- if … }}``."""
_HEADER: Final = Pattern(r"( *+(?>(?:- ++)*))(?!#)(?:[^\n]*[ \t])?[|>][-+1-9]{0,2}[ \t]*+(?:#[^\n]*)?\Z")
"""A line that a block scalar follows."""
_TEXTS: Final = frozenset({"annotations", "args", "binaryData", "command", "data", "env", "stringData"})
"""Fields whose texts may have what looks like placeholders, such as variables of a shell."""
_RBAC: Final = "rbac.authorization.k8s.io/"
_INSTEAD: Final[tuple[Any, ...]] = (None, 1, True, {}, [], None)
"""The values that replace a placeholder, one after the other: None for a text."""
_ROUNDS: Final = 8
"""How often an object is judged at most, with other values in the place of placeholders."""
_TRIED: Final = 64
"""How many values are tried at most in the place of all placeholders of an object."""
_SHOWN: Final = 3


def is_unfilled(text: str) -> bool:
    """Tell whether an unreadable document becomes readable only once its placeholders are filled in."""
    lines = "\n".join(_outside_blocks(text.split("\n")))
    if _DIRECTIVE.search(lines):
        return True
    if not PLACEHOLDER.search(lines):
        return False
    from webhook.documents.compose import compose  # most documents can be read

    try:
        return not compose(PLACEHOLDER.sub("x", _ALONE.sub("", text))).repeated
    except ContentError:
        return False


def _outside_blocks(lines: Sequence[str]) -> Iterator[str]:
    """Return the lines that are not the text of a block scalar."""
    holder = -1  # the column of what holds the text
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if holder >= 0 and (indent > holder or not line.strip()):
            continue
        header = _HEADER.match(line.rstrip("\r"))
        holder = -1
        if header:
            dashes = header[1]
            holder = max(dashes.rfind("-"), 0) if line[len(dashes)] in "|>" else len(dashes)
        yield line


def has_placeholder(obj: Any, path: Sequence[str | int]) -> bool:
    """Tell whether the text at a path has a placeholder."""
    value = value_at(obj, path)
    return isinstance(value, str) and PLACEHOLDER.search(value) is not None


def blanks_of(document: Document) -> Blanks | None:
    """Return the placeholders of a document; None if it has none."""
    places = dict(_places(document)) if _has_some(document.origin) else {}
    return Blanks(document.data, places) if places else None


@lru_cache(maxsize=1)
def _has_some(origin: Origin) -> bool:
    """Tell whether a document has placeholders; the items of a list, which come in a row, share it."""
    return PLACEHOLDER.search(origin.source.text, origin.start, origin.end) is not None


def _places(document: Document) -> Iterator[tuple[Path, str]]:
    """Yield the paths of values with placeholders, in their order, and their texts."""
    pending: list[tuple[Path, Any]] = [(Path(), document.data)]
    is_of_ytt = document.file.mentions("#@")
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            if len(value) == 1 and None in value.values():  # Python's {name} is a map in YAML
                found = _on_line(document, path)
                if found == f"{{{next(iter(value))}}}":
                    yield path, found
                    continue
            yield from ((path / key, key) for key in value if PLACEHOLDER.search(key))
            pending += ((path / key, each) for key, each in reversed(value.items()) if key not in _TEXTS)
        elif isinstance(value, list):
            pending += ((path / index, each) for index, each in reversed([*enumerate(value)]))
        elif isinstance(value, str):
            if PLACEHOLDER.search(value):
                yield path, value
        elif value is None and is_of_ytt and (found := _on_line(document, path)):  # a comment in YAML
            yield path, found


def _on_line(document: Document, path: Path) -> str:
    """Return the first placeholder on the line of a field; empty if there is none."""
    found = PLACEHOLDER.search(document.file.line(document.position(path).line))
    return found[0] if found else ""


class Blanks:
    """The values of an object that are filled in later.

    Args:
        texts: The values, by their paths; the text that stands there.
    """

    def __init__(self, data: Any, texts: Mapping[Path, str]) -> None:
        self._data, self._texts = data, texts

    def has(self, path: Sequence[str | int]) -> bool:
        """Tell whether a field, its name, or what it is in is filled in later."""
        if any(isinstance(step, str) and PLACEHOLDER.search(step) for step in path):
            return True
        return any(path[:end] in self._texts for end in range(len(path) + 1))

    @property
    def first(self) -> Path:
        """The place of the first of them."""
        return next(iter(self._texts))

    @property
    def are_in_names(self) -> bool:
        """Whether some are in names or labels, which cannot hold them; only names of RBAC's objects can."""
        fields = {each[1] for each in self._texts if each[:1] == ("metadata",) and len(each) > 1}
        if not objects.text(self._data, "apiVersion").startswith(_RBAC) and fields & {"name", "generateName"}:
            return True
        return bool(fields & {"namespace", "labels"})

    def note(self, rule: str, more: str = "") -> Problem:
        """Report them.

        Args:
            more: Further sentences.
        """
        texts = [found[0] for each in self._texts.values() for found in PLACEHOLDER.finditer(each)]
        count = len(self._texts)
        named = ", ".join(some_of([*dict.fromkeys(texts)], _SHOWN, "…"))
        values = "1 value is" if count == 1 else f"{count} values are"
        message = f"a template: {values} filled in later ({named}){more}"
        return Problem(NOTE, rule, "Template", self.first, message, "fill it in, then validate the result, too")

    def fill(self, judge: Callable[[Any], list[Problem]]) -> tuple[Any, list[Problem], bool]:
        """Judge the object with values in the place of placeholders, if there are any that are accepted.

        Args:
            judge: Returns the problems of an object.

        Returns:
            The object with these values, its problems that hold whatever is filled in, and whether the API server
            accepts values in the place of all placeholders.
        """
        turns, decoded = dict.fromkeys(self._texts, 0), dict[Path, int]()
        for _ in range(_ROUNDS):
            instead = {path: _INSTEAD[turn] for path, turn in turns.items()}
            obj = self._with(instead)
            problems = judge(obj)
            reasons = defaultdict[Steps, set[str]](set)
            for each in problems:
                for end in range(len(each.path) + 1):
                    reasons[each.path[:end]].add(each.reason)
            for path in turns:
                if reasons[path].isdisjoint(NOT_DECODED):
                    decoded.setdefault(path, turns[path])
            wrong = [path for path in turns if reasons[path]]
            if not (further := {path: turns[path] + 1 for path in wrong if turns[path] + 1 < len(_INSTEAD)}):
                # What cannot be decoded hides errors of the rest.
                if any(not reasons[path].isdisjoint(NOT_DECODED) and path in decoded for path in wrong):
                    instead |= {path: _INSTEAD[decoded[path]] for path in wrong if path in decoded}
                    obj = self._with(instead)
                    problems = judge(obj)
                break
            turns |= further
        left = [each for each in problems if not self.has(each.path)]
        held = [self.restored(each) for each in self._hold(left, obj, instead, judge)]
        return obj, held, len(left) == len(problems)

    def _with(self, instead: Mapping[Path, Any]) -> Any:
        """Return the object with other values; None stands for a text in the place of each placeholder."""
        from copy import deepcopy  # slow to import

        obj = deepcopy(self._data)
        for path, value in sorted(instead.items(), key=lambda each: -len(each[0])):  # a key last
            around, step, text = value_at(obj, path[:-1]), path[-1], PLACEHOLDER.sub(_stand_in, self._texts[path])
            if self._texts[path] == step:
                around[text] = around.pop(step)
            else:
                around[step] = text if value is None else deepcopy(value)
        return obj

    def _hold(
        self, problems: Iterable[Problem], obj: Any, instead: Mapping[Path, Any], judge: Callable[[Any], list[Problem]]
    ) -> Iterator[Problem]:
        """Yield the problems that stay if filled-in texts become the value that each is about, or a name beside it."""
        texts = {path: text for path, text in self._texts.items() if instead[path] is None}
        whole = {path: PLACEHOLDER.sub(_stand_in, text) for path, text in texts.items() if PLACEHOLDER.fullmatch(text)}
        # All are filled in with one value: which of their own texts it is makes no difference.
        own = dict.fromkeys(whole.values(), min(whole.values(), default=""))
        names = list(dict.fromkeys(own.get(each, each) for each in _texts_in(obj, "name")))
        found: dict[str, set[tuple[str, Path]]] = {}
        for problem in problems:
            values = (own.get(each, each) for each in _texts_in(value_at(obj, problem.path), ""))
            for value in islice(dict.fromkeys((*values, *names)), _TRIED if whole else 0):
                if value not in found:
                    if len(found) == _TRIED:
                        continue
                    others = judge(self._with({**instead, **dict.fromkeys(whole, value)}))
                    found[value] = {(each.rule, each.path) for each in others}
                if (problem.rule, problem.path) not in found[value]:
                    break
            else:
                yield problem

    def restored(self, problem: Problem) -> Problem:
        """Show the placeholders again."""
        message, hint = (
            _STAND_IN.sub(lambda found: self._written.get(found[0], found[0]), text)
            for text in (problem.message, problem.hint)
        )
        return problem._replace(message=message, hint=hint)

    @cached_property
    def _written(self) -> Mapping[str, str]:
        """The placeholders, by what stands in their place."""
        found = (each for text in self._texts.values() for each in PLACEHOLDER.finditer(text))
        return {_stand_in(each): each[0] for each in found}


def _texts_in(value: Any, key: str) -> Iterator[str]:
    """Yield a text, or the texts below a value; only those of a key unless it is empty."""
    if isinstance(value, str):
        yield value
    for name, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if not isinstance(each, str) or key in {"", name}:
            yield from _texts_in(each, key)


_STAND_IN: Final = Pattern("x[0-9a-f]{8}")


def _stand_in(placeholder: re.Match[str]) -> str:
    """Return a name in the place of a placeholder, the same for the same one."""
    return f"x{crc32(placeholder[0].encode()):08x}"
