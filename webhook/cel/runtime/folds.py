"""Comprehensions as loops.

`fold` does what cel-go's evalFold does with the parts of a comprehension, step for step. The loops made for `all`,
`exists` and the rest give the same values, errors and costs without going through the parts; what they count for an
element is what its share of condition and step costs in cel-go (interpreter/interpretable.go, runtimecost.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.cel.errors import EvaluationError
from webhook.cel.runtime.frame import count_built, draw
from webhook.cel.types.values import Value, from_key, to_key, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from webhook.cel.runtime.frame import Closure, Frame

_END: Final = object()


class Failure:
    """An error in the place of a fold's value; it is raised when the value is asked for."""

    __slots__ = ("error",)

    def __init__(self, error: EvaluationError) -> None:
        self.error = error


class Pending:
    """The value of `cel.bind` before it is first asked for."""

    __slots__ = ("initial",)

    def __init__(self, initial: Closure) -> None:
        self.initial = initial


def accumulator(slot: int, own_cost: int) -> Closure:
    """The closure of the name that holds a fold's value so far, or the value that `cel.bind` binds."""

    def read(frame: Frame) -> Value:
        frame[0] -= own_cost
        value = frame[slot]
        if type(value) is Pending:
            try:
                value = value.initial(frame)
            except EvaluationError as error:
                value = Failure(error)
            frame[slot] = value
        if type(value) is Failure:
            raise value.error
        return value

    return read


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


def _elements(value: Value) -> Iterator[Value]:
    if type(value) is list:
        return iter(value)
    if isinstance(value, dict):
        return map(from_key, value)
    name = type_of(value).name
    msg = f"got '{_GO_TYPES.get(name, name)}', expected iterable type"
    raise EvaluationError(msg)


class Loop:
    """What a comprehension goes over and where its variables are.

    Args:
        range_: The closure of the list or map.
        slot: The slot of the variable, or of the first of two.
        slot2: The slot of the second variable; None if there is but one.
    """

    __slots__ = ("range", "slot", "slot2")

    def __init__(self, range_: Closure, slot: int, slot2: int | None) -> None:
        self.range = range_
        self.slot = slot
        self.slot2 = slot2

    def run(self, frame: Frame) -> Iterator[None]:
        """Binds the variables to one element after the other."""
        value = self.range(frame)
        slot, slot2 = self.slot, self.slot2
        if slot2 is None:
            for element in _elements(value):
                frame[slot] = element
                yield
            return
        if type(value) is list:
            pairs: Iterator[tuple[Value, Value]] = enumerate(value)
        elif isinstance(value, dict):
            pairs = ((from_key(key), each) for key, each in value.items())
        else:
            msg = f"unsupported comprehension range type: {type_of(value).name}"
            raise EvaluationError(msg)
        for frame[slot], frame[slot2] in pairs:
            yield


def _no_such_overload() -> EvaluationError:
    return EvaluationError("no such overload")


def _holds(predicate: Closure, frame: Frame) -> bool:
    held = predicate(frame)
    if held is not True and held is not False:
        raise _no_such_overload()
    return bool(held)


def quantifier(loop: Loop, predicate: Closure, *, stops_at: bool) -> Closure:
    """`all`, which stops at the first false, and `exists`, at the first true; an error counts if nothing stops."""
    condition_cost = 3 if stops_at else 2
    element_cost = condition_cost + 1
    slot, range_ = loop.slot, loop.range
    binds_itself = loop.slot2 is None

    def quantify(frame: Frame) -> bool:
        failure: EvaluationError | None = None
        elements: Iterator[Value]
        if binds_itself:
            value = range_(frame)
            elements = iter(value) if type(value) is list else _elements(value)
        else:
            elements = loop.run(frame)
        for element in elements:
            if binds_itself:
                frame[slot] = element
            frame[0] -= element_cost
            if frame[0] < 0:
                draw(frame)
            try:
                held = predicate(frame)
                if type(held) is not bool:
                    raise _no_such_overload()
                if held is stops_at:
                    frame[0] -= 1 if next(elements, _END) is _END else 1 + condition_cost
                    return bool(held)
            except EvaluationError as error:
                failure = failure or error
        frame[0] -= 1
        if failure is not None:
            raise failure
        return not stops_at

    return quantify


def exactly_one(loop: Loop, predicate: Closure) -> Closure:
    """`exists_one`; it never stops early, and of several errors the last one counts."""

    def one(frame: Frame) -> bool:
        count = 0
        failure: EvaluationError | None = None
        for _ in loop.run(frame):
            if frame[0] < 0:
                draw(frame)
            try:
                if _holds(predicate, frame):
                    frame[0] -= 2
                    count += 1
            except EvaluationError as error:
                failure = error
        frame[0] -= 2
        if failure is not None:
            raise failure
        return count == 1

    return one


def collector(
    loop: Loop,
    predicate: Closure | None,
    insert: Callable[[Frame, Value], None],
    empty: type,
    after_failure: Callable[[Frame, Value], None] | None = None,
) -> Closure:
    """The comprehensions that make a list or a map.

    Of errors in predicates the last one counts, of errors in elements the first; either comes before the result.

    Args:
        loop: What it goes over.
        predicate: Which elements it takes; None for all.
        insert: Evaluates what is due for an element and puts it in.
        empty: What it begins with, `list` or `dict`.
        after_failure: Takes the place of `insert` from the first error on.
    """
    instead = after_failure or insert

    def collect(frame: Frame) -> Value:
        made = empty()
        put = insert
        failure: EvaluationError | None = None
        for _ in loop.run(frame):
            if frame[0] < 0:
                draw(frame)
            try:
                held = True if predicate is None else predicate(frame)
                if held is False:
                    continue
                if held is not True:
                    raise _no_such_overload()
            except EvaluationError as error:
                failure = error
                put = instead
                continue
            try:
                put(frame, made)
            except EvaluationError as error:
                failure = failure or error
                put = instead
        frame[0] -= 1
        if failure is not None:
            raise failure
        count_built(frame, made)
        return made

    return collect


def append(element: Closure, cost: int) -> Callable[[Frame, list[Value]], None]:
    """What `map` and `filter` do for an element."""

    def insert(frame: Frame, made: list[Value]) -> None:
        frame[0] -= cost
        made.append(element(frame))

    return insert


def skip(frame: Frame, _: Value) -> None:
    """What is done for an element after an error if the call that inserts has three arguments: it ends at the first."""
    frame[0] -= 1


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


def fold(loop: Loop, slot: int, initial: Closure, parts: tuple[Closure, Closure, Closure]) -> Closure:
    """Any comprehension, by its parts: condition, step and result; `slot` holds its value so far."""
    condition, step, result = parts

    def run(frame: Frame) -> Value:
        frame[slot] = Pending(initial)
        for _ in loop.run(frame):
            if frame[0] < 0:
                draw(frame)
            if condition(frame) is False:
                break
            try:
                value = step(frame)
            except EvaluationError as error:
                value = Failure(error)
            frame[slot] = value
        return result(frame)

    return run


def bind(slot: int, initial: Closure, result: Closure) -> Closure:
    """`cel.bind`: the value is computed when it is first asked for."""

    def run(frame: Frame) -> Value:
        frame[slot] = Pending(initial)
        return result(frame)

    return run


def insert_map(made: dict[Value, Value], entries: Value) -> None:
    """Puts the entries of a map into a map in the making.

    Raises:
        EvaluationError: One of the keys is there already.
    """
    if not isinstance(entries, dict):
        raise _no_such_overload()
    for key, value in entries.items():
        insert_entry(made, from_key(key), value)
