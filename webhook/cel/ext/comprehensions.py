"""Comprehensions over index and element, or key and value (cel-go ext/comprehensions.go)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from webhook.cel.checker.declarations import Function, Library
from webhook.cel.overloads import Overload
from webhook.cel.runtime.folds import insert_entry, insert_map
from webhook.cel.syntax import macros
from webhook.cel.syntax.ast import Expression
from webhook.cel.syntax.macros import Builder, Expander, Macro, MacroError, variable
from webhook.cel.types.base import map_of, parameter
from webhook.cel.types.values import Value

_NAME: Final = "argument must be a simple name"
_INSERT: Final = "cel.@mapInsert"
_MAP: Final = map_of(parameter("K"), parameter("V"))


def _variables(first: Expression, second: Expression) -> dict[str, str]:
    names = variable(first, _NAME), variable(second, _NAME)
    if names[0] == names[1]:
        raise MacroError(second, f"duplicate variable name: {names[0]}")
    return {"variable": names[0], "variable2": names[1]}


def _quantifier(quantify: Callable[..., Expression]) -> Expander:
    def expand(build: Builder, operands: Sequence[Expression]) -> Expression:
        target, first, second, predicate = operands
        return quantify(build, target, predicate, **_variables(first, second))

    return expand


def _transform_list(build: Builder, operands: Sequence[Expression]) -> Expression:
    target, first, second, *predicate, transform = operands
    return macros.collect(build, target, transform, *predicate, **_variables(first, second))


def _map_transform(shape: str) -> Expander:
    def expand(build: Builder, operands: Sequence[Expression]) -> Expression:
        target, first, second, *predicate, transform = operands
        names = _variables(first, second)
        inserted = [build.ident(names["variable"]), transform] if shape == "transformMap" else [transform]
        step: Expression = build.call(_INSERT, build.accumulator(), *inserted)
        if predicate:
            step = build.call("_?_:_", *predicate, step, build.accumulator())
        return build.fold(
            shape,
            target,
            transform,
            *predicate,
            initial=build.map(),
            condition=build.literal(True),  # noqa: FBT003 - the constant itself
            step=step,
            result=build.accumulator(),
            **names,
        )

    return expand


def _insert_entry(made: dict[Value, Value], key: Value, value: Value) -> dict[Value, Value]:
    made = dict(made)
    insert_entry(made, key, value)
    return made


def _insert_map(made: dict[Value, Value], entries: dict[Value, Value]) -> dict[Value, Value]:
    made = dict(made)
    insert_map(made, entries)
    return made


TWO_VARIABLE_COMPREHENSIONS: Final = Library(
    "two-variable comprehensions",
    macros=(
        Macro("all", 3, member=True, expand=_quantifier(macros.quantify_all)),
        Macro("exists", 3, member=True, expand=_quantifier(macros.quantify_exists)),
        Macro("existsOne", 3, member=True, expand=_quantifier(macros.quantify_one)),
        Macro("exists_one", 3, member=True, expand=_quantifier(macros.quantify_one)),
        Macro("transformList", 3, member=True, expand=_transform_list),
        Macro("transformList", 4, member=True, expand=_transform_list),
        Macro("transformMap", 3, member=True, expand=_map_transform("transformMap")),
        Macro("transformMap", 4, member=True, expand=_map_transform("transformMap")),
        Macro("transformMapEntry", 3, member=True, expand=_map_transform("transformMapEntry")),
        Macro("transformMapEntry", 4, member=True, expand=_map_transform("transformMapEntry")),
    ),
    functions=(
        Function(
            _INSERT,
            Overload("@mapInsert_map_key_value", (_MAP, parameter("K"), parameter("V")), _MAP, _insert_entry),
            Overload("@mapInsert_map_map", (_MAP, _MAP), _MAP, _insert_map),
        ),
    ),
)
