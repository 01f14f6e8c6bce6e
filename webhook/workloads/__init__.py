"""Workloads of other projects: finds their pods, and the claims that cannot work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import prod
from typing import Any, Final

from webhook.objects import JSONObject, group_of, items, mapping, namespace_of, number, text, texts
from webhook.problem import Path, Steps, value_at
from webhook.spelling import nearest
from webhook.workloads.locations import (
    LOCATIONS,
    OF_JOBS,
    PARTIAL,
    RELEASED_IN,
    ManifestIn,
    Place,
    Times,
    every_object,
    is_held,
    manifest,
    released,
)
from webhook.workloads.nested import with_texts
from webhook.workloads.projects import PODS

Locations = dict[tuple[str, str], tuple[str, ...]]
Make = Callable[[Any, Steps], ManifestIn | None]

_SOURCES: Final = frozenset({"resourceClaimName", "resourceClaimTemplateName", "source"})
_UNKNOWN: Final = "how many such pods it makes is not known"


def pods_in(obj: JSONObject, more: Locations | None = None) -> Iterator[ManifestIn]:
    """Find the pods that an object of another project makes.

    Args:
        obj: An object of a kind that Kubernetes does not serve.
        more: Further paths, which replace those of :data:`LOCATIONS`. If an object has nothing there, its pods are
            guessed, as those of unknown kinds are.
    """
    return with_texts(obj, partial(_pods_in, more=more))


def _pods_in(obj: JSONObject, more: Locations | None) -> Iterator[ManifestIn]:
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return
    group = version.rpartition("/")[0]
    stated, known = (more or {}).get((group, kind)), LOCATIONS.get((group, kind))
    make = partial(as_template, obj, is_partial=bool(stated) or group in PARTIAL)
    found = list(_stated(make, obj, map(Place, stated) if stated else known or ()))
    if stated:
        found = [each._replace(unsure=_UNKNOWN) for each in found]
    if known is not None and not stated and group in PODS:
        found += PODS[group](obj)
    yield from found
    if not found and (stated or known is None):
        yield from _guessed(obj)


def _stated(
    make: Make, part: Any, places: Iterable[Place], at: Steps = (), *, number: int = 1, unsure: str = ""
) -> Iterator[ManifestIn]:
    """Find the pods at known places in an object, or in a part of it.

    Args:
        make: Returns the pods of a value at a path; None if the value is neither a pod template nor a pod spec.
        at: The path of the part.
        number: How many times the controller makes the part.
        unsure: Why it may make another number.
    """
    for place in places:
        numbers = [_number(part, each) for each in place.times]
        scaled = place.scaled and value_at(part, place.scaled.split("."))
        for steps, value in _at(part, place.path.split(".")):
            here, count = (*at, *steps), number * prod(each(value) for each in numbers)
            is_fixed = not scaled or (isinstance(scaled, int) and scaled is not True and scaled <= count)
            why = unsure if is_fixed else f"{Path(at) / place.scaled} lets an autoscaler change their number"
            if place.parts:
                yield from _stated(make, value, place.parts, here, number=count, unsure=why)
            elif found := make(value, here):
                yield found._replace(is_of_job=place.path == OF_JOBS, number=count, unsure=why)


def as_template(
    obj: JSONObject, value: Any, steps: Steps, *, is_partial: bool, is_known: bool = True
) -> ManifestIn | None:
    """Make a PodTemplate of a pod template or a pod spec; None if the value is neither.

    Args:
        is_partial: Whether the pod spec is mixed with other fields, or lacks some that its controller adds.
        is_known: Whether the object's kind is known to keep pods there.
    """
    if not isinstance(value, dict):
        return None
    if "containers" not in value and "spec" in value:
        spec = value["spec"]
        filled = {**value, "spec": _pod_spec(spec)} if is_partial and isinstance(spec, dict) else value
        return ManifestIn(manifest(obj, filled), {("template",): steps}, is_known)
    places: dict[Steps, Steps] = {("template", "spec"): steps}
    if is_partial:
        if "containers" not in value and "model" in value:  # the container of KServe's InferenceService
            places["template", "spec", "containers", 0] = (*steps, "model")
        value = _pod_spec(value)
    if "containers" not in value and "resourceClaims" not in value:
        return None
    return ManifestIn(manifest(obj, {"spec": value}), places, is_known)


def _pod_spec(value: JSONObject) -> JSONObject:
    """Return the fields of a pod spec; placeholders stand for containers and images that a controller adds."""
    from webhook.api.core.podspec import PodSpec  # few kinds need it

    spec = {name: field for name, field in value.items() if name in PodSpec.fields}
    names = dict.fromkeys(text(each, "name") for each in items(spec, "resourceClaims"))
    uses = items(value, "model", "resources", "claims") or [{"name": name} for name in names if name]
    if "containers" not in spec and (uses or spec.get("resourceClaims")):
        spec["containers"] = [{"name": "main", "resources": {"claims": uses}}]
    if isinstance(spec.get("containers"), list):
        spec["containers"] = [
            {"image": "unknown", **each} if isinstance(each, dict) else each for each in spec["containers"]
        ]
    return spec


def _at(value: Any, path: list[str], steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Find the values at a path with wildcards, and their paths."""
    if not path:
        yield steps, value
        return
    step, rest = path[0], path[1:]
    if step == "*":
        inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in inside:
            yield from _at(inner, rest, (*steps, key))
    elif isinstance(value, dict):
        name = step.removesuffix("[]")
        if name == step:
            yield from _at(value.get(name), rest, (*steps, name))
        elif isinstance(inner := value.get(name), list):
            yield from _at(inner, ["*", *rest], (*steps, name))


