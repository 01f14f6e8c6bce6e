"""Variables and the chains of selections and indexes that start there: `object.spec.containers[0].?name`.

cel-go resolves such a chain in one step and counts one unit for it and one for each link
(cel-go interpreter/attributes.go). Plain dicts are read without checks; `follow` takes over where that fails.
Links are paid for in advance, and refunded if they are not reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby
from typing import Final, NamedTuple

from webhook.cel.errors import NO_SUCH_KEY, EvaluationError
from webhook.cel.runtime.conversions import double_to_string
from webhook.cel.runtime.meter import caught
from webhook.cel.runtime.operators import CONTAINERS
from webhook.cel.runtime.writer import NOT_CONSTANT, Operand, Writer
from webhook.cel.syntax import ast
from webhook.cel.syntax.ast import Expression
from webhook.cel.types.base import Type
from webhook.cel.types.values import (
    ABSENT,
    INT_MAX,
    INT_MIN,
    NONE,
    Optional,
    Struct,
    UInt,
    Value,
    go_type,
    to_key,
    type_of,
)

_NUMBERS: Final = frozenset({int, UInt, float})


def _shown(key: Value) -> str:
    if type(key) is float:
        return double_to_string(key)
    return str(key).lower() if type(key) is bool else str(int(key)) if type(key) is UInt else str(key)


def no_such_key(key: Value) -> EvaluationError:
    """The error of a map without the key."""
    return EvaluationError(NO_SUCH_KEY, _shown(key))


def index(container: Value, key: Value) -> Value:
    """`container[key]`."""
    found = find(container, key)
    if found is ABSENT:
        is_list = type(container) is list
        raise EvaluationError(f"index out of bounds: {_shown(key)}") if is_list else no_such_key(key)
    return found


def has(container: Value, field: str) -> bool:
    """`has(container.field)`."""
    if type(container) is Optional:
        return container.present and has(container.value, field)
    tester = getattr(container, "cel_has", None)
    if tester is not None:
        return bool(tester(field))
    if isinstance(container, dict):
        return field in container
    return find(container, field) is not ABSENT


def find_present(container: Value, key: Value) -> Value:
    """The value under a key or index, for `container[?key]`."""
    tester = getattr(container, "cel_has", None)
    return ABSENT if tester is not None and not tester(key) else find(container, key)


def find(container: Value, key: Value) -> Value:
    """The value under a key or index; `ABSENT` if there is none."""
    cls = type(container)
    if cls is dict:
        kind = type(key)
        if kind is bool:
            key = to_key(key)
        elif kind is not str and kind not in _NUMBERS:
            return ABSENT
        return container.get(key, ABSENT)
    if cls is list:
        position = _position(key)
        return container[position] if 0 <= position < len(container) else ABSENT
    if cls is Struct:
        return container.get(key, ABSENT) if type(key) is str else ABSENT
    select = getattr(container, "cel_select", None)
    return ABSENT if select is None else select(key)


def _position(key: Value) -> int:
    cls = type(key)
    if cls is int:
        return int(key)
    if cls is UInt or cls is float:
        if math.isfinite(key) and int(key) == key and INT_MIN <= key <= INT_MAX:
            return int(key)
        raise EvaluationError(f"unsupported index value {_shown(key)} in list")
    raise EvaluationError(f"unsupported index type '{type_of(key).name}' in list")


KEYS: Final = frozenset({bool, int, UInt, float, str})
"""Classes of values with which a chain can continue."""
_NATIVE: Final = {
    "bytes": "[]uint8",
    "google.protobuf.Duration": "time.Duration",
    "google.protobuf.Timestamp": "time.Time",
    "list": "[]interface {}",
    "map": "map[string]interface {}",
    "null_type": "<nil>",
}
"""cel-go's names for values of variables that it does not convert to its own."""
LOOKUP: Final = (KeyError, TypeError, EvaluationError)
"""The exceptions of a step into a value that is not a plain dict with the key."""


class Link(NamedTuple):
    """One step of a chain: a constant key, or an expression that computes it."""

    key: Value
    computed: Expression | None = None
    is_optional: bool = False


