"""Rules about device classes: selectors, drivers, extended resource names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.objects import items, name_of, text
from webhook.problem import Advice
from webhook.references.rules import finding, in_place, listed, rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from webhook.objects import JSONObject
    from webhook.problem import Problem
    from webhook.references.rules import Context


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


def wrong_drivers(config: Sequence[JSONObject], known: set[str], path: tuple[str, ...], who: str) -> Iterator[Problem]:
    """Find configuration for drivers other than the selected ones.

    Args:
        config: The configuration.
        known: The drivers whose devices can be selected; empty if unknown.
        path: Where the configuration is.
        who: The subject of the message, such as ``the class selects``.
    """
    for index, each in enumerate(config):
        driver = text(each, "opaque", "driver")
        if driver and known and driver not in known:
            message = f'parameters for driver "{driver}" are never read: {who} devices of {listed(sorted(known))}'
            advice = in_place(driver, known, "")
            if advice.fix is None:
                advice = Advice("name the driver of the class, or the class of the driver")
            yield finding((*path, index, "opaque", "driver"), message, advice, "NeverRead")


def drivers_of(selectors: Sequence[JSONObject], context: Context) -> set[str]:
    """Return the drivers that selectors insist on; more than one if they contradict each other."""
    found: set[str] = set()
    for each in selectors:
        expression = text(each, "cel", "expression")
        if ".driver" not in expression:
            continue
        from webhook.deviceselectors.parts import parts_of  # noqa: PLC0415 - most objects have no selectors
        from webhook.deviceselectors.reads import drivers  # noqa: PLC0415

        parts = parts_of(expression, context.release, context.gates)
        if parts is not None:
            if "drivers" not in parts.memo:
                parts.memo["drivers"] = drivers(parts.all)
            found |= parts.memo["drivers"]
    return found
