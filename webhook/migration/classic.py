"""Converts claims and classes of v1alpha2, which a driver's controller allocated, and which have no counterpart.

They are converted as far as possible: a class becomes one that matches every device of the driver, a claim becomes a
request for one device of its class. Other fields stay where they are, and are reported with their replacement.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from webhook.migration.parameters import VERSION, Parameters
from webhook.migration.structured import CLASS, of_claim, of_class
from webhook.objects import JSONObject
from webhook.problem import ERROR, Path, Problem

NO_COUNTERPART: Final = "no-counterpart"
"""The rule for fields that newer versions cannot express."""

_PAGE: Final = "see docs/migrate.md"
_ON_DEMAND: Final = "WaitForFirstConsumer"
REQUEST: Final = "request"
"""The name of the only request of a converted claim."""

_NOT_WRITTEN: Final = {
    "PodSchedulingContext": "the scheduler allocates devices by itself: delete the object",
    "ResourceSlice": "drivers publish their slices themselves: upgrade the driver, and delete the object",
    "ResourceClaimParameters": "write the selectors of its requests into the claims, spec.devices.requests[].exactly."
    "selectors, and the driver's parameters into spec.devices.config[].opaque; then delete the object",
    "ResourceClassParameters": "write its filters into the DeviceClass, spec.selectors, and the driver's parameters "
    "into spec.config[].opaque; then delete the object",
}


def lost(path: Path, message: str, hint: str) -> Problem:
    """Report a field that newer versions cannot express."""
    return Problem(ERROR, NO_COUNTERPART, "FieldValueNotSupported", path, message, f"{hint}; {_PAGE}")


def from_classic(obj: JSONObject, parameters: Parameters) -> tuple[JSONObject, list[Problem]]:
    """Convert an object of v1alpha2.

    Args:
        obj: The object; it is not changed.
        parameters: The parameters that claims may refer to.

    Returns:
        The object in v1, or itself if there is no counterpart; and findings about unconverted parts.
    """
    kind = obj.get("kind")
    if user := parameters.user(obj) if kind == "ResourceClaimParameters" else "":
        how = f"its content is part of {user} now: delete the object"
        return obj, [lost(Path(("kind",)), f"{kind} has no counterpart", how)]
    if how := without_counterpart(obj):
        return obj, [lost(Path(("kind",)), f"{kind} has no counterpart", how)]
    change = _CHANGES.get(str(kind))
    return change(obj, parameters) if change else (obj, [])


def without_counterpart(obj: JSONObject) -> str:
    """Suggest the replacement of an object whose kind v1 does not have; empty for all others.

    Args:
        obj: The object, of any version.
    """
    kind = str(obj.get("kind"))
    if obj.get("apiVersion") != VERSION or kind not in _NOT_WRITTEN:
        return ""
    return _written(obj, kind) or _NOT_WRITTEN[kind]


def _written(obj: JSONObject, kind: str) -> str:
    """Suggest what to write in claims and classes instead of a parameters object; empty if unclear."""
    if kind not in _PARAMETERS:
        return ""
    change, where = _PARAMETERS[kind]
    instead = change(obj)
    return (instead and f"write into {where}: {json.dumps(instead, ensure_ascii=False)}, and delete the object") or ""


_PARAMETERS: Final = {
    "ResourceClaimParameters": (of_claim, "the claim, as spec.devices"),
    "ResourceClassParameters": (of_class, "the DeviceClass, as spec"),
}


def _class(obj: JSONObject, _: Parameters) -> tuple[JSONObject, list[Problem]]:
    driver = obj.get("driverName")
    if not isinstance(driver, str):
        return obj, [
            lost(
                Path(("kind",)),
                "a ResourceClass without driverName cannot be converted",
                "write a DeviceClass with spec.selectors",
            )
        ]
    expression = f"device.driver == {json.dumps(driver, ensure_ascii=False)}"
    gone = {"driverName", "structuredParameters"}
    changed = {name: value for name, value in obj.items() if name not in gone}
    changed |= {"kind": "DeviceClass", "spec": {"selectors": [{"cel": {"expression": expression}}]}}
    return changed, list(_lost_of_class(obj, driver))


def _lost_of_class(obj: JSONObject, driver: str) -> Iterator[Problem]:
    if obj.get("parametersRef") is not None:
        opaque = json.dumps({"opaque": {"driver": driver, "parameters": {}}})
        hint = f"write the parameters into spec.config: [{opaque}]"
        yield lost(Path(("parametersRef",)), "a DeviceClass has no parametersRef", hint)
    if obj.get("suitableNodes") is not None:
        hint = "remove the field: the driver's slices name the nodes of devices"
        yield lost(Path(("suitableNodes",)), "a DeviceClass has no suitableNodes", hint)


def _claim(obj: JSONObject, parameters: Parameters) -> tuple[JSONObject, list[Problem]]:
    spec, problems = _claim_spec(obj.get("spec"), Path(("spec",)), parameters.devices(obj))
    if obj.get("status"):
        hint = "remove the field: the cluster writes it, and allocates the claim again"
        problems.append(lost(Path(("status",)), "a status that a controller wrote cannot be converted", hint))
    return (obj if spec is obj.get("spec") else {**obj, "spec": spec}), problems


def _template(obj: JSONObject, parameters: Parameters) -> tuple[JSONObject, list[Problem]]:
    outer = obj.get("spec")
    if not isinstance(outer, dict):
        return obj, []
    spec, problems = _claim_spec(outer.get("spec"), Path(("spec", "spec")), parameters.devices(obj))
    return (obj if spec is outer.get("spec") else {**obj, "spec": {**outer, "spec": spec}}), problems


def _claim_spec(spec: Any, path: Path, devices: JSONObject | None) -> tuple[Any, list[Problem]]:
    """Convert the spec of a claim; its parameters, if known, say which devices it wants."""
    name = spec.get("resourceClassName") if isinstance(spec, dict) else None
    if not isinstance(name, str):
        return spec, [
            lost(
                path,
                "a claim without resourceClassName cannot be converted",
                "write spec.devices.requests, each with a deviceClassName",
            )
        ]
    gone = {"resourceClassName"} | ({"parametersRef"} if devices else set())
    if spec.get("allocationMode", _ON_DEMAND) == _ON_DEMAND:
        gone.add("allocationMode")
    changed = {key: value for key, value in spec.items() if key not in gone}
    changed["devices"] = _of_class(devices, name) or {"requests": [_request(REQUEST, {CLASS: name})]}
    return changed, list(_lost_of_claim(changed, path))


def _of_class(devices: JSONObject | None, name: str) -> JSONObject:
    """Name the class in all requests of some devices."""
    requests = [
        _request(each["name"], {**each["exactly"], CLASS: name}) for each in (devices or {}).get("requests", ())
    ]
    return {**(devices or {}), "requests": requests} if requests else {}


def _request(name: str, exactly: JSONObject) -> JSONObject:
    return {"name": name, "exactly": exactly}


def _lost_of_claim(spec: JSONObject, path: Path) -> Iterator[Problem]:
    if spec.get("allocationMode", _ON_DEMAND) != _ON_DEMAND:
        hint = "devices are allocated when a pod needs them: remove the field"
        yield lost(path / "allocationMode", "v1alpha3 has removed immediate allocation", hint)
    if spec.get("parametersRef") is not None:
        opaque = json.dumps({"requests": [REQUEST], "opaque": {"driver": "DRIVER", "parameters": {}}})
        hint = (
            "convert it together with its ResourceClaimParameters; or write the conditions for devices into the "
            "request's selectors, and the driver's parameters into "
        )
        yield lost(
            path / "parametersRef",
            "v1alpha3 has removed parametersRef from claims",
            f"{hint}devices.config: [{opaque}]",
        )


_CHANGES: Final[dict[str, Callable[[JSONObject, Parameters], tuple[JSONObject, list[Problem]]]]] = {
    "ResourceClass": _class,
    "ResourceClaim": _claim,
    "ResourceClaimTemplate": _template,
}
