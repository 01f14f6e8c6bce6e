"""The command of the image with the chart's arguments, certificates, roles and user, without a container."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import apiserver
from tests.admission.reviews import POD, asked
from tests.apiserver import ApiServer
from tests.chart import process
from tests.chart.process import NAME, PRIVILEGED, Running
from tests.chart.rendering import VALUES, Manifest, rendered, with_values
from tests.command import SCRIPT
from tests.serving import eventually
from tests.structured import claim
from webhook.certificates import certs

pytestmark = pytest.mark.process

PAIR = certs.ephemeral([NAME])
SECRET = {"name": "given", "caBundle": PAIR.ca.decode()}
RELEASE = with_values(
    **VALUES["policies"], certificates={"source": "secret", "secret": SECRET}, enforce={"mode": "deny"}
)
USER = RELEASE.pod["spec"]["securityContext"]["runAsUser"]


@contextmanager
def running() -> Iterator[Running]:
    """Mount the Secret and the ConfigMaps, and run the entry point."""
    with process.open_directory() as directory:
        secret = {"tls.crt": PAIR.certificate, "tls.key": PAIR.key}
        process.mount(RELEASE, directory / "tls", secret, RELEASE.volumes["tls"]["secret"]["defaultMode"])
        for config in RELEASE.all("ConfigMap"):
            files = {name: content.encode() for name, content in config["data"].items()}
            process.mount(RELEASE, directory / config["metadata"]["name"].removeprefix("draguard-"), files, 0o644)
        with process.running(RELEASE, directory, authorities=RELEASE.ca_bundles) as started:
            yield started


@pytest.fixture(scope="module")
def draguard() -> Iterator[Running]:
    with running() as started:
        yield started


class TestEntryPoint:
    def test_it_runs_without_any_privilege(self, draguard: Running) -> None:
        status = draguard.status()
        assert set(status["Uid"].split()) == {str(USER if PRIVILEGED else os.geteuid())}
        assert int(status["CapEff"], 16) == 0

    def test_probes_find_it_alive_and_ready(self, draguard: Running) -> None:
        probes = {key: value["httpGet"] for key, value in RELEASE.container.items() if key.endswith("Probe")}
        assert probes.keys() == {"startupProbe", "livenessProbe", "readinessProbe"}
        for probe in probes.values():
            assert probe["port"] == "monitoring"
            assert draguard.probe(probe["path"]) == (200, b"ok\n")

    def test_prometheus_finds_metrics(self, draguard: Running) -> None:
        code, metrics = draguard.probe("/metrics")
        assert code == 200
        assert b"draguard_build_info" in metrics

    def test_the_api_server_trusts_it_and_gets_answers_from_every_webhook(self, draguard: Running) -> None:
        for name, webhook in RELEASE.webhooks.items():
            path = webhook["clientConfig"]["service"]["path"]
            code, body = draguard.request("POST", f"{path}?timeout=5s", json.dumps(asked(POD)).encode())
            response = json.loads(body)["response"]
            is_rewritten = path.startswith("/mutate/")
            assert (name, code, response["allowed"], "patch" in response) == (name, 200, True, is_rewritten)

    def test_policies_are_evaluated(self, draguard: Running) -> None:
        def response(group: str) -> Any:
            review = asked(claim(), userInfo={"username": "a", "groups": [group]})
            return json.loads(draguard.request("POST", "/validate", json.dumps(review).encode())[1])["response"]

        assert response("boss")["allowed"]
        refused = response("others")
        assert not refused["allowed"]
        assert "begin the name with that of your team" in refused["status"]["message"]

    def test_it_takes_little_memory(self, draguard: Running) -> None:
        resident = int(draguard.status()["VmRSS"].split()[0])
        assert resident < 96 * 1024, f"{resident} KiB: more than the chart requests"

    def test_it_ends_in_the_time_that_it_is_given(self) -> None:
        with running() as draguard:
            started = time.monotonic()
            draguard.process.send_signal(signal.SIGTERM)
            assert draguard.process.wait(RELEASE.pod["spec"]["terminationGracePeriodSeconds"]) == 0
        assert time.monotonic() - started > 1, "it stops accepting connections before others can know"


MANAGED = rendered()
EMBEDDED = rendered("embedded")
KINDS = ("Secret", "Lease", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


def path(manifest: Manifest) -> str:
    """Return the path of an object in an API server."""
    version, metadata = manifest["apiVersion"], manifest["metadata"]
    namespace = f"namespaces/{metadata['namespace']}/" if "namespace" in metadata else ""
    return f"/api{'s' if '/' in version else ''}/{version}/{namespace}{manifest['kind'].lower()}s/{metadata['name']}"


PATHS = {kind: path(MANAGED.one(kind)) for kind in KINDS}


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """Run an API server with the chart's objects and permissions."""
    roles = [MANAGED.one("Role"), MANAGED.one("ClusterRole")]
    with process.open_directory() as account, apiserver.running(account, roles) as server:
        for kind in KINDS:
            server.put(PATHS[kind], MANAGED.one(kind))
        yield server


def environment(api: ApiServer, pod: str) -> dict[str, str]:
    host, _, port = api.address.rpartition(":")
    return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "POD_NAME": pod}


