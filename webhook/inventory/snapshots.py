"""The kinds that a snapshot of a cluster has, and their resources, as kubectl names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.documents.stored import EACH, LEFT_OUT, SHARED, SHORT, Reader, Shape
from webhook.inventory import AROUND, DRA, KINDS, KUEUE
from webhook.objects import LAST_APPLIED
from webhook.policy.manifest.kinds import ALWAYS, Known, guess_resource

_REFUSING: Final = {
    "LimitRange": "",
    "ValidatingAdmissionPolicy": "admissionregistration.k8s.io",
    "ValidatingAdmissionPolicyBinding": "admissionregistration.k8s.io",
    "MutatingAdmissionPolicy": "admissionregistration.k8s.io",
    "MutatingAdmissionPolicyBinding": "admissionregistration.k8s.io",
}
"""The kinds that can refuse or change an object before it is stored."""
GROUPS: Final = {**KINDS, **AROUND, **_REFUSING}
"""The groups of all kinds that are read of a cluster."""
OF_SNAPSHOT: Final = tuple(kind for kind, group in GROUPS.items() if group != "rbac.authorization.k8s.io")
"""The kinds that a snapshot has; roles are manifests. APIServices tell what the cluster serves."""
_WORKLOADS: Final = f"workloads.{KUEUE}"
"""Kueue's resource: Kubernetes has workloads, too."""
RESOURCES: Final = {_WORKLOADS if kind == "Workload" else guess_resource(kind): kind for kind in OF_SNAPSHOT}
"""The kinds by their resources."""
OF_OTHERS: Final = (
    Known(KUEUE, "Workload", "workloads", namespaced=True, versions={"v1beta2": ALWAYS, "v1beta1": ALWAYS}),
)
"""The kinds that are not Kubernetes' own."""
OPTIONAL: Final = {"podgroups", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "workloads", _WORKLOADS}
"""The resources that few clusters serve by default."""


def _shape(left_out: str, shared: str = "", short: str = "", **below: Shape) -> Shape:
    ways = (left_out, LEFT_OUT), (shared, SHARED), (short, SHORT)
    return {name: way for names, way in ways for name in names.split()} | below


_TYPE: Final = _shape("", "apiVersion kind")
_APPLIED: Final[Shape] = {LAST_APPLIED: LEFT_OUT}
_METADATA: Final = _shape(
    "managedFields selfLink resourceVersion", "namespace generateName labels ownerReferences", annotations=_APPLIED
)
_OURS: Final = _shape("resourceVersion", "namespace generateName labels", managedFields={"fieldsV1": LEFT_OUT})
_CONTAINER: Final = _shape(
    "volumeMounts volumeDevices livenessProbe readinessProbe startupProbe lifecycle securityContext imagePullPolicy"
    " terminationMessagePath terminationMessagePolicy",
    "name image resources ports",
    "command args env envFrom",
)
_STATUS: Final = _shape("image imageID containerID volumeMounts user", "name")
_POD: Final = _shape(
    "securityContext dnsConfig dnsPolicy enableServiceLinks terminationGracePeriodSeconds",
    "nodeName nodeSelector affinity tolerations topologySpreadConstraints resourceClaims schedulerName serviceAccount"
    " serviceAccountName restartPolicy preemptionPolicy priorityClassName",
    containers=_CONTAINER,
    initContainers=_CONTAINER,
    volumes=_shape("projected configMap secret downwardAPI emptyDir", "hostPath"),
)
_TEMPLATE: Final[Shape] = {"spec": _POD}
_DEVICE: Final[Shape] = {"attributes": {EACH: SHARED}, "capacity": {EACH: SHARED}, "consumesCounters": SHARED}
_RESULT: Final = _shape("", "request driver pool device")
_SHAPES: Final[Mapping[str, Shape]] = {
    **{kind: {"metadata": _OURS} for kind, group in KINDS.items() if group == DRA},
    "ResourceClaim": {
        "metadata": _OURS,
        "spec": SHARED,
        "status": {"allocation": {"nodeSelector": SHARED, "devices": {"config": SHARED, "results": _RESULT}}},
    },
    "ResourceSlice": {"metadata": _OURS, "spec": {"driver": SHARED, "devices": {**_DEVICE, "basic": _DEVICE}}},
    "Node": {
        "metadata": {**_METADATA, "annotations": LEFT_OUT},
        "spec": _shape("podCIDR podCIDRs providerID"),
        "status": _shape(
            "images addresses daemonEndpoints volumesInUse volumesAttached config",
            "allocatable capacity",
            conditions=_shape("", "type status reason message"),
            nodeInfo=_shape("bootID machineID systemUUID osImage kernelVersion architecture", "kubeletVersion"),
        ),
    },
    "Pod": {
        "metadata": _METADATA,
        "spec": _POD,
        "status": _shape(
            "podIP podIPs hostIP hostIPs startTime observedGeneration",
            "phase qosClass",
            conditions=_shape("lastProbeTime observedGeneration", "type status reason"),
            containerStatuses=_STATUS,
            initContainerStatuses=_STATUS,
        ),
    },
    "CronJob": {"metadata": _METADATA, "spec": {"jobTemplate": {"spec": {"template": _TEMPLATE}}}},
}
_OTHERS: Final[Shape] = {"metadata": _METADATA, "spec": {"template": _TEMPLATE}}


def reader() -> Reader:
    """Return what reads the objects of a cluster without the fields that no command looks at."""
    return Reader({kind: {**_TYPE, **shape} for kind, shape in _SHAPES.items()}, {**_TYPE, **_OTHERS})
