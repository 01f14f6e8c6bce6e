"""Comprehensions as loops.

`emit_fold` writes what cel-go's evalFold does with the parts of a comprehension, step for step. The loops for `all`,
`exists` and the rest give the same values, errors and costs without going through the parts; what they count for an
element is what its share of condition and step costs in cel-go (interpreter/interpretable.go, runtimecost.go).
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from webhook.cel.cost.calls import LIST_COST
from webhook.cel.errors import EvaluationError
from webhook.cel.runtime.operators import no_such_overload
from webhook.cel.runtime.writer import NOT_CONSTANT, Operand, Writer
from webhook.cel.types.values import Value, from_key, to_key, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from webhook.cel.runtime.meter import Meter
    from webhook.cel.syntax import ast
    from webhook.cel.syntax.ast import Expression

END: Final = object()
KEYS: Final = frozenset({int, str})
"""Classes of keys that stand for themselves in maps."""
PENDING: Final = object()

_GO_TYPES: Final = {
    "bool": "types.Bool",
    "bytes": "types.Bytes",
    "double": "types.Double",
    "google.protobuf.Duration": "types.Duration",
    "google.protobuf.Timestamp": "types.Timestamp",
    "int": "types.Int",
    "null_type": "types.Null",
    "optional_type": "*types.Optional",
    "string": "types.String",
    "type": "*types.Type",
    "uint": "types.Uint",
}
"""cel-go names its own types in this one message."""


# -- what is written


class Loop:
    """A loop in the source.

    Args:
        writer: Where it is written.
        range_: What it goes over.
        variables: The names of its variables, one or two.
        end_cost: What its end costs.
    """

    def __init__(self, writer: Writer, range_: Operand, variables: tuple[str, ...], end_cost: int) -> None:
        self._writer = writer
        self.variables = variables
        self._end_cost = end_cost
        self.elements = writer.name()
        self.failure = writer.name()
        """The variable that holds the error which is the result."""
        self.fails = range_.fails or range_.cls is not list
        text = range_.text
        plain, other = (f"iter({text})", "elements") if len(variables) == 1 else (f"enumerate({text})", "entries")
        writer.settle()
        writer.line(f"if type({text}) is list: {self.elements} = {plain}; {self.failure} = None")
        writer.line(f"else: left, {self.elements}, {self.failure} = {other}(left, {text}, {end_cost})")

    @contextmanager
    def body(self) -> Iterator[None]:
        """Writes what is done for an element."""
        with self._writer.block(f"for {', '.join(self.variables)} in {self.elements}:"):
            yield

    def fail(self, error: str, *, is_last: bool = False) -> None:
        """Notes an error; the first or the last counts."""
        self.fails = True
        self._writer.line(f"{self.failure} = {error if is_last else f'{self.failure} or {error}'}")

    def end(self, result: Operand) -> Operand:
        """Writes what follows the loop."""
        self._writer.spend(self._end_cost)
        if self.fails:
            self._writer.line(f"if {self.failure} is not None: {result.text} = {self.failure}")
        return result._replace(fails=self.fails)


def emit_quantifier(writer: Writer, loop: Loop, predicate: Expression, *, stops_at: bool) -> Operand:
    """`all`, which stops at the first false, and `exists`, at the first true; an error counts if nothing stops."""
    condition_cost = 3 if stops_at else 2
    result = writer.set(str(not stops_at))
    with loop.body():
        writer.look()
        writer.spend(condition_cost + 1)
        held = writer.emit(predicate)
        is_bool = held.cls is bool and not held.fails
        with writer.block(f"if {held.text} is not {not stops_at}:"):
            with writer.block("if True:" if is_bool else f"if {held.text} is {stops_at}:"):
                writer.line(f"if next({loop.elements}, END) is not END: left -= {condition_cost}")
                writer.line(f"{result} = {stops_at}; {loop.failure} = None")
                writer.line("break")
            if not is_bool:
                loop.fail(f"not_bool({held.text})")
    return loop.end(Operand(result, bool))


def emit_exactly_one(writer: Writer, loop: Loop, predicate: Expression) -> Operand:
    """`exists_one`; it never stops early, and of several errors the last one counts."""
    count, result = writer.set("0"), writer.name()
    with loop.body():
        writer.look()
        held = writer.emit(predicate)
        with writer.block(f"if {held.text} is True:"):
            writer.spend(2)
            writer.line(f"{count} += 1")
        if held.fails or held.cls is not bool:
            with writer.block(f"elif {held.text} is not False:"):
                loop.fail(f"not_bool({held.text})", is_last=True)
    writer.line(f"{result} = {count} == 1")
    return loop.end(Operand(result, bool))


def emit_collector(
    writer: Writer,
    loop: Loop,
    predicate: Expression | None,
    insert: Callable[[str], None],
    empty: str,
    *,
    skips: bool = False,
) -> Operand:
    """Writes the comprehensions that make a list or a map.

    Of errors in predicates the last one counts, of errors in elements the first; either comes before the result.

    Args:
        writer: Where to.
        loop: The loop.
        predicate: Which elements it takes; None for all.
        insert: Writes what evaluates what is due for an element and puts it into what is made.
        empty: What it begins with, a list or a map.
        skips: Whether nothing is evaluated for an element after an error: a call that inserts has three arguments, and
            ends at the first.
    """
    result = writer.set(empty)
    with loop.body():
        writer.look()
        if predicate is not None:
            held = writer.emit(predicate)
            with writer.block(f"if {held.text} is not True:"):
                if held.fails or held.cls is not bool:
                    with writer.block(f"if {held.text} is not False:"):
                        loop.fail(f"not_bool({held.text})", is_last=True)
                writer.line("continue")
        if skips:
            with writer.block(f"if {loop.failure} is not None:"):
                writer.spend(1)
                writer.settle()
                writer.line("continue")
        insert(result)
    made = loop.end(Operand(result))
    if made.fails:
        writer.line(f"if {loop.failure} is None: count_built(meter, {result})")
    else:
        writer.line(f"count_built(meter, {result})")
    return made._replace(cls=list if empty == "[]" else dict)


def emit_append(writer: Writer, loop: Loop, element: Expression, *, is_constant: bool) -> Callable[[str], None]:
    """What `map` and `filter` do for an element."""

    def insert(made: str) -> None:
        writer.spend(2 if is_constant else 2 + LIST_COST)
        operand = writer.emit(element)
        if operand.fails:
            with writer.block(f"if type({operand.text}) is EvaluationError:"):
                loop.fail(operand.text)
            writer.line(f"else: {made}.append({operand.text})")
        else:
            writer.line(f"{made}.append({operand.text})")

    return insert


def emit_insert(writer: Writer, loop: Loop, value: Expression, *, is_entry: bool) -> Callable[[str], None]:
    """What `transformMap` does for an element, or, with the key known, `transformMapEntry`."""

    def insert(made: str) -> None:
        writer.spend(3 if is_entry else 2)
        operand = writer.emit(value)
        error = writer.name()
        if is_entry:
            key, cls = loop.variables[0], f"type({operand.text})"
            writer.settle()
            writer.line(f"if type({key}) in KEYS and {key} not in {made} and {cls} is not EvaluationError:")
            writer.line(f"\t{made}[{key}] = {operand.text}")
            writer.line("\tcontinue")
            writer.line(f"{error} = inserted({made}, {key}, {operand.text})")
        else:
            writer.line(f"{error} = inserted_all({made}, {operand.text})")
        with writer.block(f"if {error} is not None:"):
            loop.fail(error)

    return insert


def emit_bind(writer: Writer, initial: Expression, bind: Callable[[Operand], None]) -> Operand:
    """Writes a value that is computed when it is first asked for; gives its cell.

    Args:
        writer: Where to.
        initial: The value.
        bind: Binds the name to the cell.
    """
    known = writer.constant_of(initial)
    if known is not NOT_CONSTANT:
        cell = Operand(writer.set(f"Lazy(None, (), {writer.constant(known).text})"))
    else:
        name, taken, _ = writer.function(lambda: writer.emit(initial))
        cell = Operand(writer.set(f"Lazy({name}, ({''.join(f'{each}, ' for each in taken)}))"))
    bind(cell)
    return cell


def emit_read(writer: Writer, cell: Operand) -> Operand:
    """Writes what reads such a value, or a fold's value so far."""
    writer.settle()
    result = writer.set(f"{cell.text}.value")
    writer.line(f"if {result} is PENDING: left, mark, {result} = {cell.text}.force(meter, left, mark)")
    return Operand(result)


