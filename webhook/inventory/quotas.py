"""The limits that ResourceQuotas set for claims and pods.

Follows kubernetes ``pkg/quota/v1/evaluator/core/resource_claims.go`` and ``pods.go`` (Usage, MatchingResources) and
apiserver ``pkg/admission/plugin/resourcequota/controller.go`` (CheckRequest). That containers have to state what a
quota limits is not checked, as a LimitRange may state it for them.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping
from itertools import product
from typing import Any, Final

from webhook.api.core.container import TYPED, in_thousandths, of_amount
from webhook.api.dra.names import IMPLICIT_KEY, QUOTA_SUFFIX
from webhook.formats.quantities import BINARY_SI, Quantity, decode_quantity, whole_quantity
from webhook.grouping import by_key
from webhook.inventory import Inventory
from webhook.inventory.claims import requests_of
from webhook.inventory.resources import CPU, NATIVE, PODS, amounts, is_extended, limits, requests
from webhook.objects import JSONObject, at, full_name_of, items, mapping, name_of, namespace_of, text, texts
from webhook.problem import Key, Path, Problem, Verbatim, invalid
from webhook.release import Release
from webhook.spelling import did_you_mean

QUOTA: Final = "ResourceQuota"
_REQUESTS: Final = "requests."
_LIMITS: Final = "limits."
_HUGE: Final = "hugepages-"
_DIGITS: Final = 18
"""The most digits of an amount that is compared exactly; larger ones are all equal."""
_ALL: Final = 32
"""How many devices a request for all of them counts (AllocationResultsMaxSize)."""
STANDARD: Final = (
    *map("".join, product(("", _REQUESTS, _LIMITS), NATIVE)),
    *("requests.storage", "pods", "services", "services.nodeports", "services.loadbalancers"),
    *("replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims"),
)
"""The names without a slash, and besides these pages of any size (kubernetes ``pkg/apis/core/helper/helpers.go``)."""
_EXTENDED_SINCE: Final = 35
"""From this release on, devices count as extended resources, too, if classes provide these."""


class Quotas:
    """The quotas of a cluster's claims and pods."""

    def __init__(self, inventory: Inventory, release: Release, gates: Container[str]) -> None:
        self._inventory, self._release = inventory, release
        self.counts_extended = release >= _EXTENDED_SINCE and "DRAExtendedResource" in gates
        """Whether the devices of claims count as extended resources, too."""
        self._charged: dict[tuple[bool, str], Counter[str]] = {}
        """The usage of each claim and pod that is counted after the quotas' status was written."""
        self._more: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """The usage of claims and pods that were made after the quotas' status was written, by namespace."""

    def refusal(self, obj: JSONObject, *, is_alone: bool = False) -> str:
        """Return the API server's reason for refusing a new claim or pod; empty if it accepts it."""
        return next((why for _, why in self.refusals(obj, is_alone=is_alone)), "")

    def refusals(self, obj: JSONObject, *, is_alone: bool = False) -> Iterator[tuple[JSONObject, str]]:
        """Yield the quotas that leave too little for a claim or a pod, each with the reason.

        Args:
            is_alone: Whether to compare it with the whole quota, as if nothing else used any of it.
        """
        namespace = namespace_of(obj)
        every = (each for each in self._inventory.all(QUOTA) if namespace_of(each) == namespace)
        quotas = [each for each in every if "status" in each or not any(refused(each, self._release))]
        wanted = self._usage(obj) if quotas else Counter[str]()
        for quota in sorted(quotas, key=name_of):
            scopes: list[JSONObject] = [
                *({"scopeName": each, "operator": "Exists"} for each in texts(quota, "spec", "scopes")),
                *items(quota, "spec", "scopeSelector", "matchExpressions"),
            ]
            if scopes and not (_is_pod(obj) and all(_is_in(each, obj) for each in scopes)):
                continue
            hard = mapping(quota, "status", "hard") or mapping(quota, "spec", "hard")
            limit, used = _amounts(hard), _amounts(mapping(quota, "status", "used"))
            used = {key: 0 if is_alone else used.get(key, 0) + self._more[namespace][key] for key in limit}
            over = sorted(key for key in wanted.keys() & limit.keys() if used[key] + wanted[key] > limit[key])
            if over:
                requested, taken = ({key: _written(key, of[key]) for key in over} for of in (wanted, used))
                parts = {"requested": requested, "used": taken, "limited": hard}
                said = (f"{what}: {','.join(f'{key}={each[key]}' for key in over)}" for what, each in parts.items())
                yield quota, f"exceeded quota: {name_of(quota)}, {', '.join(said)}"

    def admit(self, obj: JSONObject) -> str:
        """Count a new claim or pod from now on; return the reason for refusing it, empty if it is accepted."""
        if not self._inventory.knows(QUOTA) or (key := _key(obj)) in self._charged:
            return ""
        if not (why := self.refusal(obj)):
            self._charged[key] = self._usage(obj)
            self._more[namespace_of(obj)].update(self._charged[key])
        return why

    def release(self, claim: JSONObject) -> None:
        """Stop counting a claim, which is deleted."""
        if (used := self._charged.pop(_key(claim), None)) is not None:
            self._more[namespace_of(claim)].subtract(used)

    def _usage(self, obj: JSONObject) -> Counter[str]:
        """Return what an object, or a claim made from it, uses: of alternatives, the most devices of each class."""
        if _is_pod(obj):
            return _usage_of_pod(obj)
        total = Counter({"count/resourceclaims.resource.k8s.io": 1})
        counts = by_key(
            ((each.whole, each.class_name), _ALL if each.is_for_all else each.wanted) for each in requests_of(obj)
        )
        for (_, class_name), alternatives in counts.items():
            keys = [f"{class_name}{QUOTA_SUFFIX}"]
            if self.counts_extended:
                device_class = self._inventory.find("DeviceClass", class_name)
                resource = text(device_class, "spec", "extendedResourceName")
                keys += [f"{IMPLICIT_KEY}{class_name}", *([f"{_REQUESTS}{resource}"] if resource else [])]
            total.update(dict.fromkeys(keys, max(alternatives)))
        return total


