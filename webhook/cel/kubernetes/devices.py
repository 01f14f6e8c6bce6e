"""Device selectors: compiled, checked and estimated as the API server does.

Follows k8s.io/dynamic-resource-allocation `cel/compile.go` and, for 1.30, `structured/namedresources/cel/compile.go`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from webhook.budget import current, work
from webhook.cel.cache import Cache
from webhook.cel.checker.cost import estimate_cost
from webhook.cel.checker.declarations import Library, StructType
from webhook.cel.environment import Environment, Program, Refusal
from webhook.cel.errors import EvaluationError
from webhook.cel.ext.comprehensions import BINDINGS
from webhook.cel.functions import Bounds, CallEstimate, EstimatedNode, SizeOf, member
from webhook.cel.kubernetes import semver
from webhook.cel.kubernetes.environments import compatible_with, environment
from webhook.cel.kubernetes.quantity import QUANTITY
from webhook.cel.kubernetes.semver import SEMVER
from webhook.cel.runtime.operators import equal
from webhook.cel.types.base import ANY, BOOL, DYN, INT, STRING, Type, declared_name, list_of, map_of, struct
from webhook.cel.types.values import Value
from webhook.issues import Issue
from webhook.release import Release

CONSUMABLE_CAPACITY: Final = "DRAConsumableCapacity"
LIST_ATTRIBUTES: Final = "DRAListTypeAttributes"

MAX_COST: Final = 1_000_000
"""The largest cost of a selector (CELSelectorExpressionMaxCost)."""

_RELEVANT: Final = frozenset({CONSUMABLE_CAPACITY, LIST_ATTRIBUTES})

_NAMED_RESOURCES: Final = 30
"""The release whose selectors read `attributes.string` and similar fields."""
_NO_COLUMN_SINCE: Final = 32
_ESTIMATED_SINCE: Final = 32
_MULTIPLE_SINCE: Final = 34
_LISTS_SINCE: Final = 36
_ANY_LENGTH_SINCE: Final = 37

NOT_A_RESULT: Final = "the value is of another type"
"""The issue of an expression whose value is not one that it may have."""

_DOMAIN_MAX: Final = 63
_ID_MAX: Final = 32
_ENTRIES_MAX: Final = 32
_VALUE_MAX: Final = 64
"""The largest size of an attribute; a list has fewer elements."""
_LIST_MAX: Final = 48


def max_cost(selector: Program, release: Release) -> int:
    """The estimated cost of a selector; 0 where the release has no limit."""
    return estimate_cost(selector.checked, selector.scope, _size_of).high if release >= _ESTIMATED_SINCE else 0


_CHARACTERS: Final = 16
"""The characters of a report kept for a unit of work: a hundred errors show a long line a hundred times."""
_ENTRY: Final = 400
"""The bytes that a result takes beside its texts."""
_results: Final[Cache[Refusal | int]] = Cache(5 << 20)


def cost_of(
    expression: str, release: Release, gates: frozenset[str], *, stored: bool, is_derived: bool
) -> Refusal | int:
    """The estimated cost of a selector, 0 without a limit, or its refusal; results are cached, programs are not.

    The arguments are those of `compile_selector`.

    Raises:
        BudgetExceededError: The check is more work than the budget in force allows.
    """
    key = expression, release, gates & _RELEVANT, stored, is_derived, current().is_offline
    if (known := _results.get(key)) is None:
        found = compile_selector(expression, release, gates, stored=stored, is_derived=is_derived)
        known = found if isinstance(found, Refusal) else max_cost(found, release)
        text = known.text if isinstance(known, Refusal) else ""
        _results.put(key, known, sys.getsizeof(expression) + sys.getsizeof(text) + _ENTRY)
    return known


def compile_selector(
    expression: str,
    release: Release,
    gates: frozenset[str] = frozenset(),
    *,
    stored: bool = False,
    is_derived: bool = False,
) -> Program | Refusal:
    """Compile a selector as the API server does before it accepts one.

    Args:
        release: The Kubernetes release, as the minor of 1.x, from 30 on.
        gates: The feature gates that are on; `CONSUMABLE_CAPACITY` and `LIST_ATTRIBUTES` matter.
        stored: Whether the selector is in the cluster already.
        is_derived: Whether it is the expression of a derived attribute, whose value is one that an attribute can have.

    Raises:
        BudgetExceededError: The check is more work than the budget in force allows.
    """
    relevant = gates & _RELEVANT
    known = selector_environment(release, relevant, stored=stored)

    def refuse(type_: Type) -> Refusal | None:
        wanted = ""
        if is_derived:
            wanted = _of_derived(type_, has_lists=stored or LIST_ATTRIBUTES in gates)
        elif release <= _NAMED_RESOURCES:
            wanted = "" if type_ == BOOL else "bool"
        elif type_ not in (BOOL, ANY, _attribute_type(release, relevant, stored=stored)):
            wanted = f"bool or the unknown type, not {declared_name(type_)}"
        return Refusal(f"must evaluate to {wanted}", issues=(Issue(NOT_A_RESULT),)) if wanted else None

    found = known.attempt(expression, refuse)
    if isinstance(found, Refusal):
        work(len(found.text) // _CHARACTERS)
        if not expression and release < _NO_COLUMN_SINCE:  # before Kubernetes 1.32 (cel-go 0.22), it has a column
            return found._replace(text=found.text.replace("<input>:1:0:", "<input>:1:1:", 1))
    return found


_SCALARS: Final = (BOOL, INT, STRING, SEMVER, ANY, DYN)


def _of_derived(type_: Type, *, has_lists: bool) -> str:
    """The type that a derived attribute must evaluate to; empty if it does."""
    if type_ in _SCALARS or (has_lists and type_ in map(list_of, _SCALARS)):
        return ""
    lists = " or a list of these scalars" if has_lists else ""
    return f"a primitive scalar (string, integer, boolean, semver){lists}, not {declared_name(type_)}"


# -- environments

DEVICE: Final = struct("kubernetes.DRADevice")
_SEMVER_SINCE: Final = 33
"""The first release that has it in every environment, in another version."""
_NAMED_VALUES: Final = {
    "quantity": QUANTITY,
    "bool": BOOL,
    "int": INT,
    "intslice": list_of(INT),
    "string": STRING,
    "stringslice": list_of(STRING),
    "version": SEMVER,
}
_NAMED_RESOURCES_LIBRARY: Final = Library(
    variables={f"attributes.{name}": map_of(STRING, type_) for name, type_ in _NAMED_VALUES.items()}
)


@lru_cache(maxsize=64)
def selector_environment(release: Release, gates: frozenset[str] = frozenset(), *, stored: bool) -> Environment:
    """The environment of selectors; stored ones may use the additions of all gates, others those of the given ones."""
    base = environment(release, stored=stored)
    if release <= _NAMED_RESOURCES:
        return base.extend(_NAMED_RESOURCES_LIBRARY, semver.VERSION_0)
    usable = max(compatible_with(release, stored=stored), Release(31))
    libraries = [BINDINGS] if usable >= _SEMVER_SINCE else [BINDINGS, semver.VERSION_0]
    if release >= _LISTS_SINCE and (stored or LIST_ATTRIBUTES in gates):
        libraries.append(_INCLUDES if release < _ANY_LENGTH_SINCE else _INCLUDES_OF_ANY_LENGTH)
    attribute = _attribute_type(release, gates, stored=stored)
    fields = {
        "driver": STRING,
        "attributes": map_of(STRING, map_of(STRING, attribute)),
        "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
    }
    if release >= _MULTIPLE_SINCE and (stored or CONSUMABLE_CAPACITY in gates):
        fields["allowMultipleAllocations"] = BOOL
    device = Library(variables={"device": DEVICE}, structs=(StructType(DEVICE, fields),))
    return base.extend(*libraries, device)


def _attribute_type(release: Release, gates: frozenset[str], *, stored: bool) -> Type:
    """Return the type of attributes; until 1.36, the gate also decides for stored selectors."""
    if release < _LISTS_SINCE:
        return ANY
    return DYN if LIST_ATTRIBUTES in gates or (stored and release >= _ANY_LENGTH_SINCE) else ANY


def _including(id_: str, most: int | None = None) -> Library:
    """The library whose `includes` looks for a value in the first elements of a list, or in all."""

    def includes(target: Value, sought: Value) -> bool:
        if type(target) is not list:
            return equal(target, sought)
        if any(equal(value, sought) for value in target[:most]):
            return True
        if most is not None and len(target) > most:
            raise EvaluationError(f"'includes' function cannot be applied to lists longer than {most} values")
        return False

    def estimate(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
        return CallEstimate(size_of(arguments[0]) if most is None else Bounds(0, most))

    return Library(functions=(member("includes", id_, (DYN, DYN), BOOL, includes, estimate=estimate),))


_INCLUDES: Final = _including("dra_includes_dyn_dyn", _LIST_MAX)
_INCLUDES_OF_ANY_LENGTH: Final = _including("list_includes")
"""From Kubernetes 1.37 on, the list library provides `includes`."""


# -- sizes


def _size_of(node: EstimatedNode) -> Bounds | None:
    """The number of characters, elements or entries of the value at a path; None if it is not declared."""
    match node.path:
        case ("device", "attributes" | "capacity") | ("device", "attributes" | "capacity", "@items" | "@values"):
            most = _ENTRIES_MAX
        case ("device", "driver") | ("device", "attributes" | "capacity", "@keys"):
            most = _DOMAIN_MAX
        case ("device", "attributes" | "capacity", "@items" | "@values", "@keys"):
            most = _ID_MAX
        case ("device", "attributes", "@items" | "@values", _):
            most = _VALUE_MAX
        case ("device", "allowMultipleAllocations"):
            most = 1
        case ("device",) | ("device", "capacity", "@items" | "@values", "@items" | "@values"):
            most = 0
        case _:
            return None
    return Bounds(0, most)
