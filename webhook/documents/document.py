"""The objects of a file, and where their fields are in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from webhook.documents.source import Position, Source, Unreadable
from webhook.later import cached_property
from webhook.patterns import Pattern
from webhook.problem import Fix, Path, Steps, quoted, value_at

if TYPE_CHECKING:
    from webhook.documents.comments import Comment
    from webhook.documents.nodes import Node


Item = tuple[Any, Steps]


def expanded(data: Any, within: Steps = ()) -> Iterator[Item]:
    """Split lists into items; an item without a type has the list's (``decodeToList`` in unstructured_list.go).

    Args:
        data: Any JSON value; one that is not a list of objects is its only item.
        within: The path of the value.

    Yields:
        Each item, and its path.
    """
    kind = data.get("kind") if isinstance(data, dict) else None
    if not (isinstance(kind, str) and kind.endswith("List") and isinstance(data.get("items", ""), list | None)):
        yield data, within
        return
    typed = {"apiVersion": data.get("apiVersion"), "kind": kind.removesuffix("List")}
    for index, item in enumerate(data["items"] or ()):
        untyped = typed["kind"] and isinstance(item, dict) and not item.get("kind") and not item.get("apiVersion")
        yield from expanded({**item, **typed} if untyped else item, (*within, "items", index))


SOURCE: Final = r"# Source: (\S+)[ \t]*"
"""The comment by which Helm names a document's template, as a regular expression."""
TEMPLATE: Final = Pattern(rf"\s*^{SOURCE}$", re.MULTILINE)
"""The beginning of a document with that comment."""
_ORIGIN: Final = ("metadata", "annotations", "config.kubernetes.io/origin")
"""The annotation that kustomize writes if ``buildMetadata`` has ``originAnnotations``."""
_ORIGIN_PATH: Final = Pattern(r"^path: (\S+)$", re.MULTILINE)
_FEW: Final = 8
"""How many positions of a document are found line by line; for more of them, all are computed once."""


class Document:
    """One object of a manifest.

    Args:
        data: The object as a JSON value: a map if well-formed, but a file may hold any value.
        index: The index of the document in its source, from 0; the items of a list share it.
        origin: Its place in its source.
        within: Where the object is in the document, such as ``("items", 0)``; empty if it is the document.
    """

    __slots__ = ("data", "file", "index", "origin", "source", "within")

    def __init__(self, data: Any, index: int, origin: Origin, within: Steps) -> None:
        self.data = data
        self.index = index
        self.origin = origin
        self.file = origin.source
        """The text that it is in."""
        self.source = origin.source.name
        """The file's name as given, ``<stdin>`` for standard input."""
        self.within = within

    @property
    def template(self) -> str:
        """The file that it was rendered from, by a comment of Helm (``# Source: …``) or an annotation of kustomize.

        Empty if neither is there.
        """
        if by_helm := TEMPLATE.match(self.file.text, *self.extent):
            return str(by_helm[1])
        built = value_at(self.data, _ORIGIN)
        path = _ORIGIN_PATH.search(built) if isinstance(built, str) else None
        return path[1] if path else ""

    def position(self, path: Sequence[str | int] = ()) -> Position:
        """Return where a field is in the file.

        Args:
            path: The field as seen from :attr:`data`, such as ``("spec", "devices", "requests", 0)``.

        Returns:
            The start of the field's key or the list's item; of the nearest existing parent if it is missing.
        """
        return self.origin.position((*self.within, *path))

    def written(self, path: Sequence[str | int]) -> Node | None:
        """Return a field's value as it is written in the file; None if it is missing."""
        return self.origin.root.locate((*self.within, *path))[1]

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
        text, (start, end) = self.file.text, self.extent
        return text.find("&", start, end) >= 0 and text.find("*", start, end) >= 0

    def misread_key(self, path: Sequence[str | int]) -> str:
        """Explain a field's key that YAML reads as a boolean, such as ``n``; empty for all others."""
        if self.has_plain_keys or path[-1:] not in (("true",), ("false",)):
            return ""
        from webhook.documents.yamlhints import boolean_keys  # needed only for mistakes

        place = self.position(path)
        return boolean_keys(self.file.line(place.line), place.column - 1)

    def comments(self, mark: str) -> Iterator[Comment]:
        """Return the comments of the document that begin with a mark; JSON has none."""
        if self.is_json:
            return iter(())
        from webhook.documents.comments import comments  # few files have such comments

        return comments(self.file, *self.extent, mark)


