"""API types compiled for one target: the walk through values, their changes, views, and the order of findings."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, islice
from math import inf
from operator import itemgetter
from typing import Any, ClassVar, Final

from webhook.later import cached_property
from webhook.problem import DUPLICATE, ERROR, Key, Path, Problem
from webhook.records import NamedTuple
from webhook.release import Release
from webhook.schema.declarations import (
    ITSELF,
    NEW,
    NOTHING,
    STORED,
    Change,
    Declared,
    Default,
    Field,
    Place,
    Recheck,
    Struct,
    Walk,
    declared,
)
from webhook.schema.decoding import (
    EMBEDDED_SINCE,
    Misfit,
    SchemaFinding,
    apart,
    gated_field,
    refuses,
    under,
    unknown_field,
    within,
)
from webhook.schema.target import CREATE, UPDATE, UPDATE_STATUS, Target

FieldFindings = tuple[str, Sequence[SchemaFinding]]

Spelled = tuple[tuple[str, ...], "CompiledStruct | None"]

Several = Callable[[dict[str, Any], dict[str, Sequence[Problem]] | None], Sequence[Problem]]

ROOT = "/"
"""The first character of the spelling of a field that the API server reports as one of the whole object."""


class CompiledField(NamedTuple):
    """A field compiled for one target.

    Args:
        walk: Returns the findings of the JSON decoder and of validation in a value; None is an absent value.
        change: Returns the findings of validation for a new and an old value; None if any change is allowed.
        canonical: Returns the value in the form for comparing old and new; None for Go's zero value.
        view: Returns the value as cross-field checks see it, at a place that matters only for structs.
        passes: The Python type whose values are all valid.
        seen_as_is: Whether cross-field checks see a non-null value as submitted.
        struct: The struct that it holds, one or many.
    """

    walk: Walk
    change: Change | None
    canonical: Callable[[Any], Any]
    view: Callable[[Any, Place], Any]
    passes: type | None = None
    seen_as_is: bool = False
    struct: CompiledStruct | None = None


def walking_later(compile_field: Callable[[], CompiledField]) -> Walk:
    """Return the walk through a field that may be absent, compiled on first use: most objects lack the field."""
    compiled = cache(compile_field)
    return lambda value: NOTHING if value is None else compiled().walk(value)


class View:
    """A well-shaped struct as rules see it: fields by name, defaults set, absent ones empty, ``view / "field"`` a path.

    A view is true if the struct is there at all; two views are equal if the API server considers them equal.
    """

    __slots__ = ("_place", "_value")
    _struct: ClassVar[CompiledStruct]
    _boxes: ClassVar[Mapping[str, str]]
    type: ClassVar[Any]
    """The struct's class, unless a field has this name."""
    target: ClassVar[Target]
    """The target that the struct is compiled for."""
    release: ClassVar[Release]
    """The Kubernetes release, as the minor of 1.x."""
    operation: ClassVar[str]
    """The operation of the request."""

    def __init__(self, value: dict[str, Any] | None, place: Place = ()) -> None:
        self._value, self._place = value, place

    def __getattr__(self, name: str) -> Any:
        """Return a field of the box, or one that this release lacks."""
        if name in self._struct.type.fields:
            return None
        if self._struct.type.box:
            return getattr(getattr(self, self._struct.type.box), name)
        raise AttributeError(name)

    @property
    def path(self) -> Path:
        """The path of the struct, as seen from the struct with the rule."""
        place, steps = self._place, []
        while place:
            place, step = place
            steps.append(step)
        return Path(reversed(steps))

    def __truediv__(self, step: str | int) -> Path:
        """Return the path of a field."""
        box = self._struct.type.box
        return self.path / box / step if box and step not in self._struct.type.fields else self.path / step

    def __contains__(self, name: str) -> bool:
        """Tell whether a field of this release was given and is not null."""
        box = self._struct.type.box
        if box and name not in self._struct.type.fields:
            return name in getattr(self, box)
        if name in self._struct.inline:
            return bool(getattr(self, name))
        return name in self._struct.wire and self._value is not None and self._value.get(name) is not None

    def __bool__(self) -> bool:
        """Tell whether the struct is there."""
        return self._value is not None

    def __eq__(self, other: object) -> bool:
        """Compare as ``apiequality.Semantic.DeepEqual`` does."""
        return isinstance(other, View) and self.canonical == other.canonical

    __hash__ = None  # type: ignore[assignment] # views are compared, never kept

    @property
    def canonical(self) -> dict[str, Any] | None:
        """The struct in the form for comparing old and new."""
        return None if self._value is None else self._struct.canonical(self._value)

    @property
    def submitted(self) -> Any:
        """The struct as submitted, for messages."""
        return self._value

    @property
    def content(self) -> dict[str, Any]:
        """The fields as submitted, out of the box; for rules that would need too many views."""
        value = self._value or {}
        return (value.get(self._struct.type.box) or {}) if self._struct.type.box else value

    def contents(self, name: str) -> Sequence[dict[str, Any]]:
        """Return the structs of a list as submitted, null as an empty one; for rules that would need too many views."""
        given = self._value.get(name) if self._value else None
        if not given:
            return ()
        if box := self._boxes.get(name):
            return [(each.get(box) if each else None) or {} for each in given]
        return given if all(given) else [each or {} for each in given]

    def enabled(self, gate: str) -> bool:
        """Tell whether a feature gate is on."""
        return gate in self.target.gates


