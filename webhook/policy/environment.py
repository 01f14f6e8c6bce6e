"""What the expressions of policies can use: the object, the request, the namespace, parameters, the authorizer.

Follows apiserver ``pkg/admission/plugin/cel/compile.go`` (BuildRequestType, BuildNamespaceType, mustBuildEnvs).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from webhook.cel import Environment, Library, Options, StructType
from webhook.cel.types import BOOL, DYN, INT, STRING, TIMESTAMP, Type, list_of, map_of, struct

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLES: Final = struct("kubernetes.variables")
OBJECT: Final = struct("Object")
JSON_PATCH: Final = struct("JSONPatch")

_KIND: Final = struct("kubernetes.GroupVersionKind")
_RESOURCE: Final = struct("kubernetes.GroupVersionResource")
_USER: Final = struct("kubernetes.UserInfo")
_REQUEST: Final = struct("kubernetes.AdmissionRequest")
_NAMESPACE: Final = struct("kubernetes.Namespace")
_NAMESPACE_METADATA: Final = struct("kubernetes.NamespaceMetadata")
_NAMESPACE_SPEC: Final = struct("kubernetes.NamespaceSpec")
_NAMESPACE_STATUS: Final = struct("kubernetes.NamespaceStatus")
_NAMESPACE_CONDITION: Final = struct("kubernetes.NamespaceCondition")

_TEXTS: Final = list_of(STRING)
_LABELS: Final = map_of(STRING, STRING)

STRUCTS: Final[Mapping[Type, Mapping[str, Type]]] = {
    _KIND: dict.fromkeys(("group", "version", "kind"), STRING),
    _RESOURCE: dict.fromkeys(("group", "version", "resource"), STRING),
    _USER: {"username": STRING, "uid": STRING, "groups": _TEXTS, "extra": map_of(STRING, _TEXTS)},
    _REQUEST: {
        **dict.fromkeys(("subResource", "requestSubResource", "name", "namespace", "operation"), STRING),
        **dict.fromkeys(("kind", "requestKind"), _KIND),
        **dict.fromkeys(("resource", "requestResource"), _RESOURCE),
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
    _NAMESPACE: {"metadata": _NAMESPACE_METADATA, "spec": _NAMESPACE_SPEC, "status": _NAMESPACE_STATUS},
    _NAMESPACE_METADATA: {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), STRING),
        **dict.fromkeys(("labels", "annotations"), _LABELS),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TIMESTAMP),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        "finalizers": _TEXTS,
    },
    _NAMESPACE_SPEC: {"finalizers": _TEXTS},
    _NAMESPACE_STATUS: {"conditions": list_of(_NAMESPACE_CONDITION), "phase": STRING},
    _NAMESPACE_CONDITION: {
        **dict.fromkeys(("status", "type", "message", "reason"), STRING),
        "lastTransitionTime": TIMESTAMP,
    },
}

ADMISSION: Final = Library(
    "admission",
    structs=tuple(StructType(type_, fields) for type_, fields in STRUCTS.items()),
    variables={"object": DYN, "oldObject": DYN, "request": _REQUEST, "namespaceObject": _NAMESPACE},
)


@lru_cache(maxsize=64)
def base(release: int, *, params: bool, authorizer: bool, patches: bool) -> Environment:
    """Make the environment of expressions that use no variables.

    Args:
        release: The Kubernetes release, as the minor of 1.x.
        params: Whether there are parameters.
        authorizer: Whether they may ask what the user may do.
        patches: Whether they may make objects and patches.
    """
    environment = Environment([ADMISSION], options=Options(homogeneous_literals=True, presence_test_cost=0))
    if params:
        environment = environment.extend(variables={"params": DYN})
    return environment
