"""The sorts of fields, and structs, compiled for one target: walks, changes, views, and the order of findings.

A struct's walk goes through its fields, and a field's through the struct that it holds: both are here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import accumulate, count, islice
from math import inf
from operator import itemgetter
from typing import Any, ClassVar, Final, NamedTuple

from webhook.formats import exceeds
from webhook.formats.quantities import near_quantity
from webhook.grouping import repeated
from webhook.later import cached_property
from webhook.patterns import Pattern
from webhook.problem import (
    DUPLICATE,
    ERROR,
    IMMUTABLE_FIELD,
    TOO_LONG,
    TOO_MANY,
    WARNING,
    WRITE_LIST,
    Advice,
    Fix,
    InYaml,
    Key,
    Path,
    Problem,
    clipped,
    duplicate,
    invalid,
    malformed,
    not_supported,
    null,
    of_own_type,
    quoted,
    required,
    too_long,
    too_many,
    too_many_characters,
)
from webhook.release import Release
from webhook.schema.declarations import (
    IMMUTABLE,
    ITSELF,
    NEW,
    NOTHING,
    STORED,
    Change,
    Declared,
    Default,
    Field,
    Inlining,
    Recheck,
    Struct,
    declared,
    name_of,
)
from webhook.schema.decoding import (
    EMBEDDED_SINCE,
    GATE_OFF,
    UNKNOWN_FIELD,
    WRITE_MAP,
    Misfit,
    SchemaFinding,
    apart,
    gated_field,
    refuses,
    unknown_field,
    unparsable,
    within,
    wrong_type,
)
from webhook.schema.target import CREATE, UPDATE, UPDATE_STATUS, Target

Place = tuple[Any, ...]
"""A place: the parent's place and one step down. Only places that are reported become paths."""

Walk = Callable[[Any], Sequence[SchemaFinding]]
Decode = Callable[[Any], Sequence[Misfit]]
Check = Callable[[Any], Sequence[Problem]]
Format = Callable[[str, Release], Sequence[str]]
FieldFindings = tuple[str, Sequence[SchemaFinding]]
Several = Callable[[dict[str, Any], dict[str, Sequence[Problem]] | None], Sequence[Problem]]

EMPTY = "empty"
ROOT = "/"
"""The first character of the spelling of a field that the API server reports as one of the whole object."""


class CompiledField(NamedTuple):
    """A field compiled for one target.

    Args:
        walk: Returns the findings of the JSON decoder and of validation in a value; None is an absent value.
        change: Returns the findings of validation for a new and an old value; None if any change is allowed.
        canonical: Returns the value in the form for comparing old and new; None for Go's zero value.
        view: Returns the value as cross-field checks see it, at a place that matters only for structs.
        seen_as_is: Whether cross-field checks see a non-null value as submitted.
        struct: The struct that it holds, one or many.
    """

    walk: Walk
    change: Change | None
    canonical: Callable[[Any], Any]
    view: Callable[[Any, Place], Any]
    seen_as_is: bool = False
    struct: CompiledStruct | None = None


def _under(findings: Iterable[SchemaFinding], step: str | int) -> list[Any]:
    """Return the same findings as seen from one level above."""
    return [
        each._replace(path=Path((step, *each.path)))
        if isinstance(each, Misfit) or each.spelled is None
        else each.under(step)
        for each in findings
    ]


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
        """Return a field of the box, the struct itself as what it inlines, or a field that this release lacks."""
        type_ = self._struct.type
        if name in type_.fields:
            return None
        if type_.inlining and name == type_.unboxed:
            return self
        if type_.box:
            return getattr(getattr(self, type_.box), name)
        raise AttributeError(name)

    @property
    def path(self) -> Path:
        """The path of the struct, as seen from the struct with the rule."""
        return Path(self._steps())

    def _steps(self) -> Iterable[str | int]:
        place, steps = self._place, []
        while place:
            place, step = place
            steps.append(step)
        return reversed(steps)

    def __truediv__(self, step: str | int) -> Path:
        """Return the path of a field."""
        box = self._struct.type.box
        around = (box,) if box and step not in self._struct.type.fields else ()
        return Path((*self._steps(), *around, step))

    def __contains__(self, name: str) -> bool:
        """Tell whether a field of this release was given and is not null."""
        box = self._struct.type.box
        if box and name not in self._struct.type.fields:
            return name in getattr(self, box)
        if (inlining := self._struct.type.inlining) and name == self._struct.type.unboxed:
            return inlining.present(self.content, self.release)
        return name in self._struct.fields and self._value is not None and self._value.get(name) is not None

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
        item = self._struct.fields[name].struct
        if item is not None and (box := item.type.box):
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
    target = struct.target
    facts = {"type": struct.type, "target": target, "release": target.release, "operation": target.operation}
    return type("View", (View,), {"__slots__": (), "_struct": struct, **facts, **fields})