def view_of(struct: CompiledStruct) -> type[View]:
    """Make the view of one struct, in which every field is a property; that is three times as fast as ``__getattr__``.

    An absent struct is an empty view, an absent list an empty one.
    """
    fields = {name: property(_reader(struct, name)) for name in struct.fields if name not in vars(View)}
    boxes = {name: field.struct.type.box for name, field in struct.wire.items() if field.struct}
    target = struct.target
    facts = {"type": struct.type, "target": target, "release": target.release, "operation": target.operation}
    return type("View", (View,), {"__slots__": (), "_struct": struct, "_boxes": boxes, **facts, **fields})


def _reader(struct: CompiledStruct, name: str) -> Callable[[View], Any]:
    """Return the reader of a field."""
    see, default = struct.fields[name].view, struct.conditional.get(name)

    def read(view: Any) -> Any:
        value = view._value  # noqa: SLF001 - it is a part of the view
        return see(value.get(name) if value else None, (view._place, name))  # noqa: SLF001 - as above

    def read_inline(view: Any) -> Any:
        return see(view._value, view._place)  # noqa: SLF001 - as above

    if name in struct.inline:
        return read_inline
    if default is None:
        return read

    def read_with_default(view: Any) -> Any:
        value = view._value  # noqa: SLF001 - as above
        given = value.get(name) if value else None
        if not given and all(getattr(view, sibling) in wanted for sibling, wanted in default.when.items()):
            return default.value
        return see(given, (view._place, name))  # noqa: SLF001 - as above

    return read_with_default


