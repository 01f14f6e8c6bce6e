"""Frequent forms of texts: of such a text, only the lines that differ from those of earlier ones are read."""

from __future__ import annotations

from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence
    from typing import Any

    ReadLine = Callable[[str], tuple[Any, Any]]
    """Returns a line without its value, and the value."""
    Build = Callable[[Iterable[Any]], dict[str, Any] | None]
    """Builds a mapping from the values of all lines."""


class Form:
    """Texts whose lines differ in values only.

    Args:
        lines: The lines of one of them.
        forms: The lines without their values.
        values: The values.
        build: Builds the mapping of such a text.
    """

    __slots__ = ("_differing", "_forms", "_lines", "_parts", "_rest", "_values", "follower", "make")

    def __init__(self, lines: Sequence[str], forms: Sequence[Any], values: Sequence[Any], build: Build) -> None:
        self._lines, self._forms, self._values = lines, forms, values
        self._differing: set[int] = set()
        self._parts: list[tuple[str, int]] = []
        """The text before each line that may differ, and the line's number."""
        self._rest = "\n".join(lines)
        """The text after these lines."""
        self.follower: Form = self
        """The form of the text that followed the last one of this form."""
        self.make = _maker(values, build)
        """Makes the mapping from the values of all lines, in a quarter of the time that building takes."""

    def learn(self, lines: Sequence[str]) -> None:
        """Note which lines of another text of this form differ."""
        pairs = enumerate(zip(lines, self._lines, strict=True))
        if differing := {number for number, (line, known) in pairs if line != known} - self._differing:
            self._differing |= differing
            self._cut()

    def _cut(self) -> None:
        self._parts, before = [], ""
        for number, line in enumerate(self._lines):
            if number in self._differing:
                self._parts.append((before, number))
                before = "\n"
            else:
                before += f"{line}\n"
        self._rest = before[:-1]

    def read(self, text: str, read_line: ReadLine, longest: int) -> dict[str, Any] | None:
        """Read a text; None if it differs from the others of this form in more lines than they from each other.

        Args:
            text: The text.
            read_line: Reads a line.
            longest: Lines must be shorter than this, in characters.
        """
        end, values = 0, list(self._values)
        for before, number in self._parts:
            if not text.startswith(before, end):
                return None
            start = end + len(before)
            end = text.find("\n", start)
            if end < 0:
                end = len(text)
            if end - start >= longest:
                return None
            form, values[number] = read_line(text[start:end])
            if form != self._forms[number]:
                return None
        if len(text) - end != len(self._rest) or not text.endswith(self._rest):
            return None
        return self.make(*values)


def _maker(values: Sequence[Any], build: Build) -> Callable[..., dict[str, Any]]:
    names = [f"v{number}" for number in range(len(values))]
    written = (
        partial(str, f"{name}()") if callable(value) else name for name, value in zip(names, values, strict=True)
    )
    source = f"lambda {', '.join(names)}: {_source(build(written))}"
    make: Callable[..., dict[str, Any]] = eval(source)  # noqa: S307 - of the text, only simple keys become part of it
    return make


def _source(value: Any) -> str:
    """Write an expression for what is built of expressions."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_source(each)}' for key, each in value.items())}}}"
    return f"[{', '.join(map(_source, value))}]" if isinstance(value, list) else str(value)


class Forms:
    """The forms of texts that are read often.

    Args:
        read_line: Reads a line.
        longest: Lines must be shorter than this, in characters.
    """

    def __init__(self, read_line: ReadLine, longest: int) -> None:
        self._known: dict[Hashable, Form] = {}
        self._last: Form | None = None
        self._read_line, self._longest = read_line, longest

    def __len__(self) -> int:
        """Return the number of forms."""
        return len(self._known)

    def add(self, key: Hashable, form: Form) -> None:
        """Add a form, with the forms of its lines."""
        self._known[key] = form

    def read(self, text: str) -> dict[str, Any] | None:
        """Read a text if it has the form of the one that followed such a text as the last one before."""
        form = self._last and self._last.follower
        if form is None or (read := form.read(text, self._read_line, self._longest)) is None:
            return None
        self._last = form
        return read

    def make(self, key: Hashable, lines: Sequence[str], values: Iterable[Any]) -> dict[str, Any] | None:
        """Make the mapping of a text from its values; None if its form is not known.

        Args:
            key: The forms of its lines.
            lines: The lines.
            values: Their values.
        """
        form = self._known.get(key)
        if form is None:
            return None
        if self._last:
            self._last.follower = form
        self._last = form
        form.learn(lines)
        return form.make(*values)
