"""Finds resources and kinds that a policy names although the release lacks them, or the policy cannot change them.

Kinds of groups outside Kubernetes are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from webhook.policy.manifest.kinds import SUBRESOURCES, Kind, Kinds, Resource
from webhook.policy.manifest.model import MUTATING, Policy, Rule
from webhook.policy.tools.warnings import warning
from webhook.problem import Path, Problem, quoted
from webhook.spelling import did_you_mean, nearest

if TYPE_CHECKING:
    from webhook.policy.evaluation.policyset import PolicySet

_EXPERIMENTAL: Final = ".x-k8s.io"
"""The end of groups of Kubernetes' projects that are not its own, such as that of the scheduler's plugins."""


def resource_warnings(policy: Policy, policies: PolicySet) -> Iterator[Problem]:
    """Find rules and a paramKind that match nothing, and versions that a mutating policy cannot change.

    Args:
        policies: The set that it belongs to, with the known kinds.
    """
    yield from _unmatched(policy, policies.kinds)
    yield from _unchangeable(policy, policies.kinds)
    yield from _param_kind(policy, policies)


def _unmatched(policy: Policy, kinds: Kinds) -> Iterator[Problem]:
    """Find rules that name resources which the release does not have."""
    path = Path(("spec", "matchConstraints", "resourceRules"))
    for index, rule in enumerate(policy.match.rules):
        yield from _unknown_resources(rule, path / index, kinds)


def _unknown_resources(rule: Rule, path: Path, kinds: Kinds) -> Iterator[Problem]:
    if "*" in rule.groups:
        return
    yield from _unknown_groups(rule, path / "apiGroups", kinds)
    if not all(kinds.has_group(group) or kinds.defines(group) for group in rule.groups):
        return
    is_closed = all(map(kinds.has_group, rule.groups))
    """Whether no CustomResourceDefinition elsewhere can add a resource."""
    groups = ", ".join(sorted(group or "the core group" for group in rule.groups))
    for position, (name, subresource) in enumerate(rule.resources):
        at_name = path / "resources" / position
        if is_closed and subresource not in {"", "*", *SUBRESOURCES}:
            message = f"subresource {quoted(subresource)} does not exist in {groups}: the rule matches nothing"
            yield warning("unknown-resource", at_name, message, did_you_mean(subresource, SUBRESOURCES, quotes='"'))
        if name == "*":
            continue
        found = [kind for group in rule.groups if (kind := kinds.kind_of(Resource(group, "", name)))]
        if not found:
            message = f"resource {quoted(name)} does not exist in {groups}: the rule matches nothing"
            hint = _resource_meant(name, rule, kinds)
            if is_closed or nearest(name, _resources(rule, kinds)):
                yield warning("unknown-resource", at_name, message, hint)
        elif "*" not in rule.versions and not any(map(rule.versions.intersection, map(kinds.versions, found))):
            versions = ", ".join(sorted(rule.versions))
            server = f"Kubernetes 1.{kinds.release}" if is_closed else "its CustomResourceDefinition"
            message = f"{server} does not serve {name} in {versions}: the rule matches nothing"
            yield warning("unserved-version", path / "apiVersions", message, _served(found, kinds))


def _unknown_groups(rule: Rule, path: Path, kinds: Kinds) -> Iterator[Problem]:
    for group in sorted(group for group in rule.groups if not (kinds.has_group(group) or kinds.defines(group))):
        if "." not in group:  # groups outside Kubernetes have a dot (apiextensions ``validation.go``)
            message = f"API group {quoted(group)} does not exist: the rule matches nothing in it"
            yield warning("unknown-resource", path, message, _group_meant(group, kinds))
        elif near := _mistyped_group(group, rule, kinds):
            message = f"Kubernetes has no API group {quoted(group)}: the rule matches only custom resources in it"
            yield warning("unknown-resource", path, message, f'did you mean "{near}"?')


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
                yield warning("unchangeable-version", path / index / "apiVersions", message, hint)


def _group_meant(group: str, kinds: Kinds) -> str:
    if re.fullmatch(r"v\d+\w*", group):
        return 'that is a version; the core group is ""'
    if group == "core":
        return 'write ""'
    return did_you_mean(group, kinds.groups, quotes='"')


def _resource_meant(name: str, rule: Rule, kinds: Kinds) -> str:
    """Suggest a resource: a similar one of these groups, or one of this name in other groups."""
    if hint := did_you_mean(name, _resources(rule, kinds), quotes='"'):
        return hint
    elsewhere = [quoted(group) for group in kinds.groups if name in kinds.resources(group)]
    return f"{name} are in the API group {' and '.join(elsewhere)}" if elsewhere else ""


def _resources(rule: Rule, kinds: Kinds) -> list[str]:
    return [each for group in rule.groups for each in kinds.resources(group)]


def _served(found: Iterable[Kind], kinds: Kinds) -> str:
    versions = [version for kind in found for version in kinds.versions(kind)]
    return f"it serves {', '.join(versions)}" if versions else ""


def _param_kind(policy: Policy, policies: PolicySet) -> Iterator[Problem]:
    """Find a paramKind that does not exist; kinds of groups outside Kubernetes are unknown."""
    kind, kinds = policy.param_kind, policies.kinds
    if kind is None or policies.is_namespaced(kind) is not None:
        return
    path, is_defined = Path(("spec", "paramKind")), kinds.defines(kind.group)
    if not kinds.has_group(kind.group) and not (is_defined and nearest(kind.kind, kinds.names(kind.group))):
        return
    if versions := kinds.versions(kind):
        server = "its CustomResourceDefinition" if is_defined else f"Kubernetes 1.{kinds.release}"
        message = f"{server} does not serve {kind.kind} in {kind.api_version}: the policy always fails"
        yield warning("unserved-version", path / "apiVersion", message, f"it serves {', '.join(versions)}")
    else:
        message = f"kind {quoted(kind.kind)} does not exist in {kind.api_version}: the policy always fails"
        hint = did_you_mean(kind.kind, kinds.names(kind.group), quotes='"')
        yield warning("unknown-resource", path / "kind", message, hint)
