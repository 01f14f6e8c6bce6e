"""Policies with their bindings, the objects that they read, and the plans by which they are evaluated.

Policies are planned once for every place: an operation on a resource. If the place alone decides, a plan lists policies
with their bindings and parameters. If names, labels or namespaces matter, too, it lists the policies that may match,
and each request is matched against them.

Follows apiserver ``pkg/admission/plugin/policy/matching/matching.go``, ``plugin/webhook/predicates`` and, for
parameters, ``pkg/admission/plugin/policy/generic/policy_dispatcher.go`` (CollectParams).

Objects are decoded as the API server does: known kinds and those of CustomResourceDefinitions with all their fields; of
Kubernetes' remaining kinds, only the metadata is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeVar

from webhook.api import conversion, judgement
from webhook.api.versions import type_of
from webhook.later import cached_property
from webhook.objects import DEFAULT_NAMESPACE, JSONObject, labels_of, metadata_of, name_of, namespace_of, plain, text
from webhook.policy.evaluation.request import CREATE, DELETE, NAMESPACES, UPDATE, Request, placed
from webhook.policy.evaluation.verdict import PolicyDecision
from webhook.policy.manifest.kinds import GroupVersionKind, Kinds, Resource, guess_resource, kind_in
from webhook.policy.manifest.model import (
    MUTATING,
    VALIDATING,
    Binding,
    Given,
    MatchResources,
    ParamRef,
    Policy,
    ResourceRule,
    has,
    selects,
)
from webhook.policy.manifest.policies import GROUP, KINDS
from webhook.problem import ERROR, Problem, quoted
from webhook.release import Release
from webhook.schema.decoding import UNKNOWN_FIELD

NamespaceLabels = Callable[[str], Mapping[str, Any]]
RequestPlace = tuple[Resource, GroupVersionKind, str, str, bool]
Plan = tuple["Candidate", ...]
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def undecodable(obj: JSONObject, kinds: Kinds) -> list[Problem]:
    """List why the API server cannot decode an object; no policy is asked about such an object.

    Args:
        obj: The object as submitted.
    """
    api_version, kind = text(obj, "apiVersion"), kind_in(obj)
    if not api_version or not kind.kind:
        return []
    if served := kinds.unserved(kind):
        from webhook.api.unserved import not_served  # most objects are served

        return [not_served(api_version, kind.kind, f"its CustomResourceDefinition serves {', '.join(served)}")]
    custom = kinds.custom(kind)
    if not custom and not kinds.has_group(kind.group):
        return []
    found = judgement.undecodable(obj, kinds.release)
    if type_of(api_version, kind.kind):
        return found
    known = [each for each in found if each.rule != UNKNOWN_FIELD or (custom and each.path[:1] == ("metadata",))]
    return [*known, *custom.unknown_fields(obj)] if custom else known


def decoded(obj: JSONObject, kinds: Kinds) -> JSONObject:
    """Return an object as the API server decodes it: with defaults, without null; the object itself is not changed.

    Args:
        obj: The object as submitted, which can be decoded.
    """
    if custom := kinds.custom(kind_in(obj)):
        return custom.completed(obj, kinds.release)
    return conversion.with_defaults(obj, kinds.release)


def stored(obj: JSONObject, kinds: Kinds) -> JSONObject | None:
    """Return an object as it is stored once a client creates it; None if the API server refuses it.

    Args:
        obj: The object as submitted.
    """
    if custom := kinds.custom(kind_in(obj)):
        return custom.stored(obj, kinds.release)
    return None if undecodable(obj, kinds) else decoded(obj, kinds)


NAMESPACE: Final = GroupVersionKind("", "v1", "Namespace")
_ACTIVE: Final = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "spec": {"finalizers": ["kubernetes"]},
    "status": {"phase": "Active"},
}
"""The fields that the API server adds to every namespace."""
_NAME_LABEL: Final = "kubernetes.io/metadata.name"


def stored_in(namespace: str, obj: JSONObject, kind: GroupVersionKind, kinds: Kinds) -> JSONObject:
    """Return an object with its namespace, as kubectl would have created it.

    Args:
        namespace: The namespace of an object that states none.
    """
    return placed(obj, namespace) if kinds.is_namespaced(kind) else obj


_NEVER_JUDGED: Final = {
    GROUP: frozenset(map(guess_resource, KINDS)),
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
    kind: GroupVersionKind


def match(criteria: MatchResources, request: Request, kinds: Kinds, labels: NamespaceLabels) -> Matched | None:
    """Return the version in which a policy or binding matches a request; None if it does not match."""
    if criteria.named is not None and (request.resource.group, request.resource.resource) not in criteria.named:
        return None
    if not _namespace_matches(criteria, request, labels):
        return None
    objects = (each for each in (request.object, request.old_object) if each is not None)
    if criteria.objects and not any(selects(criteria.objects, labels_of(each)) for each in objects):
        return None
    if _first(criteria.exclude, request, kinds, is_exact=criteria.is_exact):
        return None
    if criteria.rules:
        return _first(criteria.rules, request, kinds, is_exact=criteria.is_exact)
    return Matched(request.resource, request.kind)


def _namespace_matches(criteria: MatchResources, request: Request, labels: NamespaceLabels) -> bool:
    if not criteria.namespaces:
        return True
    is_namespace = request.resource.resource == "namespaces"
    if not request.namespace and not is_namespace:
        return True  # cluster-scoped objects are never exempt by a namespace's labels
    if is_namespace and not request.subresource and request.operation in {CREATE, UPDATE}:
        return selects(criteria.namespaces, labels_of(request.object))
    return selects(criteria.namespaces, labels(request.namespace))


def _first(rules: tuple[ResourceRule, ...], request: Request, kinds: Kinds, *, is_exact: bool) -> Matched | None:
    for rule in rules:
        if _rule_matches(rule, request, request.resource):
            return Matched(request.resource, request.kind)
    equivalents = () if is_exact else kinds.equivalents.get(request.resource, ())
    for rule in rules if equivalents else ():
        for resource in equivalents:
            if _rule_matches(rule, request, resource) and (kind := kinds.kind_of(resource)):
                return Matched(resource, kind)
    return None


def _rule_matches(rule: ResourceRule, request: Request, resource: Resource) -> bool:
    is_clusterwide = not request.namespace or resource == NAMESPACES
    return (
        has(rule.groups, resource.group)
        and has(rule.operations, request.operation)
        and has(rule.versions, resource.version)
        and (rule.scope == "*" or is_clusterwide == (rule.scope == "Cluster"))
        and any(
            name in {"*", resource.resource} and subresource in {"*", request.subresource}
            for name, subresource in rule.resources
        )
        and (not rule.names or request.name in rule.names)
    )


def _found(kind: GroupVersionKind, ref: ParamRef, namespace: str, objects: PolicySet) -> Iterator[JSONObject]:
    for name, each in objects.find(kind, namespace):
        if name == ref.name if ref.selector is None else selects(ref.selector, labels_of(each)):
            yield each


def _missing(kind: GroupVersionKind, ref: ParamRef, namespace: str, objects: PolicySet) -> str:
    """Name the object that a binding refers to, and the namespaces that have one of this name."""
    wanted = f"the {kind.kind} {quoted(ref.name)} ({kind.api_version})"
    if ref.selector is not None:
        wanted = f"a {kind.kind} ({kind.api_version}) with the labels that the selector asks for"
    if not namespace:
        return wanted
    elsewhere = _found(kind, ref, "", objects)
    others = sorted(set(map(namespace_of, elsewhere)))
    there = f"; there is one in {' and '.join(map(quoted, others))}" if others else ""
    return f"{wanted} in the namespace {quoted(namespace)}{there}"


_MAX_PLACES: Final = 500
"""More places than a cluster has; requests with made-up places must not fill the memory."""
_MAX_PLACE: Final = 1000
"""The maximum characters of a place: longer than in any cluster, where names have at most 253, and most of them 63."""


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """A policy that has bindings."""

    policy: Policy
    bindings: tuple[Binding, ...]

    def passed(self, binding: Binding, params: JSONObject | None) -> tuple[PolicyDecision, ...]:
        """Return the policy's decisions if all its validations hold."""
        stated = (validation.expression for validation in self.policy.validations)
        return tuple(
            PolicyDecision(self.policy, binding, denied=False, path=each.path, params=params) for each in stated
        )


