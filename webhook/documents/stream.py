"""Splits a text into documents, as kubectl does.

Follows apimachinery ``pkg/util/yaml/decoder.go`` (``YAMLOrJSONDecoder``, ``YAMLReader``) and cli-runtime
``pkg/resource/visitor.go``: a text that starts with ``{`` is read as a sequence of JSON values as far as possible;
otherwise lines that start with ``---`` separate YAML documents. One unreadable document does not hide the others.
"""

from __future__ import annotations

import codecs
import re
from collections import deque
from functools import partial
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, Final

from webhook.documents.blocks import offset_of, read_blocks
from webhook.documents.content import Composed, ContentError
from webhook.documents.limits import MAX_BYTES
from webhook.documents.lists import expanded
from webhook.documents.source import Position, Source, Unreadable
from webhook.later import cached_property
from webhook.patterns import Pattern
from webhook.problem import Path, quoted, value_at

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from webhook.documents.comments import Comment
    from webhook.documents.longlists import LongList
    from webhook.documents.outline import Outline

    Read = Callable[[Source], Iterator["Document | Unreadable"]]
    """Reads a text, or a part of one."""

_SEPARATOR: Final = "---"
_SPACE: Final = Pattern(r"\s*")
_REST_OF_LINE: Final = Pattern(r"[^\S\n]*\n?")
SOURCE: Final = r"# Source: (\S+)[ \t]*"
"""The comment by which Helm names a document's template, as a regular expression."""
_TEMPLATE: Final = Pattern(rf"\s*^{SOURCE}$", re.MULTILINE)
_ORIGIN: Final = "config.kubernetes.io/origin"
_ORIGIN_PATH: Final = Pattern(r"^path: (\S+)$", re.MULTILINE)
_MAX_VALUES_BEFORE_YAML: Final = 1
"""After this many JSON values, kubectl no longer tries to read the rest as YAML."""
_FIRST_KEYS: Final = frozenset({Path(("apiVersion",)), Path(("kind",))})
"""The usual first fields of objects."""
_BOOLEANS: Final = (("true",), ("false",))
"""Keys that may be written differently."""
_FEW: Final = 8
"""How many positions of a document are found line by line; for more of them, all are computed once."""
_PART: Final = 4 << 20
"""About how many characters a part of a text has, where the whole is not kept."""
_NOTHING: Final = Composed(None)
_ENCODINGS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class Document:
    """One object of a manifest.

    Args:
        data: The object as a JSON value: a map if well-formed, but a file may hold any value.
        index: The index of the document in its source, from 0; the items of a list share it.
        origin: Its place in its source.
        within: Where the object is in the document, such as ``("items", 0)``; empty if it is the document.
    """

    __slots__ = ("data", "index", "origin", "source", "within")

    def __init__(self, data: Any, index: int, origin: Origin, within: tuple[str | int, ...]) -> None:
        self.data = data
        self.index = index
        self.origin = origin
        self.source = origin.source.name
        """The file's name as given, ``<stdin>`` for standard input."""
        self.within = within

    @property
    def rendered(self) -> bool:
        """Whether a program wrote the text, so that its lines are not those of a user's file."""
        return self.origin.source.rendered

    @property
    def template(self) -> str:
        """The file that it was rendered from, by a comment of Helm (``# Source: …``) or an annotation of kustomize.

        Empty if neither is there.
        """
        return self.origin.template() or _built_from(self.data)

    def position(self, path: Sequence[str | int] = ()) -> Position:
        """Return where a field is in the file.

        Args:
            path: The field as seen from :attr:`data`, such as ``("spec", "devices", "requests", 0)``.

        Returns:
            The start of the field's key or the list's item; of the nearest existing parent if it is missing.
        """
        return self.origin.position((*self.within, *path))

    @property
    def extent(self) -> tuple[int, int]:
        """Where the document begins and ends in its file, in characters."""
        return self.origin.start, self.origin.end

    @property
    def is_json(self) -> bool:
        """Whether the document is read as JSON, not as YAML."""
        return self.origin.is_json

    @property
    def has_plain_keys(self) -> bool:
        """Whether each key is known to be read as it is written: YAML reads some as booleans, such as ``n``."""
        return self.origin.is_simple or self.origin.is_json

    @property
    def shares_texts(self) -> bool:
        """Whether parts of the document may be written elsewhere, behind anchors and aliases."""
        text, (start, end) = self.origin.source.text, self.extent
        return text.find("&", start, end) >= 0 and text.find("*", start, end) >= 0

    def misread_key(self, path: Sequence[str | int]) -> str:
        """Explain a field's key that YAML reads as a boolean, such as ``n``; empty for all others."""
        if self.has_plain_keys or path[-1:] not in _BOOLEANS:
            return ""
        place = self.position(path)
        return _boolean_keys(self.line(place.line), place.column - 1)

    def mentions(self, word: str) -> bool:
        """Tell whether the file contains a word."""
        return self.origin.source.mentions(word)

    @property
    def whole_text(self) -> str:
        """The text of the whole file."""
        return self.origin.source.text

    def comments(self, mark: str) -> Iterator[Comment]:
        """Return the comments of the document that begin with a mark; JSON has none."""
        return self.origin.comments(mark)

    def line(self, number: int) -> str:
        """Return the text of a line of the file, counted from 1; empty if the line does not exist."""
        return self.origin.source.line(number)

    def excerpt(self, number: int) -> str:
        """Return the text of a line of the file for display; empty if it is too long for that."""
        return self.origin.source.excerpt(number)


