"""Variables and the chains of selections and indexes that start there: `object.spec.containers[0].?name`.

cel-go resolves such a chain in one step and counts one unit for it and one for each link
(cel-go interpreter/attributes.go); so do the closures made here. They read plain dicts without looking first and fall
back to `resolve` when that does not work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from webhook.cel.errors import EvaluationError
from webhook.cel.runtime import operators
from webhook.cel.runtime.frame import UNSET
from webhook.cel.runtime.operators import MISSING
from webhook.cel.types.values import NONE, Optional, Value

if TYPE_CHECKING:
    from webhook.cel.runtime.frame import Closure, Frame


class Link(NamedTuple):
    """One step of a chain: a constant key, or a closure that computes it.

    `strict` says whether an optional step from what has no parts at all is an error.
    """

    key: Value
    computed: Closure | None = None
    optional: bool = False
    strict: bool = False


class Chain(NamedTuple):
    """A chain: the slot of a variable or a closure for anything else, the links, and what it costs of its own."""

    links: tuple[Link, ...]
    slot: int | None = None
    name: str = ""
    root: Closure | None = None
    own_cost: int = 1


def unbound(name: str) -> EvaluationError:
    """The error of a variable that was not bound."""
    return EvaluationError(f"no such attribute(s): {name}")


def resolve(frame: Frame, value: Value, links: tuple[Link, ...]) -> Value:
    """Follows the links from a value, counting each; from the first optional one on, what is missing is absent."""
    optional = False
    for link in links:
        if type(value) is Optional and not optional:
            if not value.present:
                return value
            value = value.value
            optional = True
        optional = optional or link.optional
        if optional:
            key = link.key if link.computed is None else link.computed(frame)
            value = operators.find_present(value, key, strict=link.strict)
            if value is MISSING:
                return NONE
            frame[0] -= 1
        else:
            frame[0] -= 1
            key = link.key if link.computed is None else link.computed(frame)
            value = operators.index(value, key)
    return Optional(value) if optional else value


def emit(chain: Chain, *, own_cost: int) -> Closure:
    """The closure that follows a chain.

    Args:
        chain: The chain.
        own_cost: What it costs beside its links; less than the chain's own when it is a part of something else.
    """
    if chain.root is not None:
        return _from_root(chain, chain.root, own_cost)
    assert chain.slot is not None  # noqa: S101  # a chain starts at a slot or a closure
    if not chain.links:
        return _variable(chain.slot, chain.name, own_cost)
    if _is_plain(chain):
        return _fields(chain, chain.slot, own_cost)
    variable = _variable(chain.slot, chain.name, own_cost)
    links = chain.links
    return lambda frame: resolve(frame, variable(frame), links)


def _is_plain(chain: Chain) -> bool:
    """Whether all links are fields with constant names, none of them optional."""
    for link in chain.links:  # noqa: SIM110  # takes half the time that `all` does
        if link.computed is not None or link.optional or type(link.key) is not str:
            return False
    return True


def _variable(slot: int, name: str, own_cost: int) -> Closure:
    def variable(frame: Frame) -> Value:
        frame[0] -= own_cost
        value = frame[slot]
        if value is UNSET:
            raise unbound(name)
        return value

    return variable


def _from_root(chain: Chain, root: Closure, own_cost: int) -> Closure:
    links = chain.links
    if not links and not own_cost:
        return root

    def follow(frame: Frame) -> Value:
        frame[0] -= own_cost
        return resolve(frame, root(frame), links)

    return follow


def _fields(chain: Chain, slot: int, own_cost: int) -> Closure:
    links = chain.links
    name = chain.name

    def step_by_step(frame: Frame) -> Value:
        frame[0] += len(links)
        value = frame[slot]
        if value is UNSET:
            raise unbound(name)
        return resolve(frame, value, links)

    cost = own_cost + len(links)
    names = [link.key for link in links]
    if len(names) == 1:
        return _one_field(slot, names[0], cost, step_by_step)
    if len(names) == 2:  # noqa: PLR2004  # the most frequent by far
        return _two_fields(slot, names[0], names[1], cost, step_by_step)

    def more(frame: Frame) -> Value:
        frame[0] -= cost
        value = frame[slot]
        try:
            for field in names:
                value = value[field]
        except (KeyError, TypeError):
            return step_by_step(frame)
        return value

    return more


def _one_field(slot: int, field: str, cost: int, otherwise: Closure) -> Closure:
    def one(frame: Frame) -> Value:
        frame[0] -= cost
        try:
            return frame[slot][field]
        except (KeyError, TypeError):
            return otherwise(frame)

    return one


def _two_fields(slot: int, first: str, second: str, cost: int, otherwise: Closure) -> Closure:
    def two(frame: Frame) -> Value:
        frame[0] -= cost
        try:
            return frame[slot][first][second]
        except (KeyError, TypeError):
            return otherwise(frame)

    return two


def emit_presence(chain: Chain, field: str, *, test_cost: int, strict: bool) -> Closure:
    """The closure of `has(chain.field)`; the test itself costs `test_cost`, and `strict` is as in `Link`."""
    operand = emit(chain, own_cost=0)
    own_cost = chain.own_cost + test_cost

    def presence(frame: Frame) -> bool:
        frame[0] -= own_cost
        try:
            value = operand(frame)
        except EvaluationError:
            frame[0] += 1  # the step that tests was not come to
            raise
        return field in value if type(value) is dict else operators.has(value, field, strict=strict)

    slot = chain.slot
    if slot is None or not _is_plain(chain):
        return presence
    names = [link.key for link in chain.links]
    whole_cost = own_cost + len(names)

    def presence_in_dicts(frame: Frame) -> bool:
        value = frame[slot]
        try:
            for name in names:
                value = value[name]
        except (KeyError, TypeError):
            return presence(frame)
        if type(value) is not dict:
            return presence(frame)
        frame[0] -= whole_cost
        return field in value

    return presence_in_dicts
