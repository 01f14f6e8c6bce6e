"""The resources that a snapshot of a cluster has, as kubectl names them."""

from __future__ import annotations

from typing import Final

from webhook.inventory.objects import DRA, KINDS
from webhook.policy.manifest.kinds import guess_resource

_LEFT_OUT: Final = ("scheduling.k8s.io", "rbac.authorization.k8s.io")
"""The groups that a snapshot leaves out: pods in a cluster state their priority, and roles are manifests."""
RESOURCES: Final = tuple(guess_resource(kind) for kind, group in KINDS.items() if group not in _LEFT_OUT)
"""The resources that a simulation reads, and APIServices, which tell what the cluster serves."""
OPTIONAL: Final = {guess_resource(kind) for kind, group in KINDS.items() if group == DRA}
"""The resources that a cluster may not serve: the release or a gate decides."""
