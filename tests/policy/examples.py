"""Example policies and objects for tests."""

from pathlib import Path
from typing import Any

import yaml

from webhook.budget import Budget
from webhook.engine import offline
from webhook.policy.evaluation.authorizer import DENY_ALL, Authorizer
from webhook.policy.evaluation.policyset import PolicySet
from webhook.policy.evaluation.request import request_of
from webhook.policy.evaluation.verdict import Verdict

_GIVEN: dict[str, dict[str, Any]] = yaml.load(
    Path(__file__).with_name("examples.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader
)
POD, CLAIM, PODS = (_GIVEN[name] for name in ("pod", "claim", "pods"))
POLICY, BINDING = _GIVEN["policy"], _GIVEN["binding"]
MUTATING, MUTATING_BINDING = _GIVEN["mutating"], _GIVEN["mutating_binding"]


ANYTHING = PODS | {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
EVERYWHERE = {"resourceRules": [ANYTHING]}
"""Constraints that all objects meet, but not subresources."""
BETA = CLAIM | {
    "apiVersion": "resource.k8s.io/v1beta1",
    "spec": {"devices": {"requests": [{"name": "gpu", "deviceClassName": "gpu.example.com", "count": 2}]}},
}
"""The claim in an older version."""


def rule(*resources: str, group: str = "", **fields: Any) -> dict[str, Any]:
    """Return a rule about resources, which matches all operations."""
    return PODS | {"apiGroups": [group], "resources": [*resources]} | fields


CLAIMS = rule("resourceclaims", group="resource.k8s.io")


def of(kind: str, name: str = "x", version: str = "v1", **fields: Any) -> dict[str, Any]:
    """Return an object."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def definition(kind: str, plural: str, *versions: dict[str, Any], scope: str = "Cluster") -> dict[str, Any]:
    """Return the definition of custom resources."""
    spec = {"group": "example.com", "scope": scope, "names": {"kind": kind, "plural": plural}, "versions": [*versions]}
    return of("CustomResourceDefinition", f"{plural}.example.com", "apiextensions.k8s.io/v1", spec=spec)


def spec(base: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a manifest with other fields in its spec; None leaves one out."""
    merged = base["spec"] | fields
    return base | {"spec": {name: value for name, value in merged.items() if value is not None}}


def policy(name: str = "p", rules: list[dict[str, Any]] | None = None, **fields: Any) -> dict[str, Any]:
    """Return a validating policy about pods, or about the resources of ``rules``."""
    manifest = POLICY | {"metadata": {"name": name}}
    return manifest | {"spec": {"matchConstraints": {"resourceRules": rules or [PODS]}} | fields}


def binding(name: str = "p", policy_name: str = "", **fields: Any) -> dict[str, Any]:
    """Return a binding that denies."""
    manifest = BINDING | {"metadata": {"name": name}}
    return manifest | {"spec": {"policyName": policy_name or name, "validationActions": ["Deny"]} | fields}


def validating(*validations: Any, **fields: Any) -> list[dict[str, Any]]:
    """Return a validating policy about pods with its binding; a validation may be an expression."""
    stated = [{"expression": each} if isinstance(each, str) else each for each in validations]
    return [policy(validations=stated, **fields), binding()]


def mutating(name: str, *mutations: str, **fields: Any) -> list[dict[str, Any]]:
    """Return a mutating policy about pods with its binding; a mutation in brackets is a JSON Patch."""
    made = [
        {"patchType": "JSONPatch", "jsonPatch": {"expression": each}}
        if each.lstrip().startswith("[")
        else {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": each}}
        for each in mutations
    ]
    rules = [PODS | {"operations": ["CREATE", "UPDATE"]}]
    own = {"matchConstraints": {"resourceRules": rules}, "mutations": made, "reinvocationPolicy": "Never"} | fields
    return [
        MUTATING | {"metadata": {"name": name}, "spec": own},
        MUTATING_BINDING | {"metadata": {"name": name}, "spec": {"policyName": name}},
    ]


def evaluate(
    obj: Any,
    old: Any = None,
    *,
    policies: PolicySet,
    authorizer: Authorizer = DENY_ALL,
    budget: Budget | None = None,
    **about: Any,
) -> Verdict:
    """Evaluate policies for the request that a manifest stands for."""
    return offline.evaluate(request_of(obj, old, kinds=policies.kinds, **about), policies, authorizer, budget)
