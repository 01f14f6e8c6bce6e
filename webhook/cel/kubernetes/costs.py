"""Costs that Kubernetes sets for functions, its own and cel-go's (library/cost.go); all others cost 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from webhook.cel.checker.declarations import Library
from webhook.cel.functions import (
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
    comparison,
    estimated,
    fixed,
    of_argument,
    of_regex,
    of_scan,
    traversal,
)
from webhook.cel.kubernetes.authorizer import AUTHORIZER, DECISION, GROUP_CHECK, PATH_CHECK, RESOURCE_CHECK
from webhook.cel.kubernetes.format import FORMAT, Format
from webhook.cel.kubernetes.net import CIDR_TYPE, IP_TYPE
from webhook.cel.kubernetes.quantity import QUANTITY
from webhook.cel.kubernetes.semver import SEMVER
from webhook.cel.kubernetes.url import URL_TYPE
from webhook.cel.types.base import Kind
from webhook.cel.types.values import Value, size_of

_CHECK_COST: Final = 350_000
"""The cost of an authorizer check; two fit into the limit of an expression."""
_REQUIREMENT_COST: Final = float(LIST_COST + STRUCT_COST)
_REQUIREMENTS_PER_CHARACTER: Final = 0.5
_FORMAT_FACTOR: Final = 128 * REGEX_FACTOR
_MAX_FORMAT_NAME: Final = 64
_ADDRESS_SIZE: Final = Bounds(4, 16)
_TEXTS: Final = frozenset({Kind.STRING, Kind.BYTES})

_twice: Final = of_argument(0, 2 * STRING_FACTOR)

_Charge = tuple[CostFunction, Estimate]
"""The cost of a call and its estimate."""


def _charge(cost: CostFunction, result: Callable[..., Bounds] | None = None) -> _Charge:
    return cost, estimated(cost, result)


def _by_address(cost: CostFunction) -> _Charge:
    """By the size of an address, which estimates know without a look at the value."""
    estimate = estimated(cost)

    def of_address(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
        return estimate(lambda node: _ADDRESS_SIZE if node is arguments[0] else size_of(node), arguments)

    return cost, of_address


def _contains_ip(arguments: Sequence[Value], _: Value) -> int:
    return traversal(2 * size_of(arguments[0]))


def _contains_cidr(arguments: Sequence[Value], _: Value) -> int:
    size = size_of(arguments[0])
    return traversal(2 * size) + traversal(size) + 1


def _and_of_text(cost: CostFunction) -> CostFunction:
    return lambda arguments, result: cost(arguments, result) + traversal(size_of(arguments[1]))


def _selector(arguments: Sequence[Value], _: Value) -> int:
    size = size_of(arguments[1])
    requirements = traversal(size, _REQUIREMENTS_PER_CHARACTER)
    return LIST_COST + traversal(size) + traversal(requirements, _REQUIREMENT_COST)


def _validate(arguments: Sequence[Value], _: Value) -> int:
    if not isinstance(arguments[0], Format):
        return 1
    return traversal(1 + size_of(arguments[1])) * traversal(arguments[0].regex_size, REGEX_FACTOR)


def _element(node: EstimatedNode) -> EstimatedNode | None:
    if not node.type.parameters:
        return None
    return EstimatedNode(node.type.parameters[0], (*node.path, "@items") if node.path else ())


def _scan_estimate(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    size, element = size_of(arguments[0]), _element(arguments[0])
    if element is not None:
        each = ONE.plus(size_of(element).traversed) if element.type.kind in _TEXTS else ONE
        return CallEstimate(size.times(each))
    return CallEstimate(size.traversed)


def _replaced(size: Bounds, old: Bounds, new: Bounds, *_: Bounds) -> Bounds:
    most, kept_most = _replacements(size.high, old.low, is_no_change=new.high <= old.low)
    least, kept_least = _replacements(size.low, old.high, is_no_change=old.high <= new.low)
    return Bounds(least, most).times(new).plus(Bounds(kept_least, kept_most))


def _replacements(size: int, old: int, *, is_no_change: bool) -> tuple[int, int]:
    """The number of replacements in an extreme case, and the length of the text that is kept."""
    if not old:
        # An empty text matches around every character.
        return min(size + 1, MOST), size
    return (0, size) if is_no_change else (math.ceil(size / old), 0)


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


_CHARGES: Final[dict[str, _Charge]] = {
    "check": _charge(lambda _, __: _CHECK_COST),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _charge(_selector)),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), (of_scan, _scan_estimate)),
    **dict.fromkeys(
        ("url", "jsonpatch.escapeKey", "lowerAscii", "upperAscii", "substring", "trim"),
        _charge(of_argument(0), lambda size, *_: size),
    ),
    **dict.fromkeys(
        ("cidr", "string_to_ip", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"),
        _charge(of_argument(0)),
    ),
    "ip.isCanonical": _charge(_twice),
    "replace": _charge(_twice, _replaced),
    "split": (_twice, _split_estimate),
    "join": (lambda _, result: traversal(size_of(result), 2 * STRING_FACTOR), _join_estimate),
    **dict.fromkeys(("find", "findAll"), _charge(of_regex, lambda size, *_: Bounds(0, size.high))),
    "containsIP": _by_address(_contains_ip),
    "cidr_contains_ip_string": _by_address(_and_of_text(_contains_ip)),
    "containsCIDR": _by_address(_contains_cidr),
    "cidr_contains_cidr_string": _by_address(_and_of_text(_contains_cidr)),
    "validate": (
        _validate,
        lambda size_of, arguments: CallEstimate(size_of(arguments[1]).traversed.scaled(_FORMAT_FACTOR)),
    ),
}

_UNIT_EQUALITY: Final = frozenset(
    {IP_TYPE, CIDR_TYPE, QUANTITY, AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION, SEMVER}
)


def _equality_estimate(size_of: SizeOf, arguments: Sequence[EstimatedNode]) -> CallEstimate:
    if (type_ := arguments[0].type) == arguments[1].type:
        if type_ in _UNIT_EQUALITY:
            return CallEstimate(ONE)
        if type_ == FORMAT:
            return CallEstimate(Bounds(1, _MAX_FORMAT_NAME).traversed)
        if type_ == URL_TYPE:
            # Upstream looks at the size of the second alone.
            return CallEstimate(Bounds(1, (arguments[1].size or ONE).high).traversed)
    return comparison(size_of, arguments)


ESTIMATES: Final = Library(
    call_estimates={name: estimate for name, (_, estimate) in _CHARGES.items()} | {"_==_": _equality_estimate},
)
COSTS: Final = Library(call_costs={name: cost for name, (cost, _) in _CHARGES.items()})
