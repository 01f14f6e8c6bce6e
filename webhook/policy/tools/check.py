"""Checks policies before they meet an object, for ``draguard policy check``."""

from __future__ import annotations

import re

from webhook.api.versions import NEWEST
from webhook.cel import CelError, Meter
from webhook.cel.checker.cost import estimate_cost
from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.policy.evaluation.policyset import Given, PolicyFinding
from webhook.policy.load import load
from webhook.policy.manifest.expressions import CompiledExpression
from webhook.policy.manifest.kinds import SUBRESOURCES, Resource
from webhook.policy.manifest.model import MUTATING, policy_of
from webhook.policy.manifest.programs import compile_policy, with_paths
from webhook.policy.tools.comparisons import comparison_warnings
from webhook.policy.tools.literals import literal_warnings
from webhook.policy.tools.typecheck import type_warnings
from webhook.problem import ERROR, NOT_DECODED, WARNING, Path, Problem, quoted, value_at
from webhook.records import NamedTuple
from webhook.spelling import did_you_mean, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

    from webhook.objects import JSONObject
    from webhook.policy.evaluation.policyset import PolicySet
    from webhook.policy.manifest.kinds import Kind, Kinds
    from webhook.policy.manifest.model import Policy, Rule
    from webhook.policy.manifest.programs import Programs
    from webhook.policy.tools.typecheck import TypeWarning
    from webhook.release import Release


class Cost(NamedTuple):
    """The estimated cost of an expression, without an object.

    Args:
        policy: The policy's name.
        path: Where the expression stands.
        least: The minimum cost.
        most: The maximum cost; a value beyond ``CALL_LIMIT`` means unbounded.
        kind: The policy's kind.
    """

    policy: str
    path: Path
    least: int
    most: int
    kind: str


class CheckResult(NamedTuple):
    """The result of ``policy check``.

    Args:
        policies: The policies that were checked.
        findings: The problems; ``level`` tells refusals by the API server from policies that it accepts
            although they cannot work.
        costs: The estimated costs of the expressions.
        unchecked: How many objects have errors that left no policy to look for warnings in.
    """

    policies: PolicySet
    findings: tuple[PolicyFinding, ...]
    costs: tuple[Cost, ...]
    unchecked: int = 0

    @property
    def passed(self) -> bool:
        """Whether the API server would accept all policies and bindings."""
        return all(finding.problem.level != ERROR for finding in self.findings)


def check_policies(given: Iterable[Given | JSONObject], release: Release = NEWEST) -> CheckResult:
    """Check policies and bindings; never raises.

    Args:
        given: The objects of manifests: policies, bindings, and the objects that policies read.
        release: The Kubernetes release, as the minor of 1.x.
    """
    policies = load(given, release, by_cluster=True)
    findings = list(policies.findings)
    costs: list[Cost] = []
    checked = set[int]()
    for policy, origin, wrong in _checkable(policies):
        programs = compile_policy(policy, release)
        problems = [
            *_unmatched(policy, policies.kinds),
            *_unchangeable(policy, policies.kinds),
            *_param_kind(policy, policies),
            *_constants(policy, programs),
            *_unused(policy),
            *_in_expressions("type-check", type_warnings(policy, policies.kinds, release)),
            *_in_expressions("type-check", literal_warnings(policy, programs, policies.kinds)),
            *_in_expressions("impossible-value", comparison_warnings(policy, programs, policies.kinds)),
        ]
        checked.add(id(origin))
        for cost in () if wrong else _costs(policy, programs):
            costs.append(cost)
            if cost.least > CALL_LIMIT:
                message = f"costs at least {cost.least}, beyond the limit of {CALL_LIMIT}: it always fails"
                problems.append(_warning("over-cost", cost.path, message))
        findings += [PolicyFinding(origin, problem) for problem in problems if problem.path not in wrong]
    unchecked = {id(each.given) for each in policies.findings if each.problem.level == ERROR} - checked
    return CheckResult(policies, tuple(findings), tuple(costs), len(unchecked))


def _checkable(policies: PolicySet) -> Iterator[tuple[Policy, Given, frozenset[Path]]]:
    """Yield the policies that can be checked, each with its manifest and its expressions that are wrong.

    A policy with errors is among them if they are in expressions on which nothing else depends.
    """
    for policy in policies.policies:
        yield policy, policies.origins[policy], frozenset()
    errors: dict[int, list[PolicyFinding]] = {}
    for each in policies.findings:
        if each.problem.level == ERROR:
            errors.setdefault(id(each.given), []).append(each)
    for found in errors.values():
        given = found[0].given
        if all(map(_is_apart, found)):
            yield policy_of(given.object, given.manifest), given, frozenset(each.problem.path for each in found)


