"""The allocator's features, and its implementations in each Kubernetes release.

Follows k8s.io/dynamic-resource-allocation ``structured/allocator.go``, which uses the first implementation that
supports all features that are on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Final

from webhook.inventory.claims import DISTINCT_FROM_ALL_SINCE
from webhook.objects import JSONObject, at
from webhook.release import Release

STABLE: Final = "stable"
INCUBATING: Final = "incubating"
EXPERIMENTAL: Final = "experimental"

RECORDED: Final = Release(36)
"""The newest release whose allocator is followed."""
RECORDED_PATCH: Final = 2
"""The patch release of its recordings."""
_LATEST: Final = 37
"""Changes in this release follow its sources; none of its allocators was recorded."""
_MISSING_SELECTS_NOTHING_SINCE: Final = 38
"""From this release on, a DeviceTaintRule without deviceSelector taints no device in the scheduler."""
_QUALIFIES_SINCE: Final = 38
"""From this release on, names of capacity are compared with their domains; its allocator is known as of an alpha."""
_GOES_ON_SINCE: Final = 38
"""From this release on, other nodes are tried if a pool of a node is incomplete or invalid for a request for all."""
NEEDS_ONE_SINCE: Final = 33
"""From this release on, a request for all devices needs one at least."""
POOLS_WHOLE_SINCE: Final = 35
"""From this release on, pools include the slices of other nodes, and incomplete ones are not used."""
_UNDOES_SINCE: Final = (36, 3)
"""From this patch release on, rejected devices leave nothing behind."""
_DRAWS_FOR_SHARES_SINCE: Final = (36, 2)
"""From this patch release on, devices that claims share draw on counters."""
CRASHES_UNTIL: Final = {35: 6, 36: 2}
"""The patch releases of releases from which all devices may be wanted of those that consume counters."""
_SORTED_SINCE: Final = 36
"""From this release on, pools and slices are tried by name; before, in the order of Go's maps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """The features that the allocator may use; each is off unless stated.

    The names are upstream's (``internal.Features``); `of` derives them from feature gates.
    """

    AdminAccess: bool = False
    CompatibilityGroups: bool = False
    ConsumableCapacity: bool = False
    DerivedAttributes: bool = False
    DeviceBindingAndStatus: bool = False
    DeviceTaints: bool = False
    FractionalCapacityRange: bool = False
    ListTypeAttributes: bool = False
    OptionalNodeOperations: bool = False
    PartitionableDevices: bool = False
    PrioritizedList: bool = False

    @classmethod
    def of(cls, gates: Collection[str], release: Release) -> Features:
        """Return the features that the scheduler passes to the allocator under some feature gates.

        Args:
            gates: The feature gates that are on. The scheduler of 1.36 never passes ``DRAListTypeAttributes`` on.
        """
        on = {each.name: f"DRA{each.name}" in gates for each in fields(cls)}
        on["CompatibilityGroups"] = "DRADeviceCompatibilityGroups" in gates
        on["DeviceBindingAndStatus"] = {"DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"} <= set(gates)
        on["ListTypeAttributes"] &= release >= _LATEST
        return cls(**on)

    @property
    def names(self) -> frozenset[str]:
        """The features that are on."""
        return frozenset(each.name for each in fields(self) if getattr(self, each.name))


_BETA: Final = frozenset({"AdminAccess", "PrioritizedList", "PartitionableDevices", "DeviceTaints"})
_ALPHA: Final = _BETA | {"DeviceBindingAndStatus", "ConsumableCapacity"}
_NEWEST_BETA: Final = frozenset({"FractionalCapacityRange"})
_NEWEST: Final = frozenset({"CompatibilityGroups", "DerivedAttributes", "ListTypeAttributes", "OptionalNodeOperations"})

_SUPPORTED: Final[Mapping[int, Mapping[str, frozenset[str]]]] = {
    34: {STABLE: frozenset(), INCUBATING: _BETA, EXPERIMENTAL: _ALPHA},
    36: {STABLE: _BETA, INCUBATING: _ALPHA, EXPERIMENTAL: _ALPHA | {"ListTypeAttributes"}},
    37: {STABLE: _BETA, INCUBATING: _ALPHA | _NEWEST_BETA, EXPERIMENTAL: _ALPHA | _NEWEST_BETA | _NEWEST},
}
"""The features that each implementation supports, from a release on."""


class Implementation:
    """One of upstream's allocators, as it is in a release.

    Args:
        name: ``stable``, ``incubating`` or ``experimental``.
    """

    def __init__(self, name: str, release: Release, features: Features, patch: int = 0) -> None:
        self.name, self.release, self.features = name, release, features
        self.is_sorted = release >= _SORTED_SINCE and name != STABLE
        """Whether pools and slices are tried by name, and devices of a request in ascending combinations only.

        Other implementations walk a Go map, and their choice depends on its order.
        """
        self.needs_one = release >= NEEDS_ONE_SINCE
        """Whether a request for all devices needs one at least; before, a node without such devices suited it."""
        self.sees_whole_pools = release >= POOLS_WHOLE_SINCE
        """Whether pools include the slices of other nodes.

        Before, a pool counted as complete if all its slices were for the node, an incomplete one was used anyway,
        each slice had counters of its own, and a search that reached an invalid pool ended with an error.
        """
        self.records_tolerations = release >= POOLS_WHOLE_SINCE
        """Whether the tolerations of a request are copied to its results."""
        self.compares_values = release >= POOLS_WHOLE_SINCE
        """Whether ``distinctAttribute`` compares values; before, pointers to them."""
        self.mixes_up_alternatives = release < _SORTED_SINCE
        """Whether alternatives for all devices are mixed up with the first one.

        If both want all devices, the second alternative gets those of the first; and after the first device of an
        alternative, the search goes on as if the device belonged to the first alternative.
        """
        self.draws_for_shares = (release, patch) >= _DRAWS_FOR_SHARES_SINCE
        """Whether devices that claims share draw on counters; before, only devices in use as a whole did."""
        self.crashes_for_all = features.PartitionableDevices and patch < CRASHES_UNTIL.get(release, 0)
        """Whether it crashes for a request for all devices when it comes to the counters of one."""
        self.undoes_all = (release, patch) >= _UNDOES_SINCE
        """Whether a device that is rejected or given back leaves nothing behind.

        Before, its counters stay taken if a taint or a constraint rejects it, or if it is shared; constraints remember
        its values if its capacity is too small.
        """
        self.configures_once = release >= _LATEST
        """Whether a configuration appears once in an allocation, and names no requests if it applies to all."""
        self.compares_all = release >= DISTINCT_FROM_ALL_SINCE
        """Whether ``distinctAttribute`` compares a device with all before it; before, with the last of each request."""
        self.all_includes_used = release >= _LATEST
        """Whether a request for all devices wants those whose capacity is used up, too, and so gets none."""
        self.goes_on = release >= _GOES_ON_SINCE
        """Whether other nodes are tried if a request for all devices comes to an incomplete or invalid pool."""
        self.names_devices = release >= _LATEST
        """Whether errors of selectors name the device, and explain how to guard a read."""
        self.qualifies_capacity = release >= _QUALIFIES_SINCE
        """Whether a request's capacity without a domain means that of the driver's domain."""
        self.sees_all_counters = release < _LATEST or name == STABLE
        """Whether nodes look at all slices with counters, even at those of pools that they cannot use."""
        self.knows_capacity = name == EXPERIMENTAL or (self.is_sorted and name == INCUBATING)
        """Whether it supports shared capacity, binding conditions and ``distinctAttribute``."""


def tainting(rules: Iterable[JSONObject], release: Release) -> list[JSONObject]:
    """Return the DeviceTaintRules that select devices; without deviceSelector, all or none, as the release has it."""
    is_all = release < _MISSING_SELECTS_NOTHING_SINCE
    return [each for each in rules if is_all or at(each, "spec", "deviceSelector") is not None]


def implementation(features: Features, release: Release, among: Collection[str] = (), patch: int = 0) -> Implementation:
    """Return the implementation that a release uses for some features.

    Args:
        among: The implementations to choose from; empty for all.

    Raises:
        ValueError: No implementation supports all features.
    """
    supported = _SUPPORTED[max((since for since in _SUPPORTED if since <= release), default=min(_SUPPORTED))]
    allowed = {name: known for name, known in supported.items() if not among or name in among}
    for name, known in allowed.items():
        if features.names <= known:
            return Implementation(name, release, features, patch)
    raise ValueError(
        f"no allocator of Kubernetes 1.{release} supports {', '.join(sorted(features.names)) or 'these features'}"
        f" (of {', '.join(allowed) or 'none'})"
    )
