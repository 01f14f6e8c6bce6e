"""What admission plugins that every cluster has add to an object before policies see it.

The plugins ServiceAccount, Priority and DefaultTolerationSeconds of kube-apiserver, which complete pods. The volume
with the service account's token is left out: its name is random.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

    from webhook.objects import JSONObject

_EVICTED_AFTER: Final = 300
_NEW: Final[Mapping[str, Any]] = {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
"""The fields of a new pod that admission plugins set, and keep in updates."""


def admitted(obj: JSONObject, stored: JSONObject | None) -> JSONObject:
    """Return an object as admission plugins complete it; the object itself is not changed.

    Args:
        obj: The object, with the defaults of its type.
        stored: The object that it updates, as policies see it; None for a new one.
    """
    spec = obj.get("spec")
    if (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Pod") and isinstance(spec, dict):
        old = _NEW if stored is None else stored.get("spec")
        return obj | {"spec": _admitted(spec, old if isinstance(old, dict) else {})}
    return obj


def _admitted(spec: JSONObject, old: Mapping[str, Any]) -> JSONObject:
    """Complete a pod's spec as admission plugins do; what an update does not state stays.

    Args:
        spec: The spec.
        old: The stored spec, or what a new pod gets.
    """
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or old.get("serviceAccountName", "default")
    tolerations = spec.get("tolerations")
    tolerations = tolerations if isinstance(tolerations, list) else []
    tolerated = {
        each.get("key") for each in tolerations if isinstance(each, dict) and isinstance(each.get("key"), str | None)
    }
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _EVICTED_AFTER}
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        if key not in tolerated
    ]
    return (
        {name: old[name] for name in _NEW if name in old}
        | spec
        | {
            "serviceAccountName": account,
            "serviceAccount": account,
            "tolerations": [*tolerations, *added],
        }
    )