class CompiledStruct:
    """A type compiled for one target."""

    def __init__(self, type_: type[Struct], target: Target) -> None:
        self.type, self.target = type_, target
        self.names = type_.go_name or type_.__name__, type_.package or target.version

    # What follows is made on first use: most objects have few of the structs that their type has.

    @cached_property
    def stated(self) -> dict[str, Field]:
        """The declarations of the fields, as of the target."""
        target = self.target
        return {
            name: field.stated(target)
            for name, field in self.type.fields.items()
            if target.has(field.since, field.until)
        }

    @cached_property
    def fields(self) -> dict[str, CompiledField]:
        """The fields by their names in the class."""
        return {name: field.compile(self.target, *self.names) for name, field in self.stated.items()}

    @cached_property
    def inline(self) -> frozenset[str]:
        """The fields that are inlined."""
        return frozenset(name for name, field in self.stated.items() if field.inline)

    @cached_property
    def conditional(self) -> dict[str, Default]:
        """The defaults that depend on other fields."""
        defaults = {name: self.target.pick(getattr(field, "default", None)) for name, field in self.stated.items()}
        return {name: default for name, default in defaults.items() if isinstance(default, Default)}

    @cached_property
    def wire(self) -> dict[str, CompiledField]:
        """The fields by their names on the wire, including those of inlined structs."""
        found = {name: field for name, field in self.fields.items() if name not in self.inline}
        for inner in self.inlined:
            found |= inner.wire
        return found

    @cached_property
    def positions(self) -> dict[str, int]:
        """The positions of the fields in :attr:`wire`."""
        return {name: position for position, name in enumerate(self.wire)}

    @cached_property
    def gated(self) -> dict[str, list[str]]:
        """The feature gates that are off, by the names of the fields that need them."""
        target = self.target
        found = {
            name: off
            for name, field in self.stated.items()
            if (off := [gate for gate in field.gates(target) if gate not in target.gates])
        }
        for inner in self.inlined:
            found |= inner.gated
        return found

    @cached_property
    def rechecks(self) -> bool:
        """Whether an update validates any field in a special way."""
        return self.target.operation != CREATE and any(
            self._recheck(name) or (field.struct is not None and field.struct.rechecks)
            for name, field in self.fields.items()
        )

    @cached_property
    def walk(self) -> Walk:
        """Returns the findings in a struct."""
        return self.walking(_no_struct)

    @property
    def decoding(self) -> CompiledStruct:
        """The same type for values that are only decoded."""
        return compile_struct(self.type, self.target.decoding)

    @cached_property
    def view(self) -> type[View]:
        """The view of a value for rules; created on first use."""
        return view_of(self)

    def canonical(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the value in the form for comparing old and new: defaults set, zero values left out."""
        inline = self.inline
        known: dict[str, Any] = {}
        for name, field in self.fields.items():
            each = field.canonical(value if name in inline else value.get(name))
            if each is None and name in self.conditional:
                default = self.conditional[name]
                each = (
                    default.value if all(known.get(key, "") in wanted for key, wanted in default.when.items()) else None
                )
            if each is not None:
                known[name] = each
        if self.type.opaque:
            known |= {name: value[name] for name in self.type.opaque if value.get(name)}
        return known

    def finds_declaratively(self, problem: Problem) -> bool:
        """Tell whether a finding in the struct comes from a declarative rule, where these decide."""
        return self.target.declarative and problem.level == ERROR and is_declarative(problem, self)

    def spell(self, path: Path) -> Path:
        """Return a path as the API server spells it; names of unknown fields stay."""
        spelled: list[str | int] = []
        struct: CompiledStruct | None = self
        for step in path:
            if struct is None or type(step) is not str:
                spelled.append(step)
                continue
            steps, struct = struct.spelling(step)
            if steps and steps[0].startswith(ROOT):
                spelled, steps = [], (steps[0].removeprefix(ROOT), *steps[1:])
            spelled += steps
        return Path(spelled)

    def spelling(self, name: str) -> Spelled:
        """Return the API server's spelling of a field of this struct, and the struct that the field holds."""
        if name in self.wire and name not in self.fields:
            for holder in self.inline:
                inner = self.fields[holder].struct
                if inner and name in inner.wire:
                    steps, struct = inner.spelling(name)
                    return (*self._steps(holder), *steps), struct
        field = self.fields.get(name)
        return (self._steps(name), field.struct) if field else ((name,), None)

    def _steps(self, name: str) -> tuple[str, ...]:
        field = self.type.fields[name]
        spelled = self.target.pick(field.spelled)
        if spelled is None:
            return () if field.inline else (name,)
        return (spelled,) if spelled else ()

    def _here(self, name: str) -> bool:
        """Tell whether the target's operation checks a field of a whole object."""
        wanted = self.type.fields[name].subresource
        return wanted is None or wanted == self.target.subresource

    def _recheck(self, name: str) -> Recheck | None:
        """Return when or how an update validates a field again; None for always, as if it were new."""
        if self.target.operation not in {UPDATE, UPDATE_STATUS}:
            return None
        when: Recheck | None = self.target.pick(self.type.fields[name].rechecked)
        return when

    def checks(self, name: str) -> bool:
        """Tell whether the target's operation checks a field regardless of its old value."""
        return self._here(name) and not self._recheck(name)

    def rules(self, kind: str) -> list[Declared]:
        """List the rules of one kind that the target has."""
        return [each for each in declared(self.type, kind) if each.applies(self.target)]

    def walking(self, otherwise: Walk) -> Walk:
        """Make the walk through one value: the decoder's findings, then validation's in the rest.

        Args:
            otherwise: The findings in a value that is not a struct.
        """
        most_unknown = self.target.enough if self.target.strict else 0

        def walk(value: Any) -> Sequence[SchemaFinding]:
            if type(value) is not dict:
                return otherwise(value)
            walks, inlined = self._walks
            found: list[FieldFindings] = []
            for name, each in value.items():
                if (walk_field := walks.get(name)) is None:
                    if len(found) < most_unknown:
                        found.append((name, [unknown_field(name, walks)]))
                elif findings := walk_field(each):
                    found.append((name, under(findings, name)))
            found += [each for each in self.absent if each[0] not in value]
            if inlined:
                found += [(name, findings) for name, walk_all in inlined if (findings := walk_all(value))]
            if found:
                return self._concluded(value, found)
            find_several = self._several
            return NOTHING if find_several is None else find_several(value, None)

        return walk

    def _within(self, name: str, walk: Walk) -> Walk:
        """Return the walk through a field, which Go may hold in embedded structs."""
        embedded = self.type.embedded.get(name)
        if embedded is None or self.target.release < EMBEDDED_SINCE:
            return walk
        return lambda value: within(findings, embedded) if (findings := walk(value)) else NOTHING

    def _concluded(self, value: dict[str, Any], found: Sequence[FieldFindings]) -> Sequence[SchemaFinding]:
        """Order the findings in fields: misfits as submitted, problems as declared, findings of rules last."""
        misfits = [each for _, findings in found for each in findings if type(each) is Misfit]
        if self.inline and misfits:
            submitted = {name: place for place, name in enumerate(value)}
            misfits.sort(key=lambda misfit: submitted[str(misfit.path[0])])
        problems: dict[str, Sequence[Problem]] = {}
        for name, findings in found:
            if in_field := [each for each in findings if not isinstance(each, Misfit)]:
                problems[name] = in_field
        of_rules = NOTHING if self._several is None or refuses(misfits) else self._several(value, problems)
        return [
            *misfits,
            *self._in_order(
                [each for name in (*self.fields, *self.type.opaque) for each in problems.get(name, ())], of_rules
            ),
        ]

    def _in_order(self, found: list[Problem], of_rules: Sequence[Problem]) -> list[Problem]:
        """Put the findings of rules after those in fields, or among them where the API server does."""
        if not of_rules:
            return found
        return merged(found, of_rules, self, self.before)

    @cached_property
    def before(self) -> dict[str, str | None]:
        """Where the findings of rules about several fields come, by the rule's name; see :func:`check`."""
        return {each.name: each.before for kind in ("checks", "transitions") for each in self.rules(kind)}

    @cached_property
    def _walks(self) -> tuple[dict[str, Walk], list[tuple[str, Walk]]]:
        """The walks through fields, and through inlined structs, which take the whole value."""
        walks: dict[str, Walk] = {}
        inlined: list[tuple[str, Walk]] = []
        for name, field in self.fields.items():
            walk = field.walk
            if not self.checks(name):
                walk = walking_later(partial(self._compile, name, self.target.decoding))
            walk = self._within(name, walk)
            if name in self.inline:
                inlined.append((name, walk))
            else:
                walks[name] = _gated(walk, self.gated[name]) if name in self.gated else walk
        walks |= dict.fromkeys(self.wire.keys() - walks.keys(), _ignored)
        for name, opaque in self.type.opaque.items():
            # A webhook leaves them to the API server, which has validated them.
            later = walking_later(partial(opaque.compile, self.target, *self.names))
            walks.setdefault(name, self._within(name, later) if self.target.thorough else _ignored)
        return walks, inlined

    @cached_property
    def inlined(self) -> list[CompiledStruct]:
        """The structs that are inlined."""
        return [inner for name in self.inline if (inner := self.fields[name].struct)]

    @cached_property
    def absent(self) -> list[FieldFindings]:
        """The findings for each absent field; computed on first use, as this may take long."""
        return [(name, under(walk(None), name)) for name, walk in self._walks[0].items() if walk(None)]

    @cached_property
    def _several(self) -> Several | None:  # noqa: C901 - as in walking
        """Applies the rules about several fields, which may mute findings about single ones."""
        unions = [(union.members & self.wire.keys(), union) for union in self.rules("unions")]
        rules = [(rule.given, rule.rule, rule) for rule in self.rules("checks")]
        if not unions and not rules:
            return None

        def find(value: dict[str, Any], found: dict[str, Sequence[Problem]] | None) -> Sequence[Problem]:
            problems: Sequence[Problem] = NOTHING
            for members, union in unions:
                given = 0
                for name, each in value.items():
                    if each is not None and name in members:
                        # The rule decides whether an empty list counts.
                        given += 1 if each or type(each) is not list else 2
                if given != 1:
                    names = [name for name, each in value.items() if each is not None and name in members]
                    problems = [*problems, *self._named(union, union.rule(self.view(value), names))]
            view = None
            for needed, find_in, rule in rules:
                if needed and needed.isdisjoint(value):
                    continue
                if view is None:
                    view = self.view(value)
                findings = find_in(view)
                for first in findings:
                    problems = [*problems, *self._named(rule, chain((first,), findings))]
                    if found is not None:
                        self._mute(rule, found)
                    break
            return problems if found is not None or len(problems) <= 1 else self._in_order([], problems)

        return find

    def _mute(self, rule: Declared, found: dict[str, Sequence[Problem]]) -> None:
        """Remove the findings about the fields that a rule mutes, but not those of declarative rules."""
        for name in rule.mutes:
            field, _, inner = name.partition(".")
            kept = [
                each
                for each in found.pop(field, NOTHING)
                if (inner and not any(step == inner and not isinstance(step, Key) for step in each.path))
                or self.finds_declaratively(each)
            ]
            if kept:
                found[field] = kept

    def _named(self, rule: Declared, problems: Iterable[Problem]) -> list[Problem]:
        return [problem.named(rule.name) for problem in islice(problems, self.target.enough)]

    @cached_property
    def change(self) -> Change | None:
        """Returns the findings in a new and an old struct; None where there is nothing to find."""
        if self.target.operation == CREATE:
            return None
        fields = [
            (name, name in self.inline, compare)
            for name, field in self.fields.items()
            if self._here(name) and (compare := self._field_changer(name, field))
        ]
        rules = self.rules("transitions")
        if not fields and not rules:
            return None

        def change(new: dict[str, Any], old: dict[str, Any]) -> Sequence[Problem]:
            found: list[Problem] = []
            for name, inline, change_field in fields:
                if inline:
                    found += change_field(new, old)
                elif problems := change_field(new.get(name), old.get(name)):
                    found += [problem.under(name) for problem in problems]
            if rules:
                after, before = self.view(new), self.view(old)
                of_rules = [each for rule in rules for each in self._named(rule, rule.rule(after, before))]
                return self._in_order(found, of_rules)
            return found

        return change

    def _field_changer(self, name: str, field: CompiledField) -> Change | None:
        """Make the comparison of a field, with its check if an update does not always validate it."""
        when, walk, is_pointer = self._recheck(name), field.walk, self.stated[name].pointer
        if not when:
            return field.change
        walk_stored = self._compile(name, self.target.of_stored).walk if when == STORED or callable(when) else None

        def change(new: Any, old: Any) -> Sequence[Problem]:
            found = list(field.change(new, old)) if field.change else []
            if when == ITSELF:
                found += [each for each in apart(walk(new))[1] if not each.path] if found else ()
            elif callable(when):
                find = walk_stored if walk_stored and when(field.view(old, ())) else walk
                found += apart(find(new))[1]
            elif is_pointer and old is None if when == NEW else field.canonical(new) != field.canonical(old):
                found += apart(walk(new))[1]
            elif when != NEW:
                known = apart(walk_stored(new))[1] if walk_stored else ()
                found += [each for each in known if not self.finds_declaratively(each.under(name))]
                # Declarative rules do not know what an update checks again.
                again = apart(walk(new))[1] if self.target.declarative else ()
                found += [each for each in again if self.finds_declaratively(each.under(name))]
            return found

        return change

    def _compile(self, name: str, target: Target) -> CompiledField:
        """Compile a field for another target than the struct's."""
        compiled: CompiledField = self.stated[name].compile(target, *self.names)
        return compiled


def compile_struct(type_: type[Struct], target: Target) -> CompiledStruct:
    """Compile a type for one target; results are cached."""
    wanted = target.replaced.get(type_, type_)
    if (struct := target.compiled.get(wanted)) is None:
        struct = target.compiled[wanted] = CompiledStruct(wanted, target)
    return struct


# -- The findings in a value; something else may answer first that there are none


Tell = Callable[[object], bool]
"""Tells that there is nothing to report about a value; False if it does not know."""


class _First:
    """What answers before values are walked."""

    make: Callable[[CompiledStruct], Tell] | None = None


def answer_first(make: Callable[[CompiledStruct], Tell] | None) -> None:
    """Let a function answer before values are walked.

    Args:
        make: Returns what tells about values of a type; None for none.
    """
    _First.make = make
    _tell_of.cache_clear()


@cache
def _tell_of(struct: CompiledStruct) -> Tell:
    return _First.make(struct) if _First.make else lambda _: False


def examined(struct: CompiledStruct, value: object) -> tuple[Sequence[Misfit], Sequence[Problem]]:
    """Return the findings in a value, from decoding and from validation."""
    return ((), ()) if _tell_of(struct)(value) else apart(struct.walk(value))


def _gated(walk: Walk, gates: Iterable[str]) -> Walk:
    """Return the walk through a field that is dropped."""

    def walk_gated(value: Any) -> Sequence[SchemaFinding]:
        findings = walk(value)
        return findings if value is None else [*findings, gated_field(gates)]

    return walk_gated


def _ignored(_: object) -> Sequence[SchemaFinding]:
    return NOTHING


def _no_struct(value: object) -> Sequence[SchemaFinding]:
    raise TypeError(value)


def is_declarative(problem: Problem, struct: CompiledStruct) -> bool:
    """Tell whether a finding in a struct comes from a declarative rule."""
    holder, field = declaration(problem.path, struct)
    if problem.path and isinstance(problem.path[-1], int | Key):
        if holder is not None and problem.rule in holder.type.tagged:
            return True
        if problem.reason != DUPLICATE or (holder is None and getattr(field, "unique", None) is None):
            return False
    return field is not None and field.declarative and field.states(problem)


def declaration(path: Path, struct: CompiledStruct) -> tuple[CompiledStruct | None, Field | None]:
    """Return the struct that a path leads to, if any, and the last field on the path."""
    holder: CompiledStruct | None = struct
    field: Field | None = None
    for step in path:
        if isinstance(step, int | Key):
            continue
        holder, field = member(holder, step) if holder else (None, None)
    return holder, field


def member(struct: CompiledStruct, name: str) -> tuple[CompiledStruct | None, Field | None]:
    """Return the struct that a field holds, if any, and the field's declaration."""
    for inner in struct.inlined:
        if name in inner.stated:
            return member(inner, name)
    compiled = struct.fields.get(name)
    return (compiled.struct if compiled else None), struct.stated.get(name)


Position = list[tuple[float, str]]

_LAST: Final = (inf, "")


def merged(
    found: Sequence[Problem], of_rules: Sequence[Problem], struct: CompiledStruct, before: Mapping[str, str | None]
) -> list[Problem]:
    """Return the findings in a struct in the API server's order.

    Args:
        found: The findings in fields, in their order.
        of_rules: The findings of rules about several fields, in the order of the rules.
        before: Where the findings of each rule come, by its name; see :func:`webhook.schema.check`.
    """
    placed: list[tuple[Position, Problem]] = []
    last: list[Problem] = []
    for problem in of_rules:
        field = before.get(problem.rule)
        if field is None:
            last.append(problem)
        else:
            placed.append((_place(problem, struct, field), problem))
    placed.sort(key=itemgetter(0))
    return [*_inserted(placed, found, struct), *last]


def _inserted(
    placed: Iterable[tuple[Position, Problem]], found: Iterable[Problem], struct: CompiledStruct
) -> Iterator[Problem]:
    """Yield each placed finding before the first one in a later place; found ones keep their order, the walk's."""
    waiting = deque(placed)
    for each in found:
        if waiting:
            place = _place(each, struct)
            while waiting and waiting[0][0] < place:
                yield waiting.popleft()[1]
        yield each
    for _, problem in waiting:
        yield problem


def as_declared(problem: Problem, struct: CompiledStruct | None) -> Position:
    """Return the sort key of a declarative finding: a struct or list before its parts, what repeats before items."""
    *_, (place, _) = _places(problem, struct)
    return place


def _place(problem: Problem, struct: CompiledStruct | None, before: str | None = None) -> Position:
    """Return the sort key of a finding: as declared, a struct or list after its parts, what repeats after all items.

    Without ``before``, the finding comes where its rule says, in the struct that has the rule.
    """
    anchored: Position = []
    for place, around in _places(problem, struct):
        field = around.before.get(problem.rule) if before is None and around else before
        anchored = _anchored(place, around, field) or anchored
    is_repeated = problem.reason == DUPLICATE and any(isinstance(step, int) for step in problem.path)
    return [*place, _LAST] if is_repeated or not anchored else anchored


def _places(problem: Problem, struct: CompiledStruct | None) -> Iterator[tuple[Position, CompiledStruct | None]]:
    """Yield the sort keys of the structs on the path of a finding, with the structs, and last that of its place.

    An item that repeats another one is in the place of its list.
    """
    path = problem.path
    items = [index for index, step in enumerate(path) if isinstance(step, int)]
    place: Position = []
    for step in path[: items[-1]] if items and problem.reason == DUPLICATE else path:
        if isinstance(step, int | Key):
            place = [*place, (step, "") if isinstance(step, int) else (0, step)]
            continue
        yield place, struct
        place = [*place, (_position(struct, step), "")]
        field = struct.wire.get(step) if struct else None
        struct = field.struct if field else None
    yield place, struct


def _anchored(place: Position, struct: CompiledStruct | None, before: str | None) -> Position:
    """Return the sort key that comes just before a field of a struct, or of its box; empty if it has no such field."""
    if not before or not struct:
        return []
    if before in struct.positions:
        return [*place, (_position(struct, before) - 0.5, "")]
    box = struct.wire.get(struct.type.box)
    return _anchored([*place, (_position(struct, struct.type.box), "")], box.struct, before) if box else []


def _position(struct: CompiledStruct | None, name: str) -> float:
    return struct.positions.get(name, inf) if struct else inf
