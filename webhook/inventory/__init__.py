"""The inventory of a cluster: objects by kind, namespace and name; those of ``resource.k8s.io`` in v1.

An :class:`Inventory` holds the objects that ``kubectl get … -o yaml`` prints, in any served version. The API server
vouches for stored objects, so they are decoded here, not judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from shlex import quote
from typing import Final

from webhook.api import conversion
from webhook.api.judgement import judge_stored
from webhook.api.versions import NEWEST, SERVED, VERSIONS, find
from webhook.budget import REVIEW, Budget, current, enter, leave
from webhook.objects import (
    DEFAULT_NAMESPACE,
    JSONObject,
    at,
    free_of_nulls,
    group_of,
    items,
    mapping,
    name_of,
    namespace_of,
    number,
    text,
)
from webhook.problem import BAD_REQUEST, ERROR, Problem
from webhook.schema.decoding import as_reported
from webhook.schema.fields import CompiledStruct, compile_struct, examined
from webhook.schema.target import CREATE, Target

DRA: Final = "resource.k8s.io"
KUEUE: Final = "kueue.x-k8s.io"

KINDS: Final = {
    "DeviceClass": DRA,
    "ResourceSlice": DRA,
    "ResourceClaim": DRA,
    "ResourceClaimTemplate": DRA,
    "DeviceTaintRule": DRA,
    "Node": "",
    "Pod": "",
    "Namespace": "",
    "PodGroup": "scheduling.k8s.io",
    "PriorityClass": "scheduling.k8s.io",
    "ResourceQuota": "",
    "APIService": "apiregistration.k8s.io",
    "Role": "rbac.authorization.k8s.io",
    "ClusterRole": "rbac.authorization.k8s.io",
}
"""The kinds that an inventory holds, and their groups."""

AROUND: Final = {
    "Event": "",
    "DaemonSet": "apps",
    "Deployment": "apps",
    "ReplicaSet": "apps",
    "StatefulSet": "apps",
    "Job": "batch",
    "CronJob": "batch",
    "PersistentVolumeClaim": "",
    "Workload": KUEUE,
}
"""The kinds that tell what became of pods, all of them in namespaces; they are held as they are, without decoding."""

CLAIMS: Final = ("ResourceClaim", "ResourceClaimTemplate")
"""The kinds that request devices, the only ones whose defaults matter to the scheduler."""

ASKED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("pod", "pods", "po"), "Pod"),
    **dict.fromkeys(("deployment", "deployments", "deploy"), "Deployment"),
    **dict.fromkeys(("statefulset", "statefulsets", "sts"), "StatefulSet"),
    **dict.fromkeys(("daemonset", "daemonsets", "ds"), "DaemonSet"),
    **dict.fromkeys(("replicaset", "replicasets", "rs"), "ReplicaSet"),
    **dict.fromkeys(("job", "jobs"), "Job"),
    **dict.fromkeys(("cronjob", "cronjobs", "cj"), "CronJob"),
    **dict.fromkeys(("claim", "claims", "resourceclaim", "resourceclaims"), "ResourceClaim"),
    **dict.fromkeys(("node", "nodes", "no"), "Node"),
}
"""The kinds that may be asked about, by their names on the command line."""

_NEWEST: Final = frozenset({f"{DRA}/v1", "v1", "rbac.authorization.k8s.io/v1"})


def has_ended(pod: JSONObject) -> bool:
    """Tell whether all containers of a pod have ended for good."""
    return text(pod, "status", "phase") in {"Succeeded", "Failed"}


def controller_of(obj: JSONObject) -> JSONObject:
    """Return the owner reference to the controller of an object, an empty one if it has none."""
    owners = items(obj, "metadata", "ownerReferences")
    return next((each for each in owners if each.get("controller") is True), {})


def statuses_of(pod: JSONObject) -> list[JSONObject]:
    """Return the status of each container of a pod, and of each init container."""
    return items(pod, "status", "containerStatuses") + items(pod, "status", "initContainerStatuses")


def devices_reported(pod: JSONObject) -> Iterator[JSONObject]:
    """Yield what kubelet says of each device of a pod's containers: its ID and its health."""
    for resource in (one for each in statuses_of(pod) for one in items(each, "allocatedResourcesStatus")):
        yield from items(resource, "resources")


