"""A policy, its tests, and objects for it; findings of commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.command import draguard
from tests.policy.examples import POD, binding, policy
from tests.policy.examples import spec as with_spec

if TYPE_CHECKING:
    from pathlib import Path


CONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "limits"},
    "data": {"most": "1"},
}
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


def findings(*arguments: str | Path) -> list[dict[str, Any]]:
    done = draguard(*arguments, "--output", "json")
    assert done.err == ""
    found: list[dict[str, Any]] = json.loads(done.out)["findings"]
    return found


LACKING = [
    policy(paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, validations=[{"expression": "params != null"}]),
    binding(paramRef={"name": "limits", "namespace": "team", "parameterNotFoundAction": "Deny"}),
]
