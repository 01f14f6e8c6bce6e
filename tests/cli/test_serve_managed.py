"""``draguard serve`` with a certificate of its own, as processes beside a small API server."""

import base64
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import apiserver
from tests.apiserver import ApiServer
from tests.cli.reviews import review
from tests.cli.running import ask, running
from tests.cluster.objects import LEASE, MUTATING, SECRET, VALIDATING, configuration, documented_roles
from tests.command import SCRIPT, draguard
from tests.serving import eventually

pytestmark = pytest.mark.process


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """Run an API server with the needed objects, at the address that pods use."""
    account = tmp_path / "account"
    account.mkdir()
    (account / "namespace").write_text("draguard-system")
    with apiserver.running(account, documented_roles()) as server:
        for path in (SECRET, LEASE):
            server.put(path, {"metadata": {"name": "draguard-certificates", "namespace": "draguard-system"}})
        for path in (VALIDATING, MUTATING):
            server.put(path, configuration())
        host, _, port = server.address.rpartition(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        yield server


def options(api: ApiServer, tmp_path: Path) -> list[str]:
    return [
        "--manage-certificate",
        f"--manage-account={api.account}",
        f"--manage-directory={tmp_path / 'tls'}",
        "--manage-webhooks=draguard",
        "--manage-name=draguard.draguard-system.svc",
        "--manage-name=localhost",
        "--shutdown-delay=0",
    ]


def test_the_api_server_trusts_what_is_served_and_the_lead_is_handed_over_at_the_end(
    api: ApiServer, tmp_path: Path
) -> None:
    body = json.dumps(review("a")).encode()
    with running(*options(api, tmp_path)) as (port, _):

        def bundles() -> list[str]:
            webhooks = [webhook for path in (VALIDATING, MUTATING) for webhook in api.objects[path]["webhooks"]]
            return [webhook["clientConfig"].get("caBundle", "") for webhook in webhooks]

        assert eventually(lambda: all(bundles()))
        (bundle,) = set(bundles())
        status, _ = ask(port, base64.b64decode(bundle).decode(), "validate", body)
        assert status == 200
        assert api.objects[LEASE]["spec"].get("holderIdentity")
    assert not api.objects[LEASE]["spec"].get("holderIdentity")
    assert api.refused == []


def test_serve_waits_for_its_certificate_and_ends_at_a_signal(api: ApiServer, tmp_path: Path) -> None:
    del api.objects[SECRET]
    command = [str(SCRIPT), "serve", "--port=0", *options(api, tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        result = ""
        while "no serving certificate yet" not in result:
            result = server.stderr.readline() or pytest.fail("it has ended")
        server.send_signal(signal.SIGTERM)
        rest = server.stderr.read()
    assert server.returncode == 143
    assert "Secret draguard-system/draguard-certificates" in result
    assert "received SIGTERM while starting" in rest


class TestWrongUse:
    def test_names_of_the_service_are_needed(self, api: ApiServer) -> None:
        done = draguard("serve", "--manage-certificate", f"--manage-account={api.account}")
        assert (done.code, done.out) == (2, "")
        assert "--manage-certificate: no DNS names are given" in done.err

    def test_outside_a_pod_the_namespace_is_not_known(self, tmp_path: Path) -> None:
        done = draguard("serve", "--manage-certificate", "--manage-name=x.y.svc", f"--manage-account={tmp_path}")
        assert done.code == 2
        assert "this is not a pod: give --manage-namespace" in done.err

    def test_one_source_of_certificates_is_enough(self) -> None:
        done = draguard("serve", "--dev", "--manage-certificate")
        assert done.code == 2
        assert "give one of the two" in done.err
