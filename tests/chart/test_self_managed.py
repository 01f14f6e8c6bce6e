"""draguard manages its certificate with the chart's objects, roles and arguments."""

import base64
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import apiserver
from tests.apiserver import ApiServer
from tests.chart import process
from tests.chart.process import Running
from tests.chart.rendering import Manifest, rendered
from tests.command import SCRIPT
from tests.serving import eventually

pytestmark = pytest.mark.process

RELEASE = rendered()
EMBEDDED = rendered("embedded")
KINDS = ("Secret", "Lease", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


def path(manifest: Manifest) -> str:
    """Return the path of an object in an API server."""
    version, metadata = manifest["apiVersion"], manifest["metadata"]
    namespace = f"namespaces/{metadata['namespace']}/" if "namespace" in metadata else ""
    return f"/api{'s' if '/' in version else ''}/{version}/{namespace}{manifest['kind'].lower()}s/{metadata['name']}"


PATHS = {kind: path(RELEASE.one(kind)) for kind in KINDS}


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """Run an API server with the chart's objects and permissions."""
    roles = [RELEASE.one("Role"), RELEASE.one("ClusterRole")]
    with process.open_directory() as account, apiserver.running(account, roles) as server:
        for kind in KINDS:
            server.put(PATHS[kind], RELEASE.one(kind))
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
    (container,) = RELEASE.manager["spec"]["containers"]
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
    sources = [source["secret"] for source in RELEASE.volumes["tls"]["projected"]["sources"]]
    files = {item["path"]: data[item["key"]] for source in sources for item in source["items"]}
    with process.open_directory() as directory:
        process.mount(RELEASE, directory / "tls", files, RELEASE.volumes["tls"]["projected"]["defaultMode"])
        authorities = {base64.b64decode(bundle).decode() for bundle in bundles(api)}
        with process.running(RELEASE, directory, authorities=lambda: authorities) as started:
            yield started


def bundles(api: ApiServer) -> list[str]:
    """Return the authorities that the API server trusts for each webhook."""
    webhooks = [webhook for stored in api.objects.values() for webhook in stored.get("webhooks", ())]
    assert {webhook["name"].partition(".")[0] for webhook in webhooks} == RELEASE.webhooks.keys()
    return [webhook["clientConfig"].get("caBundle", "") for webhook in webhooks]


def test_every_webhook_trusts_what_is_served_under_the_service_s_name(api: ApiServer, webhook: Running) -> None:
    assert webhook.request("GET", "/readyz") == (200, b"ok\n")
    assert set(bundles(api)) == {api.objects[PATHS["Secret"]]["data"]["ca.crt"]}
    assert api.objects[PATHS["Lease"]]["spec"]["holderIdentity"].startswith("manager-1")


def test_the_webhook_judges_by_the_cluster_s_release(webhook: Running) -> None:
    _, metrics = webhook.probe("/metrics")
    assert b'kubernetes="v1.34.1-gke.7"' in metrics


def test_helm_test_passes(webhook: Running) -> None:
    (container,) = RELEASE.test["spec"]["containers"]
    url = f"https://127.0.0.1:{webhook.ports['https']}/validate/fail"
    done = subprocess.run(
        [sys.executable, "-c", container["args"][0], url], capture_output=True, text=True, check=False
    )
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
