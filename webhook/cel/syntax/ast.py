"""The syntax tree, with macros expanded (cel-go common/ast), and what it reads of variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from webhook.budget import current
from webhook.cel.types.base import DYN, Type
from webhook.records import Record, unset

if TYPE_CHECKING:
    from webhook.cel.functions import Overload


ACCUMULATOR: Final = "@result"


class Expression(Record):
    """A node; `offset` is the code point in the source that errors about it point to.

    `height` is how deep cel-go's parser recurses into the node's text; the checker sets `type`, and for names
    `resolved`: a variable's full name or a type.
    """

    offset: int
    height: int = unset(0)
    type: Type = unset(DYN)

    def children(self) -> Iterator[Expression]:
        """The expressions directly inside this one, in source order."""
        return iter(())


def within(root: Expression) -> Iterator[Expression]:
    """Yield an expression and all expressions in it, each once, in the order in which they are written.

    Nested macros share their targets: without counting these once, 2^n ways lead to the innermost of n.
    """
    left, known = [root], set[int]()
    while left:
        node = left.pop()
        if id(node) not in known:
            known.add(id(node))
            left += reversed([*node.children()])
            yield node


class Literal(Expression):
    """A constant: None, bool, int, `UInt`, float, str or bytes."""

    value: Any  # any CEL value


class Ident(Expression):
    """A name; a leading dot says that it is looked up from the root."""

    name: str
    resolved: str | Type | None = unset(None)


class Select(Expression):
    """`operand.field`, and `has(operand.field)` when `test` is set."""

    operand: Expression
    field: str
    test: bool = False
    resolved: str | Type | None = unset(None)

    def children(self) -> Iterator[Expression]:
        """The operand."""
        yield self.operand


class Call(Expression):
    """`function(arguments)` or, with a target, `target.function(arguments)`; operators too.

    `_&&_` and `_||_` hold two or more arguments: a chain is one node.
    The checker writes the `overloads` that may apply.
    """

    function: str
    arguments: list[Expression]
    target: Expression | None = None
    overloads: tuple[Overload, ...] | None = unset(None)

    def children(self) -> Iterator[Expression]:
        """The target, if any, and the arguments."""
        return iter(self.arguments if self.target is None else (self.target, *self.arguments))


class ListExpression(Expression):
    """`[a, ?b]`; `optional` holds the indexes of elements written with a question mark."""

    elements: list[Expression]
    optional: frozenset[int] = frozenset()

    def children(self) -> Iterator[Expression]:
        """The elements."""
        return iter(self.elements)


class Entry(Record):
    """`key: value` of a map, or `field: value` of a struct, whose key is then the field's name."""

    offset: int
    key: Any
    value: Expression
    optional: bool


class MapExpression(Expression):
    """`{k: v, ?k: v}`."""

    entries: list[Entry]

    def children(self) -> Iterator[Expression]:
        """Keys and values, alternating."""
        for entry in self.entries:
            yield entry.key
            yield entry.value


class StructExpression(Expression):
    """`Name{field: value, ?field: value}`."""

    name: str
    entries: list[Entry]

    def children(self) -> Iterator[Expression]:
        """The values of the fields."""
        for entry in self.entries:
            yield entry.value


class Comprehension(Expression):
    """A fold over a list or map; the expansion of `all`, `map`, `cel.bind` and similar macros.

    `shape` names the macro that made the node, `all` or `map`.
    """

    shape: str
    range: Expression
    initial: Expression
    condition: Expression
    step: Expression
    result: Expression
    variable: str
    variable2: str = ""
    accumulator: str = ACCUMULATOR

    def children(self) -> Iterator[Expression]:
        """Range, initial value, condition, step and result."""
        return iter((self.range, self.initial, self.condition, self.step, self.result))


class Shared(Expression):
    """An expression that an expansion uses twice, as `optMap` does its target; both uses hold the same node.

    cel-go copies it, and nested copies double. A walk visits a shared node once, and counts it twice.
    """

    original: Expression

    def children(self) -> Iterator[Expression]:
        """The expression."""
        yield self.original


class Failed(Expression):
    """A placeholder where the parser reported an error."""


def qualified_name(node: Expression) -> str | None:
    """`a.b.c` if the node consists only of names and dots, else None."""
    fields: list[str] = []
    while isinstance(node, Select):
        if node.test:
            return None
        fields.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    fields.append(node.name)
    return ".".join(reversed(fields))


Path = tuple[str, ...]

_INDEXES: Final = frozenset({"_[_]", "_[?_]", "_?._"})
"""Functions that read a part of a value, with its key."""


def reads(root: Expression, variable: str) -> Iterator[Path]:
    """The paths from a variable that an expression reads: `("attributes", "a.example.com", "model")`.

    A path ends where a step is computed, so that everything below it may be read: `("attributes",)`. Each occurrence of
    the variable in the text has one.

    Raises:
        BudgetExceededError: The walk is more work than the budget in force allows.
    """
    pending, spend = [root], current().spend
    shared: set[Shared] = set()
    while pending:
        spend(2)
        node = pending.pop()
        path: list[str] = []
        while (step := step_of(node)) is not None:
            node, name, _ = step
            path.append(name)
        if isinstance(node, Ident):
            if node.name.removeprefix(".") == variable:
                yield tuple(reversed(path))
            continue
        if isinstance(node, Shared):
            if node in shared:
                continue
            shared.add(node)
        pending.extend(node.children())


def step_of(node: Expression) -> tuple[Expression, str, int] | None:
    """The operand of a step, its name, and the name's offset; None if it is not a step with a constant name."""
    if isinstance(node, Select):
        return node.operand, node.field, node.offset + 1
    if isinstance(node, Call) and node.function in _INDEXES:
        *operands, key = node.arguments if node.target is None else (node.target, *node.arguments)
        if len(operands) == 1 and isinstance(key, Literal) and type(key.value) is str:
            return operands[0], key.value, key.offset
    return None
