"""API types compiled for one target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

from webhook.later import cached_property
from webhook.problem import ERROR, Key, Path, Problem
from webhook.schema.declarations import Declared, Struct, declared
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
from webhook.schema.fields import (
    ITSELF,
    NEW,
    NOTHING,
    STORED,
    Change,
    CompiledField,
    Default,
    Field,
    Recheck,
    Spelled,
    StructFields,
    Walk,
    decoding_later,
)
from webhook.schema.target import CREATE, UPDATE, UPDATE_STATUS, Target
from webhook.schema.view import View, view_of

FieldFindings = tuple[str, Sequence[SchemaFinding]]

Several = Callable[[dict[str, Any], dict[str, Sequence[Problem]] | None], Sequence[Problem]]

ROOT = "/"
"""The first character of the spelling of a field that the API server reports as one of the whole object."""


class CompiledStruct:
    """A type compiled for one target."""

    def __init__(self, type_: type[Struct], target: Target) -> None:
        self.type, self.target = type_, target
        self.names = type_.go_name or type_.__name__, type_.package or target.version
        self._opaque: dict[str, Walk] = {}

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
        for inner in self._inner():
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
        for inner in self._inner():
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
        from webhook.schema.tagged import is_declarative  # needed only for findings

        return self.target.declarative and problem.level == ERROR and is_declarative(problem, self)

    def spell(self, path: Path) -> Path:
        """Return a path as the API server spells it; names of unknown fields stay."""
        spelled: list[str | int] = []
        struct: StructFields | None = self
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

    def walking(self, otherwise: Walk) -> Walk:  # noqa: C901 - calls take longer than what they do
        """Make the walk through one value: the decoder's findings, then validation's in the rest.

        Args:
            otherwise: The findings in a value that is not a struct.
        """
        decode = self._decode_opaque if self.target.thorough else None
        opaque = self.type.opaque
        most_unknown = self.target.enough if self.target.strict else 0

        def walk(value: Any) -> Sequence[SchemaFinding]:
            if type(value) is not dict:
                return otherwise(value)
            walks, inlined = self._walks
            found: list[FieldFindings] = []
            for name, each in value.items():
                if (walk_field := walks.get(name)) is None:
                    if name not in opaque:
                        if len(found) < most_unknown:
                            found.append((name, [unknown_field(name, (*walks, *opaque))]))
                    elif decode is not None and (findings := decode(name, each)):
                        found.append((name, under(findings, name)))
                    continue
                if findings := walk_field(each):
                    found.append((name, under(findings, name)))
            found += [each for each in self.absent if each[0] not in value]
            if inlined:
                found += [(name, findings) for name, walk_all in inlined if (findings := walk_all(value))]
            if found:
                return self._concluded(value, found)
            find_several = self._several
            return NOTHING if find_several is None else find_several(value, None)

        return walk

    def _decode_opaque(self, name: str, value: Any) -> Sequence[SchemaFinding]:
        """Decode and judge a field that is opaque to webhooks; its type is compiled on first use."""
        if (walk := self._opaque.get(name)) is None:
            walk = self.type.opaque[name].compile(self.target, *self.names).walk
            walk = self._opaque[name] = self._within(name, walk)
        return walk(value)

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
        from webhook.schema.order import merged  # needed only for findings

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
                walk = decoding_later(partial(self._compile, name, self.target.decoding))
            walk = self._within(name, walk)
            if name in self.inline:
                inlined.append((name, walk))
            else:
                walks[name] = _gated(walk, self.gated[name]) if name in self.gated else walk
        return walks | dict.fromkeys(self.wire.keys() - walks.keys(), lambda _: NOTHING), inlined

    def _inner(self) -> list[StructFields]:
        """List the structs that are inlined."""
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
        """Leave out findings in fields, but not those of declarative rules."""
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
        return self.stated[name].compile(target, *self.names)


def compile_struct(type_: type[Struct], target: Target) -> CompiledStruct:
    """Compile a type for one target; results are cached."""
    wanted = target.replaced.get(type_, type_)
    if (struct := target.compiled.get(wanted)) is None:
        struct = target.compiled[wanted] = CompiledStruct(wanted, target)
    return struct


def _gated(walk: Walk, gates: Iterable[str]) -> Walk:
    """Return the walk through a field that is dropped."""

    def walk_gated(value: Any) -> Sequence[SchemaFinding]:
        findings = walk(value)
        return findings if value is None else [*findings, gated_field(gates)]

    return walk_gated


def _no_struct(value: object) -> Sequence[SchemaFinding]:
    raise TypeError(value)
