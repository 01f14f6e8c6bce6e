"""Comprehensions over index and element, or key and value (cel-go ext/comprehensions.go)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from webhook.cel.checker.declarations import Function, Library
from webhook.cel.overloads import Overload
from webhook.cel.runtime.folds import insert_entry, insert_map
from webhook.cel.syntax import macros
from webhook.cel.syntax.ast import Expression
from webhook.cel.syntax.macros import Builder, Expander, Macro
from webhook.cel.types.base import map_of, parameter
from webhook.cel.types.values import Value

_INSERT: Final = "cel.@mapInsert"
_MAP: Final = map_of(parameter("K"), parameter("V"))


def _transform_list(build: Builder, operands: Sequence[Expression]) -> Expression:
    target, first, second, *predicate, transform = operands
    return macros.collect(build, target, transform, *predicate, **macros.names_of([first, second], macros.NAME))


def _map_transform(shape: str) -> Expander:
    def expand(build: Builder, operands: Sequence[Expression]) -> Expression:
        target, first, second, *predicate, transform = operands
        names = macros.names_of([first, second], macros.NAME)
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


def _inserting(insert: Callable[..., None]) -> Callable[..., dict[Value, Value]]:
    def inserted(made: dict[Value, Value], *added: Value) -> dict[Value, Value]:
        made = dict(made)
        insert(made, *added)
        return made

    return inserted


TWO_VARIABLE_COMPREHENSIONS: Final = Library(
    "two-variable comprehensions",
    macros=(
        Macro("all", 3, member=True, expand=macros.quantifier(macros.quantify_all)),
        Macro("exists", 3, member=True, expand=macros.quantifier(macros.quantify_exists)),
        Macro("existsOne", 3, member=True, expand=macros.quantifier(macros.quantify_one)),
        Macro("exists_one", 3, member=True, expand=macros.quantifier(macros.quantify_one)),
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
            Overload(
                "@mapInsert_map_key_value", (_MAP, parameter("K"), parameter("V")), _MAP, _inserting(insert_entry)
            ),
            Overload("@mapInsert_map_map", (_MAP, _MAP), _MAP, _inserting(insert_map)),
        ),
    ),
)