def _reader(struct: CompiledStruct, name: str) -> Callable[[View], Any]:
    """Return the reader of a field."""
    see, default = struct.fields[name].view, struct.conditional.get(name)

    def read(view: Any) -> Any:
        value = view._value  # noqa: SLF001 - it is a part of the view
        return see(value.get(name) if value else None, (view._place, name))  # noqa: SLF001 - as above

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
    """A type compiled for one target; if all values lack the same inlined fields, these are only decoded."""

    def __init__(self, type_: type[Struct], target: Target, lacking: Inlining | None = None) -> None:
        self.type, self.target, self._lacking = type_, target, lacking
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
    def opaque(self) -> dict[str, Field]:
        """The declarations of the fields that are not judged."""
        has = self.target.has
        return {name: field for name, field in self.type.opaque.items() if has(field.since, field.until)}

    @cached_property
    def fields(self) -> dict[str, CompiledField]:
        """The fields by their names."""
        return {name: field.compile(self.target, *self.names) for name, field in self.stated.items()}

    @cached_property
    def conditional(self) -> dict[str, Default]:
        """The defaults that depend on other fields."""
        defaults = {name: self.target.pick(field.default) for name, field in self.stated.items()}
        return {name: default for name, default in defaults.items() if isinstance(default, Default)}

    @cached_property
    def positions(self) -> dict[str, int]:
        """The positions of the fields."""
        return {name: position for position, name in enumerate(self.fields)}

    @cached_property
    def gated(self) -> dict[str, list[str]]:
        """The feature gates that are off, by the names of the fields that need them."""
        target = self.target
        return {
            name: off
            for name, field in self.stated.items()
            if (off := [gate for gate in field.gates(target) if gate not in target.gates])
        }

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
        known: dict[str, Any] = {}
        for name, field in self.fields.items():
            each = field.canonical(value.get(name))
            if each is None and name in self.conditional:
                each = self.conditional[name].beside(known)
            if each is not None:
                known[name] = each
        known |= {name: value[name] for name in self.opaque if value.get(name)}
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
            field = struct.fields.get(step)
            steps = struct.spelling(step) if field else (step,)
            struct = field.struct if field else None
            if steps and steps[0].startswith(ROOT):
                spelled, steps = [], (steps[0].removeprefix(ROOT), *steps[1:])
            spelled += steps
        return Path(spelled)

    def spelling(self, name: str) -> tuple[str, ...]:
        """Return the API server's spelling of a field of this struct."""
        spelled, inlining = self.target.pick(self.type.fields[name].spelled), self.type.inlining
        if spelled is not None:
            return (spelled,) if spelled else ()
        is_inlined = inlining and name in inlining.of.fields and self.target.has(inlining.spelled_since, None)
        return (self.type.unboxed, name) if is_inlined else (name,)

    def _here(self, name: str) -> bool:
        """Tell whether the target's operation checks a field of a whole object; stored metadata is fine."""
        wanted = self.type.fields[name].subresource
        if self.target.stored and "kind" in self.stated and name == "metadata":
            return False
        return wanted is None or wanted == self.target.subresource

    def _recheck(self, name: str) -> Recheck | None:
        """Return when or how an update validates a field again; None for always, as if it were new."""
        if self.target.operation not in {UPDATE, UPDATE_STATUS}:
            return None
        when: Recheck | None = self.target.pick(self.type.fields[name].rechecked)
        return when

    def checks(self, name: str) -> bool:
        """Tell whether the target's operation checks a field regardless of its old value."""
        return self._here(name) and not self._recheck(name) and not (self._lacking and name in self._lacking.of.fields)

    @cached_property
    def rules(self) -> list[Declared]:
        """The rules about several fields that the target has."""
        besides = declared(self._lacking.of) if self._lacking else ()
        return [each for each in declared(self.type) if each.applies(self.target) and each not in besides]

    def walking(self, otherwise: Walk) -> Walk:
        """Make the walk through one value: the decoder's findings, then validation's in the rest.

        Args:
            otherwise: The findings in a value that is not a struct.
        """
        most_unknown, inlining = self.target.enough if self.target.strict else 0, self.type.inlining

        def walk(value: Any) -> Sequence[SchemaFinding]:
            if type(value) is not dict:
                return otherwise(value)
            if inlining and not self._lacking and not inlining.present(value, self.target.release):
                return self._without.walk(value)
            found: list[FieldFindings] = []
            for name, each in value.items():
                if (walk_field := self._walks.get(name)) is None:
                    if len(found) < most_unknown:
                        found.append((name, [unknown_field(name)]))
                elif findings := walk_field(each):
                    found.append((name, _under(findings, name)))
            found += [each for each in self.absent if each[0] not in value]
            if found:
                return self._concluded(value, found)
            find_several = self._several
            return NOTHING if find_several is None else find_several(value, None)

        return walk

    @cached_property
    def _without(self) -> CompiledStruct:
        """The same type for values that lack its inlined fields."""
        return CompiledStruct(self.type, self.target, self.type.inlining)

    def _within(self, name: str, walk: Walk) -> Walk:
        """Return the walk through a field, which Go may hold in embedded structs."""
        embedded = self.type.embedded.get(name, self.type.embedded.get(""))
        if not embedded or self.target.release < EMBEDDED_SINCE:
            return walk
        return lambda value: within(findings, embedded) if (findings := walk(value)) else NOTHING

    def _concluded(self, value: dict[str, Any], found: Sequence[FieldFindings]) -> Sequence[SchemaFinding]:
        """Order the findings in fields: misfits as submitted, problems as declared, findings of rules last."""
        misfits = [each for _, findings in found for each in findings if type(each) is Misfit]
        if (inlining := self.type.inlining) and misfits:
            gone = [each.path[0] for each in misfits if each.rule == GATE_OFF and len(each.path) == 1]
            kept = {name: each for name, each in value.items() if name not in gone}
            if not inlining.of.fields.keys().isdisjoint(gone) and not inlining.present(kept, self.target.release):
                misfits = [each._replace(leaves=inlining.hollow) for each in misfits]
        problems: dict[str, Sequence[Problem]] = {}
        for name, findings in found:
            if in_field := [each for each in findings if not isinstance(each, Misfit)]:
                problems[name] = in_field
        is_decoded = all(each.rule == GATE_OFF for each in misfits)
        of_rules = self._several(value, problems) if is_decoded and self._several else NOTHING
        in_fields = [each for name in (*self.fields, *self.opaque) for each in problems.get(name, ())]
        return [*misfits, *merged(in_fields, of_rules, self)]

    @cached_property
    def before(self) -> dict[str, str | None]:
        """Where the findings of rules about several fields come, by the rule's name; see :func:`check`."""
        return {each.name: each.before for each in self.rules}

    @cached_property
    def _walks(self) -> dict[str, Walk]:
        """The walks through fields."""
        walks: dict[str, Walk] = {}
        for name, field in self.fields.items():
            walk = field.walk
            if not self.checks(name):
                walk = walking_later(partial(self._compile, name, self.target.decoding))
            walk = self._within(name, walk)
            if "metadata" in self.stated and field.struct:
                walk = _recognizing(walk)
            walks[name] = _gated(walk, self.gated[name]) if name in self.gated else walk
        for name, opaque in self.opaque.items():
            # A webhook leaves them to the API server, which has validated them.
            later = walking_later(partial(opaque.compile, self.target, *self.names))
            walks.setdefault(name, self._within(name, later) if self.target.thorough else _ignored)
        return walks

    @cached_property
    def absent(self) -> list[FieldFindings]:
        """The findings for each absent field; computed on first use, as this may take long."""
        return [(name, _under(findings, name)) for name, walk in self._walks.items() if (findings := walk(None))]

    @cached_property
    def _several(self) -> Several | None:
        """Applies the rules about several fields, which may mute findings about single ones."""
        rules = [(rule, rule.members & self.fields.keys()) for rule in self.rules if not rule.compares]
        if not rules:
            return None

        def find(value: dict[str, Any], found: dict[str, Sequence[Problem]] | None) -> Sequence[Problem]:
            problems: Sequence[Problem] = NOTHING
            view = None
            for rule, members in rules:
                if rule.given and rule.given.isdisjoint(value):
                    continue
                if rule.members:
                    given = [name for name, each in value.items() if each is not None and name in members]
                    if len(given) == 1 and value[given[0]] != []:  # the rule decides whether an empty list counts
                        continue
                if view is None:
                    view = self.view(value)
                if of_rule := self._named(rule, rule.rule(view, given) if rule.members else rule.rule(view)):
                    problems = [*self._unmuted(problems, rule), *of_rule]
                    if found is not None:
                        found.update({name: self._unmuted(each, rule) for name, each in found.items()})
            return problems if found is not None or len(problems) <= 1 else merged((), problems, self)

        return find

    def _unmuted(self, problems: Sequence[Problem], rule: Declared) -> Sequence[Problem]:
        """Return findings, but those about the fields that a rule mutes if they are not of declarative rules."""
        for name in rule.mutes:
            field, _, inner = name.partition(".")
            problems = [
                each
                for each in problems
                if each.path[:1] != (field,)
                or (inner and not any(step == inner and not isinstance(step, Key) for step in each.path))
                or self.finds_declaratively(each)
            ]
        return problems

    def _named(self, rule: Declared, problems: Iterable[Problem]) -> list[Problem]:
        """Name findings after their rule, but for warnings with a name of their own."""
        found = islice(problems, self.target.enough)
        return [each if each.rule and each.level == WARNING else each.named(rule.name) for each in found]

    @cached_property
    def change(self) -> Change | None:
        """Returns the findings in a new and an old struct; None where there is nothing to find."""
        if self.target.operation == CREATE:
            return None
        fields = [
            (name, compare)
            for name, field in self.fields.items()
            if self._here(name) and (compare := self._field_changer(name, field))
        ]
        rules = [rule for rule in self.rules if rule.compares]
        if not fields and not rules:
            return None

        def change(new: dict[str, Any], old: dict[str, Any]) -> Sequence[Problem]:
            found: list[Problem] = []
            for name, change_field in fields:
                if problems := change_field(new.get(name), old.get(name)):
                    found += _under(problems, name)
            if rules:
                after, before = self.view(new), self.view(old)
                of_rules = [each for rule in rules for each in self._named(rule, rule.rule(after, before))]
                return merged(found, of_rules, self)
            return found

        return change

    def _field_changer(self, name: str, field: CompiledField) -> Change | None:
        """Make the comparison of a field, with its check if an update does not always validate it."""
        when, walk, is_pointer = self._recheck(name), field.walk, self.stated[name].pointer
        if not when:
            return field.change
        of_stored = self.target.but(stored=True)
        walk_stored = self._compile(name, of_stored).walk if when == STORED or callable(when) else None

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


