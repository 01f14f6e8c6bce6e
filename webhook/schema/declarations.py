"""Declares API types: fields, structs, and rules about several fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import count
from typing import Any, ClassVar, NamedTuple, Self

from webhook.problem import IMMUTABLE_FIELD, Path, Problem, invalid
from webhook.release import Release
from webhook.schema.target import OLDEST, Target

Change = Callable[[Any, Any], Sequence[Problem]]
Recheck = str | Callable[[Any], bool]


NOTHING: tuple[Any, ...] = ()
"""No findings: shared, since most values have none."""

IMMUTABLE = "immutable"

CHANGED = "changed"
"""An update validates the field again only if it has changed."""
STORED = "stored"
"""An update validates the field again, but unchanged parts as stored ones."""
NEW = "new"
"""An update validates the field again only if it was not set before."""
ITSELF = "itself"
"""An update validates a changed value again, but not what it holds: the field is immutable."""


class _Any:
    """A container of all values that are not empty."""

    def __contains__(self, value: object) -> bool:
        return bool(value)


ANY = _Any()


class Default(NamedTuple):
    """A default that the API server sets only beside certain other fields.

    Args:
        value: The default.
        when: The other fields, and their allowed values.
    """

    value: Any
    when: Mapping[str, Any]

    def beside(self, fields: Mapping[str, Any]) -> Any:
        """Return the default beside other fields; None where these have other values."""
        return self.value if all(fields.get(name, "") in wanted for name, wanted in self.when.items()) else None

    def __str__(self) -> str:
        """Describe it for ``draguard explain``."""
        when = (
            f"{name} is {'given' if wanted is ANY else ' or '.join(map(str, wanted))}"
            for name, wanted in self.when.items()
        )
        return f"{self.value} if {' and '.join(when)}"


class Field:
    """The base of all fields.

    Args:
        doc: The meaning of the field, in a sentence.
        required: Whether validation requires it.
        pointer: Whether Go holds it by pointer: then an empty value differs from an absent one.
        immutable: Whether an update may not change it.
        declarative: Whether its rules are declarative upstream: findings about changes omit the value, those about
            repeated items show the whole item.
        declared: The rules of declarative validation instead of the handwritten ones, where it decides: attributes of
            the field, by the release whose tags (``+k8s:``) say so; an empty mapping if only the form differs.
        since: The first Kubernetes 1.x release that has the field.
        until: The last release that has it.
        subresource: The requests that validate it: ``MAIN``, ``STATUS``, or both where it is None.
        spelled: The name in error paths, where it differs from the JSON name: ``""`` for none, ``/name`` for one in
            the object itself. Like other facts it can be a map by the release that introduced it: ``{33: ""}``.
        gate: The feature gates without which the API server drops the field.
        default: The API server's default when the field is absent or empty; a :class:`Default` if that depends on
            other fields.
        empty: The API server's message for an empty value, which it does not check further.
        written: Whether Go writes the field even if it is empty (no ``omitempty``); an absent list or map is null.
        rechecked: When or how an update validates the field again, if not always as if it were new: ``CHANGED``,
            ``STORED``, ``NEW`` or ``ITSELF``; or a predicate: the old values for which the new one, too, is validated
            as a stored one.
    """

    required: bool = False
    pointer: bool = False
    immutable: bool = False
    declarative: bool = False
    declared: Mapping[int, Mapping[str, Any]] | None = None
    since: int = OLDEST
    until: int | None = None
    subresource: str | None = None
    spelled: str | Mapping[int, str] | None = None
    gate: str | Sequence[str] | Mapping[int, str] = ()
    default: Any = None
    empty: str = ""
    written: bool = False
    rechecked: Mapping[int, Recheck] | None = None

    def __init__(self, doc: str = "", **stated: Any) -> None:
        self.doc = doc
        _state(self, stated)

    @property
    def struct(self) -> type[Struct] | None:
        """The struct that it holds, one or many; None if it holds none."""
        return None

    def type_name(self, package: str) -> str:
        """Name the field's Go type as error texts do, such as ``[]v1alpha2.ResourceHandle``."""
        raise NotImplementedError

    def compile(self, target: Target, owner: str, package: str) -> Any:
        """Compile the closures for one target: a :class:`webhook.schema.fields.CompiledField`.

        Args:
            target: The version, release and operation.
            owner: The Go struct that holds the field.
            package: The struct's Go package.
        """
        raise NotImplementedError

    def but(self, **changed: Any) -> Self:
        """Return a copy of the field with other attributes, for a similar type."""
        other = copy(self)
        _state(other, changed)
        return other

    def stated(self, target: Target) -> Self:
        """Return the field as the target validates it: by its declared rules, if declarative validation decides."""
        declared = target.pick(self.declared) if target.declarative and self.declared else None
        if declared is None:
            return self
        return self.but(**declared, declarative=True)

    def states(self, problem: Problem) -> bool:
        """Tell whether rules of the field itself, not of its items or fields, can find a problem."""
        del problem
        return False

    def limits(self) -> dict[str, str]:
        """Describe the declared limits of the field for ``draguard explain``, by the names of their rules."""
        stated = {"required": self.required, "immutable": self.immutable, "empty": self.empty}
        return {rule: "not empty" if rule == "empty" else rule for rule, holds in stated.items() if holds}

    def gates(self, target: Target) -> Sequence[str]:
        """Return the feature gates without which the API server of a release drops the field."""
        gate = target.pick(self.gate) or ()
        return (gate,) if isinstance(gate, str) else tuple(gate)

    def _frozen(
        self, canonical: Callable[[Any], Any], zero: Any = None, show: Callable[[Any], Any] = lambda value: value
    ) -> Change | None:
        """Return the check that refuses any change of an immutable field; it shows ``zero`` for a removed value."""
        if not self.immutable:
            return None

        def change(new: Any, old: Any) -> Sequence[Problem]:
            value = canonical(new)
            if new == old or value == canonical(old):
                return NOTHING
            shown = None if self.declarative else zero if value is None else show(new)
            return (invalid(Path(), shown, IMMUTABLE_FIELD).named(IMMUTABLE),)

        return change