def _is_apart(error: PolicyFinding) -> bool:
    """Tell whether an error is in an expression that can be decoded, and that no other one reads."""
    problem, path = error.problem, error.problem.path
    is_text = path[-1:] in _EXPRESSIONS and bool(value_at(error.given.object, path))
    return is_text and path[:2] != ("spec", "variables") and problem.reason not in NOT_DECODED


def _warning(rule: str, path: Path, message: str, hint: str = "") -> Problem:
    return Problem(WARNING, rule, "", path, message, hint)


def _in_expressions(rule: str, warnings: Iterable[TypeWarning]) -> Iterator[Problem]:
    for each in warnings:
        yield _warning(rule, each.path, each.text.strip(), each.hint)._replace(character=each.character)


def _unmatched(policy: Policy, kinds: Kinds) -> Iterator[Problem]:
    """Find rules that name resources which the release does not have."""
    path = Path(("spec", "matchConstraints", "resourceRules"))
    for index, rule in enumerate(policy.match.rules):
        yield from _unknown_resources(rule, path / index, kinds)


def _unknown_resources(rule: Rule, path: Path, kinds: Kinds) -> Iterator[Problem]:
    if "*" in rule.groups:
        return
    yield from _unknown_groups(rule, path / "apiGroups", kinds)
    if not all(map(kinds.has_group, rule.groups)):
        return
    groups = ", ".join(sorted(group or "the core group" for group in rule.groups))
    for position, (name, subresource) in enumerate(rule.resources):
        at_name = path / "resources" / position
        if subresource not in {"", "*", *SUBRESOURCES}:
            message = f"subresource {quoted(subresource)} does not exist in {groups}: the rule matches nothing"
            yield _warning("unknown-resource", at_name, message, did_you_mean(subresource, SUBRESOURCES, quotes='"'))
        if name == "*":
            continue
        found = [kind for group in rule.groups if (kind := kinds.kind_of(Resource(group, "", name)))]
        if not found:
            message = f"resource {quoted(name)} does not exist in {groups}: the rule matches nothing"
            yield _warning("unknown-resource", at_name, message, _resource_meant(name, rule, kinds))
        elif "*" not in rule.versions and not any(map(rule.versions.intersection, map(kinds.versions, found))):
            versions = ", ".join(sorted(rule.versions))
            message = f"Kubernetes 1.{kinds.release} does not serve {name} in {versions}: the rule matches nothing"
            yield _warning("unserved-version", path / "apiVersions", message, _served(found, kinds))


def _unknown_groups(rule: Rule, path: Path, kinds: Kinds) -> Iterator[Problem]:
    for group in sorted(group for group in rule.groups if not kinds.has_group(group)):
        if "." not in group:  # groups outside Kubernetes have a dot (apiextensions ``validation.go``)
            message = f"API group {quoted(group)} does not exist: the rule matches nothing in it"
            yield _warning("unknown-resource", path, message, _group_meant(group, kinds))
        elif near := _mistyped_group(group, rule, kinds):
            message = f"Kubernetes has no API group {quoted(group)}: the rule matches only custom resources in it"
            yield _warning("unknown-resource", path, message, f'did you mean "{near}"?')


def _mistyped_group(group: str, rule: Rule, kinds: Kinds) -> str:
    """Return Kubernetes' group with resources of a rule, if another one is nearly that; empty if there is none."""
    near = "" if group.endswith(_EXPERIMENTAL) else nearest(group, kinds.groups)
    return near if {name for name, _ in rule.resources}.intersection(kinds.resources(near)) else ""


def _unchangeable(policy: Policy, kinds: Kinds) -> Iterator[Problem]:
    """Find resources in versions that a mutating policy matches, but cannot change (mutating/dispatcher.go)."""
    if policy.kind != MUTATING or policy.match.is_exact:
        return
    rules = [rule for rule in policy.match.rules if not {"*"} & (rule.groups | rule.versions)]
    path = Path(("spec", "matchConstraints", "resourceRules"))
    seen = set()
    for index, rule in enumerate(policy.match.rules):
        groups = sorted(rule.groups.intersection(kinds.groups))
        for resource in (Resource(group, "", name) for group in groups for name, _ in rule.resources):
            kind = kinds.kind_of(resource)
            if rule not in rules or kind is None or kind in seen or kinds.is_custom(kind):
                continue
            seen.add(kind)
            listed = {
                version
                for each in rules
                if resource.group in each.groups and any(name == resource.resource for name, _ in each.resources)
                for version in each.versions
            }
            served = kinds.versions(kind)
            if listed.intersection(served) and (others := [version for version in served if version not in listed]):
                message = (
                    f"the policy matches {resource.resource} in {', '.join(others)}, too, and fails there: "
                    "the API server cannot convert changed objects"
                )
                hint = "list these versions, too, or set matchPolicy: Exact"
                yield _warning("unchangeable-version", path / index / "apiVersions", message, hint)


