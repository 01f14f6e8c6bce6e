"""The resources that a snapshot of a cluster has, as kubectl names them."""

from __future__ import annotations

from webhook.inventory.objects import DRA, KINDS
from webhook.policy.manifest.kinds import guess_resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


RESOURCES: Final = tuple(guess_resource(kind) for kind, group in KINDS.items() if group in {DRA, ""})
"""The resources that a simulation reads; PriorityClasses are not needed, as pods in a cluster state their priority."""
OPTIONAL: Final = {guess_resource(kind) for kind, group in KINDS.items() if group == DRA}
"""The resources that a cluster may not serve: the release or a gate decides."""