def replicas_of(obj: JSONObject) -> int:
    """Return the number of pods that a workload runs at a time."""
    spec = mapping(obj, "spec")
    if text(obj, "kind") == "CronJob":
        spec = mapping(spec, "jobTemplate", "spec")
    parallelism = number(spec, "parallelism")
    if parallelism is not None:
        completions = number(spec, "completions")
        return parallelism if completions is None else min(parallelism, completions)
    replicas = number(spec, "replicas")
    return 1 if replicas is None else replicas


class MalformedError(ValueError):
    """An object cannot be decoded; the message names the object and the error."""


class Inventory:
    """Objects by kind, namespace and name.

    Args:
        objects: Objects of any kind and version, as plain dicts; see :meth:`take`.

    Raises:
        MalformedError: An object cannot be decoded.
    """

    def __init__(self, objects: Iterable[JSONObject] = ()) -> None:
        self._kinds: defaultdict[str, dict[tuple[str, str], JSONObject]] = defaultdict(dict)
        self.definitions: list[JSONObject] = []
        """CustomResourceDefinitions, which only policies need."""
        self.unread: dict[tuple[str, str, str], str] = {}
        """Why objects were left out, as they cannot be decoded: by kind, namespace and name."""
        self.context = ""
        """The context of kubectl that the objects were read from; empty for the current one, and for files."""
        for obj in objects:
            self.take(obj)

    def copy(self) -> Inventory:
        """Return an independent inventory of the same objects."""
        made = Inventory()
        made._kinds.update((kind, {**known}) for kind, known in self._kinds.items())
        made.definitions, made.unread, made.context = [*self.definitions], {**self.unread}, self.context
        return made

    def kubectl(self, arguments: str) -> str:
        """Write a command of kubectl for the cluster of these objects."""
        return f"kubectl {f'--context {quote(self.context)} ' if self.context else ''}{arguments}"

    def take(self, obj: JSONObject, *, has_nulls: bool = True) -> JSONObject | None:
        """Add an object, replacing one of the same kind, namespace and name.

        Args:
            obj: The object, in any version that a release serves; without ``apiVersion`` it counts as one of v1.
            has_nulls: Whether it may have null values, which have no meaning.

        Returns:
            The object as stored here: in v1, with a namespace; None if it is of a kind that inventories do not hold.

        Raises:
            MalformedError: It cannot be decoded.
        """
        kind, version = obj.get("kind"), obj.get("apiVersion")
        if not isinstance(kind, str) or not (version is None or isinstance(version, str)):
            return None
        if AROUND.get(kind) == (version or "").rpartition("/")[0]:
            self.keep(obj)
            return obj
        namespaced = _namespaced(version, kind)
        if namespaced is None:
            return None
        known = free_of_nulls(obj) if has_nulls else obj
        known = _as_v1(known if version else {**known, "apiVersion": _version_of(kind)}, kind)
        namespace, metadata = namespace_of(known) if namespaced else "", known["metadata"]
        if namespace and metadata.get("namespace") != namespace:
            known = {**known, "metadata": {**metadata, "namespace": namespace}}
        name = metadata.get("name")
        if not name or not isinstance(name, str):
            raise MalformedError(f"{kind} without metadata.name")
        self._kinds[kind][namespace, name] = known
        return known

    def keep(self, obj: JSONObject) -> None:
        """Add an object that is in a namespace as it is, of any kind, beside those of other groups with its name."""
        kind = obj["kind"]
        self._kinds[kind][namespace_of(obj), _known_as(kind, name_of(obj), group_of(obj))] = obj

    def leave_out(self, obj: JSONObject, error: MalformedError) -> None:
        """Leave out an object that cannot be decoded; a claim still holds its devices, whatever it asks for."""
        namespace = namespace_of(obj) if _namespaced(obj.get("apiVersion"), obj["kind"]) else ""
        self.unread[obj["kind"], namespace, name_of(obj)] = str(error)
        if obj.get("kind") == CLAIMS[0] and at(obj, "status", "allocation"):
            with suppress(MalformedError):  # what it holds cannot be decoded, either
                self.take({**obj, "spec": {}})

    def hold(self, obj: JSONObject) -> bool:
        """Add an object that is known to be valid, without decoding or defaulting it.

        Returns:
            Whether it is of a kind that inventories hold.
        """
        version, kind = obj.get("apiVersion"), obj.get("kind")
        if not isinstance(kind, str) or not isinstance(version, str) or not (name := name_of(obj)):
            return False
        namespaced = _namespaced(version, kind)
        if namespaced is None:
            return False
        namespace = namespace_of(obj) if namespaced else ""
        known = newest(obj) if _has_newest(version, kind) else None
        if known is None or (known is not obj and misfit(known)):
            self.note(kind, name, namespace)
            return False
        self._kinds[kind][namespace, name] = known
        return True

    def put(self, obj: JSONObject) -> None:
        """Add an object that :meth:`take` has returned, a copy of one, or a noted one, without decoding it again."""
        kind = obj["kind"]
        namespace = obj["metadata"]["namespace"] if _namespaced(obj.get("apiVersion"), kind) else ""
        self._kinds[kind][namespace, obj["metadata"]["name"]] = obj

    def note(self, kind: str, name: str, namespace: str = "", driver: str = "") -> None:
        """Note the existence of an object whose content is unknown, except the driver of a slice: :func:`is_noted`."""
        metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
        noted = {"kind": kind, "metadata": metadata, "spec": {"driver": driver} if driver else {}}
        self._kinds[kind].setdefault((namespace, name), noted)

    def discard(self, kind: str, name: str, namespace: str = "") -> JSONObject | None:
        """Forget an object; return it, None if there was none."""
        obj = self.find(kind, name, namespace)
        self._kinds[kind].pop((namespace, name), None)
        return obj

    def knows(self, kind: str) -> bool:
        """Tell whether any object of a kind is known, so that missing ones are missing in the cluster, too."""
        return bool(self._kinds[kind])

    def has_unread(self, kind: str) -> bool:
        """Tell whether objects of a kind were left out."""
        return any(each == kind for each, *_ in self.unread)

    def exists(self, kind: str, name: str, namespace: str) -> bool:
        """Tell whether there is an object in a namespace, if only one that was left out."""
        return self.find(kind, name, namespace) is not None or (kind, namespace, name) in self.unread

    def all(self, kind: str) -> list[JSONObject]:
        """Return the objects of a kind, in the order in which they came."""
        return list(self._kinds[kind].values())

    def names(self, kind: str) -> Collection[tuple[str, str]]:
        """Return namespace and name of all objects of a kind; the namespace is empty for kinds without."""
        return self._kinds[kind].keys()

    def namesakes(self, kind: str, name: str, namespace: str) -> tuple[list[str], list[str]]:
        """Return the namespaces in which there is an object of a name, and the names of those in a namespace."""
        known = self.names(kind)
        return [space for space, each in known if each == name], [each for space, each in known if space == namespace]

    def find(self, kind: str, name: str, namespace: str = "") -> JSONObject | None:
        """Return an object, None if it is not there.

        Args:
            namespace: The namespace; empty for kinds without.
        """
        return self._kinds[kind].get((namespace, name))

    def referred(self, kind: str, name: str, uid: str, namespace: str, group: str = "") -> JSONObject | None:
        """Return the object that a reference means by its name and UID; None if it is gone, whatever has its name."""
        found = self.find(kind, _known_as(kind, name, group), namespace)
        return found if found and text(found, "metadata", "uid") in {"", uid} else None

    def running(self) -> list[JSONObject]:
        """Return the pods on a node that have not ended, which use its resources."""
        return [pod for pod in self.all("Pod") if at(pod, "spec", "nodeName") and not has_ended(pod)]

    def pending(self) -> Iterator[JSONObject]:
        """Return the pods that wait for a node, and those with claims that do not start on theirs."""
        for pod in self.all("Pod"):
            is_starting = text(pod, "status", "phase") == "Pending" and bool(items(pod, "spec", "resourceClaims"))
            if is_starting if at(pod, "spec", "nodeName") else not has_ended(pod):
                yield pod


