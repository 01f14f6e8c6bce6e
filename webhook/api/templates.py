"""Finds the pod templates of kinds, as their types declare them."""

from __future__ import annotations

from functools import cache
from typing import Final

from webhook.api.versions import VERSIONS
from webhook.schema import Nested, Struct

Steps = tuple[str, ...]

_MAKERS: Final = {
    (api_version, kind): served
    for api_version, version in VERSIONS.items()
    for kind, served in version.kinds.items()
    if served.makes_pods
}
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


def template_of(group: str, kind: str) -> Steps | None:
    """Return the steps to a kind's pod template, none for a pod; None for a kind that has none."""
    return _steps(group, kind) if (group, kind) in _BY_KIND else None


def pod_template(obj: object) -> Steps | None:
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
def _steps(group: str, kind: str) -> Steps:
    """Find the nearest pod, or template of one, in a kind."""
    pending: list[tuple[Steps, type[Struct]]] = [((), _BY_KIND[group, kind].type)]
    for steps, each in pending:
        if (each.go_name or each.__name__) in _WITH_POD_SPEC:
            return steps
        pending += [((*steps, name), field.type) for name, field in each.fields.items() if isinstance(field, Nested)]
    raise AssertionError(kind)
