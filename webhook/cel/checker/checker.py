"""The type checker and its inference, with cel-go's rules and messages (cel-go checker/checker.go, types.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from webhook.budget import current, work
from webhook.cel.errors import (
    MISMATCHED_FIELD,
    MISMATCHED_TYPE,
    NO_OVERLOAD,
    NO_RANGE,
    UNDECLARED,
    UNDEFINED,
    UNRESOLVED,
    Issues,
    Signature,
)
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.cel.types import base as types
from webhook.cel.types.base import Kind, Type
from webhook.cel.types.values import type_of

if TYPE_CHECKING:
    from webhook.cel.checker.declarations import Scope
    from webhook.cel.functions import Overload


_UNKNOWN: Final = types.UNKNOWN_KINDS | {Kind.ERROR}


class Checker:
    """Checks one expression; the budget in force pays for work that does not grow with the text alone."""

    def __init__(self, scope: Scope, issues: Issues) -> None:
        self._scope, self._issues = scope, issues
        self._inference = Inference()
        self._locals: dict[str, Type] = {}
        self._open: list[Expression] = []
        self._watched: list[tuple[str, Expression, int]] = []
        self._shared: set[Expression] = set()
        self._copies, self._is_exempt = 1, False

    def check(self, root: Expression) -> list[tuple[str, Expression, int]]:
        """Check an expression; write types, resolved names and overloads into its nodes.

        Raises:
            BudgetExceededError: The expression takes more work than the budget allows.

        Returns:
            The nodes for the environment's validators, each with the function that it calls, and the number of its
            copies in the tree.
        """
        self._check(root)
        for node, type_ in zip(self._open, self._inference.closed([node.type for node in self._open]), strict=True):
            node.type = type_
        return self._watched

    def _check(self, node: Expression) -> Type:
        node.type = type_ = self._CHECKS[type(node)](self, node)
        if type_.free:
            self._open.append(node)
        return type_

    def _check_shared(self, node: ast.Shared) -> Type:
        if node not in self._shared:
            self._shared.add(node)
            self._copies *= 2
            with self._issues.twice():
                self._check(node.original)
            self._copies //= 2
        return node.original.type

    def _watch(self, function: str, node: Expression) -> None:
        if function in self._scope.validators:
            self._watched.append((function, node, self._copies))

    def _watch_aggregate(self, node: Expression, elements: Sequence[object]) -> None:
        if len(elements) > 1 and not self._is_exempt:
            self._watch("", node)

    def _report(self, node: Expression, code: str, *arguments: object) -> None:
        self._issues.report(node.offset, code, *arguments)

    def _undeclared(self, node: Expression, name: str) -> Type:
        self._report(node, UNDECLARED, name)
        return types.ERROR

    def _mismatch(self, offset: int, expected: Type, found: Type) -> None:
        self._issues.report(offset, MISMATCHED_TYPE, expected, found)

    # -- names

    def _ident(self, node: ast.Ident) -> Type:
        name = node.name
        if (local := self._locals.get(name)) is not None:
            node.resolved = name
            return local
        return self._resolve(node, name) or self._undeclared(node, name)

    def _resolve(self, node: ast.Ident | ast.Select, name: str) -> Type | None:
        """Look a full name up and record its meaning in the node."""
        if (root := name.partition(".")[0]) in self._locals:
            if root != name:
                return None
            node.resolved = name
            return self._locals[name]
        scope, name = self._scope, name.removeprefix(".")
        if name in scope.variables:
            node.resolved = f".{name}"
            return scope.variables[name]
        if (found := scope.types.get(name)) is not None:
            node.resolved = found.parameters[0]
            return found
        if (declared := scope.struct(name)) is None:
            return None
        node.resolved = declared.type
        return types.type_of(node.resolved)

    def _select(self, node: ast.Select) -> Type:
        if not node.test and self._may_be_qualified(node):
            name = ast.qualified_name(node)
            type_ = None if name is None else self._resolve(node, name)
            if type_ is not None:
                return type_
        type_ = self._field(node, node.operand, node.field, optional=False)
        return types.BOOL if node.test else self._inference.substitute(type_)

    def _may_be_qualified(self, node: Expression) -> bool:
        """Whether a chain of selections may be a name with dots; the first part usually rules it out."""
        while type(node) is ast.Select:
            node = node.operand
        return type(node) is ast.Ident and node.name.lstrip(".") in self._scope.dotted_roots

    def _field(self, node: Expression, operand: Expression, field: str, *, optional: bool) -> Type:
        if (found := self._check(operand)) is types.DYN:  # most often
            return types.OPTIONAL if optional else found
        target, was_optional = types.unwrap_optional(self._inference.substitute(found))
        if target.kind is Kind.MAP:
            result = target.parameters[1]
        elif target.kind is Kind.STRUCT:
            result = self._field_type(node.offset, target.name, field)
        else:
            result = types.DYN
            if target.kind is Kind.PARAMETER:
                self._inference.assignable(types.DYN, target)
            elif target.kind not in _UNKNOWN:
                self._report(node, f"type '{target}' does not support field selection")
        return types.optional_of(result) if optional or was_optional else result

    def _field_type(self, offset: int, struct: str, field: str) -> Type:
        if (declared := self._scope.struct(struct)) is None:
            self._issues.report(offset, UNRESOLVED, struct)
            return types.ERROR
        if (type_ := declared.fields.get(field)) is None:
            self._issues.report(offset, UNDEFINED, field, struct)
            return types.ERROR
        return type_

    # -- calls

    def _call(self, node: ast.Call) -> Type:
        if node.function == "_?._":
            field = node.arguments[1]
            assert isinstance(field, ast.Literal)  # noqa: S101 - the parser writes it
            field.type = types.STRING
            node.overloads = tuple(self._scope.functions.get(node.function, ()))
            return self._inference.substitute(self._field(node, node.arguments[0], field.value, optional=True))
        is_exempt = self._is_exempt
        self._is_exempt = is_exempt or node.function == "format"  # whose arguments may be mixed (cel-go validator.go)
        for argument in node.arguments:
            self._check(argument)
        if node.target is not None:
            prefix = ast.qualified_name(node.target) if node.function in self._scope.namespaced else None
            function = None if prefix is None else self._function(f"{prefix}.{node.function}")
            if function is not None:
                node.function, node.target = function, None
        if node.target is not None:
            self._check(node.target)
        self._is_exempt = is_exempt
        if (function := self._function(node.function)) is None:
            return self._undeclared(node, node.function)
        node.function = function
        return self._overload(node)

    def _function(self, name: str) -> str | None:
        name = name.lstrip(".")
        return name if name in self._scope.functions else None

    def _overload(self, node: ast.Call) -> Type:
        self._watch(node.function, node)
        if node.function in {"_&&_", "_||_"}:
            are_bools = [self._must_be(argument, types.BOOL) for argument in node.arguments]
            return types.BOOL if all(are_bools) else types.ERROR
        arguments = [node.target, *node.arguments] if node.target is not None else node.arguments
        given = [argument.type for argument in arguments]
        result: Type | None = None
        found: list[Overload] = []
        inference = self._inference
        overloads = self._scope.overloads(node.function, len(given), member=node.target is not None)
        work(1 + len(overloads))
        for overload in overloads:
            if (own := inference.result(overload, given)) is None:
                continue
            found.append(overload)
            if result is None:
                result = own
            elif result.kind not in types.UNKNOWN_KINDS and own is not result:
                result = types.DYN
        node.overloads = tuple(found)
        if result is not None:
            return result
        shown = self._inference.closed(given)
        target = shown.pop(0) if node.target is not None else None
        self._report(node, NO_OVERLOAD, node.function, Signature(target, tuple(shown)))
        return types.ERROR

    # -- literals of lists, maps and structs
    def _list(self, node: ast.ListExpression) -> Type:
        self._watch_aggregate(node, node.elements)
        joined: Type | None = None
        for index, element in enumerate(node.elements):
            type_ = self._check(element)
            if index in node.optional:
                type_ = self._unwrapped(element, type_)
            joined = self._join(element, joined, type_)
        return types.list_of(joined or self._inference.fresh())

    def _map(self, node: ast.MapExpression) -> Type:
        self._watch_aggregate(node, node.entries)
        key_type: Type | None = None
        value_type: Type | None = None
        for entry in node.entries:
            key_type = self._join(entry.key, key_type, self._check(entry.key))
            type_ = self._check(entry.value)
            if entry.optional:
                type_ = self._unwrapped(entry.value, type_)
            value_type = self._join(entry.value, value_type, type_)
        if key_type is None or value_type is None:
            return types.map_of(self._inference.fresh(), self._inference.fresh())
        return types.map_of(key_type, value_type)

    def _unwrapped(self, node: Expression, type_: Type) -> Type:
        inner, is_optional = types.unwrap_optional(type_)
        if not is_optional and type_.kind not in types.UNKNOWN_KINDS:
            self._mismatch(node.offset, types.optional_of(type_), type_)
        return inner

    def _join(self, node: Expression, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        if self._inference.assignable(previous, current):
            return self._inference.most_general(previous, current)
        if not self._scope.options.homogeneous_literals:
            return types.DYN
        self._mismatch(node.offset, previous, current)
        return types.ERROR

    def _struct(self, node: ast.StructExpression) -> Type:
        name = node.name.removeprefix(".")
        if (declared := self._scope.struct(name)) is None:
            if name not in self._scope.types:
                return self._undeclared(node, node.name)
            self._report(node, f"'{name}' is not a message type")
            for entry in node.entries:
                self._check(entry.value)
            return types.ERROR
        node.name = name = declared.name or declared.type.name
        for entry in node.entries:
            given = self._check(entry.value)
            expected = self._field_type(entry.offset, name, entry.key)
            if entry.optional:
                given = self._unwrapped(entry.value, given)
            if not self._inference.assignable(expected, given):
                self._issues.report(entry.offset, MISMATCHED_FIELD, entry.key, expected, given)
        return declared.type

    # -- comprehensions

    def _comprehension(self, node: ast.Comprehension) -> Type:
        self._check(node.range)
        initial = self._check(node.initial)
        variables = self._variables(node)
        outer = self._locals
        around = {**outer, node.accumulator: initial}
        self._locals = {**around, **variables}
        self._check(node.condition)
        self._must_be(node.condition, types.BOOL)
        self._check(node.step)
        self._must_be(node.step, initial)
        self._locals = around
        result = self._check(node.result)
        self._locals = outer
        return self._inference.substitute(result)

    def _must_be(self, node: Expression, expected: Type) -> bool:
        if not (fits := self._inference.assignable(expected, node.type)):
            self._mismatch(node.offset, expected, node.type)
        return fits

    def _variables(self, node: ast.Comprehension) -> dict[str, Type]:
        range_ = self._inference.substitute(node.range.type)
        if range_.kind is Kind.LIST:
            element = range_.parameters[0]
            first, second = (types.INT, element) if node.variable2 else (element, element)
        elif range_.kind is Kind.MAP:
            first, second = range_.parameters
        elif range_.kind in {Kind.DYN, Kind.ERROR, Kind.PARAMETER}:
            self._inference.assignable(types.DYN, range_)
            first = second = types.DYN
        else:
            self._report(node.range, NO_RANGE, range_)
            first = second = types.ERROR
        return {node.variable: first, node.variable2: second} if node.variable2 else {node.variable: first}

    _CHECKS: ClassVar[Mapping[type, Callable[..., Type]]] = {
        ast.Literal: lambda _, node: type_of(node.value),
        ast.Ident: _ident,
        ast.Select: _select,
        ast.Call: _call,
        ast.ListExpression: _list,
        ast.MapExpression: _map,
        ast.StructExpression: _struct,
        ast.Comprehension: _comprehension,
        ast.Shared: _check_shared,
    }
    """The check for each class of nodes."""


_SAYS_NOTHING: Final = types.UNKNOWN_KINDS | {Kind.PARAMETER}
_NULLABLE: Final = frozenset({Kind.OPAQUE, Kind.STRUCT, Kind.DURATION, Kind.TIMESTAMP, Kind.NULL})
_COMPOSED: Final = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})


class Inference:
    """The meanings of the type parameters met so far; each step is paid for: a few nested literals make huge types."""

    def __init__(self) -> None:
        self._spend = current().spend
        self._meanings: dict[str, Type] = {}
        """The meanings of parameters, by name."""
        self._changes: list[tuple[str, Type | None]] = []
        self._agreed: set[tuple[Type, Type]] = set()
        """The pairs of large types that were found to agree since the last type parameter was given up."""
        self._substituted: dict[Type, Type] = {}
        """The types substituted since the last change of a parameter's meaning."""
        self._generality: dict[tuple[Type, Type], bool] = {}
        self._made = 0

    def fresh(self) -> Type:
        """A type parameter not used before."""
        self._made += 1
        return types.parameter(f"_var{self._made - 1}")

    def assignable(self, first: Type, second: Type) -> bool:
        """Whether the types agree; if so, the meanings of their parameters are remembered."""
        return first is second or self._all_agree([first], [second])

    def _learn(self, parameter: Type, meaning: Type) -> None:
        if (before := self._meanings.get(parameter.name)) is meaning:
            return
        self._changes.append((parameter.name, before))
        self._meanings[parameter.name] = meaning
        if before is not None:
            self._substituted.clear()

    def result(self, overload: Overload, given: list[Type]) -> Type | None:
        """The type of a call's value, with type parameters inferred from its arguments; None if they do not fit."""
        made: dict[Type, Type] = {}
        wanted = [self.instantiate(each, made) for each in overload.parameters]
        fits = self._all_agree(given, wanted)
        return self.substitute(self.instantiate(overload.result, made)) if fits else None

    def _all_agree(self, first: Sequence[Type], second: Sequence[Type]) -> bool:
        """Like `assignable`, for all arguments of a call and its parameters together: all or nothing."""
        self._changes.clear()
        self._agreed.clear()
        if all(map(self._agree, first, second)):
            return True
        for parameter, meaning in reversed(self._changes):
            if meaning is None:
                del self._meanings[parameter]
            else:
                self._meanings[parameter] = meaning
        return False

    def instantiate(self, type_: Type, made: dict[Type, Type]) -> Type:
        """The type with fresh parameters in the place of an overload's own."""
        if not type_.free:
            return type_
        self._spend(1)
        if type_.kind is Kind.PARAMETER:
            if type_ not in made:
                made[type_] = self.fresh()
            return made[type_]
        return Type(type_.kind, type_.name, tuple(self.instantiate(each, made) for each in type_.parameters))

    def substitute(self, type_: Type) -> Type:
        """The type with every parameter replaced by its meaning."""
        return self._substitute(type_, self._substituted, None)

    def closed(self, given: Iterable[Type]) -> list[Type]:
        """Some types with every parameter replaced by its meaning, or by `dyn` if it is open."""
        made: dict[Type, Type] = {}
        return [self._substitute(each, made, types.DYN) for each in given]

    def _substitute(self, type_: Type, made: dict[Type, Type], otherwise: Type | None) -> Type:
        if not type_.free:
            return type_
        known = made.get(type_)
        if known is not None and self._meanings.keys().isdisjoint(known.free):
            return known
        self._spend(2)
        if type_.kind is Kind.PARAMETER:
            found = self._meanings.get(type_.name, otherwise) or type_
            if found.free and found is not type_:
                found = self._substitute(found, made, otherwise)
        else:
            parameters = [self._substitute(each, made, otherwise) for each in type_.parameters]
            found = Type(type_.kind, type_.name, tuple(parameters))
        made[type_] = found
        return found

    def _agree(self, first: Type, second: Type) -> bool:  # noqa: C901, PLR0911 - the order of the rules is cel-go's
        if first is second:
            return True
        if second.kind is Kind.PARAMETER:
            stands, known = self._stands_for(first, second)
            if stands:
                return True
            if known:
                return False
        if first.kind is Kind.PARAMETER:
            return self._stands_for(second, first)[0]
        if first.kind in _UNKNOWN or second.kind in _UNKNOWN:
            return True
        if first.kind is Kind.NULL:
            return second.is_nullable or second.kind in _NULLABLE
        if second.kind is Kind.NULL:
            return first.is_nullable or first.kind in _NULLABLE
        if first.kind is Kind.TYPE:
            return second.kind is Kind.TYPE
        if first.kind is not second.kind or first.name != second.name:
            return False
        if first.kind in _COMPOSED and (first, second) not in self._agreed:
            self._spend(1)
            are_as_many = len(first.parameters) == len(second.parameters)
            if not (are_as_many and all(map(self._agree, first.parameters, second.parameters))):
                return False
            self._agreed.add((first, second))
        return True

    def _stands_for(self, type_: Type, parameter: Type) -> tuple[bool, bool]:
        """Whether the parameter can stand for the type, and whether it already stood for something."""
        if type_ is parameter:
            return True, True
        if (meaning := self._meanings.get(parameter.name)) is not None:
            if type_ is meaning:
                return True, True
            if self._agree(type_, meaning):
                general = self.most_general(type_, meaning)
                if self._is_free_of(parameter, general):
                    self._learn(parameter, general)
                return True, True
            return False, True
        if self._is_free_of(parameter, type_):
            self._learn(parameter, type_)
            return True, False
        return False, False

    def _is_free_of(self, parameter: Type, type_: Type) -> bool:
        found, pending = set(type_.free), list(type_.free)
        while pending:
            self._spend(1)
            if (name := pending.pop()) == parameter.name:
                return False
            if (meaning := self._meanings.get(name)) is not None:
                pending.extend(meaning.free - found)
                found |= meaning.free
        return True

    def most_general(self, first: Type, second: Type) -> Type:
        """The more general of two types."""
        return first if self._says_less(first, second) else second

    def _says_less(self, first: Type, second: Type) -> bool:
        if first is second or first.kind in _SAYS_NOTHING:
            return True
        if second.kind in _SAYS_NOTHING or first.kind is not second.kind:
            return False
        if first.kind not in _COMPOSED:
            return first.kind is Kind.TYPE or first.is_nullable
        if first.name != second.name or len(first.parameters) != len(second.parameters):
            return False
        if (known := self._generality.get((first, second))) is None:
            self._spend(1)
            known = all(map(self._says_less, first.parameters, second.parameters))
            self._generality[first, second] = known
        return known