Piece = Document | Unreadable
"""A document, or the error in the place of one that cannot be read."""


class First:
    """The hook that reads simple documents first: the same values and places, or None if it does not know."""

    read: Callable[[str], dict[str, Any] | None] | None = None
    offset_of: Callable[[str, Sequence[str | int]], int | None] | None = None
    """Returns where a field's key or a list's item begins in a document that it has read."""


class Origin:
    """The text of one document within its source."""

    def __init__(self, source: Source, start: int, end: int, *, is_json: bool, is_simple: bool = False) -> None:
        self.source = source
        self.start = start
        self.end = end
        self.is_json = is_json
        self.is_simple = is_simple
        """Whether what reads simple documents has read it."""
        self._asked = 0

    @cached_property
    def root(self) -> Node:
        """The value of the document as it is written."""
        return read_nodes(self.source.text, (self.start, self.end), is_json=self.is_json)[0]

    def position(self, path: Sequence[str | int]) -> Position:
        """Return where a field is in the file."""
        self._asked += 1
        find = First.offset_of if self.is_simple and self._asked <= _FEW else None
        simple = find(self.source.text[self.start : self.end], path) if find else None
        return self.source.position(self.root.locate(path)[0] if simple is None else self.start + simple)

    def repeated(self) -> Iterator[Unreadable]:
        """Report every repeated key (sigs.k8s.io/json for JSON, go-yaml v2 for YAML)."""
        from webhook.documents.yamlhints import boolean_keys  # needed only for mistakes

        for number, (offset, before, path) in enumerate(sorted(self.root.repeated(Path()))):
            if self.is_json:
                what = f"duplicate field {quoted(str(path))}"
            else:
                what = f"key {quoted(str(path[-1]))} already set in map"
            first, line = self.source.position(before).line, self.source.position(offset).line
            lines = f"twice on line {line}" if line == first else f"on line {first} and again on line {line}"
            hint = "" if self.is_json else boolean_keys(self.source.text, before, offset)
            unreadable = self.source.unreadable(offset, f"{what}: {lines}", hint or "keep one of the two")
            if not number and not self.is_json and path in {Path(("apiVersion",)), Path(("kind",))}:
                hint = "keep one of the two; or is a line --- missing above, which begins another document?"
                unreadable = unreadable._replace(hint=hint, fix=Fix("separate", safe=False))
            yield unreadable._replace(is_repeated=not self.is_json)


def read_nodes(text: str, extent: tuple[int, int], *, is_json: bool) -> tuple[Node, list[tuple[int, int]]]:
    """Locate everything in a readable document.

    Args:
        extent: Where it begins and ends in the text.

    Returns:
        The document's value, and the spans of YAML scalars, where ``#`` begins no comment.
    """
    start, end = extent
    if is_json:
        from webhook.documents.jsontext import read_nodes as of_json  # needed only to ask where something is

        return of_json(text[start:end], start), []
    from webhook.documents.compose import read_nodes as of_yaml  # as above

    return of_yaml(text[start:end], start)


def documents_of(value: Any, index: int, origin: Origin) -> list[Document]:
    """Return the objects of a document, none if it is null; a list stands for its items.

    Args:
        value: The value of the document.
        index: Its index in its source.
    """
    items = () if value is None else expanded(value)
    return [Document(item, index, origin, within) for item, within in items]
