"""An environment: declares variables, functions and types for expressions, and compiles them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from webhook.budget import MAX_REPORT, current
from webhook.cel.checker.checker import Checker
from webhook.cel.checker.declarations import Checked, Scope
from webhook.cel.errors import CompileError, EvaluationError, Issues, ProgramError
from webhook.cel.ext.standard import STANDARD
from webhook.cel.runtime.constants import Analysis
from webhook.cel.runtime.meter import TOO_DEEP, Meter
from webhook.cel.syntax.ast import Expression
from webhook.cel.syntax.parser import Places, Syntax, parse
from webhook.cel.types.base import Type
from webhook.cel.types.values import Value
from webhook.issues import Issue
from webhook.later import cached_property

if TYPE_CHECKING:

    class Evaluate(Protocol):
        """The type of `Program.evaluate`."""

        def __call__(self, bindings: Mapping[str, Value], *, meter: Meter | None = None) -> Value:
            """Evaluate an expression."""


class Program(Analysis):
    """An expression ready to be evaluated, any number of times and in several threads at once."""

    scope: Environment

    def prepare(self) -> None:
        """Compile the expression now, not at the first evaluation."""
        _ = self.evaluate

    @cached_property
    def evaluate(self) -> Evaluate:
        """Evaluate the expression: a function that is written and compiled on first use.

        Args:
            bindings: Values of the variables: JSON, or values of `webhook.cel.types.values`. They are not changed, and
                the result may be a part of them.
            meter: Limits and counts the cost; None for no limit.

        Raises:
            EvaluationError: The evaluation failed.
            CostLimitExceededError: The evaluation cost more than the meter allows, or built too much; offline also if
                it was more work than the budget in force allows.
            DeadlineExceededError: The evaluation passed the deadline of the budget in force.
            BudgetExceededError: The evaluation was more work than the budget in force allows.
        """
        try:
            from webhook.cel.runtime.generator import Generator, compiled  # most are only checked

            evaluate: Evaluate = compiled([self], lambda: Generator(self))
        except RecursionError:
            raise EvaluationError(TOO_DEEP) from None
        return evaluate


class Refusal(NamedTuple):
    """Why an expression is refused, in the API server's words.

    Args:
        is_internal: Whether it counts as an internal error.
        issues: The errors in the text of the expression.
        hint: What was probably meant.
    """

    text: str
    is_internal: bool = False
    issues: tuple[Issue, ...] = ()
    hint: str = ""


@contextmanager
def _bounded(text: str) -> Iterator[None]:
    """Report a text that overflows Python's stack, of which the caller has used most."""
    try:
        yield
    except RecursionError:
        raise CompileError(text, [Issue("expression is nested too deeply")]) from None


class Environment(Scope):
    """Declares variables, functions and types for expressions, and compiles them; immutable.

    Args:
        libraries: The libraries beside the standard library.
    """

    always = (STANDARD,)

    def parse(self, text: str) -> Expression:
        """Parse an expression, without checking its types.

        Raises:
            CompileError: The text is not an expression.
        """
        with _bounded(text):
            return self._parse(text)[0]

    def check(self, text: str, places: Places | None = None) -> Checked:
        """Parse an expression and check its types.

        Args:
            places: Takes the places of operands, if they are asked for.

        Raises:
            CompileError: The text is not a well-typed expression; every error is listed.
        """
        with _bounded(text):
            return self.typed(*self._parse(text, places))

    def typed(self, root: Expression, issues: Issues) -> Checked:
        """Check the types of a parsed expression.

        Args:
            issues: Has the expression's text, and takes the errors.

        Raises:
            CompileError: It is not well typed; every error is listed.
        """
        watched = Checker(self, issues).check(root)
        issues.raise_if_any()
        for function, node, issues.copies in watched:
            for validator in self.validators[function]:
                validator.check(node, issues)
        issues.raise_if_any()
        return Checked(issues.text, root, root.type)

    def _parse(self, text: str, places: Places | None = None) -> tuple[Expression, Issues]:
        issues = Issues(text) if current().is_offline else Issues(text, MAX_REPORT)
        return parse(issues, Syntax(self.macros, self.optional_syntax, self.options.quoting, places)), issues

    def program(self, checked: Checked) -> Program:
        """Prepare an expression for evaluation.

        Raises:
            ProgramError: A constant part of it always fails.
        """
        with _bounded(checked.text):
            return Program(checked, self)

    def compile(self, text: str) -> Program:
        """Parse and check an expression, and prepare it for evaluation.

        Raises:
            CompileError: The text is not a well-typed expression.
            ProgramError: A constant part of it always fails.
        """
        return self.program(self.check(text))

    def attempt(
        self, text: str, refuse: Callable[[Type], Refusal | None], hint_of: Callable[[CompileError], str] = lambda _: ""
    ) -> Program | Refusal:
        """Compile an expression, or say why the API server refuses it.

        Args:
            refuse: Says why a type of its value is not allowed.
            hint_of: Says what was probably meant.
        """
        try:
            checked = self.check(text)
            return refuse(checked.type) or self.program(checked)
        except CompileError as error:
            return Refusal(f"compilation failed: {error}", issues=tuple(error.issues), hint=hint_of(error))
        except ProgramError as error:
            return Refusal(f"program instantiation failed: {error}", is_internal=True)
