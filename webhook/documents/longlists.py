"""Long lists of objects, such as ``kubectl get`` prints, read item by item: as a whole they take much memory.

Each item is read twice: first alone, to learn that the list is readable and where its items are, then to yield it. All
lists of another form are read as a whole, and so are those with an error.
"""

from __future__ import annotations

from array import array
from typing import Any

from webhook.documents.blocks import read_blocks
from webhook.documents.content import Composed, ContentError
from webhook.documents.limits import MAX_VALUES
from webhook.patterns import Pattern
from webhook.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableSequence
    from typing import Final

_ITEMS: Final = "items"
_HEAD: Final = f"{_ITEMS}:\n"
_BEGIN: Final = "\n- "
_LATEST: Final = 1 << 16
"""The largest offset at which the items may begin."""
_behind: Final = Pattern(r"\n(?=[^ \n#-])")
"""Finds the line behind the last item."""
_document_end: Final = Pattern(r"[\n\r\x85\u2028\u2029]\.\.\.")
_space: Final = Pattern(r"[ \t\n\r]*")
_INDENTED: Final = 256
"""The most characters before an item on its line."""
_AROUND: Final = 4
"""The events of a text beside those of its value: the begin and end of the text and of the document."""


class LongList(NamedTuple):
    """A list of objects.

    Args:
        head: The list, without its items.
        starts: Where each item begins, and where the last one ends.
        is_json: Whether it is JSON.
    """

    head: dict[str, Any]
    starts: MutableSequence[int]
    is_json: bool

    def parts(self, text: str, size: int) -> Iterator[tuple[int, int, int, int]]:
        """Divide the list into parts that begin with a line.

        Args:
            text: Its text.
            size: About how many characters a part has.

        Yields:
            The first item, the one behind the last, and where the part begins and ends.
        """
        first, begin, last = 0, 0, len(self.starts) - 1
        for number in range(1, last):
            start = self.starts[number]
            if start - begin < size:
                continue
            line = text.rfind("\n", max(begin, start - _INDENTED), start) + 1
            if line and not text[line:start].strip():
                yield first, number, begin, line
                first, begin = number, line
        yield first, last, begin, len(text)

    def reader(self, text: str) -> Callable[[int, int], tuple[Any, bool]]:
        """Return a function that reads an item in a part of the text.

        It takes where the item begins and ends, and returns its value, and whether its text is simple.
        """
        if not self.is_json:
            return lambda start, end: _yaml_item(text[start:end])
        from webhook.documents.jsontext import again  # most manifests are YAML

        read = again(text)
        return lambda start, _end: (read(start), False)


class _OtherFormError(Exception):
    """The text is not a list of this form, or is invalid."""


def yaml_list(text: str) -> LongList | None:
    """Find the items of a YAML document; None if it must be read as a whole."""
    begin = 0 if text.startswith(_HEAD) else text.find(f"\n{_HEAD}", 0, _LATEST) + 1
    start = begin + len(_HEAD)
    if not text.startswith(_BEGIN, start - 1) or not text.startswith(_HEAD, begin):
        return None
    last = text.rfind(_BEGIN)
    found = _behind.search(text, last + 1)
    end = found.start() + 1 if found else len(text)
    try:
        head, before = _mapping(text[:start] + text[end:]), _mapping(text[:start])
        if any(each.get(_ITEMS, "") is not None for each in (head, before)):
            return None
        return LongList(_listing(head), _yaml_starts(text, start, end, _events(head)), is_json=False)
    except (_OtherFormError, ContentError):
        return None


def _yaml_starts(text: str, start: int, end: int, events: int) -> MutableSequence[int]:
    """Read all items.

    Args:
        text: The text.
        start: Where they begin.
        end: Where they end.
        events: How many events the rest has.
    """
    starts, left = array("Q"), MAX_VALUES - _AROUND - 1 - events
    while start < end:
        starts.append(start)
        start = text.find(_BEGIN, start, end) + 1 or end
        left -= _events(_yaml_item(text[starts[-1] : start])[0])
        if left < 0:
            raise _OtherFormError
    starts.append(end)
    return starts


def _yaml_item(text: str) -> tuple[Any, bool]:
    """Return the value of an item, and whether its text is simple.

    Raises:
        ContentError: It cannot be read.
        _OtherFormError: The text is not a single item.
    """
    written = _HEAD + text
    simple = read_blocks(written)
    read = _composed(written) if simple is None else simple
    items = read.get(_ITEMS)
    if len(read) != 1 or not isinstance(items, list) or len(items) != 1:
        raise _OtherFormError
    return items[0], simple is not None


def _mapping(text: str) -> dict[str, Any]:
    return read_blocks(text) or _composed(text)


def _composed(text: str) -> dict[str, Any]:
    """Read a mapping by libyaml, with no end of a document, nor with aliases or merges, which are other events."""
    from webhook.documents.compose import compose  # what is simple needs no libyaml

    if _document_end.search(text) or "<<" in text or ("&" in text and "*" in text):
        raise _OtherFormError
    read: Composed = compose(text)
    if read.repeated or read.ignored is not None or not isinstance(read.value, dict):
        raise _OtherFormError
    return read.value


def _events(value: Any) -> int:
    """Count the events by which libyaml describes a value."""
    if isinstance(value, dict):
        return 2 + len(value) + sum(map(_events, value.values()))
    return 2 + sum(map(_events, value)) if isinstance(value, list) else 1


def _listing(head: dict[str, Any]) -> dict[str, Any]:
    kind = head.get("kind")
    if not isinstance(kind, str) or not kind.endswith("List"):
        raise _OtherFormError
    return head


def json_list(text: str) -> LongList | None:
    """Find the items of a text that is one JSON object; None if it must be read as a whole."""
    try:
        return _JSONList(text).read()
    except (_OtherFormError, ContentError):
        return None


class _JSONList:
    """Reads the list in a text."""

    def __init__(self, text: str) -> None:
        from webhook.documents.jsontext import Decoder

        self._text, self._decoder, self._at = text, Decoder(text), 0

    def read(self) -> LongList:
        """Read it.

        Raises:
            ContentError: It is not JSON.
            _OtherFormError: It has another form.
        """
        starts, head = array("Q"), dict[str, Any]()
        more = self._next("{")
        while more != "}":
            key = self._value()
            self._next(":")
            if not isinstance(key, str) or key in head:
                raise _OtherFormError
            if key == _ITEMS:
                head[key] = None
                self._items(starts)
            else:
                head[key] = self._value(1)
            more = self._next(",}")
        if self._next() or len(starts) <= 1:
            raise _OtherFormError
        return LongList(_listing(head), starts, is_json=True)

    def _items(self, starts: MutableSequence[int]) -> None:
        """Read the items."""
        more = self._next("[")
        while more != "]":
            self._skip()
            starts.append(self._at)
            self._value(2)
            more = self._next(",]")
        starts.append(self._at)

    def _value(self, around: int = 0) -> Any:
        """Read a value within a number of others."""
        self._skip()
        read = self._decoder.decode(self._at, around)
        if read.error or read.repeated:
            raise _OtherFormError
        self._at = read.end
        return read.value

    def _next(self, expected: str = "") -> str:
        """Return the next character, which must be one of some; without these, none for the end."""
        self._skip()
        found = self._text[self._at : self._at + 1]
        if expected and (not found or found not in expected):
            raise _OtherFormError
        self._at += 1
        return found

    def _skip(self) -> None:
        found = _space.match(self._text, self._at)
        self._at = found.end() if found else self._at
