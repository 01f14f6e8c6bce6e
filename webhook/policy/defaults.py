"""What the API server adds to an object before policies see it, and taking it out again of what is shown.

Follows ``pkg/apis/core/v1/defaults.go`` and those of apps, batch and resource; and, for new pods, what the admission
plugins of every cluster add: ServiceAccount, Priority, DefaultTolerationSeconds. The volume with the service account's
token is left out: its name is random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from webhook.policy.request import CREATE, text_of
from webhook.policy.schemas import ListOf, MapOf, Structure, schema_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from webhook.policy.request import JSONObject, Request
    from webhook.policy.schemas import Shape

_CONTAINER: Final = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "resources": {},
}
_FILES: Final = {"defaultMode": 0o644}
_ROLLING: Final = {"maxUnavailable": "25%", "maxSurge": "25%"}

_CONTAINER_ZEROS: Final = frozenset(
    {"image", "imagePullPolicy", "stdin", "stdinOnce", "tty", "workingDir"}
    | {"terminationMessagePath", "terminationMessagePolicy"}
)
_REQUEST_ZEROS: Final = frozenset({"allocationMode", "count"})

FIELDS: Final[Mapping[str, Mapping[str, Any]]] = {
    "PodSpec": {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "enableServiceLinks": True,
    },
    "Container": _CONTAINER,
    "EphemeralContainer": _CONTAINER,
    "ContainerPort": {"protocol": "TCP"},
    "Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "GRPCAction": {"service": ""},
    "ObjectFieldSelector": {"apiVersion": "v1"},
    "ResourceFieldSelector": {"divisor": "0"},
    "ConfigMapVolumeSource": _FILES,
    "SecretVolumeSource": _FILES,
    "DownwardAPIVolumeSource": _FILES,
    "ProjectedVolumeSource": _FILES,
    "ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "HostPathVolumeSource": {"type": ""},
    "ISCSIVolumeSource": {"iscsiInterface": "default"},
    "RBD": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "DeploymentSpec": {
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": _ROLLING},
    },
    "ReplicaSetSpec": {"replicas": 1},
    "StatefulSetSpec": {
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    },
    "DaemonSetSpec": {
        "revisionHistoryLimit": 10,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
    },
    "JobSpec": {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    },
    "CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    "DeviceToleration": {"operator": "Equal"},
    "ResourceClaimSpec": {"devices": {}},
}
"""Fields that are set if they are absent, by the type that has them."""

ZEROS: Final[Mapping[str, frozenset[str]]] = {
    "ObjectMeta": frozenset({"name", "generateName", "namespace", "uid", "resourceVersion", "generation", "selfLink"}),
    "PodSpec": frozenset(
        {"dnsPolicy", "hostIPC", "hostNetwork", "hostPID", "hostname", "nodeName", "priorityClassName", "restartPolicy"}
        | {"schedulerName", "serviceAccount", "serviceAccountName", "subdomain"}
    ),
    "Container": _CONTAINER_ZEROS,
    "EphemeralContainer": _CONTAINER_ZEROS | {"targetContainerName"},
    "ContainerPort": frozenset({"name", "hostPort", "protocol", "hostIP"}),
    "EnvVar": frozenset({"value"}),
    "VolumeMount": frozenset({"readOnly", "subPath", "subPathExpr"}),
    "Probe": frozenset(
        {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"}
    ),
    "HTTPGetAction": frozenset({"path", "host", "scheme"}),
    "Toleration": frozenset({"key", "operator", "value", "effect"}),
    "PersistentVolumeClaimVolumeSource": frozenset({"readOnly"}),
    "NFSVolumeSource": frozenset({"readOnly"}),
    "DeploymentSpec": frozenset({"minReadySeconds", "paused"}),
    "DaemonSetSpec": frozenset({"minReadySeconds"}),
    "StatefulSetSpec": frozenset({"minReadySeconds", "podManagementPolicy"}),
    "ExactDeviceRequest": _REQUEST_ZEROS,
    "DeviceSubRequest": _REQUEST_ZEROS,
    "DeviceRequest": _REQUEST_ZEROS,
    "DeviceToleration": frozenset({"key", "operator", "value", "effect"}),
}
"""Fields that Go holds by value and leaves out if they are empty, false or 0."""

_KEPT_EMPTY: Final = frozenset({"containers", "nodeSelectorTerms"})
"""Lists that are there even if they are empty."""

_EVICTED_AFTER: Final = 300


def with_defaults(obj: JSONObject, *, created: bool) -> JSONObject:
    """Return an object as the API server has it when it asks policies; the object itself is not changed.

    Args:
        obj: The object as submitted.
        created: Whether it is new, so that admission plugins complete it.
    """
    schema = schema_of(text_of(obj, "apiVersion"), text_of(obj, "kind"))
    if schema is None:
        return obj
    defaulted: JSONObject = _defaulted(obj, schema)
    spec = defaulted.get("spec")
    if schema.name == "Pod" and created and isinstance(spec, dict):
        return defaulted | {"spec": _admitted(spec)}
    return defaulted


def completed(request: Request) -> Request:
    """Return a request as the API server has it when it asks policies: with defaults.

    Args:
        request: A request made of manifests.
    """
    obj, old = request.object, request.old_object
    if request.subresource:
        return request
    return request._replace(
        object=None if obj is None else with_defaults(obj, created=request.operation == CREATE),
        old_object=None if old is None else with_defaults(old, created=True),
        submitted=obj,
    )


def _defaulted(value: Any, shape: Shape) -> Any:
    if isinstance(shape, ListOf) and isinstance(value, list):
        return [_defaulted(each, shape.item) for each in value]
    if isinstance(shape, MapOf) and isinstance(value, dict):
        return {key: _defaulted(each, shape.item) for key, each in value.items()}
    if not isinstance(shape, Structure) or not isinstance(value, dict):
        return value
    complete = {
        key: _defaulted(each, field) if (field := shape.field(key)) is not None else each
        for key, each in value.items()
        if each or not _is_left_out(key, each, shape)
    }
    for name, default in FIELDS.get(shape.name, {}).items():
        if complete.get(name) is None:
            complete[name] = default
    compute = _COMPUTED.get(shape.name)
    return compute(complete) if compute else complete


def _is_left_out(key: str, value: Any, shape: Structure) -> bool:
    """Tell whether Go leaves an empty value out."""
    if value is None:
        return True
    if isinstance(value, list | dict):
        return isinstance(shape.field(key), ListOf | MapOf) and key not in _KEPT_EMPTY
    return key in ZEROS.get(shape.name, ())


def _container(container: JSONObject) -> JSONObject:
    image = container.get("image")
    if container.get("imagePullPolicy") is None and isinstance(image, str):
        name, _, digest = image.partition("@")
        tag = name.rpartition("/")[2].partition(":")[2]
        latest = not digest and tag in {"", "latest"}
        container = container | {"imagePullPolicy": "Always" if latest else "IfNotPresent"}
    resources = container["resources"]
    limits = resources.get("limits") if isinstance(resources, dict) else None
    if not limits or not isinstance(limits, dict):
        return container
    requests = resources.get("requests")
    requests = requests if isinstance(requests, dict) else {}
    return container | {"resources": resources | {"requests": limits | requests}}


def _request(request: JSONObject) -> JSONObject:
    """Complete a request for devices; one with alternatives asks for none itself."""
    if not request.get("deviceClassName"):
        return request
    complete = {"allocationMode": "ExactCount"} | {name: each for name, each in request.items() if each is not None}
    if complete["allocationMode"] == "ExactCount" and not complete.get("count"):
        complete["count"] = 1
    return complete


_COMPUTED: Final[Mapping[str, Callable[[JSONObject], JSONObject]]] = {
    "Container": _container,
    "EphemeralContainer": _container,
    "DeviceRequest": _request,
    "ExactDeviceRequest": _request,
    "DeviceSubRequest": _request,
}


def _admitted(spec: JSONObject) -> JSONObject:
    """Complete a new pod's spec as admission plugins do."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    tolerations = spec.get("tolerations")
    tolerations = tolerations if isinstance(tolerations, list) else []
    tolerated = {
        each.get("key") for each in tolerations if isinstance(each, dict) and isinstance(each.get("key"), str | None)
    }
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _EVICTED_AFTER}
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        if key not in tolerated
    ]
    return (
        {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
        | spec
        | {
            "serviceAccountName": account,
            "serviceAccount": account,
            "tolerations": [*tolerations, *added],
        }
    )


def without_defaults(value: Any, defaulted: Any, submitted: Any) -> Any:
    """Return a value without what was added to it as a default and has not been changed since.

    Args:
        value: What became of the value.
        defaulted: The value with its defaults.
        submitted: The value as submitted.
    """
    if value == defaulted:
        return submitted
    if isinstance(value, dict) and isinstance(defaulted, dict):
        given = submitted if isinstance(submitted, dict) else {}
        kept = {
            key: without_defaults(each, defaulted[key], given.get(key)) if key in defaulted else each
            for key, each in value.items()
            if key in given or key not in defaulted or defaulted[key] != each
        }
        left_out = {key: each for key, each in given.items() if key not in defaulted and key not in value}
        return left_out | {key: each for key, each in kept.items() if each or key in given or not defaulted.get(key)}
    if isinstance(value, list) and isinstance(defaulted, list):
        given_items = submitted if isinstance(submitted, list) else []
        return [
            each if index is None else without_defaults(each, defaulted[index], given_items[index])
            for each in value
            if (index := _place(each, defaulted)) is None or index < len(given_items)
        ]
    return value


def _place(item: Any, items: list[Any]) -> int | None:
    """Return where an item was: one that is equal, or has the same name."""
    for index, each in enumerate(items):
        if each == item:
            return index
    if not isinstance(item, dict) or "name" not in item:
        return None
    return next(
        (index for index, each in enumerate(items) if isinstance(each, dict) and each.get("name") == item["name"]), None
    )
