"""Binds pods to nodes: reservations of claims, and binding conditions.

Follows ``plugins/dynamicresources/dynamicresources.go`` (PreBind, bindClaim, isClaimReadyForBinding).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple, Self

from webhook.inventory import Inventory
from webhook.inventory.affinity import selects
from webhook.inventory.claims import Consumer, Use, allocation_of, device_of, reserved_for, results_of
from webhook.objects import JSONObject, at, full_name_of, items, mapping, name_of, text, texts
from webhook.problem import aggregate
from webhook.records import Told
from webhook.release import Release
from webhook.spelling import some_of

CONSUMERS_MAX: Final = 256
"""The largest number of consumers of a claim (ResourceClaimReservedForMaxSize)."""
TIMEOUT: Final = timedelta(minutes=10)
"""The time after which the scheduler stops waiting for binding conditions."""
LATE: Final = f"not True within {TIMEOUT // timedelta(seconds=1)} s"
"""How the scheduler calls conditions for which it stops waiting."""
EPOCH: Final = datetime.fromtimestamp(0, UTC)
"""The time of clusters whose objects have none."""
_FAILED: Final = 'running PreBind plugin "DynamicResources": '
_UNMAPPED_FAILS_SINCE: Final = 35
"""From this release on, an empty claim for extended resources is an error (patchPodExtendedResourceClaimStatus)."""
_WHOLE_SINCE: Final = 35
"""From this release on, a duplicate consumer as a whole is rejected; before, its UID."""


def refusal(claim: JSONObject, consumer: Consumer, release: Release, timestamp: str) -> str:
    """Explain why the API server would not let the scheduler reserve an allocated claim; empty if it would.

    Args:
        timestamp: The time of allocation that the scheduler adds where it is missing; empty if it adds none.
    """
    reserved = reserved_for(claim)
    complaints = []
    if timestamp and not text(allocation_of(claim), "allocationTimestamp"):
        value = _dumped(allocation_of(claim), timestamp)
        complaints.append(f"status.allocation: Invalid value: {value}: field is immutable")
    if len(reserved) >= CONSUMERS_MAX:
        complaints.append(f"status.reservedFor: Too many: {len(reserved) + 1}: must have at most {CONSUMERS_MAX} items")
    elif consumer.has(claim):
        place = f"status.reservedFor[{len(reserved)}]{'.uid' if release < _WHOLE_SINCE else ''}"
        complaints.append(f'{place}: Duplicate value: "{consumer.uid}"')
    if not complaints:
        return ""
    invalid = f'ResourceClaim.resource.k8s.io "{name_of(claim)}" is invalid'
    return f"{_FAILED}add reservation to claim {full_name_of(claim)}: {invalid}: {aggregate(complaints)}"


def used_up(claims: Iterable[JSONObject]) -> str:
    """Name a claim that no further pod can use; empty if there is none."""
    full = (each for each in claims if len(reserved_for(each)) >= CONSUMERS_MAX)
    names = (full_name_of(each) for each in full)
    return next((f"claim {each} is used by {CONSUMERS_MAX} pods, and no more can use it" for each in names), "")


def serves(claim: JSONObject, node: JSONObject) -> bool:
    """Tell whether the devices of an allocated claim can be used on a node."""
    selector = mapping(allocation_of(claim), "nodeSelector")
    return not selector or selects(selector, node)


def lacks(use: Use, name: str, node: JSONObject | None) -> str:
    """Say why a pod that names its node never gets a claim; empty if it has it, or kube-controller-manager reserves it.

    The controller reserves allocated claims for pods with spec.nodeName, whichever the node; it cannot allocate any.

    Args:
        name: The name of the node.
        node: The node; None if it is not known, so that nothing is known of its labels.
    """
    claim = use.claim
    if not serves(claim, node or {"metadata": {"name": name}}):
        return f"the devices of claim {full_name_of(claim)} are not on it"
    if use.consumer.has(claim):
        return ""
    return used_up([claim]) if allocation_of(claim) else "its claims are not allocated"


def unmapped(pod: JSONObject, claim: JSONObject, release: Release) -> str:
    """Explain why the scheduler fails after it has made an empty claim for extended resources; empty if it does not.

    Args:
        claim: The claim that the scheduler makes; it is empty if the node has the resources without devices.
    """
    if items(claim, "spec", "devices", "requests") or release < _UNMAPPED_FAILS_SINCE:
        return ""
    which = full_name_of(pod)
    return f"{_FAILED}nil or empty request mappings, no update of pod {which} ExtendedResourceClaimStatus"


class Awaited(NamedTuple):
    """A device whose binding conditions are not met.

    Args:
        place: Its driver, pool and name, as in a result.
        missing: The conditions that are not True yet.
        failed: The failure condition that is True, as in the claim's status; None if there is none.
        reported: The driver's statements on the missing conditions, as in the claim's status.
        left: The seconds that the scheduler still waits for them; less than 0 if it has stopped.
    """

    device: str
    place: str
    missing: tuple[str, ...]
    failed: JSONObject | None
    reported: tuple[JSONObject, ...]
    left: int

    @property
    def is_unavailable(self) -> bool:
        """Whether it has failed, or was not ready in time."""
        return self.failed is not None or self.left < 0

    @property
    def wish(self) -> str:
        """The conditions that it waits for, such as ``example.com/attached is True for gpu-0``."""
        return f"{' and '.join(self.missing)} {'is' if len(self.missing) == 1 else 'are'} True for {self.device}"

    @property
    def text(self) -> str:
        """The state of its conditions, such as ``gpu-0: example.com/failed is True (NoSlot: no slot)``."""
        if self.failed is not None:
            return f"{self.device}: {_said(self.failed)}"
        known = {text(each, "type") for each in self.reported}
        said = [*map(_said, self.reported), *(f"{each} is not reported" for each in self.missing if each not in known)]
        late = f"{', '.join(self.missing)} {LATE}: " if self.left < 0 else ""
        return f"{self.device}: {late}{', '.join(said)}"


def awaited(claim: JSONObject, now: datetime) -> list[Awaited]:
    """Return the devices of a claim whose binding conditions are not met, or that have failed.

    Args:
        now: The time at which its status is looked at.
    """
    found = []
    since = time_of(text(allocation_of(claim), "allocationTimestamp"))
    left = _seconds(TIMEOUT if since is None else TIMEOUT - (now - since))
    statuses = {device_of(each): each for each in reversed(items(claim, "status", "devices"))}
    for result in results_of(claim):
        known = {text(each, "type"): each for each in items(statuses.get(device_of(result)), "conditions")}
        true = {name for name, each in known.items() if text(each, "status") == "True"}
        missing = tuple(each for each in texts(result, "bindingConditions") if each not in true)
        failed = next((known[each] for each in texts(result, "bindingFailureConditions") if each in true), None)
        if missing or failed:
            reported = tuple(known[each] for each in missing if each in known)
            place = "/".join(device_of(result))
            found.append(Awaited(text(result, "device"), place, missing, failed, reported, left))
    return found


class Waiting(Told):
    """The conditions that a pod waits for: a sentence without its subject, such as ``waits until …``.

    Args:
        what: The sentence without its verb.
    """

    VERB: Final = "waits"
    what: str

    @classmethod
    def of(cls, what: str) -> Self:
        """Make the sentence."""
        return cls(f"{cls.VERB} {what}", what=what)

    @classmethod
    def to_be_bound(cls, devices: Sequence[Awaited], node: str) -> Self:
        """State what a pod waits for on a node.

        Args:
            devices: The devices of its claims whose conditions are not met.
        """
        left, most = min(each.left for each in devices), _seconds(TIMEOUT)
        wishes = ", ".join(some_of([each.wish for each in devices], 3, "and {} more"))
        time = f"at most {left} s more" if left < most else f"at most {most} s"
        return cls.of(f"until {wishes} ({time}), to be bound to node {node}")


def waits(claim: JSONObject) -> bool:
    """Tell whether the devices of a claim still have to meet conditions before the pod is bound."""
    return any(each.missing for each in awaited(claim, EPOCH))


def is_unavailable(claim: JSONObject, now: datetime) -> bool:
    """Tell whether devices of an allocated claim have failed, or were not ready in time."""
    return any(each.is_unavailable for each in awaited(claim, now))


def _seconds(time: timedelta) -> int:
    return math.floor(time.total_seconds())


def _said(condition: JSONObject) -> str:
    """Write a condition with what its driver says of it."""
    why = ": ".join(filter(None, (text(condition, "reason"), text(condition, "message"))))
    return f"{text(condition, 'type')} is {text(condition, 'status')}{why and f' ({why})'}"


_TIMED: Final = ("Node", "Pod", "ResourceClaim")
"""The kinds whose objects change often, so that the newest time is one of theirs."""


def newest(inventory: Inventory) -> datetime:
    """Return the newest time in objects, at which they were read or a little earlier; they tell no other."""
    times = {time for kind in _TIMED for each in inventory.all(kind) for time in _times(each)}
    return next(filter(None, map(time_of, sorted(times, reverse=True))), EPOCH)


_TIMES: Final = ("allocationTimestamp", "lastHeartbeatTime", "lastTransitionTime", "startedAt", "finishedAt")
"""The fields of a status, at any depth, that tell when something happened."""


def _times(obj: JSONObject) -> list[str]:
    """Return the times of what happened to a node, a pod or a claim."""
    times, parts = [obj["metadata"].get("creationTimestamp")], [obj.get("status")]
    for part in parts:
        if isinstance(part, dict):
            times += [part.get(name) for name in _TIMES]
            parts += part.values()
        elif isinstance(part, list):
            parts += part
    return [each for each in times if isinstance(each, str)]


def time_of(value: str) -> datetime | None:
    """Read a time as objects have it; None if it is none."""
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found if found.tzinfo else None


def written(time: datetime) -> str:
    """Write a time as objects have it."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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


def _dumped(allocation: Any, timestamp: str) -> str:
    """Write an allocation as the API server prints a rejected one: with the names of Go's fields."""
    results = [{_go(name): at(each, name) for name in _RESULT} for each in items(allocation, "devices", "results")]
    config = at(allocation, "devices", "config")
    terms: list[JSONObject] = []
    for term in items(allocation, "nodeSelector", "nodeSelectorTerms"):
        terms.append({})
        for name in ("matchExpressions", "matchFields"):
            found = items(term, name)
            requirements = [{_go(part): at(each, part) for part in ("key", "operator", "values")} for each in found]
            terms[-1][_go(name)] = requirements or None
    shown = {
        "Devices": {"Results": results, "Config": config},
        "NodeSelector": {"NodeSelectorTerms": terms} if mapping(allocation, "nodeSelector") else None,
        "AllocationTimestamp": timestamp,
    }
    return json.dumps(shown, separators=(",", ":"))


def _go(name: str) -> str:
    return name[0].upper() + name[1:]