class Invocation(NamedTuple):
    """A policy to evaluate with a binding and parameters, or the reason why it cannot be.

    Args:
        binding: The binding; None if the policy itself is at fault.
        matched: The version in which the policy sees the object.
        passed: The policy's decisions if all its validations hold.
        fault: Why it cannot be evaluated, in the API server's words.
        missing: The object that would have to be given; empty if none would help.
    """

    hook: Hook
    binding: Binding | None
    matched: Matched
    params: JSONObject | None = None
    passed: tuple[PolicyDecision, ...] = ()
    fault: str = ""
    missing: str = ""

    def decision(self, *, denied: bool, **facts: Any) -> PolicyDecision:
        """Return a decision of the policy."""
        return PolicyDecision(self.hook.policy, self.binding, denied, params=self.params, **facts)

    def unconfigured(self, fault: str, **facts: Any) -> PolicyDecision:
        """Return the decision that the policy or the binding cannot be evaluated."""
        message = f"failed to configure {'binding' if self.binding else 'policy'}: {fault}"
        is_of_binding = self.binding is not None
        return self.failed(message, refuses=True, missing=self.missing, is_of_binding=is_of_binding, **facts)

    def failed(self, message: str, **facts: Any) -> PolicyDecision:
        """Return the decision that the evaluation failed, which the failure policy makes."""
        denied = not self.hook.policy.fails_open
        return self.decision(denied=denied, is_error=True, message=message, **facts)


