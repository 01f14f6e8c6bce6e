"""The defaults of fields, by type: what ``defaults.go`` and ``zz_generated.defaults.go`` of pkg/apis/* set.

A map with ``when`` holds a default that depends on other fields. What depends on more is in
``webhook/api/core/catalogue.py``.
"""

from __future__ import annotations

from typing import Any

_EMPTY = {"value": {}}
_REPLICAS = {"replicas": 1}
_HISTORY = {"revisionHistoryLimit": 10}
_MODE = {"defaultMode": 0o644}
_RBD = {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}
_SCALE_IO = {"storageMode": "ThinProvisioned", "fsType": "xfs"}
_ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"value": {}, "when": {"type": ["RollingUpdate"]}}}
_WEBHOOK = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": _EMPTY,
    "objectSelector": _EMPTY,
    "timeoutSeconds": 10,
}
_MATCH = {"namespaceSelector": _EMPTY, "objectSelector": _EMPTY, "matchPolicy": "Equivalent"}
_POLICY = {"failurePolicy": "Fail"}
_LIMITED = {"nominalConcurrencyShares": 30, "lendablePercent": 0}
_ASSURED = {"assuredConcurrencyShares": 30, "lendablePercent": 0}
_EXEMPT = {"nominalConcurrencyShares": 0, "lendablePercent": 0}
_BUSY = {"type": "Utilization", "averageUtilization": 80}
_QUEUING = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}

