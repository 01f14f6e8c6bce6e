"""Attributes and capacities that a device publishes twice."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.objects import JSONObject, mapping


def published_twice(device: JSONObject, driver: str, holder: str) -> Iterator[str]:
    """Return the names that a device publishes both plainly and with its driver's domain, with different values.

    Both name the same, and upstream takes the one that it comes to last, in the random order of a Go map.
    """
    values = mapping(device, holder)
    for name, value in values.items():
        full_name = f"{driver}/{name}"
        if full_name in values and values[full_name] != value:
            yield name
