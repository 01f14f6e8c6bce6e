"""Selectors rewritten to test whether an attribute or capacity exists before they read it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Final

from webhook.cel.errors import Issues
from webhook.cel.syntax.ast import Call, Expression
from webhook.cel.syntax.lexer import tokenize
from webhook.deviceselectors.parts import Read, parts_of
from webhook.deviceselectors.reads import CONDITIONAL, reads
from webhook.deviceselectors.written import AND, OR
from webhook.release import Release

Name = tuple[str, str, str]
"""The holder, domain and name of a read."""
_MOST_READS: Final = 16
_MOST_PLACES: Final = 16
"""The number of tokens that may precede a read in an operand, such as parentheses and names of functions."""
_OPERATORS: Final = frozenset({"&&", "||", "?", ":"})


def guarded(expression: str, names: Collection[Name], release: Release, gates: frozenset[str] = frozenset()) -> str:
    """Add a test to each part of a selector that reads a name, so that it is false where the device lacks it.

    Args:
        expression: A selector that compiles.
        names: The names that it reads and devices may lack.

    Returns:
        The selector; unchanged if there is no place for the test.
    """
    for _ in range(_MOST_READS):
        parts = parts_of(expression, release, gates)
        operand = parts and _first(parts.root, names)
        if not operand:
            break
        tested = _with_presence_test(expression, operand, names, release, gates)
        if not tested:
            break
        expression = tested
    return expression


def _open(node: Expression, names: Collection[Name]) -> list[Read]:
    """List the reads of the names without a guard."""
    return [each for each in reads(node) if not each.is_guarded and each[:3] in names]


def _first(root: Expression, names: Collection[Name]) -> tuple[Expression, Name] | None:
    """Find the first condition that reads one of the names without a guard, and the name."""
    wanted = _open(root, names)
    if not wanted:
        return None
    offset = wanted[0].offset
    operand = next(each for each in _operands(root) if any(read.offset == offset for read in reads(each)))
    return operand, wanted[0][:3]


def _operands(node: Expression) -> Iterator[Expression]:
    """Iterate over the conditions that ``&&``, ``||`` and ``?:`` join."""
    if isinstance(node, Call) and node.function in {AND, OR, CONDITIONAL}:
        for each in node.arguments:
            yield from _operands(each)
    else:
        yield node


def _with_presence_test(
    expression: str, operand: tuple[Expression, Name], names: Collection[Name], release: Release, gates: frozenset[str]
) -> str:
    """Write a presence test before a condition; empty if there is no place for it.

    Nodes do not know where they begin, as parentheses leave no trace. So the test is tried before one token after
    the other, from the first name or constant back to the operator before the condition.
    """
    node, (holder, domain, name) = operand
    test = f'has(device.{holder}["{domain}"].{name}) && '
    before = len(_open(parts.root, names)) if (parts := parts_of(expression, release, gates)) else 0
    for place in islice(_places(expression, _start(node)), _MOST_PLACES):
        tested = f"{expression[:place]}{test}{expression[place:]}"
        parts = parts_of(tested, release, gates)
        if parts and len(_open(parts.root, names)) < before:
            return tested
    return ""


def _start(node: Expression) -> int:
    """Return the offset of the first name or constant of an expression."""
    first, stack = node.offset, [node]
    while stack:
        each = stack.pop()
        first = min(first, each.offset)
        stack.extend(each.children())
    return first


def _places(expression: str, start: int) -> Iterator[int]:
    """Iterate backwards over the tokens of a condition."""
    tokens = tokenize(expression, Issues(expression))
    for offset, text in zip(reversed(tokens.offsets), reversed(tokens.texts), strict=True):
        if offset > start:
            continue
        if text in _OPERATORS:
            return
        yield offset
