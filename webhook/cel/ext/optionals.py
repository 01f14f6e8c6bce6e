"""Optional values: `a.?b`, `optional.of(x)`, `orValue` (cel-go cel/library.go, OptionalTypes version 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from webhook.cel.checker.declarations import Library
from webhook.cel.errors import EvaluationError
from webhook.cel.ext.comprehensions import binding
from webhook.cel.functions import Overload, member
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.cel.syntax.macros import Expander, Macro, MacroError
from webhook.cel.types import base as types
from webhook.cel.types.base import DYN, INT, list_of, map_of, optional_of, parameter
from webhook.cel.types.values import NONE, TIMESTAMP_MIN, Duration, Optional, Timestamp, Value

_K: Final = parameter("K")
_V: Final = parameter("V")
_OPTIONAL: Final = optional_of(_V)
_LIST: Final = list_of(_V)
_MAP: Final = map_of(_K, _V)


def _value_of(optional: Optional) -> Value:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _of_non_zero(value: Value) -> Optional:
    is_zero = value is None or (isinstance(value, (bool, int, float, str, bytes, list, dict)) and not value)
    if isinstance(value, Duration | Timestamp):
        is_zero = value.nanos == (0 if type(value) is Duration else TIMESTAMP_MIN)
    return NONE if is_zero else Optional(value)


def _unwrap(values: list[Value]) -> list[Value]:
    for value in values:
        if type(value) is not Optional:
            raise EvaluationError(f"value {value} is not optional")
    return [value.value for value in values if value.present]


def _mapping(name: str, *, flat: bool) -> Expander:
    def expand(at: int, operands: Sequence[Expression]) -> Expression:
        target, variable, mapped = operands
        if not isinstance(variable, ast.Ident):
            raise MacroError(variable, f"{name}() variable name must be a simple identifier")
        shared = ast.Shared(target.offset, target)
        bound = binding(at, variable.name, ast.Call(at, "value", [], shared), mapped)
        mapped = bound if flat else ast.Call(at, "optional.of", [bound])
        return ast.Call(at, "_?_:_", [ast.Call(at, "hasValue", [], shared), mapped, ast.Call(at, "optional.none", [])])

    return expand


OPTIONALS: Final = Library(
    optional_syntax=True,
    types=(types.opaque(types.OPTIONAL_NAME),),
    macros=(
        Macro("optMap", 2, member=True, expand=_mapping("optMap", flat=False)),
        Macro("optFlatMap", 2, member=True, expand=_mapping("optFlatMap", flat=True)),
    ),
    functions=(
        Overload("optional.of", "optional_of", (_V,), _OPTIONAL, Optional),
        Overload("optional.ofNonZeroValue", "optional_ofNonZeroValue", (_V,), _OPTIONAL, _of_non_zero),
        Overload("optional.none", "optional_none", (), _OPTIONAL, lambda: NONE),
        member("value", "optional_value", (_OPTIONAL,), _V, _value_of),
        member("hasValue", "optional_hasValue", (_OPTIONAL,), types.BOOL, lambda optional: optional.present),
        member("or", "optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL),
        member("orValue", "optional_orValue_value", (_OPTIONAL, _V), _V),
        Overload("_?._", "select_optional_field", (DYN, types.STRING), _OPTIONAL),
        Overload("_[?_]", "list_optindex_optional_int", (_LIST, INT), _OPTIONAL),
        Overload("_[?_]", "optional_list_optindex_optional_int", (optional_of(_LIST), INT), _OPTIONAL),
        Overload("_[?_]", "map_optindex_optional_value", (_MAP, _K), _OPTIONAL),
        Overload("_[?_]", "optional_map_optindex_optional_value", (optional_of(_MAP), _K), _OPTIONAL),
        Overload("_[_]", "optional_list_index_int", (optional_of(_LIST), INT), _OPTIONAL),
        Overload("_[_]", "optional_map_index_value", (optional_of(_MAP), _K), _OPTIONAL),
        member("first", "list_first", (_LIST,), _OPTIONAL, lambda values: Optional(values[0]) if values else NONE),
        member("last", "list_last", (_LIST,), _OPTIONAL, lambda values: Optional(values[-1]) if values else NONE),
        Overload("optional.unwrap", "optional_unwrap", (list_of(_OPTIONAL),), _LIST, _unwrap),
        member("unwrapOpt", "optional_unwrapOpt", (list_of(_OPTIONAL),), _LIST, _unwrap),
    ),
)
