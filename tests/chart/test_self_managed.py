"""draguard manages its certificate with what the chart installs: the objects, the roles and the arguments."""

from __future__ import annotations

import base64
import signal
from typing import TYPE_CHECKING

import pytest

from tests import apiserver
from tests.chart import process
from tests.chart.rendering import Manifest, rendered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.apiserver import ApiServer
    from tests.chart.process import Running

RELEASE = rendered()
KINDS = ("Secret", "Lease", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


def path(manifest: Manifest) -> str:
    """Say where an API server has an object."""
    version, metadata = manifest["apiVersion"], manifest["metadata"]
    namespace = f"namespaces/{metadata['namespace']}/" if "namespace" in metadata else ""
    return f"/api{'s' if '/' in version else ''}/{version}/{namespace}{manifest['kind'].lower()}s/{metadata['name']}"


PATHS = {kind: path(RELEASE.one(kind)) for kind in KINDS}


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """Run an API server that has what the chart makes, and grants what the chart grants."""
    roles = [RELEASE.one("Role"), RELEASE.one("ClusterRole")]
    with process.open_directory() as account, apiserver.running(account, roles) as server:
        for kind in KINDS:
            server.put(PATHS[kind], RELEASE.one(kind))
        yield server


@pytest.fixture
def draguard(api: ApiServer) -> Iterator[Running]:
    """Run the entry point until it listens, in a pod with the service account's token and an empty volume in memory."""
    host, _, port = api.address.rpartition(":")
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "POD_NAME": "draguard-1"}
    with process.open_directory() as directory:
        volume = directory / "tls"
        volume.mkdir()
        volume.chmod(0o1777)
        with process.running(
            RELEASE,
            directory,
            f"--manage-account={api.account}",
            authorities=lambda: {base64.b64decode(bundle).decode() for bundle in bundles(api)},
            in_memory=volume,
            environment=environment,
        ) as started:
            yield started


def bundles(api: ApiServer) -> list[str]:
    """Return what the API server trusts for each webhook."""
    webhooks = [webhook for stored in api.objects.values() for webhook in stored.get("webhooks", ())]
    assert {webhook["name"].partition(".")[0] for webhook in webhooks} == RELEASE.webhooks.keys()
    return [webhook["clientConfig"]["caBundle"] for webhook in webhooks]


def test_every_webhook_trusts_what_is_served_under_the_service_s_name(api: ApiServer, draguard: Running) -> None:
    assert draguard.request("GET", "/readyz") == (200, b"ok\n")
    assert draguard.probe("/readyz") == (200, b"ok\n")
    assert set(bundles(api)) == {api.objects[PATHS["Secret"]]["data"]["ca.crt"]}
    assert api.objects[PATHS["Lease"]]["spec"]["holderIdentity"].startswith("draguard-1")


def test_the_roles_grant_what_is_needed_and_nothing_else(api: ApiServer, draguard: Running) -> None:
    draguard.process.send_signal(signal.SIGINT)
    assert draguard.process.wait(RELEASE.pod["spec"]["terminationGracePeriodSeconds"]) == 0
    assert api.refused == []
    assert set(api.requests) == {(verb, where) for verb in ("get", "patch") for where in PATHS.values()}