def _known_as(kind: str, name: str, group: str) -> str:
    """Return the name of an object among those of its kind; that of another group comes with its group."""
    return f"{name}.{group}" if group and AROUND.get(kind, group) != group else name


def is_noted(obj: JSONObject) -> bool:
    """Tell whether an object of an inventory is known by its name alone."""
    return "apiVersion" not in obj


def split_kind(stated: str) -> tuple[str, list[str]]:
    """Split KIND/NAME into kind, empty if none is stated, and the rest: the namespace, if one is stated, and the name.

    The kind may come first, or after the namespace, as ``draguard why`` prints it; a namespace has no dot.
    """
    *before, name = stated.split("/")
    kinds = [ASKED.get(each.lower().partition(".")[0], "") for each in before]
    at = next((place for place in (0, len(before) - 1) if before and kinds[place]), None)
    rest = [*(each for place, each in enumerate(before) if place != at), name]
    return "" if at is None else kinds[at], rest


def is_claim(obj: JSONObject) -> bool:
    """Tell whether an object is a claim or a template, in a version that can be converted to the newest one."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    return kind in CLAIMS and find(version, kind) is not None and _has_newest(str(version), str(kind))


def devices_path(claim: JSONObject) -> tuple[str, ...]:
    """Return the path of the devices that a claim or template requests, or that a class selects."""
    return _PATHS.get(str(claim.get("kind")), ("spec", "devices"))


_PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "ResourceClaimTemplate": ("spec", "spec", "devices"),
    "DeviceClass": ("spec",),
}


def in_namespace(obj: JSONObject, namespace: str) -> JSONObject:
    """Return an object with a namespace if it states none, as ``kubectl apply --namespace`` sends it.

    Args:
        obj: The object; one that is in no namespace stays as it is.
        namespace: The namespace; without one, inventories take an object to be in ``default``.
    """
    version, kind, metadata = obj.get("apiVersion"), obj.get("kind"), obj.get("metadata")
    if not isinstance(kind, str) or not isinstance(version, str) or not isinstance(metadata, dict):
        return obj
    if metadata.get("namespace") or namespace == DEFAULT_NAMESPACE or _namespaced(version, kind) is False:
        return obj
    return {**obj, "metadata": {**metadata, "namespace": namespace}}


def is_held(version: str, kind: str) -> bool:
    """Tell whether inventories hold objects of a kind."""
    return _namespaced(version, kind) is not None


def _namespaced(version: str | None, kind: str) -> bool | None:
    """Tell whether objects of a kind are in namespaces; None if inventories do not hold the kind."""
    if kind not in KINDS or not (version is None or version.rpartition("/")[0] == KINDS[kind]):
        return None
    return _is_namespaced(kind)


@cache
def _is_namespaced(kind: str) -> bool:
    version = _version_of(kind)
    if served := find(version, kind):
        return served.type.namespaced
    from webhook.policy.manifest.kinds import built_in  # only nodes and the like are not judged

    return next(each.namespaced for each in built_in() if (each.group, each.kind) == (KINDS[kind], kind))


@cache
def _has_newest(version: str, kind: str) -> bool:
    """Tell whether a kind of ``resource.k8s.io`` can be converted; the classic kinds of v1alpha2 cannot."""
    if version in _NEWEST:
        return True
    if version.startswith(f"{DRA}/") and find(version, kind) is None:
        return False
    try:
        conversion.to_v1({"apiVersion": version, "kind": kind})
    except conversion.ConversionError:
        return False
    return True


def newest(obj: JSONObject) -> JSONObject:
    """Return an object of ``resource.k8s.io`` in the newest version; kinds missing there are returned as they are."""
    if text(obj, "apiVersion") in _NEWEST:
        return obj
    try:
        return conversion.to_v1(obj)
    except conversion.ConversionError:
        return obj


def _as_v1(obj: JSONObject, kind: str) -> JSONObject:
    """Decode an object, and convert it if it is of Dynamic Resource Allocation."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        raise MalformedError(f"{kind} without metadata")
    version = obj["apiVersion"]
    if (version, kind) not in SERVED:
        if kind == "Node" and (problem := _refused_node(obj)):
            raise MalformedError(f"Node {name_of(obj)}: {problem.path}: {problem.message}")
        if version.startswith(f"{DRA}/"):
            raise MalformedError(f"{kind} {name_of(obj)}: no release serves {kind} in {version}")
        return obj
    token = enter(Budget(REVIEW, current().deadline, is_offline=True))
    try:
        parts, spec = [obj], obj.get("spec")
        if kind == "ResourceSlice" and isinstance(spec, dict) and {"devices", "sharedCounters"} <= spec.keys():
            halves = ("devices", "sharedCounters")  # up to 1.34, one slice had both
            parts = [{**obj, "spec": {key: value for key, value in spec.items() if key != half}} for half in halves]
        for each in parts:  # an older release may have stored what later ones refuse, but no value of another type
            if (problem := _refused(each, None)) and (problem.reason == BAD_REQUEST or _refused(each, _STORED_BY)):
                raise MalformedError(f"{kind} {name_of(obj)}: {problem.path}: {problem.message}")
        known = obj if version in _NEWEST else conversion.to_v1(obj)
        if known is not obj and (problem := misfit(known)):
            raise MalformedError(f"{kind} {name_of(obj)}: {problem.path}: {problem.message}")
    except conversion.ConversionError as error:
        raise MalformedError(
            f"{kind} {name_of(obj)}: {version} has nothing in common with later versions, so it cannot be used"
        ) from error
    finally:
        leave(token)
    return conversion.with_defaults(known) if kind in CLAIMS else known


