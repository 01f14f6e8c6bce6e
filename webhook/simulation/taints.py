"""Taints of nodes and devices, and what tolerates exactly one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from webhook.deviceselectors.fleet import shortened
from webhook.objects import JSONObject, text
from webhook.records import NamedTuple
from webhook.spelling import either

_SETS_MAX: Final = 3
"""The number of sets of taints that are named."""
_SINGULAR: Final = {"is": "is", "has": "has"}


NODE_STATES: Final = {
    "node.kubernetes.io/not-ready": "{is} ready",
    "node.kubernetes.io/unreachable": "{is} reachable",
    "node.kubernetes.io/unschedulable": "{is} uncordoned",
    "node.kubernetes.io/memory-pressure": "{has} no memory pressure",
    "node.kubernetes.io/disk-pressure": "{has} no disk pressure",
    "node.kubernetes.io/pid-pressure": "{has} no PID pressure",
    "node.kubernetes.io/network-unavailable": "{has} a network",
    "node.kubernetes.io/out-of-service": "{is} in service",
    "node.cloudprovider.kubernetes.io/uninitialized": "{is} initialized",
    "node.cloudprovider.kubernetes.io/shutdown": "{is} started",
}
"""The taints that reflect a node's state, and the state that the node must reach: pods should not tolerate them."""


class Taint(NamedTuple):
    """A taint."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """Write it as ``key=value:effect``."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"

    @property
    def toleration(self) -> JSONObject:
        """The toleration of this taint alone."""
        return {"key": self.key, "operator": "Equal", "value": self.value, "effect": self.effect}


def taint_of(taint: JSONObject) -> Taint:
    """Read a taint, as in the API."""
    return Taint(text(taint, "key"), text(taint, "value"), text(taint, "effect"))


def untolerated(found: Mapping[frozenset[Taint], int]) -> str:
    """Write which taints are not tolerated.

    Args:
        found: The number of devices that have exactly some taints; those of most devices are named first.
    """
    ordered = sorted(found, key=lambda each: (-found[each], sorted(each)))
    named = [" and ".join(map(str, sorted(each))) for each in ordered[:_SETS_MAX]]
    more = [f"{len(ordered) - _SETS_MAX} more"] if len(ordered) > _SETS_MAX else []
    noun, verb = ("taints", "are") if any(len(each) > 1 for each in ordered) else ("taint", "is")
    return f"{noun} {either([*named, *more])} {verb} not tolerated"


def state_of(key: str) -> str:
    """Write the state of a node that a taint stands for, such as `` (until the node is ready)``; empty for others."""
    state = NODE_STATES.get(key)
    return f" (until the node {state.format(**_SINGULAR)})" if state else ""


def once_recovered(keys: Iterable[str], names: Sequence[str]) -> str:
    """Write that nodes must reach the states that taints stand for, such as ``once n1 is ready``."""
    verbs = _SINGULAR if len(names) == 1 else {"is": "are", "has": "have"}
    return f"once {shortened(names)} {' and '.join(NODE_STATES[key].format(**verbs) for key in keys)}"
