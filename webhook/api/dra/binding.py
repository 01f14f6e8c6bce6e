"""The demands of a device on the scheduler and kubelet: conditions for binding a pod, and node operations to skip."""

from __future__ import annotations

from collections.abc import Iterator

from webhook import formats
from webhook.api.dra.names import TAGGED
from webhook.grouping import repeated
from webhook.problem import Problem, duplicate, invalid
from webhook.schema.fields import Array, Text, View

CONDITION_LISTS = ("bindingConditions", "bindingFailureConditions")
BINDING_GATES = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")


BINDING_CONDITIONS = Array(
    Text(format=formats.label_key, always=True),
    "The conditions that must be true before a pod is bound.",
    max_items=4,
    declared=TAGGED,
    since=34,
    gate=BINDING_GATES,
)
BINDING_FAILURE_CONDITIONS = BINDING_CONDITIONS.but(doc="The conditions that make the binding of a pod fail.")


def conditions_for_binding(device: View) -> Iterator[Problem]:
    """Binding conditions and binding failure conditions must be given together, without duplicates or overlap."""
    wanted, failures = device.bindingConditions, device.bindingFailureConditions
    # Also in lists that are too long, whose items are otherwise not checked.
    for field, conditions in (("bindingConditions", wanted), ("bindingFailureConditions", failures)):
        for index, condition in repeated(conditions):
            yield duplicate(device / field / index, condition or "")
    among_wanted = set(wanted)
    for index, condition in enumerate(failures):
        if condition in among_wanted:
            path = device / "bindingFailureConditions" / index
            yield invalid(path, condition, "bindingFailureConditions must not overlap with bindingConditions")
    if failures and not wanted:
        detail = "bindingConditions are required to use bindingFailureConditions"
        yield invalid(device / "bindingConditions", device.submitted.get("bindingConditions"), detail)
    if wanted and not failures:
        detail = "bindingFailureConditions are required to use bindingConditions"
        yield invalid(device / "bindingFailureConditions", device.submitted.get("bindingFailureConditions"), detail)


EVERY, PREPARE, UNPREPARE = "*", "NodePrepareResources", "NodeUnprepareResources"
SKIP_NODE_OPERATIONS = Array(
    Text(go="SkipNodeOperation", one_of=(EVERY, PREPARE, UNPREPARE), always=True),
    "The operations that kubelet skips instead of calling the driver.",
    unique="",
    list_type="set",
    declarative=True,
    since=37,
    gate="DRAOptionalNodeOperations",
)


def skipped_operations(holder: View) -> Iterator[Problem]:
    """A device that is prepared without its driver must be unprepared without it, too."""
    skipped = holder.skipNodeOperations
    if PREPARE in skipped and UNPREPARE not in skipped and EVERY not in skipped:
        detail = "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped"
        yield invalid(holder / "skipNodeOperations", list(skipped), detail)
