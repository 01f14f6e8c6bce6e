"""Writes a tree as Python source that evaluates it, and compiles that with the few functions that it may call.

Data is not converted: an expression reads the given dicts and lists as they are. The source counts the cost that
cel-go's cost tracker counts for each node, with constants folded as cel-go folds them (cel-go interpreter/planner.go).
Parts after an error that `||`, `&&` or a comprehension absorbs are evaluated and counted as in cel-go, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from sys import getsizeof
from typing import Any, Final

from webhook.budget import NONE, BudgetExceededError, current, work
from webhook.cel.errors import CostLimitExceededError, EvaluationError, WorkExceededError
from webhook.cel.runtime import aggregates, attributes, calls, folds
from webhook.cel.runtime.attributes import Chain, Link, emit_chain, emit_presence
from webhook.cel.runtime.constants import LARGE, Analysis
from webhook.cel.runtime.meter import TOO_DEEP, Meter, caught, count_built, look
from webhook.cel.runtime.writer import NOT_CONSTANT, Operand, Writer
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.cel.types.base import Type, is_optional
from webhook.cel.types.values import NONE as NO_VALUE
from webhook.cel.types.values import Optional, Value

_ATTRIBUTES: Final = frozenset({"_[_]", "_[?_]", "_?._", "_?_:_"})
BUILT: Final = frozenset({list, dict})
"""The classes of what a fold builds."""
MOST_INLINE: Final = 32
"""The largest number of elements or terms in one function."""
SMALL: Final = 20


class Generator(Writer):
    """Writes one expression."""

    def __init__(self, analysis: Analysis, *, gives_up: bool = False) -> None:
        super().__init__(analysis.scope, gives_up=gives_up)
        self._turn_to(analysis)
        self._locals: dict[str, Callable[[], Operand]] = {}
        """The source that reads the variables of enclosing comprehensions."""
        self._shared: dict[ast.Shared, Callable[[], Operand]] = {}
        """How the second use of a node is written, between the first and the end of the choice that has both."""
        self._lazy: set[str] = set()
        """The names of what holds values that are computed on first use."""
        self._emitters: dict[type, Callable[..., Operand]] = {
            ast.Ident: self._attribute,
            ast.Select: self._select,
            ast.Call: self._call,
            ast.ListExpression: partial(self._aggregate, aggregates.emit_list),
            ast.MapExpression: partial(self._aggregate, aggregates.emit_map),
            ast.StructExpression: partial(self._aggregate, aggregates.emit_struct),
            ast.Comprehension: self._comprehension,
            ast.Shared: self._twice,
        }

    def _turn_to(self, analysis: Analysis) -> None:
        """Continue with another expression."""
        self.scope = analysis.scope
        self._analysis = analysis

    def write(self) -> str:
        """Write the whole expression; return the name of its function."""
        return self.main(lambda: self.emit(self._analysis.checked.root))

    def constant_of(self, node: Expression) -> Value:
        """The value of a constant node, else `NOT_CONSTANT`."""
        return self._analysis.value(node)

    def emit(self, node: Expression, *, caught: bool = True) -> Operand:
        """Write the evaluation of a node; see `Writer.emit`."""
        constant = self._analysis.value(node)
        if constant is not NOT_CONSTANT:
            return self.constant(constant)
        if self._is_apart(node):
            operand = self.apart(lambda: self._emitters[type(node)](node, caught=not self.gives_up))
        else:
            operand = self._emitters[type(node)](node, caught=caught and not self.gives_up)
        return operand if caught and not self.gives_up else self.raise_failure(operand)

    def _is_apart(self, node: Expression) -> bool:
        used = node.target if isinstance(node, ast.Call) else node
        if node is self._analysis.checked.root or isinstance(used, ast.Shared):  # used twice, so in one function
            return False
        weight = self._analysis.weights[node]
        return weight >= LARGE or (self.is_deep and weight > 1)

    def groups(self, nodes: Sequence[Expression]) -> list[tuple[Sequence[Expression], bool]]:
        """Split nodes that are too large for one function into groups; see `Writer.groups`."""
        weights = [min(self._analysis.weights.get(node, 1), LARGE) for node in nodes]
        total = sum(weights)
        if total < 2 * LARGE or len(nodes) == 1:
            return [([node], False) for node in nodes]
        most = max(LARGE, total // MOST_INLINE)
        groups: list[tuple[Sequence[Expression], bool]] = []
        group: list[Expression] = []
        size = 0
        for node, weight in zip(nodes, weights, strict=True):
            if group and size + weight > most:
                groups.append((group, len(group) > 1 or size > SMALL))
                group, size = [], 0
            group.append(node)
            size += weight
        groups.append((group, True))
        return groups

    # -- names, selections, indexes

    def resolved(self, node: Expression) -> Operand:
        """Write a part of another attribute: an attribute itself is then free."""
        if isinstance(node, ast.Select) and node.test:
            write = partial(emit_presence, self, self._chain(node.operand), node.field, is_part=True)
        elif self._is_attribute(node) and self._analysis.value(node) is NOT_CONSTANT:
            write = partial(emit_chain, self, self._chain(node), own_cost=0)
        else:
            return self.emit(node)
        return self.apart(write) if self._is_apart(node) else write()

    def _attribute(self, node: Expression, *, caught: bool) -> Operand:  # noqa: ARG002 - errors are values
        chain = self._chain(node)
        operand = emit_chain(self, chain, own_cost=chain.own_cost)
        if not chain.links and is_optional(node.type):
            return operand._replace(text=self.set(f"resolved_optional({operand.text})"))
        return operand

    def _select(self, node: ast.Select, *, caught: bool) -> Operand:
        return (
            emit_presence(self, self._chain(node.operand), node.field)
            if node.test
            else self._attribute(node, caught=caught)
        )

    def _is_attribute(self, node: Expression) -> bool:
        if isinstance(node, ast.Call):
            return node.target is None and node.function in _ATTRIBUTES
        return isinstance(node, ast.Ident) or (isinstance(node, ast.Select) and not node.test)

    def _chain(self, node: Expression) -> Chain:
        """The chain that ends with a node: its start, then its links in order."""
        steps: list[ast.Select | ast.Call] = []
        start = self._start(node)
        while start is None:
            assert isinstance(node, (ast.Select, ast.Call))  # noqa: S101 - else it is a start
            steps.append(node)
            node = node.operand if isinstance(node, ast.Select) else node.arguments[0]
            start = self._start(node)
        links = []
        for step in reversed(steps):
            if isinstance(step, ast.Select):
                links.append(Link(step.field))
                continue
            key, is_optional = step.arguments[1], step.function != "_[_]"
            constant = self._analysis.value(key)
            links.append(
                Link(None, key, is_optional) if constant is NOT_CONSTANT else Link(constant, None, is_optional)
            )
        return start._replace(links=(*start.links, *links)) if links else start

    def _start(self, node: Expression) -> Chain | None:
        """The chain that starts with a node; None for a link."""
        if isinstance(node, (ast.Ident, ast.Select)):
            found = self._variable(node)
            if found is not None:
                return found
            if isinstance(node, ast.Select) and not node.test:
                return None
        elif isinstance(node, ast.Call) and self._is_attribute(node):
            return Chain(partial(self._conditional, node), own_cost=0) if node.function == "_?_:_" else None
        return Chain(partial(self.emit, node))

    def _variable(self, node: ast.Ident | ast.Select) -> Chain | None:
        name = node.resolved
        if name is None or isinstance(name, Type):
            return None
        return Chain(partial(self.variable, name[1:]) if name.startswith(".") else self._locals[name])

    # -- calls

    def _call(self, node: ast.Call, *, caught: bool) -> Operand:
        if self._is_attribute(node):
            return self._attribute(node, caught=caught)
        function = node.function
        if emit := folds.emit_append if folds.is_append(node) else _SPECIAL.get(function):
            return emit(self, node)
        if function in {"or", "orValue"} and node.target is not None and len(node.arguments) == 1:
            return calls.emit_choice(self, node)
        if function != "!_":
            return calls.emit_call(self, node, caught=caught)
        argument = node.arguments[0]
        if isinstance(argument, ast.Select) and argument.test:
            self.spend(1)
            return emit_presence(self, self._chain(argument.operand), argument.field, negated=True)
        return calls.emit_negation(self, argument)

    def _conditional(self, node: ast.Call) -> Operand:
        condition, then, otherwise = node.arguments
        outer, self._shared = self._shared, {**self._shared}
        held = self.truth(self.emit(condition))
        if type(held.value) is bool:  # it is the same for all objects
            self._shared = outer
            return self.resolved(then if held.value else otherwise)
        result = self.name()
        is_bool = held.cls is bool and not held.fails
        with self.block(f"if {held.text} is True:"):
            first = self._branch(result, then)
        with self.block("else:" if is_bool else f"elif {held.text} is False:"):
            second = self._branch(result, otherwise)
        self._shared = outer
        if not is_bool:
            self.line(f"else: {result} = not_bool({held.text})")
        cls = first.cls if first.cls is second.cls else None
        fails = first.fails or second.fails or not is_bool
        return Operand(result, cls, fails)

    def _branch(self, result: str, node: Expression) -> Operand:
        operand = self.resolved(node)
        self.line(f"{result} = {operand.text}")
        return operand

    def _aggregate(self, emit: Callable[[Writer, Any], Operand], node: Expression, *, caught: bool) -> Operand:
        return self.guarded(lambda: emit(self, node), caught=caught)

    # -- comprehensions

    def _twice(self, node: ast.Shared, *, caught: bool) -> Operand:  # noqa: ARG002 - errors are values
        """The second use takes the value of the first, and counts its cost again.

        Where the first use may compute what the second then only reads, both call one function.
        """
        if use := self._shared.get(node):
            return use()

        def body() -> Operand:
            self.look()
            return self.emit(node.original)

        name, taken, result = self.function(body)
        if not self._lazy.isdisjoint(taken):
            use = self._shared[node] = lambda: result._replace(text=self.call(name, taken))
            return use()
        self.settle()
        cost = self.set("left")
        value = result._replace(text=self.call(name, taken))
        self.line(f"{cost} -= left")

        def again() -> Operand:
            self.settle()
            self.line(f"left = left - {cost} if left >= {cost} else -1")
            self.look()
            return value

        self._shared[node] = again
        return value

    def _comprehension(self, node: ast.Comprehension, *, caught: bool) -> Operand:
        outer = self._locals
        try:
            if node.shape == "bind":
                self._bind(node)
                return self.emit(node.result)
            range_ = self.emit(node.range)
            fails = range_.fails or range_.cls is not list
            return self.guarded(lambda: self._fold(node, range_), caught=caught and fails)
        finally:
            self._locals = outer

    def _fold(self, node: ast.Comprehension, range_: Operand) -> Operand:
        variables = {name: self.name() for name in (node.variable, node.variable2) if name}
        elements = folds.elements_of(self, range_, has_two=len(variables) > 1)
        made = folds.emit_initial(self, node.initial)
        around = {**self._locals, node.accumulator: lambda: made}
        bound = {name: partial(Operand, each, fails=False) for name, each in variables.items()}
        self._locals = {**around, **bound}
        with self.block(f"for {', '.join(variables.values())} in {elements}:"):
            self.look()
            written = len(self._lines)
            if self.constant_of(node.condition) is NOT_CONSTANT:
                condition = self.emit(node.condition)
                self.settle()
                self.line(f"if {condition.text} is False: break")
            step = self.emit(node.step)
            if step.text != made.text:
                self.line(f"{made.text} = {step.text}")
            self.settle()
            if len(self._lines) == written:  # `filter(x, false)` costs nothing, but it is work
                self.line("mark += 1")
        self._locals = around
        if made.cls in BUILT:
            self.line(self.built(made.text))
        return self.emit(node.result)

    def _bind(self, node: ast.Comprehension) -> Operand:
        """Bind the accumulator's name to a cell that computes its value on first use."""
        cell = folds.emit_cell(self, node.initial)
        self._lazy.add(cell.text)
        self._locals = {**self._locals, node.accumulator: partial(folds.emit_read, self, cell)}
        return cell


