"""Plans: valid values recognized by msgspec, in a fraction of the time that a walk takes.

A plan is derived from a compiled type. It decides whether a value is fine, or needs a closer look: the walk. msgspec
checks shapes, sizes and unknown fields. A function generated for the whole type does the rest: the fields' own checks,
and rules about several fields, if it has the fields that they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from operator import attrgetter
from sys import getsizeof
from types import GenericAlias
from typing import Annotated, Any, Final, Literal, TypeVar, cast

from msgspec import Meta, MsgspecError, Struct, convert, defstruct
from msgspec.json import encode

from webhook.formats import WIDEST
from webhook.records import NamedTuple
from webhook.release import Release
from webhook.schema.declarations import Declared, Field, Format, Rule
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
    View,
)
from webhook.schema.target import Target

_T = TypeVar("_T", bound=Hashable)

_NAME_MAX: Final = 256
"""The most characters of a cached name; all formats of names allow fewer."""
_LITERAL_MAX: Final = 32
"""The most characters of a cached quantity or time."""

_ONE: Final = "{wrong}({value})"
"""The source of a check of one value; it is true of a wrong one."""
ITEMS_WRONG: Final = "any(map({wrong}, {value}))"
VALUES_WRONG: Final = "any(map({wrong}, {value}.values()))"
"""The same for all values of a map, as the one before for all items of a list."""
_KNOWN: Final[Mapping[str, str]] = {
    _ONE: "{value} not in {fine}",
    ITEMS_WRONG: "not {fine}.issuperset({value})",
    VALUES_WRONG: "not {fine}.issuperset({value}.values())",
}
"""How values that were fine before are recognized, which takes half as long."""

NAME: Final = Annotated[str, Meta(max_length=_NAME_MAX)]
"""The type of names; those that are too long for any format need a closer look."""
_NONE: Final = Annotated[str, Meta(min_length=1, max_length=0)]
"""A type without values."""
_FIELDS_MAX: Final = 512
"""The most bytes of fields that are remembered."""
_MOST_MISSES: Final = 256
"""How many more values of such fields may be new than are not."""
_STRUCT_MAX: Final = 4096
"""The most bytes of a struct that is remembered."""
_ENTRY: Final = 64
"""The bytes that a set takes for a value, at most."""
REMEMBERED_MAX: Final = 2 << 20
"""The most bytes of all that is remembered; then all is forgotten, and what is frequent is soon known again."""

Wrong = Callable[[Any], object]
"""Returns a truthy result for a value that is not known to be fine."""


class Decoded(Struct, gc=False, omit_defaults=True):
    """A decoded map; rules read it like any other one."""

    get = object.__getattribute__
    """Returns the value of a field; rules read no others."""


class _ReadsOthersError(BaseException):
    """A rule reads more fields than it was given; no rule may take this for an error of its own."""


class _Alone(Struct, gc=False):
    """Some fields of a decoded map."""

    def get(self, name: str) -> Any:
        """Return the value of a field; a view would take an AttributeError for that of a missing field."""
        if name not in self.__struct_fields__:
            raise _ReadsOthersError
        return getattr(self, name)


class Source:
    """The source of the function that recognizes valid values, under construction.

    It is one function for the value and all structs in it: a call for each takes several times as long, and a slice has
    thousands of structs. Only names of declared fields become part of the source.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth, self._locals = 2, 0
        self._scope: dict[str, Any] = {}
        self._names: dict[int, str] = {}

    def local(self, expression: str = "") -> str:
        """Return the name of a new local variable, and assign it the value of an expression."""
        self._locals += 1
        name = f"v{self._locals}"
        if expression:
            self.line(f"{name} = {expression}")
        return name

    def given(self, value: object) -> str:
        """Return the name under which the function knows a value."""
        name = self._names.setdefault(id(value), f"given{len(self._names)}")
        self._scope[name] = value
        return name

    def refuse(self, condition: str) -> None:
        """Write a condition that is true of a value that needs a closer look."""
        self.line(f"if {condition}: return False")

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """Write a block."""
        self.line(header)
        self._depth += 1
        yield
        self._depth -= 1

    def line(self, text: str) -> None:
        """Write a statement."""
        self._lines.append(f"{' ' * self._depth}{text}\n")

    def function(self) -> Callable[[object], bool]:
        """Return the function of `value`."""
        # A rule may read what is not planned, or not as it is held.
        errors = self.given((MsgspecError, ValueError, TypeError, LookupError, AttributeError, RecursionError))
        lines = ("def is_fine(value):\n try:\n", *self._lines, f"  return True\n except {errors}: return False\n")
        exec("".join(lines), self._scope)  # noqa: S102 - see above
        is_fine: Callable[[object], bool] = self._scope["is_fine"]
        return is_fine


Write = Callable[[Source, str], None]
"""Writes the checks of the value of a local variable."""
_Remembered = tuple[Wrong, str, set[Any]]
"""A check, how it applies, and values in which it finds nothing."""


