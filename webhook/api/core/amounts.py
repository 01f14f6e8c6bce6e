"""Validates the resources that containers request, and their limits.

Source: kubernetes ``pkg/apis/core/validation/validation.go``, ``validateResourceRequirements`` and what it calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from webhook import formats
from webhook.formats.quantities import Quantity, decode_quantity, parse_quantity
from webhook.problem import Key, Path, Problem, Verbatim, forbidden, invalid, required
from webhook.release import Release

COMPUTE: Final = frozenset({"cpu", "memory"})
"""The resources that have amounts for a whole pod, apart from huge pages."""
_OF_CONTAINERS: Final = COMPUTE | {"ephemeral-storage"}
_COUNTED: Final = frozenset(
    [
        *("pods", "services", "services.loadbalancers", "services.nodeports", "replicationcontrollers"),
        *("configmaps", "secrets", "persistentvolumeclaims", "resourcequotas"),
    ]
)
_STANDARD: Final = _OF_CONTAINERS | _COUNTED | {f"requests.{name}" for name in (*_OF_CONTAINERS, "storage")}
_ALL_STANDARD: Final = _STANDARD | {f"limits.{name}" for name in _OF_CONTAINERS} | {"storage"}
_HUGE: Final = "hugepages-"
_HUGE_OF_QUOTAS: Final = (_HUGE, f"requests.{_HUGE}")
_MILLI: Final = -3
_TYPED: Final = range(29, 34)
"""The releases that show a resource's name as Go writes it: without quotes."""
_JSON_SINCE: Final = Release(34)
"""From Kubernetes 1.34 rejected values are shown as JSON, not as Go writes them."""


_LIMITS_ALONE: Final = "write limits alone: requests are the same, as such resources are not overcommitted"


def problems(resources: Mapping[str, Any], path: Path, release: Release) -> Iterator[Problem]:
    """Yield the findings about the resources of a container.

    Args:
        resources: Its limits and requests, of the right types.
        path: Where they are.
    """
    limits, requests = _amounts(resources.get("limits")), _amounts(resources.get("requests"))
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            for problem in of_resource(name, amount, release):
                yield problem._replace(path=path / kind / Key(name))
    for name, amount in requests.items():
        may_differ, limit = "/" not in name or "kubernetes.io/" in name, limits.get(name)
        may_differ = may_differ and not name.startswith(_HUGE)
        if limit is None and not may_differ:
            yield required(path / "limits", "Limit must be set for non overcommitable resources")
        elif limit is not None and amount != limit and not may_differ:
            problem = invalid(path / "requests", str(amount), f"must be equal to {name} limit of {limit}")
            yield problem._replace(hint=_LIMITS_ALONE)
        elif limit is not None and amount > limit:
            yield invalid(path / "requests", str(amount), f"must be less than or equal to {name} limit of {limit}")
    names = limits.keys() | requests.keys()
    if names.isdisjoint(COMPUTE) and any(name.startswith(_HUGE) for name in names):
        yield forbidden(path, "HugePages require cpu or memory")


def only_limits(resources: Mapping[str, Any], release: Release) -> Iterator[tuple[str, Problem]]:
    """Yield the findings that are repeated for the requests of a pod, which are those of limits by default.

    Yields:
        The name of a resource, and a finding about its amount.
    """
    requests = resources.get("requests") or {}
    for name, value in (resources.get("limits") or {}).items():
        if name not in requests:
            for problem in of_resource(name, _amount(value), release):
                yield name, problem


def of_resource(name: str, amount: Quantity, release: Release) -> Iterator[Problem]:
    """Yield the findings about one resource of a container, without their place."""
    path, shown, standard = Path(), Verbatim(name) if release in _TYPED else name, "/" not in name
    misnamed = formats.label_key(name, release)
    for detail in misnamed:
        yield invalid(path, shown, detail)
    if standard and not misnamed and not (name in _ALL_STANDARD or name.startswith(_HUGE_OF_QUOTAS)):
        yield invalid(path, shown, "must be a standard resource type or fully qualified")
    if standard and not (name in _OF_CONTAINERS or name.startswith(_HUGE)):
        yield invalid(path, shown, "must be a standard resource for containers")
    is_extended = not standard and not formats.extended_resource_name(name, release)
    if not standard and "kubernetes.io/" not in name and not is_extended:
        yield invalid(path, shown, "doesn't follow extended resource name standard")
    if amount.sign < 0:
        yield invalid(path, str(amount), "must be greater than or equal to 0")
    if amount.power < 0 and (is_extended or name in _COUNTED):
        yield invalid(path, str(amount) if release >= _JSON_SINCE else _in_go(amount), "must be an integer")
    if name.startswith(_HUGE) and not _is_multiple(amount, name.removeprefix(_HUGE)):
        yield invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}")


def _amounts(quantities: Mapping[str, Any] | None) -> dict[str, Quantity]:
    return {name: _amount(value) for name, value in (quantities or {}).items()}


def _amount(value: object) -> Quantity:
    """Read a quantity, and round it up to thousandths, as defaults do (``SetDefaults_ResourceList``)."""
    amount = decode_quantity(value)
    if amount.power >= _MILLI:
        return amount
    number = int(amount.digits[: amount.power - _MILLI] or "0") + 1
    found = parse_quantity(f"{'-' if amount.sign < 0 else ''}{number}m")
    return Quantity(found.sign, found.digits, found.power, amount.notation, scale=found.scale)


def _is_multiple(amount: Quantity, size: str) -> bool:
    try:
        page = parse_quantity(size)
    except ValueError:
        return False
    return page.sign > 0 and page.power >= 0 and amount.value() % page.value() == 0


def _in_go(amount: Quantity) -> Verbatim:
    """Write a quantity as Go writes the fields of its struct."""
    scale = amount.power if amount.scale is None else amount.scale
    number = amount.counted(scale)
    return Verbatim(
        f"resource.Quantity{{i:resource.int64Amount{{value:{number}, scale:{scale}}}, "
        f'd:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:"{amount.spelled}", Format:"{amount.notation}"}}'
    )


def is_huge(name: str) -> bool:
    """Tell whether a resource is huge pages."""
    return name.startswith(_HUGE)
