"""What the admission plugins of every cluster add to objects and refuse, before policies are asked.

Follows kube-apiserver ``pkg/kubeapiserver/options/plugins.go`` (AllOrderedPlugins, without DefaultOffAdmissionPlugins)
and ``plugin/pkg/admission``: plugins that decide by the request and by objects that manifests may hold. Objects that
were not given, such as a PriorityClass, are taken for what most clusters have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from itertools import chain, islice
from operator import gt, lt
from typing import Any, Final, NamedTuple

from webhook.api.core.meta import generated_name
from webhook.api.core.pod import pod_amounts, quantities
from webhook.formats.quantities import Quantity
from webhook.objects import JSONObject, items, mapping, metadata_of, number, text
from webhook.policy.evaluation.policyset import PolicySet
from webhook.policy.evaluation.request import CREATE, Request
from webhook.policy.manifest.kinds import GroupVersionKind

_DIGITS_OF_64_BITS: Final = 18
"""The largest number of digits that surely fit."""
_VOLUME_ATTRIBUTES: Final = GroupVersionKind("storage.k8s.io", "v1", "VolumeAttributesClass")
_POD, _NODE, _VOLUME, _VOLUME_CLAIM, _LIMIT_RANGE, _SERVICE_ACCOUNT = (
    GroupVersionKind("", "v1", kind)
    for kind in ("Pod", "Node", "PersistentVolume", "PersistentVolumeClaim", "LimitRange", "ServiceAccount")
)
_POD_GROUPS: Final = tuple(
    GroupVersionKind("scheduling.k8s.io", each, "PodGroup") for each in ("v1beta1", "v1alpha3", "v1alpha2")
)
_PRIORITY_CLASS: Final = GroupVersionKind("scheduling.k8s.io", "v1", "PriorityClass")
_RUNTIME_CLASS: Final = GroupVersionKind("node.k8s.io", "v1", "RuntimeClass")
_STORAGE_CLASS: Final = GroupVersionKind("storage.k8s.io", "v1", "StorageClass")
_INGRESS_CLASS: Final = GroupVersionKind("networking.k8s.io", "v1", "IngressClass")
READ: Final = frozenset(
    {_LIMIT_RANGE, _SERVICE_ACCOUNT, _PRIORITY_CLASS, _RUNTIME_CLASS, _STORAGE_CLASS, _INGRESS_CLASS}
)
"""The kinds of the objects that plugins read."""

_CONTAINERS: Final = ("initContainers", "containers")
_TOKEN_VOLUME: Final = "kube-api-access-"  # noqa: S105 - the prefix of a volume's name
_TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a directory
_TOKEN: Final = {
    "projected": {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
                    ]
                }
            },
        ],
        "defaultMode": 0o644,
    }
}
_PREEMPTS: Final = "PreemptLowerPriority"
_SYSTEM_PRIORITIES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_OF_PRIORITY: Final = ("priorityClassName", "priority", "preemptionPolicy")
_MERGED_MAX: Final = 500
"""How many tolerations of a pod and its RuntimeClass are compared with each other: the time grows with their square."""
_OTHER_OVERHEAD: Final = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_NOT_READY: Final = "node.kubernetes.io/not-ready"
_UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_CLASS_OF_CLAIM: Final = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_STORAGE: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_CLASS_OF_INGRESS: Final = "kubernetes.io/ingress.class"
_DEFAULT_INGRESS: Final = ("ingressclass.kubernetes.io/is-default-class",)


class RefusedError(Exception):
    """An admission plugin refuses a request; the message says why."""


class _Asked(NamedTuple):
    """The circumstances of an object that a plugin judges.

    Args:
        stored: The object that it updates, completed; None for a new one, or if it is stored itself.
        is_new: Whether the object is about to be created.
        cluster: The objects that plugins read.
    """

    namespace: str
    stored: JSONObject | None
    is_new: bool
    cluster: PolicySet

    def find(self, kind: GroupVersionKind, name: str) -> JSONObject | None:
        """Return an object by its name; None if it was not given."""
        return _find(self.cluster, kind, name, self.namespace if self.cluster.is_namespaced(kind) else "")


def _find(cluster: PolicySet, kind: GroupVersionKind, name: str, namespace: str = "") -> JSONObject | None:
    return next((each for named, each in cluster.find(kind, namespace) if named == name), None)


Plugin = Callable[["JSONObject", _Asked], "JSONObject"]


def admitted(request: Request, cluster: PolicySet) -> Request:
    """Return a request as the plugins complete it; what an update does not state stays as it was.

    Args:
        request: The request, whose objects have the defaults of their types.
        cluster: The objects that plugins read.

    Raises:
        RefusedError: A plugin refuses it.
    """
    plugins = _PLUGINS.get(request.kind, ())
    if request.subresource or not plugins:
        return request
    obj, old = request.object, request.old_object
    if old is not None:
        old = _completed(old, plugins, _Asked(request.namespace, None, is_new=False, cluster=cluster))
    if obj is not None:
        obj = _completed(obj, plugins, _Asked(request.namespace, old, request.operation == CREATE, cluster))
    return request._replace(object=obj, old_object=old)


def _completed(obj: JSONObject, plugins: Iterable[Plugin], asked: _Asked) -> JSONObject:
    return reduce(lambda obj, plugin: plugin(obj, asked), plugins, obj)


def _limited(pod: JSONObject, asked: _Asked) -> JSONObject:
    """Set the default limits and requests of LimitRanges in containers (plugin LimitRanger)."""
    for _, each in asked.cluster.find(_LIMIT_RANGE, asked.namespace):
        of_containers = [item for item in items(each, "spec", "limits") if item.get("type") == "Container"]
        limits, requests = (
            {name: str(amount) for item in of_containers for name, amount in quantities(item, field).items()}
            for field in ("default", "defaultRequest")
        )
        pod = _with_limits(pod, limits, requests)
    return pod


def _with_limits(pod: JSONObject, limits: JSONObject, requests: JSONObject) -> JSONObject:
    changes: list[str] = []

    def limited(container: JSONObject, what: str) -> JSONObject:
        resources = dict(mapping(container, "resources"))
        for field, defaults in (("requests", requests), ("limits", limits)):
            own = mapping(resources, field)
            if added := {name: each for name, each in defaults.items() if name not in own}:
                resources[field] = own | added
                changes.append(f"{', '.join(sorted(added))} {field[:-1]} for {what} {text(container, 'name')}")
        return container | {"resources": resources}

    spec = mapping(pod, "spec")
    for field, what in (("containers", "container"), ("initContainers", "init container")):
        spec = _each(spec, field, partial(limited, what=what))
    if not changes:
        return pod
    metadata = metadata_of(pod)
    note = {"kubernetes.io/limit-ranger": f"LimitRanger plugin set: {'; '.join(changes)}"}
    return pod | {"spec": spec, "metadata": {**metadata, "annotations": mapping(metadata, "annotations") | note}}


def _with_account(pod: JSONObject, asked: _Asked) -> JSONObject:
    """Set the ServiceAccount, the volume with its token, and its secrets for images (plugin ServiceAccount)."""
    spec, stored = mapping(pod, "spec"), mapping(asked.stored, "spec")
    if "kubernetes.io/config.mirror" in mapping(pod, "metadata", "annotations"):
        return pod
    name = text(spec, "serviceAccountName") or text(spec, "serviceAccount") or text(stored, "serviceAccountName")
    name = name or "default"
    account = asked.find(_SERVICE_ACCOUNT, name) or {}
    spec = spec | {"serviceAccountName": name, "serviceAccount": name}
    own = (spec.get("automountServiceAccountToken"), account.get("automountServiceAccountToken"))
    if asked.stored is None:
        mounts = next((each for each in own if isinstance(each, bool)), True)
    else:
        mounts = any(_has_token(each) for each in items(stored, "volumes"))
    if mounts:
        spec = _with_token(spec)
    of_account = [{"name": text(each, "name")} for each in items(account, "imagePullSecrets")]
    secrets = stored.get("imagePullSecrets") or of_account
    if secrets and not spec.get("imagePullSecrets"):
        spec = spec | {"imagePullSecrets": secrets}
    return pod | {"spec": spec}


def _has_token(volume: JSONObject) -> bool:
    return text(volume, "name").startswith(_TOKEN_VOLUME)


def _with_token(spec: JSONObject) -> JSONObject:
    """Mount the token in each container that mounts nothing else at its path."""
    there = next(filter(_has_token, items(spec, "volumes")), None)
    name = text(there, "name") or generated_name(_TOKEN_VOLUME)
    mount = {"name": name, "readOnly": True, "mountPath": _TOKEN_PATH}

    def mounted(container: JSONObject) -> JSONObject:
        mounts = items(container, "volumeMounts")
        if any(each.get("mountPath") == _TOKEN_PATH for each in mounts):
            return container
        return container | {"volumeMounts": [*mounts, mount]}

    changed = spec
    for field in _CONTAINERS:
        changed = _each(changed, field, mounted)
    if there is None and any(mount in items(each, "volumeMounts") for each in _containers(changed)):
        changed = changed | {"volumes": [*items(spec, "volumes"), {"name": name, **_TOKEN}]}
    return changed


def _with_priority(pod: JSONObject, asked: _Asked) -> JSONObject:
    """Set the priority of the PriorityClass (plugin Priority).

    Of a class that was not given only the name is known: the priority is what the pod states, or that of no class.
    """
    spec = mapping(pod, "spec")
    if not asked.is_new and asked.stored is not None:
        stored = mapping(asked.stored, "spec")
        return pod | {"spec": {name: stored[name] for name in _OF_PRIORITY if name in stored} | spec}
    if (found := _priority_class(text(spec, "priorityClassName"), asked.cluster)) is None:
        return pod | {"spec": {"priority": 0, "preemptionPolicy": _PREEMPTS} | spec}
    name, priority, preempts = found
    for field, what, computed in (
        ("priority", "integer value of priority", priority),
        ("preemptionPolicy", "string value of PreemptionPolicy", preempts),
    ):
        if asked.is_new and spec.get(field, computed) != computed:
            raise RefusedError(
                f"the {what} ({spec[field]}) must not be provided in pod spec; priority admission controller computed "
                f"{computed} from the given PriorityClass name"
            )
    named = {"priorityClassName": name} if name else {}
    return pod | {"spec": {"priority": priority, "preemptionPolicy": preempts} | spec | named}


def _priority_class(name: str, cluster: PolicySet) -> tuple[str, int, str] | None:
    """Return the name, priority and preemption policy of a pod's class; None if the class was not given.

    Args:
        name: The name of the class; empty for the default of the cluster.
        cluster: The objects that were given.

    Raises:
        RefusedError: Other classes were given, but not this one.
    """
    if name in _SYSTEM_PRIORITIES:
        return name, _SYSTEM_PRIORITIES[name], _PREEMPTS
    given = [*cluster.find(_PRIORITY_CLASS, "")]
    if name:
        found = [each for each in given if each[0] == name]
        if given and not found:
            raise RefusedError(f"no PriorityClass with name {name} was found")
    else:
        defaults = [each for each in given if each[1].get("globalDefault") is True]
        found = [min(defaults, default=("", {}), key=lambda each: number(each[1], "value") or 0)]
    return next(
        ((name, number(each, "value") or 0, text(each, "preemptionPolicy") or _PREEMPTS) for name, each in found), None
    )


def _tolerating(pod: JSONObject, _asked: _Asked) -> JSONObject:
    """Let a pod stay a while on a node that is not ready (plugin DefaultTolerationSeconds)."""
    given = items(pod, "spec", "tolerations")
    tolerated = {text(each, "key") for each in given if each.get("effect") in {None, "", "NoExecute"}}
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in (_NOT_READY, _UNREACHABLE)
        if tolerated.isdisjoint({key, ""})
    ]
    return pod | {"spec": mapping(pod, "spec") | {"tolerations": [*given, *added]}} if added else pod


def _with_runtime(pod: JSONObject, asked: _Asked) -> JSONObject:
    """Set the overhead and scheduling of the RuntimeClass (plugin RuntimeClass)."""
    spec = mapping(pod, "spec")
    if (runtime := asked.find(_RUNTIME_CLASS, text(spec, "runtimeClassName"))) is None:
        return pod
    changes: JSONObject = {}
    if overhead := quantities(runtime, "overhead", "podFixed"):
        if asked.is_new and spec.get("overhead") and quantities(spec, "overhead") != overhead:
            raise RefusedError(_OTHER_OVERHEAD)
        changes["overhead"] = {name: str(each) for name, each in overhead.items()}
    selector, own = mapping(runtime, "scheduling", "nodeSelector"), mapping(spec, "nodeSelector")
    for name, each in selector.items():
        if asked.is_new and own.get(name, each) != each:
            raise RefusedError(
                f"conflict: runtimeClass.scheduling.nodeSelector[{name}] = {each}; "
                f"pod.spec.nodeSelector[{name}] = {own[name]}"
            )
    if selector:
        changes["nodeSelector"] = own | selector
    if scheduling := mapping(runtime, "scheduling"):
        changes["tolerations"] = _merged([*items(spec, "tolerations"), *items(scheduling, "tolerations")])
    return pod | {"spec": spec | changes}


def _merged(tolerations: Sequence[JSONObject]) -> list[JSONObject]:
    """Leave out tolerations that others cover (``pkg/util/tolerations``, MergeTolerations)."""
    if len(tolerations) > _MERGED_MAX:
        return [*tolerations]
    kept: list[JSONObject] = []
    for index, each in enumerate(tolerations):
        later = (other for other in islice(tolerations, index + 1, None) if other != each)
        if not any(_covers(other, each) for other in chain(kept, later)):
            kept.append(each)
    return kept


def _covers(one: JSONObject, other: JSONObject) -> bool:
    """Tell whether a toleration tolerates all that another one does (``pkg/util/tolerations``, isSuperset)."""
    if one == other:
        return True
    is_any, seconds = one.get("operator") == "Exists", number(one, "tolerationSeconds")
    is_of_key = text(one, "key") == text(other, "key") or (is_any and not text(one, "key"))
    if not is_of_key or text(one, "effect") not in {"", text(other, "effect")}:
        return False
    if text(one, "effect") == "NoExecute" and seconds is not None:
        least = number(other, "tolerationSeconds")
        if least is None or least > seconds:
            return False
    is_equal = text(one, "operator") in {"", "Equal"} and other.get("operator") == "Equal"
    return is_any or (is_equal and text(one, "value") == text(other, "value"))


def _tainted(node: JSONObject, asked: _Asked) -> JSONObject:
    """Keep pods from a new node that is not ready yet (plugin TaintNodesByCondition)."""
    taint, spec = {"key": _NOT_READY, "effect": "NoSchedule"}, mapping(node, "spec")
    given = items(spec, "taints")
    if not asked.is_new or any(taint.items() <= each.items() for each in given):
        return node
    return node | {"spec": spec | {"taints": [*given, taint]}}


def _with_class(
    obj: JSONObject, asked: _Asked, *, field: str, stated: str, kind: GroupVersionKind, marks: Sequence[str]
) -> JSONObject:
    """Set the default class of a cluster (DefaultStorageClass, DefaultIngressClass).

    Of several, it is the newest, and of those the first by name.

    Args:
        field: The field of its spec that names the class.
        stated: The annotation that names the class instead.
        kind: The kind of the class.
        marks: The annotations of which one marks a default class.
    """
    spec = mapping(obj, "spec")
    if spec.get(field) is not None or stated in mapping(obj, "metadata", "annotations"):
        return obj
    default = [
        (text(each, "metadata", "creationTimestamp"), name)
        for name, each in sorted(asked.cluster.find(kind, ""), key=lambda found: found[0])
        if any(mapping(each, "metadata", "annotations").get(mark) == "true" for mark in marks)
    ]
    name = text(asked.stored, "spec", field) or max(default, default=("", ""), key=lambda found: found[0])[1]
    return obj | {"spec": spec | {field: name}} if name else obj


def _protected(obj: JSONObject, _asked: _Asked, *, finalizer: str) -> JSONObject:
    """Keep an object from being deleted while it is used (StorageObjectInUseProtection, PodGroupProtection)."""
    metadata = metadata_of(obj)
    given = metadata.get("finalizers") or []
    if not isinstance(given, list) or finalizer in given:
        return obj
    return obj | {"metadata": {**metadata, "finalizers": [*given, finalizer]}}


_PLUGINS: Final[Mapping[GroupVersionKind, tuple[Plugin, ...]]] = {
    _POD: (_limited, _with_account, _with_priority, _tolerating, _with_runtime),
    _NODE: (_tainted,),
    _VOLUME: (partial(_protected, finalizer="kubernetes.io/pv-protection"),),
    _VOLUME_ATTRIBUTES: (partial(_protected, finalizer="kubernetes.io/vac-protection"),),
    **dict.fromkeys(_POD_GROUPS, (partial(_protected, finalizer="scheduling.k8s.io/podgroup-protection"),)),
    _VOLUME_CLAIM: (
        partial(
            _with_class, field="storageClassName", stated=_CLASS_OF_CLAIM, kind=_STORAGE_CLASS, marks=_DEFAULT_STORAGE
        ),
        partial(_protected, finalizer="kubernetes.io/pvc-protection"),
    ),
    GroupVersionKind("networking.k8s.io", "v1", "Ingress"): (
        partial(
            _with_class, field="ingressClassName", stated=_CLASS_OF_INGRESS, kind=_INGRESS_CLASS, marks=_DEFAULT_INGRESS
        ),
    ),
}
"""The plugins that complete objects of a kind, in the order of AllOrderedPlugins."""


def expect_admissible(request: Request, cluster: PolicySet) -> None:
    """Make sure that plugins admit a new object as mutating policies have left it: its limits, and its overhead.

    Args:
        cluster: The objects that plugins read.

    Raises:
        RefusedError: They do not (``limitranger/admission.go``, PodValidateLimitFunc and
            PersistentVolumeClaimValidateLimitFunc; ``runtimeclass/admission.go``, validateOverhead).
    """
    is_pod = request.kind == _POD
    is_judged = request.operation == CREATE if is_pod else request.kind == _VOLUME_CLAIM
    if request.subresource or not is_judged:
        return
    for _, limit_range in cluster.find(_LIMIT_RANGE, request.namespace):
        if errors := list(dict.fromkeys(_beyond(request.object, limit_range))):
            raise RefusedError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    if is_pod:
        _expect_overhead(mapping(request.object, "spec"), cluster)


def _expect_overhead(spec: JSONObject, cluster: PolicySet) -> None:
    """Make sure that a pod has the overhead of its RuntimeClass, if that was given."""
    name = text(spec, "runtimeClassName")
    runtime = _find(cluster, _RUNTIME_CLASS, name)
    if name and runtime is None:
        return
    if mapping(runtime, "overhead"):
        if quantities(runtime, "overhead", "podFixed") != quantities(spec, "overhead"):
            raise RefusedError(_OTHER_OVERHEAD)
    elif mapping(spec, "overhead"):
        raise RefusedError("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")


def _beyond(obj: Any, limit_range: JSONObject) -> Iterator[str]:
    """List how an object exceeds the limits."""
    spec = mapping(obj, "spec")
    for item in items(limit_range, "spec", "limits"):
        match text(item, "type"), text(obj, "kind"):
            case "Container", "Pod":
                for each in _containers(spec):
                    amounts = (quantities(each, "resources", field) for field in ("requests", "limits"))
                    yield from _outside(item, *amounts)
            case "Pod", "Pod":
                yield from _outside(item, pod_amounts(spec, "requests"), pod_amounts(spec, "limits"))
            case "PersistentVolumeClaim", "PersistentVolumeClaim":
                yield from _outside(item, quantities(spec, "resources", "requests"))


def _outside(
    item: JSONObject, requests: Mapping[str, Quantity], limits: Mapping[str, Quantity] | None = None
) -> Iterator[str]:
    """List the limits that requests and limits exceed.

    Args:
        item: The limits.
        limits: The limits of the object; None if it has none, so that its requests are compared with a maximum.
    """
    kind, amounts = text(item, "type"), [("request", requests), ("limit", limits or {})]
    by_limit = amounts[:1] if limits is None else amounts[::-1]
    for field, compared, is_beyond in (("min", amounts, lt), ("max", by_limit, gt)):
        for name, enforced in quantities(item, field).items():
            start, (first, of_first) = f"{field}imum {name} usage per {kind} is {enforced}", compared[0]
            if name not in of_first:
                yield f"{start}.  No {first} is specified"
                continue
            given = ((what, each[name]) for what, each in compared if name in each)
            yield from islice(
                (f"{start}, but {what} is {each}" for what, each in given if is_beyond(each, enforced)), 1
            )
    for name, enforced in quantities(item, "maxLimitRequestRatio").items() if limits is not None else ():
        start = f"{name} max limit to request ratio per {kind} is {enforced}"
        if lacking := [what for what, each in amounts if name not in each or not each[name].sign]:
            yield f"{start}, but no {lacking[0]} is specified or {lacking[0]} is 0"
            continue
        request, limit = (_in_64_bits(each[name]) for _, each in amounts)
        if limit / request > _in_64_bits(enforced):
            yield f"{start}, but provided ratio is {float(limit / request):f}"


def _in_64_bits(amount: Quantity) -> Fraction:
    """Return an amount as the plugin counts it: at most the largest 64-bit number."""
    too_large = len(amount.digits) + amount.power > _DIGITS_OF_64_BITS
    return Fraction((1 << 63) - 1) if too_large else Fraction(amount.decimal())


def _containers(spec: JSONObject) -> Iterator[JSONObject]:
    return chain.from_iterable(items(spec, field) for field in ("containers", "initContainers"))


def _each(spec: JSONObject, field: str, change: Callable[[JSONObject], JSONObject]) -> JSONObject:
    """Return a spec with the containers of a field changed."""
    containers = items(spec, field)
    return spec | {field: [change(each) for each in containers]} if containers else spec
