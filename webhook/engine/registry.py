"""Sets the fields that the API server sets around admission: uid, generated names, timestamps, status.

Before mutating admission the server records the managers of fields, and writes out an empty status (apiserver
``pkg/endpoints/handlers/create.go``); everything else follows after it: ``pkg/registry/rest/create.go`` (BeforeCreate),
``meta.go`` (FillObjectMetaSystemFields) and ``update.go`` (BeforeUpdate), and the kinds' strategies. Clients see
none of it in their manifests; policies do.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from math import inf
from typing import Any, Final

from webhook.api.core.meta import KEPT_BY_STATUS, generated_name
from webhook.api.versions import type_of
from webhook.objects import JSONObject, items, mapping, metadata_of, text
from webhook.policy.evaluation.policyset import decoded
from webhook.policy.evaluation.request import CREATE, UPDATE, Request
from webhook.policy.manifest.kinds import Kinds
from webhook.schema.target import STATUS

_SERVER_SETS: Final = ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields")
_DROPPED: Final = frozenset({"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"})
_KEPT_BY_STATUS: Final[Mapping[tuple[str, str], AbstractSet[str]]] = {
    ("", "Pod"): frozenset({"ownerReferences", "deletionTimestamp"}),
    **{
        ("resource.k8s.io", kind): KEPT_BY_STATUS
        for kind in ("ResourceClaim", "DeviceTaintRule", "ResourcePoolStatusRequest")
    },
    ("scheduling.k8s.io", "PodGroup"): KEPT_BY_STATUS,
    ("apps", "Deployment"): frozenset({"labels"}),
}
"""The metadata that an update of the status cannot change, by kind (``PrepareForUpdate`` of the strategies)."""
_QUALIFYING: Final = ("cpu", "memory")


def before_mutation(request: Request, kinds: Kinds) -> Request:
    """Return a request of manifests as mutating policies see it; as with `kubectl apply`, unstated fields stay."""
    obj, old = request.object, request.old_object
    if old:
        old = _with_status(_stored(old, request, kinds), old.get(STATUS) or _first_status(old))
    if obj and metadata_of(obj):
        if request.operation == UPDATE and old:
            obj = _kept(obj, old, request, kinds) | {name: obj[name] for name in ("spec", STATUS) if obj.get(name)}
        elif request.operation == CREATE:
            obj = obj | {"metadata": {**metadata_of(obj), "managedFields": _managers(obj, _now())}}
        obj = _with_status(obj, obj.get(STATUS) or {})
    return request._replace(object=obj, old_object=old)


def before_validation(request: Request, kinds: Kinds) -> Request:
    """Return a request of manifests as validating policies see it, after mutating ones have."""
    if not request.object or not metadata_of(request.object):
        return request
    if request.operation == CREATE and not request.subresource:
        obj = _stored(request.object, request, kinds)
        if prepare := _PREPARED.get((text(obj, "apiVersion"), text(obj, "kind"))):
            obj = {**obj, "spec": prepare(mapping(obj, "spec"), metadata_of(obj))}
        obj = _with_status(obj, decoded(_with_status(obj, _first_status(obj)), kinds).get(STATUS, {}))
        if (custom := kinds.custom(request.kind)) and custom.has_status:
            obj = _with_status_of(obj, {})
        return request._replace(object=obj, name=text(metadata_of(obj), "name"))
    if request.operation == UPDATE and request.old_object:
        obj = _kept(request.object, request.old_object, request, kinds)
        if request.subresource == STATUS:
            obj = _with_stored_rest(obj, request.old_object, request, kinds)
        return request._replace(object=obj)
    return request


def _with_stored_rest(obj: JSONObject, old: JSONObject, request: Request, kinds: Kinds) -> JSONObject:
    """Return an update of the status, with what it cannot change taken from the stored object."""
    kept: AbstractSet[str] = _KEPT_BY_STATUS.get((request.kind.group, request.kind.kind), frozenset())
    if kinds.is_custom(request.kind):
        sent = {name: each for name, each in obj.items() if name in {"metadata", STATUS}}
        obj = {name: each for name, each in old.items() if name != STATUS} | sent
        kept = (metadata_of(old).keys() | metadata_of(obj).keys()) - {"managedFields"}
    stored = {name: each for name, each in metadata_of(old).items() if name in kept}
    own = {name: each for name, each in metadata_of(obj).items() if name not in kept}
    return {**obj, "metadata": own | stored}


def _prepared_namespace(spec: JSONObject, _metadata: Mapping[str, Any]) -> JSONObject:
    """Follow ``pkg/registry/core/namespace/strategy.go``."""
    given = spec.get("finalizers") or []
    return spec if _FINALIZER in given else spec | {"finalizers": [*given, _FINALIZER]}


def _prepared_job(spec: JSONObject, metadata: Mapping[str, Any]) -> JSONObject:
    """Follow ``pkg/registry/batch/job/strategy.go`` (generateSelector)."""
    if spec.get("manualSelector") is True:
        return spec
    template, selector = mapping(spec, "template"), mapping(spec, "selector")
    of_template = mapping(template, "metadata")
    uid = text(metadata, "uid")
    names = dict.fromkeys(_JOB_NAMES, text(metadata, "name")) | dict.fromkeys(_JOB_UIDS, uid)
    labels = {**names, **mapping(of_template, "labels")}
    matched = {_JOB_UIDS[0]: uid, **mapping(selector, "matchLabels")}
    return spec | {
        "template": template | {"metadata": of_template | {"labels": labels}},
        "selector": selector | {"matchLabels": matched},
    }


def _prepared_service(spec: JSONObject, _metadata: Mapping[str, Any]) -> JSONObject:
    """Follow ``pkg/registry/core/service/storage/alloc.go`` (allocateCreate) in a cluster with IPv4 alone.

    The addresses and ports are examples.
    """
    if spec.get("type") == "ExternalName":
        return spec
    addresses = list(spec.get("clusterIPs") or filter(None, [spec.get("clusterIP")]))
    is_headless = addresses[:1] == ["None"]
    has_both = is_headless and not spec.get("selector")
    policy = spec.get("ipFamilyPolicy") or ("RequireDualStack" if has_both else "SingleStack")
    stated = ["IPv6" if ":" in each else "IPv4" for each in addresses if each != "None"]
    families = list(spec.get("ipFamilies") or stated or ["IPv4"])
    if has_both and policy != "SingleStack" and len(families) == 1:
        families += ["IPv6" if families == ["IPv4"] else "IPv4"]
    if not is_headless:
        addresses += [_ADDRESSES[each] for each in families[len(addresses) :] if each in _ADDRESSES]
    found = spec | {"ipFamilyPolicy": policy, "ipFamilies": families}
    if addresses:
        found |= {"clusterIP": addresses[0], "clusterIPs": addresses}
    is_balanced = spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False
    if spec.get("type") == "NodePort" or is_balanced:
        ports = enumerate(items(spec, "ports"), _FIRST_NODE_PORT)
        found["ports"] = [each if each.get("nodePort") else each | {"nodePort": port} for port, each in ports]
    return found


_FINALIZER: Final = "kubernetes"
_JOB_NAMES: Final = ("batch.kubernetes.io/job-name", "job-name")
_JOB_UIDS: Final = ("batch.kubernetes.io/controller-uid", "controller-uid")
_ADDRESSES: Final = {"IPv4": "10.96.0.10", "IPv6": "fd00:10:96::a"}
_FIRST_NODE_PORT: Final = 30000
_PREPARED: Final[Mapping[tuple[str, str], Callable[[JSONObject, Mapping[str, Any]], JSONObject]]] = {
    ("v1", "Namespace"): _prepared_namespace,
    ("v1", "Service"): _prepared_service,
    ("batch/v1", "Job"): _prepared_job,
}
"""The spec of a new object as its strategy prepares it (``PrepareForCreate``, and what a Service is allocated)."""


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _stored(obj: JSONObject, request: Request, kinds: Kinds) -> JSONObject:
    """Return an object with the fields that the server sets on create; fields that it already states stay."""
    metadata = {name: value for name, value in metadata_of(obj).items() if value is not None}
    if not metadata:
        return obj
    prefix = text(metadata, "generateName")
    name = text(metadata, "name") or (generated_name(prefix) if prefix else "")
    now = _now()
    set_: JSONObject = {
        "name": name,
        "uid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{request.resource}/{request.namespace}/{name}")),
        "creationTimestamp": now,
        "managedFields": _managers(obj, now),
    }
    dropped = _DROPPED
    if _counts_generations(obj, request, kinds):
        set_["generation"], dropped = 1, _DROPPED | {"generation"}
    if request.operation != CREATE:
        set_["resourceVersion"] = "1"
    else:
        metadata = {name: value for name, value in metadata.items() if name not in dropped}
    return {**obj, "metadata": set_ | {name: value for name, value in metadata.items() if value != ""}}


def _managers(obj: Mapping[str, Any], now: str) -> list[JSONObject]:
    """Return the object's managers; if it states none, kubectl as the manager of all fields."""
    if stated := metadata_of(obj).get("managedFields"):
        return stated  # type: ignore[no-any-return]
    fields = {name: value for name, value in obj.items() if name not in {"apiVersion", "kind", STATUS}}
    metadata = {name: value for name, value in metadata_of(obj).items() if name in {"labels", "annotations"}}
    return [
        {
            "manager": "kubectl-create",
            "operation": "Update",
            "apiVersion": obj.get("apiVersion"),
            "time": now,
            "fieldsType": "FieldsV1",
            "fieldsV1": _names({name: value for name, value in (fields | {"metadata": metadata}).items() if value}),
        }
    ]


