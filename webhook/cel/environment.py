"""An environment: what names mean; it compiles expressions into programs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from webhook.cel import limits, types
from webhook.cel.checker import check
from webhook.cel.compiler import compile_program
from webhook.cel.declarations import Library, Options, Overload, StructType
from webhook.cel.errors import NOWHERE, CompileError, Issue, Issues
from webhook.cel.parser import parse
from webhook.cel.standard import STANDARD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from webhook.cel.ast import Expression
    from webhook.cel.declarations import CallCost, CallEstimateFunction, Validator
    from webhook.cel.macros import Macro
    from webhook.cel.program import Program
    from webhook.cel.types import Type


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """An expression that was parsed and, unless checking was left out, type-checked.

    Args:
        text: The expression as it was written.
        root: Its tree.
        type: The type of its value; `dyn` if it was not checked.
        is_checked: Whether types were checked.
    """

    text: str
    root: Expression
    type: Type
    is_checked: bool


def _too_deep(text: str) -> CompileError:
    """The error of a text for which Python's stack did not suffice, its caller having used most of it."""
    return CompileError(text, [Issue("expression is nested too deeply", NOWHERE, -1, -1)])


class Environment:
    """Declares what expressions may use; immutable.

    Args:
        libraries: What there is beside the standard library.
        variables: Variables and their types.
        options: Where environments differ.
        standard: Whether CEL's standard library is there; only tests want it away.
    """

    def __init__(
        self,
        libraries: Iterable[Library] = (),
        *,
        variables: Mapping[str, Type] | None = None,
        options: Options | None = None,
        standard: bool = True,
    ) -> None:
        limits.ensure_recursion()
        self.options = options or Options()
        self.libraries = (
            *((STANDARD,) if standard else ()),
            *libraries,
            Library("variables", variables=variables or {}),
        )
        self.functions: dict[str, list[Overload]] = {}
        self.macros: dict[tuple[str, int, bool], Macro] = {}
        self.variables: dict[str, Type] = {}
        self.types: dict[str, Type] = {}
        self.structs: dict[str, StructType] = {}
        self.validators: dict[str, list[Validator]] = {}
        self.call_costs: dict[str, CallCost] = {}
        self.call_estimates: dict[str, CallEstimateFunction] = {}
        self.optional_syntax = False
        for library in self.libraries:
            self._add(library)
        container = self.options.container
        parts = container.split(".") if container else []
        self._prefixes = [".".join(parts[:count]) + "." for count in range(len(parts), 0, -1)]
        dotted = [*self.variables, *self.types, *self.structs]
        self.dotted_roots = {name.partition(".")[0] for name in dotted if "." in name}
        self.dotted_roots.update(name for name, declared in self.structs.items() if declared.family)

    def _add(self, library: Library) -> None:
        for function in library.functions:
            overloads = self.functions.setdefault(function.name, [])
            known = {overload.id for overload in overloads}
            overloads.extend(overload for overload in function.overloads if overload.id not in known)
        for macro in library.macros:
            self.macros[macro.name, macro.arity, macro.member] = macro
        self.variables.update(library.variables)
        self.types.update({type_.name: types.type_of(type_) for type_ in library.types})
        self.structs.update({struct.type.name: struct for struct in library.structs})
        for validator in library.validators:
            of_function = self.validators.setdefault(validator.function, [])
            if validator not in of_function:
                of_function.append(validator)
        self.call_costs.update(library.call_costs)
        self.call_estimates.update(library.call_estimates)
        self.optional_syntax = self.optional_syntax or library.optional_syntax

    def extend(
        self,
        *libraries: Library,
        variables: Mapping[str, Type] | None = None,
        **options: Any,  # fields of Options
    ) -> Environment:
        """An environment with more libraries, variables or other options.

        Args:
            *libraries: Added after those that are there.
            variables: Added, or given another type.
            **options: Fields of `Options` to change.
        """
        extended = object.__new__(Environment)
        Environment.__init__(
            extended,
            (*self.libraries, *libraries),
            variables=variables,
            options=dataclasses.replace(self.options, **options),
            standard=False,
        )
        return extended

    def candidates(self, name: str) -> list[str]:
        """The full names that a name may stand for inside the container, most specific first."""
        if name.startswith("."):
            return [name[1:]]
        return [*(prefix + name for prefix in self._prefixes), name]

    def struct(self, name: str) -> StructType | None:
        """The struct type of a full name, declared itself or as one of a family."""
        declared = self.structs.get(name)
        if declared is None:
            root, dot, _ = name.partition(".")
            above = self.structs.get(root) if dot else None
            if above is not None and above.family:
                return dataclasses.replace(above, type=types.struct(name))
        return declared

    def parse(self, text: str) -> Checked:
        """Parses an expression without checking its types.

        Raises:
            CompileError: The text is no expression.
        """
        try:
            root = parse(text, self.macros, optional_syntax=self.optional_syntax)
        except RecursionError:
            raise _too_deep(text) from None
        return Checked(text, root, types.DYN, is_checked=False)

    def check(self, text: str) -> Checked:
        """Parses an expression and checks its types.

        Raises:
            CompileError: The text is no expression, or not a well-typed one; every error is listed.
        """
        issues = Issues(text)
        try:
            root = parse(text, self.macros, optional_syntax=self.optional_syntax)
            watched = check(root, self, issues)
        except RecursionError:
            raise _too_deep(text) from None
        issues.raise_if_any()
        for function, node in watched:
            for validator in self.validators[function]:
                validator.check(node, issues)
        issues.raise_if_any()
        return Checked(text, root, root.type, is_checked=True)

    def program(self, checked: Checked) -> Program:
        """Makes an expression ready to be evaluated.

        Raises:
            ProgramError: A constant part of it always fails.
        """
        try:
            return compile_program(checked, self)
        except RecursionError:
            raise _too_deep(checked.text) from None

    def compile(self, text: str) -> Program:
        """Parses and checks an expression and makes it ready to be evaluated.

        Raises:
            CompileError: The text is no expression, or not a well-typed one.
            ProgramError: A constant part of it always fails.
        """
        return self.program(self.check(text))