def _is_pod(obj: JSONObject) -> bool:
    return obj.get("kind") == "Pod"


def _key(obj: JSONObject) -> tuple[bool, str]:
    return _is_pod(obj), full_name_of(obj)


_OF_PODS: Final = (PODS, *map("".join, product(("", _REQUESTS, _LIMITS), (CPU, "memory"))))
_SCOPES: Final = {
    "BestEffort": (PODS,),
    **dict.fromkeys(("NotBestEffort", "Terminating", "NotTerminating"), _OF_PODS),
    **dict.fromkeys(("PriorityClass", "CrossNamespacePodAffinity"), _OF_PODS),
    "VolumeAttributesClass": STANDARD,
}
"""The scopes, each with the standard names that a quota with it may limit."""


def _refused_scopes(spec: JSONObject) -> Iterator[Problem]:
    """Yield what the API server refuses of scopes (``validateResourceQuotaScopes``, ``validateScopeSelector``)."""
    selected = [text(each, "scopeName") for each in items(spec, "scopeSelector", "matchExpressions")]
    for place, scopes in (("scopes",), texts(spec, "scopes")), (("scopeSelector", "matchExpressions"), selected):
        path, shown = Path(("spec", *place)), spec.get(place[0])
        for index, scope in enumerate(scopes):
            if scope not in _SCOPES:
                unknown = invalid(path, shown, "unsupported scope")
                if scopes is selected:
                    named = invalid(path / "scopeName", scope, "unsupported scope")
                    unknown = named._replace(path=path / index / "scopeName", spelled=named.path)
                yield unknown._replace(hint=did_you_mean(scope, _SCOPES, quotes='"'))
                continue
            for key in sorted({*mapping(spec, "hard")}.intersection(STANDARD).difference(_SCOPES[scope])):
                hint = f"limit {key} by a quota without scope {scope}"
                yield invalid(path, shown, "unsupported scope applied to resource")._replace(hint=hint)
            if f"Not{scope}" in scopes:
                yield invalid(path, texts(spec, "scopes"), "conflicting scopes")