def _names(value: Any) -> JSONObject:
    return {f"f:{name}": _names(each) for name, each in value.items()} if isinstance(value, dict) else {}


def _counts_generations(obj: Mapping[str, Any], request: Request, kinds: Kinds) -> bool:
    if type_ := type_of(text(obj, "apiVersion"), text(obj, "kind")):
        since: float = getattr(getattr(type_.fields.get("metadata"), "type", None), "counted_since", inf)
        return kinds.release >= since
    return kinds.is_custom(request.kind)


def _has_status(obj: Mapping[str, Any]) -> bool:
    """Tell whether a kind has a status of its own, which only the status subresource changes."""
    type_ = type_of(text(obj, "apiVersion"), text(obj, "kind"))
    return type_ is not None and (STATUS in type_.fields or type_.opaque.get(STATUS) is not None)


def _with_status(obj: JSONObject, status: JSONObject) -> JSONObject:
    return {**obj, STATUS: status} if _has_status(obj) else obj


def _first_status(obj: Mapping[str, Any]) -> JSONObject:
    """Return the status that a new object starts with, without defaults."""
    is_pod = (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Pod")
    return {"phase": "Pending", "qosClass": _qos_class(mapping(obj, "spec"))} if is_pod else {}


def _qos_class(spec: JSONObject) -> str:
    """Return a pod's quality of service class (``pkg/apis/core/v1/helper/qos/qos.go``)."""
    whole = mapping(spec, "resources")
    of_pod = [spec] if whole.get("limits") or whole.get("requests") else []
    containers = of_pod or [*items(spec, "containers"), *items(spec, "initContainers")]
    stated = [
        {
            name: {key: part[key] for key in _QUALIFYING if part.get(key)}
            for name, part in mapping(each, "resources").items()
            if isinstance(part, dict)
        }
        for each in containers
    ]
    if not any(part for each in stated for part in each.values()):
        return "BestEffort"
    guaranteed = all(
        len(each.get("limits", {})) == len(_QUALIFYING) and each.get("requests", each["limits"]) == each["limits"]
        for each in stated
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _with_status_of(obj: JSONObject, old: JSONObject) -> JSONObject:
    """Return a custom resource with the status of another one, or without a status if that has none."""
    kept = {name: each for name, each in obj.items() if name != STATUS}
    return kept | {STATUS: old[STATUS]} if STATUS in old else kept


def _kept(obj: JSONObject, old: JSONObject, request: Request, kinds: Kinds) -> JSONObject:
    """Return an update, with the fields that it does not state or cannot change taken from the stored object."""
    metadata, stored, subresource = metadata_of(obj), metadata_of(old), request.subresource
    kept = {name: stored[name] for name in _SERVER_SETS if stored.get(name) and not metadata.get(name)}
    updated = {**obj, "metadata": {**metadata, **kept}}
    if custom := kinds.custom(request.kind):
        return updated if subresource or not custom.has_status else _with_status_of(updated, old)
    if not _has_status(obj):
        return updated
    untouched = "spec" if subresource == STATUS else STATUS
    if subresource not in {"", STATUS} or untouched not in old:
        return updated
    return updated | {untouched: old[untouched]}
