"""The scope of an expression: the meanings of its names."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from webhook.cel.checker.declarations import EnvironmentOptions, Function, Library, Signature, StructType, Validator
from webhook.cel.checker.inference import type_parameters
from webhook.cel.types import base as types
from webhook.cel.types.base import Type
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.cel.costs import CostFunction, Estimate
    from webhook.cel.overloads import Overload
    from webhook.cel.syntax.ast import Expression
    from webhook.cel.syntax.macros import Macro

    _Key = TypeVar("_Key")
    _Value = TypeVar("_Value")

_COMPARISONS: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_NUMERIC: Final = frozenset({types.INT, types.UINT, types.DOUBLE})


class Checked(NamedTuple):
    """An expression that was parsed and, unless checking was left out, type-checked; else its type is `dyn`."""

    text: str
    root: Expression
    type: Type
    is_checked: bool


class Scope:
    """The meanings of names: the functions, variables, types and macros of libraries; immutable."""

    def __init__(
        self,
        libraries: Sequence[Library] = (),
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
        self._prefixes: tuple[str, ...] = ()
        self._signatures: dict[tuple[str, int, bool], tuple[Signature, ...]] = {}
        self._add((*libraries, Library("variables", variables=variables or {})))

    def _add(self, libraries: Sequence[Library]) -> None:
        """Adds to an environment under construction; shared parts are replaced, not changed."""
        functions = [function for library in libraries for function in library.functions]
        if functions:
            self._add_functions(functions)
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
                known = validators.get(validator.function, ())
                validators[validator.function] = known if validator in known else (*known, validator)
        self.validators = validators
        container = self.options.container
        parts = container.split(".") if container else []
        self._prefixes = tuple(".".join(parts[:count]) + "." for count in range(len(parts), 0, -1))
        dotted = {name.partition(".")[0] for name in (*self.variables, *self.types, *self.structs) if "." in name}
        self.dotted_roots = frozenset(dotted.union(name for name, each in self.structs.items() if each.family))

    def _add_functions(self, added: Iterable[Function]) -> None:
        functions = dict(self.functions)
        for function in added:
            known = functions.get(function.name, ())
            ids = {overload.id for overload in known}
            functions[function.name] = (*known, *(each for each in function.overloads if each.id not in ids))
        self.functions = functions
        self.namespaced = frozenset(name.rpartition(".")[2] for name in functions if "." in name)
        self._signatures = {}

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
            extended._signatures = {}  # noqa: SLF001 - it is in the making
        extended._add((*libraries, Library("variables", variables=variables or {})))  # noqa: SLF001 - as above
        return extended

    def signatures(self, function: str, arity: int, *, member: bool) -> tuple[Signature, ...]:
        """The overloads of a function for one form of call; the target of a member counts as an argument."""
        key = (function, arity, member)
        found = self._signatures.get(key)
        if found is None:
            found = tuple(
                Signature(each, type_parameters(each.parameters))
                for each in self.functions[function]
                if each.member is member and len(each.parameters) == arity and self._is_used(function, each)
            )
            if found:  # the number of invalid calls is unlimited
                self._signatures[key] = found
        return found

    def _is_used(self, function: str, overload: Overload) -> bool:
        """Whether an overload is available; comparisons of numbers of different types are not, in some environments."""
        if self.options.cross_type_numeric or function not in _COMPARISONS:
            return True
        first, second = overload.parameters
        return first == second or first not in _NUMERIC

    def candidates(self, name: str) -> list[str]:
        """The full names that a name may stand for inside the container, most specific first."""
        if name.startswith("."):
            return [name[1:]]
        return [*(prefix + name for prefix in self._prefixes), name]

    def struct(self, name: str) -> StructType | None:
        """The struct type of a full name, declared by itself or through its family."""
        declared = self.structs.get(name)
        if declared is None:
            above, rest = None, name
            while above is None and (rest := rest.rpartition(".")[0]):
                above = self.structs.get(rest)
            if above is not None and above.family:
                return above._replace(type=types.struct(name))
        return declared


def _joined(known: Mapping[_Key, _Value], added: Mapping[_Key, _Value]) -> Mapping[_Key, _Value]:
    """Both mappings; one is not copied if the other is empty, as this runs for each variable of a policy."""
    return {**known, **added} if added else known
