"""Writes parts of selectors, and the values that they see, in short."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from webhook.cel.kubernetes import quantity, semver
from webhook.cel.syntax.ast import Call, Comprehension, Expression, Ident, ListExpression, Literal, Select, Shared
from webhook.cel.types.values import Optional

AND: Final = "_&&_"
OR: Final = "_||_"
NOT: Final = "!_"
INDEX: Final = "_[_]"

OPERATORS: Final = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
"""The operators of comparisons, by their functions."""
_CONDITIONAL: Final = "_?_:_"
_INFIX: Final = {
    **OPERATORS,
    **{f"_{each}_": each for each in ("+", "-", "*", "/", "%", "&&", "||")},
    "@in": "in",
}
_WRAPPED: Final = {INDEX: "{}[{}]", "_[?_]": "{}[?{}]", "_?._": "{}[?{}]", NOT: "!{}", _CONDITIONAL: "{} ? {} : {}"}
_MOST_SHOWN: Final = 1 << 14
"""The number of characters after which a value is cut; an attribute has fewer."""


def shown(value: Any) -> str:
    """Write a value; of a very long one, only the beginning: its parts may share others many times."""
    found, size = [], 0
    for piece in _pieces(value):
        if size > _MOST_SHOWN:
            found.append("…")
            break
        found.append(piece)
        size += len(piece)
    return "".join(found)


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        yield "["
        for index, each in enumerate(value):
            if index:
                yield ", "
            yield from _pieces(each)
        yield "]"
    elif isinstance(value, dict):
        yield "{"
        for index, (key, each) in enumerate(value.items()):
            yield f"{', ' if index else ''}{shown(key)}: "
            yield from _pieces(each)
        yield "}"
    elif isinstance(value, Optional) and value.present:
        yield "optional("
        yield from _pieces(value.value)
        yield ")"
    elif isinstance(value, str | bool) or value is None:
        yield json.dumps(value, ensure_ascii=False)
    elif isinstance(value, quantity.Quantity):
        yield str(value.number)
    else:
        yield str(value.version if isinstance(value, semver.Semver) else value)


def source_of(node: Expression) -> str:  # noqa: PLR0911 - a return for each kind of node
    """Write an expression in short."""
    if isinstance(node, Literal):
        return shown(node.value)
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select):
        inner = f"{source_of(node.operand)}.{node.field}"
        return f"has({inner})" if node.test else inner
    if isinstance(node, ListExpression):
        return f"[{', '.join(map(source_of, node.elements))}]"
    if isinstance(node, Call):
        return _source_of_call(node)
    if isinstance(node, Comprehension):
        if node.shape == "bind":
            return f"cel.bind({node.accumulator}, {source_of(node.initial)}, {source_of(node.result)})"
        return f"{source_of(node.range)}.{node.shape}(…)"
    return "…"


def _source_of_mapping(has_value: Expression, mapped: Expression, _: Expression) -> str:
    """Write what ``optMap`` and ``optFlatMap`` expand to as the macro; empty for other conditions."""
    target = has_value.target if isinstance(has_value, Call) else None
    if not isinstance(target, Shared):
        return ""
    name = "optFlatMap"
    if isinstance(mapped, Call) and mapped.function == "optional.of":
        name, mapped = "optMap", mapped.arguments[0]
    if not isinstance(mapped, Comprehension):
        return ""
    return f"{source_of(target.original)}.{name}({mapped.accumulator}, {source_of(mapped.result)})"


def _source_of_call(node: Call) -> str:
    if node.function == _CONDITIONAL and (macro := _source_of_mapping(*node.arguments)):
        return macro
    arguments = [source_of(each) for each in node.arguments]
    if node.function == NOT and getattr(node.arguments[0], "function", "") in _INFIX:
        return f"!({arguments[0]})"
    if operator := _INFIX.get(node.function):
        return f" {operator} ".join(arguments)
    if node.function in _WRAPPED:
        return _WRAPPED[node.function].format(*arguments)
    called = f"{node.function}({', '.join(arguments)})"
    return f"{source_of(node.target)}.{called}" if node.target else called
