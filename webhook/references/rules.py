"""Declares reference rules, and the context that they read."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.budget import current, work
from webhook.inventory.objects import without_nulls
from webhook.objects import text
from webhook.problem import WARNING, Advice, Fix, Path, Problem
from webhook.references.alike import Alike
from webhook.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from webhook.deviceselectors.fleet import Fleet
    from webhook.drivers import Profile
    from webhook.inventory import Inventory
    from webhook.objects import JSONObject
    from webhook.references.scene import Scene
    from webhook.release import Release

NOTE: Final = "note"
"""The level of what is legal and sometimes meant."""

_LISTED: Final = 5
_UNITS_A_NAME: Final = 7
"""What it takes to compare a name with another one."""


def pool_of(each: JSONObject) -> tuple[str, str]:
    """Return driver and name of a slice's pool."""
    return text(each, "spec", "driver"), text(each, "spec", "pool", "name")


class Context:
    """What a rule knows.

    Args:
        inventory: The objects around, the one that is looked at among them.
        release: The Kubernetes release, as the minor of 1.x.
        gates: The feature gates that are on.
        profiles: What drivers publish and take, besides the profiles that draguard has.
    """

    def __init__(
        self,
        inventory: Inventory,
        release: Release,
        gates: frozenset[str],
        profiles: Mapping[str, Profile] | None = None,
    ) -> None:
        self.inventory = inventory
        self.release = release
        self.gates = gates
        self._profiles = profiles or {}
        self.passes_over_devices = False
        self.asks_allocator = False
        """Whether the scheduler's allocator is asked; it takes too long for a review."""
        self.alike = Alike()
        """What was found in objects, for those that are alike."""
        self.looked_at: tuple[Any, Any] = (None, None)
        """The object that rules look at, and what was read of it."""

    def pass_over_devices(self) -> None:
        """Look at devices no more: it takes too much work."""
        self.passes_over_devices = True

    @property
    def fleet(self) -> Fleet | None:
        """The devices that are published; None if nothing is known of them, or they are passed over."""
        return None if self.passes_over_devices else self._fleet

    @cached_property
    def _fleet(self) -> Fleet | None:
        slices = [without_nulls(each) for each in self.inventory.all("ResourceSlice")]
        if not slices:
            return None
        from webhook.deviceselectors.fleet import Fleet  # noqa: PLC0415 - only with slices at hand

        try:
            return Fleet(slices, self.release, self.gates)
        except ValueError:  # no allocator of that release has these features
            return None

    @cached_property
    def pools(self) -> Mapping[tuple[str, str], Sequence[JSONObject]]:
        """The slices of each pool, by its driver and name."""
        found: dict[tuple[str, str], list[JSONObject]] = {}
        for each in self.inventory.all("ResourceSlice"):
            found.setdefault(pool_of(each), []).append(each)
        return found

    @cached_property
    def scene(self) -> Scene | None:
        """The cluster with all its devices free; None if no allocator is known for the release and its gates."""
        if not self.asks_allocator:
            return None
        from webhook.references.scene import Scene  # noqa: PLC0415 - only with slices at hand

        try:
            return Scene(self.inventory, self.release, self.gates)
        except (LookupError, ValueError):
            return None

    def profile(self, driver: str) -> Profile | None:
        """Return what is known of a driver; None if nothing is."""
        if driver in self._profiles:
            return self._profiles[driver]
        from webhook.drivers import profile_of  # noqa: PLC0415 - most objects name no driver

        return profile_of(driver)

    def publishes_in(self, driver: str, domain: str) -> bool:
        """Tell whether a driver is known to publish attributes in a domain."""
        profile = self.profile(driver)
        return profile is not None and profile.has_domain(domain)


class Rule(NamedTuple):
    """A rule about references.

    Args:
        name: Its stable name.
        kinds: The kinds that it looks at; ``Pod`` stands for every kind with a pod template, too.
        needs: The kinds of which one must be known for the rule to say anything; none if it always can.
        level: The level of what it finds.
        check: What looks at an object.
        doc: What it says, for ``draguard explain``.
        beside_devices: Whether it can say something only where devices are known.
    """

    name: str
    kinds: tuple[str, ...]
    needs: tuple[str, ...]
    level: str
    check: Callable[[JSONObject, Context], Iterator[Problem]]
    doc: str
    beside_devices: bool


RULES: Final[dict[str, Rule]] = {}


def rule(
    name: str, *kinds: str, needs: tuple[str, ...] = (), level: str = WARNING, beside_devices: bool = False
) -> Callable[[Check], Check]:
    """Declare a rule; its docstring is what ``draguard explain`` shows.

    Args:
        name: Its stable name.
        kinds: The kinds that it looks at.
        needs: The kinds of which one must be known.
        level: The level of what it finds.
        beside_devices: Whether it can say something only where devices are known.
    """

    def declare(check: Check) -> Check:
        RULES[name] = Rule(name, kinds, needs, level, check, check.__doc__ or "", beside_devices)
        return check

    return declare


if TYPE_CHECKING:
    Check = Callable[[JSONObject, Context], Iterator[Problem]]


def finding(
    path: Iterable[str | int],
    message: str,
    hint: str | Advice = "",
    reason: str = "NotFound",
    character: int | None = None,
) -> Problem:
    """Make a finding; its rule and level are filled in by :func:`webhook.references.lookup.look`.

    Args:
        path: Where it is.
        message: What is wrong.
        hint: How to mend it.
        reason: Its cause, in one word.
        character: Where in the expression at the path it is; None if it is about all of it.
    """
    advice = Advice(hint) if isinstance(hint, str) else hint
    return Problem(WARNING, "", reason, Path(path), message, advice.hint, fix=advice.fix, character=character)


def listed(names: Iterable[str]) -> str:
    """List some names, and say how many more there are."""
    known = list(dict.fromkeys(names))
    more = f", and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return ", ".join(known[:_LISTED]) + more


MEANT = "did you mean"
"""How the hint begins for a name that is near to another."""


def instead(name: str, names: Iterable[str], what: str) -> str:
    """Say which name was probably meant, or which names there are.

    Args:
        name: The name that is not there.
        names: Those that are.
        what: What they name, such as ``device classes``.
    """
    known = list(names)
    return _instead(_near(name, known), known, what)


def _instead(near: str, known: list[str], what: str) -> str:
    if near:
        return f'{MEANT} "{near}"?'
    return f"{what}: {listed(known)}" if known else f"there are no {what}"


def _near(name: str, known: list[str]) -> str:
    """Return the name that was probably meant, unless to seek it takes more than half of the work that is left."""
    units = _UNITS_A_NAME * len(known)
    if units > current().left // 2:
        return ""
    work(units)
    return nearest(name, known)


def in_place(name: str, names: Iterable[str], what: str) -> Advice:
    """Say which name to write in the place of a value; the arguments are those of :func:`instead`."""
    known = list(names)
    near = _near(name, known)
    return Advice(_instead(near, known, what), Fix("replace", near, safe=False) if near else None)


def in_expression(expression: str, name: str, names: Iterable[str], what: str) -> Advice:
    """Say which name to write in an expression; the other arguments are those of :func:`instead`."""
    known = list(names)
    near = _near(name, known)
    mended = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", lambda _: near, expression)
    return Advice(_instead(near, known, what), Fix("replace", mended, safe=False) if near else None)
