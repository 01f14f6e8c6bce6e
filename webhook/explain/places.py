"""Walks through the API types: kinds, fields, and their rules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from webhook.api.versions import SERVED, VERSIONS, Served
from webhook.explain.general import EVERY_FIELD, EVERY_OBJECT
from webhook.references.lookup import every_rule
from webhook.release import Release
from webhook.schema.declarations import Declared, Field, Struct, declared
from webhook.schema.fields import Many, Map, Nested, Parsed


class ExplainedKind(NamedTuple):
    """A kind in one API version.

    Args:
        api_version: Such as ``resource.k8s.io/v1alpha2``.
        name: Such as ``ResourceClaim``.
        served: Its type, and the releases that serve it.
    """

    api_version: str
    name: str
    served: Served

    @property
    def group(self) -> str:
        """The API group, empty for the core."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """The version in its group, such as ``v1alpha2``."""
        return self.api_version.rpartition("/")[2]

    @property
    def place(self) -> FieldPlace:
        """The place of the whole kind."""
        return FieldPlace(self, (), Nested(self.served.type), _of_version(self, self.served.type), (), None)


class FieldPlace(NamedTuple):
    """A field somewhere in a kind, or the kind as a whole.

    Args:
        path: The names of the fields that lead here, none for the whole.
        type: The struct that is here, one or many; None for other fields.
        home: The path as the types of the newest version have it, so that places of two versions can be compared.
        above: The place around it; None for the whole.
    """

    kind: ExplainedKind
    path: tuple[str, ...]
    field: Field
    type: type[Struct] | None
    home: tuple[str, ...]
    above: FieldPlace | None

    def __str__(self) -> str:
        """Spell the place as ``draguard explain`` takes it."""
        return ".".join((self.kind.name, *self.path))

    @property
    def is_box(self) -> bool:
        """Whether it holds fields that the newest version has on the struct around it."""
        return self.above is not None and self.home == self.above.home

    @property
    def lineage(self) -> Iterator[FieldPlace]:
        """The place and those around it, up to the whole."""
        place: FieldPlace | None = self
        while place is not None:
            yield place
            place = place.above

    @property
    def releases(self) -> tuple[int, int]:
        """The first and the last release that have the place and all places around it."""
        served = self.kind.served
        since = max(served.since, *(place.field.since for place in self.lineage))
        until = min(
            served.until, *(served.until if (end := each.field.until) is None else end for each in self.lineage)
        )
        return since, until


class StatedRule(NamedTuple):
    """A rule as one place states it.

    Args:
        declared: Where it applies, for a rule about several fields.
        function: The function that applies it, if it is its own.
    """

    name: str
    doc: str
    declared: Declared | None = None
    function: Callable[..., Any] | None = None


class ExplainedRule(NamedTuple):
    """A rule, and all places that state it; none for a rule about any object."""

    doc: str
    places: list[tuple[FieldPlace, StatedRule]]


def kinds(release: Release | None = None) -> list[ExplainedKind]:
    """List the kinds, or those that a release serves."""
    every = (ExplainedKind(*of, served) for of, served in SERVED.items())
    return [each for each in every if release is None or each.served.since <= release <= each.served.until]


def children(place: FieldPlace, release: Release | None) -> Iterator[FieldPlace]:
    """List the fields of a place, or those that a release has."""
    if place.type is None:
        return
    inlining = place.type.inlining
    for name, field in place.type.fields.items():
        if _exists(field, place, release):
            struct, around = field.struct, (place.type.unboxed,) if inlining and name in inlining.of.fields else ()
            home = place.home if name == place.type.box else (*place.home, *around, name)
            of = struct and _of_version(place.kind, struct)
            yield FieldPlace(place.kind, (*place.path, name), field, of, home, place)


def unjudged(place: FieldPlace, release: Release | None) -> list[str]:
    """List the fields of a place that exist in Kubernetes, but are not judged."""
    every = place.type.opaque if place.type else {}
    return sorted(name for name, field in every.items() if _exists(field, place, release))


def within(places: Iterable[FieldPlace], release: Release | None) -> Iterator[FieldPlace]:
    """Yield places, each before the fields below it that a release has."""
    left = [*places][::-1]
    while left:
        yield (place := left.pop())
        left += reversed(list(children(place, release)))


def rules(among: Iterable[ExplainedKind], release: Release | None) -> dict[str, ExplainedRule]:
    """Collect the rules of kinds by name."""
    from webhook.scan import every_rule as rules_of_clusters  # needed only to explain rules

    others = {name: doc_of(each.check) for name, each in every_rule().items()}
    others |= {name: doc_of(each.check) for name, each in rules_of_clusters().items()}
    found = {name: ExplainedRule(doc, []) for name, doc in {**rules_of_policies(), **EVERY_OBJECT, **others}.items()}
    for place in within((kind.place for kind in among), release):
        for stated in rules_at(place, release):
            found.setdefault(stated.name, ExplainedRule(stated.doc, [])).places.append((place, stated))
        for opaque in place.type.opaque.values() if place.type else ():
            for own in _declared(opaque.struct):
                found.setdefault(own.name, ExplainedRule(own.doc, []))
    return dict(sorted(found.items()))


@cache
def names_of_types(*, compares: bool | None = None) -> frozenset[str]:
    """Collect the names of the rules of types and their fields.

    Args:
        compares: Only those about several fields that compare a new state with the old one, or that do not.
    """
    roots: list[type[Struct]] = [served.type for served in SERVED.values()]
    roots += [replacement for version in VERSIONS.values() for replacement in version.replaced.values()]
    stated = ((each.name, each.declared) for each in _stated_in(roots))
    return frozenset(name for name, rule in stated if compares is None or (rule and rule.compares is compares))


@cache
def rules_of_policies() -> dict[str, str]:
    """Return the texts of the rules about policies, bindings and webhooks."""
    from webhook.policy.manifest.policies import KINDS, WEBHOOKS  # needed only to explain rules

    return {stated.name: stated.doc for stated in _stated_in((*KINDS.values(), *WEBHOOKS))}


def _stated_in(roots: Iterable[type[Struct]]) -> Iterator[StatedRule]:
    """Yield the rules of types and of all their parts."""
    seen, left = set[type[Struct]](), list(roots)
    while left:
        struct = left.pop()
        if struct in seen:
            continue
        seen.add(struct)
        yield from _declared(struct)
        for field in struct.fields.values():
            yield from _rules_of(field)
            if inner := field.struct:
                left.append(inner)


def rules_at(place: FieldPlace, release: Release | None) -> Iterator[StatedRule]:
    """List the rules that a place states, or those that a release has."""
    yield from declared_at(place, release)
    yield from _rules_of(place.field)


def declared_at(place: FieldPlace, release: Release | None) -> Iterator[StatedRule]:
    """List the rules about several fields that the struct of a place states, or those that a release has."""
    return (each for each in _declared(place.type) if each.declared and _exists(each.declared, place, release))


def _declared(struct: type[Struct] | None) -> Iterator[StatedRule]:
    """Yield the rules about several fields that a struct declares; those that compare states come last."""
    for each in sorted(declared(struct) if struct else (), key=lambda rule: rule.compares):
        yield StatedRule(each.name, doc_of(each.rule), each, each.rule)


def _rules_of(field: Field) -> Iterator[StatedRule]:
    """List the rules that a field states itself, including those of its items."""
    limits = field.limits()
    yield from (StatedRule(name, doc) for name, doc in EVERY_FIELD.items() if name in limits)
    declared = (field.declared or {}).values()  # tests of declarative validation replace others
    replacing = (test for each in declared for test in (*each.get("formats", ()), each.get("checked_by")))
    for test in (*getattr(field, "formats", ()), getattr(field, "checked_by", None), *replacing):
        if test:
            yield StatedRule(test.__name__.replace("_", "-"), doc_of(test), function=test)
    if isinstance(field, Parsed):
        yield StatedRule(field.rule, f"A text is not a valid {field.rule}, so it cannot be decoded.")
    if isinstance(field, Many):
        yield from _rules_of(field.item)
    if isinstance(field, Map) and field.key:
        yield from _rules_of(field.key)


def _exists(what: Field | Declared, place: FieldPlace, release: Release | None) -> bool:
    """Tell whether a fact holds in a release, or in any that serves the kind."""
    served = place.kind.served
    first, last = (served.since, served.until) if release is None else (release, release)
    return what.since <= last and (what.until is None or what.until >= first)


def _of_version(kind: ExplainedKind, struct: type[Struct]) -> type[Struct]:
    return VERSIONS[kind.api_version].replaced.get(struct, struct)


def doc_of(function: Callable[..., Any]) -> str:
    """Return the docstring of a rule or type, empty if it has none."""
    return inspect.getdoc(function) or ""