@pytest.fixture
def embedded(api: ApiServer) -> Iterator[Running]:
    """Run the entry point until it listens, in a pod with the service account's token and an empty volume in memory."""
    with process.open_directory() as directory:
        volume = directory / "tls"
        volume.mkdir()
        volume.chmod(0o1777)
        with process.running(
            EMBEDDED,
            directory,
            f"--manage-account={api.account}",
            authorities=lambda: {base64.b64decode(bundle).decode() for bundle in bundles(api)},
            in_memory=volume,
            environment=environment(api, "draguard-1"),
        ) as started:
            yield started


@pytest.fixture
def manager(api: ApiServer) -> Iterator[subprocess.Popen[str]]:
    """Run the certificate manager until the Secret and every webhook have its certificates."""
    (container,) = MANAGED.manager["spec"]["containers"]
    command = [str(SCRIPT), *container["args"], f"--account={api.account}"]
    variables = {"PATH": os.defpath, **environment(api, "manager-1")}
    with subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True) as started:
        try:
            assert eventually(lambda: all(bundles(api)))
            yield started
        finally:
            started.kill()


@pytest.fixture
def webhook(api: ApiServer, manager: subprocess.Popen[str]) -> Iterator[Running]:
    """Run the entry point in a pod with the Secret as kubelet mounts it, without token and API server."""
    assert manager.poll() is None
    data = {name: base64.b64decode(text) for name, text in api.objects[PATHS["Secret"]]["data"].items()}
    sources = [source["secret"] for source in MANAGED.volumes["tls"]["projected"]["sources"]]
    files = {item["path"]: data[item["key"]] for source in sources for item in source["items"]}
    with process.open_directory() as directory:
        process.mount(MANAGED, directory / "tls", files, MANAGED.volumes["tls"]["projected"]["defaultMode"])
        authorities = {base64.b64decode(bundle).decode() for bundle in bundles(api)}
        with process.running(MANAGED, directory, authorities=lambda: authorities) as started:
            yield started


def bundles(api: ApiServer) -> list[str]:
    """Return the authorities that the API server trusts for each webhook."""
    webhooks = [webhook for stored in api.objects.values() for webhook in stored.get("webhooks", ())]
    assert {webhook["name"].partition(".")[0] for webhook in webhooks} == MANAGED.webhooks.keys()
    return [webhook["clientConfig"].get("caBundle", "") for webhook in webhooks]


def test_every_webhook_trusts_what_is_served_under_the_service_s_name(api: ApiServer, webhook: Running) -> None:
    assert webhook.request("GET", "/readyz") == (200, b"ok\n")
    assert set(bundles(api)) == {api.objects[PATHS["Secret"]]["data"]["ca.crt"]}
    assert api.objects[PATHS["Lease"]]["spec"]["holderIdentity"].startswith("manager-1")


def test_the_webhook_judges_by_the_cluster_s_release(webhook: Running) -> None:
    _, metrics = webhook.probe("/metrics")
    assert b'kubernetes="v1.34.1-gke.7"' in metrics


def test_helm_test_passes(webhook: Running) -> None:
    (started,) = MANAGED.test["spec"]["containers"]
    url = f"https://127.0.0.1:{webhook.ports['https']}/validate/fail"
    done = subprocess.run([sys.executable, "-c", started["args"][0], url], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"warnings"' in done.stdout
    assert "helm-test" in done.stdout


def test_the_manager_ends_on_a_signal_and_needs_only_its_roles(api: ApiServer, manager: subprocess.Popen[str]) -> None:
    resident = Path(f"/proc/{manager.pid}/status").read_text(encoding="ascii")
    (kibibytes,) = (int(line.split()[1]) for line in resident.splitlines() if line.startswith("VmRSS"))
    assert kibibytes < 64 * 1024, "more than the chart requests"
    assert not listening(manager.pid)
    manager.terminate()
    assert manager.wait(30) == 0
    assert api.refused == []
    wanted = {(verb, where) for verb in ("get", "patch") for where in PATHS.values()}
    assert set(api.requests) == {*wanted, ("get", "/version")}
    assert not api.objects[PATHS["Lease"]]["spec"].get("holderIdentity")


def listening(pid: int) -> list[str]:
    """Return the addresses on which a process listens."""
    links = (str(descriptor.readlink()) for descriptor in Path(f"/proc/{pid}/fd").iterdir() if descriptor.is_symlink())
    own = {link.removeprefix("socket:[").removesuffix("]") for link in links if link.startswith("socket:[")}
    tables = (Path(f"/proc/{pid}/net/{name}").read_text(encoding="ascii").splitlines()[1:] for name in ("tcp", "tcp6"))
    rows = [line.split() for table in tables for line in table]
    return [row[1] for row in rows if row[3] == "0A" and row[9] in own]


def test_embedded_every_webhook_trusts_what_is_served(api: ApiServer, embedded: Running) -> None:
    assert embedded.request("GET", "/readyz") == (200, b"ok\n")
    assert embedded.probe("/readyz") == (200, b"ok\n")
    assert set(bundles(api)) == {api.objects[PATHS["Secret"]]["data"]["ca.crt"]}
    assert api.objects[PATHS["Lease"]]["spec"]["holderIdentity"].startswith("draguard-1")


def test_embedded_the_roles_grant_what_is_needed_and_nothing_else(api: ApiServer, embedded: Running) -> None:
    embedded.process.send_signal(signal.SIGINT)
    assert embedded.process.wait(EMBEDDED.pod["spec"]["terminationGracePeriodSeconds"]) == 0
    assert api.refused == []
    assert set(api.requests) == {(verb, where) for verb in ("get", "patch") for where in PATHS.values()}
