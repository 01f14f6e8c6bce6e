"""Whether the API server takes the claims that are made for pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.api.dra.resourceclaim import ADMIN_SINCE, admin_label, admin_refusal
from webhook.inventory.claims import MADE
from webhook.objects import at, items, mapping, name_of, namespace_of

if TYPE_CHECKING:
    from webhook.inventory import Inventory
    from webhook.objects import JSONObject
    from webhook.simulation.cluster import Settings


def refusal(claim: JSONObject, inventory: Inventory, settings: Settings) -> str:
    """Say why the API server does not take a claim that is made from a template; nothing if it does.

    What is in a cluster was taken once, but the label that admin access needs is asked for again.

    Args:
        claim: The claim.
        inventory: Where its namespace may be; if it is not known, it counts as labelled.
        settings: The release and its feature gates.
    """
    if settings.release < ADMIN_SINCE or "DRAAdminAccess" not in settings.gates or not name_of(claim).endswith(MADE):
        return ""
    for index, request in enumerate(items(claim, "spec", "devices", "requests")):
        if at(request, "exactly", "adminAccess") is True:
            namespace = inventory.find("Namespace", namespace_of(claim))
            labels = mapping(namespace, "metadata", "labels")
            if namespace is None or labels.get(admin_label(settings.release)) == "true":
                return ""
            return f"spec.devices.requests[{index}].adminAccess: Forbidden: {admin_refusal(settings.release)}"
    return ""
