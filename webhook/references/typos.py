"""Rules about mistyped names of drivers, which need no other objects."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING

from webhook.inventory import CLAIMS
from webhook.objects import items, text
from webhook.problem import Advice, Fix
from webhook.references.claims import devices_path, requests_of
from webhook.references.classes import drivers_of
from webhook.references.rules import MEANT, finding, rule
from webhook.spelling import mistyped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.objects import JSONObject
    from webhook.problem import Problem
    from webhook.references.rules import Context


@rule("mistyped-driver", *CLAIMS, "DeviceClass")
def mistyped_driver(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """The name of a class, or the driver of parameters, differs from a known driver by one letter.

    The manifests have no class of that name. A letter is missing or doubled, or two are swapped, in a word of five
    letters or more. If such a driver exists, add its DeviceClass or ResourceSlice to the manifests, or its profile
    with --driver-profile.
    """
    for path, name in _names(obj, context):
        if name and (meant := _intended(name)) and not _is_known(name, context):
            message = f'no driver is known as "{name}", and one as "{meant}"'
            yield finding(path, message, Advice(f'{MEANT} "{meant}"?', Fix("replace", meant, safe=False)), "Misspelt")


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
    profiles = os.path.join(os.path.dirname(os.path.dirname(__file__)), "drivers", "profiles")  # noqa: PTH118, PTH120
    return tuple(sorted(name.removesuffix(".yaml") for name in os.listdir(profiles)))  # noqa: PTH208


def _intended(name: str) -> str:
    """Return the name of a driver, or a name in the domain of one, that a mistyped name stands for."""
    known = _built_in()
    if name in known:
        return ""
    if meant := mistyped(name, known):
        return meant
    first, _, domain = name.partition(".")
    domains = [rest for each in known if "." in (rest := each.partition(".")[2])]
    meant = "" if domain in domains else mistyped(domain, domains)
    return f"{first}.{meant}" if meant else ""


def _is_known(name: str, context: Context) -> bool:
    """Tell whether a class or driver of a name exists, so that it is a custom driver."""
    inventory = context.inventory
    return (
        context.profile(name) is not None
        or inventory.find("DeviceClass", name) is not None
        or any(text(each, "spec", "driver") == name for each in inventory.all("ResourceSlice"))
        or any(name in drivers_of(items(each, "spec", "selectors"), context) for each in inventory.all("DeviceClass"))
    )
