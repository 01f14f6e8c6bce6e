"""Loads policies, bindings and the objects around them into a policy set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.api.versions import NEWEST
from webhook.objects import metadata_of, text
from webhook.policy.ask.plan import Hook
from webhook.policy.ask.policyset import Finding, Given, PolicySet
from webhook.policy.ask.quick import quick_of
from webhook.policy.manifest.kinds import Kind, Kinds, kind_of
from webhook.policy.manifest.model import DENY, MUTATING, VALIDATING, Binding, Policy, binding_of, name_of, policy_of
from webhook.policy.manifest.programs import compile_policy
from webhook.policy.manifest.versions import is_policy, serving, validate_policy
from webhook.problem import ERROR, WARNING, Path, Problem, quoted
from webhook.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from webhook.objects import JSONObject
    from webhook.release import Release


def load(
    given: Iterable[Given | JSONObject],
    release: Release = NEWEST,
    strongest: Callable[[str], str] = lambda _name: DENY,
    *,
    by_cluster: bool = False,
) -> PolicySet:
    """Make a set of policies of the objects in manifests; never raises.

    Args:
        given: Objects; policies and bindings are used, all others are what policies look at: parameters, namespaces,
            CustomResourceDefinitions.
        release: The Kubernetes release, as the minor of 1.x.
        strongest: Says by its name which action a policy may lead to at most, Deny, Warn or Audit.
        by_cluster: Whether a cluster of that release evaluates the policies, so that it must serve them; if not,
            those of other releases are used, too.
    """
    policies: dict[tuple[str, str], Policy] = {}
    bindings: dict[tuple[str, str], Binding] = {}
    origins: dict[object, Given] = {}
    refused: set[tuple[str, str]] = set()
    findings: list[Finding] = []
    objects: dict[Kind, list[JSONObject]] = {}
    for each in map(_as_given, given):
        if not is_policy(each.object):
            if isinstance(each.object, dict):
                kind = kind_of(text(each.object, "apiVersion"), text(each.object, "kind"))
                objects.setdefault(kind, []).append(each.object)
            continue
        problems = validate_policy(each.object, release if by_cluster else serving(each.object, release))
        findings += [Finding(each, problem) for problem in problems]
        if any(problem.level == ERROR for problem in problems):
            refused.add(_stood_for(each.object))
            continue
        read: Policy | Binding
        taken: Policy | Binding
        if each.object["kind"].endswith("Binding"):
            read = binding = binding_of(each.object, each.manifest)
            taken = bindings.setdefault((binding.kind, binding.name), binding)
        else:
            read = policy = policy_of(each.object, each.manifest, strongest(name_of(each.object)))
            taken = policies.setdefault((policy.kind, policy.name), policy)
        if taken is read:
            origins[read] = each
        else:
            message = f"there is another {each.object['kind']} with the name {quoted(read.name)}; this one is not used"
            findings.append(_finding(each, "duplicate-policy", Path(("metadata", "name")), message))
    findings += _unbound(policies, bindings, origins, refused)
    hooks = {
        kind: tuple(
            _hook(policy, bound, release if by_cluster else serving(origins[policy].object, release))
            for policy in policies.values()
            if policy.kind == kind
            and (bound := tuple(each for each in bindings.values() if (each.kind, each.policy) == (kind, policy.name)))
        )
        for kind in (VALIDATING, MUTATING)
    }
    return PolicySet(
        release=release,
        kinds=Kinds(
            release, (each for kind, group in objects.items() if kind.kind.startswith("Custom") for each in group)
        ),
        validating=hooks[VALIDATING],
        mutating=hooks[MUTATING],
        policies=tuple(policies.values()),
        findings=tuple(findings),
        objects={kind: tuple(group) for kind, group in objects.items()},
        origins=origins,
    )


def _hook(policy: Policy, bindings: tuple[Binding, ...], release: Release) -> Hook:
    programs = compile_policy(policy, release)
    return Hook(policy, programs, bindings, programs.uses, quick_of(policy, programs))


def _stood_for(obj: JSONObject) -> tuple[str, str]:
    """Return the kind and name of the policy that a refused manifest would have been, or bound."""
    kind: str = obj["kind"]
    if not kind.endswith("Binding"):
        return kind, text(metadata_of(obj), "name")
    spec = obj.get("spec")
    return kind.removesuffix("Binding"), text(spec, "policyName") if isinstance(spec, dict) else ""


def _as_given(each: Given | JSONObject) -> Given:
    return each if isinstance(each, Given) else Given(each)


def _unbound(
    policies: Mapping[tuple[str, str], Policy],
    bindings: Mapping[tuple[str, str], Binding],
    origins: Mapping[object, Given],
    refused: set[tuple[str, str]],
) -> Iterator[Finding]:
    """Find bindings without a policy, policies without a binding, and parameters that one has and the other not."""
    bound = {(each.kind, each.policy) for each in bindings.values()}
    for key, policy in policies.items():
        if key not in bound and key not in refused:
            message = "no binding names this policy: it applies to nothing"
            yield _finding(origins[policy], "policy-without-binding", Path(("metadata", "name")), message)
    for binding in bindings.values():
        bound_policy = policies.get((binding.kind, binding.policy))
        given = origins[binding]
        if bound_policy is None and (binding.kind, binding.policy) in refused:
            continue
        if bound_policy is None:
            message = f"there is no {binding.kind} with the name {quoted(binding.policy)}: the binding does nothing"
            hint = _policy_meant(binding, policies)
            yield _finding(given, "binding-without-policy", Path(("spec", "policyName")), message, hint)
        elif bound_policy.param_kind is None and binding.param_ref is not None:
            message = f"{binding.kind} {quoted(binding.policy)} has no paramKind: the parameters are not used"
            yield _finding(given, "param-without-kind", Path(("spec", "paramRef")), message)
        elif bound_policy.param_kind is not None and binding.param_ref is None:
            message = (
                f"{binding.kind} {quoted(binding.policy)} has a paramKind, the binding no paramRef: params is null"
            )
            yield _finding(given, "binding-without-params", Path(("spec",)), message)


def _policy_meant(binding: Binding, policies: Iterable[tuple[str, str]]) -> str:
    """Suggest the policy that a binding was meant for."""
    others = [kind for kind, name in policies if name == binding.policy]
    if others:
        return f"it is a {others[0]}: bind it by a {others[0]}Binding"
    near = nearest(binding.policy, (name for kind, name in policies if kind == binding.kind))
    return f'did you mean "{near}"?' if near else ""


def _finding(given: Given, rule: str, path: Path, message: str, hint: str = "") -> Finding:
    return Finding(given, Problem(WARNING, rule, "", path, message, hint))
