"""Finds API groups, resources and subresources that a rule names although the release lacks them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from webhook.policy.manifest.kinds import SUBRESOURCES, Kinds, Resource
from webhook.policy.manifest.model import ResourceRule
from webhook.policy.tools.typecheck import warning
from webhook.problem import Path, Problem, quoted
from webhook.spelling import did_you_mean, nearest

_ALL: Final = "*"
_EXPERIMENTAL: Final = ".x-k8s.io"
"""The end of groups of Kubernetes' projects that are not its own, such as that of the scheduler's plugins."""


def unknown_resources(rule: ResourceRule, path: Path, kinds: Kinds) -> Iterator[Problem]:
    """Find the resources in a rule that the release does not have.

    Args:
        path: The path of the rule.
    """
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
            known = [each.resource for group in rule.groups for each in kinds.served(group)]
            others = (each.group for group in kinds.groups for each in kinds.served(group) if each.resource == name)
            elsewhere = " and ".join(map(quoted, others))
            there = f"{name} are in the API group {elsewhere}" if elsewhere else ""
            if is_closed or nearest(name, known):
                hint = did_you_mean(name, known, quotes='"') or there
                yield warning("unknown-resource", at_name, message, hint)
        elif "*" not in rule.versions and not any(map(rule.versions.intersection, map(kinds.versions, found))):
            versions = ", ".join(sorted(rule.versions))
            server = f"Kubernetes 1.{kinds.release}" if is_closed else "its CustomResourceDefinition"
            message = f"{server} does not serve {name} in {versions}: the rule matches nothing"
            served = ", ".join(version for kind in found for version in kinds.versions(kind))
            yield warning("unserved-version", path / "apiVersions", message, f"it serves {served}" if served else "")
        elif rule.scope != _ALL and all(kinds.is_namespaced(kind) is (rule.scope == "Cluster") for kind in found):
            where = "namespaced" if rule.scope == "Cluster" else "cluster-scoped"
            message = f"{name} are {where}: with scope {rule.scope} the rule matches none of them"
            yield warning("unknown-resource", path / "scope", message, "leave the scope out")


def _unknown_groups(rule: ResourceRule, path: Path, kinds: Kinds) -> Iterator[Problem]:
    for group in sorted(group for group in rule.groups if not (kinds.has_group(group) or kinds.defines(group))):
        if "." not in group or "/" in group:  # groups outside Kubernetes have a dot (apiextensions ``validation.go``)
            message = f"API group {quoted(group)} does not exist: the rule matches nothing in it"
            hint = 'write ""' if group == "core" else did_you_mean(group, kinds.groups, quotes='"')
            if re.fullmatch(r"v\d+\w*", group):
                hint = 'that is a version; the core group is ""'
            if "/" in group:
                hint = f"write {quoted(group.partition('/')[0])}, and the version into apiVersions"
            yield warning("unknown-resource", path, message, hint)
            continue
        near = "" if group.endswith(_EXPERIMENTAL) else nearest(group, kinds.groups)
        if near and {name for name, _ in rule.resources}.intersection(each.resource for each in kinds.served(near)):
            message = f"Kubernetes has no API group {quoted(group)}: the rule matches only custom resources in it"
            yield warning("unknown-resource", path, message, f'did you mean "{near}"?')
