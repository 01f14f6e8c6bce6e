"""Matches a request against the resource rules of a policy or binding.

Follows apiserver ``pkg/admission/plugin/policy/matching/matching.go`` and ``plugin/webhook/predicates``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from webhook.objects import labels_of
from webhook.policy.evaluation.request import CREATE, NAMESPACES, UPDATE, Request
from webhook.policy.manifest.kinds import Kind, Kinds, Resource
from webhook.policy.manifest.model import has
from webhook.policy.manifest.versions import GROUP
from webhook.records import NamedTuple

if TYPE_CHECKING:
    from webhook.policy.manifest.model import MatchResources, Rule

    NamespaceLabels = Callable[[str], Mapping[str, Any]]

_NEVER_JUDGED: Final = {
    GROUP: frozenset(
        {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}
        | {"validatingadmissionpolicies", "validatingadmissionpolicybindings"}
    ),
    "authentication.k8s.io": frozenset({"selfsubjectreviews", "tokenreviews"}),
    "authorization.k8s.io": frozenset(
        {"localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"}
    ),
}
"""Resources that no policy applies to.

Source: apiserver ``policy/generic/plugin.go``, kubernetes ``pkg/kubeapiserver/admission/exclusion/resources.go``.
"""


class Matched(NamedTuple):
    """The version of the resource, and its kind, in which a policy wants to see the object."""

    resource: Resource
    kind: Kind


def is_exempt(request: Request) -> bool:
    """Tell whether no policy applies to the request's resource: policies never judge policies."""
    return request.resource.resource in _NEVER_JUDGED.get(request.resource.group, ())


def match(
    criteria: MatchResources, request: Request, kinds: Kinds, namespace_labels: NamespaceLabels
) -> Matched | None:
    """Return the version in which a policy or binding matches a request; None if it does not match."""
    if criteria.named is not None and (request.resource.group, request.resource.resource) not in criteria.named:
        return None
    if not _namespace_matches(criteria, request, namespace_labels):
        return None
    selector = criteria.objects
    if not selector.is_empty and not any(
        obj is not None and selector.matches(labels_of(obj)) for obj in (request.object, request.old_object)
    ):
        return None
    if _first(criteria.exclude, request, kinds, is_exact=criteria.is_exact):
        return None
    if not criteria.rules:
        return Matched(request.resource, request.kind)
    return _first(criteria.rules, request, kinds, is_exact=criteria.is_exact)


def _namespace_matches(criteria: MatchResources, request: Request, namespace_labels: NamespaceLabels) -> bool:
    if criteria.namespaces.is_empty:
        return True
    is_namespace = request.resource.resource == "namespaces"
    if not request.namespace and not is_namespace:
        return True  # cluster-scoped objects are never exempt by a namespace's labels
    if is_namespace and not request.subresource and request.operation in {CREATE, UPDATE}:
        return criteria.namespaces.matches(labels_of(request.object))
    return criteria.namespaces.matches(namespace_labels(request.namespace))


def _first(rules: tuple[Rule, ...], request: Request, kinds: Kinds, *, is_exact: bool) -> Matched | None:
    for rule in rules:
        if _rule_matches(rule, request, request.resource):
            return Matched(request.resource, request.kind)
    equivalents = () if is_exact else kinds.equivalents(request.resource)
    for rule in rules if equivalents else ():
        for resource in equivalents:
            if _rule_matches(rule, request, resource) and (kind := kinds.kind_of(resource)):
                return Matched(resource, kind)
    return None


def _rule_matches(rule: Rule, request: Request, resource: Resource) -> bool:
    return (
        has(rule.groups, resource.group)
        and has(rule.operations, request.operation)
        and has(rule.versions, resource.version)
        and _scope_matches(rule.scope, request, resource)
        and any(
            name in {"*", resource.resource} and subresource in {"*", request.subresource}
            for name, subresource in rule.resources
        )
        and (not rule.names or request.name in rule.names)
    )


def _scope_matches(scope: str, request: Request, resource: Resource) -> bool:
    is_clusterwide = not request.namespace or resource == NAMESPACES
    return scope == "*" or is_clusterwide == (scope == "Cluster")
