"""A policy, its tests, and objects for it."""

from collections.abc import Callable
from typing import Any

from tests.policy.examples import POD, binding, of, policy, validating
from tests.policy.examples import spec as with_spec

CONFIG = of("ConfigMap", "limits", data={"most": "1"})
NODELESS = with_spec(POD, nodeName=None)
LIMITED = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limited}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  validations:
  - expression: |
      object.metadata.name != "bad"
    message: bad name
  - expression: dyn(object.spec.containers) != null
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: limited, validationActions: [Deny]}
"""
SUITE = """\
objects:
  pod:
    apiVersion: v1
    kind: Pod
    metadata: {name: good, namespace: default}
    spec: {containers: [{name: c, image: i}]}
cases:
- name: a good name
  object: pod
  expect: {allowed: true}
- name: a bad one
  object: pod
  patch: [{op: replace, path: /metadata/name, value: bad}]
  expect: {allowed: false, message: bad name}
"""


LACKING = [
    policy(paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, validations=[{"expression": "params != null"}]),
    binding(paramRef={"name": "limits", "namespace": "team", "parameterNotFoundAction": "Deny"}),
]
Found = Callable[..., list[dict[str, Any]]]


def refusing(expression: str = "false", **fields: Any) -> list[dict[str, Any]]:
    """Return a policy that refuses what an expression is false for, with its binding."""
    return validating(expression, **fields)


def telling(message: str) -> list[dict[str, Any]]:
    """Return a policy that refuses everything with the message that an expression makes, with its binding."""
    return validating({"expression": "false", "messageExpression": message})
