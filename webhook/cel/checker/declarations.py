"""Declarations of an environment: functions, variables, types and macros, bundled in libraries.

This is the way to extend the engine; `webhook.cel` has an example.

An implementation takes the argument values, the target first, and gives the value or raises `EvaluationError`; it is
called only with values of the declared types. Values of an opaque type are of a Python class with the class attribute
`cel_type`, as `webhook.cel.types.values` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.errors import Issues
from webhook.cel.overloads import Overload
from webhook.cel.syntax.grammar import Quoting
from webhook.cel.types.base import Type
from webhook.cel.types.values import Struct, Value
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.cel.costs import CostFunction, Estimate
    from webhook.cel.overloads import Implementation
    from webhook.cel.syntax.ast import Expression
    from webhook.cel.syntax.macros import Macro

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Signature(NamedTuple):
    """An overload, with the type parameters in its parameters, each once, in order of first appearance."""

    overload: Overload
    type_parameters: tuple[Type, ...]


class Function:
    """A function: its name, dots included (`sets.contains`), and its overloads."""

    __slots__ = ("name", "overloads")

    def __init__(self, name: str, *overloads: Overload) -> None:
        self.name = name
        self.overloads = overloads


def member(
    name: str,
    id_: str,
    parameters: tuple[Type, ...],
    result: Type,
    implementation: Implementation,
    **rest: Any,  # fields of Overload
) -> Function:
    """A function with one overload, which is called on a target."""
    return Function(name, Overload(id_, parameters, result, implementation, member=True, **rest))


class StructType(NamedTuple):
    """A type with typed fields, which expressions may select and, if it can be made, construct.

    Args:
        type: The type, from `webhook.cel.types.base.struct`.
        fields: The types of its fields; a custom mapping may compute them on demand.
        make: Makes a value from the fields that an expression sets; None for a plain `Struct`.
        family: Whether every name below its own, `Object.spec` below `Object`, is such a type too.
        name: Its name in expressions, if that is not the type's name.
    """

    type: Type
    fields: Mapping[str, Type]
    make: Callable[[dict[str, Value]], Value] | None = None
    family: bool = False
    name: str = ""

    def construct(self, fields: dict[str, Value]) -> Value:
        """The value with these fields."""
        return Struct(self.type, fields) if self.make is None else self.make(fields)


class Validator(NamedTuple):
    """A check of an expression whose types are known.

    Args:
        check: Takes a node and reports its errors.
        function: The function whose every call is checked; empty for a check of a whole expression in which a list or
            map of several elements is written out.
    """

    check: Callable[[Expression, Issues], None]
    function: str = ""


class Library(NamedTuple):
    """A bundle of declarations that an environment includes together.

    Args:
        name: A name for people.
        functions: Functions; overloads join those that the environment already has under the same name.
        macros: Macros; a later one replaces an earlier one with the same name, arity and style.
        types: Types that expressions can name, as in `type(x) == net.IP`.
        validators: Run on every expression once its types are checked.
        call_costs: By the name of a function or the id of an overload, costs that override those of overloads (as
            Kubernetes sets them).
        call_estimates: The same for estimates.
        optional_syntax: Whether `a.?b` and similar syntax is allowed.
    """

    name: str
    functions: tuple[Function, ...] = ()
    macros: tuple[Macro, ...] = ()
    variables: Mapping[str, Type] = _NOTHING
    types: tuple[Type, ...] = ()
    structs: tuple[StructType, ...] = ()
    validators: tuple[Validator, ...] = ()
    call_costs: Mapping[str, CostFunction] = _NOTHING
    call_estimates: Mapping[str, Estimate] = _NOTHING
    optional_syntax: bool = False


class EnvironmentOptions(NamedTuple):
    """The options of cel-go's environments.

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
        strict_optionals: Whether `or` and `orValue` of a value that is not optional are errors; Kubernetes returns the
            value until 1.36.
        quoting: What becomes of a.`b-c` (cel-go 0.23, EnableIdentifierEscapeSyntax).
    """

    container: str = ""
    homogeneous_literals: bool = False
    cross_type_numeric: bool = True
    fold_constants: bool = True
    presence_test_cost: int = 1
    strict_presence_test: bool = False
    strict_map_keys: bool = False
    strict_optionals: bool = False
    quoting: Quoting = Quoting.ALLOWED
