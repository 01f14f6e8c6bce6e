"""A node: which pods and claims it is for, its taints, its resources and their use, and its reasons to reject a pod.

Selection follows component-helpers ``scheduling/corev1/nodeaffinity/nodeaffinity.go`` and
``k8s.io/api/core/v1/toleration.go``. The checks, their order and their texts are those of the scheduler's default
plugins (``framework/plugins``: nodeunschedulable, nodename, tainttoleration, nodeaffinity, nodeports, noderesources).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from webhook.allocation.devices import quantity_text
from webhook.allocation.nodes import term_selects
from webhook.deviceselectors.fleet import shortened
from webhook.engine.prescheduled import REQUIRED
from webhook.inventory.resources import CPU, NATIVE, PODS, amounts, requests
from webhook.objects import JSONObject, at, items, mapping, name_of, number, text, texts
from webhook.records import NamedTuple
from webhook.release import Release
from webhook.spelling import either

_BLOCKING: Final = frozenset({"NoSchedule", "NoExecute"})
_ANY: Final = None
"""Stands for all values of taints; an empty key or effect stands for all of these."""


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


def blocking(node: JSONObject) -> list[Taint]:
    """Return the taints of a node that keep pods from it."""
    return [taint for each in items(node, "spec", "taints") if (taint := taint_of(each)).effect in _BLOCKING]


UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""The taint of nodes that take no new pods."""


def selects(selector: JSONObject, node: JSONObject) -> bool:
    """Tell whether a NodeSelector selects a node: at least one of its terms must."""
    name, labels = name_of(node), mapping(node, "metadata", "labels")
    return any(term_selects(each, name, labels) for each in items(selector, "nodeSelectorTerms"))


def requirement(expression: JSONObject) -> str:
    """Write what a node selector requires of a label or field, such as ``zone In a, b``."""
    parts = text(expression, "key"), text(expression, "operator"), ", ".join(texts(expression, "values"))
    return " ".join(filter(None, parts))


def required(selector: JSONObject) -> str:
    """Write what a NodeSelector requires, such as ``zone In a, b and gpu Exists``."""
    terms = [
        [requirement(each) for field in ("matchExpressions", "matchFields") for each in items(term, field)]
        for term in items(selector, "nodeSelectorTerms")
    ]
    return " or ".join(" and ".join(each) for each in terms)


def wants(spec: JSONObject, node: JSONObject) -> bool:
    """Tell whether the node selector and the required node affinity of a pod's spec select a node."""
    if not spec.get("nodeSelector") and not spec.get("affinity"):
        return True
    labels = mapping(node, "metadata", "labels")
    if any(labels.get(key) != value for key, value in mapping(spec, "nodeSelector").items()):
        return False
    affinity = mapping(spec, *REQUIRED)
    return not affinity or selects(affinity, node)


def named(spec: JSONObject) -> frozenset[str] | None:
    """Return the names of the only nodes that the required node affinity can select; None if it names none.

    Follows the scheduler's ``plugins/nodeaffinity/node_affinity.go`` (PreFilter).
    """
    terms = items(spec, *REQUIRED, "nodeSelectorTerms")
    names: frozenset[str] = frozenset()
    for term in terms:
        of_term = named_by(term)
        if of_term is None:
            return None
        names |= of_term
    return names if terms else None


def named_by(term: JSONObject) -> frozenset[str] | None:
    """Return the names of the only nodes that a term can select; None if it names none."""
    names: frozenset[str] | None = None
    for each in items(term, "matchFields"):
        if text(each, "key") == "metadata.name" and text(each, "operator") == "In":
            values = frozenset(texts(each, "values"))
            names = values if names is None else names & values
    return names


class Tolerations(list[JSONObject]):
    """The tolerations of a pod: a set of what they cover, as a pod may have as many of them as nodes have taints."""

    def __init__(self, tolerations: Iterable[JSONObject]) -> None:
        super().__init__(tolerations)
        self._covered = set(filter(None, map(_covered, self)))

    def cover(self, taint: Taint) -> bool:
        """Tell whether one of them tolerates a taint."""
        key, value, effect = taint
        of_key = ((_ANY, ""), (_ANY, key), (value, key))
        return any((*each, effect_) in self._covered for each in of_key for effect_ in ("", effect))