# -- The findings in a value; those who read objects may keep parts of them, which are walked once


KEPT: Final[dict[int, tuple[object, set[int]]]] = {}
"""Parts that are kept, which must not change, by their ids; with the numbers of the walks that found nothing."""

_numbers: Final = count()


def _recognizing(walk: Walk) -> Walk:
    """Make the walk through a part of whole objects that knows kept values again in which it found nothing."""
    number = next(_numbers)

    def walk_new(value: Any) -> Sequence[SchemaFinding]:
        kept = KEPT.get(id(value))
        if kept and number in kept[1]:
            return NOTHING
        found = walk(value)
        if kept and not found:
            kept[1].add(number)
        return found

    return walk_new


def examined(struct: CompiledStruct, value: object) -> tuple[Sequence[Misfit], Sequence[Problem]]:
    """Return the findings in a value, from decoding and from validation."""
    found = struct.walk(value)
    return apart(found) if found else ((), ())


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


# -- Findings of declarative rules, and the order of findings


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
    compiled = struct.fields.get(name)
    return (compiled.struct if compiled else None), struct.stated.get(name)


Position = list[tuple[float, str]]

_LAST: Final = (inf, "")


def merged(
    found: Sequence[Problem],
    of_rules: Sequence[Problem],
    struct: CompiledStruct,
    before: Mapping[str, str | None] | None = None,
) -> Sequence[Problem]:
    """Return the findings in a struct in the API server's order.

    Args:
        found: The findings in fields, in their order.
        of_rules: The findings of rules about several fields, in the order of the rules.
        before: Where the findings of each rule come, by its name, if not as the struct has it; see
            :func:`webhook.schema.declarations.check`.
    """
    if not of_rules:
        return found
    before = struct.before if before is None else before
    fields = [(before.get(problem.rule), problem) for problem in of_rules]
    last = [problem for field, problem in fields if field is None]
    placed = [(_place(problem, struct, field), problem) for field, problem in fields if field is not None]
    if not placed:
        return [*found, *last]
    # Each comes before the first one in a later place; found ones keep their order, the walk's.
    reached = accumulate((_place(problem, struct) for problem in found), max)
    ordered = sorted([*zip(reached, found, strict=True), *placed], key=itemgetter(0))
    return [*(problem for _, problem in ordered), *last]


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
        struct = member(struct, step)[0] if struct else None
    yield place, struct


