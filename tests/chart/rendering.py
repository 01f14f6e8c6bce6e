"""Renders the chart with the real Helm, for tests."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from charts.render import NOTES, is_hook, render

Manifest = dict[str, Any]

CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
SECRET = {"source": "secret", "secret": {"name": "given", "caBundle": CA}}

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: named.example.com
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [resource.k8s.io]
      apiVersions: ["*"]
      operations: [CREATE]
      resources: [resourceclaims]
  validations:
  - expression: object.metadata.name.startsWith("team-") || authorizer.requestResource.check("name").allowed()
    message: begin the name with that of your team
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: named.example.com
spec:
  policyName: named.example.com
  validationActions: [Deny]
"""

VALUES: Mapping[str, Mapping[str, Any]] = {
    "defaults": {},
    "embedded": {"certificates": {"manager": "embedded"}},
    "account of one's own": {"certificates": {"serviceAccountName": "mine"}},
    "denying": {"enforce": {"mode": "deny"}, "webhooks": {"exemptNamespaceLabel": "draguard.github.io/exempt"}},
    "cert-manager": {"certificates": {"source": "cert-manager"}},
    "cert-manager with an issuer of one's own": {
        "certificates": {
            "source": "cert-manager",
            "certManager": {"issuerRef": {"group": "example.com", "kind": "ClusterIssuer", "name": "internal"}},
        }
    },
    "a given Secret": {"certificates": SECRET},
    "autoscaled": {"autoscaling": {"enabled": True, "minReplicas": 3}},
    "one replica": {"replicaCount": 1, "priorityClassName": ""},
    "modes": {
        "enforce": {
            "mode": "audit",
            "workloads": "deny",
            "rules": {"attribute-values": "warn", "admin-access": "deny"},
            "policies": {"named.example.com": "warn"},
        },
        "exempt": {
            "namespaces": ["team-*", "*"],
            "users": ["system:serviceaccount:kube-system:*"],
            "groups": ["system:nodes"],
        },
    },
    "monitored": {
        "monitoring": {
            "port": 9090,
            "serviceMonitor": {
                "enabled": True,
                "interval": "1m",
                "labels": {"release": "stack"},
                "endpoint": {"scrapeTimeout": "5s"},
            },
            "prometheusRule": {"enabled": True, "labels": {"release": "stack"}},
            "dashboard": {"enabled": True, "annotations": {"grafana_folder": "DRA"}},
        },
        "logging": {"format": "text", "level": "debug", "allowed": "1/50"},
        "networkPolicy": {"monitoringFrom": [{"ipBlock": {"cidr": "10.1.0.0/16"}}]},
    },
    "scanned": {
        "scan": {"enabled": True},
        "monitoring": {
            "serviceMonitor": {"enabled": True},
            "prometheusRule": {"enabled": True},
            "dashboard": {"enabled": True},
        },
    },
    "scanned by several": {
        "scan": {
            "enabled": True,
            "every": "90s",
            "replicaCount": 2,
            "extraArgs": ["--ignore=devices-stranded"],
            "priorityClassName": "low",
            "podAnnotations": {"a": "b"},
            "podLabels": {"team": "platform"},
        },
        "certificates": SECRET,
        "imagePullSecrets": [{"name": "pull"}],
        "extraEnv": [{"name": "TZ", "value": "UTC"}],
        "nodeSelector": {"pool": "system"},
        "tolerations": [{"operator": "Exists"}],
        "networkPolicy": {
            "monitoringFrom": [{"ipBlock": {"cidr": "10.1.0.0/16"}}],
            "apiServer": {"to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}], "ports": [7443]},
        },
    },
    "only reports": {
        "scan": {"enabled": True, "serviceAccountName": "mine"},
        "monitoring": {"enabled": False},
        "certificates": SECRET,
    },
    "only metrics": {
        "scan": {"enabled": True, "reports": False},
        "networkPolicy": {"enabled": False},
        "certificates": SECRET,
    },
    "not monitored": {"monitoring": {"enabled": False, "serviceMonitor": {"enabled": True}}},
    "known clients": {
        "serve": {"clientCA": {"name": "api-servers"}, "clientNames": ["kube-apiserver", "system:apiserver"]},
        "networkPolicy": {
            "apiServer": {"to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}], "ports": [7443]},
        },
    },
    "known clients by a Secret": {
        "serve": {"clientCA": {"kind": "Secret", "name": "api-servers", "key": "clients.pem"}},
        "certificates": SECRET,
    },
    "policies": {
        "policies": {"named.yaml": POLICY, "other.json": "{}"},
        "authorizer": [
            {"groups": ["boss"], "apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["name"]}
        ],
        "podAnnotations": {"a": "b"},
        "webhooks": {"mutation": {"enabled": True}},
    },
    "house rules": {
        "global": {"imageRegistry": "mirror.example.com:5000"},
        "commonLabels": {"team": "platform"},
        "commonAnnotations": {"owner": "platform@example.com"},
        "webhooks": {
            "labels": {"audit": "yes"},
            "annotations": {"admissions.enforcer/disabled": "true"},
        },
        "serviceAccount": {"annotations": {"owner": "security@example.com"}},
        "extraEnv": [{"name": "TZ", "value": "UTC"}],
        "extraVolumes": [{"name": "scratch", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        "podDisruptionBudget": {"minAvailable": "50%"},
        "certificates": {"source": "cert-manager"},
    },
    "everything differs": {
        "fullnameOverride": "guard",
        "image": {"registry": "registry.example.com", "repository": "draguard", "digest": f"sha256:{'0' * 64}"},
        "imagePullSecrets": [{"name": "pull"}],
        "kubernetesVersion": "newest",
        "featureGates": {"DRAListTypeAttributes": True, "AllBeta": False},
        "serve": {
            "host": "::",
            "port": 9443,
            "connectionsPerAddress": 50,
            "shutdownDelay": 20,
            "onBrokenPolicies": "unready",
            "selectNodeBy": "name",
            "pods": "all",
            "bodyLimit": 3145728,
        },
        "certificates": SECRET,
        "webhooks": {
            "exemptNamespaces": [],
            "exemptNamespaceLabel": "",
            "namespaceMatchExpressions": [{"key": "guarded", "operator": "In", "values": ["yes"]}],
            "matchPolicy": "Exact",
            "timeoutSeconds": 10,
            "resources": {"matchConditions": [{"name": "not-me", "expression": "request.userInfo.username != 'me'"}]},
        },
        "antiAffinity": "required",
        "hostNetwork": True,
        "nodeSelector": {"pool": "system"},
        "tolerations": [{"operator": "Exists"}],
        "topologySpreadConstraints": [
            {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        ],
        "podAnnotations": {"a": "b"},
        "podLabels": {"team": "platform"},
        "podDisruptionBudget": {"maxUnavailable": "50%"},
        "serviceAccount": {"name": "guardian", "annotations": {"a": "b"}},
        "service": {"port": 8443, "annotations": {"a": "b"}},
        "networkPolicy": {"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]},
    },
    "little": {
        "certificates": SECRET,
        "monitoring": {"enabled": False},
        "serviceAccount": {"create": False},
        "networkPolicy": {"enabled": False},
        "podDisruptionBudget": {"enabled": False},
        "priorityQuota": False,
        "webhooks": {name: {"enabled": False} for name in ("status", "pods", "workloads", "prescheduled")},
    },
}
"""Sets of values that between them take every branch of the templates."""

NAMESPACE = "draguard-system"


class Rendered:
    """The manifests of a release.

    Args:
        texts: The output of Helm, by template.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.notes = texts[NOTES]
        parsed = (yaml.load_all(text, yaml.CSafeLoader) for path, text in texts.items() if path != NOTES)
        found: list[Manifest] = [each for stream in parsed for each in stream if each]
        self.manifests = [each for each in found if not is_hook(each)]
        (self.test,) = (each for each in found if is_hook(each))

    def all(self, kind: str) -> list[Manifest]:
        return [each for each in self.manifests if each["kind"] == kind]

    def one(self, kind: str, component: str = "") -> Manifest:
        """The only manifest of a kind; of a component, or else of none but the scan."""
        every = [(each, component_of(each)) for each in self.all(kind)]
        (found,) = (each for each, of in every if (of == component if component else of != "scan"))
        return found

    @property
    def deployment(self) -> Manifest:
        return self.one("Deployment", "admission-webhook")

    def network_policy(self, component: str = "admission-webhook") -> Manifest:
        """The NetworkPolicy of the pods of a component."""
        return self.one("NetworkPolicy", component)

    @property
    def pod(self) -> Manifest:
        """The pod that the webhook's Deployment would create."""
        template: Manifest = self.deployment["spec"]["template"]
        return template

    @property
    def manager(self) -> Manifest:
        """The pod of the certificate manager."""
        template: Manifest = self.one("Deployment", "certificate-manager")["spec"]["template"]
        return template

    @property
    def container(self) -> Manifest:
        (container,) = self.pod["spec"]["containers"]
        assert isinstance(container, dict)
        return container

    @property
    def volumes(self) -> dict[str, Manifest]:
        """The pod's volumes, by name."""
        return {volume["name"]: volume for volume in self.pod["spec"]["volumes"]}

    @property
    def mounts(self) -> dict[str, Manifest]:
        """The paths at which they are mounted, by name."""
        return {mount["name"]: mount for mount in self.container["volumeMounts"]}

    @property
    def options(self) -> dict[str, str]:
        """The options of ``draguard serve``, by name; those that can be repeated are there with the last."""
        return dict(self._options())

    def repeated(self, name: str) -> list[str]:
        """The values of a repeatable option of ``draguard serve``."""
        return [value for option, value in self._options() if option == name]

    def _options(self) -> Iterator[tuple[str, str]]:
        command, *options = self.container["args"]
        assert command == "serve"
        for option in options:
            name, _, value = option.removeprefix("--").partition("=")
            yield name, value

    @property
    def webhooks(self) -> dict[str, Manifest]:
        """The webhooks of both configurations, by the first part of their names."""
        return {webhook["name"].partition(".")[0]: webhook for webhook in self._webhooks()}

    def _webhooks(self) -> Iterator[Manifest]:
        for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
            for configuration in self.all(kind):
                yield from configuration["webhooks"]

    def ca_bundles(self) -> set[str]:
        """The authorities that the API server trusts for the webhooks, in PEM."""
        bundles = (webhook["clientConfig"].get("caBundle", "") for webhook in self._webhooks())
        return {base64.b64decode(bundle, validate=True).decode() for bundle in bundles}


def component_of(manifest: Manifest) -> str:
    return str(manifest["metadata"]["labels"]["app.kubernetes.io/component"])


@cache
def rendered(values: str = "defaults", kubernetes: str = "1.36") -> Rendered:
    """Render one of the sets of values, once."""
    return Rendered(render(VALUES[values], namespace=NAMESPACE, kubernetes=kubernetes))


def with_values(kubernetes: str = "1.36", **values: Any) -> Rendered:
    """Render other values."""
    return Rendered(render(values, namespace=NAMESPACE, kubernetes=kubernetes))
