"""Operators on values of any type, with exact 64-bit arithmetic (cel-go common/types).

The cost of `==` and `in` depends on the outermost size at most, as in cel-go, so comparing large values may cost one
unit; but it is work for the budget in force, which looks at the clock in between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, product, repeat
from operator import add, ge, gt, le, lt, mul, neg, sub
from typing import Any, Final, NoReturn

from webhook.budget import work
from webhook.cel.errors import NO_SUCH_OVERLOAD, NO_SUCH_OVERLOAD_OF, CostLimitExceededError, EvaluationError
from webhook.cel.types.base import Type
from webhook.cel.types.values import (
    ABSENT,
    INT_MAX,
    INT_MIN,
    Duration,
    Optional,
    Struct,
    Timestamp,
    UInt,
    Value,
    are_comparable,
    int64,
    to_key,
    uint64,
)

MAX_ELEMENTS: Final = 1 << 22
"""The longest list or text that an expression may build; cel-go has no such bound, but joins lists without copying."""
_NUMBERS: Final = frozenset({int, UInt, float})
COMPARABLE: Final = frozenset({int, UInt, float, str, bytes, bool, Duration, Timestamp})
RECEIVERS: Final = frozenset({str, Duration, Timestamp})
"""The types to which cel-go delegates calls without an overload (traits.ReceiverType in common/types/types.go)."""
CONTAINERS: Final = frozenset({list, dict})
_PLAIN: Final = frozenset({str, int, bool, float, bytes, UInt, type(None), Timestamp, Duration})


def no_such_overload(name: str = "") -> EvaluationError:
    """The error of an operator on unsuitable values; cel-go names it if the first value alone rules it out."""
    return EvaluationError(NO_SUCH_OVERLOAD_OF, name) if name else EvaluationError(NO_SUCH_OVERLOAD)


def to_double(number: float) -> float:
    """A number as a double; whole numbers beyond 53 bits lose digits, in comparisons of cel-go, too."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


# -- equality


def equal(first: Value, second: Value, *, otherwise: bool = False) -> bool:  # noqa: PLR0911 - one for each kind
    """`first == second`: numbers of different types compare by value, other values of different types are unequal.

    Args:
        otherwise: The result where comparing the two is an error, `webhook.cel.types.values.are_comparable`. Elements
            and entries count as equal then (cel-go common/types/list.go and map.go, Equal).
    """
    cls, other = type(first), type(second)
    if cls in _NUMBERS:
        if other not in _NUMBERS:
            return False
        if cls is not other and (cls is float or other is float):
            return to_double(first) == to_double(second)
        return bool(first == second)
    if cls in _PLAIN:
        return cls is other and bool(first == second)
    if cls is list or isinstance(first, dict):
        return Comparison().equal(first, second)
    if cls is Optional:
        return (
            other is Optional
            and first.present is second.present
            and (not first.present or equal(first.value, second.value, otherwise=otherwise))
        )
    if cls is Type:
        return other is Type and first.name == second.name
    return bool(first == second) if are_comparable(first, second) else otherwise


_PER_UNIT: Final = 8
"""The number of elements compared for a unit of work."""
_STRIDE: Final = 800
"""The most elements compared between two looks at the budget: some tenths of a millisecond."""
_TEXTS: Final = 64
"""The number of texts compared for a unit of work."""
_FEW: Final = 1000
"""How many lists and maps in a value are compared without looking for shared ones, which takes longer."""
_KEPT: Final = 10_000
"""How many pairs of equal parts are remembered at a time: some megabytes."""


def _are_alike(first: Value, second: Value) -> bool:
    """Whether a map and a value are of the same type and size."""
    if not isinstance(second, dict) or len(first) != len(second):
        return False
    are_plain = type(first) is dict and type(second) is dict
    return are_plain or getattr(first, "cel_type", None) == getattr(second, "cel_type", None)


