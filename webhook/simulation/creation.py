"""Whether the API server accepts pods, and the claims that are created for them."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.api.dra.resourceclaim import ADMIN_SINCE, admin_label, admin_label_meant, admin_refusal
from webhook.inventory import Inventory
from webhook.inventory.claims import MADE
from webhook.objects import JSONObject, at, items, mapping, name_of, namespace_of, text
from webhook.simulation.cluster import Cluster, Settings


def refusal_of_pod(pod: JSONObject, cluster: Cluster) -> str:
    """Explain why the API server rejects a pod; count it in quotas if it is accepted.

    Args:
        pod: The pod; one with a UID was accepted once.

    Returns:
        The reason; empty if the pod is accepted.
    """
    if text(pod, "metadata", "uid"):
        return ""
    why = cluster.quotas.refusal_of_pod(pod)
    if not why:
        cluster.quotas.charge_pod(pod)
    return why


def create(claims: Iterable[JSONObject], cluster: Cluster) -> None:
    """Create claims as the API server does: count them in quotas, and leave out those that a quota refuses."""
    extended = cluster.settings.counts_extended_resources
    for claim in claims:
        if why := cluster.quotas.refusal(claim, extended=extended):
            cluster.delete(claim)
            cluster.refused[namespace_of(claim), name_of(claim)] = why
        else:
            cluster.quotas.charge(claim, extended=extended)


def refusal(claim: JSONObject, cluster: Cluster) -> str:
    """Explain why the API server rejects a claim made from a template; count it in quotas if it is accepted.

    Objects in a cluster were accepted once, but the label that admin access requires is checked again.

    Args:
        cluster: The cluster, with the claim; a namespace that it does not have counts as labelled.

    Returns:
        The reason; empty if the claim is accepted.
    """
    if not name_of(claim).endswith(MADE):
        return ""
    extended = cluster.settings.counts_extended_resources
    why = _of_label(claim, cluster.inventory, cluster.settings) or cluster.quotas.refusal(claim, extended=extended)
    if not why:
        cluster.quotas.charge(claim, extended=extended)
    return why


def _of_label(claim: JSONObject, inventory: Inventory, settings: Settings) -> str:
    """Explain that the API server requires a label of the namespace; empty if it does not, or the label is there."""
    index, namespace = _admin_request(claim, settings), inventory.find("Namespace", namespace_of(claim))
    if index is None or namespace is None:
        return ""
    labels = mapping(namespace, "metadata", "labels")
    if labels.get(admin_label(settings.release)) == "true":
        return ""
    text = f"spec.devices.requests[{index}].adminAccess: Forbidden: {admin_refusal(settings.release)}"
    meant = admin_label_meant(labels, settings.release)
    return f"{text} (it has {meant})" if meant else text


def assumed(claim: JSONObject, inventory: Inventory, settings: Settings) -> str:
    """Say that a claim counts as accepted because the labels of its namespace are unknown; empty for others."""
    namespace = namespace_of(claim)
    if _admin_request(claim, settings) is None or inventory.find("Namespace", namespace) is not None:
        return ""
    label = f"{admin_label(settings.release)}: true"
    return f"Namespace {namespace} is not known: it counts as labelled {label}, which admin access needs"


def _admin_request(claim: JSONObject, settings: Settings) -> int | None:
    """Return the place of a request for admin access in a claim made from a template, if its label matters."""
    if settings.release < ADMIN_SINCE or "DRAAdminAccess" not in settings.gates or not name_of(claim).endswith(MADE):
        return None
    requests = enumerate(items(claim, "spec", "devices", "requests"))
    return next((index for index, each in requests if at(each, "exactly", "adminAccess") is True), None)