_SPECIAL: Final[dict[str, Callable[[Generator, ast.Call], Operand]]] = {
    "_&&_": lambda writer, node: calls.emit_terms(writer, node.arguments, stop=False),
    "_||_": lambda writer, node: calls.emit_terms(writer, node.arguments, stop=True),
    "_==_": calls.emit_equality,
    "_!=_": calls.emit_equality,
    "@in": calls.emit_membership,
    "@not_strictly_false": folds.emit_condition,
    "cel.@mapInsert": folds.emit_insert,
}


_WORK_OF_NODE: Final = 5
"""The least work of writing a node's evaluation; expressions that need too much are not begun."""
_WORK_OF_LINE: Final = 6
"""The work of compiling a line."""


def compiled(analyses: Iterable[Analysis], make: Callable[[], Generator]) -> Any:  # what the functions are
    """Compile what a generator of some expressions writes; return the function that evaluates it.

    Raises:
        CostLimitExceededError: Compiling is more work than the budget in force allows, offline.
        BudgetExceededError: Compiling is more work than the budget in force allows.
    """
    try:
        work(sum(len(analysis.weights) for analysis in analyses) * _WORK_OF_NODE)
        generator = make()
        name = generator.write()
        names = {"__builtins__": BUILTINS, **generator.constants}
        for source in generator.functions:
            work(source.count("\n") * _WORK_OF_LINE)
            exec(compile(source, "<cel>", "exec"), names)  # noqa: S102 - written by `Generator`
    except BudgetExceededError as error:
        stopped(0, error)
        raise
    return names[name]


