"""The kinds that a snapshot of a cluster has, and their resources, as kubectl names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.documents.stored import EACH, LEFT_OUT, Reader, Shape
from webhook.inventory.objects import AROUND, DRA, KINDS
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


def _without(*names: str, **below: Any) -> Shape:
    return {**dict.fromkeys(names, LEFT_OUT), **below}


_EACH: Final[Shape] = {EACH: None}
_METADATA: Final = _without(
    "managedFields", "selfLink", annotations={"kubectl.kubernetes.io/last-applied-configuration": LEFT_OUT}
)
_CONTAINER: Final = _without(
    *("volumeMounts", "volumeDevices", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
    *("securityContext", "terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy"),
    env=_EACH,
)
_POD: Final = {
    "containers": {EACH: _CONTAINER},
    "initContainers": {EACH: _CONTAINER},
    "volumes": {EACH: {}},
    "securityContext": LEFT_OUT,
    "dnsConfig": LEFT_OUT,
}
_TEMPLATE: Final[Shape] = {"metadata": {}, "spec": _POD}
_STATUSES: Final[Shape] = {EACH: _without("image", "imageID", "containerID", "volumeMounts", "user")}
_DEVICE: Final[Shape] = {"attributes": _EACH, "capacity": _EACH}
_DRA_METADATA: Final[Shape] = {"managedFields": {EACH: {"fieldsV1": LEFT_OUT}}}
_CLAIM: Final[Shape] = {
    "metadata": _DRA_METADATA,
    "status": {"reservedFor": {EACH: {}}, "allocation": {"devices": {"results": {EACH: {}}}}},
}
_SHAPES: Final[Mapping[str, Shape]] = {
    **{kind: {"metadata": _DRA_METADATA, "spec": {}} for kind, group in KINDS.items() if group == DRA},
    "ResourceClaim": _CLAIM,
    "ResourceSlice": {
        "metadata": _DRA_METADATA,
        "spec": {"pool": {}, "devices": {EACH: {**_DEVICE, "basic": _DEVICE}}},
    },
    "Node": {
        "metadata": {**_METADATA, "annotations": LEFT_OUT},
        "spec": {},
        "status": _without(
            *("images", "addresses", "daemonEndpoints", "volumesInUse", "volumesAttached", "config"),
            allocatable=_EACH,
            capacity=_EACH,
            conditions={EACH: {}},
            nodeInfo={},
        ),
    },
    "Pod": {
        "metadata": _METADATA,
        "spec": _POD,
        "status": _without(
            *("podIP", "podIPs", "hostIP", "hostIPs"),
            conditions={EACH: {}},
            containerStatuses=_STATUSES,
            initContainerStatuses=_STATUSES,
        ),
    },
    "Event": {"metadata": _METADATA, "involvedObject": {}},
    "CronJob": {"metadata": _METADATA, "spec": {"jobTemplate": {"spec": {"template": _TEMPLATE}}}},
}
_OTHERS: Final[Shape] = {"metadata": _METADATA, "spec": {"template": _TEMPLATE}}


def reader() -> Reader:
    """Return what reads the objects of a cluster without the fields that no command looks at."""
    return Reader(_SHAPES, _OTHERS)
