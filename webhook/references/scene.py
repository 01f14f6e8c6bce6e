"""The nodes and devices of a cluster as if nothing were in use, for the scheduler's allocator."""

from __future__ import annotations

from webhook.allocation import Allocator, Features
from webhook.inventory import Inventory
from webhook.later import cached_property
from webhook.objects import JSONObject, at, free_of_nulls, name_of, text
from webhook.release import Release
from webhook.simulation.cluster import Settings


class Scene:
    """A cluster whose devices are all free.

    Args:
        inventory: The objects of the cluster.
        release: The Kubernetes release, as the minor of 1.x.
        gates: The feature gates that are on.

    Raises:
        ValueError: No allocator is known for that release and those gates, or an object is malformed.
    """

    def __init__(self, inventory: Inventory, release: Release, gates: frozenset[str]) -> None:
        slices = [free_of_nulls(each) for each in inventory.all("ResourceSlice") if at(each, "spec", "pool")]
        self._nodes = inventory.all("Node")
        self._slices = slices
        self.allocator = Allocator(
            [free_of_nulls(each) for each in inventory.all("DeviceClass")],
            slices,
            taint_rules=() if Settings(release, gates).taint_rules_ignored else inventory.all("DeviceTaintRule"),
            features=Features.of(gates, release),
            release=release,
            with_lists="DRAListTypeAttributes" in gates,
        )

    @cached_property
    def by_name(self) -> dict[str, JSONObject]:
        """The nodes by name."""
        return {text(each, "metadata", "name"): each for each in self.nodes}

    @cached_property
    def nodes(self) -> list[JSONObject]:
        """The nodes that may have devices; none if unknown, because labels decide and no nodes are known."""
        if self._nodes:
            return [each for each in self._nodes if name_of(each)]
        names = dict.fromkeys(text(each, "spec", "nodeName") for each in self._slices)
        if any(at(each, "spec", "nodeSelector") or at(each, "spec", "perDeviceNodeSelection") for each in self._slices):
            return []
        return [{"metadata": {"name": name}} for name in names]
