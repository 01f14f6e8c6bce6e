"""Validators, which check constants after type checking (cel-go cel/validator.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from webhook.cel.checker.declarations import Library, Validator
from webhook.cel.errors import INVALID_ARGUMENT, MISMATCHED_TYPE, EvaluationError, Issues
from webhook.cel.regex import re2 as regex
from webhook.cel.runtime.conversions import CONVERSIONS
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.cel.types import base as types
from webhook.cel.types.base import Type
from webhook.cel.types.values import Value


def _literals(function: str, accepts: Mapping[Type, Callable[[Any], object]]) -> Validator:
    """The first argument of a function, where it is a literal, must be one that the function takes.

    Args:
        accepts: By type of literals, a function that raises `EvaluationError` for an invalid one.
    """

    def check(node: Expression, issues: Issues) -> None:
        argument = node.arguments[0] if isinstance(node, ast.Call) and node.arguments else None
        if isinstance(argument, ast.Literal) and argument.type in accepts:
            try:
                accepts[argument.type](argument.value)
            except EvaluationError:
                issues.report(argument.offset, INVALID_ARGUMENT, function)

    return Validator(check, function)


def _nothing(value: Value) -> NoReturn:
    raise EvaluationError(f"not for {value}")


def _check_aggregate(node: Expression, issues: Issues) -> None:
    """Report the first element that differs from those before it, or all keys and values that do."""
    rows: list[list[tuple[Expression, bool]]] = []
    if isinstance(node, ast.ListExpression):
        rows = [[(each, index in node.optional)] for index, each in enumerate(node.elements)]
    elif isinstance(node, ast.MapExpression):
        rows = [[(entry.key, False), (entry.value, entry.optional)] for entry in node.entries]
    expected: list[Type] = []
    for row in rows:
        found = [types.unwrap_optional(part.type)[0] if is_optional else part.type for part, is_optional in row]
        expected = expected or found
        wrong = [each for each in zip(row, expected, found, strict=True) if each[1] != each[2]]
        for (part, _), wanted, type_ in wrong:
            issues.report(part.offset, MISMATCHED_TYPE, wanted, type_)
        if wrong and isinstance(node, ast.ListExpression):
            return


homogeneous_aggregates: Final = Validator(_check_aggregate)
"""All elements of a list, all keys and all values of a map must be of one type, save in arguments of `format`."""

EXTENDED_VALIDATIONS: Final = Library(
    validators=(
        _literals("duration", {**CONVERSIONS[types.DURATION], types.NULL: _nothing}),
        _literals("timestamp", {**CONVERSIONS[types.TIMESTAMP], types.NULL: _nothing}),
        _literals("matches", {types.STRING: regex.check_pattern}),
        homogeneous_aggregates,
    ),
)