class Candidate(NamedTuple):
    """A policy that may match a request.

    Args:
        matched: The version in which it sees the object; None if that depends on the request.
        settled: Its evaluations if they are the same for all requests in the place.
    """

    hook: Hook
    matched: Matched | None = None
    settled: tuple[Invocation, ...] = ()

    @property
    def is_about_namespaces(self) -> bool:
        """Whether its match depends on nothing but the namespace and the place."""
        matches = (self.hook.policy.match, *(binding.match for binding in self.hook.bindings))
        return all(match is None or match.is_about_namespaces for match in matches)

    def invocations(self, request: Request, objects: PolicySet, labels: NamespaceLabels) -> Iterable[Invocation]:
        """List its evaluations for a request; `labels` returns the labels of a namespace, given by name."""
        return self.settled or self._invocations(request, objects, labels)

    def _invocations(self, request: Request, objects: PolicySet, labels: NamespaceLabels) -> Iterator[Invocation]:
        hook = self.hook
        matched = self.matched or match(hook.policy.match, request, objects.kinds, labels)
        if matched is None:
            return
        if (kind := hook.policy.param_kind) and objects.is_namespaced(kind) is None:
            missing = f"the CustomResourceDefinition of {kind.kind} ({kind.api_version}), or such an object"
            fault = f"failed to find resource referenced by paramKind: '{kind}'"
            yield Invocation(hook, None, matched, fault=fault, missing=missing)
            return
        for binding in hook.bindings:
            if not binding.match or match(binding.match, request, objects.kinds, labels):
                yield from _with_params(Invocation(hook, binding, matched), binding, request.namespace, objects)


