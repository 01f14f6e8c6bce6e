"""Plans: valid values recognized by msgspec, in a fraction of the time that a walk takes.

A plan is derived from a compiled type. It decides whether a value is fine, or needs a closer look: the walk. msgspec
checks shapes, sizes and unknown fields. A function generated for the whole type does the rest: the fields' own checks,
and the predicates (``fine=``) of rules about several fields. A value with the fields of a rule without one needs a
closer look.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from functools import cache, partial
from itertools import chain
from operator import attrgetter
from types import GenericAlias
from typing import Annotated, Any, Literal, cast

from msgspec import Meta, MsgspecError, convert, defstruct

from webhook.records import NamedTuple
from webhook.schema.collections import Array, Map
from webhook.schema.declarations import implied
from webhook.schema.known import remember
from webhook.schema.nested import Nested
from webhook.schema.scalars import WIDEST, Anything, Int, Parsed, Scalar, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import Final

    from webhook.release import Release
    from webhook.schema.compiled import CompiledStruct
    from webhook.schema.declarations import Declared
    from webhook.schema.fields import CompiledField, Field, Format
    from webhook.schema.target import Target

    Wrong = Callable[[Any], object]
    """Returns a truthy result for a value that is not known to be fine."""
    _Remembered = tuple[Wrong, str, set[Any]]
    """A check, how it applies, and values in which it finds nothing."""
    _Predicate = Callable[[Any, Target], bool] | str
    _Write = Callable[["_Source", str], None]
    """Writes the checks of the value of a local variable."""

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


_NAME: Final = Annotated[str, Meta(max_length=_NAME_MAX)]
_NOTHING: Final = Annotated[str, Meta(min_length=1, max_length=0)]
"""A type without values."""


class _Planned(NamedTuple):
    """How to recognize a valid value of a field.

    Args:
        type: The msgspec type of the value.
        wrong: A check that must find nothing in a value of that type; None if there is none.
        whole: How the check applies to the value, or to all its items.
        fine: Values in which the check finds nothing; None if they are not remembered.
        inner: Writes the checks of the structs in the value; None if there are none.
    """

    type: Any
    wrong: Wrong | None = None
    whole: str = _ONE
    fine: set[Any] | None = None
    inner: _Write | None = None

    def test(self, source: _Source, value: str) -> str:
        """Return the expression that is true of a wrong value."""
        names = {"wrong": source.given(self.wrong), "fine": source.given(self.fine), "value": value}
        return (self.whole if self.fine is None else f"{_KNOWN[self.whole]} and {self.whole}").format_map(names)

    @property
    def asks_one(self) -> bool:
        """Whether the check applies to a single value."""
        return self.wrong is None or self.whole not in {_ITEMS, _VALUES}


class _Source:
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
        # A predicate may read a field that is not planned, and so lacks the attribute.
        errors = self.given((MsgspecError, ValueError, TypeError, AttributeError, RecursionError))
        lines = ("def is_fine(value):\n try:\n", *self._lines, f"  return True\n except {errors}: return False\n")
        exec("".join(lines), self._scope)  # noqa: S102 - see above
        is_fine: Callable[[object], bool] = self._scope["is_fine"]
        return is_fine


class _Plan(NamedTuple):
    """How to recognize a valid struct.

    Args:
        type: Its msgspec type.
        fields: How to recognize the values of its fields.
        checks: Makes the writer of further checks, but for those of one field; None if there are none.
    """

    type: type
    fields: Mapping[str, _Planned]
    checks: Callable[[str], _Write | None]


def planned(struct: CompiledStruct) -> Callable[[object], bool]:
    """Make a predicate for values without findings; False if only the walk can tell.

    Args:
        struct: The type that the value should have.
    """
    if (plan := plan_of(struct)) is None:
        return lambda _: False
    source = _Source()
    value = source.local(f"{source.given(convert)}(value, {source.given(plan.type)})")
    if write := plan.checks(""):
        write(source, value)
    return source.function()


@cache
def plan_of(struct: CompiledStruct) -> _Plan | None:
    """Plan how to recognize structs without findings; None if only a walk can tell."""
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
    # Fields that are left out may be null, as clients write them: metadata has creationTimestamp: null.
    fields += [(name, _NOTHING if name in members else None, None) for name in known.keys() & left_out]
    # Fields of other releases are None: no planned value has them.
    namespace: dict[str, Any] = {name: None for part in parts for name in part.type.fields if name not in known}
    namespace |= dict.fromkeys(struct.inline, property(lambda value: value))
    if struct.type.box:
        namespace["__getattr__"] = _boxed(struct.type.box)
    type_ = defstruct(
        struct.type.__name__,
        fields,
        namespace=namespace,
        forbid_unknown_fields=struct.target.strict,
        kw_only=True,
        gc=False,
    )
    return _Plan(type_, plans, partial(_examination, parts, plans, needed))


def _boxed(box: str) -> Callable[[Any, str], Any]:
    """Make the reader of a box's fields; it makes a type's own fields slower to read, too."""
    return lambda value, name: getattr(getattr(value, box), name)


def _examination(
    parts: Sequence[CompiledStruct], plans: Mapping[str, _Planned], needed: Container[str], done: str
) -> _Write | None:
    """Make the writer of the checks of a struct, and of those inlined in it; None if there is nothing to check."""
    checked = [(name, plan) for name, plan in plans.items() if (plan.wrong or plan.inner) and name != done]
    unions = [sorted(union.members & plans.keys()) for part in parts for union in part.rules("unions")]
    rules = list(_predicates(chain.from_iterable(part.rules("checks") for part in parts), plans.keys()))
    if not checked and not unions and not rules:
        return None
    target = parts[0].target

    def write(source: _Source, value: str) -> None:
        held = {name: f"{value}.{name}" for name in chain(plans, *(part.type.fields for part in parts))}
        for name, plan in checked:
            _write(source, held[name], plan, may_be_absent=name not in needed)
        for members in unions:
            source.refuse(f"({' '.join(f'{held[name]},' for name in members)}).count(None) != {len(members) - 1}")
        for fine, given in rules:
            is_given = f"({' or '.join(f'{held[name]} is not None' for name in sorted(given))}) and " if given else ""
            is_fine = f"({fine.format_map(held)})" if isinstance(fine, str) else source.given(fine)
            arguments = "" if isinstance(fine, str) else f"({value}, {source.given(target)})"
            source.refuse(f"{is_given}not {is_fine}{arguments}")

    return write


def _write(source: _Source, value: str, plan: _Planned, *, may_be_absent: bool) -> None:
    """Write the checks of a field's value; most fields are absent, and so are not assigned to variables."""
    if plan.inner is None:
        test = plan.test(source, value)
        source.refuse(f"{value} is not None and {test}" if may_be_absent else test)
        return
    with source.block(f"if {value} is not None:") if may_be_absent else nullcontext():
        given = source.local(value)
        if plan.wrong:
            source.refuse(plan.test(source, given))
        plan.inner(source, given)


