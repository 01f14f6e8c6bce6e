"""Plans: valid values recognized by msgspec, in a fraction of the time that a walk takes.

A plan is derived from a compiled type. It decides whether a value is fine, or needs a closer look: the walk. msgspec
checks shapes, sizes and unknown fields; the field's own checks do the rest. A rule about several fields may have a
predicate (``fine=``); a value with the fields of a rule without one needs a closer look.
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from operator import attrgetter
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from msgspec import Meta, MsgspecError, convert, defstruct

from webhook.records import NamedTuple
from webhook.schema.collections import Array, Map
from webhook.schema.nested import Nested
from webhook.schema.scalars import WIDEST, Anything, Int, Parsed, Scalar, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from webhook.release import Release
    from webhook.schema.compiled import CompiledStruct
    from webhook.schema.fields import CompiledField, Field, Format
    from webhook.schema.target import Target

    Wrong = Callable[[Any], object]
    """Returns a truthy result for a value that is not known to be fine."""
    _Remembered = tuple[Wrong, str, set[Any]]
    """A check, how it applies, and values in which it finds nothing."""

_REMEMBERED: Final = 1024
"""How many texts of one format are cached: objects share names of attributes, containers, classes and drivers."""
_NAME_MAX: Final = 256
"""The most characters of a cached name; all formats of names allow fewer."""
_LITERAL_MAX: Final = 32
"""The most characters of a cached quantity or time."""


_ONE: Final = "{wrong}({value})"
_ITEMS: Final = "any(map({wrong}, {value}))"
_VALUES: Final = "any(map({wrong}, {value}.values()))"
_KNOWN: Final[Mapping[str, str]] = {
    _ONE: "{value} not in {fine}",
    _ITEMS: "not {fine}.issuperset({value})",
    _VALUES: "not {fine}.issuperset({value}.values())",
}
"""How values that were fine before are recognized, which takes half as long."""


_NOTHING: Final = Annotated[str, Meta(min_length=1, max_length=0)]
"""A type without values."""


class _LookCloserError(ValueError):
    """A value is not known to be fine."""


class _Planned(NamedTuple):
    """How to recognize a valid value of a field.

    Args:
        type: The msgspec type of the value.
        wrong: A check that must find nothing in a value of that type; None if there is none.
        whole: How the check applies to the value, or to all its items.
        fine: Values in which the check finds nothing; None if they are not remembered.
    """

    type: Any
    wrong: Wrong | None = None
    whole: str = _ONE
    fine: set[Any] | None = None

    @property
    def test(self) -> str:
        """The expression that is true of a wrong value."""
        return self.whole if self.fine is None else f"{_KNOWN[self.whole]} and {self.whole}"

    @property
    def asks_one(self) -> bool:
        """Whether the check applies to a single value."""
        return self.wrong is None or self.whole not in {_ITEMS, _VALUES}


def planned(struct: CompiledStruct) -> Callable[[object], bool]:
    """Make a predicate for values without findings; False if only the walk can tell.

    Args:
        struct: The type that the value should have.
    """
    if (plan := plan_of(struct)) is None:
        return lambda _: False

    def is_fine(value: object) -> bool:
        try:
            convert(value, plan)
        # A predicate may read a field that is not planned, and so lacks the attribute.
        except (MsgspecError, ValueError, AttributeError, RecursionError):
            return False
        return True

    return is_fine


@cache
def plan_of(struct: CompiledStruct) -> type | None:
    """Make the msgspec type whose values are fine; None if only a walk can tell."""
    inlined = [cast("CompiledStruct", struct.fields[name].struct) for name in struct.inline]
    parts = [struct, *inlined]
    unstated = [rule for part in parts for rule in part.rules("checks") if rule.fine is None]
    # An inlined struct with a field that may not be missing is there in all that is planned.
    if not all(part.absent for part in inlined) or not all(rule.given for rule in unstated):
        return None
    known = {name: plan for part in parts for name, plan in _fields(part)}
    rare = {name for part in parts for name, field in part.stated.items() if field.rare or name in part.gated}
    left_out = rare.union(*(rule.given for rule in unstated))
    plans = {name: plan for name, plan in known.items() if name not in left_out}
    members = frozenset().union(*(union.members for part in parts for union in part.rules("unions")))
    needed = {name for part in parts for name, _ in part.absent}
    fields = [
        (name, plan.type) if name in needed else (name, plan.type if name in members else plan.type | None, None)
        for name, plan in plans.items()
    ]
    # Fields that are not planned are None: no planned value has them.
    namespace: dict[str, Any] = {name: None for part in parts for name in part.type.fields if name not in plans}
    namespace |= dict.fromkeys(struct.inline, property(lambda value: value))
    if not struct.target.strict:  # where unknown fields are ignored, those that are known but not planned must not be
        fields += [(name, _NOTHING, None) for name in known.keys() & left_out]
        namespace = {name: value for name, value in namespace.items() if name not in left_out}
    if struct.type.box:
        namespace["__getattr__"] = _boxed(struct.type.box)
    if examine := _examination(parts, plans, needed):
        namespace["__post_init__"] = examine
    return defstruct(
        struct.type.__name__,
        fields,
        namespace=namespace,
        forbid_unknown_fields=struct.target.strict,
        kw_only=True,
        gc=False,
    )


def _boxed(box: str) -> Callable[[Any, str], Any]:
    """Make the reader of a box's fields; it makes a type's own fields slower to read, too."""
    return lambda value, name: getattr(getattr(value, box), name)


def _examination(
    parts: Sequence[CompiledStruct], plans: Mapping[str, _Planned], needed: Container[str]
) -> Callable[[Any], None] | None:
    """Make the check of a struct, and of those inlined in it, with the right shape; None if there is nothing to check.

    Its source is generated field by field, as in dataclasses: a loop takes several times as long, and a slice has
    thousands of structs. Only names of declared fields become part of the source.
    """
    scope: dict[str, Any] = {"LookCloserError": _LookCloserError, "target": parts[0].target}
    tests = []
    for name, plan in plans.items():
        if plan.wrong:
            scope |= {f"wrong_{name}": plan.wrong, f"fine_{name}": plan.fine}
            given = "" if name in needed else f"value.{name} is not None and "
            tests.append(given + plan.test.format(wrong=f"wrong_{name}", fine=f"fine_{name}", value=f"value.{name}"))
    for union in chain.from_iterable(part.rules("unions") for part in parts):
        members = sorted(union.members & plans.keys())
        tests.append(f"({' '.join(f'value.{name},' for name in members)}).count(None) != {len(members) - 1}")
    for number, rule in enumerate(chain.from_iterable(part.rules("checks") for part in parts)):
        if rule.fine:
            scope[f"fine_{number}"] = rule.fine
            given = " or ".join(f"value.{name} is not None" for name in sorted(rule.given & plans.keys()))
            tests.append(f"({given or True}) and not fine_{number}(value, target)")
    if not tests:
        return None
    lines = (f"    if {test}:\n        raise LookCloserError\n" for test in tests)
    exec("".join(("def examine(value):\n", *lines)), scope)  # noqa: S102 - see above
    examine: Callable[[Any], None] = scope["examine"]
    return examine


def _fields(struct: CompiledStruct) -> Iterator[tuple[str, _Planned]]:
    known = struct.target
    for name, field in struct.stated.items():
        if name not in struct.inline:
            yield name, _planned(field, known if struct.checks(name) else known.decoding, struct.names)
    for name, field in struct.type.opaque.items():
        yield name, _planned(field, known.decoding, struct.names) if known.thorough else _Planned(Any)


def _planned(field: Field, target: Target, names: tuple[str, str]) -> _Planned:
    compiled = field.compile(target, *names)
    if compiled.passes:
        return _Planned(compiled.passes)
    plan = _PLANS.get(type(field).compile)
    return plan(field, compiled, target, names) if plan else _Planned(Any, compiled.walk)


def _scalar(field: Scalar, compiled: CompiledField, target: Target, _names: tuple[str, str]) -> _Planned:
    if isinstance(field, Text):
        return _text(field, compiled, target)
    type_: Any = field.python
    if isinstance(field, Int):
        top = 1 << (field.bits - 1)
        type_ = Annotated[int, Meta(ge=-top, le=top - 1)]
    return _Planned(type_, compiled.walk if target.validates and field.checker(target) else None)


def _text(field: Text, compiled: CompiledField, target: Target) -> _Planned:
    tests = list(field.tests(target)) if target.validates else []
    if not tests and field.required:
        return _Planned(Annotated[str, Meta(min_length=1)])
    if len(tests) == len(field.formats) == 1:
        return _Planned(Annotated[str, Meta(max_length=_NAME_MAX)], *_of_format(field.formats[0], target.release))
    if len(tests) == 1 and (limit := target.pick(field.max_length) or field.max_bytes):
        return _Planned(str, tests[0], f"len({{value}}) > {limit // WIDEST} and {_ONE}")
    return _Planned(str, tests[0] if len(tests) == 1 else compiled.walk)


@cache
def _of_format(format_: Format, release: Release) -> _Remembered:
    return _remembered(lambda text: format_(text, release))


def _remembered(wrong: Wrong) -> _Remembered:
    """Make a check of single values that remembers some of the fine ones."""
    fine: set[Any] = set()

    def look(value: Any) -> bool:
        if wrong(value):
            return True
        if len(fine) >= _REMEMBERED:
            fine.clear()
        fine.add(value)
        return False

    return look, _ONE, fine


def _parsed(field: Parsed, compiled: CompiledField, target: Target, _names: tuple[str, str]) -> _Planned:
    if target.validates and field.checker(target):
        return _Planned(Any, compiled.walk)
    literal = Annotated[str, Meta(max_length=_LITERAL_MAX)] | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    return _Planned(literal, *_unparsable(field.parse))


@cache
def _unparsable(parse: Callable[[Any], object]) -> _Remembered:
    def wrong(value: str | int) -> bool:
        try:
            parse(value)
        except (ValueError, TypeError):
            return True
        return False

    return _remembered(wrong)


def _array(field: Array, compiled: CompiledField, target: Target, names: tuple[str, str]) -> _Planned:
    item = _planned(field.item.stated(target), target, names)
    type_ = _sized(GenericAlias(list, item.type), field, compiled.walk([]), target)
    unique = field.unique if target.validates else None
    if unique is None and item.asks_one:
        return _Planned(type_, item.wrong, _ITEMS, item.fine)
    if unique is None or item.wrong or (unique and item.type is Any):
        return _Planned(Any, compiled.walk)
    return _Planned(type_, _repeats(unique))


def _map(field: Map, compiled: CompiledField, target: Target, names: tuple[str, str]) -> _Planned:
    item, key = _planned(field.item.stated(target), target, names), field.key if target.validates else None
    of_key = Annotated[str, Meta(max_length=_NAME_MAX)] if key else str
    type_ = _sized(GenericAlias(dict, (of_key, item.type)), field, compiled.walk({}), target)
    if key is None and item.asks_one:
        return _Planned(type_, item.wrong, _VALUES, item.fine)
    if key is None or item.wrong:
        return _Planned(Any, compiled.walk)
    wrong, _, fine = _remembered(key.stated(target).compile(target, *names).walk)
    return _Planned(type_, wrong, _ITEMS, fine)


def _nested(_field: Nested, compiled: CompiledField, _target: Target, _names: tuple[str, str]) -> _Planned:
    plan = plan_of(cast("CompiledStruct", compiled.struct))
    return _Planned(plan) if plan else _Planned(Any, compiled.walk)


def _anything(field: Anything, _compiled: CompiledField, target: Target, names: tuple[str, str]) -> _Planned:
    return _planned(field.shape, target.decoding, names) if field.shape and target.thorough else _Planned(Any)


_PLANS: Final[Mapping[Callable[..., CompiledField], Callable[..., _Planned]]] = {
    Scalar.compile: _scalar,
    Parsed.compile: _parsed,
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