def _built_from(data: Any) -> str:
    """Read the annotation that kustomize writes if ``buildMetadata`` has ``originAnnotations``."""
    origin = value_at(data, ("metadata", "annotations", _ORIGIN))
    path = _ORIGIN_PATH.search(origin) if isinstance(origin, str) else None
    return path[1] if path else ""


class Origin:
    """The text of one document within its source."""

    def __init__(self, source: Source, start: int, end: int, *, is_json: bool, is_simple: bool = False) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.is_json = is_json
        self.is_simple = is_simple
        """Whether :func:`~webhook.documents.blocks.read_blocks` has read it."""
        self._asked = 0

    @cached_property
    def _outline(self) -> Outline:
        from webhook.documents import outline  # needed only to ask where something is

        find = outline.json_outline if self.is_json else outline.yaml_outline
        return find(self.source.text[self.start : self.end])

    def position(self, path: Sequence[str | int]) -> Position:
        """Return where a field is in the file."""
        self._asked += 1
        is_quick = self.is_simple and self._asked <= _FEW
        simple = offset_of(self.source.text[self.start : self.end], path) if is_quick else None
        return self.source.position(self.start + (self._outline.locate(path) if simple is None else simple))

    def template(self) -> str:
        """Return the file named by a comment of Helm."""
        found = _TEMPLATE.match(self.source.text, self.start, self.end)
        return found[1] if found else ""

    def comments(self, mark: str) -> Iterator[Comment]:
        """Return the comments that begin with a mark."""
        if self.is_json:
            return iter(())
        from webhook.documents.comments import comments  # few files have such comments

        return comments(self.source, self.start, self.end, mark)

    def repeated(self) -> Iterator[Unreadable]:
        """Report every repeated key (sigs.k8s.io/json for JSON, go-yaml v2 for YAML)."""
        for number, again in enumerate(self._outline.repeated):
            first = self.source.position(self.start + again.first).line
            offset = self.start + again.again
            if self.is_json:
                what = f"duplicate field {quoted(str(again.path))}"
            else:
                what = f"key {quoted(str(again.path[-1]))} already set in map"
            line = self.source.position(offset).line
            lines = f"twice on line {line}" if line == first else f"on line {first} and again on line {line}"
            hint = "" if self.is_json else _boolean_keys(self.source.text, self.start + again.first, offset)
            unreadable = self.source.unreadable(offset, f"{what}: {lines}", hint or "keep one of the two")
            if not number and not self.is_json and again.path in _FIRST_KEYS:
                from webhook.problem import Fix  # few documents have a key twice

                hint = "keep one of the two; or is a line --- missing above, which begins another document?"
                unreadable = unreadable._replace(hint=hint, fix=Fix("separate", safe=False))
            yield unreadable


class _ItemOrigin(Origin):
    """The text of one item of a list."""

    def position(self, path: Sequence[str | int]) -> Position:
        """Return where a field of the list is, which is in this item."""
        return super().position(path[2:] if self.is_json else (0, *path[2:]))


def _boolean_keys(text: str, *offsets: int) -> str:
    from webhook.documents.yamlhints import boolean_keys  # needed only for mistakes

    return boolean_keys(text, *offsets)


def too_large(source: str) -> Unreadable:
    """Report a file that exceeds the size limit."""
    limit = f"{MAX_BYTES // (1024 * 1024)} MiB"
    hint = f"the limit is {limit} for each file: split it at a line of ---"
    return Unreadable(source, 1, 1, f"larger than {limit}: nothing in it is judged", hint)


