"""Comprehensions as loops.

The loops for `all`, `exists` and the rest give the values, errors and costs of cel-go's evalFold without going through
the parts of a comprehension; their cost of an element is the share of condition and step that it has there
(interpreter/interpretable.go, runtimecost.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from webhook.cel.errors import EvaluationError
from webhook.cel.functions import LIST_COST, MAP_COST
from webhook.cel.runtime.meter import Meter, caught
from webhook.cel.runtime.operators import no_such_overload
from webhook.cel.runtime.writer import GIVE_UP, NOT_CONSTANT, Operand, Writer
from webhook.cel.types.values import Value, from_key, go_type, to_key

if TYPE_CHECKING:
    from webhook.cel.syntax import ast
    from webhook.cel.syntax.ast import Expression

END: Final = object()
KEYS: Final = frozenset({int, str})
"""Classes of keys that maps hold unchanged."""
PENDING: Final = object()

# -- writing source


class Loop:
    """A loop in the source.

    Args:
        range_: The list or map that it iterates over.
        variables: The names of its variables, one or two.
        end_cost: The cost of its end.
        initial: The value of `failure` until there is an error.
        empty_cost: The cost of the empty list or map that it begins with, unless constants are folded.
    """

    def __init__(
        self,
        writer: Writer,
        range_: Operand,
        variables: tuple[str, ...],
        end_cost: int,
        initial: bool | None = None,
        empty_cost: int = 0,
    ) -> None:
        self._writer = writer
        self.variables = variables
        self.end_cost = end_cost
        self.elements = writer.name()
        self.failure = writer.name()
        """The variable that holds the resulting error."""
        self.fails = (range_.fails or range_.cls is not list) and not writer.gives_up
        text = range_.text
        plain = f"iter({text})" if len(variables) == 1 else f"enumerate({text})"
        writer.spend(0 if writer.scope.options.fold_constants else empty_cost)
        writer.settle()
        if initial is not None or not writer.gives_up:
            writer.line(f"{self.failure} = {initial}")
        if range_.cls is list and not range_.fails:
            writer.line(f"{self.elements} = {plain}")
            return
        writer.line(f"if type({text}) is list: {self.elements} = {plain}")
        found = f"left, {self.elements}, {self.failure} = elements(left, {text}, {end_cost}, {len(variables) > 1})"
        if initial is not None:
            found += f"; {self.failure} = {initial} if {self.failure} is None else {self.failure}"
        writer.otherwise("else:", found, self.failure)

    @contextmanager
    def body(self) -> Iterator[None]:
        """Writes the body of the loop."""
        with self._writer.block(f"for {', '.join(self.variables)} in {self.elements}:"):
            self._writer.look()
            yield

    def filter(self, *predicates: Expression) -> None:
        """Writes the test that skips elements for which a predicate does not hold."""
        for predicate in predicates:
            held = self._writer.truth(self._writer.emit(predicate))
            with self._writer.block(f"if {held.text} is not True:"):
                if held.fails or held.cls is not bool:
                    with self._writer.block(f"if {held.text} is not False:"):
                        self.fail(f"not_bool({held.text})", is_last=True)
                self._writer.line("continue")

    def fail(self, error: str, *, is_last: bool = False) -> None:
        """Notes an error; the first or the last counts."""
        if self._writer.gives_up:
            self._writer.line(GIVE_UP)
            return
        self.fails = True
        self._writer.line(f"{self.failure} = {error if is_last else f'{self.failure} or {error}'}")

    def end(self, result: Operand, *, is_built: bool = False) -> Operand:
        """Writes the code after the loop."""
        self._writer.spend(self.end_cost)
        built = self._writer.built(result.text) if is_built else "pass"
        if self.fails:
            self._writer.line(f"if {self.failure} is not None: {result.text} = {self.failure}")
            built = f"else: {built}"
        if is_built:
            self._writer.line(built)
        return result._replace(fails=self.fails)


def _quantifier(writer: Writer, loop: Loop, node: ast.Comprehension, *, stops_at: bool) -> Operand:
    """`all`, which stops at the first false, and `exists`, at the first true; the first error counts if nothing stops.

    The error takes the place of the result.
    """
    condition_cost = 3 if stops_at else 2
    result = loop.failure
    with loop.body():
        writer.spend(condition_cost + 1)
        held = writer.truth(writer.emit(node.parts[0]))
        is_bool = held.cls is bool and not held.fails
        with writer.block(f"if {held.text} is not {not stops_at}:"):
            with writer.block("if True:" if is_bool else f"if {held.text} is {stops_at}:"):
                writer.line(f"if next({loop.elements}, END) is not END: left -= {condition_cost}")
                writer.line(f"{result} = {stops_at}")
                writer.line("break")
            if not is_bool:
                writer.line(f"if {result} is {not stops_at}: {result} = not_bool({held.text})")
    writer.spend(loop.end_cost)
    return Operand(result, bool, fails=loop.fails or not is_bool)


def _exactly_one(writer: Writer, loop: Loop, node: ast.Comprehension) -> Operand:
    """`exists_one`; it never stops early, and the last of several errors counts."""
    count, result = writer.set("0"), writer.name()
    with loop.body():
        loop.filter(node.parts[0])
        writer.spend(2)
        writer.line(f"{count} += 1")
    writer.line(f"{result} = {count} == 1")
    return loop.end(Operand(result, bool))


def _list(writer: Writer, loop: Loop, node: ast.Comprehension) -> Operand:
    """`map`, `filter` and `transformList`.

    The last error in predicates counts, and the first error in elements; either takes precedence over the result.
    """
    result = writer.set("[]")
    is_constant = writer.constant_of(node.parts[0]) is not NOT_CONSTANT
    with loop.body():
        loop.filter(*node.parts[1:])
        writer.spend(2 if is_constant else 2 + LIST_COST)
        element = writer.emit(node.parts[0])
        appended = f"{result}.append({element.text})"
        if element.fails:
            with writer.block(f"if type({element.text}) is EvaluationError:"):
                loop.fail(element.text)
            appended = f"else: {appended}"
        writer.line(appended)
    return loop.end(Operand(result, list), is_built=True)


def _map(writer: Writer, loop: Loop, node: ast.Comprehension, *, has_keys: bool) -> Operand:
    """`transformMap`, which keeps the keys, and `transformMapEntry`; errors count as for lists."""
    result = writer.set("{}")
    with loop.body():
        loop.filter(*node.parts[1:])
        if has_keys and not writer.gives_up:  # the call has three arguments, and ends at the first after an error
            with writer.block(f"if {loop.failure} is not None:"):
                writer.line("left -= 1")
                writer.line("continue")
        writer.spend(3 if has_keys else 2)
        value = writer.emit(node.parts[0])
        writer.settle()
        error, key = writer.name(), loop.variables[0]
        if has_keys:
            is_plain = f"type({key}) in KEYS and {key} not in {result} and type({value.text}) is not EvaluationError"
            writer.line(f"if {is_plain}: {result}[{key}] = {value.text}; continue")
            writer.line(f"{error} = inserted(insert_entry, {result}, {key}, {value.text})")
        else:
            writer.line(f"{error} = inserted(insert_map, {result}, {value.text})")
        with writer.block(f"if {error} is not None:"):
            loop.fail(error)
    return loop.end(Operand(result, dict), is_built=True)


Emit = Callable[[Writer, Loop, "ast.Comprehension"], Operand]
LOOPS: Final[Mapping[str, tuple[Emit, tuple[int, bool | None, int]]]] = {
    "all": (partial(_quantifier, stops_at=False), (1, True, 0)),
    "exists": (partial(_quantifier, stops_at=True), (1, False, 0)),
    "exists_one": (_exactly_one, (2, None, 0)),
    "map": (_list, (1, None, LIST_COST)),
    "transformMap": (partial(_map, has_keys=True), (1, None, MAP_COST)),
    "transformMapEntry": (partial(_map, has_keys=False), (1, None, MAP_COST)),
}
"""The writers of macros' loops, by the shape of the comprehension, with the last arguments of `Loop`."""


