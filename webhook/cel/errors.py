"""Errors of expressions, with cel-go's messages and layout (cel-go common/error.go, common/errors.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from webhook.issues import Issue

MAX_ISSUES: Final = 100
_MAX_SNIPPET: Final = 16384
NOWHERE: Final = -1
_FIRST_WIDE: Final = "\x80"
UNLIMITED: Final = 2**63

UNRECOGNIZED: Final = "Syntax error: token recognition error at: '{}'"
MISSING: Final = "Syntax error: missing {1} at '{0}'"
"""The next token, and the kinds of tokens that could stand there; so have the next two."""
EXTRANEOUS: Final = "Syntax error: extraneous input '{}' expecting {}"
MISMATCHED: Final = "Syntax error: mismatched input '{}' expecting {}"
NO_ALTERNATIVE: Final = "Syntax error: no viable alternative at input '{}'"
TOO_MANY_RECOVERIES: Final = "Syntax error: error recovery attempt limit exceeded: {}"
SYNTAX: Final = frozenset({UNRECOGNIZED, MISSING, EXTRANEOUS, MISMATCHED, NO_ALTERNATIVE, TOO_MANY_RECOVERIES})
RESERVED_NAME: Final = "reserved identifier: {}"
NOT_A_FIELD: Final = "invalid argument to has() macro"
INVALID_LITERAL: Final = "invalid {} literal"
INVALID_ARGUMENT: Final = "invalid {} argument"
UNDECLARED: Final = "undeclared reference to '{}' (in container '')"
UNDEFINED: Final = "undefined field '{}'"
"""The field, and the full name of the struct that lacks it."""
UNRESOLVED: Final = "unexpected failed resolution of '{}'"
NO_OVERLOAD: Final = "found no matching overload for '{}' applied to '{}'"
"""The function, and the :class:`Signature` of the call."""
NO_RANGE: Final = "expression of type '{}' cannot be range of a comprehension (must be list, map, or dynamic)"
"""The type."""
MISMATCHED_TYPE: Final = "expected type '{}' but found '{}'"
"""The two :class:`types <webhook.cel.types.base.Type>`."""
MISMATCHED_FIELD: Final = "expected type of field '{}' is '{}' but provided type is '{}'"


class Signature(NamedTuple):
    """The types of a call, of :class:`webhook.cel.types.base.Type`; a function has no target."""

    target: Any
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        """Write the types as cel-go does."""
        target = "" if self.target is None else f"{self.target}."
        return f"{target}({', '.join(map(str, self.arguments))})"


class CelError(Exception):
    """The base of all errors that this package raises; any other exception is a defect."""


class CompileError(CelError):
    """The text is not an expression of its environment: wrong syntax, types or constants.

    `str()` gives cel-go's report: for every issue `ERROR: <input>:line:column: message`, the line and a caret.

    Args:
        hidden: The number of further issues.
        most: The largest number of characters in the report.
    """

    def __init__(self, text: str, issues: list[Issue], hidden: int = 0, most: int = UNLIMITED) -> None:
        self.text: Final = text
        self.issues: Final = sorted(issues, key=lambda issue: (issue.line, issue.column))
        lines = text.split("\n")
        shown: list[str] = []
        size = 0
        for issue in self.issues:
            if size > most:
                hidden += len(self.issues) - len(shown)
                break
            shown.append(_display(issue, lines, min((most - size) // 3, _MAX_SNIPPET)))
            size += len(shown[-1])
        if hidden:
            shown.append(f"{hidden} more errors were truncated")
        report = "\n".join(shown)
        super().__init__(report if len(report) <= most else report[:most] + " […]")


class ProgramError(CelError):
    """The expression is well typed, yet a constant part of it always fails: `int("x")`."""


NO_SUCH_KEY: Final = "no such key: {}"
NO_SUCH_OVERLOAD: Final = "no such overload"
NO_SUCH_OVERLOAD_OF: Final = "no such overload: {}"


class EvaluationError(CelError):
    """The evaluation ended with an error; `str()` is cel-go's message.

    Its arguments are the message, with braces for what it names, the names, and what it leaves out after that.
    """

    def __str__(self) -> str:
        """Write cel-go's message."""
        code, *arguments = self.args
        return str(code.format(*arguments) if arguments else code)

    @property
    def code(self) -> str:
        """The message, with braces for what it names."""
        return str(self.args[0])

    @property
    def has_overload(self) -> bool:
        """Whether a function was found for the types of its arguments; false only for errors that say so."""
        return self.code not in {NO_SUCH_OVERLOAD, NO_SUCH_OVERLOAD_OF}

    @property
    def missing(self) -> str:
        """The key that a map does not have; empty for other errors."""
        return str(self.args[1]) if self.code == NO_SUCH_KEY else ""


