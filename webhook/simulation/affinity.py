"""Affinity and taints of nodes: the nodes that pods and claims may use.

Follows component-helpers ``scheduling/corev1/nodeaffinity/nodeaffinity.go`` and ``k8s.io/api/core/v1/toleration.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.allocation.nodes import term_selects
from webhook.engine.prescheduled import REQUIRED
from webhook.objects import JSONObject, items, mapping, name_of, text, texts

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
