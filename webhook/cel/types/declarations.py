"""What an environment is made of: functions, variables, types, macros, bundled in libraries.

This is the way to extend the engine. A library is data::

    QUANTITY = opaque("kubernetes.Quantity")

    LIBRARY = Library(
        "quantity",
        functions=(
            Function("quantity", Overload("string_to_quantity", (STRING,), QUANTITY, parse_quantity)),
            Function("sign", Overload("quantity_sign", (QUANTITY,), INT, Quantity.sign, member=True)),
        ),
        types=(QUANTITY,),
    )

An implementation takes the argument values, the target first, and gives the value or raises `EvaluationError`; it is
called only with values of the declared types. Values of an opaque type are of a Python class with the class attribute
`cel_type`, as `webhook.cel.runtime.values` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.cel.runtime.values import Struct, Value

if TYPE_CHECKING:
    from webhook.cel.cost.sizes import CallEstimate, EstimatedNode, SizeOf
    from webhook.cel.errors import Issues
    from webhook.cel.syntax.ast import Expression
    from webhook.cel.syntax.macros import Macro
    from webhook.cel.types.base import Type

Implementation = Callable[..., Value]
CostFunction = Callable[[Sequence[Value], Value], int]
"""The cost of a call that was made, from its arguments (the target first) and its result.

In the place of an error, which is counted too, stands `webhook.cel.runtime.frame.FAILED`; its `size_of` is 1.
"""
CallCost = Callable[[str, Sequence[Value], Value], "int | None"]
"""As `CostFunction`, for all overloads of a function: overload id first; None leaves it to the overload."""
Estimate = Callable[["SizeOf", "EstimatedNode | None", "Sequence[EstimatedNode]"], "CallEstimate | None"]
"""The cost of a call before it is made, from its target and arguments and what is known of their sizes."""
CallEstimateFunction = Callable[
    ["SizeOf", str, "EstimatedNode | None", "Sequence[EstimatedNode]"], "CallEstimate | None"
]
"""As `Estimate`, for all overloads of a function: overload id second."""

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Overload:
    """One signature of a function.

    Args:
        id: Its name, unique in the environment; cel-go's, where cel-go has it.
        parameters: The types of the arguments; of a member, the target's first.
        result: The type of the result.
        implementation: Computes the result; None if the compiler does it itself.
        member: Whether it is called on a target, `target.f(x)`, and not as `f(target, x)`.
        cost: What a call costs at run time, a number or a function of arguments and result.
        estimate: What a call costs before it is made; None for the plain cost of 1.
    """

    id: str
    parameters: tuple[Type, ...]
    result: Type
    implementation: Implementation | None = None
    member: bool = False
    cost: int | CostFunction = 1
    estimate: Estimate | None = None


class Signature(NamedTuple):
    """An overload, and the type parameters in its parameters, each once, in the order in which they first come."""

    overload: Overload
    type_parameters: tuple[Type, ...]


class Function:
    """A function: its name, dots included (`sets.contains`), and its overloads."""

    __slots__ = ("name", "overloads")

    def __init__(self, name: str, *overloads: Overload) -> None:
        self.name = name
        self.overloads = overloads


@dataclass(frozen=True, slots=True, eq=False)
class StructType:
    """A type with typed fields, which expressions may select and, if it can be made, construct.

    Args:
        type: The type, from `webhook.cel.types.base.struct`.
        fields: The types of its fields; a mapping of one's own may find them as they are asked for.
        make: Makes a value from the fields that an expression sets; None for a plain `Struct`.
        family: Whether every name below its own, `Object.spec` below `Object`, is such a type too.
        name: What expressions call it, where that is not the type's name.
    """

    type: Type
    fields: Mapping[str, Type]
    make: Callable[[dict[str, Value]], Value] | None = None
    family: bool = False
    name: str = ""

    def construct(self, fields: dict[str, Value]) -> Value:
        """The value with these fields."""
        return Struct(self.type, fields) if self.make is None else self.make(fields)


@dataclass(frozen=True, slots=True)
class Validator:
    """A check of an expression whose types are known.

    Args:
        check: Takes a node and reports what it finds wrong.
        function: The function whose every call is checked; empty for a check of a whole expression in which a list or
            map of several elements is written out.
    """

    check: Callable[[Expression, Issues], None]
    function: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """What belongs together and comes to an environment together.

    Args:
        name: For people.
        functions: Functions; overloads join those that the environment already has under the same name.
        macros: Macros; a later one takes the place of an earlier one with the same name, arity and style.
        variables: Variables and their types.
        types: Types that expressions can name, as in `type(x) == net.IP`.
        structs: Types with fields.
        validators: Run on every expression once its types are checked.
        call_costs: By function name, costs that come before those of overloads (as Kubernetes sets them).
        call_estimates: By function name, estimates that come before those of overloads.
        optional_syntax: Whether `a.?b` and its like may be written.
    """

    name: str
    functions: tuple[Function, ...] = ()
    macros: tuple[Macro, ...] = ()
    variables: Mapping[str, Type] = field(default_factory=lambda: _NOTHING)
    types: tuple[Type, ...] = ()
    structs: tuple[StructType, ...] = ()
    validators: tuple[Validator, ...] = ()
    call_costs: Mapping[str, CallCost] = field(default_factory=lambda: _NOTHING)
    call_estimates: Mapping[str, CallEstimateFunction] = field(default_factory=lambda: _NOTHING)
    optional_syntax: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Where environments of cel-go differ.

    Args:
        container: The namespace in which names are looked up first, `a.b.c`.
        homogeneous_literals: Whether elements of a list or map must share one type (cel-go
            HomogeneousAggregateLiterals).
        cross_type_numeric: Whether `1 < 2.5` type-checks (cel-go CrossTypeNumericComparisons).
        fold_constants: Whether constants are folded before evaluation, as Kubernetes has it (cel-go OptOptimize).
        presence_test_cost: What `has(a.b)` costs beyond the selection of `a`: 1, or 0 as in Kubernetes.
        strict_presence_test: Whether `has(1.a)` and `1.?a` on dynamic values are errors (cel-go
            EnableErrorOnBadPresenceTest); Kubernetes has them false and absent.
        strict_map_keys: Whether `{1: 2, 1: 3}` and `{1.5: 2}` are errors, as the CEL specification wants and cel-go
            does not.
    """

    container: str = ""
    homogeneous_literals: bool = False
    cross_type_numeric: bool = True
    fold_constants: bool = True
    presence_test_cost: int = 1
    strict_presence_test: bool = False
    strict_map_keys: bool = False