def _anchored(place: Position, struct: CompiledStruct | None, before: str | None) -> Position:
    """Return the sort key that comes just before a field of a struct, or of its box; empty if it has no such field."""
    if not before or not struct:
        return []
    if before in struct.positions:
        return [*place, (_position(struct, before) - 0.5, "")]
    box = struct.fields.get(struct.type.box)
    return _anchored([*place, (_position(struct, struct.type.box), "")], box.struct, before) if box else []


def _position(struct: CompiledStruct | None, name: str) -> float:
    return struct.positions.get(name, inf) if struct else inf


# -- Texts and numbers


class Scalar(Field):
    """A field that holds one value of a Python type, checked by formats or limits.

    Args:
        go: The Go type.
        converted: Whether the API server converts an empty value to an absent one, and shows it so.
    """

    python: type
    zero: Any
    fits_by_type: ClassVar[bool] = True
    """Whether a value of the Python type can always be decoded."""
    go: str = ""
    converted: bool | Mapping[int, bool] = False

    def type_name(self, package: str) -> str:
        """Name the Go type, with its package if it is not one of Go's own."""
        return f"{package}.{self.go}" if self.go[:1].isupper() else self.go

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile the closures for one target."""
        go_type = self.type_name(package)
        absent = None if self.pointer else self.zero
        release, is_pointer = target.release, self.pointer or target.pick(self.converted)

        def show(value: Any) -> Any:
            return of_own_type(value, release) if is_pointer and type(value) is str else value

        default = target.pick(self.default)
        default = None if isinstance(default, Default) else default  # the struct sets what depends on other fields
        canonical, view = _readers(absent, default)
        check = self.checker(target) if target.validates else None
        return CompiledField(
            walk=self._walk(self.decoder(owner, go_type), check),
            change=self._frozen(canonical, null(release) if is_pointer else self.zero, show),
            canonical=canonical,
            view=view,
            seen_as_is=default is None,
        )

    def _walk(self, decode: Decode, check: Check | None) -> Walk:
        if check is None:
            return decode if self.fits_by_type else lambda value: NOTHING if value is None else decode(value)
        plain = self.python if self.fits_by_type else None

        def walk(value: Any) -> Sequence[SchemaFinding]:
            if type(value) is plain or value is None:
                return check(value)
            return decode(value) or check(value)

        return walk

    def decoder(self, owner: str, go_type: str) -> Decode:
        """Make the JSON decoder's check of a non-null value; one that fits by its type is checked for null, too."""
        return _decoder(self.python, owner, go_type)

    def limits(self) -> dict[str, str]:
        """Describe the declared limits of the value."""
        return super().limits() | ({} if self.default is None else {"default": f"default {self.default}"})

    def checker(self, target: Target) -> Check | None:
        """Make the check of one value."""
        del target
        return self._presence() if self.required or self.empty else None

    def _presence(self) -> Check:
        needed, zero, empty = self.required, self.zero, self.empty
        missing = None if self.pointer else zero

        def check(value: Any) -> Sequence[Problem]:
            if needed and (value is None or value == missing):
                return (required(Path()),)
            return (invalid(Path(), value, empty).named(EMPTY),) if empty and value == zero else NOTHING

        return check


@lru_cache(maxsize=None, typed=True)  # most fields are alike: their closures would take a tenth of a server's memory
def _readers(absent: Any, default: Any) -> tuple[Callable[[Any], Any], Callable[[Any, Place], Any]]:
    """Make the closures that read a value: in the form for comparisons, and as rules see it."""

    def canonical(value: Any) -> Any:
        return default if value is None or value == absent else value

    def view(value: Any, _: Place) -> Any:
        if value is None or (value == absent and default is not None):
            return absent if default is None else default
        return value

    return canonical, view


@cache
def _decoder(plain: type, owner: str, go_type: str) -> Decode:
    """Make the decoder's check of values that need a Python type only."""
    return lambda value: NOTHING if type(value) is plain or value is None else wrong_type(value, owner, go_type)


class Text(Scalar):
    """A string.

    Args:
        format: The formats of the text: functions from text and release to errors.
        checked_by: A function of text and target that finds problems, where a format cannot: their reasons or the
            values they show differ.
        one_of: The values it may have, in the order in which the API server lists them.
        max_length: The most bytes it may have, reported as ``field.TooLongMaxLength``.
        max_bytes: The most bytes it may have, reported as ``field.TooLong``.
        max_characters: The most characters it may have.
        always: Whether an absent or empty text is checked like any other.
        required_if_given: Whether an empty text counts as missing; an absent one does not.
    """

    python = str
    zero = ""
    go = "string"
    checked_by: Callable[[str, Target], Iterable[Problem]] | None = None
    one_of: Sequence[str] | Mapping[int, Sequence[str]] = ()
    max_length: int | Mapping[int, int] | None = None
    max_bytes: int | None = None
    max_characters: int | None = None
    always: bool | Mapping[int, bool] = False
    required_if_given: bool = False

    def __init__(self, doc: str = "", *, format: Format | Sequence[Format] = (), **stated: Any) -> None:  # noqa: A002 - Kubernetes' own word
        super().__init__(doc, **stated)
        self.formats = (format,) if callable(format) else tuple(format)

    def states(self, problem: Problem) -> bool:
        """Tell whether the text's declared rules can find a problem: limits in bytes are handwritten."""
        return self.max_bytes is None or problem.reason != TOO_LONG

    def limits(self) -> dict[str, str]:
        """Describe the declared limits of the text."""
        found = Field.limits(self)
        if most := self.max_length or self.max_bytes:
            found["max-length"] = f"{most} bytes at most"
        found |= {name_of(test): name_of(test) for test in (*self.formats, self.checked_by) if test}
        if self.one_of:
            found["enum"] = f"one of {', '.join(map(str, self.one_of))}"
        return found | super().limits()

    def checker(self, target: Target) -> Check | None:
        """Make the check of one text."""
        tests = list(self.tests(target))
        if not tests:
            return super().checker(target)
        needed, always, empty = self.required or self.required_if_given, target.pick(self.always), self.empty
        # The results for an absent and an empty text: no findings, or those of the tests.
        has_default = target.pick(self.default) is not None
        fine_if_absent = has_default or self.required_if_given or not (needed or always)
        fine_if_empty = not self.pointer and (has_default or not (needed or always))

        def check(value: str | None) -> Sequence[Problem]:
            if not value:
                if fine_if_absent if value is None else fine_if_empty:
                    return NOTHING
                if empty and value is not None:
                    return (invalid(Path(), value, empty).named(EMPTY),)
                if needed and not always:
                    return (required(Path()),)
            text = value or ""
            found: Sequence[Problem] = (required(Path()),) if needed and not text else NOTHING
            for test in tests:
                if problems := test(text):
                    found = (*found, *problems)
            return found

        return check

    def tests(self, target: Target) -> Iterator[Callable[[str], Sequence[Problem]]]:
        """Make the tests of a present text."""
        release, one_of, in_bytes = target.release, target.pick(self.one_of), self.max_bytes is not None
        if limit := target.pick(self.max_length) or self.max_bytes:
            yield (
                lambda text: (too_long(Path(), limit, release, in_bytes=in_bytes),) if exceeds(text, limit) else NOTHING
            )
        if most := self.max_characters:
            yield lambda text: (too_many_characters(Path(), most),) if len(text) > most else NOTHING
        for test in self.formats:
            yield _format_test(test, release)
        if self.checked_by:
            yield _problem_test(self.checked_by, target)
        if one_of:
            yield lambda text: NOTHING if text in one_of else (not_supported(Path(), text, one_of, release),)