DEFAULTS: dict[str, dict[str, Any]] = {
    "v1.AzureDiskVolumeSource": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "readOnly": False,
        "kind": "Shared",
    },
    "v1.ConfigMapVolumeSource": _MODE,
    "v1.Container": {"terminationMessagePath": "/dev/termination-log"},
    "v1.DownwardAPIVolumeSource": _MODE,
    "v1.EndpointPort": {"protocol": "TCP"},
    "v1.FileKeySelector": {"optional": False},
    "v1.GRPCAction": {"service": ""},
    "v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "v1.HostPathVolumeSource": {"type": ""},
    "v1.ISCSIPersistentVolumeSource": {"iscsiInterface": "default"},
    "v1.ISCSIVolumeSource": {"iscsiInterface": "default"},
    "v1.NamespaceStatus": {"phase": "Active"},
    "v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "v1.PersistentVolumeClaimStatus": {"phase": "Pending"},
    "v1.PersistentVolumeSpec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
    "v1.PersistentVolumeStatus": {"phase": "Pending"},
    "v1.PodSpec": {
        "schedulerName": "default-scheduler",
        "securityContext": _EMPTY,
        "terminationGracePeriodSeconds": 30,
    },
    "v1.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "v1.ProjectedVolumeSource": _MODE,
    "v1.RBDPersistentVolumeSource": _RBD,
    "v1.RBDVolumeSource": _RBD,
    "v1.ResourceFieldSelector": {"divisor": "0"},
    "v1.ReplicationControllerSpec": _REPLICAS,
    "v1.ScaleIOPersistentVolumeSource": _SCALE_IO,
    "v1.ScaleIOVolumeSource": _SCALE_IO,
    "v1.Secret": {"type": "Opaque"},
    "v1.SecretVolumeSource": _MODE,
    "v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "v1.ServicePort": {"protocol": "TCP"},
    "v1.ServiceSpec": {
        "sessionAffinity": "None",
        "type": "ClusterIP",
        "allocateLoadBalancerNodePorts": {"value": True, "when": {"type": ["LoadBalancer"]}},
        "internalTrafficPolicy": {"value": "Cluster", "when": {"type": ["ClusterIP", "NodePort", "LoadBalancer"]}},
    },
    "apps/v1.DaemonSetSpec": _HISTORY,
    "apps/v1.DaemonSetUpdateStrategy": _ROLLING,
    "apps/v1.DeploymentSpec": _REPLICAS | _HISTORY | {"progressDeadlineSeconds": 600},
    "apps/v1.DeploymentStrategy": _ROLLING,
    "apps/v1.ReplicaSetSpec": _REPLICAS,
    "apps/v1.RollingUpdateDaemonSet": {"maxUnavailable": 1, "maxSurge": 0},
    "apps/v1.RollingUpdateDeployment": {"maxUnavailable": "25%", "maxSurge": "25%"},
    "apps/v1.RollingUpdateStatefulSetStrategy": {"partition": 0},
    "apps/v1.StatefulSetPersistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    "apps/v1.StatefulSetSpec": _REPLICAS
    | _HISTORY
    | {"podManagementPolicy": "OrderedReady", "persistentVolumeClaimRetentionPolicy": _EMPTY},
    "apps/v1.StatefulSetUpdateStrategy": {
        "type": "RollingUpdate",
        "rollingUpdate": {"value": {}, "when": {"type": [""]}},
    },
    **{
        f"admissionregistration.k8s.io/{version}.{name}": defaults
        for version in ("v1", "v1beta1", "v1alpha1")
        for name, defaults in {
            "MatchResources": _MATCH,
            "MutatingAdmissionPolicySpec": _POLICY,
            "MutatingWebhook": _WEBHOOK | {"reinvocationPolicy": "Never"},
            "Rule": {"scope": "*"},
            "ServiceReference": {"port": 443},
            "ValidatingAdmissionPolicySpec": _POLICY,
            "ValidatingWebhook": _WEBHOOK,
        }.items()
    },
    "admissionregistration.k8s.io/v1alpha1.ParamRef": {"parameterNotFoundAction": "Deny"},
    "apiextensions.k8s.io/v1.CustomResourceDefinitionSpec": {"conversion": {"value": {"strategy": "None"}}},
    "apiextensions.k8s.io/v1.ServiceReference": {"port": 443},
    "apiregistration.k8s.io/v1.ServiceReference": {"port": 443},
    "autoscaling/v1.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "autoscaling/v2.HorizontalPodAutoscalerSpec": {
        "minReplicas": 1,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": _BUSY}}],
    },
    "batch/v1.CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    "batch/v1.PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    "certificates.k8s.io/v1alpha1.PodCertificateRequestSpec": {"maxExpirationSeconds": 86400},
    "certificates.k8s.io/v1beta1.PodCertificateRequestSpec": {"maxExpirationSeconds": 86400},
    "discovery.k8s.io/v1.EndpointPort": {"name": "", "protocol": "TCP"},
    **{
        f"flowcontrol.apiserver.k8s.io/{version}.{name}": defaults
        for version in ("v1", "v1beta3", "v1beta2")
        for name, defaults in {
            "ExemptPriorityLevelConfiguration": _EXEMPT,
            "FlowSchemaSpec": {"matchingPrecedence": 1000},
            "LimitedPriorityLevelConfiguration": _ASSURED if version == "v1beta2" else _LIMITED,
            "QueuingConfiguration": _QUEUING,
        }.items()
    },
    "networking.k8s.io/v1.IngressClassParametersReference": {"scope": "Cluster"},
    "networking.k8s.io/v1.NetworkPolicyPort": {"protocol": "TCP"},
    "rbac.authorization.k8s.io/v1.RoleRef": {"apiGroup": "rbac.authorization.k8s.io"},
    "rbac.authorization.k8s.io/v1.Subject": {
        "apiGroup": {"value": "rbac.authorization.k8s.io", "when": {"kind": ["User", "Group"]}}
    },
    "scheduling.k8s.io/v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "scheduling.k8s.io/v1alpha3.CompositePodGroupSpec": {"disruptionMode": {"value": {"single": {}}}},
    "storage.k8s.io/v1.CSIDriverSpec": {
        "attachRequired": True,
        "podInfoOnMount": False,
        "volumeLifecycleModes": ["Persistent"],
        "storageCapacity": False,
        "requiresRepublish": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "seLinuxMount": False,
    },
    "storage.k8s.io/v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
}
