"""Rules about mistyped names of drivers, which need no other objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from webhook.inventory import CLAIMS, devices_path
from webhook.objects import JSONObject, items, mapping, name_of, text
from webhook.problem import Advice, Fix, Meant, Problem
from webhook.references.requests import drivers_of, requests_of
from webhook.references.rules import Context, finding, in_expression, rule
from webhook.spelling import mistyped

_EXAMPLES: Final = "example.com"
"""The domain that anyone may use in examples (RFC 2606)."""

_SHORTEST: Final = 3
"""The fewest letters of a mistyped word in the name of one's own driver: among few names, a short one is clear, too."""


@rule("mistyped-driver", *CLAIMS, "DeviceClass", of_field=True)
def mistyped_driver(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """The name of a class, or the driver of parameters or of a selector, is nearly that of a known driver.

    The manifests have no class of that name. A letter is missing or doubled, or two are swapped, in a word of five
    letters or more, or of three for a driver with a profile of your own; or the selector names only the domain of
    drivers: nvidia.com in place of gpu.nvidia.com. If such a driver exists, add its DeviceClass or ResourceSlice to the
    manifests, or its profile with --driver-profile.
    """
    for path, name in _names(obj, context):
        if name and (meant := _intended(name, context)) and not _is_known(name, context):
            advice = Advice(Meant(f'did you mean "{meant}"?'), Fix("replace", meant, safe=False))
            yield finding(path, _unknown(name, meant), advice, "Misspelt")
    for path, selector in _selectors(obj):
        for name in sorted(drivers_of([selector], context)):
            if not (name == name_of(obj) or name in context.configured or context.knows_driver(name)):
                yield from _in_selector(name, path, text(selector, "cel", "expression"), context)


def _unknown(name: str, meant: str) -> str:
    return f'no driver "{name}" is known, but "{meant}" is'


def _selectors(obj: JSONObject) -> Iterator[tuple[tuple[str | int, ...], JSONObject]]:
    """Yield the selectors of a class, or of the requests of a claim, and the paths of their expressions."""
    if obj.get("kind") == "DeviceClass":
        holders: Iterable[tuple[tuple[str | int, ...], JSONObject]] = ((("spec",), mapping(obj, "spec")),)
    else:
        holders = ((request.path, request.content) for request in requests_of(obj))
    for path, holder in holders:
        for index, each in enumerate(items(holder, "selectors")):
            yield (*path, "selectors", index, "cel", "expression"), each


def _in_selector(name: str, path: tuple[str | int, ...], expression: str, context: Context) -> Iterator[Problem]:
    """Tell whether a driver on which a selector insists is mistyped."""
    near, domains = _intended(name, context), _in_domain(name)
    if near or domains:
        message = (
            _unknown(name, near) if near else f'"{name}" is a domain of drivers, and no driver of that name is known'
        )
        advice = in_expression(expression, name, [near] if near else domains, "drivers of this domain")
        yield finding(path, message, advice, "Misspelt", max(0, expression.find(name)))


def _in_domain(name: str) -> list[str]:
    """Return the known drivers in a domain, unless it is one for examples."""
    is_domain = "." in name and name != _EXAMPLES
    return [each for each in _built_in() if each.partition(".")[2] == name] if is_domain else []


def _names(obj: JSONObject, context: Context) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the names of classes and drivers, and their paths."""
    is_class = obj.get("kind") == "DeviceClass"
    where: tuple[str, ...] = ("spec",) if is_class else devices_path(obj)
    for index, each in enumerate(items(obj, *where, "config")):
        yield (*where, "config", index, "opaque", "driver"), text(each, "opaque", "driver")
    # If other classes are known, a separate rule reports missing ones.
    for request in () if is_class or context.inventory.knows("DeviceClass") else requests_of(obj):
        yield (*request.path, "deviceClassName"), text(request.content, "deviceClassName")


@cache
def _built_in() -> tuple[str, ...]:
    """Return the names of drivers with a profile; importing their reader would take longer than judging a claim."""
    profiles = os.path.join(os.path.dirname(os.path.dirname(__file__)), "drivers", "profiles")
    return tuple(sorted(name.removesuffix(".yaml") for name in os.listdir(profiles)))


def _intended(name: str, context: Context) -> str:
    """Return the name of a driver, or a name in the domain of one, that a mistyped name stands for."""
    known, own = _built_in(), {*context.profiled, *context.noted_drivers}
    if name in known or name in own:
        return ""
    if meant := mistyped(name, own, _SHORTEST) or mistyped(name, known):
        return meant
    first, _, domain = name.partition(".")
    domains = [rest for each in known if "." in (rest := each.partition(".")[2])]
    meant = "" if domain in domains else mistyped(domain, domains)
    return f"{first}.{meant}" if meant else ""


def _is_known(name: str, context: Context) -> bool:
    """Tell whether a class or driver of a name exists, so that it is a custom driver."""
    inventory = context.inventory
    return (
        context.knows_driver(name)
        or inventory.find("DeviceClass", name) is not None
        or any(name in drivers_of(items(each, "spec", "selectors"), context) for each in inventory.all("DeviceClass"))
    )
