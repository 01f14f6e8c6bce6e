"""The parse stack of Go's regexp/syntax, with its limits.

Follows the stack of Go's regexp/syntax/parse.go: its merging and flattening decide the height and the size of a part.
"""

from __future__ import annotations

from typing import Final, NoReturn

MAX_REPEAT: Final = 1000
MAX_HEIGHT: Final = 1000
MAX_SIZE: Final = (128 << 20) // 40
"""The number of instructions of 40 bytes that fit the memory that Go allows."""


COUNT: Final = "invalid repeat count"
_ARGUMENT: Final = "missing argument to repetition operator"
LITERAL, CLASS, OTHER, CONCATENATION, ALTERNATION, BAR, OPEN, CAPTURE = range(8)


class PatternError(Exception):
    """The text is not a regular expression; `str()` is Go's message."""


class Node:
    """A part of the expression, with only the data that limits need.

    Attributes:
        kind: The kind of the part.
        size: The largest number of Go's instructions for it.
        height: The depth of nested parts, including itself.
        copies: The number of times that nested repetitions repeat the innermost part.
        weight: About the number of RE2's instructions for it.
        fold: Whether a literal ignores case; for an open group, whether the text before it did.
    """

    __slots__ = ("copies", "fold", "height", "kind", "size", "weight")

    def __init__(self, kind: int, *, size: int = 1, fold: bool = False, weight: int = 1) -> None:
        self.kind = kind
        self.size = size
        self.height = 1
        self.copies = 1
        self.weight = weight
        self.fold = fold


class Stack:
    """The parts that have been read, but not closed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._stack: list[Node] = []
        self._fold = False

    def _fail(self, what: str, start: int, end: int | None = None) -> NoReturn:
        raise PatternError(f"error parsing regexp: {what}: `{self._text[start:end]}`")

    def _push(self, node: Node) -> None:
        self._merge()
        self._stack.append(node)
        self._check(node)

    def _literal(self, *, fold: bool | None = None) -> None:
        self._push(Node(LITERAL, fold=self._fold if fold is None else fold))

    def _merge(self) -> None:
        """Joins the two literals on top, as no repetition can apply to the last one alone any more."""
        stack = self._stack
        if len(stack) > 1:
            last, before = stack[-1], stack[-2]
            if last.kind == before.kind == LITERAL and last.fold == before.fold:
                before.size += last.size
                before.weight += last.weight
                stack.pop()

    def _check(self, node: Node) -> None:
        if node.size > MAX_SIZE:
            self._fail("expression too large", 0)
        if node.height > MAX_HEIGHT:
            self._fail("expression nests too deeply", 0)

    def _repeat(self, start: int, repeated: int, counts: tuple[int, int] | None = None) -> None:
        if self._text.startswith("?", self._at):
            self._at += 1
        if repeated >= 0:
            self._fail("invalid nested repetition operator", repeated, self._at)
        stack = self._stack
        if not stack or stack[-1].kind in {OPEN, BAR}:
            self._fail(_ARGUMENT, start, self._at)
        part = stack[-1]
        node = stack[-1] = Node(OTHER)
        node.height = part.height + 1
        node.copies = part.copies
        if counts is None:
            node.size = part.size + (2 if self._text[start] == "*" else 1)
            node.weight = part.weight + 1
            self._check(node)
            return
        least, most = counts
        count = max(1, least if most < 0 else most)
        node.size = max(1, _repeated(part.size, least, most))
        node.weight = part.weight * count
        node.copies = part.copies * count if most else 1
        self._check(node)
        if count > 1 and node.copies > MAX_REPEAT:
            self._fail(COUNT, start, self._at)

    def _top(self) -> list[Node]:
        """Takes the parts above the last open group or bar."""
        stack = self._stack
        at = len(stack)
        while at and stack[at - 1].kind not in {OPEN, BAR}:
            at -= 1
        parts = stack[at:]
        del stack[at:]
        return parts

    def _joined(self, parts: list[Node], kind: int) -> None:
        if len(parts) == 1:
            self._push(parts[0])
            return
        node = Node(kind if parts else OTHER)
        if parts:
            node.size = sum(each.size for each in parts) + (len(parts) - 1 if kind == ALTERNATION else 0)
            node.weight = sum(each.weight for each in parts) + len(parts)
            node.copies = max(each.copies for each in parts)
            # Concatenations in concatenations are one.
            node.height = 1 + max(each.height - (each.kind == kind) for each in parts)
        self._push(node)

    def _concatenate(self) -> None:
        self._merge()
        self._joined(self._top(), CONCATENATION)

    def _bar(self) -> None:
        if not self._swap():
            self._push(Node(BAR))

    def _swap(self) -> bool:
        """Puts the part on top below the bar beneath it, where parts that match one character are joined."""
        stack = self._stack
        if len(stack) < 2 or stack[-2].kind != BAR:  # noqa: PLR2004 - a bar, and what is above it
            return False
        last = stack[-1]
        if len(stack) > 2 and _is_class(last) and _is_class(stack[-3]):  # noqa: PLR2004 - and what is beneath
            stack[-3].weight += last.weight
            stack[-3].kind = CLASS
            stack.pop()
        else:
            stack[-2], stack[-1] = last, stack[-2]
        return True

    def _alternate(self) -> None:
        if self._swap():
            self._stack.pop()
        self._joined(self._top(), ALTERNATION)

    def _open(self, kind: int) -> None:
        node = Node(OPEN, fold=self._fold)
        node.copies = kind  # its kind once it is closed
        self._push(node)

    def _close(self) -> None:
        self._concatenate()
        self._alternate()
        if len(self._stack) < 2 or self._stack[-2].kind != OPEN:  # noqa: PLR2004 - a group and what is in it
            self._fail("unexpected )", 0)
        part = self._stack.pop()
        group = self._stack.pop()
        self._fold = group.fold
        if group.copies == CAPTURE:
            node = Node(OTHER, size=part.size + 2, weight=part.weight + 2)
            node.height, node.copies = part.height + 1, part.copies
            part = node
        self._push(part)


def _repeated(size: int, least: int, most: int) -> int:
    if most < 0:
        return 1 + least * size if least else 2 + size
    return most * size + most - least


def _is_class(node: Node) -> bool:
    return node.kind == CLASS or (node.kind == LITERAL and node.size == 1)
