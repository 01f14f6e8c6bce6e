"""The syntax tree, with macros expanded (cel-go common/ast)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.types.base import DYN, Type

if TYPE_CHECKING:
    from webhook.cel.overloads import Overload

ACCUMULATOR: Final = "@result"


class Expression:
    """A node; `offset` is the code point in the source that errors about it point to.

    `height` is how deep cel-go's parser recurses into the node's text; the checker sets `type`, and for names
    `resolved`: a variable's full name or a type.
    """

    __slots__ = ("height", "offset", "type")

    # Every class sets these three itself: a call of this for each node is a tenth of the time that parsing takes.
    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.height = 0
        self.type: Type = DYN

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

    __slots__ = ("value",)

    def __init__(self, offset: int, value: Any) -> None:  # any CEL value
        self.offset = offset
        self.height = 0
        self.type = DYN
        self.value = value


class Ident(Expression):
    """A name; a leading dot says that it is looked up from the root."""

    __slots__ = ("name", "resolved")

    def __init__(self, offset: int, name: str) -> None:
        self.offset = offset
        self.height = 0
        self.type = DYN
        self.name = name
        self.resolved: str | Type | None = None


class Select(Expression):
    """`operand.field`, and `has(operand.field)` when `test` is set."""

    __slots__ = ("field", "operand", "resolved", "test")

    def __init__(self, offset: int, operand: Expression, field: str, *, test: bool = False) -> None:
        self.offset = offset
        self.height = 0
        self.type = DYN
        self.operand = operand
        self.field = field
        self.test = test
        self.resolved: str | Type | None = None

    def children(self) -> Iterator[Expression]:
        """The operand."""
        yield self.operand


class Call(Expression):
    """`function(arguments)` or, with a target, `target.function(arguments)`; operators too.

    `_&&_` and `_||_` hold two or more arguments: a chain is one node.
    The checker writes the `overloads` that may apply.
    """

    __slots__ = ("arguments", "function", "overloads", "target")

    def __init__(
        self, offset: int, function: str, arguments: list[Expression], target: Expression | None = None
    ) -> None:
        self.offset = offset
        self.height = 0
        self.type = DYN
        self.function = function
        self.arguments = arguments
        self.target = target
        self.overloads: tuple[Overload, ...] | None = None

    def children(self) -> Iterator[Expression]:
        """The target, if any, and the arguments."""
        if self.target is not None:
            yield self.target
        yield from self.arguments


class ListExpression(Expression):
    """`[a, ?b]`; `optional` holds the indexes of elements written with a question mark."""

    __slots__ = ("elements", "optional")

    def __init__(self, offset: int, elements: list[Expression], optional: frozenset[int] = frozenset()) -> None:
        self.offset = offset
        self.height = 0
        self.type = DYN
        self.elements = elements
        self.optional = optional

    def children(self) -> Iterator[Expression]:
        """The elements."""
        return iter(self.elements)


class Entry:
    """`key: value` of a map, or `field: value` of a struct, whose key is then the field's name."""

    __slots__ = ("key", "offset", "optional", "value")

    def __init__(self, offset: int, key: Any, value: Expression, *, optional: bool) -> None:  # see above
        self.offset = offset
        self.key = key
        self.value = value
        self.optional = optional


class MapExpression(Expression):
    """`{k: v, ?k: v}`."""

    __slots__ = ("entries",)

    def __init__(self, offset: int, entries: list[Entry]) -> None:
        self.offset = offset
        self.height = 0
        self.type = DYN
        self.entries = entries

    def children(self) -> Iterator[Expression]:
        """Keys and values, alternating."""
        for entry in self.entries:
            yield entry.key
            yield entry.value


class StructExpression(Expression):
    """`Name{field: value, ?field: value}`."""

    __slots__ = ("entries", "name")

    def __init__(self, offset: int, name: str, entries: list[Entry]) -> None:
        self.offset = offset
        self.height = 0
        self.type = DYN
        self.name = name
        self.entries = entries

    def children(self) -> Iterator[Expression]:
        """The values of the fields."""
        for entry in self.entries:
            yield entry.value


class Comprehension(Expression):
    """A fold over a list or map; the expansion of `all`, `map`, `cel.bind` and similar macros.

    `shape` names the macro that made the node, `all` or `map`, so that the compiler can take a shortcut; the meaning
    is in the fields alone. `parts` are then the expressions that the user wrote inside the macro.
    """

    __slots__ = (
        "accumulator",
        "condition",
        "initial",
        "parts",
        "range",
        "result",
        "shape",
        "step",
        "variable",
        "variable2",
    )

    def __init__(  # a fold has these parts
        self,
        offset: int,
        *,
        range_: Expression,
        variable: str,
        variable2: str = "",
        accumulator: str = ACCUMULATOR,
        initial: Expression,
        condition: Expression,
        step: Expression,
        result: Expression,
        shape: str,
        parts: tuple[Expression, ...],
    ) -> None:
        self.offset = offset
        self.height = 0
        self.type = DYN
        self.range = range_
        self.variable = variable
        self.variable2 = variable2
        self.accumulator = accumulator
        self.initial = initial
        self.condition = condition
        self.step = step
        self.result = result
        self.shape = shape
        self.parts = parts

    def children(self) -> Iterator[Expression]:
        """Range, initial value, condition, step and result."""
        yield self.range
        yield self.initial
        yield self.condition
        yield self.step
        yield self.result


class Shared(Expression):
    """An expression that an expansion uses twice, as `optMap` does its target; both uses hold the same node.

    cel-go copies it, and nested copies double. A walk visits a shared node once, and counts it twice.
    """

    __slots__ = ("original",)

    def __init__(self, original: Expression) -> None:
        self.offset = original.offset
        self.height = original.height
        self.type = DYN
        self.original = original

    def children(self) -> Iterator[Expression]:
        """The expression."""
        yield self.original


class Failed(Expression):
    """A placeholder where the parser reported an error."""

    __slots__ = ()


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
