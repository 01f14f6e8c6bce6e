"""Values that expressions build: `[a, ?b]`, `{k: v}`, `Type{f: v}`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.errors import EvaluationError
from webhook.cel.functions import LIST_COST, MAP_COST, STRUCT_COST
from webhook.cel.runtime.writer import Operand, Writer
from webhook.cel.types.values import Optional, Value, to_key

if TYPE_CHECKING:
    from webhook.cel.syntax import ast
    from webhook.cel.syntax.ast import Entry, Expression

_LIST_BYTES: Final = 56
_PLACE_BYTES: Final = 8


# -- writing source; errors are raised


def emit_list(writer: Writer, node: ast.ListExpression) -> Operand:
    """Writes a list."""
    writer.spend(LIST_COST)
    writer.settle()
    optional = {id(node.elements[index]) for index in node.optional}
    if not optional:
        writer.line(writer.taken(_LIST_BYTES + len(node.elements) * _PLACE_BYTES))
        if not any(is_apart for _, is_apart in writer.groups(node.elements)):
            texts = [writer.emit(each, caught=False).text for each in node.elements]
            writer.settle()
            return Operand(writer.set(f"[{', '.join(texts)}]"), list, fails=False)
    made = writer.set("[]")

    def add(element: Expression) -> None:
        operand = writer.emit(element, caught=False)
        writer.settle()
        writer.line(f"append({made}, {operand.text})" if id(element) in optional else f"{made}.append({operand.text})")

    _each(writer, node.elements, add)
    if optional:
        writer.line(writer.built(made))
    return Operand(made, list, fails=False)


def _each(writer: Writer, nodes: Sequence[Expression], add: Callable[[Expression], None]) -> None:
    """Writes a step for each node; many nodes go into functions of their own."""

    def group_of(group: Sequence[Expression]) -> Operand:
        _each(writer, group, add)
        return Operand("None", fails=False)

    for group, is_apart in writer.groups(nodes):
        if is_apart:
            writer.raise_failure(writer.apart(lambda: writer.guarded(lambda: group_of(group), caught=True)))  # noqa: B023 - called at once
        else:
            add(group[0])


def emit_map(writer: Writer, node: ast.MapExpression) -> Operand:
    """Writes a map."""
    built = _built(writer, MAP_COST, node.entries, lambda key: writer.emit(key, caught=False).text)
    return Operand(writer.set(built), dict, fails=False)


def emit_struct(writer: Writer, node: ast.StructExpression) -> Operand:
    """Writes a struct."""
    declared = writer.scope.struct(node.name)
    assert declared is not None  # noqa: S101 - the checker found it
    built = _built(writer, STRUCT_COST, node.entries, writer.given)
    return Operand(writer.set(f"{writer.given(declared.construct)}({built})"), fails=False)


def _built(writer: Writer, cost: int, entries: Sequence[Entry], emit_key: Callable[[Any], str]) -> str:
    """Writes a map, and gives the expression that counts and returns it."""
    writer.spend(cost)
    made = writer.set("{}")
    by_value = {id(entry.value): entry for entry in entries}

    def add(value: Expression) -> None:
        entry = by_value[id(value)]
        key, operand = emit_key(entry.key), writer.emit(value, caught=False)
        writer.settle()
        writer.line(f"put({made}, {key}, {operand.text}, {entry.optional})")

    _each(writer, [entry.value for entry in entries], add)
    writer.settle()
    return f"count_built(meter, {made})"


# -- called by the source


def _unwrap(value: Value, what: str) -> Optional:
    if type(value) is Optional:
        return value
    raise EvaluationError(f"cannot initialize optional {what} from non-optional value {value}")


def put(made: dict[Value, Value], key: Value, value: Value, optional: bool) -> None:
    """Sets an entry of a map; an optional one without a value is removed.

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
    """Appends the value of an optional, if it has one.

    Raises:
        EvaluationError: The value is not an optional.
    """
    found = _unwrap(value, "list element")
    if found.present:
        made.append(found.value)