def emit_fold(
    writer: Writer, loop: Loop, cell: Operand, node: ast.Comprehension, result: Callable[[], Operand]
) -> Operand:
    """Writes any comprehension, by its parts: condition, step and result; a cell holds its value so far."""
    with loop.body():
        writer.look()
        condition = writer.emit(node.condition)
        writer.settle()
        writer.line(f"if {condition.text} is False: break")
        if condition.fails:
            with writer.block(f"if type({condition.text}) is EvaluationError:"):
                loop.fail(condition.text)
                writer.line("break")
        step = writer.emit(node.step)
        writer.settle()
        writer.line(f"{cell.text}.value = {step.text}")
    folded = writer.set(loop.failure)
    with writer.block(f"if {folded} is None:"):
        operand = result()
        writer.settle()
        writer.line(f"{folded} = {operand.text}")
    return Operand(folded, operand.cls)


# -- what is called


class Lazy:
    """A value that is computed when it is first asked for; a fold sets it anew.

    Args:
        function: The generated function that computes it.
        taken: What it takes beside the meter, what is left and the mark.
        value: The value, if it is known.
    """

    __slots__ = ("_function", "_taken", "value")

    def __init__(
        self, function: Callable[..., tuple[int, int, Value]] | None, taken: tuple[Value, ...], value: Value = PENDING
    ) -> None:
        self._function = function
        self._taken = taken
        self.value = value

    def force(self, meter: Meter, left: int, mark: int) -> tuple[int, int, Value]:
        """Computes the value: what is left, the next mark, the value or error."""
        assert self._function is not None  # noqa: S101  # else the value is known
        left, mark, self.value = self._function(meter, left, mark, *self._taken)
        return left, mark, self.value


