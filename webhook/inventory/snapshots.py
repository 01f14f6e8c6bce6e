"""The kinds that a snapshot of a cluster has, and their resources, as kubectl names them."""

from __future__ import annotations

from typing import Final

from webhook.inventory.objects import AROUND, KINDS
from webhook.policy.manifest.kinds import guess_resource

_REFUSING: Final = {
    "LimitRange": "",
    "ValidatingAdmissionPolicy": "admissionregistration.k8s.io",
    "ValidatingAdmissionPolicyBinding": "admissionregistration.k8s.io",
    "MutatingAdmissionPolicy": "admissionregistration.k8s.io",
    "MutatingAdmissionPolicyBinding": "admissionregistration.k8s.io",
}
"""The kinds that explain why an object is not there, or is not as it was sent."""
GROUPS: Final = {**KINDS, **AROUND, **_REFUSING}
"""The groups of all kinds that are read of a cluster."""
OF_SNAPSHOT: Final = tuple(kind for kind, group in GROUPS.items() if group != "rbac.authorization.k8s.io")
"""The kinds that a snapshot has; roles are manifests. APIServices tell what the cluster serves."""
RESOURCES: Final = {guess_resource(kind): kind for kind in OF_SNAPSHOT}
"""The kinds by their resources."""
OPTIONAL: Final = {"podgroups", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}
"""The resources that few clusters serve by default."""
