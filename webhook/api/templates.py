"""Finds the pod templates of kinds, as their types declare them, and the sources of claims in pods."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from webhook.api.versions import GROUP, KINDS, SERVED
from webhook.objects import JSONObject, at
from webhook.schema.declarations import Struct
from webhook.schema.fields import Nested

_MAKERS: Final = {of: served for of, served in SERVED.items() if served.makes_pods}
_BY_KIND: Final = {(api_version.rpartition("/")[0], kind): served for (api_version, kind), served in _MAKERS.items()}
_KINDS: Final = frozenset(kind for _, kind in _BY_KIND)
_WITH_POD_SPEC: Final = frozenset({"Pod", "PodTemplateSpec"})
"""The types that hold the specification of a pod, by name: workloads and pods do not need each other's types."""


def makes_pods(api_version: object, kind: object) -> bool:
    """Tell whether objects of a kind are pods or make pods, without loading types."""
    try:
        return (api_version, kind) in _MAKERS
    except TypeError:  # a list or a map
        return False


def template_of(group: str, kind: str) -> tuple[str, ...] | None:
    """Return the steps to a kind's pod template, none for a pod; None for a kind that has none."""
    return _steps(group, kind) if (group, kind) in _BY_KIND else None


def pod_template(obj: object) -> tuple[str, ...] | None:
    """Find the pod template of an object.

    Returns:
        The steps to the template, none for a pod; ``None`` for a kind without pod template.
    """
    if not isinstance(obj, dict):
        return None
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS or not isinstance(version, str):
        return None
    return template_of(version.rpartition("/")[0], kind)


@cache
def _steps(group: str, kind: str) -> tuple[str, ...]:
    """Find the nearest pod, or template of one, in a kind."""
    pending: list[tuple[tuple[str, ...], type[Struct]]] = [((), _BY_KIND[group, kind].type)]
    for steps, each in pending:
        if (each.go_name or each.__name__) in _WITH_POD_SPEC:
            return steps
        pending += [((*steps, name), field.type) for name, field in each.fields.items() if isinstance(field, Nested)]
    raise AssertionError(kind)


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


def source(entry: JSONObject, field: str) -> str:
    """Return the source of a pod's claim, also in the form of Kubernetes 1.30 and earlier."""
    found = entry.get(field) or at(entry, "source", field)
    return found if isinstance(found, str) else ""
