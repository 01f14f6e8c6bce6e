"""Validators, which check constants after type checking (cel-go cel/validator.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from webhook.cel.checker.declarations import Library, Validator
from webhook.cel.errors import INVALID_ARGUMENT, MISMATCHED_TYPE, EvaluationError, Issues
from webhook.cel.regex import re2 as regex
from webhook.cel.runtime import conversions
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.cel.types import base as types
from webhook.cel.types.base import Type
from webhook.cel.types.values import Value


def _literals(function: str, accepts: Mapping[type, Callable[..., object]]) -> Validator:
    """The first argument of a function, where it is a literal, must be one that the function takes.

    Args:
        accepts: By class of literals, a function that raises `EvaluationError` for an invalid one.
    """

    def check(node: Expression, issues: Issues) -> None:
        argument = node.arguments[0] if isinstance(node, ast.Call) and node.arguments else None
        if isinstance(argument, ast.Literal) and type(argument.value) in accepts:
            try:
                accepts[type(argument.value)](argument.value)
            except EvaluationError:
                issues.report(argument.offset, INVALID_ARGUMENT, function)

    return Validator(check, function)


def _nothing(value: Value) -> NoReturn:
    raise EvaluationError(f"not for {value}")


_EXEMPT: Final = frozenset({"format", "cel.@block"})


def _check_aggregates(root: Expression, issues: Issues) -> None:
    stack = [(root, 1)]
    lists: list[tuple[ast.ListExpression, int]] = []
    maps: list[tuple[ast.MapExpression, int]] = []
    shared = set()
    while stack:
        node, copies = stack.pop()
        if isinstance(node, ast.Call) and node.function in _EXEMPT:
            continue
        if isinstance(node, ast.ListExpression):
            lists.append((node, copies))
        elif isinstance(node, ast.MapExpression):
            maps.append((node, copies))
        elif isinstance(node, ast.Shared):
            if node in shared:
                continue
            shared.add(node)
            copies *= 2
        stack.extend((child, copies) for child in node.children())
    for each, issues.copies in lists:
        _check_list(each, issues)
    for entries, issues.copies in maps:
        _check_map(entries, issues)


def _check_list(node: ast.ListExpression, issues: Issues) -> None:
    expected: Type | None = None
    for index, element in enumerate(node.elements):
        type_ = types.unwrap_optional(element.type)[0] if index in node.optional else element.type
        if expected is None:
            expected = type_
        elif type_ != expected:
            _report(element, expected, type_, issues)
            return


def _check_map(node: ast.MapExpression, issues: Issues) -> None:
    key_type: Type | None = None
    value_type: Type | None = None
    for entry in node.entries:
        value = types.unwrap_optional(entry.value.type)[0] if entry.optional else entry.value.type
        if key_type is None or value_type is None:
            key_type, value_type = entry.key.type, value
            continue
        if entry.key.type != key_type:
            _report(entry.key, key_type, entry.key.type, issues)
        if value != value_type:
            _report(entry.value, value_type, value, issues)


def _report(node: Expression, expected: Type, found: Type, issues: Issues) -> None:
    issues.report(node.offset, MISMATCHED_TYPE, str(expected), str(found))


homogeneous_aggregates: Final = Validator(_check_aggregates)
"""All elements of a list, all keys and all values of a map must be of one type, save in arguments of `format`."""

EXTENDED_VALIDATIONS: Final = Library(
    "extended validations",
    validators=(
        _literals(
            "duration", {str: conversions.string_to_duration, int: conversions.int_to_duration, type(None): _nothing}
        ),
        _literals(
            "timestamp", {str: conversions.string_to_timestamp, int: conversions.int_to_timestamp, type(None): _nothing}
        ),
        _literals("matches", {str: regex.check_pattern}),
        homogeneous_aggregates,
    ),
)
