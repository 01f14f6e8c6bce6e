"""Defaults that depend on several fields of kinds that are not judged.

Those that do not are beside the fields, in ``kinds.txt``. Functions are named as upstream's.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, Final

from webhook.api.core.container import pull_policy

Complete = Callable[[dict[str, Any]], dict[str, Any]]

_RBAC: Final = "rbac.authorization.k8s.io"
_CLIENT_IP: Final = {"clientIP": {"timeoutSeconds": 10800}}
_EXTERNAL: Final = frozenset({"NodePort", "LoadBalancer"})
_METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
_CPU_PERCENT: Final = 80


def _volume(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_Volume (``pkg/apis/core/v1/defaults.go``)."""
    if value.keys() <= {"name"}:
        return {**value, "emptyDir": {}}
    image = value.get("image")
    if isinstance(image, dict) and not image.get("pullPolicy"):
        reference = image.get("reference")
        policy = pull_policy(reference if isinstance(reference, str) else "")
        return {**value, "image": {**image, "pullPolicy": policy}}
    return value


def _secret(value: dict[str, Any]) -> dict[str, Any]:
    """Follow Convert_v1_Secret_To_core_Secret (``pkg/apis/core/v1/conversion.go``)."""
    stated = value.get("stringData")
    if not isinstance(stated, dict):
        return value
    written = {
        key: base64.b64encode(each.encode("utf-8", "replace")).decode() if isinstance(each, str) else each
        for key, each in stated.items()
    }
    kept = {name: each for name, each in value.items() if name != "stringData"}
    return {**kept, "data": {**_map(value, "data"), **written}}


