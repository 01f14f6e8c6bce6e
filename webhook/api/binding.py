"""Binding conditions: what must become true of a device before a pod is bound, or makes binding fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook import formats
from webhook.problem import invalid
from webhook.schema import Array, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.problem import Problem
    from webhook.schema import View

BINDING_CONDITIONS_MAX_ITEMS = 4
BINDING_GATES = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")


def binding_conditions(doc: str) -> Array:
    """Declare types of conditions that the scheduler waits for."""
    return Array(
        Text(format=formats.label_key, always=True),
        doc,
        max_items=BINDING_CONDITIONS_MAX_ITEMS,
        unique="",
        since=34,
        gate=BINDING_GATES,
    )


def conditions_for_binding(device: View) -> Iterator[Problem]:
    """Conditions that let a pod be bound and conditions that make that fail come together, and differ."""
    wanted, failures = device.bindingConditions, device.bindingFailureConditions
    for index, condition in enumerate(failures):
        if condition in wanted:
            path = device / "bindingFailureConditions" / index
            yield invalid(path, condition, "bindingFailureConditions must not overlap with bindingConditions")
    if failures and not wanted:
        detail = "bindingConditions are required to use bindingFailureConditions"
        yield invalid(device / "bindingConditions", device.submitted.get("bindingConditions"), detail)
    if wanted and not failures:
        detail = "bindingFailureConditions are required to use bindingConditions"
        yield invalid(device / "bindingFailureConditions", device.submitted.get("bindingFailureConditions"), detail)