def _with_params(invocation: Invocation, binding: Binding, namespace: str, objects: PolicySet) -> Iterator[Invocation]:
    """Yield an evaluation with each of its parameters, or with the reason why they do not exist, or cannot exist."""
    kind, ref = invocation.hook.policy.param_kind, binding.param_ref
    if kind is None or ref is None:
        yield invocation._replace(passed=invocation.hook.passed(binding, None))
        return
    is_namespaced = objects.is_namespaced(kind)
    where = (ref.namespace or namespace) if is_namespaced else ""
    if is_namespaced and not where:
        fault = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        yield invocation._replace(fault=fault)
    elif ref.namespace and not is_namespaced:
        yield invocation._replace(fault="paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    elif not (found := [*_found(kind, ref, where, objects)]) and ref.denies_missing:
        fault = "no params found for policy binding with `Deny` parameterNotFoundAction"
        yield invocation._replace(fault=fault, missing=_missing(kind, ref, where, objects))
    else:
        for params in found[:1] if ref.selector is None else found:
            yield invocation._replace(params=params, passed=invocation.hook.passed(binding, params))


def _planned(hooks: Iterable[Hook], request: Request, objects: PolicySet) -> Iterator[Candidate]:
    if request.resource.resource in _NEVER_JUDGED.get(request.resource.group, ()):
        return
    pair = request.resource.group, request.resource.resource
    for hook in hooks:
        criteria = hook.policy.match
        if criteria.named is not None and pair not in criteria.named:
            continue
        if not criteria.is_about_places:
            yield Candidate(hook)
        elif matched := match(criteria, request, objects.kinds, objects.namespace_labels):
            candidate = Candidate(hook, matched)
            if not all(_is_about_places(hook.policy, binding, objects) for binding in hook.bindings):
                yield candidate
            elif settled := tuple(candidate.invocations(request, objects, objects.namespace_labels)):
                yield candidate._replace(settled=settled)


def _is_about_places(policy: Policy, binding: Binding, objects: PolicySet) -> bool:
    """Tell whether a binding matches all requests in one place or none, with the same parameters."""
    if binding.match and not binding.match.is_about_places:
        return False
    kind, ref = policy.param_kind, binding.param_ref
    return kind is None or ref is None or bool(ref.namespace) or not objects.is_namespaced(kind)


def keep(known: dict[_Key, _Value], place: _Key, found: _Value, length: int) -> None:
    """Cache a value for a place, unless the place is too long, in characters, to be real."""
    if length <= _MAX_PLACE:
        if len(known) >= _MAX_PLACES:
            del known[next(iter(known))]  # the oldest: others stay, and memory stays level
        known[place] = found


class PolicyFinding(NamedTuple):
    """A problem of a policy, a binding or an object that they read, and which one it is."""

    given: Given
    problem: Problem


@dataclass(frozen=True, eq=False, kw_only=True)
class PolicySet:
    """Policies with their bindings, in the order in which they were given, and the objects that they read.

    Args:
        objects: The objects, by kind.
        validating: Validating policies that have bindings.
        mutating: Mutating policies that have bindings.
        policies: All policies, including those without a binding.
        findings: Problems of policies and bindings; those with an error are not in the set.
    """

    kinds: Kinds
    objects: Mapping[GroupVersionKind, tuple[JSONObject, ...]] = field(default_factory=dict)
    release: Release
    validating: tuple[Hook, ...]
    mutating: tuple[Hook, ...]
    policies: tuple[Policy, ...]
    findings: tuple[PolicyFinding, ...]
    _plans: Mapping[str, dict[RequestPlace, Plan]] = field(
        init=False, default_factory=lambda: {VALIDATING: {}, MUTATING: {}}
    )
    _stored: dict[GroupVersionKind, tuple[JSONObject, ...]] = field(init=False, default_factory=dict)

    @cached_property
    def _namespaces(self) -> Mapping[str, JSONObject]:
        """The namespaces by name: each request looks for one, and a cluster may have thousands."""
        return {name: each for each in reversed(self.objects.get(NAMESPACE, ())) if (name := name_of(each))}

    def plan(self, kind: str, request: Request) -> Plan:
        """Return the evaluations of the policies of a kind for a request, in their order."""
        place = request.resource, request.kind, request.operation, request.subresource, not request.namespace
        found = self._plans[kind].get(place)
        if found is None:
            # Mutating policies apply to no DELETE (apiserver pkg/admission/plugin/policy/mutating/plugin.go).
            hooks = self.validating if kind == VALIDATING else () if request.operation == DELETE else self.mutating
            found = tuple(_planned(hooks, request, self))
            parts = (*request.resource, *request.kind, request.operation, request.subresource)
            keep(self._plans[kind], place, found, sum(map(len, parts)))
        return found

    def prepare(self) -> None:
        """Compile all expressions now instead of on first use."""
        for hook in (*self.validating, *self.mutating):
            hook.policy.prepare()

    @property
    def errors(self) -> list[PolicyFinding]:
        """The findings for which the API server would refuse a policy, a binding or an object that they read."""
        return [finding for finding in self.findings if finding.problem.level == ERROR]

    def beside(self, objects: Sequence[JSONObject], namespace: str = DEFAULT_NAMESPACE) -> PolicySet:
        """Return the same policies with further objects to read; earlier objects take precedence.

        Args:
            namespace: The namespace of those that state none.
        """
        known, kinds = dict(self.objects), self.kinds.beside(objects)
        for each in objects:
            kind = kind_in(each)
            known[kind] = (*known.get(kind, ()), stored_in(plain(namespace), plain(each), kind, kinds))
        return replace(self, objects=known, kinds=kinds)

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

    def find(self, kind: GroupVersionKind, namespace: str) -> Iterator[tuple[str, JSONObject]]:
        """List the objects of a kind, with their names.

        Args:
            namespace: Their namespace; empty for cluster-scoped objects.
        """
        for each in self._all(kind):
            if not namespace or namespace_of(each) == namespace:
                yield name_of(each), each

    def _all(self, kind: GroupVersionKind) -> tuple[JSONObject, ...]:
        """Return the objects of a kind as they are stored, without those that are refused."""
        if kind not in self._stored:
            found = (stored(each, self.kinds) for each in self.objects.get(kind, ()))
            self._stored[kind] = tuple(each for each in found if each is not None)
        return self._stored[kind]

    def is_namespaced(self, kind: GroupVersionKind) -> bool | None:
        """Tell whether a kind is namespaced; None if the kind does not exist."""
        known = self.kinds.find(kind)
        if known is not None:
            return known.namespaced
        objects = self.objects.get(kind)
        return any(text(metadata_of(each), "namespace") for each in objects) if objects else None