class Planned(NamedTuple):
    """How to recognize a valid value of a field.

    Args:
        type: The msgspec type of the value.
        wrong: A check that must find nothing in a value of that type; None if there is none.
        whole: How the check applies to the value, or to all its items.
        fine: Values in which the check finds nothing; None if they are not remembered.
        inner: Writes the checks of the structs in the value; None if there are none.
        plan: The plan of a struct; None for other values.
    """

    type: Any
    wrong: Wrong | None = None
    whole: str = _ONE
    fine: set[Any] | None = None
    inner: Write | None = None
    plan: Any = None

    def test(self, source: Source, value: str) -> str:
        """Return the expression that is true of a wrong value."""
        names = {"wrong": source.given(self.wrong), "fine": source.given(self.fine), "value": value}
        return (self.whole if self.fine is None else f"{_KNOWN[self.whole]} and {self.whole}").format_map(names)

    @property
    def asks_one(self) -> bool:
        """Whether the check applies to a single value."""
        return self.wrong is None or self.whole not in {ITEMS_WRONG, VALUES_WRONG}


class _Plan(NamedTuple):
    """How to recognize a valid struct.

    Args:
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
    if (plan := _plan_without_constants(struct, decodes=False)) is None:
        return lambda _: False
    source = Source()
    value = source.local(f"{source.given(convert)}(value, {source.given(plan.type)})")
    if write := plan.checks("", remembers=True):
        write(source, value)
    return source.function()


def planned_decoding(
    struct: CompiledStruct, constants: Mapping[str, str]
) -> tuple[type[Decoded], Callable[[object], bool]] | None:
    """Make a type for decoding only those parts of values that are checked, and the predicate for such values.

    Args:
        struct: The type that the value should have.
        constants: The values of fields that all values share.

    Returns:
        None if only the walk can tell.
    """
    if (plan := _plan_of(struct, constants)) is None:
        return None
    source = Source()
    if write := plan.checks("", remembers=True):
        write(source, "value")
    return plan.type, source.function()


@cache
def _plan_without_constants(struct: CompiledStruct, *, decodes: bool) -> _Plan | None:
    return _plan_of(struct, {} if decodes else None)


def _plan_of(struct: CompiledStruct, constants: Mapping[str, str] | None) -> _Plan | None:
    """Plan how to recognize structs without findings; None if only a walk can tell.

    Args:
        struct: The type.
        constants: The values of some fields of decoded structs; None to convert plain maps, with all their fields.
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
    make = partial(defstruct, struct.type.__name__, bases=(Decoded,), kw_only=True, gc=False)
    if constants is None:
        # Fields of other releases are None: no planned value has them.
        type_ = make(_defined(types), namespace=dict.fromkeys(others), forbid_unknown_fields=struct.target.strict)
    else:
        types |= dict.fromkeys(others, (_NONE, None))
        type_ = make(_defined(types | {name: (Literal[value],) for name, value in constants.items()}))
    return _Plan(type_, plans, partial(_examination, parts, plans, needed))


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

    small = () if any(plan.inner for plan in plans.values()) else sorted(plans)

    def write(source: Source, value: str) -> None:
        held = {name: f"{value}.{name}" for name in plans}
        for name, plan in checked:
            known = set[bytes]() if remembers and plan.plan else None
            _write(source, held[name], plan, known, may_be_absent=name not in needed)
        for members in unions:
            source.refuse(f"({' '.join(f'{held[name]},' for name in members)}).count(None) != {len(members) - 1}")
        views: dict[int, str] = {}
        for part, rule in rules:
            given = sorted(rule.given & plans.keys())
            if names := given or small:
                finds = f"{source.given(_remembering(part.view, rule.rule, names))}({value})"
            else:
                if id(part) not in views:
                    views[id(part)] = source.local(f"{source.given(part.view)}({value})")
                finds = f"any({source.given(rule.rule)}({views[id(part)]}))"
            is_given = f"({' or '.join(f'{held[name]} is not None' for name in given)}) and " if given else ""
            source.refuse(f"{is_given}{finds}")

    return write


def _remembering(view: Callable[[Any], View], rule: Rule, names: Sequence[str]) -> Wrong:
    """Make the check of a rule, which remembers fields in which it finds nothing, if it reads no others.

    Args:
        view: Makes the view of a struct.
        names: The fields.
    """
    alone = defstruct("Alone", names, bases=(_Alone,), gc=False)
    get, known, misses = attrgetter(*names, names[0]), set[bytes](), 0  # of one name it makes no tuple

    def finds(value: Any) -> bool:
        nonlocal misses
        if misses > _MOST_MISSES:
            return any(rule(view(value)))
        *fields, _ = get(value)
        key = encode(fields)
        if key in known:
            misses -= misses > 0
            return False
        misses += 1
        try:
            found = any(rule(view(alone(*fields))))
        except (_ReadsOthersError, AttributeError):
            misses = _MOST_MISSES + 1
            return any(rule(view(value)))
        if not found and len(key) <= _FIELDS_MAX:
            remember(key, known)
        return found

    return finds


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
            source.line(f"if len({key}) <= {_STRUCT_MAX}: {source.given(remember)}({key}, {source.given(known)})")


