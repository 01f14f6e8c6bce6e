"""Installing the chart in a cluster: with the real Helm, and a small HTTP server that stores objects for it.

Beside Helm there is draguard, which fills its Secret and writes ``caBundle``: no upgrade may take that away.
"""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import helm_python
import pytest
import yaml

from charts.render import CHART
from tests.chart.rendering import CA, NAMESPACE, Manifest
from tests.chart.rendering import SECRET as GIVEN

pytestmark = [pytest.mark.tools, pytest.mark.no_cover]

SERVED = {
    "v1": ["ConfigMap", "Secret", "Service", "ServiceAccount", "ResourceQuota"],
    "apps/v1": ["Deployment"],
    "coordination.k8s.io/v1": ["Lease"],
    "networking.k8s.io/v1": ["NetworkPolicy"],
    "rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    "policy/v1": ["PodDisruptionBudget"],
    "admissionregistration.k8s.io/v1": ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"],
}
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/draguard-certificates"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/draguard-certificates"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/draguard"


def plural(kind: str) -> str:
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def resources(version: str) -> Manifest:
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": version,
        "resources": [
            {
                "name": plural(kind.lower()),
                "kind": kind,
                "namespaced": not kind.startswith("Cluster") and not kind.endswith("WebhookConfiguration"),
            }
            for kind in SERVED[version]
        ],
    }


DATA = {"ca.crt": "YXV0aG9yaXR5", "tls.crt": "c2VydmluZw==", "tls.key": "a2V5"}
"""The data of draguard's Secret, in base64."""

DISCOVERY: dict[str, Manifest] = {
    "/version": {"major": "1", "minor": "34+", "gitVersion": "v1.34.1-gke.7"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [
            {"name": name.partition("/")[0], "versions": [version], "preferredVersion": version}
            for name in SERVED
            if "/" in name
            for version in [{"groupVersion": name, "version": "v1"}]
        ],
    },
    **{f"/api{'s' if '/' in version else ''}/{version}": resources(version) for version in SERVED},
}


def apply(live: Any, before: Any, now: Any) -> Any:
    """Apply as API servers do (structured-merge-diff): only fields that are no longer applied are removed.

    Args:
        live: The objects that exist.
        before: The manifest applied before; None if there was none.
        now: The manifest to apply.
    """
    if isinstance(live, dict) and isinstance(now, dict):
        before = before or {}
        kept = {key: value for key, value in live.items() if key in now or key not in before}
        return kept | {key: apply(live.get(key), before.get(key), value) for key, value in now.items()}
    if isinstance(live, list) and all(isinstance(item, dict) and "name" in item for item in [*live, *now]):
        merged = apply(*({item["name"]: item for item in items or ()} for items in (live, before, now)))
        return list(merged.values())
    return now


class Handler(BaseHTTPRequestHandler):
    """Stores objects by path, with the manifests applied last."""

    objects: ClassVar[dict[str, Manifest]] = {}
    applied: ClassVar[dict[str, Manifest]] = {}

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/openapi/v2":  # an empty document: of no kind is there anything to check
            self.answer(200, b"", "application/octet-stream")
        elif found := DISCOVERY.get(path) or self.objects.get(path):
            self.answer(200, json.dumps(found).encode())
        else:
            self.not_found()

    def do_POST(self) -> None:
        body = self.body()
        path = f"{self.path.partition('?')[0]}/{body['metadata']['name']}"
        self.put(path, body)
        self.answer(201, json.dumps(self.objects[path]).encode())

    def do_PATCH(self) -> None:
        path = self.path.partition("?")[0]
        assert self.headers["Content-Type"] == "application/apply-patch+yaml"
        self.put(path, self.body())
        self.answer(200, json.dumps(self.objects[path]).encode())

    def put(self, path: str, body: Manifest) -> None:
        # A deleted object is applied anew: its owners are forgotten with it.
        before = self.applied.get(path) if path in self.objects else None
        self.objects[path] = apply(self.objects.get(path), before, body)
        self.applied[path] = deepcopy(body)

    def body(self) -> Manifest:
        read: Manifest = yaml.safe_load(self.rfile.read(int(self.headers["Content-Length"])))
        return read

    def do_DELETE(self) -> None:
        if self.objects.pop(self.path.partition("?")[0], None):
            self.answer(200, b'{"kind": "Status", "apiVersion": "v1", "status": "Success"}')
        else:
            self.not_found()

    def not_found(self) -> None:
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
        self.answer(404, json.dumps(status).encode())

    def answer(self, code: int, body: bytes, content_type: str = "application/json") -> None:
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Cluster:
    """A cluster, and Helm's view of it."""

    def __init__(self, objects: dict[str, Manifest], helm: helm_python.Config) -> None:
        self.objects = objects
        self.helm = helm

    def install(self, **values: Any) -> None:
        self.helm.install(str(CHART), "draguard", values, namespace=NAMESPACE)

    def upgrade(self, **values: Any) -> None:
        self.helm.upgrade(str(CHART), "draguard", values, namespace=NAMESPACE)

    def lead(self) -> None:
        """Act as the leader of draguard's replicas: fill the Secret, take the Lease, publish the authority."""
        self.objects[SECRET]["data"] = dict(DATA)
        self.objects[LEASE]["spec"] = {"holderIdentity": "draguard-1"}
        for client_config in self.client_configs():
            client_config["caBundle"] = DATA["ca.crt"]

    def client_configs(self) -> list[Manifest]:
        """Return how each webhook is reached, by which authority's word."""
        webhooks = [webhook for each in self.objects.values() for webhook in each.get("webhooks", [])]
        assert webhooks
        return [webhook["clientConfig"] for webhook in webhooks]

    def pod(self) -> Manifest:
        """Return the pod template of the Deployment."""
        template: Manifest = self.objects[DEPLOYMENT]["spec"]["template"]
        return template

    def arguments(self) -> list[str]:
        return list(self.pod()["spec"]["containers"][0]["args"])


