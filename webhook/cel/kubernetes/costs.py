"""Costs that Kubernetes sets for functions, its own and cel-go's (library/cost.go); all others cost 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from webhook.cel.checker.declarations import Library
from webhook.cel.costs import (
    LIST_COST,
    MOST,
    ONE,
    REGEX_FACTOR,
    STRING_FACTOR,
    STRUCT_COST,
    Bounds,
    CallEstimate,
    CostFunction,
    Estimate,
    EstimatedNode,
    SizeOf,
    by_argument,
    comparison,
    fixed,
    of_argument,
    of_scan,
    traversal,
)
from webhook.cel.kubernetes.authorizer import AUTHORIZER, DECISION, GROUP_CHECK, PATH_CHECK, RESOURCE_CHECK
from webhook.cel.kubernetes.cidr import CIDR_TYPE
from webhook.cel.kubernetes.format import FORMAT, Format
from webhook.cel.kubernetes.ip import IP_TYPE
from webhook.cel.kubernetes.quantity import QUANTITY
from webhook.cel.kubernetes.semver import SEMVER
from webhook.cel.kubernetes.url import URL_TYPE
from webhook.cel.types.base import Kind
from webhook.cel.types.values import Value, size_of

_CHECK_COST: Final = 350_000
"""The cost of an authorizer check; two fit into the limit of an expression."""
_REQUIREMENT_COST: Final = LIST_COST + STRUCT_COST
_REQUIREMENTS_PER_CHARACTER: Final = 0.5
_MAX_FORMAT_REGEX: Final = 128
_MAX_FORMAT_NAME: Final = 64
_ADDRESS_SIZE: Final = Bounds(4, 16)
_ITEMS: Final = "@items"
_TEXTS: Final = frozenset({Kind.STRING, Kind.BYTES})

_SCANNING: Final = ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")
_READING: Final = ("cidr", "string_to_ip", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver")
_REWRITING: Final = ("url", "jsonpatch.escapeKey", "lowerAscii", "upperAscii", "substring", "trim")


# -- calls at run time


def _regex_cost(text: Value, pattern_size: int) -> int:
    return traversal(1 + size_of(text)) * traversal(pattern_size, REGEX_FACTOR)


def _validate_cost(arguments: Sequence[Value], _: Value) -> int:
    format_ = arguments[0]
    return _regex_cost(arguments[1], format_.regex_size) if isinstance(format_, Format) else 1


def _contains_ip_cost(arguments: Sequence[Value], _: Value) -> int:
    return traversal(2 * size_of(arguments[0]))


def _contains_cidr_cost(arguments: Sequence[Value], _: Value) -> int:
    size = size_of(arguments[0])
    return traversal(2 * size) + traversal(size) + 1


def _and_of_text(cost: CostFunction) -> CostFunction:
    return lambda arguments, result: cost(arguments, result) + traversal(size_of(arguments[1]))


_COSTS: Final[dict[str, CostFunction]] = {
    "check": lambda _, __: _CHECK_COST,
    **dict.fromkeys(
        ("fieldSelector", "labelSelector"), lambda arguments, _: _selector(fixed(size_of(arguments[1]))).high
    ),
    **dict.fromkeys(_SCANNING, of_scan),
    **dict.fromkeys((*_REWRITING, *_READING), of_argument(0)),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), of_argument(0, 2 * STRING_FACTOR)),
    "join": lambda _, result: traversal(size_of(result), 2 * STRING_FACTOR),
    **dict.fromkeys(("find", "findAll"), lambda arguments, _: _regex_cost(arguments[0], size_of(arguments[1]))),
    "containsIP": _contains_ip_cost,
    "cidr_contains_ip_string": _and_of_text(_contains_ip_cost),
    "containsCIDR": _contains_cidr_cost,
    "cidr_contains_cidr_string": _and_of_text(_contains_cidr_cost),
    "validate": _validate_cost,
}


# -- estimates of calls


def _fixed(cost: Bounds) -> Estimate:
    return lambda _, __: CallEstimate(cost)


def _selector(size: Bounds) -> Bounds:
    requirements = size.scaled(_REQUIREMENTS_PER_CHARACTER).scaled(_REQUIREMENT_COST)
    return fixed(LIST_COST).plus(size.traversed).plus(requirements)


def _element(node: EstimatedNode) -> EstimatedNode | None:
    if not node.type.parameters:
        return None
    return EstimatedNode(node.type.parameters[0], (*node.path, _ITEMS) if node.path else ())


def _scan_estimate(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    size, element = size_of(arguments[0]), _element(arguments[0])
    if element is not None:
        each = ONE.plus(size_of(element).traversed) if element.type.kind in _TEXTS else ONE
        return CallEstimate(size.times(each))
    return CallEstimate(size.traversed)


def _replace_estimate(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    size, old, new, *_ = map(size_of, arguments)
    most, kept_most = _replacements(size.high, old.low, is_no_change=new.high <= old.low)
    least, kept_least = _replacements(size.low, old.high, is_no_change=old.high <= new.low)
    result = Bounds(least, most).times(new).plus(Bounds(kept_least, kept_most))
    return CallEstimate(size.scaled(2 * STRING_FACTOR), result)


def _replacements(size: int, old: int, *, is_no_change: bool) -> tuple[int, int]:
    """The number of replacements in an extreme case, and the length of the text that is kept."""
    if not old:
        # An empty text matches around every character.
        return min(size + 1, MOST), size
    if is_no_change:
        return 0, size
    return math.ceil(size / old), 0


def _split_estimate(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    size = size_of(arguments[0])
    limit = arguments[2].literal if len(arguments) > 2 else None  # noqa: PLR2004 - a text, a separator, a limit
    return CallEstimate(size.scaled(2 * STRING_FACTOR), Bounds(0, size.high if limit is None else limit % (MOST + 1)))


def _join_estimate(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    count, element = size_of(arguments[0]), _element(arguments[0])
    size = fixed(0) if element is None else count.times(size_of(element))
    if len(arguments) > 1:
        separators = Bounds(max(count.low - 1, 0), max(count.high - 1, 0))
        size = size.plus(size_of(arguments[1]).times(separators))
    return CallEstimate(size.traversed, size)


def _find_estimate(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    size, pattern, *_ = map(size_of, arguments)
    return CallEstimate(size.plus(ONE).traversed.times(pattern.scaled(REGEX_FACTOR)), Bounds(0, size.high))


def _and_of_text_estimate(base: Bounds) -> Estimate:
    return lambda size_of, arguments: CallEstimate(base.plus(size_of(arguments[1]).traversed))


_UNIT_EQUALITY: Final = frozenset(
    {IP_TYPE, CIDR_TYPE, QUANTITY, AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION, SEMVER}
)


def _equality_estimate(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    type_ = arguments[0].type
    if type_ == arguments[1].type:
        if type_ in _UNIT_EQUALITY:
            return CallEstimate(ONE)
        if type_ == FORMAT:
            return CallEstimate(Bounds(1, _MAX_FORMAT_NAME).traversed)
        if type_ == URL_TYPE:
            # Upstream looks at the size of the second alone.
            return CallEstimate(Bounds(1, (arguments[1].size or ONE).high).traversed)
    return comparison(size_of, arguments)


_COMPARED: Final = _ADDRESS_SIZE.plus(_ADDRESS_SIZE).traversed
_MASKED: Final = _COMPARED.plus(_ADDRESS_SIZE.traversed).plus(ONE)
_ESTIMATES: Final[dict[str, Estimate]] = {
    "check": _fixed(fixed(_CHECK_COST)),
    **dict.fromkeys(
        ("fieldSelector", "labelSelector"),
        lambda size_of, arguments: CallEstimate(_selector(size_of(arguments[1]))),
    ),
    **dict.fromkeys(_SCANNING, _scan_estimate),
    **dict.fromkeys(_REWRITING, by_argument(0, result=lambda size: size)),
    **dict.fromkeys(_READING, by_argument(0)),
    "ip.isCanonical": by_argument(0, 2 * STRING_FACTOR),
    "replace": _replace_estimate,
    "split": _split_estimate,
    "join": _join_estimate,
    **dict.fromkeys(("find", "findAll"), _find_estimate),
    "containsIP": _fixed(_COMPARED),
    "cidr_contains_ip_string": _and_of_text_estimate(_COMPARED),
    "containsCIDR": _fixed(_MASKED),
    "cidr_contains_cidr_string": _and_of_text_estimate(_MASKED),
    "validate": lambda size_of, arguments: CallEstimate(
        size_of(arguments[1]).traversed.scaled(_MAX_FORMAT_REGEX * REGEX_FACTOR)
    ),
    "_==_": _equality_estimate,
}

ESTIMATES: Final = Library("kubernetes estimates", call_estimates=_ESTIMATES)
COSTS: Final = Library("kubernetes costs", call_costs=_COSTS)