def _predicates(rules: Iterable[Declared], planned_fields: AbstractSet[str]) -> Iterator[tuple[_Predicate, set[str]]]:
    """Yield each predicate once, with the fields of which one must be given; none if it always applies."""
    found: dict[_Predicate, list[frozenset[str]]] = {}
    for rule in rules:
        if rule.fine and rule.fine is not implied:
            found.setdefault(rule.fine, []).append(rule.given)
    for fine, given in found.items():
        if not all(given):
            yield fine, set()
        elif names := set().union(*given) & planned_fields:
            yield fine, names


def _fields(struct: CompiledStruct) -> Iterator[tuple[str, _Planned]]:
    known = struct.target
    for name, field in struct.stated.items():
        if name not in struct.inline:
            yield name, _planned(field, known if struct.checks(name) else known.decoding, struct.names)
    for name, field in struct.type.opaque.items():
        yield name, _planned(field, known.decoding, struct.names) if known.thorough else _Planned(Any)


def _planned(field: Field, target: Target, names: tuple[str, str]) -> _Planned:
    compiled = field.compile(target, *names)
    if target.validates and isinstance(field, Text) and field.usual:
        return _Planned(_NAME, *_of_format(field.usual, target.release))
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
    if len(tests) == 1 and (values := target.pick(field.one_of)):
        return _Planned(Literal[tuple(each for each in ("", *values) if not compiled.walk(each))])
    if len(tests) == len(field.formats) == 1:
        return _Planned(_NAME, *_of_format(field.formats[0], target.release))
    if len(tests) == 1 and (limit := target.pick(field.max_length) or field.max_bytes):
        return _Planned(str, tests[0], f"len({{value}}) > {limit // WIDEST} and {_ONE}")
    return _Planned(str, tests[0] if len(tests) == 1 else compiled.walk)


