"""The inventory of a cluster: objects by kind and name, and references between them.

An :class:`Inventory` holds the objects that ``kubectl get … -o yaml`` prints, in any served version. The API server
vouches for stored objects, so they are decoded here, not judged.
"""

from __future__ import annotations

from webhook.inventory.objects import (
    CLAIMS,
    KINDS,
    Inventory,
    MalformedError,
    devices_path,
    has_ended,
    in_namespace,
    is_claim,
    newest,
)

__all__ = [
    "CLAIMS",
    "KINDS",
    "Inventory",
    "MalformedError",
    "devices_path",
    "has_ended",
    "in_namespace",
    "is_claim",
    "newest",
]
