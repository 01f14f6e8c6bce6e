"""The objects that policies read: parameters, namespaces, and custom kinds; decoded as the API server does.

Known kinds and those of CustomResourceDefinitions are decoded with all their fields; of Kubernetes' remaining kinds,
only the metadata is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from webhook.api import conversion, judgement
from webhook.api.versions import type_of
from webhook.objects import DEFAULT_NAMESPACE, JSONObject, labels_of, metadata_of, name_of, text
from webhook.policy.manifest.kinds import Kind, Kinds, kind_of
from webhook.problem import ERROR, Path, Problem
from webhook.schema.decoding import UNKNOWN_FIELD


def undecodable(obj: JSONObject, kinds: Kinds) -> list[Problem]:
    """List why the API server cannot decode an object; no policy is asked about such an object.

    Args:
        obj: The object as submitted.
    """
    api_version, kind = text(obj, "apiVersion"), text(obj, "kind")
    if not api_version or not kind:
        return []
    if type_of(api_version, kind):
        return judgement.undecodable(obj, kinds.release)
    if served := kinds.unserved(kind_of(api_version, kind)):
        message = f'no matches for kind "{kind}" in version "{api_version}"'
        hint = f"its CustomResourceDefinition serves {', '.join(served)}"
        return [Problem(ERROR, "not-served", "NotFound", Path(("apiVersion",)), message, hint)]
    if custom := kinds.custom(kind_of(api_version, kind)):
        found = judgement.undecodable(obj, kinds.release)
        of_metadata = [each for each in found if each.rule != UNKNOWN_FIELD or each.path[:1] == ("metadata",)]
        return [*of_metadata, *custom.unknown_fields(obj)]
    if not kinds.has_group(kind_of(api_version, kind).group):
        return []
    found = judgement.undecodable(obj, kinds.release)
    return [problem for problem in found if problem.rule != UNKNOWN_FIELD]


def decoded(obj: JSONObject, kinds: Kinds) -> JSONObject:
    """Return an object as the API server decodes it: with defaults, without null; the object itself is not changed.

    Args:
        obj: The object as submitted, which can be decoded.
    """
    if custom := kinds.custom(kind_of(text(obj, "apiVersion"), text(obj, "kind"))):
        return custom.completed(obj, kinds.release)
    return conversion.with_defaults(obj, kinds.release)


def stored(obj: JSONObject, kinds: Kinds) -> JSONObject | None:
    """Return an object as it is stored once a client creates it; None if the API server refuses it.

    Args:
        obj: The object as submitted.
    """
    if custom := kinds.custom(kind_of(text(obj, "apiVersion"), text(obj, "kind"))):
        return custom.stored(obj, kinds.release)
    return None if undecodable(obj, kinds) else decoded(obj, kinds)


_NAMESPACE_KIND: Final = Kind("", "v1", "Namespace")
_ACTIVE: Final = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}
"""The fields that the API server adds to every namespace."""
_NAME_LABEL: Final = "kubernetes.io/metadata.name"


def stored_in(namespace: str, obj: JSONObject, kind: Kind, kinds: Kinds) -> JSONObject:
    """Return an object with its namespace, as kubectl would have created it.

    Args:
        namespace: The namespace of an object that states none.
    """
    metadata = metadata_of(obj)
    if not metadata or metadata.get("namespace") or not kinds.is_namespaced(kind):
        return obj
    return obj | {"metadata": {**metadata, "namespace": namespace}}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClusterObjects:
    """The objects that policies read.

    Args:
        objects: The objects, by kind.
    """

    kinds: Kinds
    objects: Mapping[Kind, tuple[JSONObject, ...]] = field(default_factory=dict)
    _namespaces: Mapping[str, JSONObject] = field(init=False)
    _stored: dict[Kind, tuple[JSONObject, ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Index the namespaces: each request looks for one, and a cluster may have thousands."""
        found: dict[str, JSONObject] = {}
        for each in self.objects.get(_NAMESPACE_KIND, ()):
            if name := name_of(each):
                found.setdefault(name, each)
        object.__setattr__(self, "_namespaces", found)

    def namespace(self, name: str) -> JSONObject:
        """Return a namespace; a namespace that was not given has no label but its name."""
        given = self._namespaces.get(name)
        given = given and stored(given, self.kinds)
        if given is None:
            return _ACTIVE | {"metadata": {"name": name, "labels": {_NAME_LABEL: name}}}
        labels = {_NAME_LABEL: name} | labels_of(given)
        return _ACTIVE | given | {"metadata": {**metadata_of(given), "labels": labels}}

    def knows_namespace(self, name: str) -> bool:
        """Tell whether a namespace was given."""
        return name in self._namespaces

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """Return a namespace's labels."""
        return labels_of(self.namespace(name))

    def find(self, kind: Kind, namespace: str) -> Iterator[tuple[str, JSONObject]]:
        """List the objects of a kind, with their names.

        Args:
            namespace: Their namespace; empty for cluster-scoped objects.
        """
        for each in self._all(kind):
            metadata = metadata_of(each)
            if not namespace or (text(metadata, "namespace") or DEFAULT_NAMESPACE) == namespace:
                yield text(metadata, "name"), each

    def _all(self, kind: Kind) -> tuple[JSONObject, ...]:
        """Return the objects of a kind as they are stored, without those that are refused."""
        if kind not in self._stored:
            found = (stored(each, self.kinds) for each in self.objects.get(kind, ()))
            self._stored[kind] = tuple(each for each in found if each is not None)
        return self._stored[kind]

    def is_namespaced(self, kind: Kind) -> bool | None:
        """Tell whether a kind is namespaced; None if the kind does not exist."""
        known = self.kinds.find(kind)
        if known is not None:
            return known.namespaced
        objects = self.objects.get(kind)
        return any(text(metadata_of(each), "namespace") for each in objects) if objects else None
