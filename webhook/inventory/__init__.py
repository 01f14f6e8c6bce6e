"""The inventory of a cluster: objects by kind and name, and references between them.

An :class:`Inventory` holds what ``kubectl get … -o yaml`` prints, in whatever version it was served. The API server
vouches for what a cluster stores, so objects are decoded here, and not judged.
"""

from __future__ import annotations

from webhook.inventory.objects import CLAIMS, KINDS, Inventory, MalformedError, newest

__all__ = ["CLAIMS", "KINDS", "Inventory", "MalformedError", "newest"]
