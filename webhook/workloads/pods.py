"""Finds the pods in workloads of other projects, as pod templates that the rules of Kubernetes can judge."""

from __future__ import annotations

from webhook.workloads.embedded import PodsIn, every_object, manifest
from webhook.workloads.locations import LOCATIONS, MIXED, OF_JOBS
from webhook.workloads.projects import PODS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Final

    from webhook.objects import JSONObject
    from webhook.workloads.embedded import Steps

Locations = dict[tuple[str, str], tuple[str, ...]]

_SPEC: Final = ("template", "spec")


def pods_in(obj: JSONObject, more: Locations | None = None) -> Iterator[PodsIn]:
    """Find the pods that an object of another project makes.

    Args:
        obj: An object of a kind that Kubernetes does not serve.
        more: Further paths, which replace those of :data:`LOCATIONS`. If an object has nothing there, its pods are
            guessed, as those of unknown kinds are.
    """
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return
    group = version.rpartition("/")[0]
    stated, known = (more or {}).get((group, kind)), LOCATIONS.get((group, kind))
    paths = stated or known
    found = [] if paths is None else list(_stated(obj, paths, is_mixed=group in MIXED))
    yield from found
    if not found and (stated or known is None):
        yield from _guessed(obj)
    elif not paths and group in PODS:
        yield from PODS[group](obj)


def _stated(obj: JSONObject, paths: Iterable[str], *, is_mixed: bool) -> Iterator[PodsIn]:
    for path in paths:
        for steps, value in _at(obj, path.split(".")):
            if found := as_template(obj, value, steps, is_mixed=is_mixed):
                yield found._replace(is_of_job=path.endswith(OF_JOBS))


def as_template(obj: JSONObject, value: Any, steps: Steps, *, is_mixed: bool, is_known: bool = True) -> PodsIn | None:
    """Make a PodTemplate of a pod template or a pod spec; None if the value is neither.

    Args:
        obj: The object that has it.
        value: The template or spec.
        steps: Its path.
        is_mixed: Whether the pod spec is mixed with other fields.
        is_known: Whether the object's kind is known to keep pods there.
    """
    if not isinstance(value, dict):
        return None
    if "containers" not in value and "spec" in value:
        return PodsIn(manifest(obj, value), ((("template",), steps),), is_known)
    if is_mixed:
        value = _pod_spec(value)
    if "containers" not in value and "resourceClaims" not in value:
        return None
    return PodsIn(manifest(obj, {"spec": value}), ((_SPEC, steps),), is_known)


def _pod_spec(value: JSONObject) -> JSONObject:
    """Return the fields of a pod spec; if containers come from a runtime, a placeholder stands for them."""
    from webhook.api.core.podspec import PodSpec  # few kinds need it

    spec = {name: field for name, field in value.items() if name in PodSpec.fields}
    if spec.get("resourceClaims") and "containers" not in spec:
        claims = spec["resourceClaims"] if isinstance(spec["resourceClaims"], list) else []
        uses = [{"name": each["name"]} for each in claims if isinstance(each, dict) and "name" in each]
        spec["containers"] = [{"name": "main", "image": "unknown", "resources": {"claims": uses}}]
    return spec


def _at(value: Any, path: list[str], steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Find the values at a path with wildcards, and their paths."""
    if not path:
        yield steps, value
        return
    if not isinstance(value, dict):
        return
    step, rest = path[0], path[1:]
    if step == "*":
        for key, inner in value.items():
            yield from _at(inner, rest, (*steps, key))
        return
    name = step.removesuffix("[]")
    inner = value.get(name)
    if name == step:
        yield from _at(inner, rest, (*steps, name))
    elif isinstance(inner, list):
        for index, item in enumerate(inner):
            yield from _at(item, rest, (*steps, name, index))


def _guessed(obj: JSONObject) -> Iterator[PodsIn]:
    """Find values that look like pods with claims in objects of kinds that are not in the table."""
    for steps, value in every_object(obj):
        if isinstance(value.get("containers"), list) and isinstance(value.get("resourceClaims"), list):
            found = as_template(obj, value, steps, is_mixed=True, is_known=False)
            if found:
                yield found