class CostLimitExceededError(CelError):
    """The evaluation was stopped, most often at its limit of cost; unlike other errors, nothing absorbs this one.

    Args:
        left: The cost left to be spent, less than 0.
    """

    def __init__(self, message: str = "operation cancelled: actual cost limit exceeded", *, left: int = -1) -> None:
        super().__init__(message)
        self.left: Final = left


class WorkExceededError(CostLimitExceededError):
    """The evaluation is more work than the budget in force allows."""


class StopParsingError(Exception):
    """Ends the parsing of a text without further errors."""


def crash(message: str) -> CostLimitExceededError:
    """The error that cel-go makes of a panic in its own code (cel/program.go, Eval); nothing absorbs it."""
    return CostLimitExceededError(f"internal error: {message}", left=UNLIMITED)


class Issues:
    """Collects issues about one text.

    Args:
        most: The largest number of characters in a report of the issues.

    Attributes:
        copies: The number of copies of the current node in the tree; cel-go reports an issue for every copy.
    """

    def __init__(self, text: str, most: int = UNLIMITED) -> None:
        self.text, self.copies, self._most = text, 1, most
        self.found: list[Issue] = []
        self._hidden = self._wrong = 0

    def report(self, offset: int, code: str, *arguments: object) -> None:
        """Note an issue; all after the hundredth are only counted."""
        shown = min(self.copies, MAX_ISSUES - len(self.found))
        self._hidden += self.copies - shown
        if not shown:
            return
        issue = Issue(code, arguments)
        if offset != NOWHERE:
            start, end = self.text.rfind("\n", 0, offset) + 1, self.text.find("\n", offset)
            column = offset - start if self.text else NOWHERE  # cel-go gives offsets in an empty text none
            rest = (len(self.text) if end < 0 else end) - offset
            issue = Issue(code, arguments, offset, self.text.count("\n", 0, offset) + 1, column, rest)
        self.found += [issue] * shown

    def report_syntax(self, offset: int, code: str, *arguments: object) -> None:
        """Note an issue of syntax; the one after the hundredth ends the parsing.

        Raises:
            StopParsingError: The text has too many issues.
        """
        self.report(offset, code, *arguments)
        self._wrong += 1
        if self._wrong > MAX_ISSUES:
            raise StopParsingError

    @contextmanager
    def twice(self) -> Iterator[None]:
        """Note all issues of the block once more after it."""
        first, hidden = len(self.found), self._hidden
        yield
        again = self.found[first : first + MAX_ISSUES - len(self.found)]
        self._hidden += self._hidden - hidden + len(self.found) - first - len(again)
        self.found += again

    def raise_if_any(self) -> None:
        """Raise the issues that were reported.

        Raises:
            CompileError: At least one issue was reported.
        """
        if self.found:
            raise CompileError(self.text, self.found, self._hidden, self._most)


def succeeds(parse: Callable[..., object]) -> Callable[..., bool]:
    """A function that tells whether another one accepts its arguments, such as `isIP` of `ip`."""

    def is_accepted(*arguments: object) -> bool:
        try:
            parse(*arguments)
        except (EvaluationError, ValueError):
            return False
        return True

    return is_accepted


def _display(issue: Issue, lines: list[str], widest: int) -> str:
    head = f"ERROR: <input>:{issue.line}:{issue.column + 1}: {issue.message}"
    if issue.column < 0 or not 0 < issue.line <= len(lines) or len(lines[issue.line - 1]) > widest:
        return head
    snippet = lines[issue.line - 1].replace("\t", " ")
    dots = "".join("．" if char >= _FIRST_WIDE else "." for char in snippet[: issue.column])  # noqa: RUF001 - cel-go's
    caret = "＾" if snippet[issue.column : issue.column + 1] >= _FIRST_WIDE else "^"  # noqa: RUF001 - cel-go's
    return f"{head}\n | {snippet}\n | {dots}{caret}"
