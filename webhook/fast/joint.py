"""Several expressions as one function: conditions, checks that must hold where they do, and the variables of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple, Protocol

from webhook.cel.environment import Program
from webhook.cel.runtime.attributes import Chain
from webhook.cel.runtime.constants import LARGE, Analysis
from webhook.cel.runtime.generator import Generator, compiled
from webhook.cel.runtime.meter import Meter
from webhook.cel.runtime.writer import GIVE_UP, Operand
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression

_VARIABLES: Final = "variables"
_FUNCTION: Final = "def {0}(meter, left, mark, bindings):"


class Evaluate(Protocol):
    """The type of what `Joint.compiled` returns."""

    def __call__(self, meter: Meter, left: int, mark: int, bindings: Mapping[str, Any], /) -> tuple[int, int, bool]:
        """Tell whether all expressions hold, or a condition is false.

        Args:
            meter: Counts the memory that is built; the caller counts costs.
            left: The cost that may be spent.
            mark: The cost left at which the clock is checked next.
            bindings: As for `Program.evaluate`, without `variables`.

        Returns:
            The cost left, less than 0 if the expressions must be evaluated one by one; the next mark; and whether
            everything holds. The cost is that of evaluation one by one, with each variable evaluated once.

        Raises:
            CostLimitExceededError: The expressions must be evaluated one by one.
            EvaluationError: The same.
            RecursionError: The same.
            DeadlineExceededError: The evaluation passed the deadline of the budget in force.
            BudgetExceededError: It was more work than the budget in force allows.
        """


class Joint(NamedTuple):
    """Several expressions, evaluated together as a fast path for the usual results.

    Args:
        conditions: The expressions that are evaluated first.
        checks: The expressions that are evaluated where all conditions hold.
        variables: The expressions that both may use as `variables.NAME`, by name.
        skipped: The largest number of conditions, from the last, that are skipped once one does not hold.
    """

    conditions: Sequence[Program]
    checks: Sequence[Program]
    variables: Mapping[str, Program]
    skipped: int

    def compiled(self) -> Evaluate:
        """Return a new function that tells whether all expressions hold, or a condition is false.

        Raises:
            CostLimitExceededError: Compiling is more work than the budget in force allows, offline.
            BudgetExceededError: Compiling is more work than the budget in force allows.
        """
        programs = chain(self.conditions, self.variables.values(), self.checks)
        evaluate: Evaluate = compiled(programs, lambda: JointGenerator(self))
        return evaluate


class JointGenerator(Generator):
    """Writes the expressions of a `Joint`."""

    def __init__(self, joint: Joint) -> None:
        super().__init__(next(chain(joint.conditions, joint.checks)), gives_up=True)
        self._joint = joint
        self._values = joint.variables
        self._cells = self.name()
        """The values of the variables so far."""
        self._lazy.add(self._cells)
        self._operands: dict[str, Operand] = {}
        """The operands of the variables."""
        self._functions: dict[str, tuple[str, list[str]]] = {}
        """The functions that compute them."""
        self._room = 2 * LARGE

    def write(self) -> str:
        """Write all expressions; return the name of their function."""
        if self._values:
            self.line(f"{self._cells} = [PENDING] * {len(self._values)}")
        false: list[str] = []
        for left, condition in enumerate(self._joint.conditions, 1 - len(self._joint.conditions)):
            held = self.truth(self._whole(condition))
            false.append(f"{held.text} is False")
            if -left <= self._joint.skipped:
                self.settle()
                self.line(f"if {' or '.join(false)}: return left, mark, False")
                false = []
        for check in self._joint.checks:
            self.line(f"if {self._whole(check).text} is not True: {GIVE_UP}")
        self.settle()
        bound = [f"\t{name} = bindings[{self.given(variable)}]" for variable, name in self.variables.items()]
        name = "evaluate"
        self.functions.append(
            "\n".join([_FUNCTION.format(name), *bound, *self._lines, "\treturn left, mark, True", ""])
        )
        return name

    def variable(self, name: str) -> Operand:
        """Return a variable of the expressions; `variables` has no value of its own here."""
        if name == _VARIABLES:
            self.line(GIVE_UP)
            return Operand(self._cells, fails=False)  # not a constant, of which Python would warn
        return Operand(super().variable(name).text, fails=False)

    def _whole(self, analysis: Analysis) -> Operand:
        """Write one expression, in a function of its own if there are many."""
        with self._about(analysis):
            root = analysis.checked.root
            self._room -= analysis.weights[root]
            operand = self.emit(root) if self._room >= 0 else self.apart(partial(self.emit, root))
        return operand  # noqa: RET504 - a block may swallow errors, for all that mypy knows

    @contextmanager
    def _about(self, analysis: Analysis) -> Iterator[None]:
        before = self._analysis, self._locals
        self._turn_to(analysis)
        self._locals = {}
        yield
        self._turn_to(before[0])
        self._locals = before[1]

    def _start(self, node: Expression) -> Chain | None:
        if isinstance(node, ast.Select) and not node.test:
            operand = node.operand
            if isinstance(operand, ast.Ident) and operand.resolved == f".{_VARIABLES}":
                return Chain(partial(self._read, node.field))
        return super()._start(node)

    def _read(self, name: str) -> Operand:
        """Write the read of a variable, which costs as much as the step to it."""
        self.spend(1)
        known = self.facts.get((_VARIABLES, name))
        if known is not None:
            return self._operands[name]._replace(text=known)
        analysis, cell = self._values[name], f"{self._cells}[{list(self._values).index(name)}]"
        weight = analysis.weights[analysis.checked.root]
        self.settle()
        value = self.set(cell)
        if name in self._operands or weight > self._room or self.is_deep:
            function, taken = self._functions.get(name) or self.function(lambda: self._computed(name, cell))[:2]
            self._functions[name] = function, taken
            arguments = ", ".join(("meter", "left", "mark", *taken))
            self.line(f"if {value} is PENDING: left, mark, {value} = {function}({arguments})")
        else:  # the first read: a call would take longer than most variables
            self._room -= weight
            with self.block(f"if {value} is PENDING:"):
                self.line(f"{value} = {self._computed(name, cell).text}")
        self.facts[_VARIABLES, name] = value
        return self._operands[name]._replace(text=value)

    def _computed(self, name: str, cell: str) -> Operand:
        """Write the computation of a variable."""
        analysis = self._values[name]
        with self._about(analysis):
            operand = self.emit(analysis.checked.root)
        self.line(f"{cell} = {operand.text}")
        self._operands[name] = operand
        return operand
