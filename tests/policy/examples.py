"""Example policies and objects for tests."""

from __future__ import annotations

from typing import Any

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default", "labels": {"app": "a"}},
    "spec": {
        "nodeName": "node-1",
        "containers": [{"name": "c", "image": "busybox", "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "shared"}],
    },
}

CLAIM: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "default"},
    "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", "count": 2}}]}},
}

PODS: dict[str, Any] = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}

POLICY: dict[str, Any] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "p.example.com"},
    "spec": {
        "failurePolicy": "Fail",
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {
            "resourceRules": [PODS],
            "excludeResourceRules": [PODS | {"resourceNames": ["other"]}],
            "namespaceSelector": {"matchLabels": {}, "matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]},
            "objectSelector": {"matchLabels": {"app": "a"}},
            "matchPolicy": "Equivalent",
        },
        "matchConditions": [{"name": "running", "expression": "!has(object.metadata.deletionTimestamp)"}],
        "variables": [{"name": "names", "expression": "object.spec.containers.map(c, c.name)"}],
        "validations": [
            {
                "expression": "variables.names.all(n, n != 'bad')",
                "message": "bad name",
                "messageExpression": "'bad name in ' + object.metadata.name",
                "reason": "Forbidden",
            }
        ],
        "auditAnnotations": [{"key": "count", "valueExpression": "string(size(variables.names))"}],
    },
}

BINDING: dict[str, Any] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "b"},
    "spec": {
        "policyName": "p.example.com",
        "paramRef": {"name": "config", "namespace": "default", "parameterNotFoundAction": "Allow"},
        "matchResources": {"objectSelector": {"matchLabels": {"app": "a"}}},
        "validationActions": ["Deny", "Audit"],
    },
}

MUTATING: dict[str, Any] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "MutatingAdmissionPolicy",
    "metadata": {"name": "m.example.com"},
    "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [PODS | {"operations": ["CREATE", "UPDATE"]}]},
        "matchConditions": [{"name": "named", "expression": "has(object.metadata.name)"}],
        "variables": [{"name": "host", "expression": "object.spec.nodeName"}],
        "mutations": [
            {
                "patchType": "ApplyConfiguration",
                "applyConfiguration": {
                    "expression": "Object{metadata: Object.metadata{labels: {'x': variables.host}}}"
                },
            },
            {
                "patchType": "JSONPatch",
                "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/metadata/labels/y', value: 'z'}]"},
            },
        ],
        "reinvocationPolicy": "IfNeeded",
    },
}

MUTATING_BINDING: dict[str, Any] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "MutatingAdmissionPolicyBinding",
    "metadata": {"name": "m"},
    "spec": {"policyName": "m.example.com"},
}


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


def mutating(name: str, *mutations: str, **fields: Any) -> list[dict[str, Any]]:
    """Return a mutating policy about pods with its binding; a mutation in brackets is a JSON Patch."""
    made = [
        {"patchType": "JSONPatch", "jsonPatch": {"expression": each}}
        if each.startswith("[")
        else {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": each}}
        for each in mutations
    ]
    rules = [PODS | {"operations": ["CREATE", "UPDATE"]}]
    own = {"matchConstraints": {"resourceRules": rules}, "mutations": made, "reinvocationPolicy": "Never"} | fields
    return [
        MUTATING | {"metadata": {"name": name}, "spec": own},
        MUTATING_BINDING | {"metadata": {"name": name}, "spec": {"policyName": name}},
    ]
