"""Values that expressions build: `[a, ?b]`, `{k: v}`, `Type{f: v}`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from webhook.cel.errors import EvaluationError
from webhook.cel.functions import LIST_COST, MAP_COST, STRUCT_COST
from webhook.cel.runtime.writer import Operand, Writer
from webhook.cel.types.values import Optional, Value, to_key

if TYPE_CHECKING:
    from webhook.cel.syntax import ast
    from webhook.cel.syntax.ast import Entry, Expression

# -- writing source; errors are raised


def emit_list(writer: Writer, node: ast.ListExpression) -> Operand:
    """Write a list."""
    optional = {id(node.elements[index]) for index in node.optional}

    def add(made: str, element: Expression) -> None:
        text = writer.emit(element, caught=False).text
        writer.settle()
        writer.line(f"append({made}, {text})" if id(element) in optional else f"{made}.append({text})")

    return Operand(_made(writer, LIST_COST, "[]", node.elements, add), list, fails=False)


def emit_map(writer: Writer, node: ast.MapExpression) -> Operand:
    """Write a map."""
    made = _entries(writer, MAP_COST, node.entries, lambda key: writer.emit(key, caught=False).text)
    return Operand(made, dict, fails=False)


def emit_struct(writer: Writer, node: ast.StructExpression) -> Operand:
    """Write a struct."""
    declared = writer.scope.struct(node.name)
    assert declared is not None  # noqa: S101 - the checker found it
    made = _entries(writer, STRUCT_COST, node.entries, writer.given)
    return Operand(writer.set(f"{writer.given(declared.construct)}({made})"), fails=False)


def _entries(writer: Writer, cost: int, entries: Sequence[Entry], emit_key: Callable[[Any], str]) -> str:
    by_value = {id(entry.value): entry for entry in entries}

    def add(made: str, value: Expression) -> None:
        entry = by_value[id(value)]
        key, operand = emit_key(entry.key), writer.emit(value, caught=False)
        writer.settle()
        writer.line(f"put({made}, {key}, {operand.text}, {entry.optional})")

    return _made(writer, cost, "{}", [entry.value for entry in entries], add)


def _made(
    writer: Writer, cost: int, empty: str, nodes: Sequence[Expression], add: Callable[[str, Expression], None]
) -> str:
    """Write a list or map with a step for each node, and the count of its memory; return its name."""
    writer.spend(cost)
    writer.settle()
    made = writer.set(empty)
    _each(writer, nodes, partial(add, made))
    writer.settle()
    writer.line(writer.built(made))
    return made


def _each(writer: Writer, nodes: Sequence[Expression], add: Callable[[Expression], None]) -> None:
    """Write a step for each node; many nodes go into functions of their own."""

    def group_of(group: Sequence[Expression]) -> Operand:
        _each(writer, group, add)
        return Operand("None", fails=False)

    for group, is_apart in writer.groups(nodes):
        if is_apart:
            writer.raise_failure(writer.apart(lambda: writer.guarded(lambda: group_of(group), caught=True)))  # noqa: B023 - called at once
        else:
            add(group[0])


# -- called by the source


def _unwrap(value: Value, what: str) -> Optional:
    if type(value) is Optional:
        return value
    raise EvaluationError(f"cannot initialize optional {what} from non-optional value {value}")


def put(made: dict[Value, Value], key: Value, value: Value, optional: bool) -> None:
    """Set an entry of a map; an optional one without a value is removed.

    Raises:
        EvaluationError: The key is not a valid key, or the value of an optional entry is not an optional.
    """
    shown = str(key).lower() if type(key) is bool else key
    if type(key) is not str:
        key = to_key(key)
    if not optional:
        made[key] = value
    elif (found := _unwrap(value, f"entry '{shown}'")).present:
        made[key] = found.value
    else:
        made.pop(key, None)


def append(made: list[Value], value: Value) -> None:
    """Append the value of an optional, if it has one.

    Raises:
        EvaluationError: The value is not an optional.
    """
    found = _unwrap(value, "list element")
    if found.present:
        made.append(found.value)
