"""Kinds and resources: plural names, scope, versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.api.runtimeconfig import OF_STAGES, is_served, parse
from webhook.api.versions import DEFAULT, NEWEST, VERSIONS, schema_of
from webhook.grouping import by_key
from webhook.later import cached_property
from webhook.objects import is_definition, text
from webhook.release import Release
from webhook.schema.derive.shape import Structure
from webhook.spelling import nearest

if TYPE_CHECKING:
    from webhook.structural.definition import CustomVersion, Definition


class GroupVersionKind(NamedTuple):
    """A kind in one version of its group (GroupVersionKind)."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """The group and version, as objects state them."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        """Spell the kind as the API server does."""
        return f"{self.group}/{self.version}, Kind={self.kind}"


class Resource(NamedTuple):
    """A resource in one version of its group (GroupVersionResource)."""

    group: str
    version: str
    resource: str

    @property
    def qualified(self) -> str:
        """The resource with its group, such as ``resourceclaims.resource.k8s.io``."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


def kind_of(api_version: str, kind: str) -> GroupVersionKind:
    """Make a kind from the ``apiVersion`` and ``kind`` of an object."""
    group, _, version = api_version.rpartition("/")
    return GroupVersionKind(group, version, kind)


def kind_in(obj: object) -> GroupVersionKind:
    """Return the kind that an object states."""
    return kind_of(text(obj, "apiVersion"), text(obj, "kind"))


class Known(NamedTuple):
    """A known kind, in all its versions.

    Args:
        versions: Its versions, the preferred one first, with the first and last Kubernetes 1.x release that serve it.
    """

    group: str
    kind: str
    resource: str
    namespaced: bool
    versions: Mapping[str, tuple[Release, Release]]

    def at(self, version: str) -> GroupVersionKind:
        """Return the kind in one of its versions."""
        return GroupVersionKind(self.group, version, self.kind)


ALWAYS: Final = (Release(0), NEWEST)

_BUILT_IN: Final = """
 v1 n: Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim ResourceQuota Secret Service ServiceAccount
 v1 c: ComponentStatus Namespace Node PersistentVolume
admissionregistration.k8s.io v1 c: MutatingWebhookConfiguration ValidatingWebhookConfiguration
admissionregistration.k8s.io v1:30,v1beta1:28-33,v1alpha1:26-31 c: ValidatingAdmissionPolicy
admissionregistration.k8s.io v1:30,v1beta1:28-33,v1alpha1:26-31 c: ValidatingAdmissionPolicyBinding
admissionregistration.k8s.io v1:36,v1beta1:34,v1alpha1:32 c: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
apiextensions.k8s.io v1 c: CustomResourceDefinition
apiregistration.k8s.io v1 c: APIService
apps v1 n: ControllerRevision
authentication.k8s.io v1 c: TokenReview
authentication.k8s.io v1:28,v1beta1:27-32,v1alpha1:26-31 c: SelfSubjectReview
authorization.k8s.io v1 c: SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview
authorization.k8s.io v1 n: LocalSubjectAccessReview
autoscaling v2,v1 n: HorizontalPodAutoscaler
certificates.k8s.io v1 c: CertificateSigningRequest
certificates.k8s.io v1beta1:33,v1alpha1:26 c: ClusterTrustBundle
certificates.k8s.io v1beta1:35,v1alpha1:34-34 n: PodCertificateRequest
coordination.k8s.io v1 n: Lease
coordination.k8s.io v1beta1:33,v1alpha2:32,v1alpha1:31-31 n: LeaseCandidate
discovery.k8s.io v1 n: EndpointSlice
events.k8s.io v1 n: Event
flowcontrol.apiserver.k8s.io v1:29,v1beta3:26-31,v1beta2:23-28 c: FlowSchema PriorityLevelConfiguration
internal.apiserver.k8s.io v1alpha1 c: StorageVersion
networking.k8s.io v1 c: IngressClass
networking.k8s.io v1 n: Ingress NetworkPolicy
networking.k8s.io v1:33,v1beta1:31,v1alpha1:27-32 c: IPAddress
networking.k8s.io v1:33,v1beta1:31,v1alpha1:29-32 c: ServiceCIDR
networking.k8s.io v1alpha1:25-28 c: ClusterCIDR
node.k8s.io v1 c: RuntimeClass
policy v1 n: PodDisruptionBudget
rbac.authorization.k8s.io v1 c: ClusterRole ClusterRoleBinding
rbac.authorization.k8s.io v1 n: Role RoleBinding
scheduling.k8s.io v1 c: PriorityClass
scheduling.k8s.io v1beta1:37,v1alpha3:37,v1alpha2:36-36,v1alpha1:35-35 n: Workload
scheduling.k8s.io v1alpha3:37 n: CompositePodGroup
storage.k8s.io v1 c: CSIDriver CSINode StorageClass VolumeAttachment
storage.k8s.io v1 n: CSIStorageCapacity
storage.k8s.io v1:34,v1beta1:31,v1alpha1:29-34 c: VolumeAttributesClass
storagemigration.k8s.io v1beta1:35,v1alpha1:30-34 c: StorageVersionMigration
"""
"""The kinds that draguard does not judge: group, versions, scope, names.

A version has the first and the last release that serve it, if not all do; some need a feature gate. The releases follow
``APILifecycleIntroduced`` and ``APILifecycleRemoved`` of k8s.io/api, release by release. Those of DRA are in
``webhook/api/versions.py``.
"""

SUBRESOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("CREATE", "DELETE", "UPDATE"),
    **dict.fromkeys(("attach", "exec", "portforward", "proxy"), ("CONNECT",)),
    **dict.fromkeys(("binding", "eviction", "token"), ("CREATE",)),
    **dict.fromkeys(("approval", "ephemeralcontainers", "finalize", "resize", "scale", "status"), ("UPDATE",)),
    "log": (),
}
"""The subresources of Kubernetes' own resources, and a whole resource, with the operations of requests to them."""
OF_OBJECT: Final = frozenset({"approval", "ephemeralcontainers", "finalize", "resize", "status"})
"""The subresources whose requests hold the object itself; those of others hold another kind, such as a Scale."""
_SENT_TO: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "Binding"): ("pods/binding",),
    ("policy", "Eviction"): ("pods/eviction",),
    ("authentication.k8s.io", "TokenRequest"): ("serviceaccounts/token",),
    ("", "PodAttachOptions"): ("pods/attach",),
    ("", "PodExecOptions"): ("pods/exec",),
    ("", "PodPortForwardOptions"): ("pods/portforward",),
    ("", "PodProxyOptions"): ("pods/proxy",),
    ("", "NodeProxyOptions"): ("nodes/proxy",),
    ("", "ServiceProxyOptions"): ("services/proxy",),
    ("autoscaling", "Scale"): tuple(
        f"{each}/scale" for each in ("deployments", "replicasets", "replicationcontrollers", "statefulsets")
    ),
}
"""The subresources to which objects of a kind are sent, by group and kind. Custom resources may have a Scale, too."""

_UNCHANGED: Final = frozenset({"endpoints", "resourceclaimparameters", "resourceclassparameters"})
"""Resources whose name is the kind in lower case, without a plural ending."""

_COHABITANTS: Final = {("events.k8s.io", "events"): ("", "events")}
"""Resources of several groups that are stored as one, so that they are versions of each other.

Source: kubernetes ``pkg/kubeapiserver/default_storage_factory_builder.go`` (AddCohabitatingResources), apiserver
``pkg/server/config.go`` (EquivalentResourceRegistry). The other pairs are of ``extensions``, which 1.21 served last.
"""


def served_as(group: str, resource: str) -> frozenset[tuple[str, str]]:
    """List all groups and names under which the API server serves a resource, including its own."""
    pair = group, resource
    stored = _COHABITANTS.get(pair, pair)
    return frozenset({stored, *(each for each, other in _COHABITANTS.items() if other == stored)})


def guess_resource(kind: str) -> str:
    """Guess the name of a kind's resource (apimachinery ``pkg/api/meta/restmapper.go``)."""
    name = kind.lower()
    if name in _UNCHANGED or not name:
        return name
    if name[-1] == "s":
        return f"{name}es"
    return f"{name[:-1]}ies" if name[-1] == "y" else f"{name}s"


def built_in() -> Iterator[Known]:
    """List the kinds that draguard does not judge, without importing types."""
    for line in _BUILT_IN.strip("\n").splitlines():
        head, _, kinds = line.partition(": ")
        group, listed, scope = head.split(" ")
        versions = {}
        for each in listed.split(","):
            name, _, releases = each.partition(":")
            since, _, until = releases.partition("-")
            versions[name] = (Release(int(since or 0)), Release(int(until or NEWEST)))
        for kind in kinds.split():
            yield Known(group, kind, guess_resource(kind), scope == "n", versions)


EVERY_VERSION: Final = {OF_STAGES[0]: True}
"""The runtime configuration by which a cluster serves all versions that its release has."""


