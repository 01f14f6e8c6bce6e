"""Binds pods to nodes: reservations of claims, and binding conditions.

Follows ``plugins/dynamicresources/dynamicresources.go`` (PreBind, bindClaim, isClaimReadyForBinding).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from webhook.inventory.claims import allocation_of
from webhook.objects import at, full_name_of, items, mapping, name_of, namespace_of, text, texts
from webhook.problem import aggregate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Final

    from webhook.inventory.claims import Consumer
    from webhook.objects import JSONObject
    from webhook.release import Release
    from webhook.simulation.cluster import Settings

CONSUMERS_MAX: Final = 256
"""The largest number of consumers of a claim (ResourceClaimReservedForMaxSize)."""
_TIMEOUT: Final = timedelta(minutes=10)
"""The time after which the scheduler stops waiting for binding conditions."""
FAILED: Final = 'running PreBind plugin "DynamicResources": '
_UNMAPPED_FAILS_SINCE: Final = 35
"""From this release on, an empty claim for extended resources is an error (patchPodExtendedResourceClaimStatus)."""
_WHOLE_SINCE: Final = 35
"""From this release on, a duplicate consumer as a whole is rejected; before, its UID."""


def refusal(claim: JSONObject, consumer: Consumer, namespace: str, release: Release, *, timestamps: bool) -> str:
    """Explain why the API server would not let the scheduler reserve an allocated claim; empty if it would.

    Args:
        claim: The claim, as it is when it is reserved.
        consumer: The consumer that it is reserved for.
        namespace: The claim's namespace.
        release: The Kubernetes release, as the minor of 1.x.
        timestamps: Whether the scheduler adds the time of allocation where it is missing.
    """
    reserved = items(claim, "status", "reservedFor")
    complaints = []
    if timestamps and not text(allocation_of(claim), "allocationTimestamp"):
        complaints.append(f"status.allocation: Invalid value: {_dumped(allocation_of(claim))}: field is immutable")
    if len(reserved) >= CONSUMERS_MAX:
        complaints.append(f"status.reservedFor: Too many: {len(reserved) + 1}: must have at most {CONSUMERS_MAX} items")
    elif consumer.has(claim):
        place = f"status.reservedFor[{len(reserved)}]{'.uid' if release < _WHOLE_SINCE else ''}"
        complaints.append(f'{place}: Duplicate value: "{consumer.uid}"')
    if not complaints:
        return ""
    name = name_of(claim)
    return (
        f"{FAILED}add reservation to claim "
        f'{namespace}/{name}: ResourceClaim.resource.k8s.io "{name}" is invalid: {aggregate(complaints)}'
    )


def used_up(claims: Iterable[JSONObject]) -> str:
    """Name a claim that no further pod can use; empty if there is none."""
    full = (each for each in claims if len(items(each, "status", "reservedFor")) >= CONSUMERS_MAX)
    names = (full_name_of(each) for each in full)
    return next((f"claim {each} is used by {CONSUMERS_MAX} pods, and no more can use it" for each in names), "")


def unmapped(pod: JSONObject, claim: JSONObject, release: Release) -> str:
    """Explain why the scheduler fails after it has made an empty claim for extended resources; empty if it does not.

    Args:
        pod: The pod.
        claim: The claim that the scheduler makes; it is empty if the node has the resources without devices.
        release: The Kubernetes release, as the minor of 1.x.
    """
    if items(claim, "spec", "devices", "requests") or release < _UNMAPPED_FAILS_SINCE:
        return ""
    which = full_name_of(pod)
    return f"{FAILED}nil or empty request mappings, no update of pod {which} ExtendedResourceClaimStatus"


def waits(claim: JSONObject) -> bool:
    """Tell whether the devices of a claim still have to meet conditions before the pod is bound."""
    return not _is_ready(claim)


def has_failed(claim: JSONObject) -> bool:
    """Tell whether a device of a claim meets one of its failure conditions."""
    return any(
        _is_true(claim, result, condition)
        for result in items(allocation_of(claim), "devices", "results")
        for condition in texts(result, "bindingFailureConditions")
    )


def is_unavailable(claim: JSONObject) -> bool:
    """Tell whether devices of an allocated claim have failed, or were not ready in time."""
    if has_failed(claim):
        return True
    return not _is_ready(claim) and _timed_out(claim)


def _is_ready(claim: JSONObject) -> bool:
    return all(
        _is_true(claim, result, condition)
        for result in items(allocation_of(claim), "devices", "results")
        for condition in texts(result, "bindingConditions")
    )


def _timed_out(claim: JSONObject) -> bool:
    try:
        since = datetime.fromisoformat(text(allocation_of(claim), "allocationTimestamp"))
    except ValueError:
        return False
    return datetime.now(UTC) - since > _TIMEOUT


def _is_true(claim: JSONObject, result: JSONObject, condition: str) -> bool:
    device = [text(result, each) for each in ("driver", "pool", "device")]
    for status in items(claim, "status", "devices"):
        if [text(status, each) for each in ("driver", "pool", "device")] == device:
            return any(
                text(each, "type") == condition and text(each, "status") == "True"
                for each in items(status, "conditions")
            )
    return False


_RESULT: Final = (
    "request",
    "driver",
    "pool",
    "device",
    "adminAccess",
    "tolerations",
    "bindingConditions",
    "bindingFailureConditions",
    "shareID",
    "consumedCapacity",
)


def _dumped(allocation: Any) -> str:
    """Write an allocation as the API server prints a rejected one: with the names of Go's fields."""
    results = [{_go(name): at(each, name) for name in _RESULT} for each in items(allocation, "devices", "results")]
    config = at(allocation, "devices", "config")
    terms = [
        {_go(name): _requirements(term, name) for name in ("matchExpressions", "matchFields")}
        for term in items(allocation, "nodeSelector", "nodeSelectorTerms")
    ]
    shown = {
        "Devices": {"Results": results, "Config": config},
        "NodeSelector": {"NodeSelectorTerms": terms} if mapping(allocation, "nodeSelector") else None,
        "AllocationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return json.dumps(shown, separators=(",", ":"))


def _requirements(term: JSONObject, name: str) -> list[JSONObject] | None:
    found = [{_go(key): at(each, key) for key in ("key", "operator", "values")} for each in items(term, name)]
    return found or None


def _go(name: str) -> str:
    return name[0].upper() + name[1:]


def are_reservable(claims: Sequence[JSONObject], consumers: Sequence[Consumer], settings: Settings) -> bool:
    """Tell whether the API server lets the scheduler reserve the claims that have devices already (PreBind).

    Args:
        claims: The claims of a pod.
        consumers: The pod, as a consumer of each.
        settings: The settings of the cluster.
    """
    return not any(
        refusal(claim, consumer, namespace_of(claim), settings.release, timestamps=settings.has_binding_conditions)
        for claim, consumer in zip(claims, consumers, strict=False)
        if allocation_of(claim) and not consumer.has(claim)
    )
