"""A node: its resources, their use, and its reasons to reject a pod.

The checks, their order and their texts are those of the scheduler's default plugins (``framework/plugins``:
nodeunschedulable, nodename, tainttoleration, nodeaffinity, nodeports, noderesources).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from webhook.allocation.devices import quantity_text
from webhook.inventory.resources import CPU, NATIVE, PODS, amounts, requests
from webhook.objects import JSONObject, at, items, mapping, number, text
from webhook.records import NamedTuple
from webhook.release import Release
from webhook.simulation.affinity import BLOCKING, UNSCHEDULABLE, Tolerations, wants

Delegated = Callable[[str, Mapping[str, int]], bool]

_TAINTS_COUNTED_SINCE: Final = 34
"""The release from which a node's taints are not named in the condition."""

UNSELECTED: Final = "node(s) didn't match Pod's node affinity/selector"
UNNAMED: Final = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
"""The reason of nodes that are not checked, because the node affinity names others."""
TOO_MANY: Final = "Too many pods"
INSUFFICIENT: Final = "Insufficient "
"""The start of a message that names a resource."""

_NANO: Final = 10**9
_MILLI: Final = 10**6

Port = tuple[str, str, int]


class Refusal(NamedTuple):
    """The reasons why a node refuses a pod.

    Args:
        reasons: The scheduler's messages; several if several resources are missing.
        resolvable: Whether the scheduler would try preemption.
    """

    reasons: tuple[str, ...]
    resolvable: bool = False

    @property
    def missing(self) -> list[str]:
        """The resources of which the node has too little."""
        return [each.removeprefix(INSUFFICIENT) for each in self.reasons if each.startswith(INSUFFICIENT)]


class Demand(NamedTuple):
    """The demands of a pod on a node, read once for all nodes."""

    spec: JSONObject
    requests: Mapping[str, int]
    ports: frozenset[Port]
    tolerations: Tolerations

    @classmethod
    def of(cls, pod: JSONObject) -> Demand:
        """Read the demands of a pod."""
        spec = mapping(pod, "spec")
        return cls(spec, requests(pod), frozenset(_ports(spec)), Tolerations(items(spec, "tolerations")))

    def with_more(self, taken: Mapping[str, int]) -> Demand:
        """Add the amounts that devices take of a node's other resources."""
        total = {name: self.requests.get(name, 0) + taken.get(name, 0) for name in {**self.requests, **taken}}
        return self._replace(requests=total)


class NodeState:
    """A node, with the resources that its pods use."""

    def __init__(self, node: JSONObject) -> None:
        self.node = node
        self.name = text(node, "metadata", "name")
        status = mapping(node, "status")
        self.allocatable = amounts(mapping(status, "allocatable") or mapping(status, "capacity"))
        self.used: dict[str, int] = {}
        self.pods = 0
        self.ports: frozenset[Port] = frozenset()
        self._taints = [each for each in items(node, "spec", "taints") if text(each, "effect") in BLOCKING]
        self._is_unschedulable = at(node, "spec", "unschedulable") is True

    def add(self, demand: Demand) -> None:
        """Count a pod as running on the node."""
        self.pods += 1
        for name, value in demand.requests.items():
            self.used[name] = self.used.get(name, 0) + value
        self.ports |= demand.ports

    def remove(self, demand: Demand) -> None:
        """Count a pod as gone from the node."""
        self.pods -= 1
        for name, value in demand.requests.items():
            self.used[name] -= value
        self.ports -= demand.ports

    def left(self, name: str) -> int | None:
        """Return the amount of a resource that no pod uses; None if the node's size is unknown."""
        return self.allocatable.get(name, 0) - self.used.get(name, 0) if self.allocatable else None

    def untolerated(self, tolerations: Tolerations) -> list[JSONObject]:
        """Return the taints that a pod does not tolerate, including the one that stands for an unschedulable node."""
        taints = [*self._taints, UNSCHEDULABLE] if self._is_unschedulable else self._taints
        return [each for each in taints if not tolerations.cover(each)]

    def refusal(self, demand: Demand, release: Release, is_delegated: Delegated) -> Refusal | None:
        """Explain why the node refuses a pod, its devices aside; None if it accepts the pod.

        Args:
            is_delegated: Tells whether devices must provide a resource, given the node's own.
        """
        if self._is_unschedulable and not demand.tolerations.cover(UNSCHEDULABLE):
            return Refusal(("node(s) were unschedulable",))
        for taint in self._taints:
            if not demand.tolerations.cover(taint):
                named = f" {{{text(taint, 'key')}: {text(taint, 'value')}}}"
                return Refusal(
                    (f"node(s) had untolerated taint{'(s)' if release >= _TAINTS_COUNTED_SINCE else named}",)
                )
        if not wants(demand.spec, self.node):
            return Refusal((UNSELECTED,))
        if any(_conflicts(port, self.ports) for port in demand.ports):
            return Refusal(("node(s) didn't have free ports for the requested pod ports",), resolvable=True)
        return self._missing(demand, is_delegated)

    def _missing(self, demand: Demand, is_delegated: Delegated) -> Refusal | None:
        if not self.allocatable:  # a node written by hand, of unknown size
            return None
        reasons, resolvable = [], True
        if self.pods + 1 > self.allocatable.get(PODS, 0):
            reasons.append(TOO_MANY)
        for name, wanted in demand.requests.items():
            if name not in NATIVE and is_delegated(name, self.allocatable):
                continue
            allocatable = self.allocatable.get(name, 0)
            if wanted > allocatable - self.used.get(name, 0):
                reasons.append(INSUFFICIENT + name)
                resolvable = resolvable and wanted <= allocatable
        return Refusal(tuple(reasons), resolvable) if reasons else None


def _ports(spec: JSONObject) -> list[Port]:
    found = []
    for container in (*items(spec, "containers"), *items(spec, "initContainers")):
        for port in items(container, "ports"):
            if wanted := number(port, "hostPort"):
                address = text(port, "hostIP") or "0.0.0.0"  # noqa: S104 - what no address stands for
                found.append((address, text(port, "protocol") or "TCP", wanted))
    return found


def _conflicts(port: Port, taken: frozenset[Port]) -> bool:
    everywhere = "0.0.0.0"  # noqa: S104 - see above
    return any(port[1:] == other[1:] and (port[0] == other[0] or everywhere in {port[0], other[0]}) for other in taken)


def amount_text(name: str, amount: int) -> str:
    """Write an amount of a resource as a quantity.

    Args:
        amount: The amount: cpu in millicores, others in whole units.
    """
    return quantity_text(amount * (_MILLI if name == CPU else _NANO))