def _state(field: Field, stated: Mapping[str, Any]) -> None:
    """Set attributes of a field, which must exist; those that are not stated have the values of the class."""
    for name in stated:
        getattr(field, name)
    vars(field).update(stated)


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a rule's function with dashes, which is the name of the rule."""
    return function.__name__.replace("_", "-")


# -- Structs, and rules about several fields


Rule = Callable[..., Iterator[Problem]]
_places = count()

IN_PLACE = ""
"""The value of ``before`` for a rule whose findings come among those of the fields that they are about."""


class Declared(NamedTuple):
    """A rule about several fields, and where it applies.

    Args:
        name: The rule's name.
        rule: The function that implements it.
        since: The first Kubernetes 1.x release that has it.
        until: The last release that has it.
        on: The operations to which it applies, all if empty.
        compares: Whether it compares the new state of an object with the old one.
        members: The fields of which exactly one must be set, if the rule is of that sort.
        mutes: The fields whose findings are muted if the rule finds something.
        given: The fields of which at least one must be present for the rule to run; if empty, it always runs.
        place: Its place among all rules: those of a type apply in the order of the code, which is the API server's.
        before: Where its findings come among those in fields; None for the end.
    """

    name: str
    rule: Rule
    since: int
    until: int | None
    on: frozenset[str]
    compares: bool = False
    members: frozenset[str] = frozenset()
    mutes: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    place: int = 0
    before: str | None = None

    def applies(self, target: Target) -> bool:
        """Tell whether the target's release and operation have the rule."""
        return target.validates and target.has(self.since, self.until) and (not self.on or target.operation in self.on)


class Inlining(NamedTuple):
    """The fields of a struct of the newest version that sit on the struct around it, in a version of its own.

    Args:
        of: The struct's class, from which the struct around it inherits.
        present: A predicate: whether a submitted struct has any of its fields, for a Kubernetes release.
        hollow: The fields that stand for them where the API server drops all that were submitted.
        last: The fields that Go declares after those of the struct around it.
        spelled_since: The release from which on the API server reports them as those of the struct.
    """

    of: type[Struct]
    present: Callable[[dict[str, Any], Release], bool]
    hollow: Mapping[str, Any]
    last: Collection[str]
    spelled_since: int