def _number(part: Any, times: Times) -> Callable[[Any], int]:
    """Return a function that returns a number that multiplies the pods of a value in a part."""
    if not times.group:
        whole = _times(part, times)
        return lambda _: whole
    known: dict[str, int] = {}
    for each in items(part, *times.group.split(".")):
        if (count := number(each, times.path)) is not None:
            for name in texts(each, times.members):
                known.setdefault(name, count)
    return lambda value: known.get(text(value, "name"), times.default)


def _times(part: Any, times: Times) -> int:
    paths = (times.path, times.otherwise, times.least, times.most, times.over)
    first, second, least, most, over = (number(part, *path.split(".")) if path else None for path in paths)
    found = max(next((each for each in (first, second) if each is not None), times.default), least or 0)
    found = found if most is None else min(found, most)
    found = max(found // over, 1) if over else found
    is_beside = bool(times.beside) and bool(value_at(part, times.beside.split(".")))
    return max(found - is_beside, 0)


def _guessed(obj: JSONObject) -> Iterator[ManifestIn]:
    """Find what looks like pods with claims, or like their claims alone, in objects of kinds that are not known."""
    holders = [(steps, value) for steps, value in every_object(obj) if isinstance(value.get("resourceClaims"), list)]
    holders = holders or [(steps, value) for steps, value in every_object(obj) if _lacks_claims(steps, value)]
    is_only = len(holders) == 1  # else it is unclear whose claims other parts use
    uses = [steps for steps, value in every_object(obj) if items(value, "resources", "claims")] if is_only else []
    for steps, value in holders:
        is_like_a_pod = "containers" in value or _are_claims(value["resourceClaims"])
        beside = [each for each in uses if each[: len(steps)] != steps]
        if is_like_a_pod and (found := _guess(obj, steps, value, beside)):
            yield found._replace(unsure=_UNKNOWN)


def _are_claims(claims: list[Any]) -> bool:
    """Tell whether a list may be a pod's claims: named objects, some with a claim or template, and nothing else."""
    if not all(isinstance(each, dict) for each in claims):
        return False
    stated = {(name, isinstance(each[name], dict)) for each in claims for name in each if name != "name"}
    return bool(stated) and all(name in _SOURCES or (nearest(name, _SOURCES) and not is_map) for name, is_map in stated)


def _lacks_claims(steps: Steps, value: JSONObject) -> bool:
    """Tell whether what looks like the spec of a pod template has containers with claims, and none itself."""
    uses = any(items(each, "resources", "claims") for each in items(value, "containers"))
    return uses and len(steps) > 1 and str(steps[-1]).lower().endswith("spec")


def _guess(obj: JSONObject, steps: Steps, value: JSONObject, beside: list[Steps]) -> ManifestIn | None:
    """Make a PodTemplate of what looks like a pod, or like its claims beside the resources of its only container.

    Args:
        beside: The paths of further containers, which an operator adds.
    """
    own, rest = value.get("containers", []), value
    if "resources" in value and "containers" not in value:
        beside, rest = [steps, *beside], {name: each for name, each in value.items() if name != "resources"}
    if not isinstance(own, list):
        beside = []
    elif beside:
        added = [
            {"name": f"main-{place}", "resources": value_at(obj, (*each, "resources"))}
            for place, each in enumerate(beside)
        ]
        rest = {**rest, "containers": [*own, *added]}
    found = as_template(_holder(obj, steps), rest, steps, is_partial=True, is_known=False)
    places: dict[Steps, Steps] = {
        ("template", "spec", "containers", len(own) + place): each for place, each in enumerate(beside)
    }
    return found and found._replace(places={**places, **found.places})


def _holder(obj: JSONObject, steps: Steps) -> JSONObject:
    """Return the manifest around a place; an object that holds values for another namespace, as if it were there."""
    part: Any = obj
    held: JSONObject = {}
    for step in steps[:-1]:
        part = part[step]
        held = part if is_held(part) else held
    if held:
        return released(obj, held)
    path = RELEASED_IN.get((group_of(obj), text(obj, "kind")), ())
    namespace = text(obj, *path) or namespace_of(obj)
    return {**obj, "metadata": {**mapping(obj, "metadata"), "namespace": namespace}}
