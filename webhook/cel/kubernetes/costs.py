"""Costs that Kubernetes sets for functions, its own and cel-go's (library/cost.go)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from webhook.cel.checker.declarations import Library
from webhook.cel.cost.calls import LIST_COST, REGEX_FACTOR, STRING_FACTOR, STRUCT_COST, CallCost, of_scan, traversal
from webhook.cel.cost.sizes import (
    MOST,
    ONE,
    Bounds,
    CallEstimate,
    CallEstimateFunction,
    EstimatedNode,
    SizeOf,
    fixed,
    member,
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

_CHEAP: Final = (
    *("serviceAccount", "path", "group", "resource", "subresource", "namespace", "name"),
    *("allowed", "reason", "error", "errored", "format.named"),
    *("masked", "prefixLength", "family", "isUnspecified", "isLoopback"),
    *("isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast"),
    *("sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add", "sub"),
    *("major", "minor", "patch"),
    *("getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery"),
)
_SCANNING: Final = ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf")
_READING: Final = ("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver")
_REWRITING: Final = ("lowerAscii", "upperAscii", "substring", "trim")


# -- calls at run time


def _fixed_cost(number: int) -> CallCost:
    return lambda _, __, ___: number


def _of_first(factor: float) -> CallCost:
    return lambda _, arguments, __: traversal(size_of(arguments[0]), factor)


def _regex_cost(text: Value, pattern_size: int) -> int:
    return traversal(1 + size_of(text)) * traversal(pattern_size, REGEX_FACTOR)


def _validate_cost(_: str, arguments: Sequence[Value], __: Value) -> int | None:
    format_ = arguments[0]
    return _regex_cost(arguments[1], format_.regex_size) if isinstance(format_, Format) else None


def _contains_ip_cost(id_: str, arguments: Sequence[Value], _: Value) -> int:
    cost = traversal(2 * size_of(arguments[0]))
    return cost + traversal(size_of(arguments[1])) if id_ == "cidr_contains_ip_string" else cost


def _contains_cidr_cost(id_: str, arguments: Sequence[Value], _: Value) -> int:
    size = size_of(arguments[0])
    cost = traversal(2 * size) + traversal(size) + 1
    return cost + traversal(size_of(arguments[1])) if id_ == "cidr_contains_cidr_string" else cost


_COSTS: Final[dict[str, CallCost]] = {
    "check": _fixed_cost(_CHECK_COST),
    **dict.fromkeys(_CHEAP, _fixed_cost(1)),
    **dict.fromkeys(
        ("fieldSelector", "labelSelector"), lambda _, arguments, __: _selector(fixed(size_of(arguments[1]))).high
    ),
    **dict.fromkeys(_SCANNING, of_scan),
    **dict.fromkeys(("url", "jsonpatch.escapeKey", *_REWRITING, *_READING), _of_first(STRING_FACTOR)),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _of_first(2 * STRING_FACTOR)),
    "join": lambda _, __, result: traversal(size_of(result), 2 * STRING_FACTOR),
    **dict.fromkeys(("find", "findAll"), lambda _, arguments, __: _regex_cost(arguments[0], size_of(arguments[1]))),
    "ip": lambda id_, arguments, _: 1 if id_ == "cidr_ip" else traversal(size_of(arguments[0])),
    "containsIP": _contains_ip_cost,
    "containsCIDR": _contains_cidr_cost,
    "validate": _validate_cost,
}


# -- estimates of calls


def _fixed_estimate(number: int) -> CallEstimateFunction:
    return lambda _, __, ___, ____: CallEstimate(fixed(number))


def _of_argument(factor: float, *, is_result: bool = False) -> CallEstimateFunction:
    def estimate(size_of: SizeOf, _: str, __: EstimatedNode | None, arguments: Sequence[EstimatedNode]) -> CallEstimate:
        size = size_of(arguments[0])
        return CallEstimate(size.scaled(factor), size if is_result else None)

    return estimate


def _on_target(
    estimate: Callable[[SizeOf, EstimatedNode, Sequence[EstimatedNode]], CallEstimate],
) -> CallEstimateFunction:
    """The estimate of a function that is always called on a target."""

    def with_target(
        size_of: SizeOf, _: str, target: EstimatedNode | None, arguments: Sequence[EstimatedNode]
    ) -> CallEstimate:
        return estimate(size_of, member(target), arguments)

    return with_target


@_on_target
def _rewrite_estimate(size_of: SizeOf, target: EstimatedNode, _: Sequence[EstimatedNode]) -> CallEstimate:
    size = size_of(target)
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def _selector(size: Bounds) -> Bounds:
    requirements = size.scaled(_REQUIREMENTS_PER_CHARACTER).scaled(_REQUIREMENT_COST)
    return fixed(LIST_COST).plus(size.scaled(STRING_FACTOR)).plus(requirements)


@_on_target
def _selector_estimate(size_of: SizeOf, _: EstimatedNode, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    return CallEstimate(_selector(size_of(arguments[0])))


def _element(node: EstimatedNode) -> EstimatedNode | None:
    if not node.type.parameters:
        return None
    return EstimatedNode(node.type.parameters[0], (*node.path, _ITEMS) if node.path else ())


@_on_target
def _scan_estimate(size_of: SizeOf, target: EstimatedNode, _: Sequence[EstimatedNode]) -> CallEstimate:
    size = size_of(target)
    element = _element(target)
    if element is not None:
        each = ONE.plus(size_of(element).scaled(STRING_FACTOR)) if element.type.kind in _TEXTS else ONE
        return CallEstimate(size.times(each))
    return CallEstimate(size.scaled(STRING_FACTOR))


@_on_target
def _replace_estimate(size_of: SizeOf, target: EstimatedNode, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    size, old, new = size_of(target), size_of(arguments[0]), size_of(arguments[1])
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


@_on_target
def _split_estimate(size_of: SizeOf, target: EstimatedNode, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    size = size_of(target)
    most = size.high
    limit = arguments[1].literal if len(arguments) > 1 else None
    if limit is not None:
        most = limit % (MOST + 1)
    return CallEstimate(size.scaled(2 * STRING_FACTOR), Bounds(0, most))


@_on_target
def _join_estimate(size_of: SizeOf, target: EstimatedNode, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    count = size_of(target)
    element = _element(target)
    size = fixed(0) if element is None else count.times(size_of(element))
    if arguments:
        separators = Bounds(max(count.low - 1, 0), max(count.high - 1, 0))
        size = size.plus(size_of(arguments[0]).times(separators))
    return CallEstimate(size.scaled(STRING_FACTOR), size)


@_on_target
def _find_estimate(size_of: SizeOf, target: EstimatedNode, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    size = size_of(target)
    pattern = size_of(arguments[0]).scaled(REGEX_FACTOR)
    return CallEstimate(size.plus(ONE).scaled(STRING_FACTOR).times(pattern), Bounds(0, size.high))


@_on_target
def _validate_estimate(size_of: SizeOf, _: EstimatedNode, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    text = size_of(arguments[0]).scaled(STRING_FACTOR)
    return CallEstimate(text.scaled(_MAX_FORMAT_REGEX * REGEX_FACTOR))


def _ip_estimate(
    size_of: SizeOf, id_: str, _: EstimatedNode | None, arguments: Sequence[EstimatedNode]
) -> CallEstimate:
    return CallEstimate(ONE if id_ == "cidr_ip" else size_of(arguments[0]).scaled(STRING_FACTOR))


def _containment_estimate(base: Bounds, text_overload: str) -> CallEstimateFunction:
    def estimate(
        size_of: SizeOf, id_: str, _: EstimatedNode | None, arguments: Sequence[EstimatedNode]
    ) -> CallEstimate:
        if id_ != text_overload:
            return CallEstimate(base)
        return CallEstimate(base.plus(size_of(arguments[0]).scaled(STRING_FACTOR)))

    return estimate


_UNIT_EQUALITY: Final = frozenset(
    {IP_TYPE, CIDR_TYPE, QUANTITY, AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION, SEMVER}
)


def _equality_estimate(
    _: SizeOf, __: str, ___: EstimatedNode | None, arguments: Sequence[EstimatedNode]
) -> CallEstimate | None:
    if arguments[0].type != arguments[1].type:
        return None
    type_ = arguments[0].type
    if type_ in _UNIT_EQUALITY:
        return CallEstimate(ONE)
    if type_ == FORMAT:
        return CallEstimate(Bounds(1, _MAX_FORMAT_NAME).scaled(STRING_FACTOR))
    if type_ == URL_TYPE:
        # Upstream looks at the size of the second alone.
        size = arguments[1].size or ONE
        return CallEstimate(Bounds(1, size.high).scaled(STRING_FACTOR))
    return None


_COMPARED: Final = _ADDRESS_SIZE.plus(_ADDRESS_SIZE).scaled(STRING_FACTOR)
_MASKED: Final = _COMPARED.plus(_ADDRESS_SIZE.scaled(STRING_FACTOR)).plus(ONE)
_ESTIMATES: Final[dict[str, CallEstimateFunction]] = {
    "check": _fixed_estimate(_CHECK_COST),
    **dict.fromkeys(_CHEAP, _fixed_estimate(1)),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector_estimate),
    **dict.fromkeys(_SCANNING, _scan_estimate),
    **dict.fromkeys(("url", "jsonpatch.escapeKey"), _of_argument(STRING_FACTOR, is_result=True)),
    **dict.fromkeys(_REWRITING, _rewrite_estimate),
    **dict.fromkeys(_READING, _of_argument(STRING_FACTOR)),
    "ip.isCanonical": _of_argument(2 * STRING_FACTOR),
    "ip": _ip_estimate,
    "replace": _replace_estimate,
    "split": _split_estimate,
    "join": _join_estimate,
    **dict.fromkeys(("find", "findAll"), _find_estimate),
    "containsIP": _containment_estimate(_COMPARED, "cidr_contains_ip_string"),
    "containsCIDR": _containment_estimate(_MASKED, "cidr_contains_cidr_string"),
    "validate": _validate_estimate,
    "_==_": _equality_estimate,
}

ESTIMATES: Final = Library("kubernetes estimates", call_estimates=_ESTIMATES)
COSTS: Final = Library("kubernetes costs", call_costs=_COSTS)
