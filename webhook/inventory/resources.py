"""Resource requests of pods: cpu in millicores, others in whole units.

Follows component-helpers ``resource/helpers.go`` (PodRequests) and ``pkg/scheduler/util/utils.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from webhook.api.dra.names import IMPLICIT_PREFIX
from webhook.formats import decode_quantity
from webhook.objects import JSONObject, items, mapping, text

CPU: Final = "cpu"
PODS: Final = "pods"
NATIVE: Final = (CPU, "memory", "ephemeral-storage")

_POD_LEVEL: Final = (CPU, "memory")
_MILLI: Final = -3
_MOST: Final = 2**63 - 1
_DIGITS: Final = 19
"""Digits of the largest amount."""


@lru_cache(maxsize=4096)
def _amount(name: str, quantity: str) -> int:
    try:
        number = decode_quantity(quantity)
    except ValueError:
        return 0
    if name != CPU:
        return number.value()
    if number.length - _MILLI > _DIGITS:
        return number.sign * _MOST
    digits = number.digits or "0"
    power = number.power - _MILLI
    if power >= 0:
        return number.sign * int(digits + "0" * power)
    return number.sign * (int(digits[:power] or "0") + 1)


def amounts(quantities: Mapping[str, Any]) -> dict[str, int]:
    """Read quantities by resource; invalid ones count as zero."""
    return {name: _amount(name, str(value)) for name, value in quantities.items() if not isinstance(value, dict | list)}


def is_extended(name: str) -> bool:
    """Tell whether a resource may be provided by a device plugin or by a device class."""
    return name.startswith(IMPLICIT_PREFIX) or ("/" in name and "kubernetes.io/" not in name)


def container_requests(container: JSONObject) -> JSONObject:
    """Return what a container requests, with defaults: a limit without a request is also the request."""
    return {**mapping(container, "resources", "limits"), **mapping(container, "resources", "requests")}


def requests(pod: JSONObject) -> dict[str, int]:
    """Return a pod's requests of its node, by resource."""
    return _total(pod, container_requests)


def limits(pod: JSONObject) -> dict[str, int]:
    """Return a pod's limits, by resource."""
    return _total(pod, lambda container: mapping(container, "resources", "limits"))


def _total(pod: JSONObject, of: Callable[[JSONObject], JSONObject]) -> dict[str, int]:
    """Sum up what the containers of a pod state, or the pod as a whole.

    Args:
        of: Returns what a container states; a pod's spec is one, too.
    """
    spec = mapping(pod, "spec")
    total = _sum(amounts(of(each)) for each in items(spec, "containers"))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for each in items(spec, "initContainers"):
        own = amounts(of(each))
        if text(each, "restartPolicy") == "Always":
            sidecars = _sum((sidecars, own))
            peak = _most(peak, sidecars)
        else:
            peak = _most(peak, _sum((sidecars, own)))
    total = _most(_sum((total, sidecars)), peak)
    whole = amounts(of(spec))
    total |= {name: value for name, value in whole.items() if name in _POD_LEVEL or name.startswith("hugepages-")}
    total = _sum((total, amounts(mapping(spec, "overhead"))))
    scalars = ("hugepages-", "attachable-volumes-")
    return {
        name: value
        for name, value in total.items()
        if value and (name in NATIVE or is_extended(name) or name.startswith(scalars) or "kubernetes.io/" in name)
    }


def _sum(each: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in each:
        for name, value in one.items():
            total[name] = total.get(name, 0) + value
    return total


def _most(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}
