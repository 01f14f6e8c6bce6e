"""Explains errors in what places a pod: tolerations, and conditions on labels of nodes."""

from __future__ import annotations

from webhook.api.core import placement
from webhook.api.core.placement import COMPARING, COMPARING_GATE, COMPARING_SINCE
from webhook.api.dra import taints
from webhook.documents.dump import dump
from webhook.objects import text
from webhook.patterns import Pattern
from webhook.problem import Advice, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from webhook.problem import Problem

_TOLERATION: Final = {
    **dict.fromkeys(
        (placement.NO_VALUE, taints.NO_VALUE),
        "leave out value to tolerate all values of the key, or write operator: Equal to tolerate this one",
    ),
    placement.ONLY_EVICTING: "only NoExecute evicts pods: leave out tolerationSeconds, or write effect: NoExecute",
    placement.ONLY_EXISTS: "add the key of the taint, or write operator: Exists without a value for all taints",
}
"""How to fix a toleration, by what the API server says of it."""


def of_toleration(problem: Problem, obj: Any) -> Advice:
    """Suggest the fields that make a toleration valid; empty if unclear."""
    operator = text(value_at(obj, problem.path[:-1]), "operator")
    if operator in COMPARING and problem.path[-1] == "operator":
        is_known = COMPARING[0] in problem.allowed
        needs = f"needs the feature gate {COMPARING_GATE}, which is off"
        return Advice(f"{operator} {needs if is_known else f'is supported from Kubernetes 1.{COMPARING_SINCE} on'}")
    return Advice(_TOLERATION.get(problem.detail, ""))


_TAINT: Final = Pattern(r"([^=:]{1,317})(?:=([^=:]{0,63}))?(?::(\w{1,16}))?")
"""A taint as kubectl takes it: key=value:effect, perhaps without value or effect."""
_REQUIREMENTS: Final = "matchExpressions"
_LABELS: Final = "nodeSelector"
_TOLERATIONS: Final = "tolerations"


def of_key(problem: Problem, _obj: Any) -> Advice:
    """Write the parts of a key that has a value in it as fields of their own; empty for other keys."""
    parts = _TAINT.fullmatch(problem.value)
    if parts is None or parts.group() == parts[1]:
        return Advice()
    key, value, effect = parts.groups(default="")
    shown = dump([value]).rstrip("\n")  # in quotes where YAML reads another type, such as true
    holder = next(step for step in reversed(problem.path) if isinstance(step, str) and step != "key")
    if holder == _LABELS:
        return Advice(f"write {key}: {shown}")
    if holder == _REQUIREMENTS:
        fields = {"key": key, "operator": "In" if value else "Exists", "values": value and f"[{shown}]"}
    else:
        operator = {"operator": "Equal" if value else "Exists"} if holder == _TOLERATIONS else {}
        fields = {"key": key, **operator, "value": value and shown, "effect": effect}
    stated = ", ".join(f"{name}: {part}" for name, part in fields.items() if part)
    return Advice(f"each part is a field of its own: {stated}")