def elements(left: int, value: Value, end_cost: int) -> tuple[int, Iterator[Value], EvaluationError | None]:
    """What a loop with one variable goes over; if it cannot, nothing, and the cost of its end is given back."""
    if isinstance(value, dict):
        return left, map(from_key, value), None
    return left + end_cost, iter(()), _no_range(value, "got '{}', expected iterable type", _GO_TYPES)


def entries(
    left: int, value: Value, end_cost: int
) -> tuple[int, Iterator[tuple[Value, Value]], EvaluationError | None]:
    """What a loop with two variables goes over; as `elements`."""
    if isinstance(value, dict):
        return left, ((from_key(key), each) for key, each in value.items()), None
    return left + end_cost, iter(()), _no_range(value, "unsupported comprehension range type: {}", {})


def _no_range(value: Value, text: str, names: Mapping[str, str]) -> EvaluationError:
    if type(value) is EvaluationError:
        return value
    try:
        name = type_of(value).name
    except EvaluationError as error:
        return error
    return EvaluationError(text.format(names.get(name, name)))


def insert_entry(made: dict[Value, Value], key: Value, value: Value) -> None:
    """Puts an entry into a map in the making.

    Raises:
        EvaluationError: The key is there already.
    """
    inner = to_key(key)
    if inner in made:
        msg = f"insert failed: key {key} already exists"
        raise EvaluationError(msg)
    made[inner] = value


def insert_map(made: dict[Value, Value], added: Value) -> None:
    """Puts the entries of a map into a map in the making.

    Raises:
        EvaluationError: One of the keys is there already.
    """
    if not isinstance(added, dict):
        raise no_such_overload()
    for key, value in added.items():
        insert_entry(made, from_key(key), value)


def inserted(made: dict[Value, Value], key: Value, value: Value) -> EvaluationError | None:
    """As `insert_entry`; gives the error, or that which the value is."""
    if type(value) is EvaluationError:
        return value
    try:
        insert_entry(made, key, value)
    except EvaluationError as error:
        return error
    return None


def inserted_all(made: dict[Value, Value], added: Value) -> EvaluationError | None:
    """As `insert_map`; gives the error, or that which the map is."""
    if type(added) is EvaluationError:
        return added
    try:
        insert_map(made, added)
    except EvaluationError as error:
        return error
    return None