def misfit(obj: JSONObject) -> Problem | None:
    """Return why an object cannot be decoded; in a converted one, fields that its own version lacks may be known."""
    problems = judge_stored(obj, None, decodes_only=True)
    return next((each for each in problems if each.level == ERROR and each.reason == BAD_REQUEST), None)


_COUNTED: Final = {"spec": ("taints", "unschedulable"), "status": ("allocatable", "capacity")}
"""The parts of Nodes that are looked at."""


def _refused_node(node: JSONObject) -> Problem | None:
    """Return why no API server would have stored a Node, if it is a matter of the parts that are looked at."""
    parts = {
        part: {field: each[field] for field in counted if field in each} if isinstance(each, dict) else each
        for part, counted in _COUNTED.items()
        if (each := node.get(part)) is not None
    }
    misfits, problems = examined(_node(), {"metadata": node["metadata"], **parts})
    if misfits:
        return as_reported(misfits)[0].problem()
    return next((each for each in problems if each.level == ERROR and each.path[:1] == ("spec",)), None)


@cache
def _node() -> CompiledStruct:
    from webhook.api.core import catalogue  # manifests rarely have nodes

    return compile_struct(catalogue.type_of("v1", "Node"), Target("v1", NEWEST, CREATE, stored=True, strict=False))


def _version_of(kind: str) -> str:
    """Return the version that an object without ``apiVersion`` has: the newest of its kind."""
    group = KINDS[kind]
    known = (name for name, version in VERSIONS.items() if kind in version.kinds)
    return next(known, f"{group}/v1" if group else "v1")


_STORED_BY: Final = "1.36"
"""An older release whose objects are also accepted, where later ones are stricter."""


def _refused(obj: JSONObject, kubernetes: str | None) -> Problem | None:
    # Pods have more fields than are checked here, and the status is set by the cluster.
    is_ours = KINDS[obj["kind"]] == DRA
    for problem in judge_stored(obj, kubernetes, decodes_only=not is_ours):
        is_of_shape = problem.reason == BAD_REQUEST
        if problem.level == ERROR and (is_of_shape or (is_ours and problem.path[:1] == ("spec",))):
            return problem
    return None
