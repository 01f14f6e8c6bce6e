"""Loads policies, bindings and the objects around them into a policy set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from webhook.api.versions import DEFAULT
from webhook.grouping import by_key
from webhook.objects import DEFAULT_NAMESPACE, JSONObject, plain, text
from webhook.policy.change.plugins import READ
from webhook.policy.evaluation.policyset import NAMESPACE, Hook, PolicyFinding, PolicySet, stored_in, undecodable
from webhook.policy.manifest.kinds import EVERY_VERSION, GroupVersionKind, Kinds, Resource, kind_in
from webhook.policy.manifest.model import (
    DENY,
    MUTATING,
    VALIDATING,
    Binding,
    Given,
    Policy,
    binding_of,
    name_of,
    policy_of,
)
from webhook.policy.manifest.policies import is_policy, serving, validate_policy
from webhook.problem import ERROR, WARNING, Path, Problem, quoted
from webhook.release import Release
from webhook.spelling import nearest


def load(
    given: Iterable[Given | JSONObject],
    release: Release = DEFAULT,
    strongest: Callable[[str], str] = lambda _name: DENY,
    *,
    by_cluster: bool = False,
    namespace: str = DEFAULT_NAMESPACE,
    level: str = ERROR,
    runtime_config: Mapping[str, bool] | None = EVERY_VERSION,
) -> PolicySet:
    """Make a policy set from the objects in manifests; never raises.

    Args:
        given: Policies, bindings, and the objects that policies read: parameters, namespaces,
            CustomResourceDefinitions.
        strongest: Returns the strongest action that a policy, given by name, may lead to: Deny, Warn or Audit.
        by_cluster: Whether a cluster of that release evaluates the policies, and so must serve them; if not,
            policies of other releases are used, too.
        namespace: The namespace of objects that state none.
        level: The level of findings about objects that cannot be decoded; those in parameters are errors.
        runtime_config: Which API versions the cluster serves, as kube-apiserver takes it; None for the defaults.
    """
    read = _Read(release, strongest, by_cluster=by_cluster)
    for each in given:
        read.take(each if isinstance(each, Given) else Given(each))
    return read.policy_set(plain(namespace), level, runtime_config)


Name = tuple[str, str]
"""The kind and the name of a policy or binding."""


class _Read:
    """The objects of manifests, sorted: policies, bindings, and the objects that policies read."""

    def __init__(self, release: Release, strongest: Callable[[str], str], *, by_cluster: bool) -> None:
        self._release, self._strongest, self._by_cluster = release, strongest, by_cluster
        self._policies: dict[Name, Policy] = {}
        self._bindings: dict[Name, Binding] = {}
        self._refused: set[Name] = set()
        """The policies that refused manifests would have defined."""
        self._unread: list[tuple[Name, Given]] = []
        """The refused bindings, with the policies that they name."""
        self._findings: list[PolicyFinding] = []
        self._objects: dict[GroupVersionKind, list[Given]] = {}

    def take(self, each: Given) -> None:
        """Add an object; errors in a policy or binding become findings."""
        obj = each.object
        if not is_policy(obj):
            if isinstance(obj, dict):
                self._objects.setdefault(kind_in(obj), []).append(each)
            return
        release = self._release if self._by_cluster else serving(obj, self._release)
        problems = validate_policy(obj, release, beyond_decoding=self._by_cluster)
        self._findings += [PolicyFinding(each, problem) for problem in problems]
        if any(problem.level == ERROR for problem in problems):
            bound = obj["kind"].removesuffix("Binding")
            if bound == obj["kind"]:
                self._refused.add((bound, text(obj, "metadata", "name")))
            else:
                self._unread.append(((bound, text(obj, "spec", "policyName")), each))
            return
        is_binding, name = obj["kind"].endswith("Binding"), name_of(obj)
        read = binding_of(each) if is_binding else policy_of(each, release, self._strongest(name))
        known: dict[Name, Any] = self._bindings if is_binding else self._policies
        if known.setdefault((read.kind, name), read) is not read:
            message = f"there is another {obj['kind']} with the name {quoted(name)}; this one is not used"
            self._findings.append(_finding(each, "duplicate-policy", Path(("metadata", "name")), message))

    def policy_set(self, namespace: str, level: str, runtime_config: Mapping[str, bool] | None) -> PolicySet:
        """Bind the policies."""
        self._findings += _unbound(self._policies, self._bindings, self._refused, self._unread)
        objects = (each.object for group in self._objects.values() for each in group)
        kinds = Kinds(self._release, objects, runtime_config=runtime_config)
        self._findings += (each for policy in self._policies.values() for each in _switched_off(policy, kinds))
        self._findings += self._refused_objects(kinds, level)
        return PolicySet(
            release=self._release,
            kinds=kinds,
            validating=self._hooks(VALIDATING),
            mutating=self._hooks(MUTATING),
            policies=tuple(self._policies.values()),
            findings=tuple(self._findings),
            objects={
                kind: tuple(stored_in(namespace, plain(each.object), kind, kinds) for each in group)
                for kind, group in self._objects.items()
            },
        )

    def _refused_objects(self, kinds: Kinds, level: str) -> Iterator[PolicyFinding]:
        """Find parameters and other objects that the API server refuses, so that nothing reads them."""
        params = {policy.param_kind for policy in self._policies.values() if policy.param_kind}
        for kind in sorted(params | {NAMESPACE, *READ}):
            custom = kinds.custom(kind)
            for each in self._objects.get(kind, ()):
                problems = undecodable(each.object, kinds)
                if custom and not problems:
                    problems = custom.refusals(custom.completed(each.object, self._release), None, self._release)
                for problem in problems:
                    yield PolicyFinding(each, problem if kind in params else problem._replace(level=level))

    def _hooks(self, kind: str) -> tuple[Hook, ...]:
        bound = by_key(((each.kind, each.policy), each) for each in self._bindings.values())
        bindings = ((policy, bound.get(key, ())) for key, policy in self._policies.items() if policy.kind == kind)
        return tuple(Hook(policy, tuple(some)) for policy, some in bindings if some)


def _unbound(
    policies: Mapping[Name, Policy],
    bindings: Mapping[Name, Binding],
    refused: set[Name],
    unread: Sequence[tuple[Name, Given]],
) -> Iterator[PolicyFinding]:
    """Find bindings without a policy, policies without a binding, and parameters that only one of the two has.

    A policy is not reported if a binding only misspells its name: the binding is.
    """
    known, found = sorted({*policies, *refused}), list[PolicyFinding]()
    read = (((each.kind, each.policy), each.given, each) for each in bindings.values())
    links = [*read, *((key, given, None) for key, given in unread)]
    named = {key for key, *_ in links} | refused
    for key, given, binding in links:
        policy, (kind, wanted) = policies.get(key), key
        what = f"{kind} {quoted(wanted)}"
        if policy is None and wanted and key not in refused:
            others = [other for other, name in known if name == wanted]
            meant = "" if others else nearest(wanted, [name for other, name in known if other == kind])
            named.add((kind, meant))
            hint = f"it is a {others[0]}: bind it by a {others[0]}Binding" if others else ""
            hint = f'did you mean "{meant}"?' if meant else hint
            message = f"{what} does not exist: the binding has no effect"
            found.append(_finding(given, "binding-without-policy", Path(("spec", "policyName")), message, hint))
        elif policy and binding and policy.param_kind is None and binding.param_ref is not None:
            message = f"{what} has no paramKind: the parameters are not used"
            found.append(_finding(given, "param-without-kind", Path(("spec", "paramRef")), message))
        elif policy and binding and policy.param_kind is not None and binding.param_ref is None:
            message = f"{what} has a paramKind, the binding no paramRef: params is null"
            found.append(_finding(given, "binding-without-params", Path(("spec",)), message))
    for key, policy in policies.items():
        if key not in named:
            message = "no binding names this policy: it applies to nothing"
            yield _finding(policy.given, "policy-without-binding", Path(("metadata", "name")), message)
    yield from found


RULES: Final = Path(("spec", "matchConstraints", "resourceRules"))


def named_versions(policy: Policy, kinds: Kinds) -> Mapping[GroupVersionKind, tuple[int, set[str]]]:
    """Return which of Kubernetes' own kinds rules name: the first rule for each, and the versions in all of them."""
    listed: dict[GroupVersionKind, tuple[int, set[str]]] = {}
    for index, rule in enumerate(policy.match.rules):
        for group, (name, _) in product(sorted(rule.groups.intersection(kinds.groups)), rule.resources):
            if (kind := kinds.kind_of(Resource(group, "", name))) and not kinds.is_custom(kind):
                listed.setdefault(kind, (index, set()))[1].update(rule.versions)
    return listed


def _switched_off(policy: Policy, kinds: Kinds) -> Iterator[PolicyFinding]:
    """Find resources that a policy names only in versions that are off."""
    if any("*" in rule.groups for rule in policy.match.rules):
        return
    for kind, (index, versions) in named_versions(policy, kinds).items():
        on, off = kinds.versions_on(kind), versions.intersection(kinds.versions(kind))
        if on and off and not versions.intersection((*on, "*")):
            resource, where = kinds.resource_of(kind).resource, ", ".join(sorted(off))
            message = f"Kubernetes 1.{kinds.release} serves {resource} in {where} only with --runtime-config: "
            message += "without it, the policy matches none of them"
            hint = f"list {', '.join(on)}, too, which {'is' if len(on) == 1 else 'are'} on by default"
            yield _finding(policy.given, "unserved-version", RULES / index / "apiVersions", message, hint)


def _finding(given: Given, rule: str, path: Path, message: str, hint: str = "") -> PolicyFinding:
    return PolicyFinding(given, Problem(WARNING, rule, "", path, message, hint))