def _format_test(format_: Format, release: Release) -> Callable[[str], Sequence[Problem]]:
    rule = name_of(format_)

    def test(text: str) -> Sequence[Problem]:
        faults = format_(text, release)
        return [each.named(rule) for each in malformed(Path(), text, faults)] if faults else NOTHING

    return test


def _problem_test(
    checked_by: Callable[[str, Target], Iterable[Problem]], target: Target
) -> Callable[[str], Sequence[Problem]]:
    rule = name_of(checked_by)

    def test(text: str) -> Sequence[Problem]:
        if not (problems := checked_by(text, target)):
            return NOTHING
        return [problem if problem.rule else problem.named(rule) for problem in islice(problems, target.enough)]

    return test


class Int(Scalar):
    """A whole number.

    Args:
        minimum: The smallest value, and the API server's message otherwise.
        maximum: The largest value, likewise.
    """

    python = int
    zero = 0
    fits_by_type = False
    go = "int64"
    minimum: tuple[int, str] | None = None
    maximum: tuple[int, str] | None = None

    @property
    def bits(self) -> int:
        """How many bits the Go type has."""
        return int(self.go.removeprefix("int"))

    def limits(self) -> dict[str, str]:
        """Describe the declared limits of the number."""
        found = {"minimum": f"{self.minimum[0]} at least"} if self.minimum else {}
        found |= {"maximum": f"{self.maximum[0]} at most"} if self.maximum else {}
        return found | super().limits()

    def decoder(self, owner: str, go_type: str) -> Decode:
        """Make the JSON decoder's check of a non-null value."""
        top = 1 << (self.bits - 1)

        def decode(value: object) -> Sequence[Misfit]:
            if type(value) is int and -top <= value < top:
                return NOTHING
            return wrong_type(value, owner, go_type, _number(value))

        return decode

    def checker(self, target: Target) -> Check | None:
        """Make the check of one number."""
        if self.minimum is None and self.maximum is None:
            return super().checker(target)
        least, too_small = self.minimum or (-inf, "")
        most, too_great = self.maximum or (inf, "")
        needed, pointer, zero_is_missing = self.required, self.pointer, self.required and not self.pointer

        def check(value: int | None) -> Sequence[Problem]:
            if needed and (value is None or (zero_is_missing and not value)):
                return (required(Path()),)
            if value is None and pointer:
                return NOTHING
            number = value or 0
            if number < least:
                return (invalid(Path(), number, too_small).named("minimum"),)
            return (invalid(Path(), number, too_great).named("maximum"),) if number > most else NOTHING

        return check


def _number(value: object) -> str:
    """Describe a number that an integer type cannot hold, as Go's decoder does; empty for other values."""
    return f"number {value!r}" if type(value) in {int, float} else ""


class Bool(Scalar):
    """True or false."""

    python = bool
    zero = False
    go = "bool"

    def limits(self) -> dict[str, str]:
        """Describe the declared limits; false is the empty value."""
        return super().limits() | ({"empty": "unset or true"} if self.empty else {})


