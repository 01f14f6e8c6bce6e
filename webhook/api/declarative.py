"""Declarative validation: its errors come last, on the paths of the requested version.

Follows apiserver ``pkg/registry/rest/validate.go``: handwritten rules that declarative ones cover are left out, and the
findings of the declarative ones are appended. They are found with the others, by :meth:`Field.stated`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from webhook.problem import DUPLICATE, Key, Problem, duplicate, value_at
from webhook.schema.declarations import Field, Struct
from webhook.schema.derive.defaults import Defaults
from webhook.schema.fields import Array, CompiledStruct, Map, Nested, as_declared, declaration, member
from webhook.schema.target import Target


def arranged(found: Iterable[Problem], struct: CompiledStruct, obj: dict[str, Any]) -> list[Problem]:
    """Put the findings of declarative rules last, with repeated items as JSON."""
    handwritten, declarative = [], []
    defaults = Defaults(struct.target)
    for problem in found:
        if struct.finds_declaratively(problem):
            declarative.append(_worded(problem, struct, obj, defaults))
        else:
            handwritten.append(problem)
    declarative.sort(key=lambda problem: as_declared(problem, struct))
    return handwritten + declarative


def unchanged(
    found: Iterable[Problem], struct: CompiledStruct, obj: dict[str, Any], old: dict[str, Any]
) -> list[Problem]:
    """Return the findings of declarative rules about unchanged values, which upstream's do not check on update."""
    return [each for each in found if struct.finds_declaratively(each) and _is_unchanged(each, struct, obj, old)]


def _is_unchanged(problem: Problem, struct: CompiledStruct | None, obj: Any, old: Any) -> bool:
    field: Field | None = None
    for step in problem.path[:-1] if problem.reason == DUPLICATE else problem.path:
        if isinstance(step, int) and obj != old:
            obj, old = obj[step] or {}, _counterpart(field, obj[step] or {}, old)
        elif isinstance(obj, dict) and isinstance(old, dict):
            obj, old = obj.get(step), old.get(step)
        else:
            return bool(obj == old)
        if struct and not isinstance(step, int | Key):
            struct, field = member(struct, step)
    return bool(obj == old)


def _counterpart(field: Field | None, item: Any, old: Any) -> Any:
    """Find the old item with the same keys; the items of a list without keys have none."""
    if not isinstance(field, Array) or not field.declarative:
        return None
    keys = field.list_map_keys or ([field.unique] if field.unique else [])
    items = (each or {} for each in old or ())
    same = (each for each in items if all((each.get(key) or "") == (item.get(key) or "") for key in keys))
    return next(same, None) if keys else None


def _worded(problem: Problem, struct: CompiledStruct, obj: dict[str, Any], defaults: Defaults) -> Problem:
    """Show a repeated item as a whole; the path is that of the requested version."""
    problem = problem._replace(spelled=None)
    holder, _ = declaration(problem.path, struct)
    if problem.reason != DUPLICATE or holder is None:
        return problem
    value = value_at(obj, problem.path) or {}
    shown = _ordered(defaults.of(holder.type)(value), holder.type, struct.target)
    return duplicate(problem.path, shown).named(problem.rule)


def _ordered(value: dict[str, Any], type_: type[Struct], target: Target) -> dict[str, Any]:
    """Write a struct as Go does: fields in the order of their declaration, keys of maps in order."""
    last = type_.inlining.last if type_.inlining else ()
    names = sorted(type_.fields, key=last.__contains__)
    return {name: _written(value[name], type_.fields[name], target) for name in names if name in value}


def _written(value: Any, field: Field, target: Target) -> Any:
    if value is None:  # a list that Go writes though there is none
        return None
    if isinstance(field, Nested):
        return _ordered(value, target.replaced.get(field.type, field.type), target)
    if isinstance(field, Array):
        return [_written(each, field.item, target) for each in value]
    if isinstance(field, Map):
        return {key: _written(value[key], field.item, target) for key in sorted(value)}
    return value
