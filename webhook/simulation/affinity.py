"""Affinity and taints of nodes: the nodes that pods and claims may use.

Follows component-helpers ``scheduling/corev1/nodeaffinity/nodeaffinity.go`` and ``k8s.io/api/core/v1/toleration.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from webhook.allocation.nodes import term_selects
from webhook.deviceselectors.fleet import shortened
from webhook.engine.prescheduled import REQUIRED
from webhook.objects import JSONObject, items, mapping, name_of, text, texts
from webhook.records import NamedTuple
from webhook.spelling import either

BLOCKING: Final = frozenset({"NoSchedule", "NoExecute"})
_ANY: Final = None
"""Stands for all values of taints; an empty key or effect stands for all of these."""
UNSCHEDULABLE: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
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

    def cover(self, taint: JSONObject) -> bool:
        """Tell whether one of them tolerates a taint."""
        key, value, effect = text(taint, "key"), text(taint, "value"), text(taint, "effect")
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