class Chain(NamedTuple):
    """A chain: the writer of the value that it starts from, the links, and its cost beside them."""

    root: Callable[[], Operand]
    links: tuple[Link, ...] = ()
    own_cost: int = 1


# -- writing source


def emit_chain(writer: Writer, chain: Chain, *, own_cost: int) -> Operand:
    """Write the evaluation of a chain.

    Args:
        own_cost: Its cost beside its links; less than the chain's own when it is a part of another attribute.
    """
    writer.spend(own_cost)
    operand = chain.root()
    for is_known, links in groupby(chain.links, key=lambda link: link.computed is None):
        if is_known:
            operand = _known_steps(writer, operand, [*links])
        else:
            for link in links:
                operand = _computed_step(writer, operand, link)
    return operand


def _known_steps(writer: Writer, start: Operand, links: list[Link]) -> Operand:
    if len(links) > 1 and links[-1].is_optional and not any(link.is_optional for link in links[:-1]):
        start = _known_steps(writer, start, links[:-1])
        links = links[-1:]
    is_optional = any(link.is_optional for link in links)
    if writer.gives_up and len(links) > 1 and not is_optional:
        for link in links:  # one by one, as other chains begin with the same links
            start = _known_steps(writer, start, [link])
        return start
    writer.spend(len(links))
    steps, cls = tuple(links), Optional if is_optional else None
    known = writer.facts.get((start.text, steps)) if writer.gives_up else None
    if known and not is_optional:
        return Operand(known, fails=False)
    result = known or writer.name()
    otherwise = f"left, {result} = follow(left, {start.text}, {writer.given(steps)})"
    if known:  # an absent value refunds steps
        writer.line(f"if not {known}.present: {otherwise}")
        return Operand(known, cls, fails=False)
    if start.value is not NOT_CONSTANT or any(type(link.key) is not str for link in links):
        writer.line(otherwise)
        return writer.settled(Operand(result, cls))
    if is_optional and len(links) == 1:  # is missing more often than not, and an exception would be slow
        key = writer.given(links[0].key)
        writer.line(f"if type({start.text}) is dict and {key} in {start.text}:")
        writer.line(f"\t{result} = Optional({start.text}[{key}])")
        fails = writer.otherwise("else:", otherwise, result)
    else:
        source = start.text + "".join(f"[{writer.given(link.key)}]" for link in links)
        writer.line(f"try: {result} = {f'Optional({source})' if is_optional else source}")
        fails = writer.otherwise("except LOOKUP:", otherwise, result)
    writer.facts[start.text, steps] = result
    return Operand(result, cls, fails)


def _computed_step(writer: Writer, start: Operand, link: Link) -> Operand:
    assert link.computed is not None  # noqa: S101 - else it is a known one
    result = writer.set(start.text)
    with writer.block(f"if goes_on({result}):"):
        writer.spend(1)
        key = writer.resolved(link.computed)
        is_native = _is_of_variable(link.computed)
        writer.line(f"left, {result} = step(left, {result}, {key.text}, {link.is_optional}, {is_native})")
    return writer.settled(Operand(result))


def _is_of_variable(node: Expression | None) -> bool:
    """Whether a chain starts from a variable of the environment."""
    while isinstance(node, (ast.Select, ast.Call)) and getattr(node, "resolved", None) is None:
        node = node.operand if isinstance(node, ast.Select) else next(node.children(), None)
    return str(getattr(node, "resolved", "")).startswith(".")


def emit_presence(writer: Writer, chain: Chain, field: str, *, negated: bool = False, is_part: bool = False) -> Operand:
    """Write `has(chain.field)`, or `!has(chain.field)`; `is_part` if it is a part of another attribute."""
    writer.spend(writer.scope.options.presence_test_cost)
    operand = emit_chain(writer, chain, own_cost=chain.own_cost)
    value, key = operand.text, writer.given(field)
    result = writer.name()
    writer.line(f"if type({value}) is dict: {result} = {key} {'not in' if negated else 'in'} {value}")
    function = "resolved_presence" if is_part else "present"
    fails = writer.otherwise("else:", f"left, {result} = {function}(left, {value}, {key}, {negated})", result)
    return Operand(result, None if is_part else bool, fails)


