"""Pods that name their node, and what the webhook makes of them."""

import json
from typing import Any

import jsonpatch

from webhook.engine.prescheduled import Rewrite, RewriteOptions

HOSTNAME = "kubernetes.io/hostname"
NODE = "node-1"
LONG = "a" * 60 + ".example.com"
BY_HOSTNAME = RewriteOptions()
BY_NAME = RewriteOptions(select_node_by="name")
HERE = {"key": "metadata.name", "operator": "In", "values": [NODE]}
ELSEWHERE = {"key": "metadata.name", "operator": "In", "values": ["node-2"]}
NOT_THERE = {"key": "metadata.name", "operator": "NotIn", "values": ["node-2"]}
FAST = {"key": "disk", "operator": "In", "values": ["ssd"]}
# As kube-apiserver 1.36 sent it to a mutating webhook; managedFields shortened.
RECORDED: dict[str, Any] = json.loads("""
{"kind": "Pod", "apiVersion": "v1",
 "metadata": {"name": "prescheduled", "namespace": "conformance", "creationTimestamp": null,
  "managedFields": [{"manager": "unknown", "operation": "Update", "apiVersion": "v1", "time": "2026-11-21T03:23:15Z",
   "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:nodeName": {}, "f:restartPolicy": {}}}}]},
 "spec": {
  "volumes": [{"name": "kube-api-access-pxbhp", "projected": {"sources": [
    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}], "defaultMode": 420}}],
  "initContainers": [{"name": "i0", "image": "ubuntu:24.04", "resources": {"claims": [{"name": "cat-0"}]},
    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent"}],
  "containers": [
   {"name": "c0", "image": "ubuntu:24.04",
    "resources": {"claims": [{"name": "cat-0"}, {"name": "cat-1", "request": "gpus"}]},
    "volumeMounts": [{"name": "kube-api-access-pxbhp", "readOnly": true,
     "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    "imagePullPolicy": "IfNotPresent"}],
  "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
  "serviceAccountName": "default", "serviceAccount": "default", "nodeName": "node-1", "securityContext": {},
  "schedulerName": "default-scheduler",
  "tolerations": [
   {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
   {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
  "priority": 0, "enableServiceLinks": true, "preemptionPolicy": "PreemptLowerPriority",
  "resourceClaims": [{"name": "cat-0", "resourceClaimTemplateName": "large-black-cat-claim-template"},
   {"name": "cat-1", "resourceClaimName": "shared-cat"}]},
 "status": {}}
""")


def pod(*, metadata: object = None, **spec: object) -> dict[str, Any]:
    """A small pod that names its node and uses a claim; a field given as ``...`` is left out."""
    fields = {"nodeName": NODE, "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}], **spec}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"} if metadata is None else metadata,
        "spec": {name: value for name, value in fields.items() if value is not ...},
    }


def affinity(*terms: object) -> dict[str, Any]:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def applied(obj: dict[str, Any], change: Rewrite) -> dict[str, Any]:
    result: dict[str, Any] = jsonpatch.apply_patch(obj, json.dumps(change.patch))
    return result
