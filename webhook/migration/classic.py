"""Converts claims and classes of v1alpha2, which a driver's controller allocated, and which have no counterpart.

They are converted as far as possible: a class becomes one that matches every device of the driver, a claim becomes a
request for one device of its class. Other fields stay where they are, and are reported with their replacement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from webhook import formats
from webhook.api.versions import GROUP
from webhook.inventory import CLAIMS
from webhook.objects import JSONObject, items, mapping, name_of, namespace_of, text
from webhook.problem import ERROR, Path, Problem

CLASSIC: Final = f"{GROUP}/v1alpha2"
_NEWER: Final = f"{GROUP}/v1"
NO_COUNTERPART: Final = "no-counterpart"
"""The rule for fields that newer versions cannot express."""
_MOST: Final = 32
"""The most requests, and configurations, of a claim (``pkg/apis/resource/types.go``, DeviceRequestsMaxSize)."""
_CLASS: Final = "deviceClassName"
_ON_DEMAND: Final = "WaitForFirstConsumer"
_REQUEST: Final = "request"
"""The name of the only request of a converted claim."""
_SPECS: Final = dict(zip(CLAIMS, (Path(("spec",)), Path(("spec", "spec"))), strict=True))
"""The path of the spec of a claim, by kind."""
_READ: Final = re.compile(r"""\battributes\.(string|bool|int|version|quantity)\[(["'])([^"'\\]+)\2\]""")
_ANY_READ: Final = re.compile(r"\battributes\.\w+\[")


def lost(path: Path, message: str, hint: str) -> Problem:
    """Report a field that newer versions cannot express."""
    return Problem(ERROR, NO_COUNTERPART, "FieldValueNotSupported", path, message, f"{hint}; see docs/migrate.md")


def of_claim(parameters: JSONObject) -> JSONObject | None:
    """Return the ``spec.devices`` of a claim that replaces ResourceClaimParameters; None if unclear."""
    requests, config = list[JSONObject](), list[JSONObject]()
    for driver in items(parameters, "driverRequests"):
        name, first = text(driver, "driverName"), len(requests)
        for request in items(driver, "requests"):
            exactly = {_CLASS: "CLASS", "selectors": _selectors(request, name)}
            requests.append({"name": f"request-{len(requests)}", "exactly": exactly})
            config += _opaque(name, request.get("vendorParameters"), requests[-1:])
        config += _opaque(name, driver.get("vendorParameters"), requests[first:])
    if not 0 < len(requests) <= _MOST or len(config) > _MOST:
        return None
    if not all(each["exactly"]["selectors"] for each in requests):
        return None
    return {"requests": requests, **({"config": config} if config else {})}


def of_class(parameters: JSONObject) -> JSONObject | None:
    """Return the ``spec`` of a class that replaces ResourceClassParameters; None if unclear."""
    filters, own = items(parameters, "filters"), items(parameters, "vendorParameters")
    selectors = [one for each in filters for one in _selectors(each, text(each, "driverName"))]
    config = [one for each in own for one in _opaque(text(each, "driverName"), each.get("parameters"))]
    # Several filters choose devices of several drivers, but a class has one set of selectors.
    if len(filters) > 1 or len(selectors) < len(filters) or len(config) > _MOST:
        return None
    return {name: value for name, value in (("selectors", selectors), ("config", config)) if value} or None


def _opaque(driver: str, parameters: Any, requests: Sequence[JSONObject] = ()) -> Iterator[JSONObject]:
    if parameters is not None:
        of_requests = {"requests": [each["name"] for each in requests]} if requests else {}
        yield of_requests | {"opaque": {"driver": driver, "parameters": parameters}}


def _selectors(holder: JSONObject, driver: str) -> list[JSONObject]:
    """Convert a selector of named resources to one of devices; none if devices lack the fields that it reads."""
    selector = text(holder, "namedResources", "selector")
    names = [match[3] for match in _READ.finditer(selector)]
    is_readable = len(names) == len(_ANY_READ.findall(selector))
    if not (selector and driver and is_readable) or any(formats.c_identifier(name, 30) for name in names):
        return []
    quoted = json.dumps(driver, ensure_ascii=False)

    def read(match: re.Match[str]) -> str:
        return f"device.{'capacity' if match[1] == 'quantity' else 'attributes'}[{quoted}].{match[3]}"

    whole = _READ.sub(read, selector)
    condition = f"({whole})" if "||" in whole or "?" in whole else whole
    return _of_driver(driver, "" if condition == "true" else f" && {condition}")


def _of_driver(driver: str, also: str = "") -> list[JSONObject]:
    return [{"cel": {"expression": f"device.driver == {json.dumps(driver, ensure_ascii=False)}{also}"}}]


_PARAMETERS: Final = {
    "ResourceClaimParameters": (of_claim, "the claim, as spec.devices"),
    "ResourceClassParameters": (of_class, "the DeviceClass, as spec"),
}
_NOT_WRITTEN: Final = {
    "PodSchedulingContext": "the scheduler allocates devices by itself: delete the object",
    "ResourceSlice": "drivers publish their slices themselves: upgrade the driver, and delete the object",
    "ResourceClaimParameters": "write the selectors of its requests into the claims, spec.devices.requests[].exactly."
    "selectors, and the driver's parameters into spec.devices.config[].opaque; then delete the object",
    "ResourceClassParameters": "write its filters into the DeviceClass, spec.selectors, and the driver's parameters "
    "into spec.config[].opaque; then delete the object",
}


def without_counterpart(obj: JSONObject) -> str:
    """Suggest the replacement of an object whose kind v1 does not have; empty for all others.

    Args:
        obj: The object, of any version.
    """
    kind = text(obj, "kind")
    if obj.get("apiVersion") != CLASSIC:
        return ""
    if kind in _PARAMETERS:
        change, where = _PARAMETERS[kind]
        if instead := change(obj):
            return f"write into {where}: {json.dumps(instead, ensure_ascii=False)}, and delete the object"
    return _NOT_WRITTEN.get(kind, "")


def from_classic(obj: JSONObject, parameters: Parameters) -> tuple[JSONObject, list[Problem]]:
    """Convert an object of v1alpha2.

    Args:
        obj: The object; it is not changed.
        parameters: The parameters that claims may refer to.

    Returns:
        The object in v1, or unchanged if v1 has no counterpart; and findings about parts that are not converted.
    """
    kind = text(obj, "kind")
    user = parameters.user(obj) if kind == "ResourceClaimParameters" else ""
    if how := f"its content is part of {user} now: delete the object" if user else without_counterpart(obj):
        return obj, [lost(Path(("kind",)), f"{kind} has no counterpart", how)]
    return _claim(obj, _SPECS[kind], parameters.devices(obj)) if kind in _SPECS else _class(obj)


def _class(obj: JSONObject) -> tuple[JSONObject, list[Problem]]:
    if not isinstance(driver := obj.get("driverName"), str):
        message = "a ResourceClass without driverName cannot be converted"
        return obj, [lost(Path(("kind",)), message, "write a DeviceClass with spec.selectors")]
    changed = {name: value for name, value in obj.items() if name not in {"driverName", "structuredParameters"}}
    changed |= {"apiVersion": _NEWER, "kind": "DeviceClass", "spec": {"selectors": _of_driver(driver)}}
    hints = {
        "parametersRef": f"write the parameters into spec.config: {json.dumps([*_opaque(driver, {})])}",
        "suitableNodes": "remove the field: the driver's slices name the nodes of devices",
    }
    left = [name for name in hints if obj.get(name) is not None]
    return changed, [lost(Path((name,)), f"a DeviceClass has no {name}", hints[name]) for name in left]


def _claim(obj: JSONObject, at: Path, devices: JSONObject | None) -> tuple[JSONObject, list[Problem]]:
    """Convert a claim or a template; its parameters, if known, say which devices it wants."""
    spec, problems = mapping(obj, *at.names), list[Problem]()
    if obj.get("status") and not at[1:]:
        hint = "remove the field: the cluster writes it, and allocates the claim again"
        problems.append(lost(Path(("status",)), "a status that a controller wrote cannot be converted", hint))
    if not isinstance(name := spec.get("resourceClassName"), str):
        message = "a claim without resourceClassName cannot be converted"
        return obj, [lost(at, message, "write spec.devices.requests, each with a deviceClassName"), *problems]
    known = items(devices, "requests") or [{"name": _REQUEST, "exactly": {}}]
    requests = [{"name": each["name"], "exactly": {**each["exactly"], _CLASS: name}} for each in known]
    gone = {"resourceClassName"}
    if spec.get("allocationMode", _ON_DEMAND) == _ON_DEMAND:
        gone.add("allocationMode")
    else:
        hint = "devices are allocated when a pod needs them: remove the field"
        problems.append(lost(at / "allocationMode", "v1alpha3 has removed immediate allocation", hint))
    if devices:
        gone.add("parametersRef")
    elif spec.get("parametersRef") is not None:
        config = json.dumps([*_opaque("DRIVER", {}, known)])
        hint = "convert it together with its ResourceClaimParameters; or write the conditions for devices into the "
        hint += f"request's selectors, and the driver's parameters into devices.config: {config}"
        problems.append(lost(at / "parametersRef", "v1alpha3 has removed parametersRef from claims", hint))
    changed = {key: value for key, value in spec.items() if key not in gone}
    changed["devices"] = {**mapping(devices), "requests": requests}
    spec = {**obj["spec"], "spec": changed} if at[1:] else changed
    return {**obj, "apiVersion": _NEWER, "spec": spec}, problems


_Reference = tuple[str, str, str, str]
"""A namespace, and the group, kind and name of an object in it."""


class Parameters:
    """ResourceClaimParameters, by the references that claims of the same namespace have to them.

    Args:
        objects: All objects that are converted.
    """

    def __init__(self, objects: Iterable[object] = ()) -> None:
        self._devices: dict[_Reference, JSONObject | None] = {}
        """What replaces parameters in a claim, without its class; None if that is unclear."""
        self._users: dict[_Reference, str] = {}
        """A claim or template that has each reference."""
        for obj in objects:
            if not isinstance(obj, dict) or obj.get("apiVersion") != CLASSIC:
                continue
            if (kind := text(obj, "kind")) == "ResourceClaimParameters":
                devices = of_claim(obj)
                for each in _names(obj):
                    self._devices.setdefault(each, devices)
            elif kind in _SPECS:
                self._users.setdefault(_referred(obj), f"{kind} {name_of(obj)}")

    def devices(self, claim: JSONObject) -> JSONObject | None:
        """Return the ``spec.devices`` of a claim with these parameters, without its class; None if that is unclear."""
        return self._devices.get(_referred(claim))

    def user(self, parameters: JSONObject) -> str:
        """Name a claim that these parameters become a part of; empty if there is none."""
        used = (self._users[each] for each in _names(parameters) if each in self._users and self._devices.get(each))
        return next(used, "")


def _names(parameters: JSONObject) -> list[_Reference]:
    """Return the references that lead to parameters: to themselves, and to what they were made from."""
    where = namespace_of(parameters)
    own = where, GROUP, text(parameters, "kind"), name_of(parameters)
    return [each for each in (own, _target(where, mapping(parameters, "generatedFrom"))) if each[-1]]


def _referred(claim: JSONObject) -> _Reference:
    return _target(namespace_of(claim), mapping(claim, *_SPECS[text(claim, "kind")].names, "parametersRef"))


def _target(namespace: str, reference: JSONObject) -> _Reference:
    return namespace, text(reference, "apiGroup"), text(reference, "kind"), text(reference, "name")