KUBECONFIG = """
clusters: [{{name: test, cluster: {{server: {}}}}}]
contexts: [{{name: test, context: {{cluster: test}}}}]
current-context: test
"""


@contextmanager
def serving() -> Iterator[tuple[str, dict[str, Manifest]]]:
    objects: dict[str, Manifest] = {}
    handler = type("Own", (Handler,), {"objects": objects, "applied": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", objects
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with serving() as (url, objects):
        content = KUBECONFIG.format(url)
        with helm_python.Config(kubeconfig_content=content, namespace=NAMESPACE, storage_driver="memory") as helm:
            yield Cluster(objects, helm)


class TestInstalling:
    def test_one_command_installs_everything_for_the_cluster_s_release(self, cluster: Cluster) -> None:
        cluster.install()
        kinds = sorted(each["kind"] for each in cluster.objects.values())
        assert kinds == sorted(
            [kind for served in SERVED.values() for kind in served if kind != "ConfigMap"]
            + ["Deployment", "NetworkPolicy", "ServiceAccount"]  # of the webhook and of the certificate manager
        )
        assert "--kubernetes-version-file=/etc/draguard/tls/kubernetes.version" in cluster.arguments()

    def test_without_a_manager_of_its_own_it_is_the_release_that_helm_sees(self, cluster: Cluster) -> None:
        cluster.install(certificates={"manager": "embedded"})
        assert "--kubernetes-version=1.34" in cluster.arguments()

    def test_an_upgrade_keeps_what_draguard_has_written_or_makes_an_empty_secret_and_takes_new_values(
        self, cluster: Cluster
    ) -> None:
        cluster.install()
        assert "data" not in cluster.objects[SECRET]
        cluster.lead()
        cluster.upgrade(serve={"selectNodeBy": "name"}, webhooks={"timeoutSeconds": 7, "mutation": {"enabled": True}})
        assert "--select-node-by=name" in cluster.arguments()
        assert cluster.objects[SECRET]["data"] == DATA
        assert cluster.objects[LEASE]["spec"] == {"holderIdentity": "draguard-1"}
        authorities = [client_config.get("caBundle") for client_config in cluster.client_configs()]
        assert sorted(map(str, authorities)) == ["None", *[DATA["ca.crt"]] * 5]  # draguard will tell the new webhook
        del cluster.objects[SECRET]
        cluster.upgrade()
        assert "data" not in cluster.objects[SECRET]

    def test_another_source_leaves_nothing_of_the_old_one_behind(self, cluster: Cluster) -> None:
        cluster.install()
        cluster.lead()
        cluster.upgrade(certificates=GIVEN)
        kinds = {each["kind"] for each in cluster.objects.values()}
        assert kinds.isdisjoint({"Secret", "Lease", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})
        authority = base64.b64encode(CA.encode()).decode()
        assert {client_config["caBundle"] for client_config in cluster.client_configs()} == {authority}

    def test_other_policies_make_no_other_pods(self, cluster: Cluster) -> None:
        path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/draguard-policies"
        cluster.install(policies={"a.yaml": "a: 1"})
        before = cluster.pod()
        cluster.upgrade(policies={"a.yaml": "a: 2"})
        assert cluster.pod() == before
        assert cluster.objects[path]["data"] == {"a.yaml": "a: 2"}

    def test_an_upgrade_puts_back_what_was_deleted_in_an_emergency(self, cluster: Cluster) -> None:
        cluster.install()
        configurations = [path for path, each in cluster.objects.items() if "webhooks" in each]
        deleted = {path: cluster.objects.pop(path) for path in configurations}
        assert len(deleted) == 2
        cluster.upgrade()
        assert {path: cluster.objects[path]["webhooks"] for path in configurations} == {
            path: each["webhooks"] for path, each in deleted.items()
        }
