"""What Helm makes of the chart in a cluster: the real Helm, and a small HTTP server that keeps objects for it."""

from __future__ import annotations

import base64
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar

import helm_python
import pytest
import yaml

from charts.render import CHART
from tests.chart.rendering import NAMESPACE, Manifest

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVED = {
    "v1": ["Secret", "Service", "ServiceAccount", "ResourceQuota"],
    "apps/v1": ["Deployment"],
    "networking.k8s.io/v1": ["NetworkPolicy"],
    "policy/v1": ["PodDisruptionBudget"],
    "admissionregistration.k8s.io/v1": ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"],
}
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/draguard-tls"


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
                "singularName": kind.lower(),
                "kind": kind,
                "namespaced": not kind.endswith("WebhookConfiguration"),
                "verbs": ["get", "create", "patch", "delete"],
            }
            for kind in SERVED[version]
        ],
    }


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


class Handler(BaseHTTPRequestHandler):
    """Keeps objects by path; an apply puts the object in place."""

    objects: ClassVar[dict[str, Manifest]] = {}

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
        self.objects[path] = body
        self.answer(201, json.dumps(body).encode())

    def do_PATCH(self) -> None:
        path = self.path.partition("?")[0]
        assert self.headers["Content-Type"] == "application/apply-patch+yaml"
        self.objects[path] = self.body()
        self.answer(200, json.dumps(self.objects[path]).encode())

    def body(self) -> Manifest:
        read: Manifest = yaml.safe_load(self.rfile.read(int(self.headers["Content-Length"])))
        return read

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

    def ca_bundles(self) -> set[str]:
        webhooks = [webhook for each in self.objects.values() for webhook in each.get("webhooks", [])]
        assert webhooks
        return {webhook["clientConfig"]["caBundle"] for webhook in webhooks}

    def arguments(self) -> list[str]:
        deployment = self.objects[f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/draguard"]
        return list(deployment["spec"]["template"]["spec"]["containers"][0]["args"])


@contextmanager
def serving() -> Iterator[tuple[str, dict[str, Manifest]]]:
    objects: dict[str, Manifest] = {}
    handler = type("Own", (Handler,), {"objects": objects})
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
        kubeconfig = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": url}}],
            "users": [{"name": "test", "user": {}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        with helm_python.Config(
            kubeconfig_content=json.dumps(kubeconfig), namespace=NAMESPACE, storage_driver="memory"
        ) as helm:
            yield Cluster(objects, helm)


class TestInstalling:
    def test_one_command_installs_everything_for_the_cluster_s_release(self, cluster: Cluster) -> None:
        cluster.install()
        kinds = sorted(each["kind"] for each in cluster.objects.values())
        assert kinds == sorted(kind for served in SERVED.values() for kind in served)
        assert "--kubernetes-version=1.34" in cluster.arguments()

    def test_an_upgrade_keeps_the_certificate_and_takes_new_values(self, cluster: Cluster) -> None:
        cluster.install()
        before, bundles = dict(cluster.objects[SECRET]["data"]), cluster.ca_bundles()
        cluster.upgrade(serve={"selectNodeBy": "name"})
        assert "--select-node-by=name" in cluster.arguments()
        assert cluster.objects[SECRET]["data"] == before
        assert cluster.ca_bundles() == bundles == {before["ca.crt"]}

    def test_an_upgrade_makes_a_new_certificate_if_the_old_one_is_gone(self, cluster: Cluster) -> None:
        cluster.install()
        before = cluster.objects.pop(SECRET)["data"]
        cluster.upgrade()
        after = cluster.objects[SECRET]["data"]
        assert all(after[key] != before[key] for key in ("ca.crt", "tls.crt", "tls.key"))
        assert cluster.ca_bundles() == {after["ca.crt"]}
        assert base64.b64decode(after["ca.crt"]).startswith(b"-----BEGIN CERTIFICATE-----")

    def test_an_upgrade_puts_back_what_was_deleted_in_an_emergency(self, cluster: Cluster) -> None:
        cluster.install()
        configurations = [path for path, each in cluster.objects.items() if "webhooks" in each]
        deleted = {path: cluster.objects.pop(path) for path in configurations}
        assert len(deleted) == 2
        cluster.upgrade()
        assert {path: cluster.objects[path]["webhooks"] for path in configurations} == {
            path: each["webhooks"] for path, each in deleted.items()
        }
