"""API types as classes, compiled to closures, and the rules that compare their fields with one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from webhook.problem import Path, Problem, invalid, required
from webhook.schema.decoding import Misfit, unknown_field, wrong_type
from webhook.schema.fields import IMMUTABLE, NO_PROBLEMS, Compiled, Field, name_of
from webhook.schema.target import OLDEST, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from webhook.schema.fields import Change, Check

    Rule = Callable[..., Iterator[Problem]]


class Declared(NamedTuple):
    """A rule of several fields, and where it applies."""

    name: str
    rule: Rule
    since: int
    until: int | None
    on: frozenset[str]

    def applies(self, target: Target) -> bool:
        """Tell whether the target's release and operation have the rule."""
        return target.has(self.since, self.until) and (not self.on or target.operation in self.on)


class Struct:
    """Base of all API types: the class's name is Go's, its fields are the wire's; inheritance does what inlining does.

    ``package`` is the type's Go package where it is not that of the API version; ``go_name`` its Go name where two
    types share one; ``opaque`` names fields that exist and are not judged here.
    """

    package: ClassVar[str] = ""
    go_name: ClassVar[str] = ""
    opaque: ClassVar[frozenset[str]] = frozenset()
    fields: ClassVar[dict[str, Field]] = {}
    checks: ClassVar[list[Declared]] = []
    transitions: ClassVar[list[Declared]] = []

    def __init_subclass__(cls) -> None:
        """Collect the fields, those of base classes first."""
        cls.checks, cls.transitions = [], []
        declared = [vars(base).items() for base in reversed(cls.__mro__)]
        cls.fields = {name: value for items in declared for name, value in items if isinstance(value, Field)}


def check(
    *types: type[Struct], since: int = OLDEST, until: int | None = None, on: Iterable[str] = ()
) -> Callable[[Rule], Rule]:
    """Register a rule that compares fields of one object.

    The rule takes a :class:`View` and yields problems, with paths made by ``view / "field"``; its name and docstring
    are what ``draguard explain`` shows.

    Args:
        *types: The types that the rule is about.
        since: The first Kubernetes 1.x release that has the rule.
        until: The last release that has it.
        on: The operations that the rule belongs to, if not all.
    """
    return _register("checks", types, since, until, on)


def transition(
    *types: type[Struct], since: int = OLDEST, until: int | None = None, on: Iterable[str] = ()
) -> Callable[[Rule], Rule]:
    """Register a rule that compares the new state of an object with the old one; see :func:`check`."""
    return _register("transitions", types, since, until, on)


def _register(
    kind: str, types: Iterable[type[Struct]], since: int, until: int | None, on: Iterable[str]
) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        for each in types:
            getattr(each, kind).append(Declared(name_of(rule), rule, since, until, frozenset(on)))
        return rule

    return register


class Nested(Field):
    """A struct.

    Args:
        type_: The struct's class.
        required_detail: What the API server says if it is missing.
        **common: As for :class:`Field`.
    """

    def __init__(self, type_: type[Struct], doc: str = "", *, required_detail: str = "", **common: Any) -> None:
        super().__init__(doc, **common)
        self.type, self.required_detail = type_, required_detail

    def type_name(self, package: str) -> str:
        """Name the Go struct with its package."""
        return f"{self.type.package or package}.{self.type.go_name or self.type.__name__}"

    def compile(self, target: Target, owner: str, package: str) -> Compiled:
        """Make the closures for one target."""
        struct, go_type = compile_struct(self.type, target), self.type_name(package)
        pointer, inner, changed = self.pointer, struct.check, struct.change

        def decode(value: object) -> Sequence[Misfit]:
            return struct.decode(value) if type(value) is dict else wrong_type(value, owner, go_type)

        def canonical(value: Any) -> Any:
            if value is None:
                return None
            return struct.canonical(value) or ({} if pointer else None)

        def change(new: Any, old: Any) -> Sequence[Problem]:
            if self.immutable and new != old and canonical(new) != canonical(old):
                shown = new if pointer else new or {}
                return (invalid(Path(), shown, "field is immutable").named(IMMUTABLE),)
            if changed is None or (pointer and (new is None or old is None)):
                return NO_PROBLEMS
            return changed(new or {}, old or {})

        def view(value: Any, path: Path) -> View:
            return View(struct, value, path)

        return Compiled(
            decode,
            self._checker(inner),
            change if self.immutable or changed else None,
            canonical,
            view,
        )

    def _checker(self, inner: Check | None) -> Check | None:
        needed, detail, pointer = self.required, self.required_detail, self.pointer
        if not pointer:
            return None if inner is None else lambda value: inner(value or {})

        def check_pointer(value: Any) -> Sequence[Problem]:
            if value is None:
                return (required(Path(), detail),) if needed else NO_PROBLEMS
            return NO_PROBLEMS if inner is None else inner(value)

        return check_pointer if needed or inner else None


