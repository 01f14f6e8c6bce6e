"""Python source under construction: lines and blocks, names, constants, functions, and costs yet to be counted.

No text of an expression becomes part of the source. Names are numbered; all constants, including the names of fields,
are globals of the generated functions, whose builtins are the few functions of this package that they call.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.budget import work

if TYPE_CHECKING:
    from webhook.cel.checker.declarations import Scope
    from webhook.cel.syntax.ast import Expression
    from webhook.cel.types.values import Value

NOT_CONSTANT: Final = object()
"""The value of a node that is not a constant."""
DEEPEST: Final = 10
"""The depth of blocks from which a new function continues; CPython allows 20 blocks."""
GIVE_UP: Final = "raise CostLimitExceededError"
"""The statement by which all evaluation of a `Joint` ends."""
_WORK_OF_LINE: Final = 4
_LITERALS: Final = {None: "None", True: "True", False: "False"}
_LOCAL: Final = re.compile(r"\b(?:t([0-9]+)|v[0-9]+|bindings)\b")
_BEFORE: Final = """\
def evaluate(bindings, *, meter=None):
	if meter is None: meter = Meter()
	left = limit = meter.limit
	try:
		mark = 0 if current() is NONE else look(meter, left, left)"""
# A raised error in a local variable would hold its frame, and with it the data, in a reference cycle.
_AFTER: Final = """\
		if left < 0: raise CostLimitExceededError(left=left)
		if type({0}) is EvaluationError: raise EvaluationError(*{0}.args)
		return {0}
	except STOPPED as error:
		left = stopped(left, error)
		raise
	finally: meter.cost += limit - left
