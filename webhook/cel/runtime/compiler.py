"""Compiles a tree to closures over plain Python values.

Nothing of the data is converted: an expression reads the dicts and lists that it is given. Each closure counts what
cel-go's cost tracker counts for its node, constants folded as cel-go folds them (cel-go interpreter/planner.go).
What comes after an error that `||`, `&&` or a comprehension absorbs is evaluated and counted as there, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.cel.cost.calls import LIST_COST, MAP_COST, STRUCT_COST
from webhook.cel.errors import EvaluationError, ProgramError
from webhook.cel.regex import re2 as regex
from webhook.cel.runtime import attributes, folds, operators
from webhook.cel.runtime.aggregates import MapBuilder, build_list, build_struct
from webhook.cel.runtime.attributes import Chain, Link
from webhook.cel.runtime.calls import choose, make_call, overloads_of
from webhook.cel.runtime.constants import NOT_CONSTANT, Constants, is_in_list
from webhook.cel.runtime.frame import BINDINGS, BUDGET, FIRST_SLOT, count_built
from webhook.cel.runtime.logic import conjunction, custom_equality, disjunction, equality
from webhook.cel.runtime.program import Program
from webhook.cel.syntax import ast
from webhook.cel.types.base import Type

if TYPE_CHECKING:
    from collections.abc import Callable

    from webhook.cel.checker.scope import Checked, Scope
    from webhook.cel.runtime.frame import Closure, Frame
    from webhook.cel.syntax.ast import Expression
    from webhook.cel.types.values import Value

_PATTERN_AT: Final = {"matches": -1, "find": 0, "findAll": 0}
"""Which argument of a function is a pattern."""
_PRIMITIVES: Final = frozenset({bool, int, float, str, type(None)})


def compile_program(checked: Checked, scope: Scope) -> Program:
    """Makes a program of an expression.

    Args:
        checked: The expression.
        scope: The one that parsed or checked it.

    Raises:
        ProgramError: A constant part of it always fails.
    """
    compiler = Compiler(scope, is_checked=checked.is_checked)
    run = compiler.compile(checked.root)
    return Program(run, compiler.variables, compiler.slots)


class Compiler:
    """Compiles one expression; `specialised=False` compiles every comprehension by its parts, for tests."""

    def __init__(self, scope: Scope, *, is_checked: bool, specialised: bool = True) -> None:
        self._scope = scope
        self._is_checked = is_checked
        self._specialised = specialised and scope.options.fold_constants
        self._constant = Constants(scope, is_checked=is_checked).value
        self.variables: dict[str, int] = {}
        self.slots = FIRST_SLOT
        self._locals: dict[str, int] = {}
        self._accumulators: set[str] = set()
        self._compile: dict[type, Callable[..., Closure]] = {
            ast.Literal: self._literal,
            ast.Ident: self._attribute,
            ast.Select: self._select,
            ast.Call: self._call,
            ast.ListExpression: self._list,
            ast.MapExpression: self._map,
            ast.StructExpression: self._struct,
            ast.Comprehension: self._comprehension,
            ast.Shared: self._shared,
        }
        self._closures: dict[ast.Shared, Closure] = {}

    def compile(self, node: Expression) -> Closure:
        """The closure of a node."""
        return self._compile[type(node)](node)

    def _shared(self, node: ast.Shared) -> Closure:
        """The closure that both uses share: their names mean the same, and one ends before the other begins."""
        closure = self._closures.get(node)
        if closure is None:
            closure = self._closures[node] = self.compile(node.original)
        return closure

    def _new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def _literal(self, node: ast.Literal) -> Closure:
        value = node.value
        return lambda _: value

    def _constant_closure(self, value: Value) -> Closure:
        return lambda _: value

    # -- names, selections, indexes

    def _attribute(self, node: Expression) -> Closure:
        constant = self._constant(node)
        if constant is not NOT_CONSTANT:
            return self._constant_closure(constant)
        chain = self._chain(node)
        return attributes.emit(chain, own_cost=chain.own_cost)

    def _resolved(self, node: Expression) -> Closure:
        """The closure of an operand that is a part of another attribute: an attribute then costs nothing itself."""
        if self._is_attribute(node) and self._constant(node) is NOT_CONSTANT:
            return attributes.emit(self._chain(node), own_cost=0)
        return self.compile(node)

    def _is_attribute(self, node: Expression) -> bool:
        if isinstance(node, ast.Call):
            return node.target is None and node.function in {"_[_]", "_[?_]", "_?._", "_?_:_"}
        return isinstance(node, ast.Ident) or (isinstance(node, ast.Select) and not node.test)

    def _chain(self, node: Expression) -> Chain:
        """The chain that ends with a node: back to where it starts, then its links in their order."""
        steps: list[ast.Select | ast.Call] = []
        start = self._start(node)
        while start is None:
            assert isinstance(node, (ast.Select, ast.Call))  # noqa: S101  # else it is a start
            steps.append(node)
            node = node.operand if isinstance(node, ast.Select) else node.arguments[0]
            start = self._start(node)
        if not steps:
            return start
        strict = self._scope.options.strict_presence_test
        links = [
            Link(step.field, None, False, strict) if isinstance(step, ast.Select) else self._link(step, strict=strict)  # noqa: FBT003  # not optional
            for step in reversed(steps)
        ]
        return Chain((*start.links, *links), start.slot, start.name, start.root, start.own_cost)

    def _start(self, node: Expression) -> Chain | None:
        """The chain that starts with a node; None for a link."""
        if isinstance(node, (ast.Ident, ast.Select)):
            found = self._variable(node)
            if found is not None:
                return found
            if isinstance(node, ast.Select) and not node.test:
                return None
        elif isinstance(node, ast.Call) and self._is_attribute(node):
            return Chain((), root=self._conditional(node), own_cost=0) if node.function == "_?_:_" else None
        return Chain((), root=self.compile(node))

    def _link(self, node: ast.Call, *, strict: bool) -> Link:
        key = node.arguments[1]
        optional = node.function != "_[_]"
        constant = self._constant(key)
        if constant is not NOT_CONSTANT:
            return Link(constant, None, optional, strict)
        return Link(None, self._resolved(key), optional, strict)

    def _variable(self, node: ast.Ident | ast.Select) -> Chain | None:
        if not self._is_checked:
            return self._unchecked_variable(node)
        name = node.resolved
        if name is None or isinstance(name, Type):
            return None
        if not name.startswith("."):
            return self._local(name)
        return Chain((), self._slot(name[1:]), name[1:])

    def _slot(self, name: str) -> int:
        if name not in self.variables:
            self.variables[name] = self._new_slot()
        return self.variables[name]

    def _local(self, name: str) -> Chain:
        slot = self._locals[name]
        if name in self._accumulators:
            return Chain((), root=folds.accumulator(slot, 0))
        return Chain((), slot, name)

    def _unchecked_variable(self, node: ast.Ident | ast.Select) -> Chain | None:
        name = ast.qualified_name(node)
        if name is None:
            return None
        root = name.partition(".")[0]
        if root in self._locals:
            return self._local(name) if root == name else None
        candidates = self._scope.candidates(name)
        types = self._scope.types
        type_ = next((types[each].parameters[0] for each in candidates if each in types), None)
        if isinstance(node, ast.Ident):
            return Chain((), root=self._lookup(candidates, lambda _: _missing(candidates), type_))
        return Chain((), root=self._lookup(candidates, self._qualified(node), type_))

    def _qualified(self, node: ast.Select) -> Closure:
        chain = self._chain(node.operand)
        link = Link(node.field, strict=self._scope.options.strict_presence_test)
        return attributes.emit(chain._replace(links=(*chain.links, link)), own_cost=0)

    def _lookup(self, candidates: list[str], otherwise: Closure, type_: Type | None) -> Closure:
        def lookup(frame: Frame) -> Value:
            bindings = frame[BINDINGS]
            for name in candidates:
                if name in bindings:
                    return bindings[name]
            return otherwise(frame) if type_ is None else type_

        return lookup

    def _select(self, node: ast.Select) -> Closure:
        if not node.test:
            return self._attribute(node)
        return attributes.emit_presence(
            self._chain(node.operand),
            node.field,
            test_cost=self._scope.options.presence_test_cost,
            strict=self._scope.options.strict_presence_test,
        )

    # -- calls

    def _call(self, node: ast.Call) -> Closure:  # noqa: C901, PLR0911  # one branch for each special function
        if not self._is_checked:
            self._unqualify(node)
        if self._is_attribute(node):
            return self._attribute(node)
        function = node.function
        if function == "_&&_":
            return conjunction([self.compile(each) for each in node.arguments])
        if function == "_||_":
            return disjunction([self.compile(each) for each in node.arguments])
        constant = self._constant(node)
        if constant is not NOT_CONSTANT:
            return self._constant_closure(constant)
        if function in {"_==_", "_!=_"}:
            return self._equality(node)
        if function == "@in" and is_in_list(node):
            member = self._membership(node)
            if member is not None:
                return member
        if function == "@not_strictly_false":
            return self._not_strictly_false(node)
        arguments = [self.compile(each) for each in node.children()]
        if function in {"or", "orValue"} and node.target is not None and len(arguments) == 2:  # noqa: PLR2004  # target and argument
            return choose(arguments, unwrap=function == "orValue")
        if function in _PATTERN_AT:
            self._check_pattern(node.arguments[_PATTERN_AT[function]])
        by_name = self._scope.call_costs.get(function)
        return make_call(function, overloads_of(node, self._scope), arguments, by_name)

    def _unqualify(self, node: ast.Call) -> None:
        """Without a checker, `sets.contains(…)` is still to be told from a call on `sets`."""
        if node.target is None:
            return
        prefix = ast.qualified_name(node.target)
        if prefix is None or prefix.partition(".")[0] in self._locals:
            return
        for candidate in self._scope.candidates(f"{prefix}.{node.function}"):
            if candidate in self._scope.functions:
                node.function, node.target = candidate, None
                return

    def _conditional(self, node: ast.Call) -> Closure:
        condition = self.compile(node.arguments[0])
        then = self._resolved(node.arguments[1])
        otherwise = self._resolved(node.arguments[2])

        def conditional(frame: Frame) -> Value:
            held = condition(frame)
            if held is True:
                return then(frame)
            if held is False:
                return otherwise(frame)
            raise operators.no_such_overload()

        return conditional

    def _equality(self, node: ast.Call) -> Closure:
        first, second = (self.compile(each) for each in node.arguments)
        negated = node.function == "_!=_"
        by_name = self._scope.call_costs.get(node.function)
        if by_name is None:
            return equality(first, second, negated=negated)
        return custom_equality(first, second, negated=negated, by_name=by_name)

    def _membership(self, node: ast.Call) -> Closure | None:
        """`x in [1, 2]`: a set of constants, which cel-go looks into at no cost."""
        container = self._constant(node.arguments[1])
        if container is NOT_CONSTANT or not all(type(each) in _PRIMITIVES for each in container):
            return None
        item = self.compile(node.arguments[0])
        strings = frozenset(each for each in container if type(each) is str)

        def member(frame: Frame) -> bool:
            value = item(frame)
            return value in strings if type(value) is str else operators.contains(value, container)

        return member

    def _not_strictly_false(self, node: ast.Call) -> Closure:
        argument = self.compile(node.arguments[0])

        def not_false(frame: Frame) -> bool:
            try:
                value = argument(frame)
            except EvaluationError:
                value = True
            frame[BUDGET] -= 1
            return value is not False

        return not_false

    def _check_pattern(self, node: Expression) -> None:
        pattern = self._constant(node)
        if type(pattern) is str:
            try:
                regex.check_pattern(pattern)
            except EvaluationError as error:
                raise ProgramError(str(error)) from None

    # -- literals of lists, maps and structs

    def _list(self, node: ast.ListExpression) -> Closure:
        constant = self._constant(node)
        if constant is not NOT_CONSTANT:
            return self._constant_closure(constant)
        return build_list([self.compile(element) for element in node.elements], node.optional, LIST_COST)

    def _map(self, node: ast.MapExpression) -> Closure:
        constant = self._constant(node)
        if constant is not NOT_CONSTANT:
            return self._constant_closure(constant)
        entries = [(self.compile(each.key), self.compile(each.value), each.optional) for each in node.entries]
        strict = self._scope.options.strict_map_keys

        def build(frame: Frame) -> dict[Value, Value]:
            frame[BUDGET] -= MAP_COST
            builder = MapBuilder(strict=strict)
            for key, value, optional in entries:
                builder.put(key(frame), value(frame), optional=optional)
            count_built(frame, builder.made)
            return builder.made

        return build

    def _struct(self, node: ast.StructExpression) -> Closure:
        candidates = self._scope.candidates(node.name)
        struct = next((each for each in map(self._scope.struct, candidates) if each is not None), None)
        if struct is None:
            msg = f"unknown type: {node.name}"
            raise ProgramError(msg)
        fields = [(entry.key, self.compile(entry.value), entry.optional) for entry in node.entries]
        return build_struct(struct.construct, fields, STRUCT_COST)

    # -- comprehensions

    def _comprehension(self, node: ast.Comprehension) -> Closure:
        outer, accumulators = self._locals, self._accumulators
        range_ = self.compile(node.range)
        initial = self.compile(node.initial)
        slot = self._new_slot()
        around = {**outer, node.accumulator: slot}
        if node.shape == "bind":
            self._locals, self._accumulators = around, accumulators | {node.accumulator}
            closure = folds.bind(slot, initial, self.compile(node.result))
        else:
            slots = {name: self._new_slot() for name in (node.variable, node.variable2) if name}
            self._accumulators = (accumulators | {node.accumulator}) - slots.keys()
            self._locals = {**around, **slots}
            loop = folds.Loop(range_, slots[node.variable], slots.get(node.variable2))
            specialised = self._loop(node, loop) if self._specialised else None
            if specialised is not None:
                closure = specialised
            else:
                condition, step = self.compile(node.condition), self.compile(node.step)
                self._locals, self._accumulators = around, accumulators | {node.accumulator}
                closure = folds.fold(loop, slot, initial, (condition, step, self.compile(node.result)))
        self._locals, self._accumulators = outer, accumulators
        return closure

    def _loop(self, node: ast.Comprehension, loop: folds.Loop) -> Closure | None:
        """The loop made for a macro; None for a comprehension of which only the parts are known."""
        if node.shape in {"all", "exists"}:
            return folds.quantifier(loop, self.compile(node.parts[0]), stops_at=node.shape == "exists")
        if node.shape == "exists_one":
            return folds.exactly_one(loop, self.compile(node.parts[0]))
        if node.shape == "map":
            return self._collector(node, loop)
        if node.shape in {"transformMap", "transformMapEntry"}:
            return self._transform(node, loop)
        return None

    def _collector(self, node: ast.Comprehension, loop: folds.Loop) -> Closure:
        element = node.parts[0]
        is_constant = self._constant(element) is not NOT_CONSTANT
        insert = folds.append(self.compile(element), 2 if is_constant else 2 + LIST_COST)
        return folds.collector(loop, self._predicate(node), insert, list)

    def _predicate(self, node: ast.Comprehension) -> Closure | None:
        return self.compile(node.parts[1]) if len(node.parts) > 1 else None

    def _transform(self, node: ast.Comprehension, loop: folds.Loop) -> Closure:
        value = self.compile(node.parts[0])
        slot = loop.slot

        def insert_value(frame: Frame, made: dict[Value, Value]) -> None:
            frame[BUDGET] -= 3
            folds.insert_entry(made, frame[slot], value(frame))

        def insert_entries(frame: Frame, made: dict[Value, Value]) -> None:
            frame[BUDGET] -= 2
            folds.insert_map(made, value(frame))

        if node.shape == "transformMap":
            return folds.collector(loop, self._predicate(node), insert_value, dict, folds.skip)
        return folds.collector(loop, self._predicate(node), insert_entries, dict)


def _missing(candidates: list[str]) -> Value:
    raise attributes.unbound(", ".join(candidates))