def worked(elements: Iterable[Value], count: int) -> Iterable[Value]:
    """The elements of a value, which are work, whatever they cost; that of very many is spent in strides."""
    if count > _STRIDE:
        return _strides(iter(elements), count)
    work(1 + count // _PER_UNIT)
    return elements


def _strides(elements: Iterator[Value], count: int) -> Iterator[Value]:
    for start in range(0, count, _STRIDE):
        work(1 + min(count - start, _STRIDE) // _PER_UNIT)
        yield from islice(elements, _STRIDE)


class Comparison:
    """Compares lists and maps of any size, and the parts that they share only once."""

    __slots__ = ("_known", "_parts")

    def __init__(self) -> None:
        self._parts = 0
        self._known: set[tuple[int, int]] = set()
        """Parts that are equal, by their identities: both live as long as the values that they are parts of."""

    def equal(self, first: Value, second: Value) -> bool:
        """`first == second`, as `equal` has it, of which the first is a list or map."""
        if type(first) is list:
            if type(second) is not list or len(first) != len(second):
                return False
            pairs = zip(first, second, strict=True)
        elif _are_alike(first, second):
            pairs = zip(first.values(), map(second.get, first, repeat(ABSENT)), strict=True)
        else:
            return False
        for one, other in worked(pairs, len(first)):
            if type(one) in CONTAINERS:
                self._parts += 1
                if not (self.equal(one, other) if self._parts <= _FEW else self._are_shared_equal(one, other)):
                    return False
            elif other is ABSENT or not equal(one, other, otherwise=True):
                return False
        return True

    def _are_shared_equal(self, one: Value, other: Value) -> bool:
        """Compare parts of values, of which there are very many: those that are shared are compared only once."""
        pair = id(one), id(other)
        if pair in self._known:
            return True
        if not self.equal(one, other):
            return False
        if len(self._known) == _KEPT:
            self._known.clear()
        self._known.add(pair)
        return True


def contains(item: Value, container: Value) -> bool:
    """`item in container`, a list or a map."""
    cls = type(item)
    if type(container) is list:
        if cls is str:  # the search is too fast to be interrupted
            work(1 + len(container) // _TEXTS)
            return item in container
        compare = Comparison().equal if cls in CONTAINERS else equal
        for each in worked(container, len(container)):  # noqa: SIM110 - as quick as it can be
            if compare(item, each):
                return True
        return False
    if isinstance(container, Struct):
        return cls is str and item in container
    if not isinstance(container, dict):
        raise no_such_overload()
    if cls is str or cls in _NUMBERS:
        return item in container
    return cls is bool and to_key(item) in container


# -- arithmetic and order

Operation = Callable[..., Value]


def must_fit(size: int, most: int = MAX_ELEMENTS) -> None:
    """Stop an evaluation before it builds a list or text beyond all bounds.

    Raises:
        CostLimitExceededError: The size is too large, and would have cost more than any limit.
    """
    if size > most:
        raise CostLimitExceededError(f"a list or text of {size} elements is larger than {most}")


def _on_whole_numbers(compute: Callable[[int, int], int]) -> dict[object, Operation]:
    def of_ints(first: int, second: int) -> Value:
        value = compute(first, second)
        return value if INT_MIN <= value <= INT_MAX else int64(value)  # an error, without a call for all others

    return {(int, int): of_ints, (UInt, UInt): lambda first, second: uint64(compute(first, second))}


def _joined(first: Value, second: Value) -> Value:
    must_fit(len(first) + len(second))
    return first + second


def _later(moment: Timestamp, span: Duration) -> Timestamp:
    return Timestamp(moment.nanos + span.nanos, moment.offset)


def _earlier(moment: Timestamp, span: Duration) -> Timestamp:
    return Timestamp(moment.nanos + int64(-span.nanos), moment.offset)  # Go negates the duration


def _between(first: Timestamp, second: Timestamp) -> Duration:
    return Duration(int64(first.nanos - second.nanos))


def _quotient(first: int, second: int) -> int:
    """Truncate towards zero."""
    if second == 0:
        raise EvaluationError("division by zero")
    quotient = abs(first) // abs(second)
    return quotient if (first < 0) == (second < 0) else -quotient


def _ratio(first: float, second: float) -> float:
    if second != 0:
        return first / second
    if first == 0 or math.isnan(first):
        return math.nan
    return math.copysign(math.inf, first) * math.copysign(1, second)


def _remainder(first: int, second: int) -> int:
    """Has the sign of the first."""
    if second == 0:
        raise EvaluationError("modulus by zero")
    if first == INT_MIN and second == -1:
        raise EvaluationError("integer overflow")
    remainder = abs(first) % abs(second)
    return -remainder if first < 0 else remainder


def _ordered(compare: Callable[[Value, Value], bool]) -> dict[object, Operation]:
    """A comparison; numbers of different types compare by value."""

    def doubles(first: float, second: float) -> bool:
        if first != first or second != second:  # noqa: PLR0124 - NaN is what differs from itself
            raise EvaluationError("NaN values cannot be ordered")
        return compare(to_double(first), to_double(second))

    return {
        **{pair: doubles if float in pair else compare for pair in product(_NUMBERS, repeat=2)},
        **{(cls, cls): compare for cls in (str, bytes, bool)},
        **{(cls, cls): lambda one, other: compare(one.nanos, other.nanos) for cls in (Timestamp, Duration)},
    }


def _not_negated(_: bool) -> NoReturn:
    """Refuse `-true` without the name of the operator, as cel-go does."""
    raise no_such_overload()


OPERATORS: Final[Mapping[str, Mapping[object, Operation]]] = {
    "_+_": {
        **_on_whole_numbers(add),
        (float, float): add,
        **{(cls, cls): _joined for cls in (str, bytes, list)},
        (Duration, Duration): lambda first, second: Duration(int64(first.nanos + second.nanos)),
        (Timestamp, Duration): _later,
        (Duration, Timestamp): lambda span, moment: _later(moment, span),
    },
    "_-_": {
        **_on_whole_numbers(sub),
        (float, float): sub,
        **{(cls, cls): _between for cls in (Timestamp, Duration)},
        (Timestamp, Duration): _earlier,
    },
    "_*_": {**_on_whole_numbers(mul), (float, float): mul},
    "_/_": {**_on_whole_numbers(_quotient), (float, float): _ratio},
    "_%_": _on_whole_numbers(_remainder),
    "-_": {
        int: lambda number: int64(-number),
        float: neg,
        Duration: lambda span: Duration(int64(-span.nanos)),
        bool: _not_negated,
    },
    "_<_": _ordered(lt),
    "_<=_": _ordered(le),
    "_>_": _ordered(gt),
    "_>=_": _ordered(ge),
    "size": dict.fromkeys((str, bytes, list, dict), len),
}
"""The implementations of operators, by the class of their operand, or the classes of both."""
_OPERANDS: Final = {
    name: frozenset(key[0] if isinstance(key, tuple) else key for key in known) for name, known in OPERATORS.items()
}
"""The classes of first operands for which an operator is not named in its refusal."""


def operate(name: str, first: Value, second: Value) -> Value:
    """The result of an operator for two operands.

    Raises:
        EvaluationError: It has none for these.
    """
    found = OPERATORS[name].get((type(first), type(second)))
    if found is None:
        raise refusal_of(name, first)
    return found(first, second)


def refusal_of(name: str, first: Value) -> EvaluationError:
    """The error of an operator for unsuitable operands."""
    return no_such_overload("" if type(first) in _OPERANDS[name] | RECEIVERS else name)


def precedes(one: Value, other: Value) -> bool:
    """Whether a value is less than another; of values of different types, none is, nor is NaN."""
    try:
        return bool(operate("_<_", one, other))
    except EvaluationError:
        return False


def compare(one: Any, other: Any) -> int:  # two values that have an order
    """-1, 0 or 1, as a value is less than another, equal or greater."""
    return -1 if one < other else int(one > other)
