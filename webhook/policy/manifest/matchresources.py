"""The types of ``matchConstraints`` and ``matchResources``, and the rules of webhooks.

Rules follow ``pkg/apis/admissionregistration/validation/validation.go`` (validateMatchResources and what it calls).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook import formats
from webhook.api.core.catalogue import of_policies
from webhook.grouping import repeated
from webhook.problem import Problem, duplicate, invalid, malformed, not_supported, required
from webhook.schema.declarations import check
from webhook.schema.fields import View

OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
SCOPES = ("*", "Cluster", "Namespaced")

_NAMED_RULES: Final = of_policies("NamedRuleWithOperations")
_RULES: Final = (*_NAMED_RULES, *of_policies("RuleWithOperations"))


@check(*_NAMED_RULES)
def resource_names(rule: View) -> Iterator[Problem]:
    """Names of objects can be parts of a URL, and each is named once."""
    again = {index for index, _ in repeated(rule.resourceNames)}
    for index, name in enumerate(rule.resourceNames):
        path = rule / "resourceNames" / index
        yield from malformed(path, name or "", formats.path_segment(name or ""))
        if index in again:
            yield duplicate(path, name or "")


@check(*_RULES)
def operations(rule: View) -> Iterator[Problem]:
    """Operations are CREATE, UPDATE, DELETE, CONNECT or *, and * stands alone."""
    path = rule / "operations"
    if not rule.operations:
        yield required(path)
    if len(rule.operations) > 1 and "*" in rule.operations:
        yield invalid(path, rule.operations, "if '*' is present, must not specify other operations")
    for index, operation in enumerate(rule.operations):
        if operation not in OPERATIONS:
            yield not_supported(path / index, operation or "", OPERATIONS, rule.release)


@check(*_RULES)
def groups_and_versions(rule: View) -> Iterator[Problem]:
    """Groups and versions are given, and * stands alone."""
    for field, noun in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        path, values = rule / field, getattr(rule, field)
        if not values:
            yield required(path)
        if len(values) > 1 and "*" in values:
            yield invalid(path, values, f"if '*' is present, must not specify other {noun}")
    for index, version in enumerate(rule.apiVersions):
        if not version:
            yield required(rule / "apiVersions" / index)


@check(*_RULES)
def resources(rule: View) -> Iterator[Problem]:
    """Resources are given, and none is repeated by a wildcard."""
    path, values = rule / "resources", rule.resources
    if not values:
        yield required(path)
    any_subresource: set[str] = set()
    any_resource: set[str] = set()
    plain = False
    for index, value in enumerate(values):
        if not value:
            yield required(path / index)
            continue
        resource, slash, subresource = value.partition("/")
        if not slash:
            plain = value != "*"
            continue
        if resource in any_subresource:
            yield invalid(path / index, value, f"if '{resource}/*' is present, must not specify {value}")
        if subresource in any_resource:
            yield invalid(path / index, value, f"if '*/{subresource}' is present, must not specify {value}")
        any_subresource |= {resource} if subresource == "*" else set()
        any_resource |= {subresource} if resource == "*" else set()
    if len(values) > 1 and "*/*" in values:
        yield invalid(path, values, "if '*/*' is present, must not specify other resources")
    if "*" in values and plain:
        yield invalid(path, values, "if '*' is present, must not specify other resources without subresources")


@check(*_RULES)
def scope(rule: View) -> Iterator[Problem]:
    """A scope is Cluster, Namespaced or *."""
    if rule.scope is not None and rule.scope not in SCOPES:
        yield not_supported(rule / "scope", rule.scope, SCOPES, rule.release)
