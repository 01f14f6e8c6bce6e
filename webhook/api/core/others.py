"""Kinds that only policies read."""

from __future__ import annotations

from webhook.api.core.meta import Object
from webhook.api.core.unjudged import (
    OPTIONAL_BOOL,
    STRING,
    STRING_MAP,
    STRINGS,
    TIME,
    WRITTEN,
    LocalObjectReference,
    ObjectReference,
    PersistentVolumeClaimSpec,
    many,
    struct,
)
from webhook.api.core.values import Bytes, alike
from webhook.schema import Anything, Map, Nested

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final


class ConfigMap(Object):
    """Data for pods."""

    immutable = OPTIONAL_BOOL
    data = STRING_MAP
    binaryData = Map(Bytes())


class Secret(Object):
    """Confidential data for pods."""

    immutable = OPTIONAL_BOOL
    data = Map(Bytes())
    stringData = STRING_MAP
    type = STRING


class ServiceAccount(Object):
    """The identity of pods."""

    secrets = many(ObjectReference, "name")
    imagePullSecrets = many(LocalObjectReference)
    automountServiceAccountToken = OPTIONAL_BOOL


NamespaceCondition = struct(
    "NamespaceCondition", lastTransitionTime=TIME, **alike(WRITTEN, "type status"), **alike(STRING, "reason message")
)


class Namespace(Object):
    """A scope for objects, with labels that policies read."""

    namespaced = False

    spec = Nested(struct("NamespaceSpec", finalizers=STRINGS))
    status = Nested(struct("NamespaceStatus", phase=STRING, conditions=many(NamespaceCondition, "type")))


class PersistentVolumeClaim(Object):
    """A request for storage."""

    spec = Nested(PersistentVolumeClaimSpec)
    status = Anything()


KINDS: Final[Mapping[str, type[Object]]] = {
    each.__name__: each for each in (ConfigMap, Secret, ServiceAccount, Namespace, PersistentVolumeClaim)
}
"""The kinds of the core group, in v1, that policies read and that are not judged."""
