"""Comprehensions as loops, which go through the parts of a comprehension as cel-go's evalFold does.

What `map` and `transformMap` make grows in place: nothing but the next step reads what a step has made
(interpreter/interpretable.go, runtimecost.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from webhook.cel.errors import EvaluationError
from webhook.cel.functions import LIST_COST
from webhook.cel.runtime.meter import Meter
from webhook.cel.runtime.operators import no_such_overload
from webhook.cel.runtime.writer import NOT_CONSTANT, Operand, Writer
from webhook.cel.syntax import ast
from webhook.cel.types.values import Value, from_key, go_type, to_key
from webhook.records import Record

if TYPE_CHECKING:
    from webhook.cel.syntax.ast import Expression

PENDING: Final = object()

# -- writing source


def elements_of(writer: Writer, range_: Operand, *, has_two: bool) -> str:
    """The elements of a list or map, for a loop with one variable or two."""
    text = writer.raise_failure(range_).text
    plain = f"enumerate({text})" if has_two else text
    return plain if range_.cls is list else f"{plain} if type({text}) is list else elements({text}, {has_two})"


def emit_initial(writer: Writer, initial: Expression) -> Operand:
    """Write the first value of a fold: one of its own, as the fold changes it."""
    operand = writer.emit(initial)
    text = "[]" if isinstance(initial, ast.ListExpression) else "{}" if isinstance(initial, ast.MapExpression) else ""
    return Operand(writer.set(text or operand.text), operand.cls, fails=not writer.gives_up)


def emit_condition(writer: Writer, node: ast.Call) -> Operand:
    """Write the condition of a fold, which goes on unless it is false."""
    writer.spend(1)
    return writer.emit(node.arguments[0])


def is_append(node: ast.Call) -> bool:
    """Whether a call is the step of `map`, which adds one element."""
    if node.function != "_+_" or not isinstance(node.arguments[1], ast.ListExpression):
        return False
    return isinstance(node.arguments[0], ast.Ident) and node.arguments[0].name == ast.ACCUMULATOR


def emit_append(writer: Writer, node: ast.Call) -> Operand:
    """Write the step of `map`; the first error of an element counts."""
    made, added = node.arguments
    assert isinstance(added, ast.ListExpression)  # noqa: S101 - asked before
    values = writer.emit(made)
    writer.spend(1 if writer.constant_of(added) is not NOT_CONSTANT else 1 + LIST_COST)
    element = writer.emit(added.elements[0])
    is_list = f"type({values.text}) is list"
    if element.fails:
        writer.line(f"if type({element.text}) is EvaluationError and {is_list}: {values.text} = {element.text}")
    writer.line(f"{f'if {is_list}: ' if values.fails else ''}{values.text}.append({element.text})")
    return values


def emit_insert(writer: Writer, node: ast.Call) -> Operand:
    """Write the step of `transformMap` or `transformMapEntry`; with a key, nothing is evaluated after an error."""
    made, *keys, value = node.arguments
    entries = writer.emit(made)

    def insert() -> None:
        known = [writer.emit(each).text for each in keys]
        added = writer.emit(value).text
        writer.spend(1)
        writer.settle()
        writer.line(f"{entries.text} = inserted({', '.join((entries.text, *known, added))})")

    if keys:
        with writer.block(f"if type({entries.text}) is dict:"):
            insert()
    else:
        insert()
    return entries._replace(fails=True)


def emit_cell(writer: Writer, initial: Expression) -> Operand:
    """Write a value that is computed on first use; return the cell that holds it."""
    known = writer.constant_of(initial)
    if known is not NOT_CONSTANT:
        return Operand(writer.set(f"Lazy(None, (), {writer.constant(known).text})"))
    name, taken, _ = writer.function(lambda: writer.emit(initial))
    return Operand(writer.set(f"Lazy({name}, ({''.join(f'{each}, ' for each in taken)}))"))


def emit_read(writer: Writer, cell: Operand) -> Operand:
    """Write the read of such a value, or of a fold's value so far."""
    writer.settle()
    result = writer.set(f"{cell.text}.value")
    writer.line(f"if {result} is PENDING: left, mark, {result} = {cell.text}.force(meter, left, mark)")
    return Operand(result)


# -- called by the source


class Lazy(Record):
    """A value that is computed on first use; a fold sets it anew.

    Args:
        function: The generated function that computes it; None if the value is known.
        taken: Its arguments after the meter, the rest of the cost and the mark.
        value: The value, if it is known.
    """

    function: Callable[..., tuple[int, int, Value]] | None
    taken: tuple[Value, ...]
    value: Value = PENDING

    def force(self, meter: Meter, left: int, mark: int) -> tuple[int, int, Value]:
        """Compute the value: the rest of the cost, the next mark, the value or error."""
        assert self.function is not None  # noqa: S101 - else the value is known
        left, mark, self.value = self.function(meter, left, mark, *self.taken)
        return left, mark, self.value


def elements(value: Value, has_two: bool) -> Iterator[Value]:
    """The elements of a loop with one variable, or the entries of one with two.

    Raises:
        EvaluationError: It has none.
    """
    if isinstance(value, dict):
        return ((from_key(key), each) for key, each in value.items()) if has_two else map(from_key, value)
    text = "unsupported comprehension range type: {}" if has_two else "got '{}', expected iterable type"
    raise EvaluationError(text.format(go_type(value)))


def inserted(made: Value, *added: Value) -> Value:
    """A map with an entry, or with those of another map; or the first error, which may be one of the values itself."""
    for each in (made, added[-1]):
        if type(each) is EvaluationError:
            return each
    entries = added[0] if len(added) == 1 else {to_key(added[0]): added[1]}
    if not isinstance(entries, dict):
        return no_such_overload()
    for key, value in entries.items():
        if key in made:
            return EvaluationError(f"insert failed: key {from_key(key)} already exists")
        made[key] = value
    return made
