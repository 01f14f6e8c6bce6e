"""Python source of a function that recognizes valid values, under construction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import MsgspecError


class Source:
    """The source of the function that recognizes valid values, under construction.

    It is one function for the value and all structs in it: a call for each takes several times as long, and a slice has
    thousands of structs. Only names of declared fields become part of the source.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth, self._locals = 2, 0
        self._scope: dict[str, Any] = {}
        self._names: dict[int, str] = {}

    def local(self, expression: str = "") -> str:
        """Return the name of a new local variable, and assign it the value of an expression."""
        self._locals += 1
        name = f"v{self._locals}"
        if expression:
            self.line(f"{name} = {expression}")
        return name

    def given(self, value: object) -> str:
        """Return the name under which the function knows a value."""
        name = self._names.setdefault(id(value), f"given{len(self._names)}")
        self._scope[name] = value
        return name

    def refuse(self, condition: str) -> None:
        """Write a condition that is true of a value that needs a closer look."""
        self.line(f"if {condition}: return False")

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Write a block."""
        self.line(header)
        self._depth += 1
        yield
        self._depth -= 1

    def line(self, text: str) -> None:
        """Write a statement."""
        self._lines.append(f"{' ' * self._depth}{text}\n")

    def function(self) -> Callable[[object], bool]:
        """Return the function of `value`."""
        # A rule may read what is not planned, or not as it is held.
        errors = self.given((MsgspecError, ValueError, TypeError, LookupError, AttributeError, RecursionError))
        lines = ("def is_fine(value):\n try:\n", *self._lines, f"  return True\n except {errors}: return False\n")
        exec("".join(lines), self._scope)  # noqa: S102 - see above
        is_fine: Callable[[object], bool] = self._scope["is_fine"]
        return is_fine
