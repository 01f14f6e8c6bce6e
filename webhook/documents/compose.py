"""Composes one YAML document into a JSON value, as Kubernetes does.

Follows go-yaml v2 ``decode.go`` and sigs.k8s.io/yaml ``yaml.go``. It is driven by parser events rather than nodes and
computes positions only for errors, which makes it twice as fast as PyYAML's loader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

from webhook.documents.nodes import BLOCK_STYLES, Entry, Node
from webhook.documents.scalars import KEY_WORDS, MERGE_KEY, NUMBER_STARTS, WORDS, typed, typed_key
from webhook.documents.source import (
    MAX_ALIASED,
    MAX_DEPTH,
    MAX_EXCERPT,
    MAX_TAG_DIRECTIVES,
    MAX_VALUES,
    Content,
    ContentError,
    too_deep,
    too_many_values,
)
from webhook.documents.yamlhints import as_described, hint_of

_FORBIDDEN: Final = "[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""Characters that YAML allows nowhere, not even in quotes (go-yaml v2 ``readerc.go``)."""

_MARK: Final = "\ufeff"
_INNER_MARK: Final = re.compile(f"(?<=[\n\r\x85\u2028\u2029]){_MARK}")
_LIKE_A_MARK: Final = "\u2060"

_TAG_DIRECTIVE: Final = re.compile("(?:^|(?<=[\r\n\x85\u2028\u2029]))%TAG")
_MAY_BE_TAG: Final = re.compile(r"![^\s,\[\]!]*[,\[\]]")
_TAG: Final = re.compile(r"![\w\-;/?:@&=+$,.!~*'()\[\]%]*", re.ASCII)
_MOST_WRONG_TAGS: Final = 20
"""The most tags unreadable to libyaml that are handled in a text; each takes another parse."""
_SPELLED: Final = str.maketrans(",[]", ";;;")


def _with_whole_tags(text: str) -> str:
    """Return the text with tags that end where Kubernetes' reader ends them (go-yaml v2 ``scannerc.go``, tag URIs).

    In Kubernetes' reader commas and brackets belong to tags, so that ``[!!str, z]`` is one text; libyaml ends a tag
    before them. The name of such a tag has no effect, so its commas and brackets are replaced by a character that both
    readers accept.
    """
    for _ in range(_MOST_WRONG_TAGS):
        pieces, at = list[str](), 0
        for whole in _cut_tags(text):
            if whole.start() >= at:
                pieces += text[at : whole.start()], whole[0].translate(_SPELLED)
                at = whole.end()
        changed = "".join((*pieces, text[at:]))
        if changed == text:
            break
        text = changed
    return text


def _cut_tags(text: str) -> Iterator[re.Match[str]]:
    """List the tags that libyaml ends too early, up to the first that it cannot read."""
    try:
        parser = _parser(text)
        while (token := parser.get_token()) is not None:
            whole = _TAG.match(text, token.start_mark.index) if type(token) is yaml.TagToken else None
            if whole and whole.end() > token.end_mark.index:
                yield whole
    except yaml.MarkedYAMLError as error:
        mark = error.context_mark if error.context == "while scanning a tag" else None
        if mark and (whole := _TAG.match(text, mark.index)):
            yield whole
    except PARSER_ERRORS:  # the parser reports it
        return