def _covered(toleration: JSONObject) -> tuple[str | None, str, str] | None:
    """Return the value, key and effect of the taints that a toleration covers; None if it covers none."""
    operator, key, effect = text(toleration, "operator"), text(toleration, "key"), text(toleration, "effect")
    if operator == "Exists":
        return _ANY, key, effect
    return (text(toleration, "value"), key, effect) if key and operator in {"", "Equal"} else None


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
    """Describe the state of a node that causes a taint, such as `` (until the node is ready)``; empty for others."""
    state = NODE_STATES.get(key)
    return f" (until the node {state.format(**_SINGULAR)})" if state else ""


def once_recovered(keys: Iterable[str], names: Sequence[str]) -> str:
    """Write that nodes must reach the states that taints stand for, such as ``once n1 is ready``."""
    verbs = _SINGULAR if len(names) == 1 else {"is": "are", "has": "have"}
    return f"once {shortened(names)} {' and '.join(NODE_STATES[key].format(**verbs) for key in keys)}"


Delegated = Callable[[str, Mapping[str, int]], bool]

_TAINTS_COUNTED_SINCE: Final = 34
"""The release from which a node's taints are not named in the condition."""

UNNAMED: Final = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
"""The reason of nodes that are not checked, because the node affinity names others."""
TOO_MANY: Final = "Too many pods"
CORDON, TAINTS, AFFINITY, PORTS, RESOURCES = (
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
)
"""The scheduler's plugins that look at nodes before devices."""

_NANO: Final = 10**9
_MILLI: Final = 10**6

Port = tuple[str, str, int]


class Refusal(NamedTuple):
    """The reasons why a node refuses a pod.

    Args:
        reasons: The scheduler's messages; several if several resources are missing.
        plugin: The plugin of the scheduler that refuses the pod; empty if it is that for devices.
        resolvable: Whether the scheduler would try preemption.
        missing: The resources of which the node has too little.
    """

    reasons: tuple[str, ...]
    plugin: str = ""
    resolvable: bool = False
    missing: tuple[str, ...] = ()

    @classmethod
    def for_lack(cls, *missing: str, plugin: str = "", resolvable: bool = False, is_full: bool = False) -> Refusal:
        """Refuse a pod for a lack of resources, and of room for pods."""
        reasons = (*([TOO_MANY] if is_full else []), *(f"Insufficient {each}" for each in missing))
        return cls(reasons, plugin, resolvable, missing)


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
        self._taints = blocking(node)
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

    def untolerated(self, tolerations: Tolerations) -> list[Taint]:
        """Return the taints that a pod does not tolerate, including the one that stands for an unschedulable node."""
        taints = [*self._taints, UNSCHEDULABLE] if self._is_unschedulable else self._taints
        return [each for each in taints if not tolerations.cover(each)]

    def refusal(self, demand: Demand, release: Release, is_delegated: Delegated) -> Refusal | None:
        """Explain why the node refuses a pod, its devices aside; None if it accepts the pod.

        Args:
            is_delegated: Tells whether devices must provide a resource, given the node's own.
        """
        if self._is_unschedulable and not demand.tolerations.cover(UNSCHEDULABLE):
            return Refusal(("node(s) were unschedulable",), CORDON)
        for taint in self._taints:
            if not demand.tolerations.cover(taint):
                named = f" {{{taint.key}: {taint.value}}}"
                which = "(s)" if release >= _TAINTS_COUNTED_SINCE else named
                return Refusal((f"node(s) had untolerated taint{which}",), TAINTS)
        if not wants(demand.spec, self.node):
            return Refusal(("node(s) didn't match Pod's node affinity/selector",), AFFINITY)
        if any(_conflicts(port, self.ports) for port in demand.ports):
            return Refusal(("node(s) didn't have free ports for the requested pod ports",), PORTS, resolvable=True)
        return self._missing(demand, is_delegated)

    def _missing(self, demand: Demand, is_delegated: Delegated) -> Refusal | None:
        if not self.allocatable:  # a node written by hand, of unknown size
            return None
        missing, resolvable = [], True
        is_full = self.pods + 1 > self.allocatable.get(PODS, 0)
        for name, wanted in demand.requests.items():
            if name not in NATIVE and is_delegated(name, self.allocatable):
                continue
            allocatable = self.allocatable.get(name, 0)
            if wanted > allocatable - self.used.get(name, 0):
                missing.append(name)
                resolvable = resolvable and wanted <= allocatable
        if not missing and not is_full:
            return None
        return Refusal.for_lack(*missing, plugin=RESOURCES, resolvable=resolvable, is_full=is_full)


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
