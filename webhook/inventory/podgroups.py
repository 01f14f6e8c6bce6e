"""PodGroups, by namespace and name, and the pods that belong to them."""

from __future__ import annotations

from webhook.inventory import Inventory, has_ended
from webhook.objects import JSONObject, namespace_of, number, text
from webhook.spelling import did_you_mean

Group = tuple[str, str]


def group_of(pod: JSONObject) -> Group:
    """Return the PodGroup that a pod belongs to; its name is empty if there is none."""
    name = text(pod, "spec", "schedulingGroup", "podGroupName")
    return (namespace_of(pod), name) if name else ("", "")


def least_of(group: Group, inventory: Inventory) -> int:
    """Return how many pods of a PodGroup are bound together; 0 if each is bound alone."""
    return number(inventory.find("PodGroup", group[1], group[0]), "spec", "schedulingPolicy", "gang", "minCount") or 0


def members(group: Group, inventory: Inventory) -> list[JSONObject]:
    """Return the pods of a PodGroup that have not ended."""
    return [each for each in inventory.all("Pod") if group_of(each) == group and not has_ended(each)]


def not_ready(group: Group, inventory: Inventory, there: int) -> tuple[str, str]:
    """Say why pods of a PodGroup are not to be scheduled yet, and what would help (PreEnqueue of GangScheduling).

    Args:
        there: How many pods it has.
    """
    namespace, name = group
    if inventory.find("PodGroup", name, namespace) is None:
        hint = did_you_mean(name, [each for space, each in inventory.names("PodGroup") if space == namespace])
        return f"PodGroup {namespace}/{name}, which the pod belongs to, does not exist{hint and f'; {hint}'}", ""
    if there >= (least := least_of(group, inventory)):
        return "", ""
    of = f"{there} of the {least} pods (minCount) exist that are scheduled together"
    help_ = f"create {least - there} more pod{'s' * (least - there > 1)} of the group, or lower its minCount"
    return f"PodGroup {namespace}/{name} is not complete: {of}", help_
