"""The fields of a variable that an expression reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.budget import current
from webhook.cel.syntax.ast import Call, Expression, Ident, Literal, Select, Shared

Path = tuple[str, ...]

INDEXES: Final = frozenset({"_[_]", "_[?_]", "_?._"})
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
    if isinstance(node, Call) and node.function in INDEXES:
        *operands, key = node.arguments if node.target is None else (node.target, *node.arguments)
        if len(operands) == 1 and isinstance(key, Literal) and type(key.value) is str:
            return operands[0], key.value, key.offset
    return None
