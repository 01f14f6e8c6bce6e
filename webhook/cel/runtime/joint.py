"""Several expressions as one function: conditions, checks that must hold where they do, and the variables of both."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

from webhook.cel.runtime.attributes import Chain
from webhook.cel.runtime.constants import LARGE
from webhook.cel.runtime.generator import Generator
from webhook.cel.runtime.writer import Operand
from webhook.cel.syntax import ast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from webhook.cel.runtime.constants import Analysis
    from webhook.cel.syntax.ast import Expression

_VARIABLES: Final = "variables"
_FUNCTION: Final = "def {0}(meter, left, mark, bindings):"
_LOOK_CLOSER: Final = "raise CostLimitExceededError"


class JointGenerator(Generator):
    """Writes the expressions that `webhook.cel.runtime.program.Joint` evaluates.

    Args:
        conditions: As there.
        checks: As there.
        variables: As there.
        skipped: As there.
    """

    def __init__(
        self,
        conditions: Sequence[Analysis],
        checks: Sequence[Analysis],
        variables: Mapping[str, Analysis],
        skipped: int,
    ) -> None:
        self._conditions, self._checks, self._values, self._skipped = conditions, checks, variables, skipped
        super().__init__((*conditions, *checks)[0])
        self._cells = self.name()
        """The values of the variables so far."""
        self._functions: dict[str, tuple[str, list[str], Operand]] = {}
        self._room = LARGE

    def write(self) -> str:
        """Writes all expressions; gives the name of their function."""
        self.line(f"{self._cells} = [PENDING] * {len(self._values)}")
        false: list[str] = []
        for left, condition in enumerate(self._conditions, 1 - len(self._conditions)):
            held = self._whole(condition)
            self.line(f"if {held} is not True and {held} is not False: {_LOOK_CLOSER}")
            false.append(f"{held} is False")
            if -left <= self._skipped:
                self.line(f"if {' or '.join(false)}: return left, mark, False")
                false = []
        for check in self._checks:
            self.line(f"if {self._whole(check)} is not True: {_LOOK_CLOSER}")
        bound = [f"\t{name} = bindings[{self.given(variable)}]" for variable, name in self.variables.items()]
        name = "evaluate"
        self.functions.append(
            "\n".join([_FUNCTION.format(name), *bound, *self._lines, "\treturn left, mark, True", ""])
        )
        return name

    def variable(self, name: str) -> Operand:
        """A variable of the expressions; `variables` has no value of its own here."""
        if name == _VARIABLES:
            self.line(_LOOK_CLOSER)
            return Operand("None", fails=False)
        return super().variable(name)

    def _whole(self, analysis: Analysis) -> str:
        """Writes one expression, in a function of its own if there are many; gives its value or error."""
        with self._about(analysis):
            root = analysis.checked.root
            self._room -= analysis.weights[root]
            operand = self.emit(root) if self._room >= 0 else self.apart(partial(self.emit, root))
        self.settle()
        return operand.text

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
        """Writes the read of a variable, which costs as much as the step to it."""
        self.spend(1)
        function, taken, operand = self._functions.get(name) or self._computing(name)
        self.settle()
        value = self.set(f"{self._cells}[{list(self._values).index(name)}]")
        arguments = ", ".join(("meter", "left", "mark", *taken))
        self.line(f"if {value} is PENDING: left, mark, {value} = {function}({arguments})")
        return operand._replace(text=value, fails=False)

    def _computing(self, name: str) -> tuple[str, list[str], Operand]:
        """Writes the function that computes a variable and caches its value."""
        analysis = self._values[name]

        def body() -> Operand:
            with self._about(analysis):
                operand = self.emit(analysis.checked.root)
            self.settle()
            if operand.fails:
                self.line(f"if type({operand.text}) is EvaluationError: {_LOOK_CLOSER}")
            self.line(f"{self._cells}[{list(self._values).index(name)}] = {operand.text}")
            return operand

        made = self._functions[name] = self.function(body)
        return made
