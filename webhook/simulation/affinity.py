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


def tolerates(tolerations: Iterable[JSONObject], taint: JSONObject) -> bool:
    """Tell whether tolerations cover a taint of a node."""
    return any(_tolerates(each, taint) for each in tolerations)


def _tolerates(toleration: JSONObject, taint: JSONObject) -> bool:
    effect, key = text(toleration, "effect"), text(toleration, "key")
    if (effect and effect != text(taint, "effect")) or (key and key != text(taint, "key")):
        return False
    operator = text(toleration, "operator")
    if operator == "Exists":
        return True
    return operator in {"", "Equal"} and bool(key) and text(toleration, "value") == text(taint, "value")
