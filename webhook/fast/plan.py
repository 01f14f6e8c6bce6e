"""Plans: valid values recognized by msgspec, in a fraction of the time that a walk takes.

A plan is derived from a compiled type. It decides whether a value is fine, or needs a closer look: the walk. msgspec
checks shapes, sizes and unknown fields. A function generated for the whole type does the rest: the fields' own checks,
and rules about several fields, if it has the fields that they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import nullcontext
from functools import cache, partial
from operator import attrgetter
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

from msgspec import Meta, convert, defstruct
from msgspec.json import encode

from webhook.extent import ITEMS, Extent
from webhook.fast.decoded import Decoded
from webhook.fast.known import remember
from webhook.fast.scalars import ITEMS_WRONG, NAME, VALUES_WRONG, Planned, of_parsed, of_scalar, remembered
from webhook.fast.source import Source
from webhook.records import NamedTuple
from webhook.schema.collections import Array, Map
from webhook.schema.compiled import CompiledStruct
from webhook.schema.declarations import Declared
from webhook.schema.fields import CompiledField, Field
from webhook.schema.nested import Nested
from webhook.schema.scalars import Anything, Parsed, Scalar
from webhook.schema.target import Target

if TYPE_CHECKING:
    from webhook.fast.scalars import Write, Wrong

_NONE: Final = Annotated[str, Meta(min_length=1, max_length=0)]
"""A type without values."""
_NOT_NULL: Final = bool | int | float | str | list[Any] | dict[str, Any]
"""The type of all values of JSON but null."""

_NOTHING: Final = Extent()
_WHOLE: Final = Extent()
_WHOLE.whole = True


_REMEMBERED: Final = 4096
"""The most bytes of a struct that is remembered."""


class ReadAsWholeError(Exception):
    """A struct is read as a whole, and so cannot be held as an object with attributes."""


class _Plan(NamedTuple):
    """How to recognize a valid struct.

    Args:
        type: Its msgspec type.
        fields: How to recognize the values of its fields.
        checks: Makes the writer of further checks, but for those of one field; None if there are none.
    """

    type: type
    fields: Mapping[str, Planned]
    checks: Callable[..., Write | None]


def planned(struct: CompiledStruct) -> Callable[[object], bool]:
    """Make a predicate for values without findings; False if only the walk can tell.

    Args:
        struct: The type that the value should have.
    """
    if (plan := _plan_of_all(struct)) is None:
        return lambda _: False
    source = Source()
    value = source.local(f"{source.given(convert)}(value, {source.given(plan.type)})")
    if write := plan.checks("", remembers=True):
        write(source, value)
    return source.function()


def planned_decoding(
    struct: CompiledStruct, extent: Extent, constants: Mapping[str, str]
) -> tuple[type[Decoded], Callable[[object], bool]] | None:
    """Make a type for decoding only those parts of values that are read, and the predicate for such values.

    Args:
        struct: The type that the value should have.
        extent: What else than validation reads of it.
        constants: The values of fields that all values share.

    Returns:
        None if only the walk can tell.

    Raises:
        ReadAsWholeError: A struct is read as a whole.
    """
    if (plan := _plan_of(struct, extent, constants)) is None:
        return None
    source = Source()
    if write := plan.checks("", remembers=True):
        write(source, "value")
    return plan.type, source.function()


@cache
def _plan_of_all(struct: CompiledStruct) -> _Plan | None:
    return _plan_of(struct, None)


def _plan_of(struct: CompiledStruct, extent: Extent | None, constants: Mapping[str, str] | None = None) -> _Plan | None:
    """Plan how to recognize structs without findings; None if only a walk can tell.

    Args:
        struct: The type.
        extent: What else than validation reads of decoded structs; None to convert plain maps.
        constants: As for :func:`planned_decoding`.

    Raises:
        ReadAsWholeError: As there.
    """
    if extent and (extent.whole or ITEMS in extent.parts):  # the items of a map are its keys
        raise ReadAsWholeError
    inlined = [cast("CompiledStruct", struct.fields[name].struct) for name in struct.inline]
    parts = [struct, *inlined]
    # An inlined struct with a field that may not be missing is there in all that is planned.
    if not all(part.absent for part in inlined):
        return None
    known = {name: plan for part in parts for name, plan in _fields(part, extent)}
    left_out = {name for part in parts for name in part.stated if name in part.gated}
    plans = {name: plan for name, plan in known.items() if name not in left_out}
    needed = {name for part in parts for name, _ in part.absent}
    types = _types(parts, plans, needed, known.keys() & left_out, extent)
    namespace: dict[str, Any] = {}
    others = {name for part in parts for name in part.type.fields} - known.keys() - struct.inline
    make = partial(defstruct, struct.type.__name__, bases=(Decoded,), kw_only=True, gc=False)
    if extent is None:
        # Fields of other releases are None: no planned value has them.
        namespace |= dict.fromkeys(others)
        type_ = make(_defined(types), namespace=namespace, forbid_unknown_fields=struct.target.strict)
    else:
        types |= dict.fromkeys(others, (_NONE, None))
        types |= {name: (Literal[value],) for name, value in (constants or {}).items()}
        type_ = _decoded(partial(make, namespace=namespace), types, extent.parts.keys() - types.keys())
    return _Plan(type_, plans, partial(_examination, parts, plans, needed))


def _decoded(make: Callable[..., type], types: Mapping[str, tuple[Any, ...]], unknown: Iterable[str]) -> type:
    """Make the type of decoded structs, which have fields that only others know; their names may be any text.

    Raises:
        ReadAsWholeError: msgspec cannot look for such a name.
    """
    names = {f"_{place}": name for place, name in enumerate(sorted(unknown))}
    fields = _defined({**types, **dict.fromkeys(names, (_NOT_NULL, None))})
    try:
        return make(fields, rename=names)
    except ValueError as error:
        raise ReadAsWholeError from error


def _types(
    parts: Sequence[CompiledStruct],
    plans: Mapping[str, Planned],
    needed: Container[str],
    left_out: Iterable[str],
    extent: Extent | None,
) -> dict[str, tuple[Any, ...]]:
    """Return the types of the fields of planned structs, with the default where one may be absent."""
    members = frozenset().union(*(union.members for part in parts for union in part.rules("unions")))
    # What else is read is not null, as that is another value than an absent one.
    read = extent.parts.keys() if extent else frozenset()
    types: dict[str, tuple[Any, ...]] = {}
    for name, plan in plans.items():
        type_ = _NOT_NULL if name in read and plan.type is Any else plan.type
        if name in needed:
            types[name] = (type_,)
        else:
            types[name] = type_ if name in members or name in read else type_ | None, None
    # Fields that are left out may be null, as clients write them: metadata has creationTimestamp: null.
    return types | {name: (_NONE if name in members or name in read else None, None) for name in left_out}


def _defined(types: Mapping[str, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(name, *type_) for name, type_ in types.items()]


def _examination(
    parts: Sequence[CompiledStruct],
    plans: Mapping[str, Planned],
    needed: Container[str],
    done: str,
    *,
    remembers: bool = False,
) -> Write | None:
    """Make the writer of the checks of a struct, and of those inlined in it; None if there is nothing to check.

    Args:
        parts: The struct, and those inlined in it.
        plans: How to recognize the values of its fields.
        needed: The fields that may not be absent.
        done: The field that is checked elsewhere.
        remembers: Whether to remember structs that the fields hold: objects of a workload differ only in metadata.
    """
    checked = [(name, plan) for name, plan in plans.items() if (plan.wrong or plan.inner) and name != done]
    unions = [sorted(union.members & plans.keys()) for part in parts for union in part.rules("unions")]
    rules = [(part, rule) for part in parts for rule in part.rules("checks") if _is_about(rule, plans.keys())]
    if not checked and not unions and not rules:
        return None

    def write(source: Source, value: str) -> None:
        held = {name: f"{value}.{name}" for name in plans}
        for name, plan in checked:
            known = set[bytes]() if remembers and plan.plan else None
            _write(source, held[name], plan, known, may_be_absent=name not in needed)
        for members in unions:
            source.refuse(f"({' '.join(f'{held[name]},' for name in members)}).count(None) != {len(members) - 1}")
        for part, rule in rules:
            given = sorted(rule.given & plans.keys())
            is_given = f"({' or '.join(f'{held[name]} is not None' for name in given)}) and " if given else ""
            source.refuse(f"{is_given}any({source.given(rule.rule)}({source.given(part.view)}({value})))")

    return write


def _write(source: Source, value: str, plan: Planned, known: set[bytes] | None, *, may_be_absent: bool) -> None:
    """Write the checks of a field's value; most fields are absent, and so are not assigned to variables.

    Args:
        source: The function.
        value: The value, as source.
        plan: How to recognize valid ones.
        known: The valid values so far, encoded; None if they are not remembered.
        may_be_absent: Whether the value may be None.
    """
    if plan.inner is None:
        test = plan.test(source, value)
        source.refuse(f"{value} is not None and {test}" if may_be_absent else test)
        return
    with source.block(f"if {value} is not None:") if may_be_absent else nullcontext():
        given = source.local(value)
        if plan.wrong:
            source.refuse(plan.test(source, given))
        if known is None:
            plan.inner(source, given)
            return
        key = source.local(f"{source.given(encode)}({given})")
        with source.block(f"if {key} not in {source.given(known)}:"):
            plan.inner(source, given)
            source.line(f"if len({key}) <= {_REMEMBERED}: {source.given(remember)}({key}, {source.given(known)})")


def _is_about(rule: Declared, planned_fields: AbstractSet[str]) -> bool:
    return not rule.given or not rule.given.isdisjoint(planned_fields)


def _fields(struct: CompiledStruct, extent: Extent | None) -> Iterator[tuple[str, Planned]]:
    known = struct.target
    for name, field in struct.stated.items():
        if name not in struct.inline:
            read = extent and extent.parts.get(name, _NOTHING)
            yield name, _planned(field, known if struct.checks(name) else known.decoding, struct.names, read)
    for name, field in struct.type.opaque.items():
        if extent is None or name in extent.parts:
            yield name, _planned(field, known, struct.names) if known.thorough else Planned(Any)


def _planned(field: Field, target: Target, names: tuple[str, str], extent: Extent | None = None) -> Planned:
    compiled = field.compile(target, *names)
    if compiled.passes:
        return Planned(compiled.passes)
    plan = _PLANS.get(type(field).compile)
    return plan(field, compiled, target, names, extent) if plan else Planned(Any, compiled.walk)


def _array(
    field: Array, compiled: CompiledField, target: Target, names: tuple[str, str], extent: Extent | None
) -> Planned:
    read = extent and (extent if extent.whole else extent.parts.get(ITEMS, _NOTHING))
    item = _planned(field.item.stated(target), target, names, read)
    type_ = _sized(GenericAlias(list, item.type), field, compiled.walk([]), target)
    unique = field.unique if target.validates else None
    if unique is None and item.asks_one:
        return Planned(type_, item.wrong, ITEMS_WRONG, item.fine, _each(item.inner))
    if unique is None or item.wrong or (unique and item.type is Any):
        return Planned(Any, compiled.walk)
    if unique and any(unique == name for name, _ in cast("CompiledStruct", compiled.struct).absent):
        return Planned(type_, inner=_distinct(unique, item.plan))
    return Planned(type_, _repeats(unique), inner=_each(item.inner))


def _distinct(unique: str, plan: _Plan) -> Write:
    """Make the writer of the checks of structs whose keys differ; no key is None."""
    key = plan.fields[unique]
    known_at_once = key.fine is not None
    write_rest = plan.checks(unique if known_at_once else "")

    def write(source: Source, value: str) -> None:
        keys, item = source.local("set()"), source.local()
        with source.block(f"for {item} in {value}:"):
            source.line(f"{keys}.add({item}.{unique})")
            if write_rest:
                write_rest(source, item)
        source.refuse(f"len({keys}) != len({value})")
        if known_at_once:
            source.refuse(key._replace(whole=ITEMS_WRONG).test(source, keys))

    return write


def _each(inner: Write | None, values: str = "") -> Write | None:
    """Make the writer of the checks of all items, or of all values, of a list or map."""
    if inner is None:
        return None

    def write(source: Source, value: str) -> None:
        item = source.local()
        with source.block(f"for {item} in {value}{values}:"):
            inner(source, item)

    return write


def _map(field: Map, compiled: CompiledField, target: Target, names: tuple[str, str], extent: Extent | None) -> Planned:
    read = extent and (_WHOLE if extent.whole or extent.parts else _NOTHING)
    item, key = _planned(field.item.stated(target), target, names, read), field.key if target.validates else None
    of_key = NAME if key else str
    type_ = _sized(GenericAlias(dict, (of_key, item.type)), field, compiled.walk({}), target)
    inner = _each(item.inner, ".values()")
    if key is None and item.asks_one:
        return Planned(type_, item.wrong, VALUES_WRONG, item.fine, inner)
    if key is None or item.wrong:
        return Planned(Any, compiled.walk)
    wrong, _, fine = remembered(key.stated(target).compile(target, *names).walk)
    return Planned(type_, wrong, ITEMS_WRONG, fine, inner)


def _nested(
    _field: Nested, compiled: CompiledField, _target: Target, _names: tuple[str, str], extent: Extent | None
) -> Planned:
    struct = cast("CompiledStruct", compiled.struct)
    plan = _plan_of_all(struct) if extent is None else _plan_of(struct, extent)
    return Planned(plan.type, inner=plan.checks(""), plan=plan) if plan else Planned(Any, compiled.walk)


def _anything(
    field: Anything, _compiled: CompiledField, target: Target, names: tuple[str, str], _extent: Extent | None
) -> Planned:
    return _planned(field.shape, target.decoding, names) if field.shape and target.thorough else Planned(Any)


_PLANS: Final[Mapping[Callable[..., CompiledField], Callable[..., Planned]]] = {
    Scalar.compile: of_scalar,
    Parsed.compile: of_parsed,
    Array.compile: _array,
    Map.compile: _map,
    Nested.compile: _nested,
    Anything.compile: _anything,
}
"""The planned field types; fields compiled in a special way take the walk."""


def _sized(type_: Any, field: Array | Map, of_empty: object, target: Target) -> Any:
    least, most = 1 if of_empty else 0, target.pick(field.max_items) if target.validates else None
    return Annotated[type_, Meta(min_length=least, max_length=most)] if least or most is not None else type_


def _repeats(unique: str) -> Wrong:
    """Make a predicate for lists whose items share a key; ``""`` means the items themselves."""
    if not unique:
        return lambda values: len({each or "" for each in values}) != len(values)
    get = attrgetter(unique)

    def repeats(values: list[Any]) -> bool:
        keys = set(map(get, values))
        return len(keys) != len(values) or (None in keys and "" in keys)

    return repeats