def emit_cell(writer: Writer, initial: Expression) -> Operand:
    """Writes a value that is computed on first use; gives the cell that holds it."""
    known = writer.constant_of(initial)
    if known is not NOT_CONSTANT:
        return Operand(writer.set(f"Lazy(None, (), {writer.constant(known).text})"))
    name, taken, _ = writer.function(lambda: writer.emit(initial))
    return Operand(writer.set(f"Lazy({name}, ({''.join(f'{each}, ' for each in taken)}))"))


def emit_read(writer: Writer, cell: Operand) -> Operand:
    """Writes the read of such a value, or of a fold's value so far."""
    writer.settle()
    result = writer.set(f"{cell.text}.value")
    writer.line(f"if {result} is PENDING: left, mark, {result} = {cell.text}.force(meter, left, mark)")
    return Operand(result)


# -- called by the source


class Lazy:
    """A value that is computed on first use; a fold sets it anew.

    Args:
        function: The generated function that computes it.
        taken: Its arguments after the meter, the rest of the cost and the mark.
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
        """Computes the value: the rest of the cost, the next mark, the value or error."""
        assert self._function is not None  # noqa: S101 - else the value is known
        left, mark, self.value = self._function(meter, left, mark, *self._taken)
        return left, mark, self.value


def elements(left: int, value: Value, end: int, has_two: bool) -> tuple[int, Iterator[Value], EvaluationError | None]:
    """The elements of a loop with one variable, or the entries of one with two.

    If the value has none, the cost of the end is refunded.
    """
    if isinstance(value, dict):
        found = ((from_key(key), each) for key, each in value.items()) if has_two else map(from_key, value)
        return left, found, None
    error = value
    if type(value) is not EvaluationError:
        text = "unsupported comprehension range type: {}" if has_two else "got '{}', expected iterable type"
        try:
            error = EvaluationError(text.format(go_type(value)))
        except EvaluationError:
            error = caught()
    return left + end, iter(()), error


def insert_entry(made: dict[Value, Value], key: Value, value: Value) -> None:
    """Puts an entry into a map under construction.

    Raises:
        EvaluationError: The key exists already.
    """
    inner = to_key(key)
    if inner in made:
        raise EvaluationError(f"insert failed: key {key} already exists")
    made[inner] = value


def insert_map(made: dict[Value, Value], added: Value) -> None:
    """Puts the entries of a map into a map under construction.

    Raises:
        EvaluationError: One of the keys exists already.
    """
    if not isinstance(added, dict):
        raise no_such_overload()
    for key, value in added.items():
        insert_entry(made, from_key(key), value)


def inserted(insert: Callable[..., None], *arguments: Value) -> EvaluationError | None:
    """Inserts into a map under construction; gives the error, which may be the value itself."""
    if type(arguments[-1]) is EvaluationError:
        return arguments[-1]
    try:
        insert(*arguments)
    except EvaluationError:
        return caught()
    return None
