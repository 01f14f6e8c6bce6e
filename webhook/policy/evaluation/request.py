"""An admission request, as policies see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from webhook.objects import JSONObject, mapping, metadata_of, plain, text
from webhook.policy.manifest.kinds import GroupVersionKind, Kinds, Resource, kind_in

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"
_POD: Final = GroupVersionKind("", "v1", "Pod")
DEFAULT_GRACE_PERIOD: Final = 30
NAMESPACES: Final = Resource("", "v1", "namespaces")
DEFAULT_USER: Final[Mapping[str, Any]] = {
    "username": "kubernetes-admin",
    "groups": ["kubeadm:cluster-admins", "system:authenticated"],
}
"""The default user of a request: the administrator that kubeadm creates."""
SERVICE_ACCOUNT: Final = "system:serviceaccount:"
"""Begins the name of a service account as a user; its namespace and name follow."""


class Request(NamedTuple):
    """One request.

    Args:
        operation: CREATE, UPDATE, DELETE or CONNECT.
        kind: The kind of the object, in the version in which it was sent.
        resource: The resource, in that version.
        subresource: The subresource, empty for the object itself.
        name: The object's name; empty if the API server has not generated it yet.
        namespace: The object's namespace, empty for a cluster-scoped one; a Namespace is in itself.
        object: The object, None for DELETE.
        old_object: The object as it is stored, None for CREATE.
        user: The requesting user: ``username``, ``uid``, ``groups``, ``extra``.
        dry_run: Whether nothing will be stored.
        options: The CreateOptions, UpdateOptions or DeleteOptions.
    """

    operation: str
    kind: GroupVersionKind
    resource: Resource
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    object: JSONObject | None = None
    old_object: JSONObject | None = None
    user: Mapping[str, Any] = DEFAULT_USER
    dry_run: bool = False
    options: Mapping[str, Any] | None = None

    @property
    def is_namespace(self) -> bool:
        """Whether the request is about a Namespace."""
        return self.resource == NAMESPACES

    @property
    def shown_name(self) -> str:
        """The object's name as refusals state it (apiserver ``pkg/admission/errors.go``)."""
        if self.name:
            return self.name
        metadata = metadata_of(self.object)
        return text(metadata, "name") or text(metadata, "generateName") or "Unknown"


def in_namespace(request: Request) -> Request:
    """Return a request whose objects state its namespace, as the API server ensures before admission.

    Follows apiserver ``pkg/registry/rest/meta.go`` (EnsureObjectNamespaceMatchesRequestNamespace).
    """
    if not request.namespace or request.is_namespace:
        return request
    obj, old = (each and placed(each, request.namespace) for each in (request.object, request.old_object))
    return request._replace(object=obj, old_object=old)


def placed(obj: JSONObject, namespace: str) -> JSONObject:
    """Return an object with a namespace, if it states none."""
    metadata = metadata_of(obj)
    if not metadata or metadata.get("namespace"):
        return obj
    return obj | {"metadata": {**metadata, "namespace": namespace}}


def as_stated(obj: JSONObject | None, submitted: JSONObject | None) -> JSONObject | None:
    """Return an object without a namespace that comes only from its request, and with its submitted managers.

    Args:
        obj: The object after admission.
        submitted: The object as it was submitted.
    """
    before = metadata_of(submitted)
    if obj is None or not before:
        return obj
    of_server = {"managedFields"} if before.get("namespace") else {"managedFields", "namespace"}
    metadata = {name: value for name, value in metadata_of(obj).items() if name not in of_server}
    return {**obj, "metadata": metadata | {name: before[name] for name in before if name in of_server}}


def request_of(
    obj: JSONObject | None,
    old: JSONObject | None = None,
    *,
    kinds: Kinds,
    operation: str = "",
    subresource: str = "",
    user: Mapping[str, Any] | None = None,
    namespace: str = "default",
    resource: Resource | None = None,
) -> Request:
    """Make the request that a manifest stands for.

    Args:
        obj: The object; None to delete ``old``.
        old: The object as it is stored.
        operation: CREATE, UPDATE, DELETE or CONNECT; if empty, inferred from the objects.
        namespace: The namespace of a namespaced object that states none.
        resource: The resource whose subresource the object is sent to; None for that of its kind.
    """
    obj, old, user, namespace = plain(obj), plain(old), plain(user), plain(namespace)
    shown = obj if obj is not None else old or {}
    operation = plain(operation) or (CREATE if old is None else DELETE if obj is None else UPDATE)
    if operation == DELETE:
        obj, old = None, old if old is not None else obj
    if operation == CREATE:
        old = None
    kind = kind_in(shown)
    metadata = metadata_of(shown)
    name, stated = text(metadata, "name"), text(metadata, "namespace")
    holder = kinds.kind_of(resource) if resource else None
    namespaced = kinds.is_namespaced(holder or kind)
    if kind == GroupVersionKind("", "v1", "Namespace"):
        stated = name
    elif namespaced is False:
        stated = ""
    elif namespaced and not stated:
        stated = namespace
    return Request(
        operation=operation,
        kind=kind,
        resource=resource or kinds.resource_of(kind),
        subresource=plain(subresource),
        name=name,
        namespace=stated,
        object=obj,
        old_object=old,
        user=user or DEFAULT_USER,
        options=_options(operation, kind, old or {}),
    )


def _options(operation: str, kind: GroupVersionKind, old: JSONObject) -> JSONObject | None:
    kinds = {CREATE: "CreateOptions", UPDATE: "UpdateOptions", DELETE: "DeleteOptions"}
    if operation not in kinds:
        return None
    options: JSONObject = {"kind": kinds[operation], "apiVersion": "meta.k8s.io/v1"}
    if operation == DELETE and kind == _POD:
        options["gracePeriodSeconds"] = _grace_period(old)
    return options


def _grace_period(pod: JSONObject) -> int:
    """Return the seconds that a deleted pod may take to stop (``core/pod/strategy.go``, CheckGracefulDelete)."""
    if not text(pod, "spec", "nodeName") or text(pod, "status", "phase") in {"Failed", "Succeeded"}:
        return 0
    period = mapping(pod, "spec").get("terminationGracePeriodSeconds")
    if not isinstance(period, int):
        return DEFAULT_GRACE_PERIOD
    return period if period >= 0 else 1


def request_of_review(request: Mapping[str, Any]) -> Request:
    """Make a request from that of an AdmissionReview (``admission.k8s.io/v1``).

    Args:
        request: The review's ``request``; null counts as absent.
    """
    get = request.get
    kind, resource = _part(request, "requestKind", "kind"), _part(request, "requestResource", "resource")
    obj, old, user, options = get("object"), get("oldObject"), get("userInfo"), get("options")
    of_kind, of_resource = kind.get, resource.get
    return Request(  # by position, and without paths: two microseconds less
        _text(get("operation")),
        GroupVersionKind(_text(of_kind("group")), _text(of_kind("version")), _text(of_kind("kind"))),
        Resource(_text(of_resource("group")), _text(of_resource("version")), _text(of_resource("resource"))),
        _text(get("requestSubResource")) or _text(get("subResource")),
        _text(get("name")),
        _text(get("namespace")),
        obj if isinstance(obj, dict) else None,
        old if isinstance(old, dict) else None,
        user if isinstance(user, dict) else {},
        get("dryRun") is True,
        options if isinstance(options, dict) else None,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _part(request: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return the first field that is present; the kind as requested comes before the kind as registered."""
    return next((value for name in names if isinstance(value := request.get(name), dict)), {})