def _is_about(rule: Declared, planned_fields: AbstractSet[str]) -> bool:
    return not rule.given or not rule.given.isdisjoint(planned_fields)


def _fields(struct: CompiledStruct, *, decodes: bool) -> Iterator[tuple[str, Planned]]:
    known = struct.target
    for name, field in struct.stated.items():
        if name not in struct.inline:
            target = known if struct.checks(name) else known.decoding
            yield name, _planned(field, target, struct.names, decodes=decodes)
    for name, field in struct.opaque.items():
        if known.thorough:
            yield name, _planned(field, known, struct.names)
        elif not decodes:
            yield name, Planned(Any)


def _planned(field: Field, target: Target, names: tuple[str, str], *, decodes: bool = False) -> Planned:
    compiled = field.compile(target, *names)
    if compiled.passes:
        return Planned(compiled.passes)
    plan = _PLANS.get(type(field).compile)
    return plan(field, compiled, target, names, decodes=decodes) if plan else Planned(Any, compiled.walk)


def _array(field: Array, compiled: CompiledField, target: Target, names: tuple[str, str], *, decodes: bool) -> Planned:
    item = _planned(field.item.stated(target), target, names, decodes=decodes)
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


def _map(field: Map, compiled: CompiledField, target: Target, names: tuple[str, str], *, decodes: bool) -> Planned:
    key = field.key if target.validates else None
    item = _planned(field.item.stated(target), target, names, decodes=decodes)
    of_key = NAME if key else str
    type_ = _sized(GenericAlias(dict, (of_key, item.type)), field, compiled.walk({}), target)
    inner = _each(item.inner, ".values()")
    if key is None and item.asks_one:
        return Planned(type_, item.wrong, VALUES_WRONG, item.fine, inner)
    if key is None or item.wrong:
        return Planned(Any, compiled.walk)
    wrong, _, fine = remembered(key.stated(target).compile(target, *names).walk)
    return Planned(type_, wrong, ITEMS_WRONG, fine, inner)


def _nested(_field: Nested, compiled: CompiledField, _target: Target, _names: object, *, decodes: bool) -> Planned:
    plan = _plan_without_constants(cast("CompiledStruct", compiled.struct), decodes=decodes)
    return Planned(plan.type, inner=plan.checks(""), plan=plan) if plan else Planned(Any, compiled.walk)


def of_scalar(field: Scalar, compiled: CompiledField, target: Target, *_: object, **__: object) -> Planned:
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
        return Planned(NAME, *of_format(field.formats[0], target.release))
    if len(tests) == 1 and (limit := target.pick(field.max_length) or field.max_bytes):
        return Planned(str, tests[0], f"len({{value}}) > {limit // WIDEST} and {_ONE}")
    return Planned(str, tests[0] if len(tests) == 1 else compiled.walk)


@cache
def of_format(format_: Format, release: Release) -> _Remembered:
    """Make the check of a format; it is the same for all fields, so that they remember the same names."""
    return remembered(format_, release)


def remembered(wrong: Callable[..., object], *known: Any) -> _Remembered:
    """Make a check of single values that remembers some of the fine ones.

    Args:
        wrong: Returns a truthy result for a value that is not known to be fine.
        *known: What it takes besides the value.
    """
    fine: set[Any] = set()

    def look(value: Any) -> bool:
        if value in fine:  # beside a new one
            return False
        if wrong(value, *known):
            return True
        remember(value, fine)
        return False

    return look, _ONE, fine


def of_parsed(field: Parsed, compiled: CompiledField, target: Target, *_: object, **__: object) -> Planned:
    """Plan a literal, such as a quantity or a time."""
    if target.validates and field.checker(target):
        return Planned(Any, compiled.walk)
    literal = Annotated[str, Meta(max_length=_LITERAL_MAX)] | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
    return Planned(literal, *_unparsable(field.parse))


@cache
def _unparsable(parse: Callable[[Any], object]) -> _Remembered:
    def wrong(value: str | int) -> bool:
        try:
            parse(value)
        except (ValueError, TypeError):
            return True
        return False

    return remembered(wrong)


class _Memory:
    """The sets of valid values, by their identity, and the bytes that they take together: clients choose the values."""

    __slots__ = ("_filled", "_size")

    def __init__(self) -> None:
        self._filled: dict[int, set[Any]] = {}
        self._size = 0

    def remember(self, value: _T, known: set[_T]) -> None:
        """Remember a valid value, which must be short: objects share names of attributes, containers and classes.

        Args:
            known: The values of this kind that are remembered.
        """
        self._size += getsizeof(value) + _ENTRY
        if self._size > REMEMBERED_MAX:
            filled, self._filled = self._filled, {}
            self._size = getsizeof(value) + _ENTRY
            for each in list(filled.values()):
                each.clear()
        self._filled[id(known)] = known  # each time, as other threads forget
        known.add(value)


remember: Final = _Memory().remember


_PLANS: Final[Mapping[Callable[..., CompiledField], Callable[..., Planned]]] = {
    Scalar.compile: of_scalar,
    Parsed.compile: of_parsed,
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