"""


class Operand(NamedTuple):
    """A value in the source: a local variable or a constant, and the facts known about it.

    Args:
        cls: The class of the value; None if unknown.
        fails: Whether it may be an `EvaluationError` in the place of a value.
        value: The value, if it is a constant.
    """

    text: str
    cls: type | None = None
    fails: bool = True
    value: Value = NOT_CONSTANT


class Writer(ABC):
    """Writes the functions of one expression.

    An evaluation may fail. The error is kept as a value where the errors of several parts are compared (`caught`), else
    raised.

    Args:
        scope: The meanings of names.
        gives_up: Whether an error ends everything, so that no operand is an error. What is known of a value then holds
            for the rest of its block, and is not computed again.
    """

    def __init__(self, scope: Scope, *, gives_up: bool = False) -> None:
        self.scope = scope
        self.gives_up: Final = gives_up
        self.facts: dict[tuple[str, object], str] = {}
        """Names of values that are known in the present block: by another one's name, and the step from that."""
        self.constants: Final[dict[str, Value]] = {}
        self.functions: Final[list[str]] = []
        self.variables: Final[dict[str, str]] = {}
        self._known: dict[tuple[type, Value], str] = {}
        self._lines: list[str] = []
        self._depth = 1
        self._cost = 0
        self._names = 0

    @abstractmethod
    def emit(self, node: Expression, *, caught: bool = True) -> Operand:
        """Write the evaluation of a node.

        Args:
            caught: Whether an error becomes the value; else it is raised.
        """

    @abstractmethod
    def resolved(self, node: Expression) -> Operand:
        """Write a node that is part of an attribute, and therefore costs less."""

    @abstractmethod
    def constant_of(self, node: Expression) -> Value:
        """The value of a constant node, else `NOT_CONSTANT`."""

    @abstractmethod
    def groups(self, nodes: Sequence[Expression]) -> list[tuple[Sequence[Expression], bool]]:
        """Groups of nodes, each with whether it becomes a function of its own; where they are few, each is a group."""

    # -- names

    def name(self) -> str:
        """A name for a local variable."""
        self._names += 1
        return f"t{self._names}"

    def constant(self, value: Value) -> Operand:
        """A name for a constant."""
        cls = type(value)
        if value is None or cls is bool:
            return Operand(_LITERALS[value], cls, fails=False, value=value)
        return Operand(self.given(value), cls, fails=False, value=value)

    def given(self, value: object) -> str:
        """The name under which the functions use an object."""
        cls, name = type(value), f"k{len(self.constants)}"
        if cls is str or cls is int:
            name = self._known.setdefault((cls, value), name)
        self.constants[name] = value
        return name

    # -- lines

    def line(self, text: str) -> None:
        """Write a line."""
        self._lines.append("\t" * self._depth + text)

    def set(self, text: str) -> str:
        """Write an assignment to a new variable; return its name."""
        name = self.name()
        self.line(f"{name} = {text}")
        return name

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Write a block."""
        self.settle()
        self.line(header)
        before, facts = len(self._lines), self.facts
        self._depth += 1
        self.facts = {**facts}
        yield
        self.settle()
        if len(self._lines) == before:
            self.line("pass")
        self._depth -= 1
        self.facts = facts

    @property
    def is_deep(self) -> bool:
        """Whether blocks are nested too deeply for another one."""
        return self._depth >= DEEPEST

    # -- cost

    def spend(self, cost: int) -> None:
        """Count a cost; costs of several steps are counted together, before a block or an error."""
        self._cost += cost

    def settle(self) -> None:
        """Write the statement that counts the cost so far."""
        if self._cost:
            self.line(f"left -= {self._cost}")
            self._cost = 0

    def look(self) -> None:
        """Write a check of the clock, if one is due."""
        self.settle()
        self.line("if left < mark: mark = look(meter, left, mark)")

    def built(self, text: str) -> str:
        """The statement that counts the bytes of a new text, list or map; the next check notices a spent budget."""
        return f"meter.bytes -= getsizeof({text})" if self.gives_up else f"count_built(meter, {text})"

    # -- errors

    def raise_failure(self, operand: Operand) -> Operand:
        """Write the statement that raises an operand if it is an error; return the operand without errors."""
        if not operand.fails:
            return operand
        if self.gives_up:  # and nothing more is counted
            self.line(f"if type({operand.text}) is EvaluationError: {GIVE_UP}")
        else:
            self.settle()
            self.line(f"if type({operand.text}) is EvaluationError: raise {operand.text}")
        return operand._replace(fails=False)

    def settled(self, operand: Operand) -> Operand:
        """Write what `raise_failure` does where errors end everything; others remain values."""
        return self.raise_failure(operand) if self.gives_up else operand

    def otherwise(self, header: str, statement: str, result: str) -> bool:
        """Write a rare way to a result, which may be an error; tell whether that remains the value."""
        if not self.gives_up:
            self.line(f"{header} {statement}")
            return True
        self.line(header)
        self.line(f"\t{statement}")
        self.line(f"\tif type({result}) is EvaluationError: {GIVE_UP}")
        return False

    def truth(self, operand: Operand) -> Operand:
        """Write the check that an operand is a bool where errors end everything."""
        if not self.gives_up or operand.cls is bool:
            return operand
        self.line(f"if {operand.text} is not True and {operand.text} is not False: {GIVE_UP}")
        return operand._replace(cls=bool)

    def guarded(self, body: Callable[[], Operand], *, caught: bool) -> Operand:
        """Write a body that may raise errors, and its handler."""
        if not caught:
            return body()
        result = self.name()
        with self.block("try:"):
            operand = body()
            self.line(f"{result} = {operand.text}")
        with self.block("except EvaluationError:"):
            self.line(f"{result} = caught()")
        return Operand(result, operand.cls)

    # -- functions

    def function(self, body: Callable[[], Operand]) -> tuple[str, list[str], Operand]:
        """Write a function; return its name, the variables that it takes, and its result.

        Its first arguments are the meter, the rest of the cost and the mark; it returns the latter two before its
        result, which may be an error.
        """
        self.settle()
        before, lines, depth, facts = self._names, self._lines, self._depth, self.facts
        self._lines, self._depth, self.facts = [], 1, {}
        operand = body()
        self.settle()
        taken = {
            found[0]: None
            for line in (*self._lines, operand.text)
            for found in _LOCAL.finditer(line)
            if found[1] is None or int(found[1]) <= before
        }
        work(len(self._lines) * _WORK_OF_LINE)
        name = f"f{len(self.functions)}"
        header = f"def {name}({', '.join(('meter', 'left', 'mark', *taken))}):"
        self.functions.append("\n".join([header, *self._lines, f"\treturn left, mark, {operand.text}", ""]))
        self._lines, self._depth, self.facts = lines, depth, facts
        return name, [*taken], operand

    def main(self, body: Callable[[], Operand]) -> str:
        """Write the main function, `Program.evaluate`; return its name."""
        self._depth = 2
        operand = body()
        self.settle()
        bound = []
        for variable, name in self.variables.items():
            known = self.given(variable)
            bound.append(f"\t\ttry: {name} = bindings[{known}]")
            bound.append(f"\t\texcept KeyError: {name} = unbound({known})")
        self.functions.append("\n".join([_BEFORE, *bound, *self._lines, _AFTER.format(operand.text)]))
        return "evaluate"

    def variable(self, name: str) -> Operand:
        """A variable of the expression; an error if it is not bound."""
        return Operand(self.variables.setdefault(name, f"v{len(self.variables)}"))

    def call(self, name: str, taken: list[str]) -> str:
        """Write a call of one of the functions; return the name of its result."""
        self.settle()
        result = self.name()
        self.line(f"left, mark, {result} = {name}({', '.join(('meter', 'left', 'mark', *taken))})")
        return result

    def apart(self, body: Callable[[], Operand]) -> Operand:
        """Write a function, and its call."""
        name, taken, operand = self.function(body)
        return operand._replace(text=self.call(name, taken))
