"""``draguard policy new``: an example of a policy, and its suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from webhook import formats
from webhook.api.versions import NEWEST
from webhook.cli.arguments import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

_OBJECT: Final = """\
objects:
  claim:
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaim
    metadata:
      name: claim
      namespace: default
    spec:
      devices:
        requests:
        - name: gpu
          exactly:
            deviceClassName: gpu.example.com
            count: 2
"""
_VALIDATING: Final = """\
# Says what a claim must not ask for. `draguard policy check` and `draguard policy test --strict` look at it.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: NAME
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [resource.k8s.io]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [resourceclaims]
  validations:
  - expression: >-
      object.spec.devices.requests.all(r, !has(r.exactly) || !has(r.exactly.count) || r.exactly.count <= 2)
    message: a request is for 2 devices at most
    reason: Forbidden
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: NAME
spec:
  policyName: NAME
  validationActions: [Deny]
"""
_VALIDATING_TESTS: Final = """\
cases:
- name: two devices are fine
  object: claim
  expect: {allowed: true}
- name: three are not
  object: claim
  patch: [{op: replace, path: /spec/devices/requests/0/exactly/count, value: 3}]
  expect: {allowed: false, message: a request is for 2 devices at most, reason: Forbidden}
"""
_MUTATING: Final = """\
# Adds to new claims what they lack. `draguard policy check` and `draguard policy test --strict` look at it.
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: NAME
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [resource.k8s.io]
      apiVersions: [v1]
      operations: [CREATE]
      resources: [resourceclaims]
  matchConditions:
  - name: has-no-team
    expression: "!has(object.metadata.labels) || !('team' in object.metadata.labels)"
  reinvocationPolicy: Never
  failurePolicy: Fail
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        Object{metadata: Object.metadata{labels: {"team": object.metadata.namespace}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: NAME
spec:
  policyName: NAME
"""
_MUTATING_TESTS: Final = """\
cases:
- name: a claim gets the label of its team
  object: claim
  expect:
    allowed: true
    changes: [{op: add, path: /metadata/labels, value: {team: default}}]
- name: a label that is there stays
  object: claim
  patch: [{op: add, path: /metadata/labels, value: {team: a}}]
  expect: {allowed: true, changes: []}
"""


def run(arguments: Namespace) -> int:
    """Write the files, and say what to do next."""
    name: str = arguments.name
    if faults := formats.dns_subdomain(name, NEWEST):
        message = f"{name!r} cannot be the name of a policy: {faults[0]}"
        raise UsageError(message)
    directory = Path(arguments.directory or name)
    policy, tests = (_MUTATING, _MUTATING_TESTS) if arguments.mutating else (_VALIDATING, _VALIDATING_TESTS)
    files = {directory / "policy.yaml": policy.replace("NAME", name), directory / "tests.yaml": _OBJECT + tests}
    if present := [file for file in files if file.exists()]:
        message = f"{present[0]} is there already: give another --directory"
        raise UsageError(message)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            file.write_text(text, encoding="utf-8")
            print(file)
    except OSError as error:
        message = f"cannot write to {directory}: {error.strerror}"
        raise UsageError(message) from error
    return 0
