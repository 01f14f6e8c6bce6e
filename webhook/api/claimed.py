"""Tells which pods and workloads use Dynamic Resource Allocation."""

from __future__ import annotations

from typing import Any, Final

from webhook.api.templates import makes_pods
from webhook.api.versions import GROUP, KINDS

_APART: Final = frozenset({"metadata", "annotations", "labels", "volumes", "volumeClaimTemplates", "status"})
"""Fields whose contents are names that people choose, or claims of volumes."""

_OF_DEVICES: Final = (GROUP, "resourceClaim", "draResources", "ComputeDomain", *KINDS)
"""Words, one of which is in each text about objects of Dynamic Resource Allocation, or pods that use them."""
_MARKS: Final = (*_OF_DEVICES, "laim", "ontainer")
"""Words, one of which is in each text about these, or any pods: fields about claims are named so."""


def may_concern(text: str) -> bool:
    """Tell whether a text may hold an object of Dynamic Resource Allocation, a pod, or what makes one of these."""
    return any(mark in text for mark in _MARKS)


def is_about_devices(text: str) -> bool:
    """Tell whether a text mentions objects of Dynamic Resource Allocation, or fields that refer to them."""
    return any(mark in text for mark in _OF_DEVICES)


def is_pod_without_claims(obj: Any) -> bool:
    """Tell whether an object is or makes a pod that neither claims resources nor names its node.

    A field that looks as if it were about claims counts, so that a misspelt one is found.
    """
    return isinstance(obj, dict) and makes_pods(obj.get("apiVersion"), obj.get("kind")) and not _claims(obj)


def _claims(value: Any) -> bool:
    """Look for a field about claims or the name of a node, no deeper than a pod spec can be."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, list):
            pending += each
        elif isinstance(each, dict):
            for name, inner in each.items():
                if name in _APART:
                    continue
                if inner and ("claim" in name.lower() or name == "nodeName"):
                    return True
                if isinstance(inner, dict | list):
                    pending.append(inner)
    return False