class Struct:
    """Base of all API types: the class's name is Go's, its fields are the wire's; inheritance does what inlining does.

    ``package`` is the type's Go package where it is not that of the API version; ``go_name`` its Go name where two
    types share one; ``opaque`` has fields that exist and are not judged here; ``atomic`` says whether server-side apply
    replaces it as a whole (``+structType=atomic``); ``box`` the field that holds what sits on the struct itself in the
    newest version: rules find it in either place; ``moved`` says what sits in another place than in the newest version;
    ``unboxed`` names the field of its kin that holds what sits on this struct itself, and ``inlining`` says how, if
    rules find it as that field; ``instead`` names the field, or says what to write, in the place of fields that other
    versions have, or that people write; ``embedded`` names the structs that Go embeds, from the outermost, by the
    fields that they hold, ``""`` for all others; ``shorthand`` names the fields that may be meant by a scalar in the
    struct's place, or the paths to them, the likeliest first, by the scalar's type; ``plain`` names the field whose
    value older versions hold in the struct's place; ``either`` the fields of which each excludes the others; ``tagged``
    the rules of several fields that declarative validation has, too.
    """

    package: ClassVar[str] = ""
    go_name: ClassVar[str] = ""
    opaque: ClassVar[Mapping[str, Field]] = {}
    atomic: ClassVar[bool] = False
    box: ClassVar[str] = ""
    moved: ClassVar[str] = ""
    unboxed: ClassVar[str] = ""
    inlining: ClassVar[Inlining | None] = None
    either: ClassVar[Sequence[str]] = ()
    instead: ClassVar[Mapping[str, str]] = {}
    embedded: ClassVar[Mapping[str, str]] = {}
    shorthand: ClassVar[Mapping[type, Sequence[str]]] = {}
    plain: ClassVar[str] = ""
    tagged: ClassVar[frozenset[str]] = frozenset()
    fields: ClassVar[dict[str, Field]] = {}
    rules: ClassVar[list[Declared]] = []

    @staticmethod
    def complete(value: dict[str, Any]) -> dict[str, Any]:
        """Set defaults of the API server that depend on several fields; change no given value."""
        return value

    def __init_subclass__(cls) -> None:
        """Collect the fields, those of base classes first."""
        cls.rules = []
        declared = [vars(base).items() for base in cls.__mro__[-3::-1]]  # without this class and `object`
        # A field whose name has another meaning in Python ends with an underscore, as in PEP 8.
        cls.fields = {
            name.removesuffix("_"): value for items in declared for name, value in items if isinstance(value, Field)
        }


def check(
    *types: type[Struct],
    since: int = OLDEST,
    until: int | None = None,
    on: Iterable[str] = (),
    mutes: Iterable[str] = (),
    given: Iterable[str] = (),
    before: str | None = None,
) -> Callable[[Rule], Rule]:
    """Register a rule that compares fields of one object.

    The rule takes a :class:`View` and yields problems, with paths made by ``view / "field"``; ``draguard explain``
    shows its name and docstring.

    Args:
        *types: The types that the rule applies to.
        since: The first Kubernetes 1.x release that has the rule.
        until: The last release that has it.
        on: The operations to which the rule applies, if not all.
        mutes: Fields whose other findings are muted where the rule finds something; ``devices.nodeName`` mutes those in
            a field of the items of a list.
        given: Fields of which at least one must be present for the rule to run: most objects have few of the possible
            fields.
        before: The field before whose findings the API server finds those of the rule, in the struct that they are
            about; :data:`IN_PLACE` for where their own fields are. By default they come after those in all fields.
    """
    return _register(types, since, until, on, mutes=frozenset(mutes), given=frozenset(given), before=before)


def exactly_one(
    type_: type[Struct], *members: str, since: int = OLDEST, until: int | None = None
) -> Callable[[Rule], Rule]:
    """Register a rule that requires exactly one of several fields, as :func:`check` does.

    The rule takes a :class:`View` and the names of the fields that were given, and runs only if there is not exactly
    one: a ResourceSlice has thousands of such structs.

    Args:
        type_: The type that the rule applies to.
        *members: The fields.
        since: The first Kubernetes 1.x release that has the rule.
        until: The last release that has it.
    """
    return _register((type_,), since, until, members=frozenset(members))


def transition(
    *types: type[Struct],
    since: int = OLDEST,
    until: int | None = None,
    on: Iterable[str] = (),
    before: str | None = None,
) -> Callable[[Rule], Rule]:
    """Register a rule that compares the new state of an object with the old one; see :func:`check`."""
    return _register(types, since, until, on, before=before, compares=True)


def _register(
    types: Iterable[type[Struct]], since: int, until: int | None, on: Iterable[str] = (), **more: Any
) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        for each in types:
            each.rules.append(Declared(name_of(rule), rule, since, until, frozenset(on), place=next(_places), **more))
        return rule

    return register


def declared(type_: type[Struct]) -> list[Declared]:
    """List a type's rules, and those of its base classes, in the order in which they are registered."""
    found: list[Any] = [each for base in type_.__mro__ for each in vars(base).get("rules", ())]
    return sorted(found, key=lambda each: each.place)