# -- called by the source


def unbound(name: str) -> EvaluationError:
    """The error of a variable that was not bound."""
    return EvaluationError(f"no such attribute(s): {name}")


def follow(left: int, value: Value, links: tuple[Link, ...]) -> tuple[int, Value]:
    """Follow links that were paid for; from the first optional one on, missing keys are absent.

    Returns:
        The cost left to be spent, and the value or error.
    """
    unpaid = len(links)
    if type(value) is EvaluationError:
        return left + unpaid, value
    optional = False
    try:
        for key, _, is_optional in links:
            if type(value) is Optional and not optional:
                if not value.present:
                    return left + unpaid, value
                value = value.value
                optional = True
            optional = optional or is_optional
            if optional:
                value = find_present(value, key)
                if value is ABSENT:
                    return left + unpaid, NONE
                unpaid -= 1
            else:
                unpaid -= 1
                value = index(value, key)
    except EvaluationError:
        return left + unpaid, caught()
    return left, Optional(value) if optional else value


def goes_on(value: Value) -> bool:
    """Whether a chain continues after a value: it is neither an error nor absent."""
    cls = type(value)
    return cls is not EvaluationError and (cls is not Optional or value.present)


def no_key(value: Value, *, is_native: bool) -> EvaluationError:
    """The error of an invalid key (cel-go interpreter/attributes.go, newQualifier)."""
    native = _NATIVE.get(type_of(value).name) if is_native else None
    return EvaluationError(f"invalid qualifier type: {native or go_type(value)}")


def step(left: int, value: Value, key: Value, is_optional: bool, is_native: bool) -> tuple[int, Value]:
    """Follow one link that was paid for, by a computed key; like `follow`."""
    cls, kind = type(value), type(key)
    if cls is dict and kind is str and not is_optional:
        found = value.get(key, ABSENT)
        if found is not ABSENT:
            return left, found
    elif cls is list and kind is int and not is_optional and 0 <= key < len(value):
        return left, value[key]
    if kind is EvaluationError:
        return left + (is_optional or cls is Optional), key
    if kind not in KEYS:
        return left + (is_optional or cls is Optional), no_key(key, is_native=is_native)
    return follow(left, value, (Link(key, None, is_optional),))


def present(left: int, value: Value, field: str, negated: bool) -> tuple[int, Value]:
    """Whether a value has a field.

    A unit is refunded if the value is an error, as the test was not reached, or an optional without the field.
    """
    if type(value) is EvaluationError:
        return left + 1, value
    try:
        found = has(value, field)
    except EvaluationError:
        return left, caught()
    return left + (type(value) is Optional and not found), found is not negated


def resolved_presence(left: int, value: Value, field: str, negated: bool) -> tuple[int, Value]:
    """Like `present`, within another attribute: for an optional, the result is the field itself.

    cel-go continues with the chain alone, without converting it to a bool (interpreter/interpretable.go, evalTestOnly).
    """
    if type(value) is Optional:
        return follow(left, value, (Link(field),))
    return present(left, value, field, negated)


_INSIDE: Final = frozenset({"kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL", "net.IP", "net.CIDR"})
"""Types whose values cel-go cannot restore from the Go values inside them."""


def resolved_optional(value: Value) -> Value:
    """An optional, as a variable or a choice holds it; any other value or error is unchanged.

    cel-go takes the Go value out, and makes it a CEL value again (interpreter/attributes.go, Resolve): an optional in
    an optional becomes its value, a type its name; Kubernetes' own values cannot be converted.
    """
    if type(value) is not Optional or not value.present or type(value.value) in CONTAINERS:
        return value
    inner = value.value
    while type(inner) is Optional:
        inner = inner.value if inner.present else None
    if type(inner) is Type:
        inner = inner.name
    elif hasattr(inner, "cel_type") and inner.cel_type.name in _INSIDE:
        inner = EvaluationError(f"unsupported conversion to ref.Val: ({inner.cel_type.name})")
    return value if inner is value.value else Optional(inner)