def stopped(left: int, error: Exception) -> int:
    """The cost left once an evaluation was stopped.

    Raises:
        CostLimitExceededError: It was more work than the budget in force allows, offline.
        EvaluationError: The values are nested too deeply.
    """
    if isinstance(error, CostLimitExceededError):
        return min(left, error.left)
    if isinstance(error, RecursionError):
        raise EvaluationError(TOO_DEEP) from None
    if current().is_offline:
        raise WorkExceededError(str(error)) from None
    return left


_NAMED: Final[tuple[Any, ...]] = (
    *(bool, dict, enumerate, int, iter, len, list, max, min, next, str, sum, type),
    *(CostLimitExceededError, EvaluationError, KeyError, getsizeof, Meter, caught, count_built, look),
    *(attributes.follow, attributes.goes_on, attributes.present, attributes.resolved_optional),
    *(attributes.resolved_presence, attributes.step, attributes.unbound),
    *(aggregates.append, aggregates.put, Optional, calls.afford),
    *(folds.Lazy, folds.elements, folds.inserted),
    *(calls.among, calls.member, calls.not_bool, calls.same, stopped),
)
BUILTINS: Final[dict[str, object]] = {
    **{each.__name__: each for each in _NAMED},
    "LOOKUP": attributes.LOOKUP,
    "NONE": NONE,
    "NO_VALUE": NO_VALUE,
    "ORDERED": frozenset({int, str}),
    "PENDING": folds.PENDING,
    "SIZED": frozenset({str, list, dict}),
    "STOPPED": (CostLimitExceededError, BudgetExceededError, RecursionError),
    "current": current,
}
"""Everything that generated functions can call or name beside their own constants."""
