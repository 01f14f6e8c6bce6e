"""Quantities, `quantity("1.5Gi")` (library/quantity.go)."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Final, TypeGuard

from webhook import formats
from webhook.budget import READ, work
from webhook.cel.checker.declarations import Library
from webhook.cel.errors import EvaluationError, succeeds
from webhook.cel.functions import Function, Overload, member
from webhook.cel.types.base import BOOL, DOUBLE, INT, STRING, Type, struct
from webhook.cel.types.values import only_class

QUANTITY: Final = struct("kubernetes.Quantity")


@only_class
class Quantity:
    """A quantity, as a value of expressions; `computed` if it is the result of `add` or `sub`."""

    __slots__ = ("computed", "number")
    cel_type: ClassVar[Type] = QUANTITY

    def __init__(self, number: formats.Quantity, *, computed: bool = False) -> None:
        self.number = number
        self.computed = computed

    def __eq__(self, other: object) -> bool:
        """Quantities are equal if their numbers are, however written; but no value equals a computed one."""
        return self.cel_takes(other) and self.number == other.number

    def cel_takes(self, other: object) -> TypeGuard[Quantity]:
        """Whether a value is allowed on the right of `==`.

        Upstream, `add` and `sub` return a pointer to a quantity, which apiserver/pkg/cel/quantity.go does not expect.
        """
        return isinstance(other, Quantity) and not other.computed

    def __hash__(self) -> int:
        """Equal quantities hash alike."""
        return hash(self.number)


def parse(text: str) -> Quantity:
    """Reads a quantity.

    Raises:
        EvaluationError: The text is invalid.
    """
    if len(text) <= _SHORT:
        return _parse_short(text)
    work(len(text) // READ)
    return _parse(text)


def _parse(text: str) -> Quantity:
    try:
        return Quantity(formats.parse_quantity(text))
    except ValueError as error:
        raise EvaluationError(str(error)) from None


_SHORT: Final = 32
_parse_short = lru_cache(maxsize=1024)(_parse)
"""Quantities recur, not least the constants of policies."""


def _as_integer(quantity: Quantity) -> int:
    number = quantity.number.as_int64()
    if number is None:
        raise EvaluationError("cannot convert value to integer")
    return number


def _compare(one: Quantity, other: Quantity) -> int:
    return (one.number > other.number) - (one.number < other.number)


def _number(value: Quantity | int) -> formats.Quantity:
    return value.number if isinstance(value, Quantity) else formats.whole_quantity(value)


def _add(one: Quantity, other: Quantity | int) -> Quantity:
    return Quantity(one.number + _number(other), computed=True)


def _subtract(one: Quantity, other: Quantity | int) -> Quantity:
    return Quantity(one.number + -_number(other), computed=True)


_ONE: Final = (QUANTITY,)
_TWO: Final = (QUANTITY, QUANTITY)


LIBRARY: Final = Library(
    "kubernetes.quantity",
    functions=(
        Function("quantity", Overload("string_to_quantity", (STRING,), QUANTITY, parse)),
        Function("isQuantity", Overload("is_quantity_string", (STRING,), BOOL, succeeds(parse))),
        Function("sign", Overload("quantity_sign", (QUANTITY,), INT, lambda quantity: quantity.number.sign)),
        member("isGreaterThan", "quantity_is_greater_than", _TWO, BOOL, lambda one, other: one.number > other.number),
        member("isLessThan", "quantity_is_less_than", _TWO, BOOL, lambda one, other: one.number < other.number),
        member("compareTo", "quantity_compare_to", _TWO, INT, _compare),
        member("asApproximateFloat", "quantity_get_float", _ONE, DOUBLE, lambda one: one.number.approximately()),
        member("asInteger", "quantity_get_int", _ONE, INT, _as_integer),
        member("isInteger", "quantity_is_integer", _ONE, BOOL, lambda one: one.number.as_int64() is not None),
        Function(
            "add",
            Overload("quantity_add", _TWO, QUANTITY, _add, member=True),
            Overload("quantity_add_int", (QUANTITY, INT), QUANTITY, _add, member=True),
        ),
        Function(
            "sub",
            Overload("quantity_sub", _TWO, QUANTITY, _subtract, member=True),
            Overload("quantity_sub_int", (QUANTITY, INT), QUANTITY, _subtract, member=True),
        ),
    ),
)
