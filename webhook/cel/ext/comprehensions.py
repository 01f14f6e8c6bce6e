"""`cel.bind(name, value, expression)`, and comprehensions over index and element, or key and value.

Follows cel-go's ext/bindings.go and ext/comprehensions.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from webhook.cel.checker.declarations import Library
from webhook.cel.functions import Function, Overload
from webhook.cel.runtime.folds import insert_entry, insert_map
from webhook.cel.syntax import ast, macros
from webhook.cel.syntax.ast import Expression
from webhook.cel.syntax.macros import Builder, Expander, Macro, MacroError
from webhook.cel.types.base import map_of, parameter
from webhook.cel.types.values import Value


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