def encoding_of(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark of a file, empty if it has none, and its encoding."""
    return next(((bom, name) for bom, name in _ENCODINGS if data.startswith(bom)), (b"", "utf-8"))


def parse(
    text: bytes | str, source: str = "<text>", *, rendered: bool = False, whole: bool = True
) -> Iterator[Document | Unreadable]:
    """Read every document of a text, YAML or JSON, as kubectl and the API server do.

    Documents that are empty or null are left out; a ``List`` stands for its items.

    Args:
        text: The manifest; bytes are UTF-8, or UTF-16 with a byte order mark.
        source: What to call the text.
        rendered: Whether a program wrote the text, so that its lines are not those of a user's file.
        whole: Whether documents keep the whole text; otherwise only a part around them, which takes less memory.

    Returns:
        The documents in the order of the text, and an error in the place of each unreadable one. They are read one by
        one, of the decoded text: the bytes are not kept.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(data) > MAX_BYTES:
        return iter((too_large(source),))
    try:
        content = decoded(data)
        if whole:
            return _documents(Source(source, content, rendered=rendered))
        return _in_parts(source, content, rendered=rendered)
    except UnicodeDecodeError as error:
        encoding, data = error.encoding, error.object
        offset = len(data[: error.start].decode(encoding))
        message = f"not {encoding.upper()} text: {error.reason}"
        readable = Source(source, data.decode(encoding, "replace"))
        return iter((readable.unreadable(offset, message, "save the file as UTF-8"),))


def decoded(data: bytes) -> str:
    """Decode a file's text.

    Raises:
        UnicodeDecodeError: It is not text; the error holds the bytes after the byte order mark.
    """
    bom, encoding = encoding_of(data)
    return data[len(bom) :].decode(encoding)


def is_row(text: str) -> bool:
    """Tell whether a text may be a sequence of JSON values, which must be read from its start."""
    return text.lstrip()[:1] == "{"


def _documents(source: Source) -> Iterator[Document | Unreadable]:
    indexes = count()
    if is_row(source.text):
        start, error = yield from _json_documents(source, indexes)
        yield from _yaml_documents(source, indexes, start, error)
    else:
        yield from _yaml_documents(source, indexes)


def _in_parts(name: str, text: str, *, rendered: bool) -> Iterator[Document | Unreadable]:
    """Read documents part by part, and forget each part before the next; a list in parts of its items."""
    of = len(text) // _PART + 1
    listed = long_list(text) if of > 1 else None
    cuts: list[tuple[int, int, Read]]
    if listed:
        cuts = [
            (begin, end, partial(_items, listed=listed, first=first, last=last, begin=begin))
            for first, last, begin, end in listed.parts(text, _PART)
        ]
    elif is_row(text):
        cuts = [(0, len(text), _documents)]
    else:
        read: Read = partial(_yaml_documents, indexes=count())
        cuts = [(*cut, read) for cut in pairwise(_cut(text, number, of) for number in range(of + 1))]
    parts = deque((text[start:end], read) for start, end, read in cuts)
    del text
    before = 0
    while parts:
        part, read = parts.popleft()
        source = Source(name, part, rendered=rendered, before=before)
        before += part.count("\n")
        yield from read(source)


def long_list(text: str) -> LongList | None:
    """Find the items of a text that is a single list; None if it must be read as a whole."""
    from webhook.documents.longlists import json_list, yaml_list  # most texts are short

    if is_row(text):
        return json_list(text)
    has_others = text.startswith(_SEPARATOR) or f"\n{_SEPARATOR}" in text or _TEMPLATE.match(text)
    return None if has_others else yaml_list(text)


def _items(source: Source, listed: LongList, first: int, last: int, begin: int) -> Iterator[Document | Unreadable]:
    """Read some items of a list.

    Args:
        source: A part of its text.
        listed: The list.
        first: The first item.
        last: The one behind the last.
        begin: Where the part begins.
    """
    read = listed.reader(source.text)
    for number in range(first, last):
        start, end = (each - begin for each in listed.starts[number : number + 2])
        value, is_simple = read(start, end)
        origin = _ItemOrigin(source, start, end, is_json=listed.is_json, is_simple=is_simple)
        for item, within in expanded({**listed.head, "items": [value]}):
            yield Document(item, 0, origin, ("items", number, *within[2:]))


def parse_part(source: Source, number: int, of: int, indexes: Iterator[int]) -> Iterator[Document | Unreadable]:
    """Read a part of a text, which begins and ends at document boundaries.

    Args:
        source: The text, which is not a sequence of JSON values.
        number: The number of the part, from 0.
        of: How many parts the text has.
        indexes: Numbers the documents of the part.

    Yields:
        As :func:`parse` does.
    """
    start, end = (_cut(source.text, each, of) for each in (number, number + 1))
    yield from _yaml_documents(source, indexes, start, end=end)


def _cut(text: str, number: int, of: int) -> int:
    """Return where a part of a text begins; all parts have about the same length."""
    at = text.find("\n" + _SEPARATOR, len(text) * number // of) if number else -1
    return at + 1 if at >= 0 else len(text) if number else 0


def _json_documents(
    source: Source, indexes: Iterator[int]
) -> Generator[Document | Unreadable, None, tuple[int, ContentError | None]]:
    """Read JSON values, and return where YAML may begin and why the rest is not JSON."""
    from webhook.documents.jsontext import Decoder  # most manifests are YAML

    text = source.text
    decoder = Decoder(text)
    end, read = 0, 0
    while (start := _after(_SPACE, text, end)) < len(text):
        try:
            decoded = decoder.decode(start)
        except ContentError as error:
            if read <= _MAX_VALUES_BEFORE_YAML:
                return _after(_REST_OF_LINE, text, end), error
            yield source.unreadable(error.offset, error.message, error.hint)
            break
        end, read, index = decoded.end, read + 1, next(indexes)
        origin = Origin(source, start, end, is_json=True)
        if decoded.error is not None:
            yield source.unreadable(decoded.error.offset, decoded.error.message, decoded.error.hint)
        elif decoded.repeated:
            yield from origin.repeated()
        elif decoded.value is not None:
            for item, within in expanded(decoded.value):
                yield Document(item, index, origin, within)
    return len(text), None


def _yaml_documents(
    source: Source, indexes: Iterator[int], start: int = 0, not_json: ContentError | None = None, end: int | None = None
) -> Iterator[Document | Unreadable]:
    """Read YAML documents; if the first is not YAML either, ``not_json`` may be the better reason."""
    for begin, chunk, misplaced in _chunks(source.text, start, len(source.text) if end is None else end):
        if misplaced is None and (value := read_blocks(chunk)) is not None:
            not_json = None
            index, origin = next(indexes), Origin(source, begin, begin + len(chunk), is_json=False, is_simple=True)
            for item, within in expanded(value):
                yield Document(item, index, origin, within)
            continue
        composed, error = (_NOTHING, misplaced) if misplaced else _composed(begin, chunk, not_json)
        not_json = None
        if error is not None:
            next(indexes)
            yield source.unreadable(error.offset, error.message, error.hint)
        elif composed.value is not None:
            index, origin = next(indexes), Origin(source, begin, begin + len(chunk), is_json=False)
            if composed.repeated:
                yield from origin.repeated()
            else:
                for item, within in expanded(composed.value):
                    yield Document(item, index, origin, within)
        if composed.ignored is not None:
            offset = _after(_SPACE, source.text, begin + composed.ignored)
            message = "Kubernetes' reader ignores what follows the end of a document"
            yield source.unreadable(offset, message, "put --- between documents, and nothing else after one ends")


def _composed(begin: int, chunk: str, not_json: ContentError | None) -> tuple[Composed, ContentError | None]:
    """Read a document by libyaml, or tell why it cannot be read."""
    from webhook.documents.compose import compose  # what is simple needs no libyaml

    try:
        return compose(chunk), None
    except ContentError as reason:
        reason.offset += begin
        return _NOTHING, reason if not_json is None or not_json.offset <= reason.offset else not_json


def _chunks(text: str, start: int, end: int) -> Iterator[tuple[int, str, ContentError | None]]:
    """Split at the lines that start with ``---``; where such a line is malformed, the document after it is lost."""
    begin, error = start, None
    for separator in _separators(text, start, end):
        chunk = text[begin:separator]
        if error is not None or (chunk and not chunk.isspace()):
            yield begin, chunk, error
        line_end = text.find("\n", separator)
        begin = end if line_end < 0 else line_end + 1
        trailing = text[separator + len(_SEPARATOR) : begin].strip()
        error = None
        if trailing and not trailing.startswith("#"):
            hint = "begin the document on the next line; a line that starts with --- takes nothing but a comment"
            error = ContentError(f"invalid Yaml document separator: {trailing}", separator, hint)


def _separators(text: str, start: int, end: int) -> Iterator[int]:
    if text.startswith(_SEPARATOR, start, end):
        yield start
    at = text.find("\n" + _SEPARATOR, start, end)
    while at >= 0:
        yield at + 1
        at = text.find("\n" + _SEPARATOR, at + 1, end)
    yield end


def _after(pattern: Pattern, text: str, start: int) -> int:
    match = pattern.match(text, start)
    return start if match is None else match.end()