class Kinds:
    """The known kinds: Kubernetes' own, and those of CustomResourceDefinitions among given objects.

    Args:
        runtime_config: Which API versions the cluster serves, as kube-apiserver takes it; None for the defaults.
    """

    def __init__(
        self,
        release: Release = DEFAULT,
        objects: Iterable[object] = (),
        known: Mapping[tuple[str, str], Known] | None = None,
        defined: Mapping[tuple[str, str], Definition] | None = None,
        runtime_config: Mapping[str, bool] | None = EVERY_VERSION,
    ) -> None:
        self.release, self.runtime_config = release, runtime_config
        self._known = dict(known or _kubernetes_own())
        self._defined = dict(defined or {})
        if definitions := list(filter(is_definition, objects)):
            from webhook.structural.definition import definition_of  # most runs have none

            for each in filter(None, map(definition_of, definitions)):
                new = Known(*each[:4], dict.fromkeys(each.versions, ALWAYS))
                if self._known.setdefault((new.group, new.kind), new) is new:
                    self._defined[new.group, new.kind] = each
        self._by_resource = {(each.group, each.resource): each for each in self._known.values()}
        self._by_group = by_key((each.group, each) for each in self._known.values())

    def beside(self, objects: Iterable[object]) -> Kinds:
        """Return the same kinds, and those that further objects define; earlier definitions take precedence."""
        if not (definitions := list(filter(is_definition, objects))):
            return self
        return Kinds(self.release, definitions, self._known, self._defined, self.runtime_config)

    def at(self, release: Release) -> Kinds:
        """Return the same kinds, as of another release."""
        return Kinds(release, (), self._known, self._defined, self.runtime_config)

    def find(self, kind: GroupVersionKind) -> Known | None:
        """Return a kind that is known and served in this version; otherwise None."""
        known = self._of(kind)
        return known if known and kind.version in self._served(known) else None

    def resource_of(self, kind: GroupVersionKind) -> Resource:
        """Return a kind's resource, by its usual name if the kind is not known."""
        known = self._of(kind)
        return Resource(kind.group, kind.version, known.resource if known else guess_resource(kind.kind))

    def sent_to(self, kind: GroupVersionKind) -> tuple[str, ...]:
        """List the subresources, such as ``pods/exec``, to which objects of a kind are sent; none for most kinds."""
        return _SENT_TO.get((kind.group, kind.kind), ())

    def sent_kind(self, resource: Resource, subresource: str) -> GroupVersionKind | None:
        """Return the kind of the objects that are sent to a subresource; None if that is not known."""
        if subresource in OF_OBJECT:
            return self.kind_of(resource)
        name = "deployments/scale" if subresource == "scale" else f"{resource.resource}/{subresource}"
        sent = (GroupVersionKind(group, "v1", kind) for (group, kind), names in _SENT_TO.items() if name in names)
        return next(sent, None)

    def named(self, text: str) -> Resource | None:
        """Find a resource by its name, ``deployments.apps``, or the first of a name in any group, ``deployments``."""
        name, has_group, group = text.partition(".")
        found = (each for each in self.of_resource(name) if each.group == group or not has_group)
        return next((Resource(each.group, self._served(each)[0], name) for each in found), None)

    def is_custom(self, kind: GroupVersionKind) -> bool:
        """Tell whether a kind is not one of Kubernetes' own."""
        return (kind.group, kind.kind) not in _kubernetes_own()

    def defines(self, group: str) -> bool:
        """Tell whether a CustomResourceDefinition defines a kind of a group."""
        return any(group == defined for defined, _ in self._defined)

    def custom(self, kind: GroupVersionKind) -> CustomVersion | None:
        """Return what a CustomResourceDefinition says of a kind; None if there is none."""
        defined = self._defined.get((kind.group, kind.kind))
        return defined.versions.get(kind.version) if defined else None

    def unserved(self, kind: GroupVersionKind) -> list[str]:
        """List the versions that a CustomResourceDefinition serves of a kind if it does not serve this one."""
        defined = self._defined.get((kind.group, kind.kind))
        return list(defined.versions) if defined and kind.version not in defined.versions else []

    def schema_of(self, kind: GroupVersionKind) -> Structure | None:
        """Return the schema of a kind, as far as merging and type checking need it."""
        custom = self.custom(kind) if self._defined else None
        return custom.structure if custom else schema_of(kind.api_version, kind.kind)

    def is_namespaced(self, kind: GroupVersionKind) -> bool | None:
        """Tell whether a kind is namespaced; None if it is not known."""
        return known.namespaced if (known := self._of(kind)) else None

    def kind_of(self, resource: Resource) -> GroupVersionKind | None:
        """Return the kind of a known resource."""
        known = self._by_resource.get((resource.group, resource.resource))
        return GroupVersionKind(resource.group, resource.version, known.kind) if known else None

    def has_group(self, group: str) -> bool:
        """Tell whether all kinds of a group are known."""
        return group in _names()

    @property
    def groups(self) -> list[str]:
        """The groups of the known kinds."""
        return list(self._by_group)

    def of_group(self, group: str) -> Sequence[Known]:
        """List the known kinds of a group, in any release."""
        return self._by_group.get(group, ())

    def served(self, group: str) -> list[Known]:
        """List the kinds of a group that the release serves."""
        return [each for each in self.of_group(group) if self._served(each)]

    def of_resource(self, name: str) -> list[Known]:
        """List the kinds, of any group, that the release serves as a resource of a name."""
        found = (self._by_resource.get((group, name)) for group in self._by_group)
        return [each for each in found if each and self._served(each)]

    def spans(self, kind: GroupVersionKind) -> Mapping[str, tuple[Release, Release]]:
        """Return all versions of a kind, each with the first and the last release that serve it; none if unknown."""
        return known.versions if (known := self._of(kind)) else {}

    def versions(self, kind: GroupVersionKind | Known) -> list[str]:
        """List the versions in which the release serves a kind, the preferred one first."""
        return self._served(known) if (known := self._of(kind)) else []

    def versions_on(self, kind: GroupVersionKind) -> list[str]:
        """List the versions in which the cluster serves a kind."""
        return self._on(known) if (known := self._of(kind)) else []

    @cached_property
    def equivalents(self) -> Mapping[Resource, tuple[Resource, ...]]:
        """The other versions in which the cluster serves each resource, the preferred one first.

        Those of another group are among them if both are stored as one.
        """
        found = {}
        for known in self._known.values():
            # All resources that the cluster serves for the kind's stored objects, the core group first.
            together = (self._by_resource.get(pair) for pair in sorted(served_as(known.group, known.resource)))
            stored = [Resource(each.group, name, each.resource) for each in together if each for name in self._on(each)]
            for resource in (Resource(known.group, version, known.resource) for version in known.versions):
                found[resource] = tuple(each for each in stored if each != resource)
        return found

    def _of(self, kind: GroupVersionKind | Known) -> Known | None:
        return self._known.get((kind.group, kind.kind))

    def _on(self, known: Known) -> list[str]:
        served, stated = self._served(known), self.runtime_config
        if (known.group, known.kind) in self._defined:
            return served
        names = ((each, known.at(each).api_version) for each in served)
        return [each for each, name in names if is_served(name, known.resource, release=self.release, stated=stated)]

    def _served(self, known: Known) -> list[str]:
        return [name for name, (since, until) in known.versions.items() if since <= self.release <= until]


