"""Declarations of an environment: functions, variables, types and macros, bundled in libraries, and what they mean.

This is the way to extend the engine; `webhook.cel` has an example.

An implementation takes the argument values, the target first, and gives the value or raises `EvaluationError`; it is
called only with values of the declared types. Values of an opaque type are of a Python class with the class attribute
`cel_type`, as `webhook.cel.types.values` says.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self, TypeVar

from webhook.cel.errors import Issues
from webhook.cel.functions import Overload
from webhook.cel.syntax.lexer import Quoting
from webhook.cel.types import base as types
from webhook.cel.types.base import Type
from webhook.cel.types.values import Struct, Value

if TYPE_CHECKING:
    from webhook.cel.functions import CostFunction, Estimate
    from webhook.cel.syntax.ast import Expression
    from webhook.cel.syntax.macros import Macro

    _Key = TypeVar("_Key")
    _Value = TypeVar("_Value")


_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


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
        function: The function whose every call is checked; empty for a check of each list and map of several elements
            that is written out.
    """

    check: Callable[[Expression, Issues], None]
    function: str = ""


class Library(NamedTuple):
    """A bundle of declarations that an environment includes together.

    Args:
        functions: Overloads of functions; they join those that the environment already has under the same name.
        macros: Macros; a later one replaces an earlier one with the same name, arity and style.
        types: Types that expressions can name, as in `type(x) == net.IP`.
        validators: Run on every expression once its types are checked.
        call_costs: By the name of a function or the id of an overload, costs that override those of overloads (as
            Kubernetes sets them).
        call_estimates: The same for estimates.
        optional_syntax: Whether `a.?b` and similar syntax is allowed.
    """

    functions: tuple[Overload, ...] = ()
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
        homogeneous_literals: Whether elements of a list or map must share one type (cel-go
            HomogeneousAggregateLiterals).
        cross_type_numeric: Whether `1 < 2.5` type-checks (cel-go CrossTypeNumericComparisons).
        fold_constants: Whether constants are folded before evaluation, as Kubernetes has it (cel-go OptOptimize).
        presence_test_cost: The cost of `has(a.b)` beyond the selection of `a`: 1, or 0 as in Kubernetes.
        strict_optionals: Whether `or` and `orValue` of a value that is not optional are errors; Kubernetes returns the
            value until 1.36.
        quoting: The treatment of a.`b-c` (cel-go 0.23, EnableIdentifierEscapeSyntax).
    """

    homogeneous_literals: bool = False
    cross_type_numeric: bool = True
    fold_constants: bool = True
    presence_test_cost: int = 1
    strict_optionals: bool = False
    quoting: Quoting = Quoting.ALLOWED


ORDERS: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})


class Checked(NamedTuple):
    """An expression whose types are known."""

    text: str
    root: Expression
    type: Type


class Scope:
    """The meanings of names: the functions, variables, types and macros of libraries; immutable."""

    always: ClassVar[tuple[Library, ...]] = ()
    """The libraries of every scope."""

    def __init__(
        self,
        libraries: Iterable[Library] = (),
        *,
        variables: Mapping[str, Type] | None = None,
        options: EnvironmentOptions | None = None,
    ) -> None:
        self.options = options or EnvironmentOptions()
        self.functions: Mapping[str, tuple[Overload, ...]] = {}
        self.namespaced: frozenset[str] = frozenset()
        """The last parts of the names of functions with dots."""
        self.macros: Mapping[tuple[str, int, bool], Macro] = {}
        self.variables: Mapping[str, Type] = {}
        self.types: Mapping[str, Type] = {}
        self.structs: Mapping[str, StructType] = {}
        self.validators: Mapping[str, tuple[Validator, ...]] = {}
        self.call_costs: Mapping[str, CostFunction] = {}
        self.call_estimates: Mapping[str, Estimate] = {}
        self.optional_syntax = False
        self.dotted_roots: frozenset[str] = frozenset()
        """The first parts of all other names with dots."""
        self._overloads: dict[tuple[str, int, bool], tuple[Overload, ...]] = {}
        self._add((*self.always, *libraries, Library(variables=variables or {})))

    def _add(self, libraries: Sequence[Library]) -> None:
        """Add to an environment under construction; shared parts are replaced, not changed."""
        if added := [overload for library in libraries for overload in library.functions]:
            functions = dict(self.functions)
            for each in added:
                known = functions.get(each.name, ())
                if each.id not in {overload.id for overload in known}:
                    functions[each.name] = (*known, each)
            self.functions = functions
            self.namespaced = frozenset(name.rpartition(".")[2] for name in functions if "." in name)
            self._overloads = {}
        validators = dict(self.validators)
        for library in libraries:
            macros = {(each.name, each.arity, each.member): each for each in library.macros}
            self.macros = _joined(self.macros, macros)
            self.variables = _joined(self.variables, library.variables)
            self.types = _joined(self.types, {each.name: types.type_of(each) for each in library.types})
            self.structs = _joined(self.structs, {each.name or each.type.name: each for each in library.structs})
            self.call_costs = _joined(self.call_costs, library.call_costs)
            self.call_estimates = _joined(self.call_estimates, library.call_estimates)
            self.optional_syntax = self.optional_syntax or library.optional_syntax
            for validator in library.validators:
                before = validators.get(validator.function, ())
                validators[validator.function] = before if validator in before else (*before, validator)
        self.validators = validators
        dotted = {name.partition(".")[0] for name in (*self.variables, *self.types, *self.structs) if "." in name}
        self.dotted_roots = frozenset(dotted.union(name for name, each in self.structs.items() if each.family))

    def extend(
        self,
        *libraries: Library,
        variables: Mapping[str, Type] | None = None,
        **options: Any,  # fields of EnvironmentOptions
    ) -> Self:
        """An environment with more libraries, with variables added or given other types, and with other options."""
        extended = copy.copy(self)
        if options:
            extended.options = self.options._replace(**options)
            extended._overloads = {}  # noqa: SLF001 - it is in the making
        extended._add((*libraries, Library(variables=variables or {})))  # noqa: SLF001 - as above
        return extended

    def overloads(self, function: str, arity: int, *, member: bool) -> tuple[Overload, ...]:
        """The overloads of a function for one form of call; the target of a member counts as an argument."""
        key = (function, arity, member)
        if (found := self._overloads.get(key)) is None:
            known = [each for each in self.functions[function] if each.member is member]
            found = tuple(each for each in known if len(each.parameters) == arity)
            if function in ORDERS and not self.options.cross_type_numeric:  # of numbers of one type
                found = tuple(each for each in found if len({*each.parameters}) == 1)
            if found:  # the number of invalid calls is unlimited
                self._overloads[key] = found
        return found

    def struct(self, name: str) -> StructType | None:
        """The struct type of a full name, declared by itself or through its family."""
        if (declared := self.structs.get(name)) is None:
            above, rest = None, name
            while above is None and (rest := rest.rpartition(".")[0]):
                above = self.structs.get(rest)
            if above is not None and above.family:
                return above._replace(type=types.struct(name))
        return declared


def _joined(known: Mapping[_Key, _Value], added: Mapping[_Key, _Value]) -> Mapping[_Key, _Value]:
    """Both mappings; one is not copied if the other is empty, as this runs for each variable of a policy."""
    return {**known, **added} if added else known
