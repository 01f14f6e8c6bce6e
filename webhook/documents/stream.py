"""Splits a text into documents, as kubectl does.

Follows apimachinery ``pkg/util/yaml/decoder.go`` (``YAMLOrJSONDecoder``, ``YAMLReader``) and cli-runtime
``pkg/resource/visitor.go``: a text that starts with ``{`` is read as a sequence of JSON values as far as possible;
otherwise lines that start with ``---`` separate YAML documents. One unreadable document does not hide the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any, Final

from webhook.documents.document import First, Origin, Piece, documents_of
from webhook.documents.source import MAX_BYTES, Content, ContentError, Source, Unreadable, decoded
from webhook.patterns import Pattern

Skips = Callable[[str], tuple[str, str, str] | None]
"""Returns the apiVersion, kind and name of a document, by its text, if no more of it is needed."""

SEPARATOR: Final = "---"
"""The first characters of a line that separates documents."""
_SPACE: Final = Pattern(r"\s*")
_REST_OF_LINE: Final = Pattern(r"[^\S\n]*\n?")
_MAX_VALUES_BEFORE_YAML: Final = 1
"""After this many JSON values, kubectl no longer tries to read the rest as YAML."""
_TOP: Final = Pattern(r"^[^\s#]", re.MULTILINE)
"""The beginning of a line that is not indented."""
_FIRST: Final = Pattern(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?=[A-Za-z])")
_OTHERWISE: Final = Pattern(
    r"^(?!\Z|[ \t\r\n#]|- |-\r?$|[A-Za-z]\w*:(?:[ \t\r]|$))|\r(?!\n)|[\x85\u2028\u2029]|\\[xuU\r\n]|!!", re.MULTILINE
)
"""What block style does without: keys in quotes, texts that go on at the margin, escapes of letters, binary texts.

