"""API types compiled for one target: closures that judge a document as it was submitted."""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from webhook.problem import Path, Problem
from webhook.schema.declarations import Declared, Struct, declared
from webhook.schema.decoding import Misfit, gated_field, unknown_field
from webhook.schema.fields import NEW, NO_PROBLEMS, STORED, Default
from webhook.schema.fine import fine_struct
from webhook.schema.target import UPDATE, UPDATE_STATUS
from webhook.schema.view import view_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from webhook.schema.fields import Change, Check, Compiled
    from webhook.schema.target import Target
    from webhook.schema.view import View

    Spelled = tuple[tuple[str, ...], "CompiledStruct | None"]
    Found = tuple[int, Sequence[Problem]]
    FieldChecks = tuple[list[tuple[int, str, Check]], dict[str, tuple[int, Check]]]

ROOT = "/"
"""Starts the spelling of a field that the API server reports as if it sat in the object itself."""


class CompiledStruct:
    """A type compiled for one target; ``check`` and ``change`` are None where there is nothing to find."""

    def __init__(self, type_: type[Struct], target: Target) -> None:
        self.type, self.target = type_, target
        self._names = owner, package = type_.go_name or type_.__name__, type_.package or target.version
        known = {
            name: field.stated(target) for name, field in type_.fields.items() if target.has(field.since, field.until)
        }
        self.stated = known
        self.fields: dict[str, Compiled] = {
            name: field.compile(target, owner, package) for name, field in known.items()
        }
        self.inline = frozenset(name for name, field in known.items() if field.inline)
        self.conditional: dict[str, Default] = {
            name: default
            for name, field in known.items()
            if isinstance(default := target.pick(getattr(field, "default", None)), Default)
        }
        self.wire: dict[str, Compiled] = {name: field for name, field in self.fields.items() if not known[name].inline}
        self.gated = {
            name: off
            for name, field in known.items()
            if (off := [gate for gate in field.gates(target) if gate not in target.gates])
        }
        for name in self.inline:
            inner = self.fields[name].struct
            if inner:
                self.wire |= inner.wire
                self.gated |= inner.gated
        self._plain = {name: field.plain for name, field in self.wire.items() if field.plain and name not in self.gated}
        self.check = self._checker()
        self.change = self._changer()
        self.fine = fine_struct(self)
        self.rechecks: bool = any(
            self._recheck(name) or (field.struct is not None and field.struct.rechecks)
            for name, field in self.fields.items()
        )

    def decode(self, value: dict[str, Any]) -> Sequence[Misfit]:
        """Find what the JSON decoder refuses, and what is dropped because its feature gate is off."""
        found: list[Misfit] = []
        plain, wire = self._plain, self.wire
        for name, each in value.items():
            if type(each) is plain.get(name):
                continue
            if (field := wire.get(name)) is not None:
                if each is not None and type(each) is not field.plain and (misfits := field.decode(each)):
                    found += [misfit.under(name) for misfit in misfits]
                if name in self.gated and each not in (None, [], {}, ""):
                    found.append(gated_field(name, self.gated[name]))
            elif name not in self.type.opaque and len(found) < self.target.enough:
                found.append(unknown_field(name, (*wire, *self.type.opaque)))
        return found

    @cached_property
    def view(self) -> type[View]:
        """The view that rules have of a value; made for who asks rules."""
        return view_of(self)

    def canonical(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the value as old and new are compared: defaults set, zero values left out."""
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

    def spell(self, path: Path) -> Path:
        """Return a path as the API server spells it; what is no field's name stays."""
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
        """Return how the API server spells a field that is submitted in this struct, and the struct that it holds."""
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
        """Tell whether the target's operation looks at a field of a whole object."""
        wanted = self.type.fields[name].subresource
        return wanted is None or wanted == self.target.subresource

    def _recheck(self, name: str) -> str | None:
        """Tell when or how an update validates a field again; None for always, and as if it were new."""
        if self.target.operation not in {UPDATE, UPDATE_STATUS}:
            return None
        when: str | None = self.target.pick(self.type.fields[name].rechecked)
        return when

    def checks(self, name: str) -> bool:
        """Tell whether the target's operation checks a field without asking what it was before."""
        return self._here(name) and not self._recheck(name)

    def rules(self, kind: str) -> list[Declared]:
        """List the rules of one kind that the target has."""
        return [each for each in declared(self.type, kind) if each.applies(self.target)]

    def _checker(self) -> Check | None:
        """Make the check of one value; fields whose absence is fine are looked at only where they are given."""
        absent, given = self._field_checks()
        several = self._several()
        if not absent and not given and not several:
            return None

        def check(value: dict[str, Any]) -> Sequence[Problem]:
            found: list[Found] = []
            for order, name, check_field in absent:
                if problems := check_field(value.get(name)):
                    found.append((order, [problem.under(name) for problem in problems]))
            for name, each in value.items():
                if (known := given.get(name)) is not None and (problems := known[1](each)):
                    found.append((known[0], [problem.under(name) for problem in problems]))
            if several is not None:
                found = several(value, found)
            if not found:
                return NO_PROBLEMS
            found.sort(key=_order)
            return [problem for _, problems in found for problem in problems]

        return check

    def _field_checks(self) -> FieldChecks:
        """Sort the checks of fields by whether they see an absent value, or only a given one."""
        absent: list[tuple[int, str, Check]] = []
        given: dict[str, tuple[int, Check]] = {}
        for order, (name, field) in enumerate(self.fields.items()):
            if field.check is None or name in self.inline or not self.checks(name):
                continue
            if self.stated[name].sees_absent(self.target):
                absent.append((order, name, field.check))
            else:
                given[name] = order, field.check
        return absent, given

    def _several(self) -> Callable[[dict[str, Any], list[Found]], list[Found]] | None:
        """Make the check of what is about several fields, and may take findings about single ones away."""
        unions, rules, names = self.rules("unions"), self.rules("checks"), list(self.fields)
        inlined = self._inlined_checks()
        muted = [{names.index(name) for name in rule.mutes if name in self.fields} for rule in rules]
        last = len(names)
        if not unions and not rules and not inlined:
            return None

        def check(value: dict[str, Any], found: list[Found]) -> list[Found]:
            for order, check_all in inlined:
                if problems := check_all(value):
                    found.append((order, problems))
            for union in unions:
                given = given_members(union, value)
                if len(given) != 1:
                    found.append((last, self._named(union, union.rule(self.view(value), given))))
            if rules:
                view = self.view(value)
                for rule, fields in zip(rules, muted, strict=True):
                    if rule.concerns(value) and (problems := self._named(rule, rule.rule(view))):
                        found = [each for each in found if each[0] not in fields]
                        found.append((last, problems))
            return found

        return check

    def _named(self, rule: Declared, problems: Iterable[Problem]) -> list[Problem]:
        return [problem.named(rule.name) for problem in islice(problems, self.target.enough)]

    def _inlined_checks(self) -> list[tuple[int, Check]]:
        return [
            (order, field.check)
            for order, (name, field) in enumerate(self.fields.items())
            if name in self.inline and field.check and self.checks(name)
        ]

    def _changer(self) -> Change | None:
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
                for rule in rules:
                    found += self._named(rule, rule.rule(after, before))
            return found

        return change

    def _field_changer(self, name: str, field: Compiled) -> Change | None:
        """Make the comparison of a field, with its check if an update does not always validate it."""
        when, check = self._recheck(name), field.check
        if not when or check is None:
            return field.change
        stored = self.stated[name].compile(self.target.of_stored, *self._names).check if when == STORED else None

        def change(new: Any, old: Any) -> Sequence[Problem]:
            found = list(field.change(new, old)) if field.change else []
            if old is None or (when != NEW and field.canonical(new) != field.canonical(old)):
                found += check(new)
            elif stored is not None:
                found += stored(new)
            return found

        return change


def compile_struct(type_: type[Struct], target: Target) -> CompiledStruct:
    """Compile a type for one target, or return what was compiled before."""
    wanted = target.replaced.get(type_, type_)
    if (struct := target.compiled.get(wanted)) is None:
        struct = target.compiled[wanted] = CompiledStruct(wanted, target)
    return struct


def given_members(union: Declared, value: dict[str, Any]) -> list[str]:
    """Name the members of a union that a struct has."""
    return [name for name, each in value.items() if each is not None and name in union.members]


def _order(found: Found) -> int:
    return found[0]
