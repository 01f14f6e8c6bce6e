"""Which findings come from declarative rules, whose tags (``+k8s:``) stand at the fields of Go's types."""

from __future__ import annotations

from webhook.problem import DUPLICATE, Key, Path, Problem
from webhook.schema.fields import Field, StructFields


def is_declarative(problem: Problem, struct: StructFields) -> bool:
    """Tell whether a finding in a struct comes from a declarative rule."""
    holder, field = declaration(problem.path, struct)
    if problem.path and isinstance(problem.path[-1], int | Key):
        if holder is not None and problem.rule in holder.type.tagged:
            return True
        if problem.reason != DUPLICATE or (holder is None and getattr(field, "unique", None) is None):
            return False
    return field is not None and field.declarative and field.states(problem)


def declaration(path: Path, struct: StructFields) -> tuple[StructFields | None, Field | None]:
    """Return the struct that a path leads to, if any, and the last field on the path."""
    holder: StructFields | None = struct
    field: Field | None = None
    for step in path:
        if isinstance(step, int | Key):
            continue
        holder, field = member(holder, step) if holder else (None, None)
    return holder, field


def member(struct: StructFields, name: str) -> tuple[StructFields | None, Field | None]:
    """Return the struct that a field holds, if any, and the field's declaration."""
    for inline in struct.inline:
        inner = struct.fields[inline].struct
        if inner and name in inner.stated:
            return member(inner, name)
    compiled = struct.fields.get(name)
    return (compiled.struct if compiled else None), struct.stated.get(name)
