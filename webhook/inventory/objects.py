"""Objects by kind, namespace and name; those of ``resource.k8s.io`` in v1."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from webhook.api.conversion import ConversionError, to_v1, with_defaults
from webhook.api.judgement import judge_admitted
from webhook.api.versions import VERSIONS, find
from webhook.objects import DEFAULT_NAMESPACE, name_of, namespace_of, text
from webhook.problem import BAD_REQUEST, ERROR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webhook.objects import JSONObject
    from webhook.problem import Problem

DRA: Final = "resource.k8s.io"

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
}
"""The kinds that an inventory takes, and their groups."""

CLAIMS: Final = ("ResourceClaim", "ResourceClaimTemplate")
"""The kinds that request devices; the only ones whose defaults mean something to the scheduler."""

_NEWEST: Final = frozenset({f"{DRA}/v1", "v1"})

_TERMINATED: Final = frozenset({"Succeeded", "Failed"})


class MalformedError(ValueError):
    """An object cannot be decoded; the text names the object and says what is wrong with it."""


class Inventory:
    """Objects by kind, namespace and name.

    Args:
        objects: Objects of any kind and version, as plain dicts; see :meth:`add`.

    Raises:
        MalformedError: An object cannot be decoded.
    """

    def __init__(self, objects: Iterable[JSONObject] = ()) -> None:
        self._kinds: dict[str, dict[tuple[str, str], JSONObject]] = {}
        self._older: dict[str, set[tuple[str, str]]] = {}
        """Those that are kept in an older version, as nothing has asked for them so far."""
        for obj in objects:
            self.add(obj)

    def add(self, obj: JSONObject) -> bool:
        """Take an object up, if it is of a kind that inventories hold; see :meth:`take`.

        Returns:
            Whether it is.

        Raises:
            MalformedError: It cannot be decoded.
        """
        return self.take(obj) is not None

    def take(self, obj: JSONObject) -> JSONObject | None:
        """Take an object up; one of the same kind, namespace and name is replaced.

        Args:
            obj: The object, in any version that a release serves; without ``apiVersion`` it counts as one of v1.

        Returns:
            The object as it is kept: in v1, with a namespace; None if it is of a kind that inventories do not hold.

        Raises:
            MalformedError: It cannot be decoded.
        """
        kind = obj.get("kind")
        version = obj.get("apiVersion")
        if not isinstance(kind, str) or not (version is None or isinstance(version, str)):
            return None
        namespaced = _namespaced(version, kind)
        if namespaced is None:
            return None
        known = _as_v1(obj, version, kind)
        if "apiVersion" not in known:
            known = {**known, "apiVersion": _version_of(kind)}
        if namespaced and not text(known, "metadata", "namespace"):
            known = {**known, "metadata": {**known["metadata"], "namespace": DEFAULT_NAMESPACE}}
        key = (namespace_of(known) if namespaced else "", name_of(known))
        if not key[1]:
            message = f"{kind} without metadata.name"
            raise MalformedError(message)
        self._kinds.setdefault(kind, {})[key] = known
        return known

    def hold(self, obj: JSONObject) -> bool:
        """Take up an object that is known to be one that an API server takes; it is neither decoded nor completed.

        Returns:
            Whether it is of a kind that inventories hold.
        """
        version, kind = obj.get("apiVersion"), obj.get("kind")
        if not isinstance(kind, str) or not isinstance(version, str) or not (name := name_of(obj)):
            return False
        namespaced = _namespaced(version, kind)
        if namespaced is None:
            return False
        if not _has_newest(version, kind):
            self.note(kind, name, namespace_of(obj) if namespaced else "")
            return False
        key = namespace_of(obj) if namespaced else "", name
        self._kinds.setdefault(kind, {})[key] = obj
        if version not in _NEWEST:
            self._older.setdefault(kind, set()).add(key)
        return True

    def _convert(self, kind: str, keys: Iterable[tuple[str, str]]) -> None:
        """Convert what is kept in an older version."""
        known = self._kinds[kind]
        for key in keys:
            known[key] = newest(known[key])
        self._older[kind].difference_update(keys)

    def put(self, obj: JSONObject) -> None:
        """Take up what :meth:`take` has returned, or what was made of that: it is not decoded again."""
        kind = obj["kind"]
        namespace = obj["metadata"]["namespace"] if _namespaced(obj["apiVersion"], kind) else ""
        self._kinds.setdefault(kind, {})[namespace, obj["metadata"]["name"]] = obj

    def note(self, kind: str, name: str, namespace: str = "") -> None:
        """Note that an object exists that is otherwise unusable."""
        metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
        self._kinds.setdefault(kind, {}).setdefault((namespace, name), {"kind": kind, "metadata": metadata, "spec": {}})

    def discard(self, kind: str, name: str, namespace: str = "") -> JSONObject | None:
        """Forget an object; return it, None if there was none."""
        obj = self.find(kind, name, namespace)
        self._kinds.get(kind, {}).pop((namespace, name), None)
        return obj

    def knows(self, kind: str) -> bool:
        """Tell whether anything is known of a kind, so that what is missing is missing in the cluster, too."""
        return bool(self._kinds.get(kind))

    def all(self, kind: str) -> list[JSONObject]:
        """Return the objects of a kind, in the order in which they came."""
        if older := self._older.get(kind):
            self._convert(kind, tuple(older))
        return list(self._kinds.get(kind, {}).values())

    def names(self, kind: str) -> Iterator[tuple[str, str]]:
        """Return namespace and name of all objects of a kind; the namespace is empty for kinds without."""
        yield from self._kinds.get(kind, {})

    def find(self, kind: str, name: str, namespace: str = "") -> JSONObject | None:
        """Return an object, None if it is not there.

        Args:
            kind: The kind.
            name: The name.
            namespace: The namespace; nothing for kinds without.
        """
        key = namespace, name
        if key in self._older.get(kind, ()):
            self._convert(kind, [key])
        return self._kinds.get(kind, {}).get(key)

    def running(self) -> Iterator[JSONObject]:
        """Return the pods that a node has and that have not ended, so that they use its resources."""
        for pod in self.all("Pod"):
            spec, status = pod.get("spec"), pod.get("status")
            phase = status.get("phase") if isinstance(status, dict) else None
            if isinstance(spec, dict) and spec.get("nodeName") and phase not in _TERMINATED:
                yield pod

    def pending(self) -> Iterator[JSONObject]:
        """Return the pods that wait for a node."""
        for pod in self.all("Pod"):
            spec, status = pod.get("spec"), pod.get("status")
            phase = status.get("phase") if isinstance(status, dict) else None
            if not (isinstance(spec, dict) and spec.get("nodeName")) and phase not in _TERMINATED:
                yield pod


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
    from webhook.policy.manifest.kinds import built_in  # noqa: PLC0415 - only nodes and the like are not judged

    return next(each.namespaced for each in built_in() if (each.group, each.kind) == (KINDS[kind], kind))


@cache
def _has_newest(version: str, kind: str) -> bool:
    """Tell whether a kind of ``resource.k8s.io`` can be converted; what is classic in v1alpha2 cannot."""
    try:
        to_v1({"apiVersion": version, "kind": kind})
    except ConversionError:
        return False
    return True


def newest(obj: JSONObject) -> JSONObject:
    """Return an object of ``resource.k8s.io`` in the newest version; what has none there is returned as it is."""
    if obj.get("apiVersion") in _NEWEST:
        return obj
    try:
        return to_v1(obj)
    except ConversionError:
        return obj


def _as_v1(obj: JSONObject, version: str | None, kind: str) -> JSONObject:
    """Decode an object, and convert it if it is of Dynamic Resource Allocation."""
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        message = f"{kind} without metadata"
        raise MalformedError(message)
    served = find(version or _version_of(kind), kind)
    if served is None:
        return obj
    obj = _vouched({**obj, "apiVersion": version or _version_of(kind)})
    try:
        known = to_v1(obj)
    except ConversionError as error:
        message = f"{kind} {name_of(obj)}: {version} has nothing in common with later versions, so it cannot be used"
        raise MalformedError(message) from error
    return with_defaults(known) if kind in CLAIMS else known


def _version_of(kind: str) -> str:
    """Return the version that an object without ``apiVersion`` has: the newest of its kind."""
    group = KINDS[kind]
    known = (name for name, version in VERSIONS.items() if kind in version.kinds)
    return next(known, f"{group}/v1" if group else "v1")


def _vouched(obj: JSONObject) -> JSONObject:
    """Return an object without what is null, which means nothing.

    Raises:
        MalformedError: No API server would have stored it; what a later release added is of no concern.
    """
    obj = without_nulls(obj)
    if (problem := _refused(obj, None)) and _refused(obj, _STORED_BY):
        message = f"{obj['kind']} {name_of(obj)}: {problem.path}: {problem.message}"
        raise MalformedError(message)
    return obj


_STORED_BY: Final = "1.36"
"""A release whose objects are used, too, where a later one has become stricter."""


def _refused(obj: JSONObject, kubernetes: str | None) -> Problem | None:
    for problem in judge_admitted(obj, kubernetes=kubernetes):
        # Pods need more than is looked at here, and a status is the cluster's own.
        is_of_shape = problem.reason == BAD_REQUEST
        if problem.level == ERROR and (is_of_shape or (KINDS[obj["kind"]] == DRA and problem.path[:1] == ("spec",))):
            return problem
    return None


def without_nulls(value: Any) -> Any:
    """Return a JSON value without what is null in its objects, which means nothing there."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [{} if each is None else without_nulls(each) for each in value]
    return value
