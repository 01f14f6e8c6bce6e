"""Declares API types and their rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any, ClassVar

from webhook.problem import Problem
from webhook.records import NamedTuple
from webhook.schema.fields import Field, name_of
from webhook.schema.target import OLDEST, Target

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
    members: frozenset[str] = frozenset()
    mutes: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    place: int = 0
    before: str | None = None

    def applies(self, target: Target) -> bool:
        """Tell whether the target's release and operation have the rule."""
        return target.validates and target.has(self.since, self.until) and (not self.on or target.operation in self.on)


class Struct:
    """Base of all API types: the class's name is Go's, its fields are the wire's; inheritance does what inlining does.

    ``package`` is the type's Go package where it is not that of the API version; ``go_name`` its Go name where two
    types share one; ``opaque`` has fields that exist and are not judged here; ``atomic`` says whether server-side apply
    replaces it as a whole (``+structType=atomic``); ``box`` the field that holds what sits on the struct itself in the
    newest version: rules find it in either place; ``moved`` says what sits in another place than in the newest version;
    ``unboxed`` names the field of its kin that holds what sits on this struct itself; ``instead`` says what to write in
    the place of fields that other versions have, or that people write; ``embedded`` names the structs that Go embeds,
    from the outermost, by the fields that they hold; ``shorthand`` names the field that is meant by a scalar in the
    struct's place, or the path to it, by the scalar's type; ``plain`` names the field whose value older versions hold
    in the struct's place; ``tagged`` the rules of several fields that declarative validation has, too.
    """

    package: ClassVar[str] = ""
    go_name: ClassVar[str] = ""
    opaque: ClassVar[Mapping[str, Field]] = {}
    atomic: ClassVar[bool] = False
    box: ClassVar[str] = ""
    moved: ClassVar[str] = ""
    unboxed: ClassVar[str] = ""
    instead: ClassVar[Mapping[str, str]] = {}
    embedded: ClassVar[Mapping[str, str]] = {}
    shorthand: ClassVar[Mapping[type, str]] = {}
    plain: ClassVar[str] = ""
    tagged: ClassVar[frozenset[str]] = frozenset()
    fields: ClassVar[dict[str, Field]] = {}
    checks: ClassVar[list[Declared]] = []
    unions: ClassVar[list[Declared]] = []
    transitions: ClassVar[list[Declared]] = []

    @staticmethod
    def complete(value: dict[str, Any]) -> dict[str, Any]:
        """Set defaults of the API server that depend on several fields; change no given value."""
        return value

    def __init_subclass__(cls) -> None:
        """Collect the fields, those of base classes first."""
        cls.checks, cls.unions, cls.transitions = [], [], []
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
    where = Declared("", _unnamed, since, until, frozenset(on), before=before)
    return _register("checks", types, where._replace(mutes=frozenset(mutes), given=frozenset(given)))


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
    return _register("unions", (type_,), Declared("", _unnamed, since, until, frozenset(), frozenset(members)))


def transition(
    *types: type[Struct],
    since: int = OLDEST,
    until: int | None = None,
    on: Iterable[str] = (),
    before: str | None = None,
) -> Callable[[Rule], Rule]:
    """Register a rule that compares the new state of an object with the old one; see :func:`check`."""
    return _register("transitions", types, Declared("", _unnamed, since, until, frozenset(on), before=before))


def _register(kind: str, types: Iterable[type[Struct]], where: Declared) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        for each in types:
            getattr(each, kind).append(where._replace(name=name_of(rule), rule=rule, place=next(_places)))
        return rule

    return register


def _unnamed(*_: object) -> Iterator[Problem]:
    """Stand in for the rule until it is registered."""
    return iter(())


def declared(type_: type[Struct], kind: str) -> list[Declared]:
    """List a type's rules of one kind, and those of its base classes, in the order in which they are registered."""
    found: list[Any] = [each for base in type_.__mro__ for each in vars(base).get(kind, ())]
    return sorted(found, key=lambda each: each.place)
