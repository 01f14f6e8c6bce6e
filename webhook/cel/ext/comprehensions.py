"""Comprehensions over index and element, or key and value (cel-go ext/comprehensions.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from webhook.cel.checker.declarations import Function, Library
from webhook.cel.overloads import Overload
from webhook.cel.runtime.folds import insert_entry, insert_map
from webhook.cel.syntax import macros
from webhook.cel.syntax.macros import Builder, Macro, MacroError, variable
from webhook.cel.types.base import map_of, parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from webhook.cel.syntax.ast import Expression
    from webhook.cel.syntax.macros import Expander
    from webhook.cel.types.values import Value

_NAME: Final = "argument must be a simple name"
_INSERT: Final = "cel.@mapInsert"
_MAP: Final = map_of(parameter("K"), parameter("V"))


def _variables(arguments: list[Expression]) -> dict[str, str]:
    first = variable(arguments[0], _NAME)
    second = variable(arguments[1], _NAME)
    if first == second:
        raise MacroError(arguments[1], f"duplicate variable name: {first}")
    return {"variable": first, "variable2": second}


def _quantifier(quantify: Callable[..., Expression]) -> Expander:
    def expand(build: Builder, target: Expression | None, arguments: list[Expression]) -> Expression:
        return quantify(build, target, arguments[2], **_variables(arguments))

    return expand


def _filter(arguments: list[Expression]) -> Expression | None:
    return arguments[2] if len(arguments) == 4 else None  # noqa: PLR2004 - two variables, filter, transform


def _transform_list(build: Builder, target: Expression | None, arguments: list[Expression]) -> Expression:
    assert target is not None  # a member macro has one
    names = _variables(arguments)
    return macros.collect(build, target, arguments[-1], _filter(arguments), **names)


def _map_transform(shape: str) -> Expander:
    def expand(build: Builder, target: Expression | None, arguments: list[Expression]) -> Expression:
        assert target is not None  # a member macro has one
        names = _variables(arguments)
        transform = arguments[-1]
        parts = [transform]
        inserted = [build.ident(names["variable"]), transform] if shape == "transformMap" else [transform]
        step: Expression = build.call(_INSERT, build.accumulator(), *inserted)
        predicate = _filter(arguments)
        if predicate is not None:
            step = build.call("_?_:_", predicate, step, build.accumulator())
            parts.append(predicate)
        return build.fold(
            shape,
            target,
            *parts,
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