def refused(quota: JSONObject, release: Release) -> Iterator[Problem]:
    """Yield what the API server refuses of the names, amounts and scopes of a quota (``ValidateResourceQuotaSpec``)."""
    yield from _refused_scopes(mapping(quota, "spec"))
    for key, value in mapping(quota, "spec", "hard").items():
        path, shown = Path(("spec", "hard", Key(key))), Verbatim(key) if release in TYPED else key
        if "/" not in key and key not in STANDARD and not key.startswith((_HUGE, _REQUESTS + _HUGE)):
            yield invalid(path, shown, "must be a standard resource for quota")
        if amount := _quantity(value):
            yield from (each._replace(path=path) for each in of_amount(key, in_thousandths(amount), release))


def _usage_of_pod(pod: JSONObject) -> Counter[str]:
    """Return what a pod uses, by the keys of quotas."""
    total = Counter({"count/pods": 1, PODS: 1})
    for name, amount in requests(pod).items():
        if name in NATIVE or name.startswith(_HUGE):
            total[name] = amount
        if name in NATIVE or name.startswith(_HUGE) or is_extended(name):
            total[_REQUESTS + name] = amount
    total.update({_LIMITS + name: amount for name, amount in limits(pod).items() if name in NATIVE})
    return total


def _is_in(scope: JSONObject, pod: JSONObject) -> bool:
    """Tell whether a pod is in a scope; not in those that draguard does not know, whose quotas do not count then."""
    name, operator = text(scope, "scopeName"), text(scope, "operator")
    if name in {"Terminating", "NotTerminating"}:
        return (at(pod, "spec", "activeDeadlineSeconds") is not None) == (name == "Terminating")
    if name in {"BestEffort", "NotBestEffort"}:
        stated = {*requests(pod), *limits(pod)}
        return stated.isdisjoint({CPU, "memory"}) == (name == "BestEffort")
    if name != "PriorityClass":
        return False
    priority = text(pod, "spec", "priorityClassName")
    is_named = priority in texts(scope, "values") if operator in {"In", "NotIn"} else bool(priority)
    return is_named == (operator in {"In", "Exists"})


def _amounts(quantities: Mapping[str, Any]) -> dict[str, int]:
    """Read the quantities of a quota, cpu in millicores; leave out malformed ones, which no API server stores."""
    return {key: amount for key, value in quantities.items() if (amount := amount_of(key, value)) is not None}


def amount_of(key: str, value: object) -> int | None:
    """Read a quantity of a quota; a very large one is the largest integer. None if it is malformed.

    Args:
        value: Its value; null is zero in Go.
    """
    if (quantity := _quantity(value)) is None:
        return None
    if quantity.length > _DIGITS:
        return quantity.sign * sys.maxsize
    return amounts({_resource(key): value or 0})[_resource(key)]


def _quantity(value: object) -> Quantity | None:
    """Decode an amount; None if the API server cannot."""
    try:
        return None if isinstance(value, dict | list | bool) else decode_quantity("0" if value is None else str(value))
    except ValueError:
        return None


def _resource(key: str) -> str:
    """Return the resource that a key of a quota is about."""
    return str(key).removeprefix(_REQUESTS).removeprefix(_LIMITS)


def _written(key: str, amount: int) -> str:
    """Write an amount as the quantity of a quota."""
    if _resource(key) == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    return str(whole_quantity(amount).noted(BINARY_SI)) if _resource(key) in NATIVE else str(amount)
