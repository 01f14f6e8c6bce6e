"""Tells of a value that nothing is wrong with it, in one pass in which nothing is made.

Most objects are fine, so this is asked first. Only if it says no is a value decoded and validated, which tells what is
wrong. It may say no of a value that is fine, where telling is not worth the trouble: a null in a list, say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from webhook.schema.compiled import CompiledStruct
    from webhook.schema.fields import Check, Compiled, Fine


def fine_of(field: Compiled, *, checked: bool = True) -> Fine:
    """Return what tells that a value of a field, not null, is fine.

    Args:
        field: The field.
        checked: Whether it is validated, not only decoded.
    """
    decode, check = field.decode, field.check if checked else None
    if checked and field.fine is not None:
        return field.fine
    if check is None:
        return lambda value: not decode(value)
    return lambda value: not decode(value) and not check(value)


def fine_struct(struct: CompiledStruct) -> Fine:
    """Return what tells that a struct is fine."""
    return _by_decoding(struct) if struct.inline else _by_fields(struct)


def _by_decoding(struct: CompiledStruct) -> Fine:
    """Ask decoder and validation, where the fields are those of two structs."""
    decode, check = struct.decode, struct.check
    return lambda value: type(value) is dict and not decode(value) and (check is None or not check(value))


def _by_fields(struct: CompiledStruct) -> Fine:
    fields, opaque, holds = _fields(struct), struct.type.opaque, _rules(struct)
    expect, nullable, wanted = fields.known.get, fields.nullable, fields.wanted

    def fine(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name, each in value.items():
            expected: Any = expect(name)
            if type(each) is expected:
                continue
            if expected is None:
                fits = name in opaque
            elif each is None:
                fits = name in nullable
            else:
                fits = type(expected) is not type and expected(each)
            if not fits:
                return False
        for name, check in wanted:
            if name not in value and check(None):
                return False
        return holds is None or holds(value)

    return fine


class _Fields(NamedTuple):
    """What is asked of the fields of a struct.

    Args:
        known: The type that a value must have, where nothing else is asked of it, or else what tells that it is fine.
        nullable: The fields that may be null.
        wanted: The fields of which something may be said if they are absent, with their checks.
    """

    known: dict[str, type | Fine]
    nullable: set[str]
    wanted: list[tuple[str, Check]]


def _fields(struct: CompiledStruct) -> _Fields:
    fields = _Fields({}, set(), [])
    for name, field in struct.fields.items():
        checked = struct.checks(name)
        check = field.check if checked else None
        if check is not None and struct.stated[name].sees_absent(struct.target):
            fields.wanted.append((name, check))
        else:
            fields.nullable.add(name)
        if name in struct.gated:
            fields.known[name] = _never
        elif field.plain is not None and check is None:
            fields.known[name] = field.plain
        else:
            fields.known[name] = fine_of(field, checked=checked)
    return fields


def _rules(struct: CompiledStruct) -> Fine | None:
    """Return what tells that no rule of several fields finds anything in a struct whose fields are fine."""
    unions = [_has_one(union.members) for union in struct.rules("unions")]
    rules = [(each.rule, each.given) for each in struct.rules("checks")]
    if not unions and not rules:
        return None

    def holds(value: dict[str, Any]) -> bool:
        for has_one in unions:
            if not has_one(value):
                return False
        view = None
        for rule, fields in rules:
            if fields and fields.isdisjoint(value):
                continue
            if view is None:
                view = struct.view(value)
            for _ in rule(view):
                return False
        return True

    return holds


def _has_one(members: frozenset[str]) -> Fine:
    def has_one(value: dict[str, Any]) -> bool:
        given = 0
        for name, each in value.items():
            if each is not None and name in members:
                given += 1
        return given == 1

    return has_one


def _never(_: object) -> bool:
    return False
