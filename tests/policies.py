"""A policy with a single expression."""

POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: names}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}}]
  validations: [{{expression: {expression}}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: names}}
spec: {{policyName: names, validationActions: [Deny]}}
"""