@cache
def _remembering(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a function that remembers what short texts represent: an object is decoded, compared and read by rules."""
    known = lru_cache(maxsize=512)(parse)
    return lambda value: known(value) if type(value) is str and len(value) <= _SHORT else parse(value)


_SHORT: Final = 32
"""The most characters of a quantity or time that is remembered."""


class Parsed(Scalar):
    """A text that represents another value, such as a quantity or a time, and is compared by that value.

    Args:
        parse: Reads the submitted JSON value; raises ValueError with the API server's text, TypeError if the value
            should be a text.
        go: The Go type.
        rule: The rule of unparsable texts.
        write: Writes a value as the API server does; None if it writes the text as submitted.
        reads: The Go type that the type's own decoder reads, if the value is not a text.
        is_seen: Whether rules see the other value, not the text.
    """

    python = str
    zero = ""
    fits_by_type = False
    rule: str
    write: Callable[[Any], str] | None = None
    reads: str = "string"
    is_seen: bool = False

    def __init__(self, parse: Callable[[Any], Any], doc: str = "", *, rule: str, **stated: Any) -> None:
        super().__init__(doc, **stated)
        self.parse, self.rule = _remembering(parse), rule

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile the closures for one target."""
        parse, pointer = self.parse, self.pointer

        def canonical(value: Any) -> Any:
            return None if value is None else parse(value)

        def view(value: Any, place: Place) -> Any:
            text = compiled.view(value, place)
            return None if text is None and pointer else parse(text or None)

        compiled = super().compile(target, owner, package)
        compiled = compiled._replace(canonical=canonical, change=self._frozen(canonical))
        return compiled._replace(view=view, seen_as_is=False) if self.is_seen else compiled

    def decoder(self, owner: str, go_type: str) -> Decode:
        """Make the JSON decoder's check of a non-null value."""
        del go_type
        parse, rule, reads = self.parse, self.rule, self.reads

        def decode(value: object) -> Sequence[Misfit]:
            try:
                parse(value)
            except TypeError:
                got = "" if reads == "string" else _number(value)
                return tuple(each._replace(ends=True) for each in wrong_type(value, owner, reads, got))
            except ValueError as error:
                return unparsable(str(error), rule)
            return NOTHING

        return decode


class Anything(Field):
    """Any JSON value, such as a driver's own parameters."""

    is_object = False
    """Whether it must be an object."""

    def type_name(self, package: str) -> str:
        """Name Go's type for raw JSON."""
        del package
        return "runtime.RawExtension"

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile closures that find nothing."""
        del target, owner, package
        return CompiledField(
            walk=_ignored,
            change=self._frozen(lambda value: value),
            canonical=lambda value: value,
            view=lambda value, _: value,
        )


# -- Lists and maps


DUPLICATE_AT_ITEM_SINCE = 35
"""From Kubernetes 1.35 a repeated item is reported at ``list[i]``, before at ``list[i].key``."""
SIZE_ENDS_LIST_SINCE = 35
"""From Kubernetes 1.35 the size error of a list is its only one."""
BAD_KEY_HAS_KEY = {31: False, 32: True, 36: False}
"""Whether an invalid key is reported at ``map[key]``, not at ``map``."""
LONG_KEY_CUT_SINCE = 32
"""From Kubernetes 1.32 a long key is shortened in paths."""


_EMPTY: Mapping[str, Any] = {}
_HALF = Pattern(r"[\udc80-\udcff]")
_OWN_REASONS = frozenset({TOO_LONG, TOO_MANY, DUPLICATE})


class Many(Field):
    """Values of one kind: a list or a map.

    Args:
        item: The field that each value is.
        max_items: The most values it may have.
    """

    max_items: int | Mapping[int, int] | None = None

    def __init__(self, item: Field, doc: str = "", **stated: Any) -> None:
        super().__init__(doc, **stated)
        self.item = item

    @property
    def struct(self) -> type[Struct] | None:
        """The struct that it holds."""
        return self.item.struct

    def limits(self) -> dict[str, str]:
        """Describe the declared limits of the list or map."""
        return super().limits() | ({"max-items": f"{self.max_items} items at most"} if self.max_items else {})

    def limit(self, target: Target) -> int:
        """Return the most values it may have."""
        return (target.pick(self.max_items) if target.validates else None) or sys.maxsize


class Array(Many):
    """A list.

    Args:
        item: The field that each item is.
        unique: The item's field that may not repeat, or ``""`` where whole items may not.
        at_item: Whether a repeated key is reported at the item; if not, at its key, before the item's other findings.
            None if the place depends on the release, after the findings in all items.
        skips_repeated: Whether a repeated item is not checked any further.
        size_ends_list: Whether a list that is too long is not checked any further, in releases that stop there.
        required_detail: The API server's message for an empty list, if ``required``.
        list_type: How server-side apply merges it (``+listType``): ``atomic`` as a whole, or ``set``.
        list_map_keys: The fields of an item by which it is merged instead, as a map (``+listMapKey``).
        alone: The field that has one value in place of the list.
    """

    unique: str | None = None
    at_item: bool | None = None
    skips_repeated: bool | Mapping[int, bool] = False
    size_ends_list: bool = True
    required_detail: str = ""
    list_type: str = "atomic"
    list_map_keys: Sequence[str] = ()
    alone: str = ""

    def states(self, problem: Problem) -> bool:
        """Tell whether the list's own rules can find a problem: its size, repeated items."""
        return problem.reason in _OWN_REASONS

    def type_name(self, package: str) -> str:
        """Name the Go slice."""
        return f"[]{self.item.type_name(package)}"

    def limits(self) -> dict[str, str]:
        """Describe the declared limits of the list."""
        return super().limits() | ({} if self.unique is None else {"duplicate": f"unique {self.unique or 'items'}"})

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile the closures for one target."""
        item = self.item.stated(target).compile(target, owner, package)

        def canonical(value: Any) -> Any:
            return [item.canonical(each) for each in value] if value else None

        def view(value: Any, place: Place) -> Any:
            if item.seen_as_is and (not value or None not in value):
                return value or []
            return [item.view(each, (place, index)) for index, each in enumerate(value or ())]

        change = self._frozen(canonical) or self._changer(item)
        return CompiledField(self._walk(item, target, owner, package), change, canonical, view, struct=item.struct)

    def _walk(self, item: CompiledField, target: Target, owner: str, package: str) -> Walk:
        go_type, release, enough = self.type_name(package), target.release, target.enough
        walk_item = item.walk
        decode_item = walking_later(partial(self.item.compile, target.decoding, owner, package))
        validates = target.validates
        absent: Sequence[Problem] = (
            (required(Path(), self.required_detail),) if validates and self.required else NOTHING
        )
        empty = (invalid(Path(), [], self.empty).named(EMPTY),) if validates and self.empty else absent
        limit = self.limit(target)
        goes_on = target.declarative and not self.declarative
        size_ends_list, find_repeated = self.size_ends_list and release >= SIZE_ENDS_LIST_SINCE, self._repeated(target)

        def walk(value: Any) -> Sequence[SchemaFinding]:
            if type(value) is not list:
                return absent if value is None else wrong_type(value, owner, go_type, advice=self._advice(value, item))
            if not value:
                return empty
            is_long = len(value) > limit
            found: list[SchemaFinding] = [too_many(Path(), len(value), limit, release)] if is_long else []
            ends, items = is_long and size_ends_list, enumerate(value)
            walk_each = (_walk_declarative(item) if goes_on else decode_item) if ends else walk_item
            for index, each in items:
                if findings := walk_each(each):
                    found += _under(findings, index)
                    if len(found) >= enough:
                        found += _misfits(items, decode_item)
                        break
            return found if find_repeated is None or ends or len(value) == 1 else find_repeated(value, found)

        return walk

    def _advice(self, value: object, item: CompiledField) -> Advice | None:
        """Advise how a value becomes the list, if it cannot be an item itself; None if it can."""
        struct, hint = item.struct, WRITE_LIST
        if self.alone and not isinstance(value, dict):
            return Advice(f"one value is written as {self.alone}", Fix("rename", self.alone, safe=False))
        if not isinstance(value, dict):
            return Advice(hint) if struct is not None and type(value) not in struct.type.shorthand else None
        if struct is None:
            return Advice(hint)
        if any(key in struct.fields for key in value):
            return None
        key = next(iter(self.list_map_keys), self.unique or "")
        is_by_key = bool(value) and all(each is None or isinstance(each, dict) for each in value.values())
        if not key or not is_by_key:
            return Advice(hint)
        return Advice(
            InYaml(
                f"write a list: `- {key}: …` in place of `…:`",
                json=f'write an array: [{{"{key}": …}}] in place of {{…: …}}',
            ),
            Fix("list", key),
        )

    def _repeated(self, target: Target) -> Callable[[list[Any], list[SchemaFinding]], list[SchemaFinding]] | None:
        """Make the closure that adds findings of repeated items to the findings so far."""
        if (unique := self.unique) is None or not target.validates:
            return None
        at_item = target.release >= DUPLICATE_AT_ITEM_SINCE if self.at_item is None else self.at_item
        shows_item, enough, skips = self.declarative, target.enough, target.pick(self.skips_repeated)

        def find(value: list[Any], found: list[SchemaFinding]) -> list[SchemaFinding]:
            if found and refuses(found):
                return found
            keys = [(each or _EMPTY).get(unique) or "" for each in value] if unique else [each or "" for each in value]
            if len(set(keys)) == len(keys):
                return found
            below = () if at_item or not unique else (unique,)
            others = {
                index: duplicate(Path((index, *below)), value[index] if shows_item else key)
                for index, key in islice(repeated(keys), enough)
            }
            if self.at_item is False:
                return sorted([*others.values(), *found], key=lambda each: each.path[:1])
            if skips:
                found = [each for each in found if type(each) is Misfit or not each.path or each.path[0] not in others]
            return [*found, *others.values()]

        return find

    def _changer(self, item: CompiledField) -> Change | None:
        """Validate the parts that an update validates only if changed; items are matched by their key."""
        change_item, unique = item.change, self.unique
        if not unique or change_item is None or item.struct is None or not item.struct.rechecks:
            return None

        def change(new: Any, old: Any) -> Sequence[Problem]:
            before = {each.get(unique): each for each in reversed(old or ()) if each}
            found: list[Problem] = []
            for index, each in enumerate(new or ()):
                if problems := change_item(each, before.get((each or {}).get(unique))):
                    found += _under(problems, index)
            return found

        return change


def _walk_declarative(item: CompiledField) -> Walk:
    """Return the walk for the items of a list that only the handwritten rules find too long."""
    walk_item, struct = item.walk, item.struct

    def walk(value: Any) -> Sequence[SchemaFinding]:
        found = walk_item(value)
        return [each for each in found if isinstance(each, Misfit) or (struct and struct.finds_declaratively(each))]

    return walk


def _misfits(items: Iterable[tuple[str | int, Any]], decode: Walk) -> Iterator[Misfit]:
    """Continue decoding after enough findings: dropped fields and refusals must still be known."""
    for step, value in items:
        misfits = [each for each in apart(decode(value))[0] if each.rule != UNKNOWN_FIELD]
        yield from _under(misfits, step if isinstance(step, int) else Key(step))
        if refuses(misfits):
            return


class Map(Many):
    """A map from strings to values of one kind.

    Args:
        item: The field that each value is.
        key: The field that each key is, if keys are checked.
        key_bytes: The bytes of a key that error paths show.
        key_go: The Go type of the keys.
        is_atomic: Whether server-side apply replaces it as a whole (``+mapType=atomic``).
    """

    key: Field | None = None
    key_bytes: int = 0
    key_go: str = "string"
    is_atomic: bool = False

    def type_name(self, package: str) -> str:
        """Name the Go map."""
        key = f"{package}.{self.key_go}" if self.key_go[:1].isupper() else self.key_go
        return f"map[{key}]{self.item.type_name(package)}"

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile the closures for one target."""
        item = self.item.stated(target).compile(target, owner, package)

        def canonical(value: Any) -> Any:
            return {name: item.canonical(each) for name, each in value.items()} if value else None

        def view(value: Any, place: Place) -> Any:
            if item.seen_as_is and (not value or None not in value.values()):
                return value or {}
            return {name: item.view(each, (place, Key(name))) for name, each in (value or {}).items()}

        walk = self._walk(item, target, owner, package)
        return CompiledField(walk, self._frozen(canonical), canonical, view, struct=item.struct)

    def _walk(self, item: CompiledField, target: Target, owner: str, package: str) -> Walk:
        go_type, release, enough = self.type_name(package), target.release, target.enough
        walk_item = item.walk
        decode_item = walking_later(partial(self.item.compile, target.decoding, owner, package))
        limit = self.limit(target)
        absent = (required(Path()),) if self.required and target.validates else NOTHING
        walk_key = self.key.stated(target).compile(target, owner, package).walk if self.key else None
        key_bytes = self.key_bytes if release >= LONG_KEY_CUT_SINCE else 0
        at_key = target.pick(BAD_KEY_HAS_KEY)

        def walk(value: Any) -> Sequence[SchemaFinding]:
            if type(value) is not dict:
                return absent if value is None else wrong_type(value, owner, go_type, advice=WRITE_MAP)
            if not value:
                return absent
            found: list[SchemaFinding] = []
            walk_name, walk_each, items = walk_key, walk_item, iter(value.items())
            if len(value) > limit:
                found.append(too_many(Path(), len(value), limit, release))
                walk_name, walk_each = None, decode_item
            for name, each in items:
                of_key = walk_name(name) if walk_name is not None else NOTHING
                of_item = walk_each(each)
                if of_key or of_item:
                    shown = (_cut(name, key_bytes),)
                    found += _below(of_key, name, shown if at_key else ())
                    found += _below(of_item, name, shown)
                    if len(found) >= enough:
                        found += _misfits(items, decode_item)
                        break
            return found

        return walk


def _below(findings: Iterable[SchemaFinding], key: str, shown: Sequence[str]) -> list[SchemaFinding]:
    steps = (Key(key),)  # which all findings share, as it may be long
    return [finding.below(steps, shown) for finding in findings]


def _cut(key: str, limit: int) -> Key:
    """Shorten a key in the middle, as ``truncateIfTooLong`` does."""
    text = key.encode("utf-8", "surrogatepass")
    if not limit or len(text) <= limit:
        return Key(key)
    left = limit - len("...")
    cut = text[: (left + 1) // 2] + b"..." + text[len(text) - left // 2 :]
    # Go replaces each byte of a character that was cut apart, Python all of them at once.
    return Key(_HALF.sub("\ufffd", cut.decode("utf-8", "surrogateescape")))


# -- Structs


_NAMED: Final = 4
"""How many fields of a struct a hint names."""
_LONGEST_SHOWN: Final = 40
"""The most characters of a value that a hint repeats."""
_PLAIN: Final = Pattern(
    r"(?!(?:y|n|yes|no|on|off|true|false|null)\Z)[a-z][\w./-]*|[0-9]+(?:\.[0-9]+){2}[\w.+-]*|[0-9.]+[kmgtpe]i?",
    re.IGNORECASE,
)
"""Matches a word, a version or an amount, which YAML reads as text without quotes."""


class Nested(Field):
    """A struct.

    Args:
        type_: The struct's class; or a function that returns one that is not judged, which is made on first use.
        doc: The meaning of the field; if it is not stated, that of the class.
        required_detail: The API server's message if it is missing.
    """

    required_detail: str = ""

    def __init__(self, type_: type[Struct] | Callable[[], type[Struct]], doc: str = "", **stated: Any) -> None:
        super().__init__(doc or (type_.__doc__ or "").partition("\n")[0], **stated)
        self._type = type_

    @property
    def struct(self) -> type[Struct]:
        """The struct that it holds."""
        return self.type

    @cached_property
    def type(self) -> type[Struct]:
        """The struct's class."""
        return self._type if isinstance(self._type, type) else self._type()

    def states(self, problem: Problem) -> bool:
        """Tell whether a rule at the struct can find a problem: that it changes, or how many of its fields are set."""
        return problem.reason == "FieldValueInvalid"

    def type_name(self, package: str) -> str:
        """Name the Go struct with its package."""
        return f"{self.type.package or package}.{self.type.go_name or self.type.__name__}"

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile the closures for one target."""
        struct, go_type = compile_struct(self.type, target), self.type_name(package)
        pointer, changed = self.pointer, struct.change
        needed = pointer and self.required and target.validates
        missing = (required(Path(), self.required_detail),) if needed else NOTHING

        def walk_no_struct(value: Any) -> Sequence[SchemaFinding]:
            if value is None:
                return missing if pointer else struct.walk({})
            choices = [(steps, *_wrapped(struct, steps, value)) for steps in self.type.shorthand.get(type(value), ())]
            is_clear = len(set(self.type.shorthand.values())) == 1
            some = ", ".join([*islice(struct.fields, _NAMED), *(["…"] if len(struct.fields) > _NAMED else [])])
            otherwise = choices[-1] if choices else ("", f", with {some}", False)
            meant, what, is_right = next((each for each in choices if each[2]), otherwise)
            fix = Fix("wrap", meant, safe=is_clear) if is_right else None
            hint = InYaml(f"write a map{what}", json=f"write an object{what}")
            return wrong_type(value, owner, go_type, advice=Advice(hint, fix))

        def canonical(value: Any) -> Any:
            if value is None:
                return None
            return struct.canonical(value) or ({} if pointer else None)

        def change(new: Any, old: Any) -> Sequence[Problem]:
            if self.immutable and new != old and canonical(new) != canonical(old):
                shown = None if self.declarative else new if pointer else new or {}
                return (invalid(Path(), shown, IMMUTABLE_FIELD).named(IMMUTABLE),)
            if changed is None or (pointer and (new is None or (old is None and not struct.rechecks))):
                return NOTHING
            return changed(new or {}, old or {})

        def view(value: Any, place: Place) -> View:
            return struct.view(value, place)

        compared = change if self.immutable or changed else None
        return CompiledField(struct.walking(walk_no_struct), compared, canonical, view, struct=struct)


def _wrapped(struct: CompiledStruct, steps: str, value: object) -> tuple[str, bool]:
    """Show the map that holds a value below some fields, such as ``: {cel: {expression: …}}``.

    Returns:
        The text, and whether the value is right there, if only once its unit is corrected.
    """
    wrapped, near, is_right = value, "", True
    for step in reversed(steps.split(".")):
        wrapped = {step: wrapped}
    if found := struct.walk(wrapped):
        near, is_right = near_quantity(str(value)) if found[0].rule == "quantity" else ("", False)
    shown = near or (_in_braces(value) if is_right else "…")
    for step in reversed(steps.split(".")):
        shown = f"{{{step}: {shown}}}"
    return f": {shown}" + ("" if near or is_right else f', with another value than "{clipped(str(value))}"'), is_right


def _in_braces(value: object) -> str:
    """Write a value as YAML has it between braces: a text in quotes, unless it is plainly one; … for a long one."""
    shown = str(value).lower() if not isinstance(value, str) else value if _PLAIN.fullmatch(value) else quoted(value)
    return shown if len(shown) <= _LONGEST_SHOWN else "…"
