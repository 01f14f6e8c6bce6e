"""Errors in the text of an expression."""

from __future__ import annotations

from typing import Any, NamedTuple


class Issue(NamedTuple):
    """An error in the text of an expression, as its compiler reports it.

    Args:
        code: The message, with braces for the arguments; those that are looked for are in :mod:`webhook.cel.errors`.
        arguments: The values that the message names, followed by those that it leaves out.
        offset: The code point of the error, from 0; negative if it concerns the whole.
        line: The line of that code point, from 1; -1 for the whole.
        column: Its column, from 0; -1 for the whole.
        rest: The characters from there to the end of the line.
        kind: The version and kind for which types were checked; empty if the error does not depend on them.
    """

    code: str
    arguments: tuple[Any, ...] = ()
    offset: int = -1
    line: int = -1
    column: int = -1
    rest: int = 0
    kind: tuple[str, str] | tuple[()] = ()

    @property
    def message(self) -> str:
        """The error, in one sentence."""
        return self.code.format(*self.arguments) if self.arguments else self.code

    @property
    def summary(self) -> str:
        """The first line of the message."""
        text = self.message
        return text.partition("\n")[0]
