"""Quantities, `quantity("1.5Gi")` (library/quantity.go)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple, TypeGuard

from webhook.budget import READ, work
from webhook.cel.checker.declarations import Library
from webhook.cel.errors import EvaluationError, succeeds
from webhook.cel.functions import Overload, member
from webhook.cel.runtime.operators import compare
from webhook.cel.types.base import BOOL, DOUBLE, INT, STRING, struct
from webhook.cel.types.values import only_class
from webhook.formats import quantities

QUANTITY: Final = struct("kubernetes.Quantity")


@only_class(QUANTITY)
class Quantity(NamedTuple):
    """A quantity, as a value of expressions; `computed` if it is the result of `add` or `sub`."""

    number: quantities.Quantity
    computed: bool = False

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
    """Read a quantity.

    Raises:
        EvaluationError: The text is invalid.
    """
    if len(text) <= _SHORT:
        return _parse_short(text)
    work(len(text) // READ)
    return _parse(text)


def _parse(text: str) -> Quantity:
    try:
        return Quantity(quantities.parse_quantity(text))
    except ValueError as error:
        raise EvaluationError(str(error)) from None


_SHORT: Final = 32
_parse_short = lru_cache(maxsize=1024)(_parse)
"""Quantities recur, not least the constants of policies."""


def _as_integer(quantity: Quantity) -> int:
    if (number := quantity.number.as_int64()) is None:
        raise EvaluationError("cannot convert value to integer")
    return number


_ONE: Final = (QUANTITY,)
_TWO: Final = (QUANTITY, QUANTITY)


def _sum(name: str, *, negated: bool) -> tuple[Overload, Overload]:
    def computed(one: Quantity, other: Quantity | int) -> Quantity:
        number = other.number if isinstance(other, Quantity) else quantities.whole_quantity(other)
        return Quantity(one.number + (-number if negated else number), computed=True)

    return (
        member(name, f"quantity_{name}", _TWO, QUANTITY, computed),
        member(name, f"quantity_{name}_int", (QUANTITY, INT), QUANTITY, computed),
    )


LIBRARY: Final = Library(
    functions=(
        Overload("quantity", "string_to_quantity", (STRING,), QUANTITY, parse),
        Overload("isQuantity", "is_quantity_string", (STRING,), BOOL, succeeds(parse)),
        Overload("sign", "quantity_sign", (QUANTITY,), INT, lambda quantity: quantity.number.sign),
        member("isGreaterThan", "quantity_is_greater_than", _TWO, BOOL, lambda one, other: one.number > other.number),
        member("isLessThan", "quantity_is_less_than", _TWO, BOOL, lambda one, other: one.number < other.number),
        member("compareTo", "quantity_compare_to", _TWO, INT, lambda one, other: compare(one.number, other.number)),
        member("asApproximateFloat", "quantity_get_float", _ONE, DOUBLE, lambda one: one.number.approximately()),
        member("asInteger", "quantity_get_int", _ONE, INT, _as_integer),
        member("isInteger", "quantity_is_integer", _ONE, BOOL, lambda one: one.number.as_int64() is not None),
        *_sum("add", negated=False),
        *_sum("sub", negated=True),
    ),
)
