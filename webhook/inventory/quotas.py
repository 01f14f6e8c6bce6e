"""What ResourceQuotas let claims use.

Follows kubernetes ``pkg/quota/v1/evaluator/core/resource_claims.go`` (Usage, MatchingResources) and apiserver
``pkg/admission/plugin/resourcequota/controller.go`` (CheckRequest).
"""

from __future__ import annotations

from collections import Counter

from webhook.api.dra.names import IMPLICIT_PREFIX, QUOTA_SUFFIX
from webhook.inventory.resources import amounts
from webhook.objects import items, mapping, name_of, namespace_of, number, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

    from webhook.inventory.objects import Inventory
    from webhook.objects import JSONObject

QUOTA: Final = "ResourceQuota"
_CLAIMS: Final = "count/resourceclaims.resource.k8s.io"
_REQUESTS: Final = "requests."
_ALL: Final = 32
"""How many devices a request for all of them counts (AllocationResultsMaxSize)."""
EXTENDED_SINCE: Final = 35
"""From this release on, devices count as extended resources, too, if classes provide these."""


class Quotas:
    """The quotas of a cluster's claims.

    Args:
        inventory: The objects of the cluster, with their quotas and classes.
    """

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._charged: dict[tuple[str, str], Counter[str]] = {}
        self._more: dict[str, Counter[str]] = {}
        """What the claims use that were made since the quotas' status, by namespace."""

    def refusal(self, claim: JSONObject, *, extended: bool) -> str:
        """Return the API server's reason for refusing a new claim; empty if it accepts the claim.

        Args:
            claim: The claim, with its namespace.
            extended: Whether its devices count as extended resources, too.
        """
        if (namespace_of(claim), name_of(claim)) in self._charged or not self._inventory.knows(QUOTA):
            return ""
        wanted = self._usage(claim, extended=extended)
        more = self._more.get(namespace_of(claim), Counter())
        for quota in self._of(namespace_of(claim)):
            hard = mapping(quota, "status", "hard") or mapping(quota, "spec", "hard")
            limits, used = amounts(hard), amounts(mapping(quota, "status", "used"))
            over = sorted(
                key for key in wanted.keys() & limits.keys() if used.get(key, 0) + more[key] + wanted[key] > limits[key]
            )
            if over:
                parts = (
                    ("requested", {key: wanted[key] for key in over}),
                    ("used", {key: used.get(key, 0) + more[key] for key in over}),
                    ("limited", {key: hard[key] for key in over}),
                )
                said = (f"{what}: {','.join(f'{key}={each[key]}' for key in over)}" for what, each in parts)
                return f"exceeded quota: {name_of(quota)}, {', '.join(said)}"
        return ""

    def charge(self, claim: JSONObject, *, extended: bool) -> None:
        """Count a claim that was made since the quotas' status."""
        key = namespace_of(claim), name_of(claim)
        if key not in self._charged and self._inventory.knows(QUOTA):
            self._charged[key] = self._usage(claim, extended=extended)
            self._more.setdefault(key[0], Counter()).update(self._charged[key])

    def release(self, claim: JSONObject) -> None:
        """Count a claim no longer, as it is deleted."""
        key = namespace_of(claim), name_of(claim)
        if (used := self._charged.pop(key, None)) is not None:
            self._more[key[0]].subtract(used)

    def _of(self, namespace: str) -> Iterator[JSONObject]:
        """Return the quotas of a namespace that apply to claims: none that has scopes does."""
        for quota in sorted(self._inventory.all(QUOTA), key=name_of):
            spec = mapping(quota, "spec")
            if namespace_of(quota) == namespace and not spec.get("scopes") and not spec.get("scopeSelector"):
                yield quota

    def _usage(self, claim: JSONObject, *, extended: bool) -> Counter[str]:
        """Return what a claim uses, by the keys of quotas: of alternatives, the most devices of each class."""
        total = Counter({_CLAIMS: 1})
        for request in items(claim, "spec", "devices", "requests"):
            most: dict[str, int] = {}
            for each in items(request, "firstAvailable") or [mapping(request, "exactly")]:
                count = _ALL if text(each, "allocationMode") == "All" else number(each, "count") or 1
                name = text(each, "deviceClassName")
                most[name] = max(most.get(name, 0), count)
            for name, count in most.items():
                total.update(dict.fromkeys(self._keys(name, extended=extended), count))
        return total

    def _keys(self, class_name: str, *, extended: bool) -> Iterator[str]:
        """Return the keys of quotas that limit the devices of a class."""
        yield f"{class_name}{QUOTA_SUFFIX}"
        if extended:
            yield f"{_REQUESTS}{IMPLICIT_PREFIX}{class_name}"
            device_class = self._inventory.find("DeviceClass", class_name) or {}
            if name := text(device_class, "spec", "extendedResourceName"):
                yield f"{_REQUESTS}{name}"