def meant(api_version: object, kind: object) -> str:
    """Return the kind of a group of Kubernetes' own that an unknown kind misspells; empty if there is none."""
    if not isinstance(api_version, str) or not isinstance(kind, str) or not kind:
        return ""
    own = _names().get(kind_of(api_version, kind).group)
    return nearest(kind, own) if own and kind not in own else ""


def runtime_config_of(texts: Iterable[str]) -> dict[str, bool]:
    """Read values of kube-apiserver's flag ``--runtime-config``, the later ones deciding.

    Raises:
        ValueError: A key or value is malformed, or names an API group or version that Kubernetes does not have.
    """
    stated = {key: on for text in texts for key, on in parse(text).items()}
    for group, version in (key.split("/")[:2] for key in stated):
        versions = versions_of(group)
        if group != "api" and not versions:
            raise ValueError(f"unknown API group {group}")
        if group != "api" and version not in versions:
            raise ValueError(f"group version {group}/{version} is unknown; {group} has {', '.join(versions)}")
    return stated


def versions_of(group: str) -> list[str]:
    """List the versions of a group of Kubernetes' own, in any release; empty if there is no such group."""
    own = (known for known in _kubernetes_own().values() if known.group == group)
    return list(dict.fromkeys(version for known in own for version in known.versions))


@cache
def _names() -> Mapping[str, Sequence[str]]:
    """List the kinds of each group of Kubernetes' own, in any version."""
    return by_key((*_kubernetes_own(), ("", "Config")))  # a kubeconfig looks like Kubernetes' own, too


@cache
def _kubernetes_own() -> Mapping[tuple[str, str], Known]:
    """List the kinds of Kubernetes itself by group and name, those that draguard judges first."""
    known: dict[tuple[str, str], Known] = {}
    for api_version, each in VERSIONS.items():
        group, _, version = api_version.rpartition("/")
        for kind, served in each.kinds.items():
            first = Known(group, kind, guess_resource(kind), served.type.namespaced, {})
            versions = known.setdefault((group, kind), first).versions
            known[group, kind] = first._replace(versions={**versions, version: (served.since, served.until)})
    return known | {(each.group, each.kind): each for each in built_in()}