class PythonParser(Reader, Scanner, Parser):
    """PyYAML's parser without its C library."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


PARSER_ERRORS = (yaml.YAMLError, ValueError, OverflowError)


def parser_of(text: str) -> Any:
    """Return a parser whose ``get_event`` returns the text's events and finally ``None``.

    Raises:
        ContentError: It has too many directives for libyaml.
    """
    if text.count("%TAG") > MAX_TAG_DIRECTIVES:
        directives = [each.start() for each in islice(_TAG_DIRECTIVE.finditer(text), MAX_TAG_DIRECTIVES + 1)]
        if len(directives) > MAX_TAG_DIRECTIVES:
            hint = f"the limit is {MAX_TAG_DIRECTIVES}; a manifest needs none"
            raise ContentError("too many %TAG directives", directives[-1], hint)
    if _MAY_BE_TAG.search(text):
        text = _with_whole_tags(text)
    if _MARK in text:
        # libyaml skips a byte order mark at the start of any line, Kubernetes' reader only at the start of a document.
        text = _INNER_MARK.sub(_LIKE_A_MARK, text)
    return _parser(text)


def _parser(text: str) -> Any:
    if yaml.__with_libyaml__:
        return yaml.cyaml.CParser(text)  # type: ignore[attr-defined]  # the stubs leave it out
    return PythonParser(text)


def content_error(error: Exception, text: str) -> ContentError:
    """Convert a YAML parser's error to the words and position of Kubernetes' reader."""
    if not isinstance(error, yaml.MarkedYAMLError):
        character = re.search(_FORBIDDEN, text)
        if character is None:
            return ContentError(f"not YAML: {error}", 0)
        hint = "the file is not text, or has stray bytes: YAML takes no control characters"
        return ContentError(f"control characters are not allowed: U+{ord(character[0]):04X}", character.start(), hint)
    mark = error.problem_mark or error.context_mark
    problem = error.problem or "unknown problem parsing YAML content"
    if problem == "could not find expected ':'" and error.context_mark is not None:
        mark = error.context_mark  # the start of the text, not its end
    context = f", {error.context}" if error.context else ""
    offset = 0 if mark is None else mark.index
    at = error.context_mark.index if error.context_mark else len(text)
    start = text.rfind("\n", 0, offset) + 1
    above = text[max(0, start - MAX_EXCERPT) : start].splitlines()
    before = next((each for each in reversed(above) if each.partition("#")[0].strip()), "")
    line, opened = _line(text, offset), _line(text, at)
    hint = as_described(text) or hint_of(problem, line, offset - start, text[at : at + 1], opened, before=before)
    return ContentError(problem + context, offset, hint)


def _line(text: str, offset: int) -> str:
    end = text.find("\n", offset)
    return text[text.rfind("\n", 0, offset) + 1 : len(text) if end < 0 else end][:MAX_EXCERPT]


_ESCAPED_SLASH: Final = re.compile(r"(?:(?=[^\\]|\\[^/])(?:[^\\]++|\\[^/]))*+\\/")
_ALIASES_FREE: Final = 100
_FEW_VALUES: Final = 400_000
_MANY_VALUES: Final = 4_000_000


class _Anchor(NamedTuple):
    """An anchored value: its first event, how many values it holds and how many levels."""

    event: Any
    value: Any
    size: int
    height: int


def compose(text: str) -> Content:
    """Read the first document of a text.

    Raises:
        ContentError: It is not YAML, has no JSON form, or exceeds a limit.
    """
    try:
        if "\\/" in text:
            _refuse_escaped_slash(text)
        next_event = parser_of(text).get_event
        return _Composer(next_event if len(text) <= MAX_VALUES else _counted(next_event)).document()
    except ContentError as wrong:
        error = wrong
    except PARSER_ERRORS as wrong:
        error = content_error(wrong, text)
        error = _earlier_error(text, error.offset) or error
    if "{{" in text:
        error.hint = "if this is a template, render it first, for example with helm template"
    raise error


def _earlier_error(text: str, end: int) -> ContentError | None:
    """Return what is wrong before the place where a parser failed, if that may be the depth of brackets.

    A parser looks ahead for the ``:`` of a key, and may fail at its own bound of depth before it yields what nests
    deeper than :data:`MAX_DEPTH`. It accepts the text before the bracket at which it failed.
    """
    if text.count("[", 0, end) + text.count("{", 0, end) < MAX_DEPTH:
        return None
    try:
        _Composer(parser_of(text[: max(text.rfind("[", 0, end + 1), text.rfind("{", 0, end + 1))]).get_event).document()
    except ContentError as error:
        return error
    except PARSER_ERRORS:  # depth is not the reason
        return None
    return None


def _counted(next_event: Callable[[], Any]) -> Callable[[], Any]:
    """Refuse a document with too many events; each takes at least one character."""
    left = MAX_VALUES

    def counted() -> Any:
        nonlocal left
        left -= 1
        event = next_event()
        if left < 0:
            raise too_many_values(event.start_mark.index)
        return event

    return counted


def value_of(event: Any) -> Any:
    """Return the JSON value of a scalar.

    Raises:
        ContentError: It has no JSON form, or its tag does not fit.
    """
    text = event.value
    if event.tag is None and (event.style or (text not in WORDS and text[:1] not in NUMBER_STARTS)):
        return text
    return _read(event, typed)


def key_of(event: Any) -> str | None:
    """Return a scalar as the string key of a map; ``None`` for the merge key ``<<``.

    Raises:
        ContentError: Kubernetes' reader does not accept it as a key.
    """
    text: str = event.value
    if event.tag is None and (event.style or (text not in KEY_WORDS and text[:1] not in NUMBER_STARTS)):
        return text
    key: str | None = _read(event, typed_key)
    return key


def _read(event: Any, read: Callable[[str | None, str], Any]) -> Any:
    """Read a scalar that may not be a string, such as a number."""
    try:
        return read(event.tag, event.value)
    except ContentError as error:
        error.offset = event.start_mark.index
        raise


class _Composer:
    """Builds the value of one document from its events."""

    __slots__ = ("_aliased", "_anchors", "_deepest", "_next", "_repeated", "_seen")

    def __init__(self, next_event: Callable[[], Any]) -> None:
        self._next = next_event
        self._anchors: dict[str, _Anchor | None] = {}  # None while the anchored value is being read
        self._repeated = False
        self._deepest = 0
        self._seen = 0
        self._aliased = 0

    def document(self) -> Content:
        self._next()
        if type(self._next()) is not DocumentStartEvent:
            return Content(None)
        event = self._next()
        value = self._node(event, 0)
        if self._aliased > _ALIASES_FREE and self._aliased > _allowed_aliases(self._seen):
            raise _excessive_aliasing(event)
        end = self._next().end_mark.index
        return Content(value, self._repeated, None if self._is_last() else end)

    def _is_last(self) -> bool:
        try:
            return type(self._next()) is StreamEndEvent
        except PARSER_ERRORS:
            return False

    def _node(self, event: Any, depth: int) -> Any:
        kind, name = type(event), event.anchor
        if kind is AliasEvent:
            return self._alias(event, depth)
        if name is not None:
            self._anchors[name] = None
            seen, deepest, self._deepest = self._seen, self._deepest, depth
        if kind is ScalarEvent:
            value = value_of(event)
        else:
            if depth >= self._deepest:
                self._descend(event, depth + 1)
            value = (self._mapping if kind is MappingStartEvent else self._sequence)(event, depth + 1)
        if name is not None:
            if self._anchors[name] is None:  # otherwise the name was reused inside, and the inner anchor wins
                self._anchors[name] = _Anchor(event, value, self._seen - seen + 1, self._deepest - depth)
            self._deepest = max(deepest, self._deepest)
        return value

    def _descend(self, event: Any, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise too_deep(event.start_mark.index)
        self._deepest = max(self._deepest, depth)

    def _mapping(self, start: Any, depth: int) -> dict[str, Any]:
        next_event, in_flow = self._next, start.flow_style
        into: dict[str, Any] = {}
        own: Any = into  # the keys that did not come from a merge, as a separate set after a merge
        while True:
            event = next_event()
            if type(event) is MappingEndEvent:
                break
            if in_flow:
                _refuse_question_mark(event, "}")
            key = key_of(event) if type(event) is ScalarEvent and event.anchor is None else self._rare_key(event)
            event = next_event()
            if key is None:
                own = set(into) if own is into else own
                self._merge(event, into, depth)
                continue
            if key in own:
                self._repeated = True
            elif own is not into:
                own.add(key)
            if in_flow:
                _refuse_question_mark(event, "}")
            into[key] = self._node(event, depth)
        self._seen += 2 * len(into)
        return into

    def _sequence(self, start: Any, depth: int) -> list[Any]:
        next_event, in_flow = self._next, start.flow_style
        into: list[Any] = []
        while True:
            event = next_event()
            if type(event) is SequenceEndEvent:
                break
            if in_flow:
                _refuse_question_mark(event, "]")
            into.append(self._node(event, depth))
        self._seen += len(into)
        return into

    def _rare_key(self, event: Any) -> str | None:
        """Read a key that is an alias or has an anchor; refuse other nodes."""
        if type(event) is AliasEvent:
            named = self._anchored(event).event
            if type(named) is ScalarEvent:
                return key_of(named) or MERGE_KEY
        elif type(event) is ScalarEvent:
            self._node(event, 0)
            return key_of(event)
        raise _error_at(event, "invalid map key", "a key is a single value; quote what starts with { or [")

    def _merge(self, event: Any, into: dict[str, Any], depth: int) -> None:
        """Merge the maps of ``<<`` into the map: they override earlier entries, and later entries override them."""
        value = self._node(event, depth)
        maps = value if type(event) is SequenceStartEvent else [value]
        for entries in reversed(maps if isinstance(maps, list) else [None]):
            if not isinstance(entries, dict):
                hint = "after <<: goes a map, an alias of a map, or a list of these"
                raise _error_at(event, "map merge requires map or sequence of maps as the value", hint)
            into.update(entries)

    def _alias(self, event: Any, depth: int) -> Any:
        anchor = self._anchored(event)
        self._seen += anchor.size
        self._aliased += anchor.size
        if self._aliased > MAX_ALIASED:
            raise _excessive_aliasing(event)
        self._descend(event, depth + anchor.height)
        return _copied(anchor.value)

    def _anchored(self, event: Any) -> _Anchor:
        name = event.anchor
        if name not in self._anchors:
            raise _error_at(event, f"unknown anchor '{name}' referenced", "quote a string that starts with *")
        anchor = self._anchors[name]
        if anchor is None:
            raise _error_at(event, f"anchor '{name}' value contains itself")
        return anchor


def read_nodes(text: str, offset: int = 0) -> tuple[Node, list[tuple[int, int]]]:
    """Locate everything in a readable YAML text.

    Args:
        offset: The start of the document, from which places are counted.

    Returns:
        The document's value, and the spans of scalars, where ``#`` begins no comment.
    """
    reader = _Nodes(text, offset)
    return reader.root(), reader.texts


class _Nodes:
    """Locates everything in a YAML text."""

    def __init__(self, text: str, offset: int) -> None:
        self.texts: list[tuple[int, int]] = []
        self._text, self._offset = text, offset
        self._next: Callable[[], Any] = parser_of(text).get_event
        self._anchors: dict[str | None, tuple[Any, Node]] = {}

    def root(self) -> Node:
        self._next()
        self._next()
        return self._node(self._next())

    def _node(self, event: Any) -> Node:
        start, end = event.start_mark.index + self._offset, event.end_mark.index + self._offset
        if type(event) is AliasEvent:
            return Node(start, end, is_anchored=True, alias=self._anchors[event.anchor][1])
        node = Node(start, end, is_anchored=event.anchor is not None, is_tagged=event.tag is not None)
        if node.is_anchored:
            self._anchors[event.anchor] = event, node
        if type(event) is ScalarEvent:
            self._scalar(node, event)
            return node
        is_map = type(event) is MappingStartEvent
        if event.flow_style:
            node.style = "{" if is_map else "["
        closing = self._map(node) if is_map else self._list(node)
        if node.style:
            node.end = closing.end_mark.index + self._offset
        elif node.entries:
            node.end = node.entries[-1].end
        elif node.items:
            node.end = node.items[-1].end
        return node

    def _scalar(self, node: Node, event: Any) -> None:
        node.style, node.value = event.style or "", event.value
        if node.style not in BLOCK_STYLES:
            self.texts.append((node.start, node.end))
            return
        start = node.start - self._offset
        node.end = node.start + len(self._text[start : node.end - self._offset].rstrip())
        header = self._text.find("\n", start, node.end - self._offset)
        self.texts.append((header + self._offset if header >= 0 else node.end, node.end))

    def _map(self, node: Node) -> Any:
        node.entries = []
        while type(event := self._next()) is not MappingEndEvent:
            key = self._node(event)
            name = key_of(self._anchors[event.anchor][0] if key.alias else event)
            node.entries.append(Entry(name or "", key, self._node(self._next()), name is None))
        return event

    def _list(self, node: Node) -> Any:
        node.items = []
        while type(event := self._next()) is not SequenceEndEvent:
            node.items.append(self._node(event))
        return event


def _copied(value: Any) -> Any:
    """Copy a JSON value, so that each repetition by an alias can be changed alone."""
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def _allowed_aliases(values: int) -> float:
    """Return how many of a document's values may come from aliases (``allowedAliasRatio``)."""
    share = (min(max(values, _FEW_VALUES), _MANY_VALUES) - _FEW_VALUES) / (_MANY_VALUES - _FEW_VALUES)
    return values * (0.99 - 0.89 * share)


def _excessive_aliasing(event: Any) -> ContentError:
    return _error_at(event, "document contains excessive aliasing", "write out what the aliases stand for")


def _refuse_question_mark(event: Any, closing: str) -> None:
    """Refuse ``[a?b]``, which go-yaml v2 (``yaml_parser_scan_plain_scalar``) does not read, but libyaml does."""
    if type(event) is ScalarEvent and not event.style and "?" in event.value:
        raise _error_at(event, f"did not find expected ',' or '{closing}'", "quote a string that holds ? in [] or {}")


def _refuse_escaped_slash(text: str) -> None:
    r"""Refuse ``"\/"``, which go-yaml v2 (``yaml_parser_scan_flow_scalar``) does not read, but libyaml does."""
    for event in iter(parser_of(text).get_event, None):
        quoted = getattr(event, "style", None) == '"'
        if quoted and _ESCAPED_SLASH.match(text, event.start_mark.index, event.end_mark.index):
            raise _error_at(event, "found unknown escape character", "write / without a backslash before it")


def _error_at(event: Any, message: str, hint: str = "") -> ContentError:
    return ContentError(message, event.start_mark.index, hint)
