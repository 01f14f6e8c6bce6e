"""draguard manages its certificate with what the chart installs: the objects, the roles and the arguments."""

from __future__ import annotations

import base64
import logging
import ssl
from typing import TYPE_CHECKING

import pytest

from tests import apiserver
from tests.chart.rendering import NAMESPACE, Manifest, rendered
from webhook.cluster import Manager, Options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.apiserver import ApiServer

RELEASE = rendered()
KINDS = ("Secret", "Lease", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


def path(manifest: Manifest) -> str:
    """Say where an API server has an object."""
    version, metadata = manifest["apiVersion"], manifest["metadata"]
    namespace = f"namespaces/{metadata['namespace']}/" if "namespace" in metadata else ""
    return f"/api{'s' if '/' in version else ''}/{version}/{namespace}{manifest['kind'].lower()}s/{metadata['name']}"


PATHS = {kind: path(RELEASE.one(kind)) for kind in KINDS}


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiServer]:
    """Run an API server that has what the chart makes, and grants what the chart grants."""
    (tmp_path / "account").mkdir()
    with apiserver.running(tmp_path / "account", [RELEASE.one("Role"), RELEASE.one("ClusterRole")]) as server:
        for kind in KINDS:
            server.put(PATHS[kind], RELEASE.one(kind))
        yield server


@pytest.fixture
def manager(api: ApiServer, tmp_path: Path) -> Iterator[Manager]:
    """Start what draguard runs beside serving, as the container's arguments say, and wait for its certificate."""
    options = RELEASE.options
    webhooks = tuple(RELEASE.repeated("manage-webhooks"))
    managing = Manager(
        Options(
            namespace=options["manage-namespace"],
            secret=options["manage-secret"],
            lease=options["manage-lease"],
            names=tuple(RELEASE.repeated("manage-name")),
            directory=tmp_path / "tls",
            validating=webhooks,
            mutating=webhooks,
            account=api.account,
            server=api.address,
        )
    )
    managing.obtain(30)
    managing.tick()
    try:
        yield managing
    finally:
        managing.stop()


def test_every_webhook_trusts_what_is_served_under_the_service_s_name(
    api: ApiServer, manager: Manager, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert manager.leading
    assert not manager.last_error
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    webhooks = [webhook for stored in api.objects.values() for webhook in stored.get("webhooks", ())]
    assert {webhook["name"].partition(".")[0] for webhook in webhooks} == RELEASE.webhooks.keys()
    (bundle,) = {webhook["clientConfig"]["caBundle"] for webhook in webhooks}
    assert bundle == api.objects[PATHS["Secret"]]["data"]["ca.crt"]

    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(tmp_path / "tls/tls.crt", tmp_path / "tls/tls.key")
    trusting = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    service = RELEASE.one("Service")["metadata"]["name"]
    client = trusting.wrap_bio(back, there, server_hostname=f"{service}.{NAMESPACE}.svc")
    server = serving.wrap_bio(there, back, server_side=True)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    with pytest.raises(ssl.SSLWantReadError):
        server.do_handshake()
    client.do_handshake()
    server.do_handshake()


def test_the_roles_grant_what_is_needed_and_nothing_else(api: ApiServer, manager: Manager) -> None:
    manager.stop()
    assert api.refused == []
    assert set(api.requests) == {(verb, where) for verb in ("get", "patch") for where in PATHS.values()}