def _service_port(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_Service (``pkg/apis/core/v1/defaults.go``)."""
    return value if value.get("targetPort") or not value.get("port") else {**value, "targetPort": value["port"]}


def _service_spec(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_Service (``pkg/apis/core/v1/defaults.go``)."""
    type_, found = value.get("type"), dict(value)
    if value.get("sessionAffinity") == "None":
        found.pop("sessionAffinityConfig", None)
    elif value.get("sessionAffinity") == "ClientIP" and not _map(value, "sessionAffinityConfig", "clientIP"):
        found["sessionAffinityConfig"] = _CLIENT_IP
    if type_ in _EXTERNAL or (type_ == "ClusterIP" and value.get("externalIPs")):
        found.setdefault("externalTrafficPolicy", "Cluster")
    if type_ != "ExternalName":
        found.setdefault("internalTrafficPolicy", "Cluster")
    if type_ == "LoadBalancer":
        found.setdefault("allocateLoadBalancerNodePorts", True)
    return found


def _namespace(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_Namespace (``pkg/apis/core/v1/defaults.go``)."""
    metadata = _map(value, "metadata")
    if not (name := metadata.get("name")):
        return value
    labels = {**_map(metadata, "labels"), "kubernetes.io/metadata.name": name}
    return {**value, "metadata": {**metadata, "labels": labels}}


def _limit_range_item(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_LimitRangeItem (``pkg/apis/core/v1/defaults.go``)."""
    if value.get("type") != "Container":
        return value
    limits = {**_map(value, "max"), **_map(value, "default")}
    requests = {**_map(value, "min"), **limits, **_map(value, "defaultRequest")}
    return {**value, **{name: each for name, each in (("default", limits), ("defaultRequest", requests)) if each}}


def _subject(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_Subject (``pkg/apis/rbac/v1/defaults.go``)."""
    is_of_group = value.get("kind") in {"User", "Group"} and not value.get("apiGroup")
    return {**value, "apiGroup": _RBAC} if is_of_group else value


def _network_policy_spec(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_NetworkPolicy (``pkg/apis/networking/v1/defaults.go``)."""
    if value.get("policyTypes"):
        return value
    return {**value, "policyTypes": ["Ingress", *(["Egress"] if value.get("egress") else [])]}


def _autoscaler_spec(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_HorizontalPodAutoscaler (``pkg/apis/autoscaling/v2/defaults.go``)."""
    if value.get("metrics"):
        return value
    target = {"type": "Utilization", "averageUtilization": _CPU_PERCENT}
    return {**value, "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]}


def _autoscaler_behavior(value: dict[str, Any]) -> dict[str, Any]:
    """Follow GenerateHPAScaleUpRules and GenerateHPAScaleDownRules (``pkg/apis/autoscaling/v2/defaults.go``)."""
    all_ = {"type": "Percent", "value": 100, "periodSeconds": 15}
    some = {"type": "Pods", "value": 4, "periodSeconds": 15}
    up = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [some, all_]}
    down = {"selectPolicy": "Max", "policies": [all_]}
    return {**value, "scaleUp": {**up, **_map(value, "scaleUp")}, "scaleDown": {**down, **_map(value, "scaleDown")}}


def _autoscaler_v1(value: dict[str, Any]) -> dict[str, Any]:
    """Follow Convert_v1_HorizontalPodAutoscaler_To_autoscaling_… (``pkg/apis/autoscaling/v1/conversion.go``)."""
    spec = _map(value, "spec")
    if _METRICS in _map(value, "metadata", "annotations") or "targetCPUUtilizationPercentage" in spec:
        return value
    return {**value, "spec": {**spec, "targetCPUUtilizationPercentage": _CPU_PERCENT}}


def _csi_driver_spec(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_CSIDriver (``pkg/apis/storage/v1/defaults.go``)."""
    return value if value.get("volumeLifecycleModes") else {**value, "volumeLifecycleModes": ["Persistent"]}


def _node_status(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_NodeStatus (``pkg/apis/core/v1/defaults.go``)."""
    capacity = _map(value, "capacity")
    return {"allocatable": capacity, **value} if capacity else value


def _definition(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_CustomResourceDefinition (apiextensions-apiserver)."""
    status, versions = _map(value, "status"), _map(value, "spec").get("versions")
    if status.get("storedVersions") or not isinstance(versions, list):
        return value
    stored = [each.get("name") for each in versions if isinstance(each, dict) and each.get("storage") is True]
    return {**value, "status": {**status, "storedVersions": stored[:1] or None}}


def _definition_names(value: dict[str, Any]) -> dict[str, Any]:
    """Follow SetDefaults_CustomResourceDefinitionSpec (apiextensions-apiserver)."""
    kind = value.get("kind")
    if not isinstance(kind, str) or not kind:
        return value
    named = {"singular": kind.lower(), "listKind": f"{kind}List"}
    return {**value, **{name: each for name, each in named.items() if not value.get(name)}}


FUNCTIONS: Final[Mapping[str, Complete]] = {
    "v1.LimitRangeItem": _limit_range_item,
    "v1.Namespace": _namespace,
    "v1.NodeStatus": _node_status,
    "v1.Secret": _secret,
    "v1.ServicePort": _service_port,
    "v1.ServiceSpec": _service_spec,
    "v1.Volume": _volume,
    "apiextensions.k8s.io/v1.CustomResourceDefinition": _definition,
    "apiextensions.k8s.io/v1.CustomResourceDefinitionNames": _definition_names,
    "autoscaling/v1.HorizontalPodAutoscaler": _autoscaler_v1,
    "autoscaling/v2.HorizontalPodAutoscalerBehavior": _autoscaler_behavior,
    "autoscaling/v2.HorizontalPodAutoscalerSpec": _autoscaler_spec,
    "networking.k8s.io/v1.NetworkPolicySpec": _network_policy_spec,
    "rbac.authorization.k8s.io/v1.Subject": _subject,
    "storage.k8s.io/v1.CSIDriverSpec": _csi_driver_spec,
}
"""The functions that complete values, by their type."""


def _map(value: Any, *path: str) -> dict[str, Any]:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
