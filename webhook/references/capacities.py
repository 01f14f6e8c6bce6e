"""Rules about the capacities that requests ask for, by the profiles of drivers; used where slices are unknown."""

from __future__ import annotations

from webhook.inventory import CLAIMS
from webhook.objects import items, mapping, text
from webhook.references.requests import drivers_of, requests_of
from webhook.references.rules import finding, instead, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.drivers import Profile
    from webhook.objects import JSONObject
    from webhook.problem import Problem
    from webhook.references.rules import Context


@rule("capacity-not-of-driver", *CLAIMS, of_field=True)
def capacity_not_of_driver(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request asks for a capacity that the driver of its class does not publish.

    A device without the capacity is skipped, so the pod stays pending. `draguard driver show NAME` prints the known
    capacities of a driver, and their source. If your version of the driver publishes others, pass its profile with
    --driver-profile.
    """
    if context.fleet is not None:
        return  # the published devices tell more
    for request in requests_of(claim):
        wanted = mapping(request.content, "capacity", "requests")
        class_name = text(request.content, "deviceClassName")
        profile = _profile(class_name, context) if wanted else None
        if profile is None or profile.is_example or profile.is_open:
            continue
        kind = profile.classes.get(class_name, "")
        devices = [profile.devices[kind]] if kind in profile.devices else [*profile.devices.values()]
        names = sorted({name for each in devices for name in each.capacity | each.optional_capacity})
        for name in wanted:
            own = name.removeprefix(f"{profile.driver}/")
            if devices and not any(each.has_capacity(own) for each in devices):
                message = f'devices of driver "{profile.driver}" have no capacity "{name}"'
                hint = instead(own, names, "capacities")
                yield finding((*request.path, "capacity", "requests", name), message, hint)


def _profile(class_name: str, context: Context) -> Profile | None:
    """Return the profile of the driver whose devices a class selects; None if that is unclear."""
    selectors = items(context.inventory.find("DeviceClass", class_name), "spec", "selectors")
    known = drivers_of(selectors, context) or {context.driver_of_class(class_name)}
    return context.profile(min(known)) if len(known) == 1 else None
