"""Converts claims and classes of v1alpha2, which a driver's controller allocated, and which have no counterpart.

They are converted as far as possible: a class becomes one that matches every device of the driver, a claim becomes a
request for one device of its class. Other fields stay where they are, and are reported with their replacement.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from webhook import formats
from webhook.api.versions import GROUP
from webhook.inventory import CLAIMS
from webhook.objects import JSONObject, at, items, mapping, name_of, namespace_of, text
from webhook.problem import ERROR, Path, Problem

_READ: Final = re.compile(r"""\battributes\.(string|bool|int|version|quantity)\[(["'])([^"'\\]+)\2\]""")
_ANY_READ: Final = re.compile(r"\battributes\.\w+\[")
CLASS: Final = "deviceClassName"
"""The field of a request that names its class."""
_MOST: Final = 8
"""The most requests, filters or parameters to show."""


def of_claim(parameters: JSONObject) -> JSONObject | None:
    """Return the ``spec.devices`` of a claim that replaces ResourceClaimParameters; None if unclear."""
    requests: list[JSONObject] = []
    config: list[JSONObject] = []
    for driver in islice(items(parameters, "driverRequests"), _MOST):
        name, of_driver = text(driver, "driverName"), []
        for request in islice(items(driver, "requests"), _MOST):
            if not (expression := _selector(text(request, "namedResources", "selector"), name)):
                return None
            of_driver.append(f"request-{len(requests)}")
            exactly = {CLASS: "CLASS", "selectors": [{"cel": {"expression": expression}}]}
            requests.append({"name": of_driver[-1], "exactly": exactly})
            config += _opaque(name, request.get("vendorParameters"), of_driver[-1:])
        config += _opaque(name, driver.get("vendorParameters"), of_driver)
    return ({"requests": requests} | ({"config": config} if config else {})) if requests else None


def of_class(parameters: JSONObject) -> JSONObject | None:
    """Return the ``spec`` of a class that replaces ResourceClassParameters; None if unclear."""
    selectors: list[JSONObject] = []
    config: list[JSONObject] = []
    for each in islice(items(parameters, "filters"), _MOST):
        driver = text(each, "driverName")
        if not (expression := _selector(text(each, "namedResources", "selector"), driver)):
            return None
        selectors.append({"cel": {"expression": expression}})
    for each in islice(items(parameters, "vendorParameters"), _MOST):
        config += _opaque(text(each, "driverName"), each.get("parameters"), ())
    found: JSONObject = {name: value for name, value in (("selectors", selectors), ("config", config)) if value}
    # Several filters choose devices of several drivers, but a class has one set of selectors.
    return found if found and len(selectors) <= 1 else None


def _opaque(driver: str, parameters: Any, requests: list[str] | tuple[str, ...]) -> Iterator[JSONObject]:
    if parameters is not None:
        of_requests = {"requests": list(requests)} if requests else {}
        yield of_requests | {"opaque": {"driver": driver, "parameters": parameters}}


def _selector(selector: str, driver: str) -> str:
    """Convert a selector of named resources to one of devices; empty if devices lack the fields that it reads."""
    quoted = json.dumps(driver, ensure_ascii=False)

    def read(match: re.Match[str]) -> str:
        return f"device.{'capacity' if match[1] == 'quantity' else 'attributes'}[{quoted}].{match[3]}"

    names = [match[3] for match in _READ.finditer(selector)]
    is_readable = len(names) == len(_ANY_READ.findall(selector))
    if not (selector and driver and is_readable) or any(formats.c_identifier(name, 30) for name in names):
        return ""
    whole = _READ.sub(read, selector)
    condition = f"({whole})" if "||" in whole or "?" in whole else whole
    return f"device.driver == {quoted} && {condition}" if condition != "true" else f"device.driver == {quoted}"


NO_COUNTERPART: Final = "no-counterpart"
"""The rule for fields that newer versions cannot express."""

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
    return Problem(ERROR, NO_COUNTERPART, "FieldValueNotSupported", path, message, f"{hint}; see docs/migrate.md")


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
    if obj.get("apiVersion") != CLASSIC or kind not in _NOT_WRITTEN:
        return ""
    if kind in _PARAMETERS:
        change, where = _PARAMETERS[kind]
        if instead := change(obj):
            return f"write into {where}: {json.dumps(instead, ensure_ascii=False)}, and delete the object"
    return _NOT_WRITTEN[kind]


_PARAMETERS: Final = {
    "ResourceClaimParameters": (of_claim, "the claim, as spec.devices"),
    "ResourceClassParameters": (of_class, "the DeviceClass, as spec"),
}


def _class(obj: JSONObject, _: Parameters) -> tuple[JSONObject, list[Problem]]:
    if not isinstance(driver := obj.get("driverName"), str):
        message = "a ResourceClass without driverName cannot be converted"
        return obj, [lost(Path(("kind",)), message, "write a DeviceClass with spec.selectors")]
    expression = f"device.driver == {json.dumps(driver, ensure_ascii=False)}"
    changed = {name: value for name, value in obj.items() if name not in {"driverName", "structuredParameters"}}
    changed |= {"kind": "DeviceClass", "spec": {"selectors": [{"cel": {"expression": expression}}]}}
    problems = []
    if obj.get("parametersRef") is not None:
        opaque = json.dumps({"opaque": {"driver": driver, "parameters": {}}})
        hint = f"write the parameters into spec.config: [{opaque}]"
        problems.append(lost(Path(("parametersRef",)), "a DeviceClass has no parametersRef", hint))
    if obj.get("suitableNodes") is not None:
        hint = "remove the field: the driver's slices name the nodes of devices"
        problems.append(lost(Path(("suitableNodes",)), "a DeviceClass has no suitableNodes", hint))
    return changed, problems


def _claim(obj: JSONObject, parameters: Parameters) -> tuple[JSONObject, list[Problem]]:
    """Convert a claim or a template, whose spec holds that of its claims."""
    path = _SPECS[obj["kind"]]
    if not isinstance(around := at(obj, *path[:-1]), dict):
        return obj, []
    spec, problems = _claim_spec(around.get("spec"), Path(path), parameters.devices(obj))
    if around is obj and obj.get("status"):
        hint = "remove the field: the cluster writes it, and allocates the claim again"
        problems.append(lost(Path(("status",)), "a status that a controller wrote cannot be converted", hint))
    if spec is around.get("spec"):
        return obj, problems
    return {**obj, "spec": spec if around is obj else {**around, "spec": spec}}, problems


def _claim_spec(spec: Any, path: Path, devices: JSONObject | None) -> tuple[Any, list[Problem]]:
    """Convert the spec of a claim; its parameters, if known, say which devices it wants."""
    name = spec.get("resourceClassName") if isinstance(spec, dict) else None
    if not isinstance(name, str):
        message = "a claim without resourceClassName cannot be converted"
        return spec, [lost(path, message, "write spec.devices.requests, each with a deviceClassName")]
    gone = {"resourceClassName"} | ({"parametersRef"} if devices else set())
    if spec.get("allocationMode", _ON_DEMAND) == _ON_DEMAND:
        gone.add("allocationMode")
    changed = {key: value for key, value in spec.items() if key not in gone}
    known = items(devices, "requests") or [{"name": REQUEST, "exactly": {}}]
    requests = [{"name": each["name"], "exactly": {**each["exactly"], CLASS: name}} for each in known]
    changed["devices"] = {**mapping(devices), "requests": requests}
    return changed, list(_lost_of_claim(changed, path))


def _lost_of_claim(spec: JSONObject, path: Path) -> Iterator[Problem]:
    if spec.get("allocationMode", _ON_DEMAND) != _ON_DEMAND:
        hint = "devices are allocated when a pod needs them: remove the field"
        yield lost(path / "allocationMode", "v1alpha3 has removed immediate allocation", hint)
    if spec.get("parametersRef") is not None:
        opaque = json.dumps({"requests": [REQUEST], "opaque": {"driver": "DRIVER", "parameters": {}}})
        hint = "convert it together with its ResourceClaimParameters; or write the conditions for devices into the "
        hint += f"request's selectors, and the driver's parameters into devices.config: [{opaque}]"
        yield lost(path / "parametersRef", "v1alpha3 has removed parametersRef from claims", hint)


_CHANGES: Final[dict[str, Callable[[JSONObject, Parameters], tuple[JSONObject, list[Problem]]]]] = {
    "ResourceClass": _class,
    **dict.fromkeys(CLAIMS, _claim),
}

CLASSIC: Final = f"{GROUP}/v1alpha2"
_KIND: Final = "ResourceClaimParameters"
_SPECS: Final = dict(zip(CLAIMS, (("spec",), ("spec", "spec")), strict=True))
"""The path of the spec of a claim, by kind."""

_Reference = tuple[str, str, str, str]
"""A namespace, and the group, kind and name of an object in it."""


class Parameters:
    """ResourceClaimParameters, by the references that claims of the same namespace have to them.

    Args:
        objects: All objects that are converted.
    """

    def __init__(self, objects: Iterable[object] = ()) -> None:
        self._known: dict[_Reference, JSONObject] = {}
        self._claims: dict[_Reference, str] = {}
        """A claim or template that has each reference."""
        for obj in objects:
            if not isinstance(obj, dict) or obj.get("apiVersion") != CLASSIC:
                continue
            if (kind := text(obj, "kind")) == _KIND:
                for each in _names(obj):
                    self._known.setdefault(each, obj)
            elif kind in _SPECS and (reference := _referred(obj)):
                self._claims.setdefault(reference, f"{kind} {name_of(obj)}")

    def devices(self, claim: JSONObject) -> JSONObject | None:
        """Return the ``spec.devices`` of a claim with these parameters, without its class; None if that is unclear."""
        reference = _referred(claim)
        found = self._known.get(reference) if reference else None
        return found and of_claim(found)

    def user(self, parameters: JSONObject) -> str:
        """Name a claim that these parameters become a part of; empty if there is none."""
        used = [self._claims[each] for each in _names(parameters) if each in self._claims]
        return used[0] if used and of_claim(parameters) else ""


def _names(parameters: JSONObject) -> list[_Reference]:
    """List the references that lead to parameters: to themselves, or to what they were made from."""
    where, made = namespace_of(parameters), mapping(parameters, "generatedFrom")
    names = [(where, GROUP, _KIND, name_of(parameters))]
    return [*names, (where, *_target(made))] if made else names


def _referred(claim: JSONObject) -> _Reference | None:
    reference = mapping(claim, *_SPECS.get(text(claim, "kind"), ()), "parametersRef")
    return (namespace_of(claim), *_target(reference)) if reference else None


def _target(reference: JSONObject) -> tuple[str, str, str]:
    return text(reference, "apiGroup"), text(reference, "kind"), text(reference, "name")
