"""Whether the API server accepts the claims that are created for pods."""

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
    """Explain why the API server rejects a claim made from a template; empty if it accepts the claim.

    Objects in a cluster were accepted once, but the label that admin access requires is checked again.

    Args:
        claim: The claim.
        inventory: The objects that may include its namespace; an unknown namespace counts as labelled.
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
