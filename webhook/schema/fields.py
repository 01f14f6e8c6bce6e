"""Fields: their common attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from webhook.problem import IMMUTABLE_FIELD, Path, Problem, invalid
from webhook.records import NamedTuple
from webhook.release import Release
from webhook.schema.decoding import Misfit, SchemaFinding
from webhook.schema.target import OLDEST, Target

Place = tuple[Any, ...]

"""A place: the parent's place and one step down. Only places that are reported become paths."""

Walk = Callable[[Any], Sequence[SchemaFinding]]

Decode = Callable[[Any], Sequence[Misfit]]

Check = Callable[[Any], Sequence[Problem]]

Change = Callable[[Any, Any], Sequence[Problem]]

Recheck = str | Callable[[Any], bool]

Format = Callable[[str, Release], Sequence[str]]


NOTHING: tuple[Any, ...] = ()
"""No findings: shared, since most values have none."""

IMMUTABLE = "immutable"

EMPTY = "empty"

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
        doc: What the field means, in a sentence.
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
        empty: The API server's message for an empty value, which it does not check further.
        written: Whether Go writes the field even if it is empty (no ``omitempty``); an absent list or map is null.
        rechecked: When or how an update validates the field again, if not always as if it were new: ``CHANGED``,
            ``STORED``, ``NEW`` or ``ITSELF``; or a predicate: the old values for which the new one, too, is validated
            as a stored one.
    """

    inline = False

    def __init__(
        self,
        doc: str = "",
        *,
        required: bool = False,
        pointer: bool = False,
        immutable: bool = False,
        declarative: bool = False,
        declared: Mapping[int, Mapping[str, Any]] | None = None,
        since: int = OLDEST,
        until: int | None = None,
        subresource: str | None = None,
        spelled: str | Mapping[int, str] | None = None,
        gate: str | Sequence[str] | Mapping[int, str] = (),
        empty: str = "",
        written: bool = False,
        rechecked: Mapping[int, Recheck] | None = None,
    ) -> None:
        self.doc, self.required, self.pointer, self.immutable = doc, required, pointer, immutable
        self.declarative, self.declared = declarative, declared
        self.since, self.until, self.subresource, self.spelled = since, until, subresource, spelled
        self.gate, self.empty, self.written = gate, empty, written
        self.rechecked = rechecked

    def type_name(self, package: str) -> str:
        """Name the field's Go type as error texts do, such as ``[]v1alpha2.ResourceHandle``."""
        raise NotImplementedError

    def compile(self, target: Target, owner: str, package: str) -> Any:
        """Compile the closures for one target: a :class:`webhook.schema.compiled.CompiledField`.

        Args:
            target: The version, release and operation.
            owner: The Go struct that holds the field.
            package: That struct's Go package.
        """
        raise NotImplementedError

    def but(self, **changed: Any) -> Self:
        """Return a copy of the field with other attributes, for a similar type."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changed)
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

    def limits(self) -> list[str]:
        """Describe the declared limits of the field, for ``draguard explain``."""
        facts = {"required": self.required, "immutable": self.immutable, "not empty": bool(self.empty)}
        return [fact for fact, holds in facts.items() if holds]

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


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a rule's function with dashes, which is the name of the rule."""
    return function.__name__.replace("_", "-")


def most(limit: int | Mapping[int, int] | None, unit: str) -> list[str]:
    """Describe a limit that may differ between releases: ``32 items at most``."""
    if limit is None:
        return []
    if isinstance(limit, int):
        return [f"{limit} {unit} at most"]
    since = [f"{number} since 1.{release}" for release, number in limit.items()]
    return [f"{', '.join(since)} {unit} at most"]
