"""`cel.bind(name, value, expression)` (cel-go ext/bindings.go)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from webhook.cel.checker.declarations import Library
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.cel.syntax.macros import Builder, Macro, MacroError


def binding(build: Builder, name: str, value: Expression, body: Expression) -> Expression:
    """An expression in which a name stands for a value that is computed on first use."""
    return build.fold(
        "bind",
        build.list(),
        body,
        variable="#unused",
        accumulator=name,
        initial=value,
        condition=build.literal(False),  # noqa: FBT003 - the constant itself
        step=build.ident(name),
        result=body,
    )


def _bind(build: Builder, operands: Sequence[Expression]) -> Expression | None:
    target, name, value, body = operands
    if not isinstance(target, ast.Ident) or target.name != "cel":
        return None
    if not isinstance(name, ast.Ident):
        raise MacroError(name, "cel.bind() variable names must be simple identifiers")
    return binding(build, name.name, value, body)


BINDINGS: Final = Library("bindings", macros=(Macro("bind", 3, member=True, expand=_bind),))