def _group_meant(group: str, kinds: Kinds) -> str:
    if re.fullmatch(r"v\d+\w*", group):
        return 'that is a version; the core group is ""'
    if group == "core":
        return 'write ""'
    return did_you_mean(group, kinds.groups, quotes='"')


def _resource_meant(name: str, rule: Rule, kinds: Kinds) -> str:
    """Suggest a resource: a similar one of these groups, or one of this name in other groups."""
    of_groups = (each for group in rule.groups for each in kinds.resources(group))
    if hint := did_you_mean(name, of_groups, quotes='"'):
        return hint
    elsewhere = [quoted(group) for group in kinds.groups if name in kinds.resources(group)]
    return f"{name} are in the API group {' and '.join(elsewhere)}" if elsewhere else ""


def _served(found: Iterable[Kind], kinds: Kinds) -> str:
    versions = [version for kind in found for version in kinds.versions(kind)]
    return f"it serves {', '.join(versions)}" if versions else ""


def _param_kind(policy: Policy, policies: PolicySet) -> Iterator[Problem]:
    """Find a paramKind that does not exist; kinds of groups outside Kubernetes are unknown."""
    kind, kinds = policy.param_kind, policies.kinds
    if kind is None or not kinds.has_group(kind.group) or policies.is_namespaced(kind) is not None:
        return
    path = Path(("spec", "paramKind"))
    if versions := kinds.versions(kind):
        message = (
            f"Kubernetes 1.{kinds.release} does not serve {kind.kind} in {kind.api_version}: the policy always fails"
        )
        yield _warning("unserved-version", path / "apiVersion", message, f"it serves {', '.join(versions)}")
    else:
        message = f"kind {quoted(kind.kind)} does not exist in {kind.api_version}: the policy always fails"
        hint = did_you_mean(kind.kind, kinds.names(kind.group), quotes='"')
        yield _warning("unknown-resource", path / "kind", message, hint)


def _constants(policy: Policy, programs: Programs) -> Iterator[Problem]:
    """Find conditions and validations with the same result for every object."""
    for condition, expression in zip(policy.conditions, programs.conditions, strict=True):
        value = _constant(expression.compiled)
        if value is False:
            yield _warning("never-applies", condition.path, "the condition is always false: the policy never applies")
        elif value is True:
            yield _warning("no-condition", condition.path, "the condition is always true: it can be left out")
    for validation, expression in zip(policy.validations, programs.validations, strict=True):
        if _constant(expression.compiled) is True:
            path = validation.path / "expression"
            yield _warning("never-refuses", path, "the expression is always true: it never refuses anything")


def _constant(compiled: object) -> object:
    """Return the value of an expression that uses no variables, else None."""
    if not isinstance(compiled, CompiledExpression) or compiled.program.variables:
        return None
    try:
        return compiled.program.evaluate({}, meter=Meter(CALL_LIMIT))
    except CelError:
        return None


_EXPERIMENTAL: Final = ".x-k8s.io"
"""The end of groups of Kubernetes' projects that are not its own, such as that of the scheduler's plugins."""
_EXPRESSIONS: Final = (("expression",), ("messageExpression",), ("valueExpression",))
"""The last steps of the paths of expressions."""
_REFERENCE: Final = re.compile(r"\bvariables\s*\.\s*(?:\?\s*)?([A-Za-z_][A-Za-z0-9_]*)")


def _unused(policy: Policy) -> Iterator[Problem]:
    """Find variables that no expression uses."""
    texts = [
        *(each.expression for each in (*policy.variables, *policy.annotations)),
        *(each.expression for each in policy.mutations),
        *(text for each in policy.validations for text in (each.expression, each.message_expression)),
    ]
    used = {name for text in texts for name in _REFERENCE.findall(text)}
    for variable in policy.variables:
        if variable.name not in used:
            message = f"variables.{variable.name} is not used by any expression"
            yield _warning("unused-variable", variable.path, message)


def _costs(policy: Policy, programs: Programs) -> Iterator[Cost]:
    for path, expression in with_paths(policy, programs):
        if isinstance(expression.compiled, CompiledExpression):
            estimate = estimate_cost(expression.compiled.checked, expression.compiled.environment)
            yield Cost(policy.name, path, estimate.low, estimate.high, policy.kind)
