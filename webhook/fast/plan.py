"""Plans: valid values recognized by msgspec, in a fraction of the time that a walk takes.

A plan is derived from a compiled type. It decides whether a value is fine, or needs a closer look: the walk. msgspec
checks shapes, sizes and unknown fields. Functions do the rest: the fields' own checks, and rules about several fields,
if the value has the fields that they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import count
from operator import attrgetter
from types import GenericAlias
from typing import Annotated, Any, Final, Literal, cast

from msgspec import Meta, MsgspecError, Struct, convert, defstruct
from msgspec.json import encode

from webhook.formats import WIDEST
from webhook.records import NamedTuple
from webhook.release import Release
from webhook.schema.declarations import Field, Format
from webhook.schema.fields import (
    Anything,
    Array,
    CompiledField,
    CompiledStruct,
    Int,
    Many,
    Map,
    Nested,
    Parsed,
    Scalar,
    Text,
)
from webhook.schema.target import Target

_NAME_MAX: Final = 256
"""The most characters of a name; all formats of names allow fewer."""
_LITERAL_MAX: Final = 32
"""The most characters of a quantity or time."""

_NAME: Final = Annotated[str, Meta(max_length=_NAME_MAX)]
"""The type of names; those that are too long for any format need a closer look."""
_NONE: Final = Annotated[str, Meta(min_length=1, max_length=0)]
"""A type without values."""
_NAMES: Final = 2048
"""How many names are remembered: objects share names of attributes, containers and classes."""
_STRUCT_MAX: Final = 4096
"""The most bytes of a struct that is remembered."""
STRUCTS: Final = 1024
"""The most structs that are remembered; then all are forgotten, and what is frequent is soon known again."""

Wrong = Callable[[Any], object]
"""Returns a truthy result for a value that is not known to be fine."""


class Decoded(Struct, gc=False, omit_defaults=True):
    """A decoded map; rules read it like any other one."""

    get = object.__getattribute__
    """Returns the value of a field; rules read no others."""


class Planned(NamedTuple):
    """How to recognize a valid value of a field.

    Args:
        type: The msgspec type of the value.
        wrong: A check that must find nothing in a value of that type; None if there is none.
        is_struct: Whether the value is, or has, structs.
    """

    type: Any
    wrong: Wrong | None = None
    is_struct: bool = False


def planned(struct: CompiledStruct) -> Callable[[object], bool]:
    """Make a predicate for values without findings; False if only the walk can tell.

    Args:
        struct: The type that the value should have.
    """
    plan = _plan_of(struct, remembers=True)
    return _predicate(plan, partial(convert, type=plan.type)) if plan else lambda _: False


def planned_decoding(struct: CompiledStruct, **constants: str) -> tuple[type[Decoded], Callable[[object], bool]] | None:
    """Make a type for decoding only those parts of values that are checked, and the predicate for such values.

    Args:
        struct: The type that the value should have.
        **constants: The values of fields that all values share.

    Returns:
        None if only the walk can tell.
    """
    plan = _plan_of(struct, remembers=True, constants=tuple(constants.items()))
    return (plan.type, _predicate(plan, lambda value: value)) if plan else None


def _predicate(plan: Planned, decode: Callable[[Any], object]) -> Callable[[object], bool]:
    wrong = plan.wrong

    def is_fine(value: object) -> bool:
        try:
            decoded = decode(value)
            return wrong is None or not wrong(decoded)
        # A rule may read what is not planned, or not as it is held.
        except (MsgspecError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return False

    return is_fine


_Constants = tuple[tuple[str, str], ...] | None
"""The values of some fields of decoded structs, by name; None for plain maps, which are converted with all fields."""


@cache
def _plan_of(struct: CompiledStruct, *, remembers: bool = False, constants: _Constants = None) -> Planned | None:
    """Plan how to recognize structs without findings; None if only a walk can tell.

    Args:
        struct: The type.
        remembers: Whether to remember structs that the fields hold: objects of a workload differ only in metadata.
        constants: The values of some fields of structs that are decoded in parts.
    """
    parts = [struct, *struct.inlined]
    # An inlined struct with a field that may not be missing is there in all that is planned.
    if not all(part.absent for part in struct.inlined):
        return None
    decodes = constants is not None
    known = {name: plan for part in parts for name, plan in _fields(part, decodes=decodes)}
    left_out = {name for part in parts for name in part.stated if name in part.gated}
    plans = {name: plan for name, plan in known.items() if name not in left_out}
    needed = {name for part in parts for name, _ in part.absent}
    types = _types(parts, plans, needed, known.keys() & left_out)
    others = {name for part in parts for name in part.type.fields} - known.keys() - struct.inline
    if constants is not None:
        types |= dict.fromkeys(others, (_NONE, None)) | {name: (Literal[value],) for name, value in constants}
    type_ = defstruct(
        struct.type.__name__,
        [(name, *each) for name, each in types.items()],
        bases=(Decoded,),
        namespace=dict.fromkeys(others - types.keys()),  # no planned value has fields of other releases
        kw_only=True,
        gc=False,
        forbid_unknown_fields=struct.target.strict and not decodes,
    )
    return Planned(type_, _examination(parts, plans, needed, remembers=remembers), is_struct=True)


def _types(
    parts: Sequence[CompiledStruct], plans: Mapping[str, Planned], needed: Container[str], left_out: Iterable[str]
) -> dict[str, tuple[Any, ...]]:
    """Return the types of the fields of planned structs, with the default where one may be absent."""
    members = frozenset().union(*(union.members for part in parts for union in part.rules("unions")))
    types: dict[str, tuple[Any, ...]] = {}
    for name, plan in plans.items():
        if name in needed:
            types[name] = (plan.type,)
        else:
            types[name] = plan.type if name in members else plan.type | None, None
    # Fields that are left out may be null, as clients write them: metadata has creationTimestamp: null.
    return types | {name: (_NONE if name in members else None, None) for name in left_out}


def _examination(
    parts: Sequence[CompiledStruct], plans: Mapping[str, Planned], needed: Container[str], *, remembers: bool
) -> Wrong | None:
    """Make the check of a struct, and of those inlined in it; None if there is nothing to check.

    Args:
        parts: The struct, and those inlined in it.
        plans: How to recognize the values of its fields.
        needed: The fields that may not be absent.
        remembers: Whether to remember structs that the fields hold.
    """
    checked = [
        (name, _remembering(wrong) if remembers and is_struct else wrong)
        for name, (_, wrong, is_struct) in plans.items()
        if wrong
    ]
    unions = [
        (attrgetter(*members), len(members) - 1)
        for part in parts
        for union in part.rules("unions")
        if len(members := sorted(union.members & plans.keys())) > 1
    ]
    rules = [
        (part.view, [(*_given(rule.given & plans.keys()), rule.rule) for rule in known])
        for part in parts
        if (known := [each for each in part.rules("checks") if not each.given or not each.given.isdisjoint(plans)])
    ]
    if not checked and not unions and not rules:
        return None

    def is_wrong(value: Any) -> bool:
        for name, wrong in checked:
            each = getattr(value, name)
            if (each is not None or name in needed) and wrong(each):
                return True
        for members, others in unions:
            if members(value).count(None) != others:
                return True
        for view, checks in rules:
            viewed = view(value)
            for given, number, rule in checks:
                if (not given or given(value).count(None) < number) and any(rule(viewed)):
                    return True
        return False

    return is_wrong


def _given(names: Iterable[str]) -> tuple[Callable[[Any], tuple[Any, ...]] | None, int]:
    """Return what reads the fields without which a rule finds nothing, and the number of its values."""
    known = sorted(names)
    return (attrgetter(*known, known[0]), len(known) + 1) if known else (None, 0)  # of one name it makes no tuple


def _remembering(wrong: Wrong) -> Wrong:
    """Make the check of structs that remembers valid ones."""
    number = next(_numbers)

    def is_wrong(value: Any) -> bool:
        key = number, encode(value)
        if key in _fine:
            return False
        if wrong(value):
            return True
        if len(_fine) >= STRUCTS:
            _fine.clear()
        if len(key[1]) <= _STRUCT_MAX:
            _fine.add(key)
        return False

    return is_wrong


_numbers = count()
_fine = set[tuple[int, bytes]]()
"""Valid structs of numbered fields, encoded: clients choose them, and all together are bounded."""


def _fields(struct: CompiledStruct, *, decodes: bool) -> Iterator[tuple[str, Planned]]:
    known = struct.target
    for name, field in struct.stated.items():
        if name not in struct.inline:
            target = known if struct.checks(name) else known.decoding
            yield name, _planned(field, target, struct.names, decodes=decodes)
    for name, field in struct.opaque.items():
        if known.thorough:
            yield name, _planned(field, known, struct.names, decodes=decodes)
        elif not decodes:
            yield name, Planned(Any)


def _planned(field: Field, target: Target, names: tuple[str, str], *, decodes: bool) -> Planned:
    compiled = field.compile(target, *names)
    if compiled.passes:
        return Planned(compiled.passes)
    plan = _PLANS.get(type(field).compile)
    return plan(field, compiled, target, names, decodes=decodes) if plan else Planned(Any, compiled.walk)


def _array(field: Array, compiled: CompiledField, target: Target, names: tuple[str, str], *, decodes: bool) -> Planned:
    item = _planned(field.item.stated(target), target, names, decodes=decodes)
    type_ = _sized(GenericAlias(list, item.type), field, compiled.walk([]), target)
    unique = field.unique if target.validates else None
    if unique and item.type is Any:
        return Planned(Any, compiled.walk)
    repeats = None if unique is None else _repeats(unique)
    wrong = item.wrong

    def is_wrong(values: list[Any]) -> bool:
        return bool(repeats and repeats(values)) or bool(wrong and any(map(wrong, values)))

    return Planned(type_, is_wrong if repeats or wrong else None, item.is_struct)


def _map(field: Map, compiled: CompiledField, target: Target, names: tuple[str, str], *, decodes: bool) -> Planned:
    key = field.key if target.validates else None
    item = _planned(field.item.stated(target), target, names, decodes=decodes)
    type_ = _sized(GenericAlias(dict, (_NAME if key else str, item.type)), field, compiled.walk({}), target)
    of_key = partial(_is_wrong, key.stated(target).compile(target, *names).walk) if key else None
    wrong = item.wrong

    def is_wrong(values: dict[str, Any]) -> bool:
        return bool(of_key and any(map(of_key, values))) or bool(wrong and any(map(wrong, values.values())))

    return Planned(type_, is_wrong if of_key or wrong else None, item.is_struct)


def _nested(_field: Nested, compiled: CompiledField, *_: object, decodes: bool) -> Planned:
    struct = cast("CompiledStruct", compiled.struct)
    return _plan_of(struct, constants=() if decodes else None) or Planned(Any, compiled.walk)


def _of_scalar(field: Scalar, compiled: CompiledField, target: Target, *_: object, **__: object) -> Planned:
    """Plan a text, number or bool."""
    if isinstance(field, Text):
        return _text(field, compiled, target)
    type_: Any = field.python
    if isinstance(field, Int):
        top = 1 << (field.bits - 1)
        type_ = Annotated[int, Meta(ge=-top, le=top - 1)]
    return Planned(type_, compiled.walk if target.validates and field.checker(target) else None)


def _text(field: Text, compiled: CompiledField, target: Target) -> Planned:
    tests = list(field.tests(target)) if target.validates else []
    if not tests and field.required:
        return Planned(Annotated[str, Meta(min_length=1)])
    if len(tests) == 1 and (values := target.pick(field.one_of)):
        return Planned(Literal[tuple(each for each in ("", *values) if not compiled.walk(each))])
    if len(tests) == len(field.formats) == 1:
        return Planned(_NAME, partial(_is_wrong, _fault(field.formats[0], target.release)))
    if len(tests) == 1 and (limit := target.pick(field.max_length) or field.max_bytes):
        (test,), surely = tests, limit // WIDEST
        return Planned(str, lambda text: len(text) > surely and test(text))
    return Planned(str, tests[0] if len(tests) == 1 else compiled.walk)


@cache
def _fault(format_: Format, release: Release) -> Wrong:
    """Return what finds the faults of a format; it is the same for all fields, so that they remember the same names."""
    return lambda text: format_(text, release)


@lru_cache(maxsize=_NAMES)
def _is_wrong(find: Wrong, value: str | int) -> bool:
    return bool(find(value))


def _of_parsed(field: Parsed, compiled: CompiledField, target: Target, *_: object, **__: object) -> Planned:
    """Plan a literal, such as a quantity or a time."""
    if target.validates and field.checker(target):
        return Planned(Any, compiled.walk)
    literal = Annotated[str, Meta(max_length=_LITERAL_MAX)] | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    return Planned(literal, partial(_is_wrong, _unparsable(field.parse)))


@cache
def _unparsable(parse: Callable[[Any], object]) -> Wrong:
    def is_unparsable(value: str | int) -> bool:
        try:
            parse(value)
        except (ValueError, TypeError):
            return True
        return False

    return is_unparsable


_PLANS: Final[Mapping[Callable[..., CompiledField], Callable[..., Planned]]] = {
    Scalar.compile: _of_scalar,
    Parsed.compile: _of_parsed,
    Array.compile: _array,
    Map.compile: _map,
    Nested.compile: _nested,
    Anything.compile: lambda *_, **__: Planned(Any),
}
"""The planned field types; fields compiled in a special way take the walk."""


def _sized(type_: Any, field: Many, of_empty: object, target: Target) -> Any:
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
