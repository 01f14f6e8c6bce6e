"""Sends a review to the webhook as an API server does, and shows the answer: what `helm test` runs."""

import json
import ssl
import sys
import urllib.request

URL = sys.argv[1]
CLAIM = {
    "apiVersion": "resource.k8s.io/v1beta1",
    "kind": "ResourceClaim",
    "metadata": {"name": "helm-test", "namespace": "default"},
    "spec": {"devices": {"requests": [{"name": "Not a label", "deviceClassName": "gpu.example.com"}]}},
}
REQUEST = {
    "uid": "helm-test",
    "kind": {"group": "resource.k8s.io", "version": "v1beta1", "kind": "ResourceClaim"},
    "resource": {"group": "resource.k8s.io", "version": "v1beta1", "resource": "resourceclaims"},
    "name": "helm-test",
    "namespace": "default",
    "operation": "CREATE",
    "userInfo": {"username": "helm-test"},
    "object": CLAIM,
    "dryRun": True,
}
REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": REQUEST}

# API servers verify the certificate with caBundle, which this pod must not read.
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
request = urllib.request.Request(URL, json.dumps(REVIEW).encode(), {"Content-Type": "application/json"})  # noqa: S310 - as below
with urllib.request.urlopen(request, timeout=10, context=context) as answer:  # noqa: S310 - the chart writes https
    response = json.load(answer)["response"]
sys.stdout.write(json.dumps(response, indent=2) + "\n")
sys.exit(response["uid"] != REQUEST["uid"])