It also finds line breaks other than a line feed: to libyaml, and so to Kubernetes, a key may follow each.
"""
_WORD: Final = Pattern(r"[ \t]+([A-Za-z][\w./-]*)[ \t\r]*(?:$|[ \t]#)", re.MULTILINE)
_IDENTIFYING: Final = ("apiVersion:", "kind:", "metadata:")
_NAME: Final = Pattern(r"^  name:[ \t]+([A-Za-z][\w.-]*)[ \t\r]*$", re.MULTILINE)


def too_large(source: str) -> Unreadable:
    """Report a file that exceeds the size limit."""
    limit = f"{MAX_BYTES // (1024 * 1024)} MiB"
    hint = f"the limit is {limit} for each file: split it at a line of ---"
    return Unreadable(source, 1, 1, f"larger than {limit}: nothing in it is judged", hint)


def parse(
    text: bytes | str, source: str = "<text>", *, rendered: bool = False, skips: Skips | None = None
) -> Iterator[Piece]:
    """Read every document of a text, YAML or JSON, as kubectl and the API server do.

    Documents that are empty or null are left out; a ``List`` stands for its items.

    Args:
        text: The manifest; bytes are UTF-8, or UTF-16 with a byte order mark.
        source: The name of the text in messages.
        rendered: Whether a program wrote the text, so that its lines are not those of a user's file.
        skips: Tells of which YAML documents only apiVersion, kind and name are needed; the rest of them is not parsed.

    Returns:
        The documents in the order of the text, and an error in the place of each unreadable one. They are read one by
        one, of the decoded text: the bytes are not kept.
    """
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(data) > MAX_BYTES:
        return iter((too_large(source),))
    try:
        return _documents(Source(source, decoded(data), rendered=rendered), skips)
    except UnicodeDecodeError as error:
        encoding, data = error.encoding, error.object
        offset = len(data[: error.start].decode(encoding))
        message = f"not {encoding.upper()} text: {error.reason}"
        readable = Source(source, data.decode(encoding, "replace"))
        is_packed = data[:2] in {b"\x1f\x8b", b"PK"}  # by gzip, as must-gather is, or zip
        hint = "unpack it first" if is_packed else "save the file as UTF-8"
        return iter((readable.unreadable(offset, message, hint),))


def _documents(source: Source, skips: Skips | None) -> Iterator[Piece]:
    """Read every document of a text: JSON values as far as possible, then YAML."""
    text, index, start, not_json = source.text, -1, 0, None
    if text.lstrip()[:1] == "{":
        from webhook.documents.jsontext import decoded as values  # most manifests are YAML

        skips = None
        try:
            for index, each in enumerate(values(text)):
                start = each.end
                origin = Origin(source, each.start, each.end, is_json=True)
                yield from _faults(each, origin) or documents_of(each.value, index, origin)
            start = len(text)
        except ContentError as error:
            if index < _MAX_VALUES_BEFORE_YAML:
                start, not_json = _after(_REST_OF_LINE, text, start), error
            else:
                yield source.unreadable(error.offset, error.message, error.hint)
                start = len(text)
    yield from _yaml_documents(source, count(index + 1), start, not_json, skips)


def _yaml_documents(
    source: Source, indexes: Iterator[int], start: int, not_json: ContentError | None, skips: Skips | None
) -> Iterator[Piece]:
    """Read YAML documents.

    Args:
        start: Where they begin.
        not_json: Why the first is not JSON; if it is not YAML either, this may be the better reason.
        skips: As for :func:`parse`.
    """
    for begin, chunk, misplaced in _chunks(source.text, start):
        value: Any = None
        if misplaced is None and skips and (about := skips(chunk)):
            value = {"apiVersion": about[0], "kind": about[1], "metadata": {"name": about[2]}}
        if value is not None or (misplaced is None and First.read and (value := First.read(chunk)) is not None):
            not_json = None
            origin = Origin(source, begin, begin + len(chunk), is_json=False, is_simple=True)
            yield from documents_of(value, next(indexes), origin)
            continue
        origin = Origin(source, begin, begin + len(chunk), is_json=False)
        content = Content(None, error=misplaced) if misplaced else _composed(begin, chunk, not_json)
        not_json = None
        if isinstance(content.value, str) and not content.repeated and _is_template(source, chunk):
            content = content._replace(error=ContentError("an object must be a JSON object", begin))
        if content.error is not None or content.value is not None:
            index, wrong = next(indexes), _faults(content, origin)
            whole = source.text[misplaced.offset + len(SEPARATOR) : begin] + chunk if misplaced else chunk
            yield from _unless_template(wrong, source, whole) if wrong else documents_of(content.value, index, origin)
        if content.ignored is not None:
            offset = _after(_SPACE, source.text, begin + content.ignored)
            message = "Kubernetes' reader ignores what follows the end of a document"
            yield source.unreadable(offset, message, "put --- between documents, and nothing else after one ends")


def _composed(begin: int, chunk: str, not_json: ContentError | None) -> Content:
    """Read a document by libyaml, or tell why it cannot be read."""
    from webhook.documents.compose import compose  # what is simple needs no libyaml

    try:
        return compose(chunk)
    except ContentError as reason:
        reason.offset += begin
        is_yaml = not_json is None or not_json.offset <= reason.offset
        return Content(None, error=reason if is_yaml else not_json)


def _faults(content: Content, origin: Origin) -> Iterable[Unreadable]:
    """Return what is wrong with a document; nothing if it can be used."""
    if error := content.error:
        return (origin.source.unreadable(error.offset, error.message, error.hint),)
    return origin.repeated() if content.repeated else ()


def _is_template(source: Source, chunk: str) -> bool:
    from webhook.documents.placeholders import is_unfilled  # most documents can be read

    return source.mentions("apiVersion") and is_unfilled(chunk)  # a part of a manifest may be a document of its own


def _unless_template(wrong: Iterable[Unreadable], source: Source, chunk: str) -> Iterable[Unreadable]:
    """Return what is wrong with a document; for a template, that it is to be filled in first."""
    if not _is_template(source, chunk):
        return wrong
    tool = "envsubst" if "${" in chunk and "{{" not in chunk else "helm template"
    hint = f"fill it in first, for example with {tool}"
    return (next(iter(wrong))._replace(is_template=True, is_repeated=False, hint=hint),)


def identity_of(chunk: str) -> tuple[str, str, str] | None:
    """Return the apiVersion, kind and name of a document as written in block style; None if that is not certain."""
    version, kind, start = places = [
        0 if chunk.startswith(key) else chunk.find(f"\n{key}") + 1 or -1 for key in _IDENTIFYING
    ]
    is_repeated = any(chunk.find(f"\n{key}", at) >= 0 for key, at in zip(_IDENTIFYING, places, strict=True))
    if min(places) < 0 or is_repeated or not _FIRST.match(chunk) or _OTHERWISE.search(chunk):
        return None
    behind = _TOP.search(chunk, start + 1)
    name = _NAME.search(chunk, start, behind.start() if behind else len(chunk))
    words = [name, *(_WORD.match(chunk, chunk.index(":", at) + 1) for at in (version, kind))]
    found = [word[1] for word in words if word]
    return (found[1], found[2], found[0]) if len(found) == len(words) else None


def _chunks(text: str, start: int) -> Iterator[tuple[int, str, ContentError | None]]:
    """Split at the lines that start with ``---``; where such a line is malformed, the document after it is lost."""
    begin, error, end = start, None, len(text)
    separator = start if text.startswith(SEPARATOR, start) else text.find("\n" + SEPARATOR, start) + 1 or end
    while True:
        chunk = text[begin:separator]
        if error is not None or (chunk and not chunk.isspace()):
            yield begin, chunk, error
        line_end = text.find("\n", separator)
        begin = end if line_end < 0 else line_end + 1
        trailing = text[separator + len(SEPARATOR) : begin].strip()
        error = None
        if trailing and not trailing.startswith("#"):
            hint = "begin the document on the next line; a line that starts with --- takes nothing but a comment"
            error = ContentError(f"invalid Yaml document separator: {trailing}", separator, hint)
        if separator == end:
            return
        separator = text.find("\n" + SEPARATOR, separator) + 1 or end


def _after(pattern: Pattern, text: str, start: int) -> int:
    match = pattern.match(text, start)
    return start if match is None else match.end()
