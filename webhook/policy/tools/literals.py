"""Finds constants in mutations that fail at run time, whatever the object.

The API server reads the operations of a JSON Patch, their paths and the values of fields only when it applies them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.syntax.ast import Call, Comprehension, Expression, Ident, Literal, Select, StructExpression, within
from webhook.cel.types.values import UInt
from webhook.escapes import GO_SPACE
from webhook.policy.change.patch import OPERATIONS
from webhook.policy.manifest.expressions import CompiledExpression
from webhook.policy.manifest.kinds import Kinds
from webhook.policy.manifest.model import Policy
from webhook.policy.tools.typecheck import kinds_matched
from webhook.policy.tools.warnings import warning
from webhook.problem import Problem, quoted
from webhook.records import NamedTuple
from webhook.schema.decoding import UNKNOWN_FIELD
from webhook.schema.derive.shape import ATOMIC, BOOLEAN, INTEGER, STRING, ListOf, MapOf, Scalar, Shape, Structure
from webhook.spelling import did_you_mean

if TYPE_CHECKING:
    from webhook.policy.manifest.programs import Programs

_TAKEN: Final[Mapping[str, tuple[type, ...]]] = {STRING: (str,), INTEGER: (int, float), BOOLEAN: (bool,)}
"""The constants that fields take; whole numbers may be written with a point."""
_PATHS: Final = frozenset({"path", "from"})
_NAMES: Final[Mapping[type, str]] = {str: "string", bool: "bool", int: "int", float: "double", UInt: "uint"}


class _LiteralFault(NamedTuple):
    """What cannot work: its place in the expression, why, and how to fix it."""

    offset: int
    text: str
    hint: str = ""
    rule: str = "mistyped"


def literal_warnings(policy: Policy, programs: Programs, kinds: Kinds) -> Iterator[Problem]:
    """Find constants in a policy's mutations that fail for every kind that it matches.

    Args:
        programs: Its compiled expressions.
        kinds: The known kinds.
    """
    schemas = [kinds.schema_of(each) for each in kinds_matched(policy, kinds)] or [None]
    for mutation, program in zip(policy.mutations, programs.mutations, strict=True):
        if not isinstance(program.compiled, CompiledExpression):
            continue
        nodes = within(program.compiled.checked.root)
        structs = [each for each in nodes if isinstance(each, StructExpression)]
        found = Counter(fault for schema in schemas for fault in {*_faults(structs, schema)})
        before = len(mutation.expression) - len(mutation.expression.lstrip(GO_SPACE))
        for fault, times in sorted(found.items()):
            if times == len(schemas):
                yield warning(fault.rule, mutation.path, fault.text, fault.hint, before + fault.offset)


def _faults(structs: Iterable[StructExpression], schema: Structure | None) -> Iterator[_LiteralFault]:
    for struct in structs:
        shape = None if schema is None else _below(schema, struct.name.split(".")[1:])
        for entry in struct.entries:
            if struct.name == "JSONPatch" and entry.key in _PATHS and schema and (start := _start(entry.value)):
                yield from _of_path(*start, schema)
            if isinstance(shape, Structure) and (filtered := _filtered(entry.key, entry.value)):
                yield from _of_filter(entry.key, filtered, shape)
            if not isinstance(entry.value, Literal):
                continue
            offset, value = entry.value.offset, entry.value.value
            if struct.name == "JSONPatch":
                yield from _of_operation(entry.key, value, offset)
            elif isinstance(shape, Structure):
                yield from _of_field(entry.key, value, offset, shape)


def _of_operation(field: str, value: Any, offset: int) -> Iterator[_LiteralFault]:
    if field == "op" and value not in OPERATIONS:
        text = f"op must be one of {', '.join(OPERATIONS)}, but is {quoted(value)}"
        yield _LiteralFault(offset, text, did_you_mean(value, OPERATIONS, quotes='"'))


def _start(path: Expression) -> tuple[str, int] | None:
    """Return the steps with which a path begins, whatever the object, and their offset; None if it has none.

    In ``"/spec/containers/" + string(…)`` they are those before the last slash.
    """
    first = path
    while isinstance(first, Call) and first.function == "_+_":
        first = first.arguments[0]
    if not isinstance(first, Literal) or not isinstance(first.value, str) or not first.value.startswith("/"):
        return None
    text: str = first.value if first is path else first.value.rpartition("/")[0]
    return (text, first.offset) if text else None


def _of_path(path: str, offset: int, schema: Structure) -> Iterator[_LiteralFault]:
    shape: Shape | None = schema
    for step in path.split("/")[1:]:
        if isinstance(shape, Structure):
            name = step.replace("~1", "/").replace("~0", "~")
            known, shape = shape, shape.field(name)
            if shape is None:
                effect = "the API server drops it" if known.is_pruned else f"the path {quoted(path)} cannot work"
                hint = did_you_mean(name, (each for each, _ in known.fields()), quotes='"')
                rule = UNKNOWN_FIELD if known.is_pruned else "mistyped"
                yield _LiteralFault(offset, f"{known.name} has no field {quoted(name)}: {effect}", hint, rule)
        else:
            shape = shape.item if isinstance(shape, ListOf | MapOf) else None


def _filtered(field: str, value: Expression) -> Comprehension | None:
    """Return the filter in the value of a field that leaves out items of that field, and copies the others."""
    if not isinstance(value, Comprehension) or value.shape != "map" or not _is_copy(value.parts[0], value.variable):
        return None
    for node in within(value):
        if isinstance(node, Comprehension) and node.shape == "map" and len(node.parts) > 1:
            below = list(within(node.range))
            optional = (each.arguments[1] for each in below if isinstance(each, Call) and each.function == "_?._")
            names = [each.field for each in below if isinstance(each, Select)]
            if field in {*names, *(each.value for each in optional if isinstance(each, Literal))}:
                return node
    return None


def _is_copy(element: Expression, variable: str) -> bool:
    """Tell whether an element of a list is the item, or has only fields of it: others may be left out on purpose."""
    if isinstance(element, StructExpression):
        return all(
            isinstance(each.value, Select)
            and each.value.field == each.key
            and isinstance(each.value.operand, Ident)
            and each.value.operand.name == variable
            for each in element.entries
        )
    return isinstance(element, Ident) and element.name == variable


def _of_filter(field: str, filtered: Comprehension, shape: Structure) -> Iterator[_LiteralFault]:
    of = shape.field(field)
    if isinstance(of, ListOf) and of.merging != ATOMIC:
        by = f" by {', '.join(name for name, _ in of.keys)}" if of.keys else ""
        text = f"the list '{field}' is merged{by}: items that are left out stay in the object"
        yield _LiteralFault(
            filtered.offset, text, "remove them by patchType: JSONPatch, with op: 'remove'", "never-removes"
        )


def _of_field(field: str, value: Any, offset: int, shape: Structure) -> Iterator[_LiteralFault]:
    of = shape.field(field)
    if not isinstance(of, Scalar) or of.kind not in _TAKEN or type(value) in _TAKEN[of.kind]:
        return
    given = _NAMES.get(type(value), "null" if value is None else "bytes")
    hint = f"write {quoted(str(value))}" if of.kind == STRING and type(value) is int else ""
    if of.kind == INTEGER and type(value) is str and value.isdecimal():
        hint = f"write {value}, without quotation marks"
    yield _LiteralFault(offset, f"expected type of field '{field}' is '{of.kind}' but provided type is '{given}'", hint)


def _below(shape: Shape | None, steps: Iterable[str]) -> Shape | None:
    for step in steps:
        shape = _item(shape)
        shape = shape.field(step) if isinstance(shape, Structure) else None
    return _item(shape)


def _item(shape: Shape | None) -> Shape | None:
    while isinstance(shape, ListOf):
        shape = shape.item
    return shape
