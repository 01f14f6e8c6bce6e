"""Translates parameters of v1alpha2 (Kubernetes 1.30) to parts of claims and classes of v1.

Parameters are separate objects, to which claims and classes in any file may refer. They become parts of the claims that
are converted with them; else hints show the parts to add to claims and classes, as JSON, which is valid YAML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from webhook import formats
from webhook.objects import JSONObject, items, text

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
            expression = _selector(text(request, "namedResources", "selector"), name)
            if not expression:
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
        expression = _selector(text(each, "namedResources", "selector"), driver)
        if not expression:
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
    if (
        not selector
        or not driver
        or len(names) != len(_ANY_READ.findall(selector))
        or any(formats.c_identifier(name, 30) for name in names)
    ):
        return ""
    whole = _READ.sub(read, selector)
    condition = f"({whole})" if "||" in whole or "?" in whole else whole
    return f"device.driver == {quoted} && {condition}" if condition != "true" else f"device.driver == {quoted}"