@cache
def _of_format(format_: Format, release: Release) -> _Remembered:
    return _remembered(format_, release)


def _remembered(wrong: Callable[..., object], *known: Any) -> _Remembered:
    """Make a check of single values that remembers some of the fine ones.

    Args:
        wrong: Returns a truthy result for a value that is not known to be fine.
        *known: What it takes besides the value.
    """
    fine: set[Any] = set()

    def look(value: Any) -> bool:
        if wrong(value, *known):
            return True
        remember(value, fine)
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
        return _Planned(type_, item.wrong, _ITEMS, item.fine, _each(item.inner))
    if unique is None or item.wrong or (unique and item.type is Any):
        return _Planned(Any, compiled.walk)
    if unique and any(unique == name for name, _ in cast("CompiledStruct", compiled.struct).absent):
        return _Planned(type_, inner=_distinct(unique, cast("_Plan", plan_of(cast("CompiledStruct", compiled.struct)))))
    return _Planned(type_, _repeats(unique), inner=_each(item.inner))


def _distinct(unique: str, plan: _Plan) -> _Write:
    """Make the writer of the checks of structs whose keys differ; no key is None."""
    key = plan.fields[unique]
    known_at_once = key.fine is not None
    write_rest = plan.checks(unique if known_at_once else "")

    def write(source: _Source, value: str) -> None:
        keys, item = source.local("set()"), source.local()
        with source.block(f"for {item} in {value}:"):
            source.line(f"{keys}.add({item}.{unique})")
            if write_rest:
                write_rest(source, item)
        source.refuse(f"len({keys}) != len({value})")
        if known_at_once:
            source.refuse(key._replace(whole=_ITEMS).test(source, keys))

    return write


def _each(inner: _Write | None, values: str = "") -> _Write | None:
    """Make the writer of the checks of all items, or of all values, of a list or map."""
    if inner is None:
        return None

    def write(source: _Source, value: str) -> None:
        item = source.local()
        with source.block(f"for {item} in {value}{values}:"):
            inner(source, item)

    return write


def _map(field: Map, compiled: CompiledField, target: Target, names: tuple[str, str]) -> _Planned:
    item, key = _planned(field.item.stated(target), target, names), field.key if target.validates else None
    of_key = _NAME if key else str
    type_ = _sized(GenericAlias(dict, (of_key, item.type)), field, compiled.walk({}), target)
    inner = _each(item.inner, ".values()")
    if key is None and item.asks_one:
        return _Planned(type_, item.wrong, _VALUES, item.fine, inner)
    if key is None or item.wrong:
        return _Planned(Any, compiled.walk)
    wrong, _, fine = _remembered(key.stated(target).compile(target, *names).walk)
    return _Planned(type_, wrong, _ITEMS, fine, inner)


def _nested(_field: Nested, compiled: CompiledField, _target: Target, _names: tuple[str, str]) -> _Planned:
    plan = plan_of(cast("CompiledStruct", compiled.struct))
    return _Planned(plan.type, inner=plan.checks("")) if plan else _Planned(Any, compiled.walk)


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
