"""Rules about device classes: selectors, drivers, extended resource names."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.objects import JSONObject, items, name_of, text
from webhook.problem import Problem
from webhook.references.requests import drivers_of, wrong_drivers
from webhook.references.rules import Context, finding, listed, rule


@rule("extended-resource-ambiguous", "DeviceClass")
def extended_resource_ambiguous(device_class: JSONObject, context: Context) -> Iterator[Problem]:
    """Two device classes state the same extendedResourceName: the newest gets all pods.

    Of classes with the same age, the first by name wins. The devices of the others are never used for that resource,
    and quota is charged to the winner.
    """
    name = text(device_class, "spec", "extendedResourceName")
    others = [
        name_of(each)
        for each in context.inventory.all("DeviceClass")
        if name and text(each, "spec", "extendedResourceName") == name and name_of(each) != name_of(device_class)
    ]
    if others:
        message = f'extended resource "{name}" is that of device class {listed(sorted(others))}, too'
        hint = "only the newest class provides it: give each class its own name"
        yield finding(("spec", "extendedResourceName"), message, hint, "Ambiguous")


@rule("config-for-other-driver", "DeviceClass")
def config_for_other_driver(device_class: JSONObject, context: Context) -> Iterator[Problem]:
    """Configuration is for a driver whose devices cannot be selected, so it is never read.

    A driver gets only the parameters that name it. Here the selectors of the class insist on another driver.
    """
    known = drivers_of(items(device_class, "spec", "selectors"), context)
    yield from wrong_drivers(items(device_class, "spec", "config"), known, ("spec", "config"), "the class selects")