class CompiledStruct:
    """A type compiled for one target; ``check`` and ``change`` are None where there is nothing to find."""

    def __init__(self, type_: type[Struct], target: Target) -> None:
        self.type, self.target = type_, target
        package = type_.package or target.version
        owner = type_.go_name or type_.__name__
        self.fields = {
            name: field.compile(target, owner, package)
            for name, field in type_.fields.items()
            if target.has(field.since, field.until)
        }
        self._plain = {name: field.plain for name, field in self.fields.items() if field.plain}
        self.check = self._checker()
        self.change = self._changer()

    def decode(self, value: dict[str, Any]) -> Sequence[Misfit]:
        """Find what the JSON decoder refuses."""
        found: list[Misfit] = []
        plain, fields = self._plain, self.fields
        for name, each in value.items():
            if type(each) is plain.get(name):
                continue
            if (field := fields.get(name)) is not None:
                if each is not None and (misfits := field.decode(each)):
                    found += [misfit.under(name) for misfit in misfits]
            elif name not in self.type.opaque:
                found.append(unknown_field(name, (*fields, *self.type.opaque)))
        return found

    def canonical(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the value as old and new are compared: defaults set, zero values left out."""
        pairs = ((name, field.canonical(value.get(name))) for name, field in self.fields.items())
        known = {name: each for name, each in pairs if each is not None}
        return (
            known | {name: value[name] for name in self.type.opaque if value.get(name)} if self.type.opaque else known
        )

    def _here(self, name: str) -> bool:
        """Tell whether the target's operation looks at a field of a whole object."""
        wanted = self.type.fields[name].subresource
        return wanted is None or wanted == self.target.subresource

    def _rules(self, kind: str) -> list[Declared]:
        declared = [each for base in reversed(self.type.__mro__) for each in vars(base).get(kind, ())]
        return [each for each in declared if each.applies(self.target)]

    def _checker(self) -> Check | None:
        fields = [
            (name, spelled, field.check)
            for name, field in self.fields.items()
            if field.check and self._here(name)
            for spelled in [self.type.fields[name].spelled]
        ]
        rules = self._rules("checks")
        if not fields and not rules:
            return None

        def check(value: dict[str, Any]) -> Sequence[Problem]:
            found: list[Problem] = []
            for name, spelled, check_field in fields:
                if problems := check_field(value.get(name)):
                    found += [_placed(problem, name, spelled) for problem in problems]
            if rules:
                view = View(self, value, Path())
                for declared in rules:
                    found += [problem.named(declared.name) for problem in declared.rule(view)]
            return found

        return check

    def _changer(self) -> Change | None:
        fields = [
            (name, spelled, field.change)
            for name, field in self.fields.items()
            if field.change and self._here(name)
            for spelled in [self.type.fields[name].spelled]
        ]
        rules = self._rules("transitions")
        if not fields and not rules:
            return None

        def change(new: dict[str, Any], old: dict[str, Any]) -> Sequence[Problem]:
            found: list[Problem] = []
            for name, spelled, change_field in fields:
                if problems := change_field(new.get(name), old.get(name)):
                    found += [_placed(problem, name, spelled) for problem in problems]
            if rules:
                after, before = View(self, new, Path()), View(self, old, Path())
                for declared in rules:
                    found += [problem.named(declared.name) for problem in declared.rule(after, before)]
            return found

        return change


class View:
    """A well-shaped struct as rules see it: fields by name, defaults set, absent ones empty, ``view / "field"`` a path.

    A view is true if the struct is there at all; two views are equal if the API server takes them for the same.
    """

    __slots__ = ("_struct", "_value", "path")

    def __init__(self, struct: CompiledStruct, value: dict[str, Any] | None, path: Path) -> None:
        self._struct, self._value, self.path = struct, value, path

    def __getattr__(self, name: str) -> Any:
        """Return a field: an absent struct as an empty view, an absent list as an empty one."""
        field = self._struct.fields.get(name)
        if field is None:
            if name in self._struct.type.fields:
                return None  # not in this release
            raise AttributeError(name)
        return field.view(self._value.get(name) if self._value else None, self.path / name)

    def __truediv__(self, step: str | int) -> Path:
        """Return the path of a field."""
        return self.path / step

    def __contains__(self, name: str) -> bool:
        """Tell whether a field was given and is not null."""
        return self._value is not None and self._value.get(name) is not None

    def __bool__(self) -> bool:
        """Tell whether the struct is there."""
        return self._value is not None

    def __eq__(self, other: object) -> bool:
        """Compare as ``apiequality.Semantic.DeepEqual`` does."""
        return isinstance(other, View) and self.canonical == other.canonical

    __hash__ = None  # type: ignore[assignment] # views are compared, never kept

    @property
    def canonical(self) -> dict[str, Any] | None:
        """The struct in the form in which old and new are compared."""
        return None if self._value is None else self._struct.canonical(self._value)

    @property
    def submitted(self) -> Any:
        """The struct as it was submitted, to be shown."""
        return self._value

    @property
    def release(self) -> int:
        """The Kubernetes release, as the minor of 1.x."""
        return self._struct.target.release

    @property
    def operation(self) -> str:
        """What is asked of the API server."""
        return self._struct.target.operation


def compile_struct(type_: type[Struct], target: Target) -> CompiledStruct:
    """Compile a type for one target, or return what was compiled before."""
    wanted = target.replaced.get(type_, type_)
    if (struct := target.compiled.get(wanted)) is None:
        struct = target.compiled[wanted] = CompiledStruct(wanted, target)
    return struct


def _placed(problem: Problem, name: str, spelled: str | None) -> Problem:
    return problem.under(name) if spelled is None else problem.below((name,), (spelled,) if spelled else ())
