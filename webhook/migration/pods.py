"""Converts the claims of pods: Kubernetes 1.31 removed ``source`` around the names of claims and templates."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from webhook.api.templates import pod_template
from webhook.objects import JSONObject
from webhook.problem import value_at
from webhook.workloads import Locations, pods_in

Steps = tuple["str | int", ...]

_CLAIMS = ("spec", "resourceClaims")


def with_flat_claims(obj: JSONObject, locations: Locations | None) -> tuple[JSONObject, list[Steps]]:
    """Return an object whose pods name their claims without ``source``.

    Args:
        obj: A pod, or an object that makes pods; it is not changed.
        locations: Where workloads keep their pods, besides the known places.

    Returns:
        The object, and the entries that had a ``source``.
    """
    found = [(steps, entry) for steps, entry in _entries(obj, locations) if _is_nested(entry)]
    if not found:
        return obj, []
    changed = deepcopy(obj)
    for steps, entry in found:
        value_at(changed, steps[:-1])[steps[-1]] = {
            name: value
            for key, each in entry.items()
            for name, value in (each.items() if key == "source" else ((key, each),))
        }
    return changed, [steps for steps, _ in found]


def _entries(obj: JSONObject, locations: Locations | None) -> Iterator[tuple[Steps, Any]]:
    """Yield the entries of ``resourceClaims`` of all pods in an object."""
    template = pod_template(obj)
    if template is not None:
        places: list[Steps] = [(*template, *_CLAIMS)]
    else:
        places = [tuple(pods.place(("template", *_CLAIMS))) for pods in pods_in(obj, locations) if pods.is_known]
    for place in dict.fromkeys(places):
        claims = value_at(obj, place)
        if isinstance(claims, list):
            yield from (((*place, index), entry) for index, entry in enumerate(claims))


def _is_nested(entry: Any) -> bool:
    source = entry.get("source") if isinstance(entry, dict) else None
    return isinstance(source, dict) and bool(source) and source.keys().isdisjoint(entry)
